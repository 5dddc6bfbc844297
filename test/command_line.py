"""The command `thunder` as a shell starts it, errors and all, in this process."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from thunder_dynamics.cli import main


@dataclass(frozen=True)
class Ended:
    """Exit status, and what was written to standard output and standard error, as it came."""

    exit_code: int
    output: str


def pretend_package(folder: Path, entry_points: str) -> None:
    """Put into a folder of sys.path what makes importlib find a package `broken` with these entry points."""
    place = folder / "broken-1.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (place / "entry_points.txt").write_text(entry_points)


def thunder(*words: object) -> Ended:
    """Call `thunder` with words."""
    written, status = StringIO(), 0
    with redirect_stdout(written), redirect_stderr(written):
        try:
            main([str(word) for word in words])
        except SystemExit as ended:
            status = int(ended.code or 0)
    return Ended(status, written.getvalue())
