"""A joint law under a stream of joint references: it is followed, checked, and brought to rest when it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from controller_robot import NODE, TestRobot, build_panda
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint

from thunder_controllers.host import Library
from thunder_controllers.ros.common.qos import STREAM

REFERENCE = f"{NODE}/joint_reference"


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda(law="slotine_li")


@pytest.fixture
def publisher(robot: TestRobot) -> Iterator[Any]:
    with robot.probe.advertising(JointTrajectoryPoint, REFERENCE, STREAM) as publisher:
        robot.probe.wait_until(lambda: publisher.get_subscription_count() > 0, "subscription to joint references")
        yield publisher


@pytest.fixture
def errors(robot: TestRobot) -> Iterator[Any]:
    with robot.probe.listening(JointState, f"{NODE}/joint_error") as errors:
        yield errors


def _point(robot: TestRobot, offset: float = 0.0, velocity: float = 0.0) -> JointTrajectoryPoint:
    """A reference whose fourth joint is `offset` further and moves."""
    step = np.eye(7)[3]
    return JointTrajectoryPoint(positions=(robot.q + offset * step).tolist(), velocities=(velocity * step).tolist())


def test_the_law_pushes_towards_a_streamed_reference_and_the_error_is_published(
    robot: TestRobot, publisher: Any, errors: Any
) -> None:
    before = robot.effort[3]

    def error_is(value: float) -> bool:
        publisher.publish(_point(robot, 0.02, 0.1))
        robot.step()
        return bool(len(errors) and abs(errors.latest.position[3] - value) < 1e-12)

    robot.probe.wait_until(lambda: error_is(0.02), "joint error of the streamed reference")
    # The effort rises by 1 N·m in each step, at its rate limit.
    robot.probe.wait_until(lambda: error_is(0.02) and robot.effort[3] > before + 1.5, "effort towards the reference")
    assert list(errors.latest.name) == list(robot.names)
    np.testing.assert_allclose(errors.latest.velocity, 0.1 * np.eye(7)[3], atol=1e-12)
    np.testing.assert_allclose(np.delete(errors.latest.position, 3), np.zeros(6), atol=1e-12)


def test_a_lost_reference_comes_to_rest_smoothly_and_is_held(robot: TestRobot, publisher: Any, errors: Any) -> None:
    """At 0.4 rad/s and 4 rad/s² it takes 0.15 s and 0.03 rad, ∫ v₀(1 − 3u² + 2u³) dt = v₀ T/2, and begins anew when the
    stream counts as lost.
    """
    for _ in range(20):
        publisher.publish(_point(robot, 0.0, 0.4))
        robot.step()
    robot.probe.wait_until(lambda: errors.wait_new().velocity[3] > 0.39, "the streamed reference in effect")
    robot.steps(100 + 150 + 10)
    final = errors.wait_new(2)
    robot.steps(50)
    later = errors.wait_new(2)
    assert 0.03 < final.position[3] < 0.04
    np.testing.assert_array_equal(final.velocity, np.zeros(7))
    np.testing.assert_array_equal(later.position, final.position)
    assert int(robot.report()["reference lost"]) >= 1


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (JointTrajectoryPoint(positions=[0.0] * 6), "6 positions"),
        (JointTrajectoryPoint(positions=[0.0] * 6 + [float("nan")]), "positions are not finite"),
    ],
)
def test_a_bad_streamed_reference_is_refused(
    robot: TestRobot, publisher: Any, message: JointTrajectoryPoint, reason: str
) -> None:
    publisher.publish(message)
    values = robot.report(lambda values: reason in values["last refused reference"])
    assert int(values["references refused"]) >= 1
    effort = robot.effort
    np.testing.assert_allclose(robot.step(), effort, atol=1e-9)
