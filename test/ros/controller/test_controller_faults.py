"""What the controller does about bad, old and strangely dated measurements, about references, and about a runaway."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from controller_robot import NODE, PERIOD_NS, Q, TestRobot, reference_message
from geometry_msgs.msg import TwistStamped
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

RATE_STEP = 1.0
"""Effort rate limit of the Panda times the period: 1000 N·m/s · 1 ms [N·m]."""

ROUNDING = 1e-9
TIMEOUT_STEPS = 10
"""The measurement timeout of the plugin's default, in periods."""

DEFAULTS = {"reference_timeout": 100.0, "gap_limit": 0.2, "max_activation_error": 0.1}


@pytest.fixture
def pushing(robot: TestRobot) -> TestRobot:
    """Active, and pushing towards a reference 5 cm away that is streamed no more but not yet lost."""
    robot.activate()
    robot.push()
    assert robot.pushes
    return robot


def assert_ramps(robot: TestRobot, advance_ns: int = PERIOD_NS) -> None:
    """Each such step moves the effort towards gravity, until that is reached."""
    distance = np.abs(robot.effort - robot.gravity).max()
    for _ in range(100):
        before = robot.effort
        after = robot.step(advance_ns)
        assert np.abs(after - before).max() <= RATE_STEP + ROUNDING
        new = np.abs(after - robot.gravity).max()
        if new < ROUNDING:
            return
        assert new < distance - 0.5 * RATE_STEP
        distance = new
    pytest.fail(f"{distance:g} N·m from gravity after 100 steps")


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
    assert int(pushing.report()["guard measurement_non_finite"]) == 5
    pushing.q, pushing.qd = Q.copy(), np.zeros(7)
    pushing.steps(40)
    assert pushing.pushes


def test_old_measurements_ramp_the_effort_after_the_timeout_and_control_goes_on(pushing: TestRobot) -> None:
    pushing.set(tracking_error_limit=1.0)
    for _ in range(TIMEOUT_STEPS):
        pushing.step(0)
    assert pushing.pushes
    assert_ramps(pushing, 0)
    assert int(pushing.report()["guard measurement_stale"]) > 5
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
    with pushing.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors:
        error = errors.wait_new(2).twist.linear
    assert max(abs(error.x), abs(error.y), abs(error.z)) < 1e-12
    assert pushing.report()["reference"] == "hold"


def test_a_jump_of_the_clock_changes_nothing(pushing: TestRobot) -> None:
    before = pushing.effort
    assert np.abs(pushing.step(10 * 10**9) - before).max() <= RATE_STEP + ROUNDING
    pushing.set(reference_timeout=100.0)
    assert pushing.state == "active"


def test_a_lost_reference_comes_to_rest_smoothly_and_is_held(robot: TestRobot) -> None:
    """At 0.1 m/s and 1 m/s² it takes 0.15 s and 7.5 mm, ∫ v₀(1 − 3u² + 2u³) dt = v₀ T/2."""
    robot.set(reference_timeout=0.1)
    robot.activate()
    publisher, message = robot.references(), reference_message(robot.pose)
    message.velocities[0].linear.y = 0.1
    with robot.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors:
        robot.probe.wait_until(
            lambda: (publisher.publish(message), robot.step(), robot.report()["reference"] == "stream")[2], "the stream"
        )
        robot.steps(100 + 10)
        assert robot.report()["reference"] == "stopping after a lost stream"
        robot.steps(150)
        final = errors.wait_new(2).twist.linear
        robot.steps(50)
        later = errors.wait_new(2).twist.linear
    assert 0.0075 < final.y < 0.02
    assert (later.x, later.y, later.z) == (final.x, final.y, final.z)
    for _ in range(2):  # for as long as that is so, not once
        values = robot.report(lambda values: "the stream of references has ended" in values["message"])
        assert values["reference"] == "stopping after a lost stream" and robot.step() is not None
    assert robot.state == "active"


def with_nan(message: MultiDOFJointTrajectoryPoint) -> MultiDOFJointTrajectoryPoint:
    message.transforms[0].translation.x = float("nan")
    return message


def without_transform(message: MultiDOFJointTrajectoryPoint) -> MultiDOFJointTrajectoryPoint:
    message.transforms = []
    return message


@pytest.mark.parametrize(("spoil", "reason"), [(with_nan, "not finite"), (without_transform, "0 transforms")])
def test_a_bad_streamed_reference_is_refused_and_the_old_one_stays(pushing: TestRobot, spoil: Any, reason: str) -> None:
    before = int(pushing.report()["references refused"])
    pushing.references().publish(spoil(reference_message(pushing.pose)))
    with pushing.running():
        values = pushing.report(lambda values: int(values["references refused"]) == before + 1)
    assert reason in values["last refused reference"]
    assert pushing.pushes


def test_a_streamed_reference_that_is_far_away_forbids_activation(robot: TestRobot) -> None:
    assert robot.transition("configure")
    robot.references().publish(reference_message(robot.pose, (0.2, 0.0, 0.0)))
    robot.probe.wait_until(lambda: (robot.step(), robot.report()["reference"] == "stream")[1], "the stream")
    assert not robot.transition("activate")
    assert "the streamed reference is 0.2 away" in robot.report(lambda v: "refused" in v["message"])["message"]
    robot.set(max_activation_error=0.25)  # takes effect at once
    robot.activate()


def test_a_runaway_is_braked_and_ends_in_a_deactivation(robot: TestRobot) -> None:
    robot.activate()
    robot.qd[6] = 3.1 * robot.library.velocity_limit[6]  # light enough that its brake is below its effort limit
    limit = np.array(robot.library.effort_limit)
    efforts = robot.steps(60)
    braked = efforts[np.argmin(efforts[:, 6])]
    # The last joint is braked, by no more than its limit; the others as it drags them along.
    assert -limit[6] <= braked[6] < robot.gravity[6] - 0.1 * limit[6]
    assert (np.abs(braked - robot.gravity) < 0.1 * limit)[:6].all()
    robot.qd[:] = 0.0
    with robot.running():
        values = robot.report(lambda values: values["state"] == "inactive" and "ran away" in values["message"])
    assert int(values["guard runaway"]) > 0
    robot.activate()  # an operator may go on
    assert robot.state == "active"
