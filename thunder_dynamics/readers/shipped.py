"""Robots by name: files that installed packages bring along.

The value of an entry point of the group `thunder.robots` is a function `() -> {name: file}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path

from thunder_dynamics.errors import NameNotFoundError, loaded, nearest

GROUP = "thunder.robots"


def named_robots() -> dict[str, Path]:
    """Files of the robots that have a name, by that name."""
    return {name: file for entry in entry_points(group=GROUP) for name, file in loaded(entry)().items()}


def locate(
    path: str | PathLike[str], known: Callable[[], Mapping[str, Path]] = named_robots, kind: str = "robot"
) -> Path:
    """Find a file: a path as it is, or a name, which has neither folder nor suffix and is that of no file here.

    Args:
        path: Or name.
        known: Gives the files that have a name, by that name.
        kind: What they are, for messages.

    Raises:
        NameNotFoundError: for a name that none of them has.
    """
    file = Path(path)
    if file.suffix or len(file.parts) != 1 or file.is_file():
        return file
    files = known()
    if file.name not in files:
        raise NameNotFoundError(f"no {kind} '{path}'", valid=f"a file, or one of {nearest(file.name, sorted(files))}")
    return files[file.name]
