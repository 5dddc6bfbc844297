"""Files that appear whole or not at all, and outlast a loss of power; the host writes its own by the same rules."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO


def write_whole(path: Path, write: Callable[[IO[bytes]], object], *, durable: bool = True) -> None:
    """Let `write` fill a new file next to `path`, then put it in its place in one step.

    The file keeps the permissions of the one that it replaces. A link in its place is replaced, never followed; a
    folder, a pipe or a device stays.

    Args:
        path: The file.
        write: Fills it.
        durable: Wait until the file and its folder are on the disk; what can be made again needs not.

    Raises:
        OSError: names the file if it cannot be written; what stood there stands, and nothing is left beside it.
    """
    mode = _replaced_mode(path)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:
            write(file)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        if isinstance(error, OSError) and str(error.filename) == str(partial):
            error.filename = str(path)
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    if durable:
        sync(path.parent)


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a whole file of UTF-8 text; see `write_whole`."""
    write_whole(path, lambda file: file.write(text.encode()), durable=durable)


def _replaced_mode(path: Path) -> int | None:
    """Permissions of the regular file that stands at a path; None if there is none, or a link."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise OSError(0, "what stands there is no regular file", str(path))
    return stat.S_IMODE(mode) & 0o777 if stat.S_ISREG(mode) else None


def sync(path: Path) -> None:
    """Have a file of ours, or the names in a folder, outlast a loss of power."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
