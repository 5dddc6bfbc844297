"""A case to its outcome, in the process that runs it, which loads a robot's library once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import DIVERGED, DONE, FAILED, REFUSED, Case, Measured, Outcome
from thunder_controllers.experiments.measures import pose_distance
from thunder_controllers.host import Guard, Library
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import Setup, build_library, prepare, read_description
from thunder_controllers.simulation.scenario import Run, RunConfig, Scenario
from thunder_controllers.simulation.stop import explain
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import LawError, ScenarioError, ThunderError
from thunder_dynamics.model import RobotModel

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Robot:
    """What cases of one robot and law share: model, library with the law, and the plant's description."""

    model: RobotModel
    library: Library
    description: str | RobotModel


def choose_run(scenario: Scenario, name: str | None = None) -> Run:
    """Find a run of the scenario by name; the last if none is named.

    Raises:
        ScenarioError: if there is no such run.
    """
    found = [run for run in scenario.runs if name in (None, run.name)]
    if not found:
        valid = ", ".join(run.name for run in scenario.runs)
        raise ScenarioError(f"no run '{name}'", where=str(scenario.path), valid=valid)
    return found[-1]


def load_robot(config: RunConfig) -> Robot:
    """Build or find the library of a case, once in a process."""
    keys = {"robot", "robot_options", "ee_link", "plant", "law"}
    text = config.model_dump_json(include=keys, exclude={"law": {"gains", "initial_estimates"}})
    shared = json.loads(text)
    described = ("engine", "urdf", "xacro_args", "packages", "locked_joints")
    shared["plant"] = {key: shared["plant"][key] for key in described}
    return _load_robot(json.dumps(shared, sort_keys=True))


@lru_cache
def _load_robot(shared: str) -> Robot:
    anything = {"reference": {"type": "hold", "position": (0.0, 0.0, 0.0)}, "start": {"q": (0.0,)}, "duration": 1.0}
    run = Run("library", True, RunConfig.model_validate(json.loads(shared) | anything))
    scenario = _scenario(run)
    return Robot(*build_library(scenario, run), read_description(scenario, run.config))


def prepare_case(case: Case) -> tuple[Setup, Run] | None:
    """Set a case up; None if its activation is refused.

    Raises:
        ThunderError: as preparing a run raises otherwise.
    """
    robot, run = load_robot(case.config), Run(case.row, case.adaptation, case.config)
    try:
        return prepare(_scenario(run), run, robot.model, robot.library, robot.description), run
    except LawError as error:
        if not str(error.where).startswith("activate"):
            raise
        return None


def run_case(case: Case) -> Outcome:
    """Run one case; an error is an outcome too."""
    try:
        prepared = prepare_case(case)
        if prepared is None:
            return Outcome(REFUSED)
        setup, run = prepared
        try:
            trace, timing = run_once(setup, run)
        except ScenarioError:
            return Outcome(DIVERGED)
        fault, values = _judge(case, trace.until_fault(), np.asarray(setup.library.velocity_limit))
        if fault is not None:
            return Outcome(fault, values, why=str(explain(setup, run, trace)["what"]))
        more = Measured({}) if case.measure is None else case.measure(case, trace, timing)
        return Outcome(DONE, {**values, **more.values}, more.series)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not take the other cases along
        kind = "" if isinstance(error, ThunderError) else f"{type(error).__name__}: "
        return Outcome(FAILED, message=kind + " ".join(str(error).split()))


def _scenario(run: Run) -> Scenario:
    return Scenario(Path("experiment"), "experiment", "", (run,), "")


def _judge(case: Case, trace: Trace, velocity_limit: FloatArray) -> tuple[str | None, dict[str, float | None]]:
    """The first fault of a trace that ends there, if there is one, and what is measured of every case."""
    fault = trace.first_fault()
    values: dict[str, float | None] = {
        "peak_speed": float((np.abs(trace.qd) / velocity_limit).max()),
        "frozen": float((trace.guards & Guard.ADAPTATION_FROZEN > 0).mean()),
        "rate_limited": float((trace.guards & Guard.EFFORT_RATE_LIMITED > 0).mean()),
    }
    if fault is not None:
        return fault[1], {**values, "stopped": float(trace.t[fault[0]])}
    error = pose_distance(trace)[-min(max(round(case.window * case.config.rate), 1), len(trace.t)) :]
    return None, {**values, "error": float(error.mean()), "peak_error": float(error.max())}
