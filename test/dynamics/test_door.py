"""What lies under a name is looked at before a byte of it is read; results are written whole, and last."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from thunder_dynamics.errors import ThunderError
from thunder_dynamics.storage import door, whole
from thunder_dynamics.storage.door import TEXT, Kind, open_file, read_bytes, read_json, read_text
from thunder_dynamics.storage.whole import write_text, write_whole

SMALL = Kind("a small file", 2048)


class RefusedError(ThunderError):
    """Of these tests."""


def refusal(path: Path, follow: bool = True) -> str:
    with pytest.raises(RefusedError) as caught:
        read_bytes(path, SMALL, RefusedError, follow=follow)
    return str(caught.value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "it is no regular file"),
        (Path.mkdir, "it is no regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is no regular file"),
        (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
        (lambda path: os.truncate(path.open("w").name, 2049), "it is larger than 2 KiB"),
    ],
)
def test_what_is_no_file_to_read_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    path = tmp_path / "a.txt"
    make(path)
    assert refusal(path) == f"{path}: the file cannot be read ({reason}); valid: a small file of at most 2 KiB"


def test_a_missing_file_is_named_with_those_beside_it(tmp_path: Path) -> None:
    (tmp_path / "arm.txt").touch()
    assert refusal(tmp_path / "am.txt") == (
        f"no file {tmp_path}/am.txt; valid: a file of {tmp_path}: arm.txt (did you mean arm.txt?)"
    )
    assert "embedded null" in refusal(Path("a\0b"))


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").touch(0)
    if os.geteuid() == 0:  # whom permissions do not stop

        def forbidden(*_: object) -> int:
            raise PermissionError(13, os.strerror(13))

        monkeypatch.setattr(door.os, "open", forbidden)
    assert "(Permission denied)" in refusal(tmp_path / "a.txt")


def test_a_link_is_followed_only_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    assert read_bytes(tmp_path / "b.txt", SMALL, RefusedError) == b"a"
    assert "Too many levels" in refusal(tmp_path / "b.txt", follow=False)


def test_a_file_of_the_largest_size_is_read_and_one_that_grows_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * SMALL.largest)
    assert len(read_bytes(path, SMALL, RefusedError)) == SMALL.largest

    def growing(*arguments: object, **options: object) -> object:
        file = open_file(*arguments, **options)  # type: ignore[arg-type]
        with path.open("ab") as more:
            more.write(b"x")
        return file

    monkeypatch.setattr(door, "open_file", growing)
    assert "it is larger than 2 KiB" in refusal(path)


def test_a_text_is_utf_8_and_json_is_json(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfgood\n")
    assert read_text(path, RefusedError) == "good\n"
    path.write_bytes(b"good\n\xff\n")
    with pytest.raises(RefusedError, match=rf"a.txt:2: the file is no UTF-8 text; valid: {TEXT.valid}"):
        read_text(path, RefusedError)
    for text in ("{", "[" * 100_000, "1" * 10_000):
        path.write_text(text)
        with pytest.raises(RefusedError, match=r"a.txt: the file cannot be read \(.*valid: a JSON file of at most 64"):
            read_json(path, RefusedError)


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_file_keeps_the_permissions_of_the_one_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    before = os.umask(0o027)
    try:
        write_text(path, "1")
        assert path.stat().st_mode & 0o777 == 0o640, "a new one has those of any new file"
        path.chmod(0o604)
        write_text(path, "2")
    finally:
        os.umask(before)
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o604, "2")


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    aim, path = tmp_path / "aim.txt", tmp_path / "a.txt"
    aim.write_text("kept")
    aim.chmod(0o604)
    path.symlink_to(aim)
    write_text(path, "new")
    assert (aim.read_text(), path.read_text(), path.is_symlink()) == ("kept", "new", False)
    assert path.stat().st_mode & 0o777 != 0o604


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_what_is_no_file_stays(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / "a.txt")
    with pytest.raises(OSError, match="no regular file"):
        write_text(tmp_path / "a.txt", "new")
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("durable", [True, False])
def test_a_file_is_on_the_disk_before_its_name_and_then_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    seen: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        seen.append(f"sync {Path(os.readlink(f'/proc/self/fd/{handle}')).name.partition('.txt')[0]}")
        fsync(handle)

    monkeypatch.setattr(whole.os, "fsync", synced)
    monkeypatch.setattr(whole.os, "replace", lambda old, new: (seen.append("replace"), replace(old, new)))
    write_whole(tmp_path / "a.txt", lambda file: file.write(b"new"), durable=durable)
    assert seen == (["sync .a", "replace", f"sync {tmp_path.name}"] if durable else ["replace"])


def test_what_is_half_written_is_never_seen(tmp_path: Path) -> None:
    """Its process is killed while it writes."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    program = f"""
import os, pathlib
from thunder_dynamics.storage.whole import write_whole
def write(file):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), 9)
write_whole(pathlib.Path({str(path)!r}), write)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert path.read_text() == "old"


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(file: object) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        write_whole(tmp_path / "a.txt", fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["none", "file"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / folder / "a.txt"
    with pytest.raises(OSError, match=re.escape(f"'{path}'")):
        write_text(path, "new")
