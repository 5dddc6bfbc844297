"""The YAML that announces a library, and how users name files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thunder_controllers.package_uri import PackageUriError, resolve, resolve_file
from thunder_controllers.resources import share
from thunder_controllers.ros.common.library_message import (
    MANIFEST,
    LibraryMessage,
    LibraryMessageError,
    describe_folder,
    find_library,
    format_library_message,
    parse_library_message,
)

MESSAGE = LibraryMessage(
    robot="panda",
    folder="/a/panda_generatedFiles",
    library="/a/panda_generatedFiles/libpanda.so",
    robot_file="/b/ü panda.yaml",
    hash="3f",
    generator="0.1.0",
    functions=("M", "C"),
    laws={"law": {"adapted_links": ["link7"], "task": "pose"}, "other": {}},
)


def generated(folder: Path, **changes: object) -> Path:
    manifest = {"robot": "r", "library": "libr.so", "hash": "1", "generator": "0", "functions": ["M"], "laws": ["a"]}
    (folder / MANIFEST).write_text(json.dumps({k: v for k, v in {**manifest, **changes}.items() if v is not None}))
    (folder / "libr.so").touch()
    return folder


def test_format_and_parse_are_inverse() -> None:
    assert parse_library_message(format_library_message(MESSAGE)) == MESSAGE


def test_what_a_newer_generator_adds_is_passed_over() -> None:
    assert parse_library_message(format_library_message(MESSAGE) + "news: 1\n") == MESSAGE


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("robot: panda\n", ""), "robot: Field required"),
        (("robot: panda", "robot: [panda]"), "robot: Input should be a valid string"),
        (("library: /a", "library: a"), "relative.*valid: absolute"),
        (("robot: panda", "robot: !!python/object:os.system panda"), "no YAML"),
        (("robot: panda", "robot: {"), "no YAML"),
    ],
)
def test_a_bad_message_is_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(LibraryMessageError, match=message):
        parse_library_message(format_library_message(MESSAGE).replace(*change))


def test_text_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(LibraryMessageError, match="no mapping"):
        parse_library_message("hello")


def test_a_folder_is_described_by_its_manifest(tmp_path: Path) -> None:
    message = describe_folder(generated(tmp_path), "r.yaml", {"a": {"x": 1}, "not built": {}})
    assert (message.robot, message.library, message.laws) == ("r", str(tmp_path / "libr.so"), {"a": {"x": 1}})


def test_a_folder_without_its_library_is_refused(tmp_path: Path) -> None:
    (generated(tmp_path) / "libr.so").unlink()
    with pytest.raises(LibraryMessageError, match="the library is missing"):
        describe_folder(tmp_path, "r.yaml", {})


@pytest.mark.parametrize("text", ["{", "[]", "3", '{"robot": "r"}'])
def test_a_folder_with_another_manifest_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(LibraryMessageError, match=str(tmp_path)):
        describe_folder(tmp_path, "r.yaml", {})


def test_a_library_is_found_by_file_and_by_folder(tmp_path: Path) -> None:
    generated(tmp_path)
    assert find_library(str(tmp_path)) == find_library(str(tmp_path / "libr.so")) == tmp_path / "libr.so"


@pytest.mark.parametrize("name", ["none.so", "none/"])
def test_a_library_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(LibraryMessageError, match="no such library"):
        find_library(str(tmp_path / name))


def test_own_files_need_no_ament_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    uri = "package://thunder_controllers/config/robots/panda.yaml"
    assert resolve_file(uri) == share("config/robots/panda.yaml")


def test_other_packages_are_found_in_the_ament_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "share/ament_index/resource_index/packages/other"
    marker.parent.mkdir(parents=True)
    marker.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert resolve("package://other/a/b.yaml") == tmp_path / "share/other/a/b.yaml"
    with pytest.raises(PackageUriError, match="no package 'third'"):
        resolve("package://third/a.yaml")


def test_without_an_index_the_error_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(PackageUriError, match="AMENT_PREFIX_PATH"):
        resolve("package://other/a.yaml")


@pytest.mark.parametrize(
    "rest",
    ["", "{}", "{}/", "{}/../b", "{}/config/../../b", "{}//etc/passwd", "{}//", "/etc/passwd", "../{}/a", "{}/..", ".."]
    + ["{}/%2e%2e/b", "{}/%2Fetc/passwd", "{}/a\0b", "{}\n/a", "{}%2F..%2F/a", "localhost:80/{}/a", "~/a", "./a"],
)
def test_an_incomplete_or_climbing_uri_is_refused(rest: str) -> None:
    with pytest.raises(PackageUriError, match="incomplete or climbing"):
        resolve("package://" + rest.format("thunder_controllers"))


def test_a_link_out_of_the_package_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "share/ament_index/resource_index/packages/other"
    source, share = tmp_path / "src/other", tmp_path / "share/other"
    for folder in (marker.parent, source, share):
        folder.mkdir(parents=True)
    for file in (marker, source / "package.xml", source / "a.yaml", tmp_path / "secret.yaml"):
        file.touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    (share / "out.yaml").symlink_to(tmp_path / "secret.yaml")
    (share / "folder").symlink_to(tmp_path)
    (share / "a.yaml").symlink_to(source / "a.yaml")
    for name in ("out.yaml", "folder/secret.yaml", "a.yaml"):
        with pytest.raises(PackageUriError, match="a link leads out of the package"):
            resolve(f"package://other/{name}")
    (share / "package.xml").symlink_to(source / "package.xml")  # colcon build --symlink-install
    assert resolve_file("package://other/a.yaml") == share / "a.yaml"


def test_a_path_may_start_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("~/a.yaml") == tmp_path / "a.yaml"
