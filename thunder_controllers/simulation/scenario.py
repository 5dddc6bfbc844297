"""A scenario: a YAML file that says which robot does what, under which law, in which runs.

Keys are documented in docs/reference/scenario.md. Everything is checked when the file is read; an error names the file,
the line, the key and what would be valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

import numpy as np
import yaml
from pydantic import Field, create_model, model_validator

from thunder_controllers.fields import (
    Finite,
    JointValues,
    KeyPath,
    Positive,
    Section,
    SignedPerJoint,
    Strict,
    checked,
    plain,
)
from thunder_controllers.host import OptionInfo, option_list
from thunder_controllers.resources import SCENARIOS, shipped
from thunder_controllers.simulation.faults.faults import FaultOptions
from thunder_controllers.simulation.options import Body, PlantOptions, VelocitySource
from thunder_controllers.simulation.reference_options import ReferenceOptions, reference_types
from thunder_dynamics.errors import NameNotFoundError, RobotFileError, ScenarioError, files_beside, option, shortened
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import exists, load_model, locate
from thunder_dynamics.readers.command_options import READING
from thunder_dynamics.readers.xacro_child import is_inside, own_folders
from thunder_dynamics.readers.yaml_text import YamlDocument, parse_yaml
from thunder_dynamics.storage.door import read_text

NAME = r"^[A-Za-z0-9][A-Za-z0-9_\-]{0,62}$"
"""What a scenario or a run may be called: it becomes a file name."""

DESCRIPTIONS = (".urdf", ".xacro", ".xml", ".mjcf")
"""Suffixes of files of links and joints, whose end effector is chosen when they are read."""

MAX_STEPS = 10_000_000
"""Longest run; its trace would fill memory beyond that."""


class PlantSection(PlantOptions):
    """`PlantOptions`, what integrates the plant, and where its description lies, relative to the scenario's file.

    Either engine takes any robot file. Where it is the controller's, it is read under `robot_options` as well; MuJoCo
    holds `locked_joints` of the plant's own instead of theirs. Without `engine` it is MuJoCo, or `model` if MuJoCo
    refuses a body, such as one without mass.
    Velocities are measured as most robots do, by differences of positions, unless the scenario says `exact`.
    """

    engine: Literal["mujoco", "model"] | None = None
    urdf: str
    xacro_args: dict[str, str] = Field(default_factory=dict)
    packages: dict[str, str] = Field(default_factory=dict)
    locked_joints: dict[str, Finite | tuple[Finite, ...]] | None = None
    velocity: VelocitySource = "differences"

    @model_validator(mode="after")
    def _has_what_its_engine_takes(self) -> PlantSection:
        if self.engine == "model" and self.locked_joints is not None:
            raise ValueError("locked_joints of a plant with the engine model (valid: those of robot_options)")
        return self


FIRST_ESTIMATES = {"initial_estimates", "estimates_file"}
"""Keys of a law of which there is one at most."""


class LawSection(Strict):
    """Which law, built with which options, with which gains and first estimates of adapted links."""

    name: str = "cartesian_backstepping"
    options: dict[str, Any] = Field(default_factory=dict)
    gains: dict[str, SignedPerJoint] = Field(default_factory=dict)
    initial_estimates: dict[str, Body] = Field(default_factory=dict)
    estimates_file: str | None = None

    @model_validator(mode="after")
    def _starts_from_one(self) -> LawSection:
        if self.estimates_file is not None and self.initial_estimates:
            raise ValueError("initial_estimates beside estimates_file (valid: one of them)")
        return self


def law_text(name: str, options: Mapping[str, Any]) -> str:
    """A law as the command line takes it: NAME:option=value,… ."""
    return name + ":" * bool(options) + ",".join(f"{key}={value_text(value)}" for key, value in options.items())


def value_text(value: Any) -> str:
    """A value of an option or a gain as the command line takes it: lists as a+b."""
    if isinstance(value, (list, tuple)):
        return "+".join(map(value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


class StartSection(Strict):
    """Where the arm starts: at `q`, or on the reference, at the solution of the inverse kinematics nearest to `q`."""

    q: JointValues
    on_reference: bool = True
    velocity: Literal["rest", "reference"] = "rest"


PERIODS = {"measurement_timeout": 2.0, "gap_limit": 20.0}
"""Options of the host whose default is at least so many periods."""


def _host_field(option: OptionInfo) -> tuple[Any, Any]:
    """A key of the section `host`, as pydantic takes it; what null stands for is in `preparation`."""
    if isinstance(option.default, bool):
        return Annotated[bool, Field(strict=True, description=option.text)], option.default
    lower = {"ge" if option.includes_lower else "gt": option.lower}
    upper = {"le": option.upper} if np.isfinite(option.upper) else {}
    number = Annotated[float, Field(strict=True, allow_inf_nan=False, description=option.text, **lower, **upper)]
    if isinstance(option.default, tuple):
        return number | Annotated[tuple[number, ...], Field(min_length=1)] | dict[str, number] | None, None
    if option.name in PERIODS:
        return number | None, None
    return (
        (number, option.default) if upper else (number | None, option.default if np.isfinite(option.default) else None)
    )


_FIELDS: dict[str, Any] = {option.name: _host_field(option) for option in option_list()}
HostSection: Any = create_model("HostSection", __base__=Strict, **_FIELDS)
"""Options of the host, its defaults where none are given; limits replace those of the robot's description."""


class RunConfig(Strict):
    """All that one run needs; a scenario's common part, or that with a run's overrides.

    In a scenario that is read, its files and folders are absolute paths.
    """

    robot: str
    robot_options: dict[str, Any] = Field(default_factory=dict)
    ee_link: str | None = None
    plant: PlantSection
    law: LawSection = LawSection()
    reference: ReferenceOptions
    check_reference: bool = True
    start: StartSection
    duration: Positive
    rate: Positive = 1000.0
    seed: Annotated[int, Field(ge=0, le=2**63 - 1, strict=True)] = 0
    host: HostSection = HostSection()

    @model_validator(mode="after")
    def _is_bounded(self) -> RunConfig:
        if not 0.5 < self.duration * self.rate <= MAX_STEPS:  # which may be infinite
            raise ValueError(f"duration · rate is {self.duration * self.rate:g} steps (valid: 1 to {MAX_STEPS})")
        return self

    @property
    def steps(self) -> int:
        """Number of control steps."""
        return round(self.duration * self.rate)


class RunEntry(Strict):
    """One entry of `runs`; `overrides` has keys of the common part, nested alike."""

    name: Annotated[str, Field(pattern=NAME)]
    adaptation: bool = True
    overrides: dict[str, Any] = Field(default_factory=dict)


class ScenarioFile(RunConfig):
    """The file as a whole."""

    name: Annotated[str, Field(pattern=NAME)]
    description: str = ""
    runs: Annotated[tuple[RunEntry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> ScenarioFile:
        names = [run.name for run in self.runs]
        if len(set(names)) != len(names):
            raise ValueError(f"two runs share a name: {', '.join(names)} (valid: names that differ)")
        return self


@dataclass(frozen=True)
class Run:
    """One run: its name, whether the estimates adapt, and everything it needs."""

    name: str
    adaptation: bool
    config: RunConfig


@dataclass(frozen=True)
class Scenario:
    """A checked scenario."""

    path: Path  #: Its file; other paths in it are relative to that file's folder.
    name: str  #: Of the scenario.
    description: str  #: What it shows.
    runs: tuple[Run, ...]  #: At least one, with different names.
    text: str  #: The file's text, and in a comment what was changed.

    @property
    def hash(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def load_model(self, file: str, config: RunConfig) -> RobotModel:
        """Read a robot file under the options of a run.

        Raises:
            ThunderError: as its reader raises.
        """
        named = config.ee_link is not None and Path(file).suffix in DESCRIPTIONS
        return load_model(file, **{**config.robot_options, **({"ee_link": config.ee_link} if named else {})})


def load_scenario(
    path: str | Path, changes: Mapping[str, Any] | None = None, xacro_folders: Iterable[str | PathLike[str]] = ()
) -> Scenario:
    """Read and check a scenario.

    Args:
        path: The YAML file, or the name of a scenario that comes with the package.
        changes: Laid over every run, as its overrides are: `{"seed": 2, "plant": {"torque_delay": 0.002}}`.
        xacro_folders: What the scenario may have xacro files read beside its own package, or its own folder: it is
            data, and cannot name more by itself.

    Raises:
        ScenarioError: with file, line and key, and what would be valid.
        NameNotFoundError: for a name that no scenario has.
    """
    file = locate(path, lambda: shipped(SCENARIOS), "scenario")
    try:
        text = read_text(file, ScenarioError)
        document = parse_yaml(text, str(file))
    except RobotFileError as error:
        raise ScenarioError(error.what, where=error.where, valid=error.valid) from error
    whole = _validate(ScenarioFile, document.data, document, ())
    path = file.resolve()
    allowed = (*own_folders(path), *(Path(folder).resolve() for folder in xacro_folders))
    paths = _Paths(path.parent, allowed, document)
    laid = dict(changes or {})
    runs = tuple(paths.made_absolute(_run(index, entry, document, laid)) for index, entry in enumerate(whole.runs))
    if laid:
        lines = yaml.safe_dump(plain(laid), default_flow_style=None, sort_keys=False).splitlines()
        text = "\n".join([text.rstrip("\n"), "# Every run with these changes:", *(f"# {line}" for line in lines), ""])
    return Scenario(path, whole.name, whole.description, runs, text)


def check_keys(kind: type[Section], data: Mapping[str, Any], source: str) -> Section:
    """Check keys and values that come from no file, or whose lines are not known.

    Raises:
        ScenarioError: with `source`, the key, and what would be valid.
    """
    return checked(kind, data, lambda path: ": ".join((source, ".".join(map(str, path)))[: 1 + bool(path)]), _types)


def _run(index: int, entry: RunEntry, document: YamlDocument, changes: Mapping[str, Any]) -> Run:
    """Lay a run's overrides over the common part, and changes over both, and check the result."""
    common = {key: value for key, value in document.data.items() if key in RunConfig.model_fields}
    data = merged(merged(common, entry.overrides), changes)
    config = _validate(RunConfig, data, document, ("runs", index, "overrides"), changes)
    return Run(entry.name, entry.adaptation, config)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings recursively; a value of another kind, or a mapping of another `type`, replaces that of `base`.

    Gains are those of one law: a mapping that names another has none of them. First estimates are those that are named
    last, in the file or in the scenario.
    """
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            kind = below.get("type")
            if value.get("name", law := below.get("name", LawSection().name)) != law:
                below = {name: kept for name, kept in below.items() if name != "gains"}
            if named := FIRST_ESTIMATES & set(value):
                below = {name: kept for name, kept in below.items() if name not in FIRST_ESTIMATES - named}
            value = merged(below, value) if value.get("type", kind) == kind else value
        result[key] = value
    return result


def _validate(
    kind: type[Section],
    data: Mapping[str, Any],
    document: YamlDocument,
    prefix: KeyPath,
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> Section:
    """Check a mapping; what is wrong is placed in changes or overrides if it is there, else in the common part."""

    def where(path: KeyPath) -> str:
        if _has(changes, path):
            return f"{document.source}: {'.'.join(map(str, path))}, as changed"
        return document.where((*prefix, *path) if path and (*prefix, *path) in document.lines else path)

    return checked(kind, data, where, _types)


def _has(data: Any, path: KeyPath) -> bool:
    """Whether a mapping says something of a place in it, or of what that is a part of."""
    if not path:
        return False
    below = data.get(path[0]) if isinstance(data, Mapping) else None
    return below is not None and (not isinstance(below, Mapping) or _has(below, path[1:]))


def _types(location: KeyPath) -> str:
    """Types there are at the place of a union."""
    if "faults" not in location:
        return ", ".join(reference_types())
    kinds = get_args(get_args(FaultOptions)[0])
    return ", ".join(sorted(get_args(kind.model_fields["type"].annotation)[0] for kind in kinds))


@dataclass(frozen=True)
class _Paths:
    """What a scenario calls files and folders becomes absolute paths, once."""

    folder: Path  #: Of the scenario.
    allowed: Sequence[Path]  #: Folders in which those lie that it may have xacro files read, behind their links.
    document: YamlDocument  #: Says where a path stands.

    def made_absolute(self, run: Run) -> Run:
        """The run with absolute paths, also of robots that are named; an error for a file that there is not."""
        config, options = run.config, dict(run.config.robot_options)
        for key in (one.name for one in READING if one.places and one.name in options):
            read = self._file if key == "drives" else self._folders
            options[key] = read(options[key], ("robot_options", key))
        packages = self._folders(config.plant.packages, ("plant", "packages"))
        plant = {"urdf": self._file(config.plant.urdf, ("plant", "urdf")), "packages": packages}
        robot = self._file(config.robot, ("robot",))
        update = {"robot": robot, "robot_options": options, "plant": config.plant.model_copy(update=plant)}
        if config.law.estimates_file is not None:
            estimates = {"estimates_file": self._file(config.law.estimates_file, ("law", "estimates_file"))}
            update["law"] = config.law.model_copy(update=estimates)
        return replace(run, config=config.model_copy(update=update))

    def _file(self, given: str, key: KeyPath) -> str:
        """What is given if it is a file, seen from the scenario's folder, else the file of the robot of that name."""
        if "\0" in given:
            raise ScenarioError(f"no file {shortened(given)}", where=self.document.where(key), valid="a path")
        try:
            found = locate(given, folder=self.folder)
        except NameNotFoundError as error:
            raise ScenarioError(error.what, where=self.document.where(key), valid=error.valid) from error
        if not exists(found, Path.is_file):
            valid = f"a file, seen from {self.folder}; {files_beside(found.resolve())}"
            raise ScenarioError(f"no file {given}", where=self.document.where(key), valid=valid)
        return str(found.resolve())

    def _folders(self, given: Any, key: KeyPath) -> Any:
        """The folders in lists and mappings; the reader says what is wrong with anything else."""
        if isinstance(given, Mapping):
            return {name: self._folders(folder, key) for name, folder in given.items()}
        if isinstance(given, list | tuple):
            return [self._folders(folder, key) for folder in given]
        if not isinstance(given, str):
            return given
        path = (self.folder / given).resolve()
        if not is_inside(path, self.allowed):
            inside = ", ".join(map(str, dict.fromkeys(self.allowed)))
            valid = f"a folder in {inside}, or in one of {option('xacro_folders')}"
            raise ScenarioError(f"a xacro file may not read {given}", where=self.document.where(key), valid=valid)
        return str(path)
