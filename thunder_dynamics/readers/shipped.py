"""Robots by name: files that installed packages bring along.

The value of an entry point of the group `thunder.robots` is a function `() -> {name: file}`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path

from thunder_dynamics.errors import NameNotFoundError, files_beside, loaded, nearest

GROUP = "thunder.robots"


def named_robots() -> dict[str, Path]:
    """Files of the robots that have a name, by that name."""
    return {name: file for entry in entry_points(group=GROUP) for name, file in loaded(entry)().items()}


def locate(robot: str | PathLike[str]) -> Path:
    """Find the file of a robot: a path as it is, or the name of a robot, which has neither folder nor suffix.

    Raises:
        NameNotFoundError: for a name that no robot has, or a missing file of a name that one has.
    """
    file = Path(robot)
    if file.exists() and (file.suffix or len(file.parts) != 1):
        return file
    known, name = named_robots(), file.name.partition(".")[0]
    if file.suffix or len(file.parts) != 1:
        if name not in known:
            return file
        raise NameNotFoundError(f"no file '{robot}'", valid=f"{name}, the name of a robot, or {files_beside(file)}")
    if name not in known:
        valid = f"a file, or one of {nearest(name, sorted(known))}"
        raise NameNotFoundError(f"no robot '{robot}'", valid=valid)
    return known[name]
