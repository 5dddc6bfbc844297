"""What the controller does about bad, old and strangely dated measurements, about references, and about a runaway."""

from __future__ import annotations

import numpy as np
import pytest
from controller_robot import NODE, Q, TestRobot, reference_message
from geometry_msgs.msg import PoseStamped
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

RATE_STEP = 1.0
"""Effort rate limit of the Panda times the period: 1000 N·m/s · 1 ms [N·m]."""

ROUNDING = 1e-9
"""The measurement timeout of the plugin's default, in periods."""

DEFAULTS = {"reference_timeout": 100.0, "gap_limit": 0.2, "max_activation_error": 0.1}


@pytest.fixture
def pushing(robot: TestRobot) -> TestRobot:
    """Active, and pushing towards a reference 5 cm away that is streamed no more but not yet lost."""
    robot.activate()
    robot.push()
    assert robot.pushes
    return robot


@pytest.mark.parametrize(("what", "value"), [("q", np.nan), ("qd", np.inf)])
def test_a_measurement_that_is_not_finite_ramps_the_effort_and_control_goes_on(
    pushing: TestRobot, what: str, value: float
) -> None:
    getattr(pushing, what)[0] = value
    before = pushing.effort
    for _ in range(5):
        after = pushing.step()
        assert np.isfinite(after).all() and np.abs(after - before).max() <= RATE_STEP + ROUNDING
        before = after
    pushing.report(lambda values: values["guard measurement_non_finite"] == "5")  # not one that was on its way
    pushing.q, pushing.qd = Q.copy(), np.zeros(7)
    pushing.steps(40)
    assert pushing.pushes


def test_measurements_that_stay_away_end_in_a_deactivation(pushing: TestRobot) -> None:
    for _ in range(250):
        pushing.step(0)
    with pushing.running():
        values = pushing.report(lambda values: values["state"] == "inactive")
    assert "deactivated: measurements were missing" in values["message"]
    np.testing.assert_allclose(pushing.effort, pushing.gravity, atol=ROUNDING)
    pushing.activate()  # an operator may go on
    assert pushing.state == "active"


def test_after_a_clock_restart_the_place_is_held(pushing: TestRobot) -> None:
    """The law has no reference to push towards then, and the time starts anew without a step of the effort."""
    efforts = [pushing.effort]
    efforts.append(pushing.step(1_000_000 - pushing.stamp_ns))
    efforts.extend(pushing.steps(60))
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_STEP + ROUNDING
    with pushing.probe.listening(PoseStamped, f"{NODE}/pose_error") as errors:
        error = errors.wait_new(2).pose.position
    assert max(abs(error.x), abs(error.y), abs(error.z)) < 1e-12
    assert pushing.report()["reference"] == "hold"


def with_nan(message: MultiDOFJointTrajectoryPoint) -> MultiDOFJointTrajectoryPoint:
    message.transforms[0].translation.x = float("nan")
    return message


def test_a_bad_streamed_reference_is_refused_and_the_old_one_stays(pushing: TestRobot) -> None:
    before = int(pushing.report()["references refused"])
    pushing.references().publish(with_nan(reference_message(pushing.pose)))
    with pushing.running():
        values = pushing.report(lambda values: int(values["references refused"]) == before + 1)
    assert "not finite" in values["last refused reference"]
    assert pushing.pushes
