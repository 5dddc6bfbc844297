"""Damaged, foreign and swapped libraries: more than 700 of them, each refused with its reason, in one process."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from pendulum2 import compile_pendulum2

from thunder_controllers.host import Library
from thunder_dynamics.errors import BuildError
from thunder_dynamics.storage.checksums import SUMS, write_checksums

NAME = "libpanda.so"
PAGE = 2048
OTHER_USER = 12345

CHANGED = "is not the file that was generated: its SHA-256 is [0-9a-f]{64}, SHA256SUMS has [0-9a-f]{64}; valid: "
BAD_LINE = r"line \d+ is no checksum, or is of a file listed before"
WRITABLE = "others than its owner may write it; valid: chmod go-w "

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


class Generated(NamedTuple):
    """A copy of a generated folder, to be damaged."""

    folder: Path
    library: bytes
    sums: bytes

    @property
    def file(self) -> Path:
        return self.folder / NAME

    def restore(self) -> None:
        self.file.write_bytes(self.library)
        (self.folder / SUMS).write_bytes(self.sums)


@pytest.fixture(scope="module")
def pristine(panda_folder: Path) -> tuple[bytes, bytes]:
    return (panda_folder / NAME).read_bytes(), (panda_folder / SUMS).read_bytes()


@pytest.fixture
def generated(pristine: tuple[bytes, bytes], tmp_path: Path) -> Iterator[Generated]:
    """A good library before the test; after it, the same process still loads and runs a good one."""
    copy = Generated(tmp_path / "panda_generatedFiles", *pristine)
    copy.folder.mkdir(mode=0o755)
    copy.restore()
    yield copy
    intact = Generated(tmp_path / "intact", *pristine)
    intact.folder.mkdir(mode=0o755)
    intact.restore()
    assert np.isfinite(Library(intact.folder).evaluate("G", np.zeros(7))).all()


def refused(path: Path, reason: str, *, hash: str = "") -> None:
    with pytest.raises(BuildError) as caught:
        Library(path, hash=hash)
    assert re.search(reason, str(caught.value)), f"{caught.value} is not: {reason}"


def truncated(library: bytes) -> Iterator[bytes]:
    lengths = {0, 1, 16, 63, 64, 65, len(library) - 1, len(library) - PAGE}
    for length in sorted(lengths | set(range(0, len(library), len(library) // 110))):
        yield library[:length]


def flipped(library: bytes) -> Iterator[bytes]:
    for place in np.linspace(0, len(library) - 1, 160).astype(int):
        damaged = bytearray(library)
        damaged[place] ^= 1 << (place % 8)
        yield bytes(damaged)


def zeroed(library: bytes) -> Iterator[bytes]:
    for start in range(0, len(library), PAGE):
        if any(library[start : start + PAGE]):
            yield library[:start] + bytes(len(library[start : start + PAGE])) + library[start + PAGE :]


def swapped(library: bytes) -> Iterator[bytes]:
    """Two pieces in each other's place, as when a disk or a transfer has mixed them up."""
    pieces = [library[k : k + PAGE] for k in range(0, len(library) - PAGE, PAGE)]
    for i, j in zip(range(0, len(pieces)), range(7, len(pieces)), strict=False):
        if pieces[i] != pieces[j]:
            mixed = [*pieces]
            mixed[i], mixed[j] = pieces[j], pieces[i]
            yield b"".join(mixed) + library[len(pieces) * PAGE :]


def lengthened(library: bytes) -> Iterator[bytes]:
    yield from (library + more for more in (b"\0", b"\n", bytes(PAGE), library))


@pytest.mark.parametrize("damage", [truncated, flipped, zeroed, swapped, lengthened])
def test_a_changed_file_is_refused(generated: Generated, damage: Callable[[bytes], Iterator[bytes]]) -> None:
    least = {truncated: 110, flipped: 150, zeroed: 80, swapped: 80, lengthened: 4}
    count = 0
    for content in damage(generated.library):
        generated.file.write_bytes(content)
        refused(generated.folder if count % 2 else generated.file, CHANGED)
        count += 1
    assert count >= least[damage]


def test_another_robot_s_library_is_refused(generated: Generated, pendulum2_file: Path) -> None:
    shutil.copy(pendulum2_file, generated.file)
    refused(generated.file, CHANGED)
    write_checksums(generated.folder)
    assert Library(generated.folder).robot == "pendulum2", "whoever may write both files says what runs"
    refused(generated.folder, "is another build, 0123456789abcdef; valid: 3f3f", hash="3f3f")


def listed_digest(sums: bytes) -> bytes:
    (digest,) = re.findall(rb"([0-9a-f]{64})  " + NAME.encode(), sums)
    return bytes(digest)


def damaged_sums(sums: bytes) -> Iterator[tuple[bytes, str]]:
    digest = listed_digest(sums)
    line = digest + b"  " + NAME.encode() + b"\n"
    begin = sums.index(line)
    lists_none = f"lists no {NAME}"
    yield b"", lists_none
    for length in range(1, len(sums), 11):
        if length < begin and sums[length - 1 : length] == b"\n":
            yield sums[:length], lists_none
        elif sums[length - 1 : length] != b"\n":
            yield sums[:length], BAD_LINE
    for place in range(len(digest)):  # still digits, or not
        for bit in (0, 6):
            flipped = bytearray(sums)
            flipped[begin + place] ^= 1 << bit
            yield bytes(flipped), f"{BAD_LINE}|{CHANGED}"
    for place in range(len(digest) + 2, len(line) - 1):
        flipped = bytearray(sums)
        flipped[begin + place] ^= 1
        yield bytes(flipped), lists_none
    for other in (b"LIBPANDA.SO", b"./" + NAME.encode(), b"../" + NAME.encode(), b" " + NAME.encode(), b"libpanda.s"):
        yield sums.replace(NAME.encode(), other), lists_none
    for wrong in (
        *(digest.upper() + line[64:], b"\\" + line, b" " + line, b"\xef\xbb\xbf" + line, digest[:40] + line[64:]),
        *(digest + b" *" + NAME.encode() + b"\n", digest + b" " + NAME.encode() + b"\n", digest + b"  \n"),
        *(digest + b"\t\t" + NAME.encode() + b"\n", line + line, line + b"0" * 64 + line[64:], line + b"\n"),
        *(line + b"# a comment\n", digest + b"  " + NAME.encode() + b"\0\n", b"SHA256 (" + line[:-1] + b")\n"),
        *(b"\0" * 200, b"\xff" * 200, b"[" * 3000),
    ):
        yield sums.replace(line, wrong), BAD_LINE
    for end in (b"", b"\r\n", b" \n"):
        yield sums.replace(line, line[:-1] + end), lists_none
    yield sums.replace(digest, b"0" * 64), CHANGED
    yield sums.replace(digest, hashlib.sha256(b"").hexdigest().encode()), CHANGED
    yield sums + b"\n" * (2 << 20), "is larger than 1024 KiB"


def test_damaged_checksums_are_refused(generated: Generated) -> None:
    cases = list(damaged_sums(generated.sums))
    for text, reason in cases:
        assert text != generated.sums
        (generated.folder / SUMS).write_bytes(text)
        refused(generated.file, reason)
    assert len(cases) >= 200


def test_a_folder_must_list_exactly_one_library(generated: Generated) -> None:
    digest = listed_digest(generated.sums)
    for sums, reason in (
        (generated.sums + digest + b"  libother.so\n", "lists both libother.so and libpanda.so"),
        (generated.sums.replace(b"  libpanda.so", b"  lib.so"), r"lists no lib<robot>\.so"),
        (generated.sums.replace(b"  libpanda.so", b"  sub/libpanda.so"), r"lists no lib<robot>\.so"),
    ):
        (generated.folder / SUMS).write_bytes(sums)
        refused(generated.folder, reason)


@pytest.mark.parametrize("name", [NAME, SUMS])
def test_what_is_no_regular_file_is_refused(generated: Generated, tmp_path: Path, name: str) -> None:
    path, aside = generated.folder / name, tmp_path / "aside"
    path.rename(aside)

    def bind() -> None:
        with socket.socket(socket.AF_UNIX) as server, pytest.MonkeyPatch.context() as patch:
            patch.chdir(generated.folder)  # a path of a socket is short
            server.bind(name)

    loop = "cannot be found: Too many levels" if name == NAME else "cannot be read: Too many levels"
    for make, reason in (
        (lambda: None, f"there is no such file|{SUMS}: cannot be read: No such file"),
        (path.mkdir, f"{SUMS}: there is no such file|is not a regular file"),
        (lambda: os.mkfifo(path), "is not a regular file"),
        (bind, "cannot be read: No such device"),
        (lambda: path.symlink_to(path), loop),
        (lambda: path.symlink_to(tmp_path / "none"), "there is no such file|Too many levels"),
        (lambda: path.symlink_to(aside), f"{tmp_path}/{SUMS}: cannot be read|Too many levels"),
        (lambda: path.symlink_to("/dev/zero"), f"/dev/{SUMS}: cannot be read|/dev: others|Too many levels"),
    ):
        make()
        refused(generated.file, reason)
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    aside.rename(path)
    assert Library(generated.file).robot == "panda"


def test_what_others_may_write_is_refused(generated: Generated) -> None:
    for path in (generated.folder, generated.file, generated.folder / SUMS):
        mode = path.stat().st_mode
        for more in (0o020, 0o002, 0o022, 0o1002):  # a sticky folder, too: others may add to it
            path.chmod(mode | more)
            refused(generated.file, f"^{re.escape(str(path))}: {WRITABLE}{re.escape(str(path))}$")
        path.chmod(mode)
    assert Library(generated.file).robot == "panda"


@needs_root
def test_what_belongs_to_another_user_is_refused(generated: Generated) -> None:
    for path in (generated.folder, generated.file, generated.folder / SUMS):
        os.chown(path, OTHER_USER, -1)
        refused(generated.file, f"^{re.escape(str(path))}: belongs to user {OTHER_USER}; valid: a file of user 0")
        os.chown(path, 0, -1)
    assert Library(generated.file).robot == "panda"


def test_a_folder_above_may_be_anyone_s(generated: Generated, tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert Library(generated.file).robot == "panda"


def test_links_lead_to_a_folder_that_is_checked_itself(generated: Generated, tmp_path: Path) -> None:
    (tmp_path / "file.so").symlink_to(generated.file)
    (tmp_path / "folder").symlink_to(generated.folder)
    (tmp_path / "links").mkdir()
    for name in (NAME, SUMS):  # as colcon's --symlink-install has it
        (tmp_path / "links" / name).symlink_to(generated.folder / name)
    for path in (tmp_path / "file.so", *(tmp_path / f / n for f in ("folder", "links") for n in (".", NAME))):
        assert Library(path).path == str(generated.file.resolve())
    generated.folder.chmod(0o777)
    refused(tmp_path / "file.so", WRITABLE)


def test_files_that_are_listed_but_no_library_are_refused_by_the_loader(generated: Generated) -> None:
    good = generated.library
    wrong_machine = good[:18] + b"\xf3\0" + good[20:]
    for content, reason in (
        (b"", "file too short"),
        (b"not an object file", "file too short|invalid ELF header"),
        (b"\x7fELF" + bytes(1000), "cannot be loaded: "),
        (good[:4] + b"\1" + good[5:], "wrong ELF class"),
        (wrong_machine, "cannot be loaded: .*cannot open shared object file"),
        (good[:16] + b"\2\0" + good[18:], "cannot be loaded: "),
        (good[:63], "file too short"),
    ):
        generated.file.write_bytes(content)
        write_checksums(generated.folder)
        refused(generated.file, reason)


def test_what_was_loaded_outlives_its_file(generated: Generated) -> None:
    library = Library(generated.file)
    before = library.evaluate("M", np.full(7, 0.1))
    with generated.file.open("r+b") as file:  # the same inode: what a careless copy or a full disk does
        file.truncate(0)
    np.testing.assert_array_equal(library.evaluate("M", np.full(7, 0.1)), before)


def test_libraries_in_turn_are_not_taken_for_one_another(generated: Generated, pendulum2_file: Path) -> None:
    for _ in range(3):  # a descriptor that was closed is used again
        assert Library(generated.file).robot == "panda"
        assert Library(pendulum2_file).robot == "pendulum2"
    both = Library(generated.file), Library(pendulum2_file)
    assert [library.robot for library in both] == ["panda", "pendulum2"]


def test_a_library_that_stays_loaded_gives_its_name_to_no_other(generated: Generated, tmp_path: Path) -> None:
    kept = compile_pendulum2(tmp_path, "STAYS", options=["-Wl,-z,nodelete"])
    assert Library(kept).robot == "pendulum2"
    assert Library(generated.file).robot == "panda"
