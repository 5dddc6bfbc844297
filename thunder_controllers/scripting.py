"""`simulate`: one run from Python, by the engine of scenarios; docs/reference/python.md shows it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.arms.choice import choose_arm
from thunder_controllers.arms.descriptions import find_description
from thunder_controllers.arms.trial import Trial, plan_trial
from thunder_controllers.experiments.fleet import may_share
from thunder_controllers.fields import plain
from thunder_controllers.host import Note
from thunder_controllers.references.table import Sampled, table_of
from thunder_controllers.references.trajectories import Follower, Reference, Stated
from thunder_controllers.references.users import Checked, reference_entries
from thunder_controllers.simulation.experiment import RunResult, run_prepared, write_results
from thunder_controllers.simulation.metrics import FINAL_SECONDS
from thunder_controllers.simulation.preparation import Setup, prepare
from thunder_controllers.simulation.reference_options import KINDS, GivenReference
from thunder_controllers.simulation.scenario import DESCRIPTIONS, Run, RunConfig, Scenario, check_keys, merged
from thunder_controllers.simulation.stop import stop_text
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_controllers.view.arm import Arm
from thunder_controllers.view.browser import View
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, nearest
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import located

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from thunder_controllers.experiments.experiment import Outcome

FloatArray = NDArray[np.float64]

Motion = Mapping[str, Any] | str | PathLike[str] | tuple[Any, Any] | Callable[[float], Any] | Reference | Stated
"""What `simulate` takes as a reference."""

DEFAULT_LAW, DEFAULT_DURATION = "cartesian_backstepping", 10.0
"""Of a run with a reference of one's own; [s]."""

NAME = "simulate"
"""Of the scenario that a call is, and of the files of its only run."""


VALID_REFERENCE = (
    "a mapping with a type, (t, values), the path of a CSV file, a function of t, or an object with sample(t)"
)


@dataclass(frozen=True, repr=False)
class Result:
    """What a run gave.

    Attributes:
        trace: Arrays, one row per control step; `Trace` says which.
        timing: Wall time of each control step.
        metrics: Numbers that say how well it went: docs/reference/scenario.md lists them.
        notes: What the host and the check of the reference noticed before the run.
        config: All that the run needed, as in a scenario.
    """

    trace: Trace
    timing: Timing
    metrics: Mapping[str, Any]
    notes: tuple[Note, ...]
    config: RunConfig
    _run: RunResult
    _scenario: Scenario

    @property
    def fault(self) -> str | None:
        """When and why the arm was stopped; None if the run went to its end."""
        found = self.metrics["fault"]
        return None if found is None else f"stopped at {stop_text(found)}"

    def __repr__(self) -> str:
        end = self.fault
        if end is None:
            errors = (f"{1e3 * error['final']:.3g} m{error['unit']}" for error in self.metrics["errors"].values())
            end = f"error at the end {', '.join(errors)}"
        return f"<{self.config.law.name} on {Path(self.config.robot).stem}, {self.metrics['duration']:g} s: {end}>"

    def to_pandas(self) -> pd.DataFrame:
        """The table of `Trace.columns`, as `panda_joint1.position`, `error.x`, `panda_link7.estimate.m`, by time [s].

        Raises:
            ScenarioError: if pandas is not installed.
        """
        return _frame(self.trace.columns(), "t")

    def plot(self, name: str = "errors") -> go.Figure:
        """Draw a plot of the report: errors, components, guards, efforts, estimates_<link>, replay or step_times.

        Raises:
            NameNotFoundError: if there is no such plot.
        """
        import plotly.graph_objects as go  # these only here: a run draws nothing

        from thunder_controllers.report.page import make_plots
        from thunder_controllers.report.replay import replay

        if name == "replay":
            return go.Figure(replay([Arm.of(NAME, self.trace, self._run.frames)]))
        drawn = make_plots({NAME: self.metrics}, {NAME: self.trace.until_fault()}, {NAME: self.timing})
        if name not in drawn:
            raise NameNotFoundError(f"no plot '{name}'", where="plot", valid=", ".join(["replay", *drawn]))
        return drawn[name]

    def save_estimates(self, path: str | PathLike[str]) -> None:
        """Write what the law has learned, friction and rotors included: `initial_estimates` of another run.

        Raises:
            ScenarioError: if it has learned nothing, or a fault stopped it.
            LawError: if the file cannot be written.
        """
        if self._run.learned is None:
            raise ScenarioError("nothing was learned", where=str(path), valid="a run that adapts and goes to its end")
        self._run.learned.save(Path(path))

    def report(self, folder: str | PathLike[str]) -> Path:
        """Write what `thunder run` writes of a scenario, its page included, into a folder; returns the page.

        Raises:
            ScenarioError: if the folder cannot be written.
        """
        from thunder_controllers.report.page import write_report  # only here: a run draws nothing

        return write_report(write_results(self._scenario, [self._run], Path(folder)))


def _frame(table: Any, index: str) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError as error:
        raise ScenarioError("pandas is not installed", where="to_pandas", valid="pip install pandas") from error
    return pd.DataFrame(table).set_index(index)


@dataclass(frozen=True, repr=False)
class Sample:
    """What runs gave that differ in their seeds alone.

    Attributes:
        seeds: Of the runs.
        outcomes: How each ended, and what was measured of it.
        config: Of the first run, as in a scenario.
        notes: What the host and the check of the reference noticed before the runs.
    """

    seeds: range
    outcomes: tuple[Outcome, ...]
    config: RunConfig
    notes: tuple[Note, ...]

    def values(self, name: str) -> FloatArray:
        """A number of every run, (N,), NaN where a run has none: docs/compare.md says which there are.

        Raises:
            NameNotFoundError: if no run has it.
        """
        known = {key for one in self.outcomes for key in one.values}
        if name not in known:
            raise NameNotFoundError(f"no number '{name}'", where="Sample", valid=nearest(name, sorted(known)))
        found = (one.values.get(name) for one in self.outcomes)
        return np.array([np.nan if value is None else value for value in found])

    @property
    def faults(self) -> int:
        """How many of the runs were stopped, diverged, or could not be made."""
        from thunder_controllers.experiments.experiment import DONE  # only here, as below: one run draws nothing

        return sum(one.ended != DONE for one in self.outcomes)

    def __repr__(self) -> str:
        runs = f"<{self.config.law.name} on {Path(self.config.robot).stem}, {len(self.outcomes)} runs"
        if self.faults == len(self.outcomes):
            return f"{runs}: none to its end, {self.outcomes[0].message or self.outcomes[0].ended}>"
        low, middle, high = np.nanquantile(self.values("error"), [0.05, 0.5, 0.95])
        return f"{runs}, {self.faults} stopped: error at the end {middle:.3g} ({low:.3g} to {high:.3g} in 90 %)>"

    def to_pandas(self) -> pd.DataFrame:
        """A row for each run, by seed: how it ended, and its numbers.

        Raises:
            ScenarioError: if pandas is not installed.
        """
        rows = [
            {"seed": seed, "ended": one.ended, **one.values}
            for seed, one in zip(self.seeds, self.outcomes, strict=True)
        ]
        return _frame(rows, "seed")


@overload
def simulate(
    robot: RobotModel | str | PathLike[str],
    *,
    reference: Motion | None = None,
    seeds: int,
    jobs: int = 1,
    **arguments: Any,
) -> Sample: ...


@overload
def simulate(
    robot: RobotModel | str | PathLike[str], *, reference: Motion | None = None, seeds: None = None, **arguments: Any
) -> Result: ...


def simulate(  # type: ignore[misc]  # the names of its arguments are said once
    robot: RobotModel | str | PathLike[str],
    *,
    reference: Motion | None = None,
    law: str | None = None,
    duration: float | None = None,
    rate: float = 1000.0,
    gains: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    payload: float | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    initial_estimates: Mapping[str, Any] | str | PathLike[str] | None = None,
    adaptation: bool = True,
    start: Sequence[float] | Mapping[str, Any] | None = None,
    seed: int = 0,
    ee_link: str | None = None,
    robot_options: Mapping[str, Any] | None = None,
    check_reference: bool = True,
    plant: Mapping[str, Any] | None = None,
    host: Mapping[str, Any] | None = None,
    view: bool = False,
    seeds: int | None = None,
    jobs: int = 1,
) -> Result | Sample:
    """Let a robot follow a reference under a law, by the compiled law in the host against a simulated plant.

    Arguments are the keys of a scenario (docs/reference/scenario.md); paths are relative to the working directory.

    Args:
        robot: What the controller knows: a model, the path of its file, or the name of a robot that is installed, of
            `example-robot-data` or of `robot_descriptions`, as `thunder try` takes it. In one of the last two, and in
            any without a reference, the arm is selected, and its gripper held, as `thunder try` says.
        reference: A type of scenarios with its options as mapping, or its name alone; `(t, values)` with t (N,) [s]
            from 0 and joint positions (N, n), poses (N, 4, 4), (N, 7) as [position, quaternion x y z w], or samples
            (N, 24); the path of a CSV file; a function of t [s] that gives one such value, or (q, q̇, q̈), or
            (position, R); an object with `sample(t)`, as `references.trajectories.Reference`. Without one it is the run
            of `thunder try` that fits the arm, motion, payload, friction, noise and law: `plan_trial` has what was
            chosen, and what is given here replaces it.
        law: Name of an installed law, `NAME:option=value,…` with options; `cartesian_backstepping` by default.
        duration: [s]; 10 by default.
        rate: Of the control loop [Hz].
        gains: By name: a number or one per joint.
        options: Of the law, such as `{"adapted_links": ["panda_link7"]}`.
        payload: What the plant carries and the controller does not know: `{"mass", "com", "inertia", "link", "time",
            "until"}`, several of them, or a mass [kg] alone; `link` is `ee_link`, or else the last link.
        initial_estimates: First estimates of adapted links, by name: `{"mass", "com", "inertia"}`; or the file of
            `Result.save_estimates`, of a controller, or of `thunder identify`.
        adaptation: Whether the estimates adapt.
        start: Joint positions near which it starts on the reference, or a mapping as the scenario's `start`; the middle
            of the joints' ranges by default.
        seed: Of the measurement noise and of random faults.
        ee_link: The end effector of controller and plant, a link of the URDF.
        robot_options: Of the robot's reader.
        check_reference: Whether one that the arm cannot follow is refused before the run.
        plant: Keys of the scenario's `plant`. By default it is the robot itself: MuJoCo moves a URDF or xacro file, and
            the equations of its model any other robot.
        host: Keys of the scenario's `host`.
        view: Whether it is shown while it goes, no faster than real time, as `thunder run --view` does.
        seeds: How many runs to make, with seeds from `seed` on: many at once where the plant is of engine `model`
            without faults, in processes elsewhere.
        jobs: That many processes; their robots and references are from files, or names.

    Returns:
        The run, or the `Sample` of `seeds` runs. That an arm had to be stopped is no exception: `Result.fault` says it,
        and a `RuntimeWarning`.

    Raises:
        ScenarioError: if arguments do not fit each other or the robot, or the plant diverges.
        ThunderError: as reader, build, plant and host raise.
    """
    given: dict[str, Any] = {"duration": duration, "rate": rate, "seed": seed, "host": host or {}}
    first = "estimates_file" if isinstance(initial_estimates, str | PathLike) else "initial_estimates"
    if law is not None and ":" in law:
        from thunder_dynamics.cli import parse_law

        law, stated = parse_law(law)
        options = stated | dict(options or {})
    law_given = {"name": law, "options": options, "gains": gains, first: initial_estimates}
    given["law"] = {key: value for key, value in law_given.items() if value is not None}
    if reference is None:
        trial = _trial(robot, robot_options, ee_link)
        model, base = trial.model, dict(trial.scenario)
        link = model.link_names[model.ee_link]
        given |= {"plant": {**(plant or {}), **_carried(payload, plant or {}, link)}, "start": _given_start(start)}
        base |= {"law": {}} if law is not None else {}  # options are those of a law
    else:
        file, model, reading, ee_link = _read(robot, located(robot_options or {}), ee_link)
        base = {"robot": str(file), "robot_options": reading, "ee_link": ee_link, "law": {"name": DEFAULT_LAW}}
        base |= {"plant": _plant(file, model, plant or {}, reading, payload, ee_link), "duration": DEFAULT_DURATION}
        base |= {"check_reference": check_reference, "start": {"q": _middle(model)}}
        given |= {"reference": _reference(reference), "start": _given_start(start)}
    data = merged(base, {key: value for key, value in given.items() if value is not None})
    config = check_keys(RunConfig, plain(data), NAME)
    run = Run(NAME, adaptation, config)
    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    scenario = Scenario(Path(NAME), NAME, "", (run,), text)
    its_plant = model if config.plant.urdf == config.robot and config.plant.engine == "model" else None
    together = seeds is not None and may_share(config)
    setup = prepare(scenario, run, model, description=its_plant, lanes=together)
    if seeds is not None:
        is_from_here = isinstance(robot, RobotModel) or isinstance(config.reference, GivenReference)
        if is_from_here and not together:
            what = "a robot or a reference made in Python, of which other processes know nothing"
            raise ScenarioError(what, where="seeds", valid="files, mappings and names; or a plant of engine model")
        return _sample(setup, run, range(seed, seed + seeds), None if together else jobs)
    with View(print) if view else nullcontext() as watch:
        done = run_prepared(setup, run, watch=watch)
    result = Result(done.trace, done.timing, done.metrics, done.notes, config, done, scenario)
    if result.fault is not None:
        warnings.warn(result.fault, RuntimeWarning, stacklevel=2)
    return result


def _sample(setup: Setup, run: Run, seeds: range, jobs: int | None) -> Sample:
    """Runs of these seeds, here, or in so many processes."""
    from thunder_controllers.experiments.engine import run_cases as run_in_processes
    from thunder_controllers.experiments.experiment import Case
    from thunder_controllers.experiments.measures import measure_run
    from thunder_controllers.experiments.runner import run_cases

    config = run.config
    cases = [
        Case(NAME, config.model_copy(update={"seed": seed}), FINAL_SECONDS, run.adaptation, measure_run)
        for seed in seeds
    ]
    if jobs is None:
        return Sample(seeds, tuple(run_cases(cases, lambda _: (setup, run))), config, setup.notes)
    outcomes = dict(run_in_processes(cases, jobs))
    return Sample(seeds, tuple(outcomes[i] for i in range(len(cases))), config, setup.notes)


def _plant(
    file: Path,
    model: RobotModel,
    said: Mapping[str, Any],
    robot_options: Mapping[str, Any],
    payload: float | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None,
    ee_link: str | None,
) -> dict[str, Any]:
    """The plant's section: the robot itself and its gravity unless said, and what it carries."""
    urdf = fspath(said.get("urdf", file))
    engine = None if Path(urdf).suffix in DESCRIPTIONS else "model"
    section: dict[str, Any] = {"engine": engine, "urdf": urdf, "gravity": model.gravity}
    if Path(urdf).suffix == ".xacro" and said.get("engine") != "model":
        section |= {key: robot_options[key] for key in ("xacro_args", "packages") if key in robot_options}
    section |= {key: value for key, value in said.items() if key != "urdf"}
    return section | _carried(payload, said, ee_link or model.link_names[model.ee_link])


def _carried(
    payload: float | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, said: Mapping[str, Any], link: str
) -> dict[str, Any]:
    """The plant's payloads, if any are given, beside those that it is said to have."""
    if payload is None:
        return {}
    one = {"mass": payload} if isinstance(payload, int | float) else payload
    bodies = [one] if isinstance(one, Mapping) else one
    return {"payloads": [*said.get("payloads", ()), *({"link": link} | dict(body) for body in bodies)]}


def _given_start(start: Sequence[float] | Mapping[str, Any] | None) -> dict[str, Any]:
    """The start's section, as far as it is given."""
    if start is None:
        return {}
    return dict(start) if isinstance(start, Mapping) else {"q": start}


def _middle(model: RobotModel) -> list[float]:
    """The middle of the joints' ranges."""
    limits = [(link.joint.limits.lower, link.joint.limits.upper) for link in model.links]
    return [0.5 * (low + high) if np.isfinite([low, high]).all() else 0.0 for low, high in limits]


def _trial(
    robot: RobotModel | str | PathLike[str], robot_options: Mapping[str, Any] | None, ee_link: str | None
) -> Trial:
    """The run of `thunder try`."""
    if isinstance(robot, RobotModel):
        raise ScenarioError("a model and no reference", where=NAME, valid="reference=…, or a robot's file or name")
    return plan_trial(robot, robot_options, ee_link)


def _read(
    robot: RobotModel | str | PathLike[str], robot_options: Mapping[str, Any], ee_link: str | None
) -> tuple[Path, RobotModel, Mapping[str, Any], str | None]:
    """The file of a robot, its model, options of its reader, and its end effector; the arm in what a collection has."""
    if isinstance(robot, RobotModel):
        if ee_link or robot_options:
            raise ScenarioError("options of a reader beside a model", where=NAME, valid="load_model(path, ee_link=…)")
        return Path(robot.name), robot, {}, None
    description = find_description(robot)
    if description.is_collected:
        reading = dict(choose_arm(robot, robot_options, ee_link).reading)
        ee_link = reading.pop("ee_link")
        return description.file, load_model(description.file, **reading, ee_link=ee_link), reading, ee_link
    own = {"ee_link": ee_link} if ee_link is not None and description.file.suffix in DESCRIPTIONS else {}
    return description.file, load_model(description.file, **{**robot_options, **own}), robot_options, ee_link


def _reference(said: Motion) -> Any:
    """A mapping or a trajectory as a scenario has it, or what makes the reference when it is known who follows it."""
    if isinstance(said, Mapping | Stated):
        return said
    if isinstance(said, str | PathLike):
        path = Path(said)
        is_type = isinstance(said, str) and (said in KINDS or said in reference_entries())
        return {"type": said} if is_type else {"type": "csv", "file": str(path)}
    if isinstance(said, type) or not (callable(getattr(said, "sample", None)) or callable(said) or _is_pair(said)):
        raise ScenarioError(f"a reference of type {type(said).__name__}", where=NAME, valid=VALID_REFERENCE)
    return GivenReference(make=lambda follower: _made(said, follower))


def _is_pair(said: object) -> bool:
    return isinstance(said, tuple) and len(said) == 2


def _made(said: Any, follower: Follower) -> Reference:
    if _is_pair(said):
        t, values = said
        return table_of(t, values, follower.cartesian, follower.circles)
    if callable(getattr(said, "sample", None)):
        return Checked(said, type(said).__name__)
    return Sampled(said, follower.cartesian, follower.circles)
