"""SHA256SUMS: what is written is what `sha256sum -c` takes, and nothing else than what was written is read."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from thunder_dynamics.errors import BuildError
from thunder_dynamics.storage.checksums import SUMS, read_verified, verify_folder, write_checksums

OTHER_USER = 12345


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "generated"
    (folder / "sub").mkdir(parents=True)
    for name, content in {"a.so": b"\0\1\2", "b c.txt": b"text\n", "sub/d.h": b""}.items():
        (folder / name).write_bytes(content)
    write_checksums(folder)
    return folder


def test_coreutils_agrees(folder: Path) -> None:
    assert subprocess.run(["sha256sum", "--check", "--strict", "--quiet", SUMS], cwd=folder).returncode == 0
    assert len((folder / SUMS).read_text().splitlines()) == 3
    (folder / "sub/d.h").write_text("more")
    assert subprocess.run(["sha256sum", "--check", "--status", SUMS], cwd=folder).returncode == 1
    with pytest.raises(BuildError, match="sub/d.h: is not the file that was generated"):
        verify_folder(folder)


def test_nobody_else_may_write_what_is_listed(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub/a").touch()
        write_checksums(tmp_path)
    finally:
        os.umask(before)
    assert not any(path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH) for path in (tmp_path, *tmp_path.rglob("*")))
    verify_folder(tmp_path)


def replace(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda f: (f / "a.so").write_bytes(b"\0\1\3"), "a.so: is not the file that was generated: its SHA-256 is "),
        (lambda f: (f / "a.so").write_bytes(b""), "a.so: is not the file"),
        (lambda f: (f / "a.so").unlink(), "no file .*a.so; valid: "),
        (lambda f: replace(f / "a.so", os.mkfifo), r"a.so: the file cannot be read \(it is no regular file"),
        (
            lambda f: replace(f / "a.so", lambda p: p.symlink_to(f / "b c.txt")),
            r"a.so: the file cannot be read \(Too many levels",
        ),
        (lambda f: (f / SUMS).unlink(), "no generated library: there is no SHA256SUMS; valid: a folder that build"),
        (lambda f: shutil.rmtree(f), "no generated library: there is no SHA256SUMS"),
        (lambda f: (f / SUMS).write_text(""), "SHA256SUMS: lists no a.so"),
        (lambda f: (f / SUMS).write_text((f / SUMS).read_text()[:-1]), "SHA256SUMS: line 3 is no checksum"),
        (lambda f: (f / SUMS).write_text((f / SUMS).read_text() * 2), "line 4 is no checksum, or is of a file listed"),
        (lambda f: (f / SUMS).write_bytes(b"\xff" * 100), "SHA256SUMS: line 1 is no checksum"),
        (lambda f: (f / SUMS).write_text((f / SUMS).read_text().upper()), "SHA256SUMS: line 1 is no checksum"),
        (lambda f: f.chmod(0o777), "generated: others than its owner may write it; valid: chmod go-w "),
        (lambda f: (f / SUMS).chmod(0o664), "SHA256SUMS: others than its owner may write it"),
        (lambda f: (f / "a.so").chmod(0o646), "a.so: others than its owner may write it"),
    ],
)
def test_what_was_not_generated_is_refused(folder: Path, change: Callable[[Path], object], reason: str) -> None:
    assert read_verified(folder, "a.so") == b"\0\1\2"
    change(folder)
    with pytest.raises(BuildError, match=reason):
        read_verified(folder, "a.so")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("name", [".", SUMS, "a.so"])
def test_what_belongs_to_another_user_is_refused(folder: Path, name: str) -> None:
    os.chown(folder / name, OTHER_USER, -1)
    with pytest.raises(BuildError, match=f"belongs to user {OTHER_USER}; valid: a file of user 0, who runs this, or"):
        read_verified(folder, "a.so")
