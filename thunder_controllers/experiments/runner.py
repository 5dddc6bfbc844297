"""Cases to outcomes, in parallel processes; every process loads a robot's library once."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.experiments.experiment import Case
from thunder_controllers.host import FAULTS, Guard, Library
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import build_library, prepare, read_description
from thunder_controllers.simulation.scenario import Run, RunConfig, Scenario
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import LawError, ScenarioError
from thunder_dynamics.model import RobotModel

FloatArray = NDArray[np.float64]

SETTLED = 1e-3
"""A case succeeds with a mean error of at most this in its window [m, rad]."""

DONE, REFUSED, DIVERGED = "done", "refused", "diverged"
"""How a case can end, beside the name of the first fault."""


@dataclass(frozen=True)
class Outcome:
    """What a case gave; the numbers are None where it never ran to its end.

    Attributes:
        ended: `DONE`; `REFUSED`, activation was; `DIVERGED`, the plant's state was not finite; or a fault of the host.
        error: Mean of ‖[e_p; θ]‖ over the window [m, rad].
        peak_error: Its largest value there.
        settled: Whether the case is done and `error` small enough.
        peak_speed: Largest joint speed over its limit.
        frozen: Share of steps that kept the estimates.
        rate_limited: Share of steps whose effort was cut by the rate limit.
    """

    ended: str
    error: float | None = None
    peak_error: float | None = None
    settled: bool = False
    peak_speed: float | None = None
    frozen: float | None = None
    rate_limited: float | None = None


@dataclass(frozen=True)
class Robot:
    """What cases of one robot and law share: model, library with the law, and the plant's description."""

    model: RobotModel
    library: Library
    description: str | RobotModel


def load_robot(config: RunConfig) -> Robot:
    """Build or find the library of a case, once in a process."""
    keys = {"robot", "robot_options", "plant", "law"}
    text = config.model_dump_json(include=keys, exclude={"law": {"gains", "initial_estimates"}})
    shared = json.loads(text)
    shared["plant"] = {key: shared["plant"][key] for key in ("engine", "urdf", "xacro_args")}
    return _load_robot(json.dumps(shared, sort_keys=True))


@lru_cache
def _load_robot(shared: str) -> Robot:
    anything = {"reference": {"type": "hold", "position": (0.0, 0.0, 0.0)}, "start": {"q": (0.0,)}, "duration": 1.0}
    run = Run("library", True, RunConfig.model_validate(json.loads(shared) | anything))
    scenario = _scenario(run)
    return Robot(*build_library(scenario, run), read_description(scenario, run.config))


def run_case(case: Case) -> Outcome:
    """Run one case.

    Raises:
        ThunderError: as preparing a run raises, but for a refused activation.
    """
    robot, run = load_robot(case.config), Run(case.row, True, case.config)
    try:
        setup = prepare(_scenario(run), run, robot.model, robot.library, robot.description)
    except LawError as error:
        if not str(error.where).startswith("activate"):
            raise
        return Outcome(REFUSED)
    try:
        trace, _ = run_once(setup, run)
    except ScenarioError:
        return Outcome(DIVERGED)
    return _judge(case, trace, np.asarray(robot.library.velocity_limit))


def run_cases(cases: Mapping[str, Sequence[Case]], jobs: int) -> Iterator[tuple[str, Outcome]]:
    """Run all cases of all groups, in order; yields the name of the group with each outcome."""
    flat = [(name, case) for name, group in cases.items() for case in group]
    for _, case in flat:
        load_robot(case.config)  # compiled here, so that no two processes compile the same
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        outcomes = pool.map(run_case, [case for _, case in flat])
        yield from zip((name for name, _ in flat), outcomes, strict=True)


def _scenario(run: Run) -> Scenario:
    return Scenario(Path("experiment"), "experiment", "", (run,), "")


def _judge(case: Case, trace: Trace, velocity_limit: FloatArray) -> Outcome:
    steps = min(max(round(case.window * case.config.rate), 1), len(trace.t))
    error = pose_distance(trace)[-steps:]
    faults = [guard for guard in Guard if guard & FAULTS and (trace.guards & guard).any()]
    ended = (
        str(min(faults, key=lambda guard: int(np.argmax(trace.guards & guard > 0))).name).lower() if faults else DONE
    )
    return Outcome(
        ended=ended,
        error=float(error.mean()),
        peak_error=float(error.max()),
        settled=not faults and bool(error.mean() <= SETTLED),
        peak_speed=float((np.abs(trace.qd) / velocity_limit).max()),
        frozen=float((trace.guards & Guard.ADAPTATION_FROZEN > 0).mean()),
        rate_limited=float((trace.guards & Guard.EFFORT_RATE_LIMITED > 0).mean()),
    )


def pose_distance(trace: Trace) -> FloatArray:
    """‖[p_d − p; θ]‖ [m, rad] of every row, or ‖q_d − q‖, (N,); θ is the angle, where `Trace.error` has its sine."""
    if not trace.is_cartesian:
        return np.asarray(np.linalg.norm(trace.error, axis=1))
    desired = trace.reference[:, ROTATION].reshape(-1, 3, 3)  # column-major, hence the transpose of R_d
    angle = Rotation.from_matrix(trace.rotation @ desired).magnitude()
    return np.asarray(np.hypot(np.linalg.norm(trace.reference[:, POSITION] - trace.position, axis=1), angle))
