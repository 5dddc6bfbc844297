"""Robots by name: files that installed packages bring along.

The value of an entry point of the group `thunder.robots` is a function `() -> {name: file}`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path

from thunder_dynamics.errors import NameNotFoundError, loaded, nearest

GROUP = "thunder.robots"


def named_robots() -> dict[str, Path]:
    """Files of the robots that have a name, by that name."""
    return {name: file for entry in entry_points(group=GROUP) for name, file in loaded(entry)().items()}


def locate(robot: str | PathLike[str]) -> Path:
    """Find the file of a robot: a path as it is, or the name of a robot, which has neither folder nor suffix.

    Raises:
        NameNotFoundError: for a name that no robot has.
    """
    file = Path(robot)
    if file.suffix or len(file.parts) != 1:
        return file
    known = named_robots()
    if file.name not in known:
        valid = f"a file, or one of {nearest(file.name, sorted(known))}"
        raise NameNotFoundError(f"no robot '{robot}'", valid=valid)
    return known[file.name]
