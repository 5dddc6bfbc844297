"""Limits and the start, as parameters choose them: each acts, and each refuses what it cannot mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from controller_robot import NODE, TestRobot, build_panda, reference_message, reset
from nodes import NodeProcess, Probe

from thunder_controllers.host import Library

ROUNDING = 1e-9
PERIOD = 1e-3
RATE_STEP = 1000.0 * PERIOD
"""The library's effort rate limit in one step [N·m]."""


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


@pytest.fixture
def robot(robot_of_module: TestRobot, process: NodeProcess, probe: Probe, library: Library) -> Iterator[TestRobot]:
    reset(probe)
    robot_of_module.qd = np.zeros(7)
    limits = {f"{name}_limit": getattr(library, f"{name}_limit").tolist() for name in ("effort", "velocity")}
    defaults = {**limits, "effort_rate_limit": [1000.0] * 7, "zero_start": False, "max_activation_error": 0.1}
    assert all(result.successful for result in probe.set_parameters(NODE, {**defaults, "reference_timeout": 100.0}))
    yield robot_of_module


def choose(robot: TestRobot, **values: Any) -> None:
    (result,) = robot.probe.set_parameters(NODE, values)
    assert result.successful, result.reason


def pushing(robot: TestRobot, steps: int) -> np.ndarray:
    """Efforts while the law pushes towards a pose 7 cm away, shape (steps, n)."""
    publisher = robot.references()
    efforts = []
    for _ in range(steps):
        publisher.publish(reference_message(robot.pose, (0.05, 0.0, 0.05)))
        efforts.append(robot.step())
    return np.array(efforts)


def test_no_effort_passes_the_chosen_limit(robot: TestRobot, process: NodeProcess) -> None:
    limit = np.abs(robot.gravity) + 2.0
    choose(robot, effort_limit=limit.tolist())
    robot.activate(process)
    efforts = np.abs(pushing(robot, 40))
    assert (efforts <= limit + ROUNDING).all() and (efforts[-1] >= limit - ROUNDING).any()
    assert int(robot.report(lambda values: "guard effort_limited" in values)["guard effort_limited"]) > 0


def test_the_effort_changes_at_the_chosen_rate(robot: TestRobot, process: NodeProcess) -> None:
    choose(robot, effort_rate_limit=[100.0] * 7)
    first = robot.activate(process)
    changes = np.abs(np.diff([first, *pushing(robot, 40)], axis=0)).max(axis=1)
    assert (changes <= 100.0 * PERIOD + ROUNDING).all()
    assert changes[-1] == pytest.approx(100.0 * PERIOD, abs=ROUNDING)


def test_a_joint_beyond_the_chosen_velocity_is_reported(robot: TestRobot, process: NodeProcess) -> None:
    key = "guard velocity_exceeded"
    choose(robot, velocity_limit=[0.5] * 7)
    robot.activate(process)
    robot.qd = 0.49 * np.eye(7)[6]
    robot.steps(5)
    assert int(robot.report(lambda values: key in values)[key]) == 0
    robot.qd = 0.51 * np.eye(7)[6]
    robot.steps(5)
    robot.report(lambda values: int(values[key]) == 5)


def test_the_effort_starts_from_zero_where_that_is_wanted(robot: TestRobot, process: NodeProcess) -> None:
    choose(robot, zero_start=True)
    first = robot.activate(process)
    assert np.abs(first).max() <= RATE_STEP + ROUNDING
    assert np.abs(robot.gravity).max() > 10.0 * RATE_STEP  # from the safe effort it would be there


def test_a_streamed_reference_further_than_max_activation_error_forbids_activation(
    robot: TestRobot, process: NodeProcess
) -> None:
    assert robot.probe.transition(NODE, "configure"), process.output
    robot.connect()
    robot.references().publish(reference_message(robot.pose, (0.2, 0.0, 0.0)))
    robot.report(lambda values: values["reference"] == "stream")
    robot.be_seen()
    assert not robot.probe.transition(NODE, "activate")
    process.wait_for_output("activate refused: activate: the streamed reference is 0.2 away")
    choose(robot, max_activation_error=0.25)  # takes effect at once
    robot.start(process)
    assert robot.probe.state(NODE) == "active"


@pytest.mark.parametrize("name", ["effort_limit", "effort_rate_limit", "velocity_limit"])
def test_limits_are_positive_and_one_for_each_joint(robot: TestRobot, process: NodeProcess, name: str) -> None:
    for value in ([0.0] * 7, [-1.0] * 7, [float("nan")] * 7):
        (result,) = robot.probe.set_parameters(NODE, {name: value})
        assert not result.successful and "valid: above 0" in result.reason
    choose(robot, **{name: [10.0] * 3})  # how many there must be only the library knows
    before = len(process.output)
    assert not robot.probe.transition(NODE, "configure")
    process.wait_for_output(reason := f"configure refused: options.{name}: has 3 values; valid: 7")
    assert reason in process.output[before:]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("max_activation_error", 0.0, "above 0"),
        ("max_activation_error", float("nan"), "above 0"),
        ("zero_start", 1.0, "Wrong parameter type"),
    ],
)
def test_a_bad_value_of_the_start_is_refused(robot: TestRobot, name: str, value: Any, reason: str) -> None:
    (result,) = robot.probe.set_parameters(NODE, {name: value})
    assert not result.successful and reason in result.reason
