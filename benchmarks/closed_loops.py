"""Closed loops of a Panda: one run after the other, and runs that go together, in microseconds an arm and control step.

A payload that the law does not know, friction, noise, differenced velocities and torques that act 2 ms late; equations
of the model, the host with all guards, every row of every trace kept. Processor time of one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import builds

from thunder_controllers.experiments.fleet import run_together, twin
from thunder_controllers.experiments.runner import load_robot
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import Setup, prepare
from thunder_controllers.simulation.scenario import Run, RunConfig, Scenario

COUNTS = (16, 64, 256)
COLUMNS = ("an arm and step [µs]", "of it the host", "arms at 1 kHz in real time")

BODY = {"link": "panda_link7", "mass": 1.5, "com": (0.05, 0.03, 0.06), "inertia": (0.004, 0, 0, 0.004, 0, 0.003)}

SCENARIO: dict[str, Any] = {
    "robot": str(builds.PANDA),
    "plant": {
        "engine": "model",
        "urdf": str(builds.PANDA),
        "payloads": [BODY],
        "friction": {"viscous": 0.3, "coulomb": (0.3, 0.3, 0.3, 0.3, 0.1, 0.1, 0.1)},
        "noise": {"q_std": 1e-5},
        "torque_delay": 0.002,
    },
    "law": {"name": "cartesian_backstepping", "options": {"adapted_links": ["panda_link7"], "friction": "adapted"}},
    "reference": {
        "type": "lissajous",
        "centre": (0.45, 0.0, 0.45),
        "amplitude": (0.1, 0.15, 0.1),
        "frequency": (0.2, 0.1, 0.4),
        "ypr": (0.0, 0.0, 3.141592653589793),
    },
    "start": {"q": (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0)},
    "duration": 1.0,
}


def measure() -> dict[str, Any]:
    """Time one run, then so many together; `rows` are figures in the order of COLUMNS."""
    config = RunConfig.model_validate(SCENARIO)
    run, robot = Run("loop", True, config), load_robot(config)
    scenario = Scenario(Path("benchmark"), "benchmark", "", (run,), "")

    first = prepare(scenario, run, robot.model, robot.library, robot.description)
    list(run_together(*_twins(first, run, 2)))  # which compiles the plant in lanes
    alone, _ = _twins(first, run, 1)
    rows = {"one run after the other": _row(1, config.steps, lambda: [run_once(alone[0], run)])}
    for count in COUNTS:
        twins = _twins(first, run, count)
        rows[f"{count} together"] = _row(count, config.steps, partial(run_together, *twins))
    return {"lanes": robot.library.lanes, "columns": COLUMNS, "rows": rows}


def _twins(setup: Setup, run: Run, count: int) -> tuple[list[Setup], list[Run]]:
    return [twin(setup, run, seed) for seed in range(count)], [run] * count


def _row(count: int, steps: int, work: Callable[[], Any]) -> tuple[float, float, float]:
    begun = time.process_time()
    for _, timing in work():
        step_ns = timing.step_ns
    each = (time.process_time() - begun) / (count * steps)
    return 1e6 * each, 1e-3 * float(step_ns.mean()), 1e-3 / each
