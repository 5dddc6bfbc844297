"""Readers: a robot description in a file becomes a `RobotModel`, and files that have a name are found by it.

A reader is a function `(path, options) -> RobotModel`, found by the suffix of the file among the entry points of the
group `thunder.readers`: the name of the entry point is the suffix without its dot. Ours are always there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thunder_dynamics.errors import (
    ImplausibleWarning,
    InconsistentInertiaWarning,
    NameNotFoundError,
    RobotFileError,
    all_loaded,
    files_beside,
    loaded,
    nearest,
)

if TYPE_CHECKING:
    from thunder_dynamics.locking import Assembly
    from thunder_dynamics.model import RobotModel

__all__ = [
    "InconsistentInertiaWarning",
    "Reader",
    "exists",
    "load_model",
    "locate",
    "named_robots",
    "read_assembly",
    "reader_suffixes",
]

Reader = Callable[[Path, Mapping[str, Any]], "RobotModel"]
"""Reads the file at a path under options given by name."""

GROUP = "thunder.readers"

ROBOTS = "thunder.robots"
"""Entry points of functions `() -> {name: file}`: robots that installed packages bring along."""

LINKS_AND_JOINTS = "thunder_dynamics.readers.urdf:read_urdf"
"""Reader of files of links and joints, of which `read_assembly` has all links."""

BUILT_IN = {
    "yaml": "thunder_dynamics.readers.dh_yaml:read_dh_yaml",
    "yml": "thunder_dynamics.readers.dh_yaml:read_dh_yaml",
    **dict.fromkeys(("urdf", "xacro", "xml", "mjcf"), LINKS_AND_JOINTS),
}
"""Our own readers, by suffix: they work from a source tree that was never installed, too."""


def load_model(path: str | PathLike[str], **options: Any) -> RobotModel:
    """Read a robot description: YAML with modified DH, URDF, xacro, MJCF, or what an entry point adds.

    Args:
        path: The file, whose suffix selects the reader; or the name of a robot that an installed package brings along.
        options: `name` (of the robot), `allow_inconsistent` and `locked_joints` for all of ours; for URDF and xacro
            also `base`, `base_link`, `ee_link`, `tree`, `gravity`, `zero_limits`; for xacro `xacro_args`,
            `xacro_folders`, `packages`. See `ReaderOptions`, `UrdfOptions` and `XacroOptions`.

    Raises:
        RobotFileError: if the file cannot be read or says what no robot can be; with file, line or key.
        NameNotFoundError: for a robot, option, link or joint that there is not.
        InertiaError: for inertial parameters that no rigid body has, unless `allow_inconsistent`.
        ModelError: for a robot name that is no C identifier.

    Warns:
        ImplausibleWarning: of quantities that no robot has, as where a unit is wrong; see `plausibility`.
    """
    from thunder_dynamics.plausibility import find_implausible  # and numpy, which finding a file needs not

    file = locate(path)
    model = _reader_of(file)(file, options)
    for verdict in find_implausible(model, quick=True):
        warnings.warn(f"{file}: {verdict}", ImplausibleWarning, stacklevel=2)
    return model


def read_assembly(path: str | PathLike[str], options: Mapping[str, Any]) -> Assembly:
    """Read a robot description for all of its links, as plants and pictures are made of them.

    What a URDF or xacro file fixes stays a link of its own, and shapes are read; inertias are not judged. Other files
    give the links of their models.

    Args:
        path: As of `load_model`.
        options: As of `load_model`; those that are empty count as not given.

    Raises:
        RobotFileError, NameNotFoundError, InertiaError, ModelError: as `load_model`.
    """
    from thunder_dynamics.locking import Assembly

    file = locate(path)
    if BUILT_IN.get(file.suffix[1:].lower()) == LINKS_AND_JOINTS:
        read = loaded(EntryPoint("assembly", "thunder_dynamics.readers.urdf:read_assembly", GROUP))
        assembly: Assembly = read(file, options)
        return assembly
    return Assembly(load_model(file, **{name: value for name, value in options.items() if value}))


def named_robots() -> dict[str, Path]:
    """Files of the robots that have a name, by that name."""
    return {name: file for robots in all_loaded(entry_points(group=ROBOTS)).values() for name, file in robots().items()}


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
    if exists(file, Path.is_file) or (not is_name and exists(file)):
        return file
    files, name = known(), file.name.partition(".")[0]
    if is_name and name not in files:
        raise NameNotFoundError(f"no {kind} '{path}'", valid=f"a file, or one of {nearest(name, sorted(files))}")
    if not is_name and name in files:
        raise NameNotFoundError(f"no file '{path}'", valid=f"{name}, the name of a {kind}, or {files_beside(file)}")
    return files[name] if is_name else file


def exists(path: Path, as_what: Callable[[Path], bool] = Path.exists) -> bool:
    """Whether a path is there, as a file if it is asked for `Path.is_file`; one that no file can have is not."""
    try:
        return as_what(path)
    except (OSError, ValueError):  # too long, with a zero in it, in a folder that may not be read
        return False


def reader_suffixes() -> tuple[str, ...]:
    """Suffixes, without dot, that a reader exists for."""
    return tuple(_readers())


def _readers() -> dict[str, EntryPoint]:
    found = {suffix: EntryPoint(suffix, value, GROUP) for suffix, value in BUILT_IN.items()}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry)
    return found


def _reader_of(file: Path) -> Reader:
    suffix = file.suffix[1:].lower()
    readers = {} if suffix in BUILT_IN else _readers()  # to look through all that is installed takes 10 ms
    if suffix not in BUILT_IN and suffix not in readers:
        valid = ", ".join(f".{known}" for known in readers)
        raise RobotFileError(f"no reader for the suffix '{file.suffix}'", where=str(file), valid=valid)
    reader: Reader = loaded(readers.get(suffix) or EntryPoint(suffix, BUILT_IN[suffix], GROUP))
    return reader
