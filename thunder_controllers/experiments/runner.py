"""Cases to outcomes, in parallel processes; every process loads a robot's library once."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.experiments.experiment import DIVERGED, DONE, FAILED, REFUSED, Case, Outcome
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

SETTLED = 1e-3
"""A case succeeds with a mean error of at most this in its window [m, rad]."""


@dataclass(frozen=True)
class Robot:
    """What cases of one robot and law share: model, library with the law, and the plant's description."""

    model: RobotModel
    library: Library
    description: str | RobotModel


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
        outcome = _judge(case, trace.until_fault(), np.asarray(setup.library.velocity_limit))
        if outcome.ended != DONE:
            return replace(outcome, why=str(explain(setup, run, trace)["what"]))
        return outcome if case.measure is None else replace(outcome, **case.measure(case, trace, timing)._asdict())
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not take the other cases along
        kind = "" if isinstance(error, ThunderError) else f"{type(error).__name__}: "
        return Outcome(FAILED, message=kind + " ".join(str(error).split()))


def run_cases(cases: Sequence[Case], jobs: int) -> Iterator[tuple[int, Outcome]]:
    """Run cases in parallel processes; yields the index of each with its outcome, as they end.

    A process that dies takes those beside it along: what they had begun is run again, each in a process of its own.

    Raises:
        ThunderError: if the library of a case cannot be built.
    """
    for case in cases:
        load_robot(case.config)  # compiled here, so that no two processes compile the same
    context, lost = multiprocessing.get_context("spawn"), []
    with ProcessPoolExecutor(jobs, context) as pool:
        futures = {pool.submit(run_case, case): index for index, case in enumerate(cases)}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except BrokenProcessPool:
                lost.append(futures[future])
    for index in lost:
        with ProcessPoolExecutor(1, context) as pool:
            try:
                yield index, pool.submit(run_case, cases[index]).result()
            except BrokenProcessPool:
                yield index, Outcome(FAILED, message="its process died")


def _scenario(run: Run) -> Scenario:
    return Scenario(Path("experiment"), "experiment", "", (run,), "")


def _judge(case: Case, trace: Trace, velocity_limit: FloatArray) -> Outcome:
    """What a trace, to its fault if it has one, says beside what the case measures."""
    fault = trace.first_fault()
    outcome = Outcome(
        ended=DONE if fault is None else fault[1],
        peak_speed=float((np.abs(trace.qd) / velocity_limit).max()),
        frozen=float((trace.guards & Guard.ADAPTATION_FROZEN > 0).mean()),
        rate_limited=float((trace.guards & Guard.EFFORT_RATE_LIMITED > 0).mean()),
    )
    if fault is not None:
        return replace(outcome, stopped=float(trace.t[fault[0]]))
    error = pose_distance(trace)[-min(max(round(case.window * case.config.rate), 1), len(trace.t)) :]
    mean = float(error.mean())
    return replace(outcome, error=mean, peak_error=float(error.max()), settled=mean <= SETTLED)
