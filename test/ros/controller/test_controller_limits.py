"""Limits and the start, as parameters choose them: each acts, and each refuses what it cannot mean."""

from __future__ import annotations

import numpy as np
import pytest
from controller_robot import NODE, TestRobot

from thunder_controllers.ros.controller.configuration import motion_limits

ROUNDING = 1e-9
PERIOD = 1e-3
RATE_STEP = 1000.0 * PERIOD
"""The library's effort rate limit in one step [N·m]."""


@pytest.fixture
def robot(robot: TestRobot) -> TestRobot:
    limits = {
        f"{n}_limit": getattr(robot.library, f"{n}_limit").tolist() for n in ("effort", "velocity", "effort_rate")
    }
    robot.set(**limits, zero_start=False, reference_timeout=100.0)
    return robot


def test_no_effort_passes_the_chosen_limit(robot: TestRobot) -> None:
    limit = np.abs(robot.gravity) + 2.0
    robot.set(effort_limit=limit.tolist())
    robot.activate()
    robot.push()
    efforts = np.abs(robot.efforts)
    assert (efforts <= limit + ROUNDING).all() and (efforts[-1] >= limit - ROUNDING).any()
    assert int(robot.report()["guard effort_limited"]) > 0


def test_the_effort_starts_from_zero_where_that_is_wanted(robot: TestRobot) -> None:
    robot.set(zero_start=True)
    first = robot.activate()
    assert np.abs(first).max() <= RATE_STEP + ROUNDING
    assert np.abs(robot.gravity).max() > 10.0 * RATE_STEP  # from the safe effort it would be there


def test_the_effort_starts_from_one_place(robot: TestRobot) -> None:
    robot.set(zero_start=True, safe_start=True)
    assert robot.transition("configure")
    robot.step()
    assert not robot.transition("activate")
    reason = "activate refused: parameter safe_start: is true beside zero_start"
    assert reason in robot.report(lambda values: "refused" in values["message"])["message"]


def test_the_effort_starts_from_the_safe_one_whatever_is_held(robot: TestRobot) -> None:
    robot.set(safe_start=True)
    assert robot.transition("configure")
    robot.held = np.zeros(7)
    robot.step()
    assert robot.transition("activate")
    assert np.abs(robot.step() - robot.gravity).max() < 10.0 * RATE_STEP < np.abs(robot.gravity).max()


@pytest.mark.parametrize("name", ["effort_limit", "effort_rate_limit", "velocity_limit"])
def test_limits_are_positive_and_one_for_each_joint(robot: TestRobot, name: str) -> None:
    for value in ([0.0] * 7, [float("nan")] * 7):
        (result,) = robot.probe.set_parameters(NODE, {name: value})
        assert not result.successful and "valid: above 0" in result.reason
    robot.set(**{name: [10.0] * 3})  # how many there must be only the library knows
    assert not robot.transition("configure")
    reason = f"configure refused: options.{name}: has 3 values; valid: 7"
    assert reason in robot.report(lambda values: "refused" in values["message"])["message"]


def test_bounds_of_motions_are_velocity_acceleration_and_jerk() -> None:
    values = {"path.linear_limits": (1.0, 2.0, 3.0), "path.angular_limits": (4.0, 5.0, 6.0)}
    limits = motion_limits(values, {"path.joint_acceleration": 7.0, "path.angular_limits": (4.5, 5.5, 6.5)})
    assert (limits.linear_velocity, limits.linear_acceleration, limits.linear_jerk) == (1.0, 2.0, 3.0)
    assert (limits.angular_velocity, limits.angular_acceleration, limits.angular_jerk) == (4.5, 5.5, 6.5)
