"""The YAML that announces a library, where it is looked for, and how users name files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from thunder_controllers.host import Library
from thunder_controllers.package_uri import PackageUriError, resolve, resolve_file
from thunder_controllers.resources import share
from thunder_controllers.ros.common.library_message import (
    LARGEST,
    LibraryMessage,
    LibraryMessageError,
    describe_folder,
    format_library_message,
    load_announced,
    parse_library_message,
)
from thunder_dynamics import build, load_model

HASH = "0123456789" * 6 + "abcd"
MESSAGE = LibraryMessage(robot="panda", laws=("one", "other"), hash=HASH)
TEXT = f"robot: panda\nlaws:\n- one\n- other\nhash: {HASH}\n"


def test_format_and_parse_are_inverse() -> None:
    assert format_library_message(MESSAGE) == TEXT
    assert parse_library_message(TEXT) == MESSAGE


def test_a_hash_of_digits_alone_is_text() -> None:
    digits = LibraryMessage("r", (), "1" * 64)
    assert parse_library_message(format_library_message(digits)) == digits
    assert parse_library_message(f"{{robot: r, laws: [], hash: {'1' * 64}}}") == digits


def test_what_a_newer_generator_adds_is_passed_over() -> None:
    assert parse_library_message(TEXT + "news: 1\n") == MESSAGE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no mapping"),
        ("hello", "no mapping"),
        ("[]", "no mapping"),
        (TEXT.replace("robot: panda\n", ""), "robot: Field required"),
        (TEXT.replace("robot: panda", "robot: [panda]"), "robot: Input should be a valid string"),
        (TEXT.replace("robot: panda", "robot: {"), "no YAML"),
        (TEXT.replace("robot: panda", "robot: !!python/object/apply:os.system [panda]"), "robot: Input should be"),
        *(
            (TEXT.replace("robot: panda", f"robot: {name}"), "robot: String should match pattern")
            for name in ("../..", "../../tmp/evil", "/tmp/evil", "a/b", "a b", "é", "''", "'panda\n\n'", "a" * 201)
        ),
        (TEXT.replace("robot: panda", 'robot: "a\\0"'), "robot: String should match pattern"),
        (TEXT.replace(HASH, HASH[:-1]), "hash: String should match pattern"),
        (TEXT.replace(HASH, HASH.upper()), "hash: String should match pattern"),
        (TEXT.replace(HASH, "../" * 21 + "a"), "hash: String should match pattern"),
        (TEXT.replace(HASH, f"[{HASH}]"), "hash: Input should be a valid string"),
        (f"robot: panda\nlaws: {{a: 5}}\nhash: {HASH}", "laws: Input should be a valid tuple"),
        (f"robot: panda\nlaws: 5\nhash: {HASH}", "laws: Input should be a valid tuple"),
        (f"robot: panda\nlaws: [[a]]\nhash: {HASH}", "laws.0: Input should be a valid string"),
        (f"robot: panda\nlaws: [a b]\nhash: {HASH}", "laws.0: String should match pattern"),
        (f"robot: &a [*a]\nlaws: []\nhash: {HASH}", "no YAML|robot: Input should be"),
        ("[" * 3000, "no YAML"),
        ("{a: " * 3000, "no YAML"),
        ("- " * 3000, "no YAML"),
        (TEXT + "x: " + "[" * 3000 + "]" * 3000, "no YAML"),
        ("a: &a [x]\n" + "".join(f"b{k}: &b{k} [*a, *a]\n" for k in range(500)), "robot: Field required"),
        (TEXT + "---\n" + TEXT, "no YAML"),
        ("\x07" + TEXT, "no YAML"),
        (TEXT + "# " + "x" * LARGEST, f"characters; valid: at most {LARGEST}"),
    ],
)
def test_a_bad_message_is_refused(text: str, message: str) -> None:
    with pytest.raises(LibraryMessageError, match=message):
        parse_library_message(text)


@pytest.fixture(scope="module")
def library() -> Library:
    return Library(build(load_model(share("config/robots/planar3r.yaml"))))


def announcement(library: Library, **changes: str) -> str:
    return format_library_message(LibraryMessage(**{**vars(describe_folder(Path(library.path).parent)), **changes}))


@pytest.mark.slow
def test_an_announced_library_is_found_in_the_user_s_cache(library: Library) -> None:
    found = load_announced(announcement(library), [])
    assert (found.path, found.hash) == (library.path, library.hash)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["output", "cache"])
def test_an_announced_library_is_found_in_the_folders_given(
    library: Library, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no_cache"))
    root = tmp_path / "out"
    parent = root if layout == "output" else root / f"planar3r_{library.hash[:16]}"
    shutil.copytree(Path(library.path).parent, parent / "planar3r_generatedFiles")
    with pytest.raises(LibraryMessageError, match="planar3r with hash .*: is in none of .*; valid: .*library_folders"):
        load_announced(announcement(library), [])
    found = load_announced(announcement(library), [str(tmp_path / "none"), str(root)])
    assert found.path == str(parent / "planar3r_generatedFiles/libplanar3r.so")


@pytest.mark.slow
def test_another_build_or_a_damaged_one_is_not_taken(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no_cache"))
    folder = tmp_path / "planar3r_generatedFiles"
    shutil.copytree(Path(library.path).parent, folder)
    with pytest.raises(LibraryMessageError, match=f"is another build, {library.hash}; valid: {HASH}"):
        load_announced(announcement(library, hash=HASH), [str(tmp_path)])
    with pytest.raises(LibraryMessageError, match="library of ur5 with hash .*: is in none of"):
        load_announced(announcement(library, robot="ur5"), [str(tmp_path)])
    (folder / "libplanar3r.so").write_bytes(b"x")
    with pytest.raises(LibraryMessageError, match="is not the file that was generated"):
        load_announced(announcement(library), [str(tmp_path)])


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
