"""`simulate`: one run from Python, by the engine of scenarios; docs/python.md shows it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.fields import plain
from thunder_controllers.host import Note
from thunder_controllers.references.table import Sampled, table_of
from thunder_controllers.references.trajectories import Follower, Reference, Stated
from thunder_controllers.references.users import Checked, reference_entries
from thunder_controllers.simulation.experiment import RunResult, run_prepared, write_results
from thunder_controllers.simulation.preparation import prepare
from thunder_controllers.simulation.reference_options import KINDS, GivenReference
from thunder_controllers.simulation.scenario import DESCRIPTIONS, Run, RunConfig, Scenario, check_keys
from thunder_controllers.simulation.stop import stop_text
from thunder_controllers.simulation.trace import Timing, Trace
from thunder_controllers.view.arm import Arm
from thunder_controllers.view.browser import View
from thunder_dynamics.errors import NameNotFoundError, ScenarioError
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model, locate

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

FloatArray = NDArray[np.float64]

Motion = Mapping[str, Any] | str | PathLike[str] | tuple[Any, Any] | Callable[[float], Any] | Reference | Stated
"""What `simulate` takes as a reference."""

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
        metrics: Numbers that say how well it went: docs/simulation.md lists them.
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
        try:
            import pandas as pd
        except ImportError as error:
            raise ScenarioError("pandas is not installed", where="to_pandas", valid="pip install pandas") from error
        return pd.DataFrame(self.trace.columns()).set_index("t")

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

    def report(self, folder: str | PathLike[str]) -> Path:
        """Write what `thunder run` writes of a scenario, its page included, into a folder; returns the page.

        Raises:
            ScenarioError: if the folder cannot be written.
        """
        from thunder_controllers.report.page import write_report  # only here: a run draws nothing

        return write_report(write_results(self._scenario, [self._run], Path(folder)))


def simulate(
    robot: RobotModel | str | PathLike[str],
    *,
    reference: Motion,
    law: str = "cartesian_backstepping",
    duration: float = 10.0,
    rate: float = 1000.0,
    gains: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    payload: float | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    initial_estimates: Mapping[str, Any] | None = None,
    adaptation: bool = True,
    start: Sequence[float] | Mapping[str, Any] | None = None,
    seed: int = 0,
    ee_link: str | None = None,
    robot_options: Mapping[str, Any] | None = None,
    check_reference: bool = True,
    plant: Mapping[str, Any] | None = None,
    host: Mapping[str, Any] | None = None,
    view: bool = False,
) -> Result:
    """Let a robot follow a reference under a law, by the compiled law in the host against a simulated plant.

    Arguments are the keys of a scenario (docs/simulation.md); paths are relative to the working directory.

    Args:
        robot: What the controller knows: a model, the path of its file, or the name of a robot that is installed.
        reference: A type of scenarios with its options as mapping, or its name alone; `(t, values)` with t (N,) [s]
            from 0 and joint positions (N, n), poses (N, 4, 4), (N, 7) as [position, quaternion x y z w], or samples
            (N, 24); the path of a CSV file; a function of t [s] that gives one such value, or (q, q̇, q̈), or
            (position, R); an object with `sample(t)`, as `references.trajectories.Reference`.
        law: Name of an installed law.
        duration: [s].
        rate: Of the control loop [Hz].
        gains: By name: a number or one per joint.
        options: Of the law, such as `{"adapted_links": ["panda_link7"]}`.
        payload: What the plant carries and the controller does not know: `{"mass", "com", "inertia", "link", "time",
            "until"}`, several of them, or a mass [kg] alone; `link` is `ee_link`, or else the last link.
        initial_estimates: First estimates of adapted links, by name: `{"mass", "com", "inertia"}`.
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

    Returns:
        The run. That an arm had to be stopped is no exception: `Result.fault` says it, and a `RuntimeWarning`.

    Raises:
        ScenarioError: if arguments do not fit each other or the robot, or the plant diverges.
        ThunderError: as reader, build, plant and host raise.
    """
    if isinstance(robot, RobotModel):
        if ee_link or robot_options:
            raise ScenarioError("options of a reader beside a model", where=NAME, valid="load_model(path, ee_link=…)")
        model, file = robot, Path(robot.name)
    else:
        file = locate(robot).absolute()
        own = {"ee_link": ee_link} if ee_link is not None and file.suffix in DESCRIPTIONS else {}
        model = load_model(file, **{**(robot_options or {}), **own})
    data = {
        "robot": str(file),
        "robot_options": robot_options or {},
        "ee_link": ee_link,
        "plant": _plant(file, model, plant or {}, robot_options or {}, payload, ee_link),
        "law": {"name": law, "options": options, "gains": gains, "initial_estimates": initial_estimates},
        "reference": _reference(reference),
        "check_reference": check_reference,
        "start": _start(start, model),
        "duration": duration,
        "rate": rate,
        "seed": seed,
        "host": host or {},
    }
    data["law"] = {key: value for key, value in data["law"].items() if value is not None}
    config = check_keys(RunConfig, plain(data), NAME)
    run = Run(NAME, adaptation, config)
    text = yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    scenario = Scenario(Path.cwd() / NAME, NAME, "", (run,), text)
    its_plant = model if config.plant.urdf == config.robot and config.plant.engine == "model" else None
    setup = prepare(scenario, run, model, description=its_plant)
    with View(print) if view else nullcontext() as watch:
        done = run_prepared(setup, run, watch=watch)
    result = Result(done.trace, done.timing, done.metrics, done.notes, config, done, scenario)
    if result.fault is not None:
        warnings.warn(result.fault, RuntimeWarning, stacklevel=2)
    return result


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
    engine = "mujoco" if Path(urdf).suffix in DESCRIPTIONS else "model"
    section: dict[str, Any] = {"engine": engine, "urdf": urdf, "gravity": model.gravity}
    if Path(urdf).suffix == ".xacro" and engine == said.get("engine", engine):
        section |= {key: robot_options[key] for key in ("xacro_args", "packages") if key in robot_options}
    if payload is not None:
        one = {"mass": payload} if isinstance(payload, int | float) else payload
        bodies = [one] if isinstance(one, Mapping) else one
        link = {"link": ee_link or model.link_names[model.ee_link]}
        section["payloads"] = [*said.get("payloads", ()), *(link | dict(body) for body in bodies)]
    return {**section, **{key: value for key, value in said.items() if key not in ("urdf", "payloads")}}


def _start(start: Sequence[float] | Mapping[str, Any] | None, model: RobotModel) -> dict[str, Any]:
    """The start's section, near the middle of the joints' ranges unless said."""
    if isinstance(start, Mapping) and "q" in start:
        return dict(start)
    limits = [(link.joint.limits.lower, link.joint.limits.upper) for link in model.links]
    middle = [0.5 * (low + high) if np.isfinite([low, high]).all() else 0.0 for low, high in limits]
    return {"q": middle, **start} if isinstance(start, Mapping) else {"q": middle if start is None else start}


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
        return table_of(t, values, follower.cartesian)
    if callable(getattr(said, "sample", None)):
        return Checked(said, type(said).__name__)
    return Sampled(said, follower.cartesian)
