"""A scenario: a YAML file that says which robot does what, under which law, in which runs.

Keys are documented in docs/simulation.md. Everything is checked when the file is read; an error names the file, the
line, the key and what would be valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import Field, ValidationError, model_validator

from thunder_controllers.host import Options
from thunder_controllers.resources import SCENARIOS, shipped
from thunder_controllers.simulation.faults.faults import FaultOptions
from thunder_controllers.simulation.fields import UNKNOWN_KEY, Finite, Positive, Strict
from thunder_controllers.simulation.options import Body, PlantOptions, VelocitySource
from thunder_controllers.simulation.reference_options import ReferenceOptions, reference_types
from thunder_dynamics.errors import NameNotFoundError, RobotFileError, ScenarioError, files_beside, option
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model, locate
from thunder_dynamics.readers.source import read_text
from thunder_dynamics.readers.xacro_child import is_inside, own_folders
from thunder_dynamics.readers.yaml_text import KeyPath, YamlDocument, parse_yaml

NAME = r"^[A-Za-z0-9][A-Za-z0-9_\-]{0,62}$"
"""What a scenario or a run may be called: it becomes a file name."""

Section = TypeVar("Section", bound=Strict)

GainValue = Finite | Annotated[tuple[Finite, ...], Field(min_length=1)]
LimitValues = Positive | Annotated[tuple[Positive, ...], Field(min_length=1)]

DESCRIPTIONS = (".urdf", ".xacro")
"""Suffixes of the files that MuJoCo takes, and whose end effector is chosen when they are read."""

MAX_STEPS = 10_000_000
"""Longest run; its trace would fill memory beyond that."""


class PlantSection(PlantOptions):
    """`PlantOptions`, what integrates the plant, and where its description lies, relative to the scenario's file.

    MuJoCo takes URDF or xacro, and holds the `locked_joints` of `robot_options` unless the plant has its own; the
    engine `model` takes any robot file, read under `robot_options` as `robot` is.
    Velocities are measured as most robots do, by differences of positions, unless the scenario says `exact`.
    """

    engine: Literal["mujoco", "model"] = "mujoco"
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


class LawSection(Strict):
    """Which law, built with which options, with which gains and first estimates of adapted links."""

    name: str = "cartesian_backstepping"
    options: dict[str, Any] = Field(default_factory=dict)
    gains: dict[str, GainValue] = Field(default_factory=dict)
    initial_estimates: dict[str, Body] = Field(default_factory=dict)


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

    q: Annotated[tuple[Finite, ...], Field(min_length=1)]
    on_reference: bool = True
    velocity: Literal["rest", "reference"] = "rest"


_HOST = Options()


class HostSection(Strict):
    """Options of the host, its defaults where none are given; limits replace those of the robot's description."""

    gravity_compensated_by_robot: bool = _HOST.gravity_compensated_by_robot
    measurement_timeout: Positive | None = None
    reference_timeout: Positive | None = None
    saturation_freezes_adaptation: bool = _HOST.saturation_freezes_adaptation
    effort_limit: LimitValues | None = None
    effort_rate_limit: LimitValues | None = None
    velocity_limit: LimitValues | None = None
    velocity_limit_patience: Positive = _HOST.velocity_limit_patience
    gap_limit: Positive | None = None
    approaches_jumps: bool = _HOST.approaches_jumps
    approach_patience: Positive | None = _HOST.approach_patience
    velocity_stop_ratio: Annotated[float, Field(strict=True, ge=1.0, allow_inf_nan=False)] = _HOST.velocity_stop_ratio
    accepts_unstable_gains: bool = _HOST.accepts_unstable_gains


class RunConfig(Strict):
    """All that one run needs; a scenario's common part, or that with a run's overrides."""

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
        if not 1 <= self.steps <= MAX_STEPS:
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
            raise ValueError(f"two runs share a name: {', '.join(names)}")
        return self


@dataclass(frozen=True)
class Run:
    """One run: its name, whether the estimates adapt, and everything it needs."""

    name: str
    adaptation: bool
    config: RunConfig


@dataclass(frozen=True)
class Scenario:
    """A checked scenario.

    Attributes:
        path: Its file; other paths in it are relative to that file's folder.
        name: Of the scenario.
        description: What it shows.
        runs: At least one, with different names.
        text: The file's text.
    """

    path: Path
    name: str
    description: str
    runs: tuple[Run, ...]
    text: str

    @property
    def hash(self) -> str:
        """SHA-256 of the text, hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def resolve(self, relative: str) -> Path:
        """Locate a file that the scenario names."""
        return (self.path.parent / relative).resolve()

    def packages(self, folders: Mapping[str, str]) -> dict[str, Path]:
        """Locate packages that the scenario names."""
        return {name: self.resolve(folder) for name, folder in folders.items()}

    def load_model(self, relative: str, config: RunConfig) -> RobotModel:
        """Read a robot file under the options of a run.

        Raises:
            ThunderError: as its reader raises.
        """
        file = self.resolve(relative)
        named = config.ee_link is not None and file.suffix in DESCRIPTIONS
        options = config.robot_options | ({"ee_link": config.ee_link} if named else {})
        packages, folders = options.get("packages"), options.get("xacro_folders")
        if isinstance(packages, Mapping):  # the reader says what is wrong with anything else
            options = {**options, "packages": self.packages(packages)}
        if isinstance(folders, list | tuple):
            options = {**options, "xacro_folders": [self.resolve(folder) for folder in folders]}
        return load_model(file, **options)


def load_scenario(
    path: str | Path, seed: int | None = None, xacro_folders: Iterable[str | PathLike[str]] = ()
) -> Scenario:
    """Read and check a scenario.

    Args:
        path: The YAML file, or the name of a scenario that comes with the package.
        seed: Replaces the seed of every run.
        xacro_folders: What the scenario may have xacro files read beside its own package, or its own folder: it is
            data, and cannot name more by itself.

    Raises:
        ScenarioError: with file, line and key, and what would be valid.
        NameNotFoundError: for a name that no scenario has.
    """
    file = locate(path, lambda: shipped(SCENARIOS), "scenario")
    try:
        text = read_text(file)
        document = parse_yaml(text, str(file))
    except RobotFileError as error:
        raise ScenarioError(error.what, where=error.where, valid=error.valid) from error
    whole = _validate(ScenarioFile, document.data, document, ())
    entries = enumerate(whole.runs)
    runs = tuple(_with_files(file, _run(index, entry, document, seed), document) for index, entry in entries)
    scenario = Scenario(file.resolve(), whole.name, whole.description, runs, text)
    allowed = (*own_folders(scenario.path), *(Path(folder).resolve() for folder in xacro_folders))
    for run in runs:
        _check_folders(scenario, run.config, allowed, document)
    return scenario


def check_config(data: Mapping[str, Any], source: str) -> RunConfig:
    """Check a run's configuration that comes from no file; as `check_keys`."""
    return check_keys(RunConfig, data, source)


def check_keys(kind: type[Section], data: Mapping[str, Any], source: str) -> Section:
    """Check keys and values that come from no file, or whose lines are not known.

    Raises:
        ScenarioError: with `source`, the key, and what would be valid.
    """
    found: Section = _validate(kind, data, _Arguments(dict(data), _key_paths(data), frozenset(), source), ())
    return found


class _Arguments(YamlDocument):
    """Keys and values without lines."""

    def where(self, path: KeyPath) -> str:
        return f"{self.source}: {'.'.join(map(str, path))}" if path else self.source


def _key_paths(data: Any, path: KeyPath = ()) -> dict[KeyPath, int]:
    parts = data.items() if isinstance(data, Mapping) else enumerate(data) if isinstance(data, list | tuple) else ()
    found = {path: 0}
    for key, value in parts:
        found |= _key_paths(value, (*path, key))
    return found


def _run(index: int, entry: RunEntry, document: YamlDocument, seed: int | None) -> Run:
    """Lay a run's overrides over the common part and check the result."""
    common = {key: value for key, value in document.data.items() if key in RunConfig.model_fields}
    data = merged(common, entry.overrides) | ({} if seed is None else {"seed": seed})
    config = _validate(RunConfig, data, document, ("runs", index, "overrides"))
    return Run(entry.name, entry.adaptation, config)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merge mappings recursively; a value of another kind, or a mapping of another `type`, replaces that of `base`."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        alike = isinstance(below, Mapping) and isinstance(value, Mapping)
        if alike and value.get("type", below.get("type")) == below.get("type"):  # type: ignore[union-attr]
            value = merged(below, value)  # type: ignore[arg-type]
        result[key] = value
    return result


def _validate(kind: type[Any], data: Mapping[str, Any], document: YamlDocument, prefix: KeyPath) -> Any:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise _scenario_error(error, document, prefix) from error


def _scenario_error(error: ValidationError, document: YamlDocument, prefix: KeyPath) -> ScenarioError:
    """The first complaint, at its place in the file: in the overrides if it is there, else in the common part."""
    # A union complains once per member; the deepest complaint is about the member that was meant.
    first = max(error.errors(include_url=False), key=lambda one: len(_known_path(one["loc"], document, prefix)))
    context = first.get("ctx", {})
    own, kind = first["loc"], first["type"]
    path = _known_path(own, document, prefix)
    if kind == UNKNOWN_KEY:
        what = f"unknown key '{context['key']}'"
        return ScenarioError(what, where=document.where((*path, context["key"])), valid=context["valid"])
    if kind == "missing" and isinstance(own[-1], int):
        return ScenarioError(f"only {own[-1]} values", where=document.where(path), valid="more values")
    if kind == "missing":
        return ScenarioError(f"missing key '{own[-1]}'", where=document.where(path), valid="a value for it")
    if kind == "union_tag_not_found":
        return ScenarioError("missing key 'type'", where=document.where(path), valid=_tags(own))
    if kind == "union_tag_invalid":
        return ScenarioError(f"type '{context['tag']}'", where=document.where((*path, "type")), valid=_tags(own))
    if kind == "value_error":
        what, _, valid = str(context["error"]).partition(" (valid: ")
        return ScenarioError(what, where=document.where(path), valid=valid[:-1] or None)
    shown = repr(first["input"])
    shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
    return ScenarioError(shown, where=document.where(path), valid=_lower_first(first["msg"]))


def _known_path(location: KeyPath, document: YamlDocument, prefix: KeyPath) -> KeyPath:
    """The key path of pydantic's location, which has names of union members in between."""
    path: KeyPath = ()
    for part in location:
        if any((*start, *path, part) in document.lines for start in ((), prefix)):
            path = (*path, part)
    return (*prefix, *path) if (*prefix, *path) in document.lines and path else path


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _tags(location: KeyPath) -> str:
    """Types there are at the place of a union."""
    if "faults" not in location:
        return ", ".join(reference_types())
    kinds = get_args(get_args(FaultOptions)[0])
    return ", ".join(sorted(get_args(kind.model_fields["type"].annotation)[0] for kind in kinds))


def _with_files(file: Path, run: Run, document: YamlDocument) -> Run:
    """The run with files in place of the names of robots; an error for a file that there is not."""
    config = run.config
    robot = _file(file.parent, config.robot, document.where(("robot",)))
    urdf = _file(file.parent, config.plant.urdf, document.where(("plant", "urdf")))
    plant = config.plant.model_copy(update={"urdf": urdf})
    return replace(run, config=config.model_copy(update={"robot": robot, "plant": plant}))


def _check_folders(scenario: Scenario, config: RunConfig, allowed: Sequence[Path], document: YamlDocument) -> None:
    """Raise unless what the scenario would have xacro files read lies in allowed folders, behind its links."""
    named = {
        ("robot_options", "xacro_folders"): config.robot_options.get("xacro_folders"),
        ("robot_options", "packages"): config.robot_options.get("packages"),
        ("plant", "packages"): config.plant.packages,
    }
    for key, given in named.items():
        folders = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else ()
        for folder in folders:
            if isinstance(folder, str) and not is_inside(scenario.resolve(folder), allowed):
                valid = (
                    f"a folder in {', '.join(map(str, dict.fromkeys(allowed)))}, or in one of {option('xacro_folders')}"
                )
                raise ScenarioError(f"a xacro file may not read {folder}", where=document.where(key), valid=valid)


def _file(folder: Path, given: str, where: str) -> str:
    """What is given if it is a file, seen from a folder, else the file of the robot of that name."""
    try:
        found = locate(given, folder=folder)
    except NameNotFoundError as error:
        raise ScenarioError(error.what, where=where, valid=error.valid) from error
    if not found.is_file():
        valid = f"a file, seen from {folder}; {files_beside(found.resolve())}"
        raise ScenarioError(f"no file {given}", where=where, valid=valid)
    return given if found == folder / given else str(found)
