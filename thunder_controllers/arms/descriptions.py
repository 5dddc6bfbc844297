"""Robot files by name: ours, those of PyPI's example-robot-data and robot_descriptions, and of ROS packages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from thunder_controllers.package_uri import SCHEME, resolve_file
from thunder_dynamics.errors import NameNotFoundError, RobotFileError, nearest
from thunder_dynamics.readers import locate, named_robots

COLLECTION = "example-robot-data"
"""On PyPI, the extra `arms`: files alone, which need no network."""

DESCRIPTIONS = "robot_descriptions"
"""A module that fetches descriptions when they are asked for, and keeps them."""

INSTALL = {COLLECTION: "pip install 'thunder-controllers[arms]'", DESCRIPTIONS: f"pip install {DESCRIPTIONS}"}
"""How to get them."""


class Description(NamedTuple):
    """A robot's file, how it is read, and where it is from."""

    file: Path
    reading: Mapping[str, Any]  #: Options of its reader that come with it.
    origin: str  #: As one says it; empty for a file.

    @property
    def is_collected(self) -> bool:
        """Whether it is of a collection of whole robots, in which an arm is to be selected."""
        return self.origin in (COLLECTION, DESCRIPTIONS)


def collection() -> Path | None:
    """Folder of the robots of `example-robot-data`; None where it is not installed."""
    try:
        package = metadata.distribution(COLLECTION)
    except metadata.PackageNotFoundError:
        return None
    return Path(str(package.locate_file("cmeel.prefix/share/example-robot-data/robots")))


@cache
def collected() -> Mapping[str, Path]:
    """URDF files of `example-robot-data` by name, that of the file without `_robot`; none where it is not installed."""
    folder = collection()
    files = sorted(folder.glob("*/*/*.urdf")) if folder else []
    whole = {file.stem: file for file in files}
    return whole | {file.stem.removesuffix("_robot"): file for file in files if file.stem.endswith("_robot")}


def find_description(robot: str | PathLike[str]) -> Description:
    """Find a robot's description.

    Args:
        robot: The path of a file; package://<package>/<path>; or a name: of a robot that an installed package brings
            along, of `example-robot-data`, or of `robot_descriptions`, with or without its `_description`.

    Raises:
        NameNotFoundError: for a name that none of them has, with close ones and what to install.
        PackageUriError: as `package_uri.resolve_file` raises.
        RobotFileError: for a description that cannot be fetched, or is no file of links and joints.
    """
    text = fspath(robot)
    if text.startswith(SCHEME):
        return Description(resolve_file(text), {}, "")
    given, ours = Path(text), named_robots()
    is_name = len(given.parts) == 1 and (not given.suffix or text in collected())
    if not is_name or given.is_file():
        return Description(locate(given).absolute(), {}, "")
    if text in ours:
        return Description(ours[text].absolute(), {}, "thunder_controllers")
    if (file := collected().get(text)) is not None:
        return Description(file, {}, COLLECTION)
    fetched = _names_to_fetch()
    for name in (text, f"{text}_description"):
        if name in fetched:
            return _fetched(name)
    known = sorted({*ours, *collected(), *(name.removesuffix("_description") for name in fetched)})
    missing = [name for name, found in ((COLLECTION, collected()), (DESCRIPTIONS, fetched)) if not found]
    more = "".join(f"; more of {name}: {INSTALL[name]}" for name in missing)
    raise NameNotFoundError(f"no robot '{text}'", valid=f"a file, or one of {nearest(text, known)}{more}")


def _names_to_fetch() -> Mapping[str, Any]:
    """Descriptions in URDF or MJCF that `robot_descriptions` knows; none where it is not installed."""
    if find_spec(DESCRIPTIONS) is None:
        return {}
    known: Mapping[str, Any] = import_module(DESCRIPTIONS).DESCRIPTIONS
    return {name: one for name, one in known.items() if one.has_urdf or one.has_mjcf}


def _fetched(name: str) -> Description:
    """That of a module of `robot_descriptions`, which clones it when it is imported, unless it has done so."""
    try:
        module = import_module(f"{DESCRIPTIONS}.{name}")
    except Exception as error:  # noqa: BLE001 - whatever git and the network raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        valid = "a network, or a description that its cache holds"
        raise RobotFileError(f"{name} cannot be fetched ({reason})", where=DESCRIPTIONS, valid=valid) from error
    reading: dict[str, Any] = {}
    path = getattr(module, "URDF_PATH", getattr(module, "MJCF_PATH", None))
    if path is None:
        path, arguments = module.XACRO_PATH, getattr(module, "XACRO_ARGS", {})
        packages = getattr(module, "XACRO_PACKAGE_PATHS", {})
        reading = {"xacro_args": dict(arguments), "packages": dict(packages)}
    return Description(Path(path), {key: value for key, value in reading.items() if value}, DESCRIPTIONS)
