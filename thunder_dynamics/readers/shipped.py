"""Robots by name: files that installed packages bring along.

The value of an entry point of the group `thunder.robots` is a function `() -> {name: file}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path

from thunder_dynamics.errors import NameNotFoundError, files_beside, loaded, nearest

GROUP = "thunder.robots"


def named_robots() -> dict[str, Path]:
    """Files of the robots that have a name, by that name."""
    return {name: file for entry in entry_points(group=GROUP) for name, file in loaded(entry)().items()}


def locate(
    path: str | PathLike[str],
    known: Callable[[], Mapping[str, Path]] = named_robots,
    kind: str = "robot",
    folder: Path = Path(),
) -> Path:
    """Find a file: a path as it is, or a name, which has neither folder nor suffix and is that of no file here.

    Args:
        path: Or name.
        known: Gives the files that have a name, by that name.
        kind: What they are, for messages.
        folder: That a path is relative to.

    Raises:
        NameNotFoundError: for a name that none of them has, or a missing file of a name that one has.
    """
    file, given = folder / path, Path(path)
    is_name = not given.suffix and len(given.parts) == 1
    if file.is_file() or (file.exists() and not is_name):
        return file
    files, name = known(), file.name.partition(".")[0]
    if is_name and name not in files:
        raise NameNotFoundError(f"no {kind} '{path}'", valid=f"a file, or one of {nearest(name, sorted(files))}")
    if not is_name and name in files:
        raise NameNotFoundError(f"no file '{path}'", valid=f"{name}, the name of a {kind}, or {files_beside(file)}")
    return files[name] if is_name else file
