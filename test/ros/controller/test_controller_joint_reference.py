"""A joint law: streamed joint references are followed and checked; its error and torques from outside are published."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from controller_robot import NODE, PERIOD_NS, Q, TestRobot, build_panda
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectoryPoint

from thunder_controllers.host import Configuration, ControlSession, Library, Options
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.qos import STREAM
from thunder_controllers.ros.controller.outputs import array_state, control_state

SETTLED = 300
"""Steps of a millisecond after which a filter of 50 rad/s has seen all but 1e-6."""


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    return build_panda({"adaptation": "none", "contact": "observe"}, law="slotine_li")


def _point(robot: TestRobot, offset: float = 0.0, velocity: float = 0.0) -> JointTrajectoryPoint:
    """A reference whose fourth joint is `offset` further and moves."""
    step = np.eye(7)[3]
    return JointTrajectoryPoint(positions=(robot.q + offset * step).tolist(), velocities=(velocity * step).tolist())


def test_a_stream_is_followed_refused_where_it_is_bad_and_held_when_it_ends(robot: TestRobot) -> None:
    robot.activate()
    before = robot.effort[3]
    with (
        robot.probe.advertising(JointTrajectoryPoint, f"{NODE}/joint_reference", STREAM) as publisher,
        robot.probe.listening(JointState, f"{NODE}/joint_error") as errors,
    ):

        def is_followed() -> bool:
            publisher.publish(_point(robot, 0.02, 0.1))
            robot.step()
            return bool(len(errors) and abs(errors.latest.position[3] - 0.02) < 1e-12)

        # The effort rises by 1 N·m in each step, at its rate limit.
        robot.probe.wait_until(lambda: is_followed() and robot.effort[3] > before + 1.5, "effort towards the reference")
        assert list(errors.latest.name) == list(robot.library.joint_names)
        np.testing.assert_allclose(errors.latest.velocity, 0.1 * np.eye(7)[3], atol=1e-12)
        publisher.publish(JointTrajectoryPoint(positions=[0.0] * 6))
        with robot.running():
            robot.report(lambda values: "6 positions" in values["last refused reference"])
            robot.report(lambda values: int(values["reference lost"]) >= 1)
            errors.clear()  # of before the stream there may be one without velocity
            final = errors.wait(lambda message: not np.any(message.velocity))
        assert errors.wait_new(2).position == final.position


def test_what_holds_an_arm_against_its_controller_is_published(robot: TestRobot) -> None:
    """It stays beside its reference, so something takes what the effort is beyond gravity."""
    robot.activate()
    for _ in range(4):  # no joint jumps by 0.02 rad
        robot.q[1] += 0.005
        robot.steps(1)
    with robot.probe.listening(JointState, f"{NODE}/external_torque") as messages:
        robot.steps(SETTLED)
        stamp = divmod(robot.stamp_ns, 10**9)
        found = messages.wait(lambda m: (m.header.stamp.sec, m.header.stamp.nanosec) >= stamp)
    expected = robot.gravity - robot.effort
    robot.q[1] -= 0.02
    assert list(found.name) == list(robot.library.joint_names) and not found.position
    assert abs(expected[1]) > 0.5
    np.testing.assert_allclose(found.effort, expected, atol=1e-5 * np.abs(expected).max())


def test_lock_step_waits_for_a_stream_that_answers_and_for_no_other(
    robot: TestRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot.activate()
    waits: list[bool] = []
    wait = HotSubscription.wait
    monkeypatch.setattr(HotSubscription, "wait", lambda self, time: (waits.append(wait(self, time)), waits[-1])[1])

    def step() -> list[bool]:
        """What a step waited for, and whether it came."""
        robot.stamp_ns += PERIOD_NS
        waits.clear()
        assert robot.node.step(robot.stamp_ns, robot.q, robot.qd, robot.held, in_lockstep=True) is not None
        return list(waits)

    assert step() == []
    with robot.probe.advertising(JointTrajectoryPoint, f"{NODE}/joint_reference", STREAM) as publisher:
        robot.probe.wait_until(publisher.get_subscription_count, "subscription")
        for _ in range(3):
            late = threading.Timer(0.05, publisher.publish, [_point(robot)])
            late.start()
            robot.probe.wait_until(lambda: (step(), robot.report()["reference"] == "stream")[1], "the stream")
            late.join()
        assert step() == [False], "the stream answers no more"
    assert step() == []


def test_the_state_in_both_forms_holds_measurement_command_reference_and_error(library: Library) -> None:
    messages = SimpleNamespace(JointTrajectoryControllerState=SimpleNamespace)  # stands for control_msgs
    configuration, q = Configuration(library), np.linspace(0.1, 0.2, 7) + Q
    session = ControlSession(configuration, Options())
    session.activate(Q, np.zeros(7))
    session.update(10**6, 1e-3, q, np.zeros(7), 1e-3, np.zeros(7))
    snapshot = session.snapshot()
    rows = np.reshape(array_state(configuration, snapshot, Header()).data, (5, 7))
    message = control_state(messages, configuration, snapshot, Header())
    np.testing.assert_array_equal(rows[:3], [q, np.zeros(7), snapshot.effort])
    np.testing.assert_array_equal([message.feedback.positions, message.output.effort], rows[[0, 2]])
    np.testing.assert_array_equal(message.reference.positions, rows[3])
    np.testing.assert_allclose(message.error.positions, Q - q, atol=1e-12)
    assert message.joint_names == list(library.joint_names) and len(message.reference.accelerations) == 7
