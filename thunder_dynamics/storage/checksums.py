"""`SHA256SUMS` of a generated folder: writing it, and reading files that must be as it lists them.

`sha256sum -c SHA256SUMS` says the same about the content. The host checks libraries by the same rules, in C++.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from thunder_dynamics.errors import BuildError
from thunder_dynamics.storage.door import GENERATED, open_file, read_bytes

SUMS = "SHA256SUMS"

_LINE = re.compile(r"([0-9a-f]{64})  ([^\0\n]+)\n")
_AGAIN = "a folder that build() or `thunder gen` of this version made; generate it again"


def write_checksums(folder: Path) -> None:
    """List every file of the folder in its SHA256SUMS, and let nobody but its owner write any of them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(read_bytes(file, GENERATED, BuildError)).hexdigest()}  {file.relative_to(folder)}\n"
        for file in files
    ]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))


def verify_folder(folder: Path) -> None:
    """Make sure that every file of a generated folder is as it was generated.

    Raises:
        BuildError: as `read_verified`.
    """
    for name in _read_sums(folder):
        read_verified(folder, name)


def read_verified(folder: Path, name: str) -> bytes:
    """Read a file of a generated folder, once it is known to be as it was generated.

    Raises:
        BuildError: if it, its folder or SHA256SUMS belongs to another user than this process's and root, or may be
            written by others; or if its content is not what SHA256SUMS lists.
    """
    expected = _read_sums(folder).get(name)
    if expected is None:
        raise BuildError(f"lists no {name}", where=str(folder / SUMS), valid=_AGAIN)
    content = _read(folder / name)
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        what = f"is not the file that was generated: its SHA-256 is {found}, {SUMS} has {expected}"
        raise BuildError(what, where=str(folder / name), valid=_AGAIN)
    return content


def _read_sums(folder: Path) -> dict[str, str]:
    """Digests by name."""
    if not (folder / SUMS).exists():
        raise BuildError(f"no generated library: there is no {SUMS}", where=str(folder), valid=_AGAIN)
    _check_owner(folder.stat(), folder)
    sums: dict[str, str] = {}
    for number, line in enumerate(_read(folder / SUMS).decode(errors="replace").splitlines(keepends=True), 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in sums:
            what = f"line {number} is no checksum, or is of a file listed before"
            raise BuildError(what, where=str(folder / SUMS), valid=_AGAIN)
        sums[match[2]] = match[1]
    return sums


def _read(path: Path) -> bytes:
    """Read a file that nobody else could have written."""
    with open_file(path, GENERATED, BuildError, follow=False) as file:
        _check_owner(os.fstat(file.fileno()), path)
        return file.read(GENERATED.largest)


def _check_owner(status: os.stat_result, path: Path) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        valid = f"a file of user {os.geteuid()}, who runs this, or of root"
        raise BuildError(f"belongs to user {status.st_uid}", where=str(path), valid=valid)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BuildError("others than its owner may write it", where=str(path), valid=f"chmod go-w {path}")
