"""Where the files that come with the package lie: robots, scenarios, URDF models.

`importlib.resources` knows what lies inside a package; ROS looks for these under share/.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from thunder_dynamics.errors import ThunderError
from thunder_dynamics.readers import exists

PACKAGE = "thunder_controllers"
"""The name under share/, in the ament index and in package.xml."""

SCENARIOS = "config/scenarios"
"""Folder of the scenarios in the share folder."""

MANIFEST = "package.xml"
"""The file that marks a share folder, and the root of the source tree."""


class ResourceNotFoundError(ThunderError):
    """A file that should have come with the package is not there."""


def share(path: str | os.PathLike[str] = ".") -> Path:
    """Locate a file or folder that comes with the package, such as `config/robots/panda.yaml`.

    The first of these places that is a share folder of this package holds all of them: the source tree the package
    is imported from; the installation it is imported from (`<prefix>/share/thunder_controllers`, for a virtual
    environment, a user or system installation and a colcon install space alike); a prefix in AMENT_PREFIX_PATH.

    Args:
        path: Relative to the share folder, with the same layout as the source tree.

    Returns:
        The absolute path; it exists.

    Raises:
        ResourceNotFoundError: if `path` is absolute or leaves the share folder, if there is no share folder, or if
            it holds no such file.
    """
    relative = Path(path)
    if relative.is_absolute() or ".." in relative.parts:
        raise ResourceNotFoundError(
            "not a path inside the share folder", where=str(path), valid="a relative path without '..'"
        )
    root = share_folder()
    found = root / relative
    if not exists(found):
        folder = next(parent for parent in found.parents if exists(parent, Path.is_dir))
        siblings = ", ".join(sorted(entry.name for entry in folder.iterdir())) or "nothing"
        raise ResourceNotFoundError("no such file comes with the package", where=str(found), valid=siblings)
    return found


def shipped(folder: str) -> dict[str, Path]:
    """List the files of a folder that comes with the package by their names without suffixes."""
    return {file.name.partition(".")[0]: file for file in sorted(share(folder).iterdir()) if file.is_file()}


def robots() -> dict[str, Path]:
    """List the robot files that come with the package by name, for the entry points `thunder.robots`."""
    return shipped("config/robots")


def share_folder() -> Path:
    """Locate the share folder itself; see `share`.

    Raises:
        ResourceNotFoundError: if none of the places is one; the error lists them.
    """
    candidates = list(_candidates())
    for folder in candidates:
        if (folder / MANIFEST).is_file():
            return folder
    places = ", ".join(map(str, candidates))
    raise ResourceNotFoundError(f"no share folder of {PACKAGE} with a {MANIFEST}", valid=f"one of {places}")


def _candidates() -> Iterator[Path]:
    tree = Path(__file__).absolute().parents[1]
    yield tree
    for prefix in (tree, *tree.parents):
        yield prefix / "share" / PACKAGE
    for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry).absolute() / "share" / PACKAGE
