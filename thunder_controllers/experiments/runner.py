"""Cases to their outcomes, in the process that runs them, which loads a robot's library once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count, groupby
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import DIVERGED, DONE, FAILED, REFUSED, Case, Measured, Outcome
from thunder_controllers.experiments.fleet import Ran, Room, kinship, may_share, most_together, run_together, twin
from thunder_controllers.experiments.measures import pose_distance
from thunder_controllers.host import Guard, Library
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import Setup, build_library, prepare, read_description
from thunder_controllers.simulation.scenario import Run, RunConfig, Scenario
from thunder_controllers.simulation.stop import explain
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import LawError, ScenarioError, ThunderError
from thunder_dynamics.locking import Assembly
from thunder_dynamics.model import RobotModel

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Robot:
    """What cases of one robot and law share: model, library with the law, and the plant's description."""

    model: RobotModel
    library: Library
    description: Assembly | RobotModel


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


Prepared = tuple[Setup, Run]

Prepare = Callable[[Case], Prepared | None]
"""Sets a case up; None if its activation is refused."""

Done = TypeVar("Done")


def load_robot(config: RunConfig) -> Robot:
    """Build or find the library of a case, once in a process."""
    return _load_robot(shared_by(config))


def shared_by(config: RunConfig) -> str:
    """What cases of one robot, law and plant have in common, as text."""
    keys = {"robot", "robot_options", "ee_link", "plant", "law"}
    text = config.model_dump_json(include=keys, exclude={"law": {"gains", "initial_estimates", "estimates_file"}})
    shared = json.loads(text)
    described = ("engine", "urdf", "xacro_args", "packages", "locked_joints")
    shared["plant"] = {key: shared["plant"][key] for key in described}
    return json.dumps(shared, sort_keys=True)


@lru_cache
def _load_robot(shared: str) -> Robot:
    anything = {"reference": {"type": "hold", "position": (0.0, 0.0, 0.0)}, "start": {"q": (0.0,)}, "duration": 1.0}
    run = Run("library", True, RunConfig.model_validate(json.loads(shared) | anything))
    scenario = scenario_of(run)
    model, library = build_library(scenario, run, lanes=may_share(run.config))
    return Robot(model, library, read_description(scenario, run.config))


def prepare_case(case: Case) -> tuple[Setup, Run] | None:
    """Set a case up; None if its activation is refused.

    Raises:
        ThunderError: as preparing a run raises otherwise.
    """
    robot, run = load_robot(case.config), Run(case.row, case.adaptation, case.config)
    try:
        return prepare(scenario_of(run), run, robot.model, robot.library, robot.description), run
    except LawError as error:
        if not str(error.where).startswith("activate"):
            raise
        return None


def run_case(case: Case) -> Outcome:
    """Run one case; an error is an outcome too."""
    return run_cases([case])[0]


def run_cases(cases: Sequence[Case], prepare: Prepare | None = None) -> list[Outcome]:
    """Run cases, together where they may be; an error is an outcome of its case alone.

    Args:
        cases: To run.
        prepare: Instead of `prepare_case`, of the first of those that differ in the seed alone.
    """
    prepared = _prepare_all(cases, prepare or prepare_case)
    outcomes: dict[int, Outcome] = {i: one for i, one in enumerate(prepared) if isinstance(one, Outcome)}
    ready = {i: one for i, one in enumerate(prepared) if not isinstance(one, Outcome)}
    alone, room = count(), Room()
    keys = {i: repr(kinship(setup) or next(alone)) for i, (setup, _) in ready.items()}
    for _, group in groupby(sorted(ready, key=keys.__getitem__), keys.__getitem__):
        members = list(group)
        size = most_together(ready[members[0]][0])
        for first in range(0, len(members), size):
            some = members[first : first + size]
            judged = _tried(partial(_run_all, [(cases[i], *ready[i]) for i in some], room))
            if isinstance(judged, Outcome):  # whose case is not known
                judged = [run_case(cases[i]) if len(some) > 1 else judged for i in some]
            outcomes |= dict(zip(some, judged, strict=True))
    return [outcomes[i] for i in range(len(cases))]


def _prepare_all(cases: Sequence[Case], prepare: Prepare) -> list[Prepared | Outcome]:
    """Set cases up; of those that differ in the seed alone the first one, and what follows from it for the others."""
    first: dict[str, Prepared | Outcome] = {}
    prepared: list[Prepared | Outcome] = []
    for case in cases:
        key = case.config.model_dump_json(exclude={"seed"}) + str(case.adaptation)
        like = first.get(key)
        if not may_share(case.config) or isinstance(like, Outcome | None):
            first[key] = like = _tried(partial(_prepared, case, prepare))
            prepared.append(like)
        else:
            prepared.append(_tried(partial(_twin, case, like[0])))
    return prepared


def _prepared(case: Case, prepare: Prepare) -> Prepared | Outcome:
    return prepare(case) or Outcome(REFUSED)


def _twin(case: Case, setup: Setup) -> Prepared:
    run = Run(case.row, case.adaptation, case.config)
    return twin(setup, run, case.config.seed), run


def _run_all(prepared: Sequence[tuple[Case, Setup, Run]], room: Room) -> list[Outcome]:
    _, setups, runs = zip(*prepared, strict=True)
    ran = run_together(setups, runs, room) if len(setups) > 1 else [_run_alone(setups[0], runs[0])]
    return [_tried(partial(_judged, *ready, one)) for ready, one in zip(prepared, ran, strict=True)]


def _run_alone(setup: Setup, run: Run) -> Ran:
    try:
        return run_once(setup, run)
    except ScenarioError as error:
        return error


def _tried(work: Callable[[], Done]) -> Done | Outcome:
    """What `work` gives, or the error that it ends with as an outcome."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not take the other cases along
        kind = "" if isinstance(error, ThunderError) else f"{type(error).__name__}: "
        return Outcome(FAILED, message=kind + " ".join(str(error).split()))


def _judged(case: Case, setup: Setup, run: Run, ran: Ran) -> Outcome:
    if isinstance(ran, ScenarioError):
        return Outcome(DIVERGED)
    trace, timing = ran
    fault, values = _judge(case, trace.until_fault(), np.asarray(setup.library.velocity_limit))
    if fault is not None:
        why = str(explain(setup, run, trace)["what"])
        if case.measure is not None and case.measures_stopped:
            values = {**values, **case.measure(case, trace.until_fault(), timing).values}
        return Outcome(fault, values, why=why)
    more = Measured({}) if case.measure is None else case.measure(case, trace, timing)
    return Outcome(DONE, {**values, **more.values}, more.series)


def scenario_of(run: Run) -> Scenario:
    """Return a scenario of one run."""
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
