"""The lock of a folder: one process builds it, any number load it."""

from __future__ import annotations

import fcntl
import os
import stat
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thunder_dynamics.errors import BuildError

PRIVATE = 0o600
"""Mode of locks: whoever can read a file can lock it."""

LOCK_PATIENCE = 900.0
"""How long a folder that another process builds or loads is waited for [s]; the largest builds take minutes."""

QUIET_WAIT = 2.0
"""How long nobody is told of that [s]."""


@contextmanager
def locked(target: Path, *, exclusive: bool) -> Iterator[None]:
    """Hold the lock of a generated folder: alone to build, together to load.

    Who may not open it loads without, as all that is read there is verified.

    Raises:
        OSError: if it cannot be opened to build, or is a link.
        BuildError: if others hold it for `LOCK_PATIENCE`, or it is not this user's: who may open a file may lock it.
    """
    lock = target.parent / f".{target.name}.lock"
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_RDWR | os.O_CREAT if exclusive else os.O_RDONLY)
    try:
        handle = os.open(lock, flags, PRIVATE)
    except OSError:
        if exclusive:
            raise
        yield
        return
    try:
        _check_lock(handle, lock)
        _wait_for(handle, lock, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def _check_lock(handle: int, lock: Path) -> None:
    """Raise unless a lock is a file of this user, of root or of the folder's owner; close an own one to all others."""
    status, own = os.fstat(handle), os.geteuid()
    if not stat.S_ISREG(status.st_mode) or status.st_uid not in (own, 0, lock.parent.stat().st_uid):
        raise BuildError("the lock is no file of this user", where=str(lock), valid="another folder, or remove it")
    if status.st_uid == own and stat.S_IMODE(status.st_mode) != PRIVATE:
        os.fchmod(handle, PRIVATE)


def _wait_for(handle: int, lock: Path, kind: int) -> None:
    begin, told = time.monotonic(), False
    while True:
        try:
            return fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - begin
        if waited > LOCK_PATIENCE:
            what = f"{_holders(handle)} has held it for {waited:.0f} s"
            raise BuildError(what, where=str(lock), valid="wait for its end, or end it") from None
        if waited > QUIET_WAIT and not told:
            told = True
            warnings.warn(f"waiting for {_holders(handle)}, which holds {lock}", RuntimeWarning, stacklevel=2)
        time.sleep(0.05)


def _holders(handle: int) -> str:
    """Processes that hold a lock, as far as the system tells."""
    inode = f":{os.fstat(handle).st_ino}"
    rows = (line.split() for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines())
    found = sorted({row[4] for row in rows if row[1] == "FLOCK" and row[5].endswith(inode)})
    return f"process {', '.join(found)}" if found else "another process"
