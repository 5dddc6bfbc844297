"""Every fault of the controller's input: what it does, and what its diagnostics say. Real messages over DDS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from controller_robot import (
    NODE,
    PERIOD_NS,
    Q,
    TestRobot,
    build_panda,
    reference_message,
    reset,
)
from geometry_msgs.msg import TwistStamped
from nodes import NodeProcess, Probe
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from thunder_controllers.host import Library

RATE_STEP = 1.0
"""Effort rate limit of the Panda times the period: 1000 N·m/s · 1 ms [N·m]."""

ROUNDING = 1e-9
TIMEOUT_NS = 10_000_000
"""The measurement timeout of the node's default."""


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


@pytest.fixture
def robot(robot_of_module: TestRobot, process: NodeProcess, probe: Probe) -> Iterator[TestRobot]:
    reset(probe)
    for name, value in {"watchdog_timeout": 5.0, "reference_timeout": 0.1}.items():
        assert probe.set_parameters(NODE, {name: value})[0].successful
    robot_of_module.names = robot_of_module.library.joint_names
    robot_of_module.q, robot_of_module.qd = Q.copy(), np.zeros(7)
    yield robot_of_module


@pytest.fixture
def pushing(robot: TestRobot, process: NodeProcess) -> TestRobot:
    """Active, and pushing towards a reference 5 cm away that is streamed no more but not yet lost."""
    set_parameter(robot, "reference_timeout", 100.0)
    robot.activate(process)
    publisher = robot.references()
    for _ in range(40):
        publisher.publish(reference_message(robot.pose, (0.05, 0.0, 0.05)))
        robot.step()
    assert pushes(robot)
    return robot


def set_parameter(robot: TestRobot, name: str, value: Any) -> None:
    (result,) = robot.probe.set_parameters(NODE, {name: value})
    assert result.successful, result.reason


def pushes(robot: TestRobot) -> bool:
    return bool(np.abs(robot.effort - robot.gravity).max() > 5.0 * RATE_STEP)


def assert_ramps(robot: TestRobot, **changes: Any) -> None:
    """Each such message moves the effort towards gravity by a step of the ramp, until it is reached."""
    distance = np.abs(robot.effort - robot.gravity).max()
    for _ in range(200):
        before = robot.effort
        after = robot.step(**changes)
        assert np.abs(after - before).max() <= RATE_STEP + ROUNDING
        if np.abs(after - robot.gravity).max() < ROUNDING:
            return
        new = np.abs(after - robot.gravity).max()
        assert new < distance - 0.5 * RATE_STEP
        distance = new
    pytest.fail(f"{distance:g} N·m from gravity after 200 steps")


def counted(robot: TestRobot, key: str) -> int:
    return int(robot.report(lambda values: key in values)[key])


BAD = {
    "a joint is missing": ({"name": [f"panda_joint{i}" for i in (1, 2, 3, 4, 5, 6, 8)]}, "joint_states joints missing"),
    "a joint stands twice": (
        {"name": [f"panda_joint{i}" for i in (1, 2, 3, 4, 5, 6, 6)]},
        "joint_states joints missing",
    ),
    "too few positions": ({"position": [0.0] * 6}, "joint_states wrong sizes"),
    "no velocities": ({"velocity": []}, "joint_states wrong sizes"),
    "a position is NaN": ({"position": [float("nan")] + [0.0] * 6}, "guard measurement_non_finite"),
    "a velocity is infinite": ({"velocity": [float("inf")] + [0.0] * 6}, "guard measurement_non_finite"),
}


@pytest.mark.parametrize("case", BAD)
def test_unusable_joint_states_ramp_the_effort_to_the_safe_one(pushing: TestRobot, case: str) -> None:
    changes, key = BAD[case]
    before = counted(pushing, key)
    assert_ramps(pushing, **changes)
    assert counted(pushing, key) >= before + 5


@pytest.mark.parametrize("case", BAD)
def test_control_goes_on_after_unusable_joint_states(pushing: TestRobot, case: str) -> None:
    pushing.step(**BAD[case][0])
    pushing.steps(40)
    assert pushes(pushing)


def test_further_joints_and_another_order_make_no_difference(robot: TestRobot, process: NodeProcess) -> None:
    first = robot.activate(process)
    plain = robot.steps(20)
    reset(robot.probe)
    order = np.array([3, 0, 6, 2, 5, 1, 4])
    robot.names = ["finger", *np.array(robot.names)[order]]
    q, robot.q = robot.q, np.concatenate(([0.1], robot.q[order]))
    robot.qd = np.zeros(8)
    try:
        again = robot.activate(process), robot.steps(20)
    finally:
        robot.q = q
    assert np.array_equal(again[0], first)
    # The estimates moved during the first run by a step or two.
    assert np.allclose(again[1], plain, rtol=0, atol=1e-2)


def test_the_joint_states_of_a_gripper_change_no_bit_of_the_efforts(robot: TestRobot, process: NodeProcess) -> None:
    """In between at the same rate, stamped by another clock; each command is awaited, so both runs are alike."""
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    gripper = JointState(name=fingers, position=[0.02] * 2, velocity=[0.0] * 2)
    efforts = []
    for has_gripper in (False, True):
        reset(robot.probe)
        robot.q, robot.qd, robot.stamp_ns = Q.copy(), np.zeros(7), 1_000_000_000
        run = [robot.activate(process)]
        count = len(robot.commands)
        for k in range(200):
            robot.q = Q + 0.02 * np.sin(0.05 * k)
            robot.qd = np.full(7, np.cos(0.05 * k))
            if has_gripper:
                robot.states.publish(gripper)
            run.append(robot.step())
        assert len(robot.commands) == count + 200
        efforts.append(np.array(run))
    assert np.ptp(efforts[0], axis=0).max() > 5.0 * RATE_STEP  # there is something that could have been disturbed
    np.testing.assert_array_equal(efforts[0], efforts[1])
    values = robot.report(lambda values: values.get("joint_states of other joints") == "200")
    assert values["joint_states joints missing"] == "0"


def test_a_duplicate_is_ignored_and_counted(pushing: TestRobot) -> None:
    key = "joint_states duplicate stamp"
    before = counted(pushing, key)
    pushing.commands.clear()
    pushing.send(0)
    pushing.send(0)
    pushing.step()
    assert len(pushing.commands) == 1  # the new one alone was answered
    assert counted(pushing, key) == before + 2


def test_an_overtaken_message_is_ignored_and_counted(pushing: TestRobot) -> None:
    key = "joint_states out of order"
    before = counted(pushing, key)
    pushing.step(2 * PERIOD_NS)
    pushing.commands.clear()
    pushing.send(-PERIOD_NS)
    pushing.step(2 * PERIOD_NS)
    assert len(pushing.commands) == 1
    assert counted(pushing, key) == before + 1


def test_a_gap_in_time_ramps_for_one_step(pushing: TestRobot) -> None:
    before, distance = counted(pushing, "joint_states gap in time"), np.abs(pushing.effort - pushing.gravity).max()
    effort = pushing.step(2 * TIMEOUT_NS)
    assert np.abs(effort - pushing.gravity).max() < distance
    assert counted(pushing, "joint_states gap in time") == before + 1
    pushing.steps(40)
    assert pushes(pushing)


def test_after_a_clock_restart_the_place_is_held(pushing: TestRobot) -> None:
    """The law has no reference to push towards then, and the time starts anew without a step of the effort."""
    before = counted(pushing, "joint_states clock went back")
    efforts = [pushing.effort]
    efforts.append(pushing.step(1_000_000 - pushing.stamp_ns))
    efforts.extend(pushing.steps(60))
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_STEP + ROUNDING
    with pushing.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors:
        error = errors.wait_new(2).twist.linear
    assert max(abs(error.x), abs(error.y), abs(error.z)) < 1e-12
    values = pushing.report(lambda values: "joint_states clock went back" in values)
    assert int(values["joint_states clock went back"]) == before + 1 and values["reference"] == "hold"


def test_when_joint_states_stop_the_effort_ramps_down_by_itself(robot: TestRobot, process: NodeProcess) -> None:
    set_parameter(robot, "watchdog_timeout", 0.2)
    set_parameter(robot, "reference_timeout", 100.0)
    robot.activate(process)
    publisher = robot.references()
    for _ in range(40):
        publisher.publish(reference_message(robot.pose, (0.05, 0.0, 0.05)))
        robot.step()
    first, count = robot.effort, len(robot.commands)
    robot.probe.wait_until(lambda: np.abs(robot.effort - robot.gravity).max() < ROUNDING, "end of the ramp")
    efforts = np.array([first, *(message.data for message in robot.commands.messages[count:])])
    # Steps of 10 ms at most at 1000 N·m/s.
    assert np.abs(np.diff(efforts, axis=0)).max() <= 10.0 * RATE_STEP + ROUNDING
    values = robot.report(lambda values: "no usable joint_states" in values["message"])
    assert values["level"] == "3"  # stale
    values = robot.report(lambda values: "deactivated: measurements were missing" in values["message"])
    assert values["state"] == "inactive"
    count = len(robot.commands)
    robot.send(10**9)  # they come again, after a gap: nobody drives the arm before it is activated anew
    assert robot.probe.state(NODE) == "inactive"
    assert len(robot.commands) == count


def moving_reference(robot: TestRobot) -> MultiDOFJointTrajectoryPoint:
    message = reference_message(robot.pose)
    message.velocities[0].linear.y = 0.1
    return message


def test_a_lost_reference_comes_to_rest_smoothly_and_is_held(robot: TestRobot, process: NodeProcess) -> None:
    """At 0.1 m/s and 1 m/s² it takes 0.15 s and 7.5 mm, ∫ v₀(1 − 3u² + 2u³) dt = v₀ T/2.

    It begins anew when the stream counts as lost.
    """
    robot.activate(process)
    publisher = robot.references()
    with robot.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors:
        for _ in range(20):
            publisher.publish(moving_reference(robot))
            robot.step()
        lost = counted(robot, "reference lost")
        robot.steps(100 + 150 + 10)
        final = errors.wait_new(2).twist.linear
        robot.steps(50)
        later = errors.wait_new(2).twist.linear
    assert 0.0075 < final.y < 0.01
    assert (later.x, later.y, later.z) == (final.x, final.y, final.z)
    values = robot.report(lambda values: int(values["reference lost"]) == lost + 1)
    assert values["reference"] == "stopping after a lost stream"


def with_nan(message: MultiDOFJointTrajectoryPoint) -> MultiDOFJointTrajectoryPoint:
    message.transforms[0].translation.x = float("nan")
    return message


def without_transform(message: MultiDOFJointTrajectoryPoint) -> MultiDOFJointTrajectoryPoint:
    message.transforms = []
    return message


def with_bad_quaternion(message: MultiDOFJointTrajectoryPoint) -> MultiDOFJointTrajectoryPoint:
    message.transforms[0].rotation.w += 0.5
    return message


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [(with_nan, "not finite"), (without_transform, "0 transforms"), (with_bad_quaternion, "a quaternion of norm")],
)
def test_a_bad_streamed_reference_is_refused_and_the_old_one_stays(
    pushing: TestRobot, process: NodeProcess, spoil: Any, reason: str
) -> None:
    before = counted(pushing, "references refused")
    pushing.references().publish(spoil(reference_message(pushing.pose)))
    values = pushing.report(lambda values: int(values["references refused"]) == before + 1)
    assert reason in values["last refused reference"]
    pushing.steps(5)
    assert pushes(pushing)


def test_a_reference_far_away_forbids_activation(robot: TestRobot, process: NodeProcess) -> None:
    """The law's own bound, which stands where max_activation_error allows more."""
    set_parameter(robot, "reference_timeout", 100.0)
    set_parameter(robot, "max_activation_error", 1.0)
    assert robot.probe.transition(NODE, "configure"), process.output
    robot.connect()
    robot.references().publish(reference_message(robot.pose, (0.6, 0.0, 0.0)))
    robot.be_seen()
    robot.report(lambda values: values["reference"] == "stream")
    robot.be_seen()
    assert not robot.probe.transition(NODE, "activate")
    process.wait_for_output("activate refused")
    assert "pose_error" in process.output
    assert robot.probe.state(NODE) == "inactive"


def test_a_robot_with_other_joints_is_never_activated(robot: TestRobot, process: NodeProcess) -> None:
    assert robot.probe.transition(NODE, "configure"), process.output
    robot.connect()
    robot.names = [f"ur5_joint{i}" for i in range(7)]
    robot.send()
    robot.report(lambda values: values.get("joint_states of other joints", "0") != "0")
    assert not robot.probe.transition(NODE, "activate")
    process.wait_for_output("they lack panda_joint1")


def test_a_position_outside_the_joint_range_forbids_activation(robot: TestRobot, process: NodeProcess) -> None:
    assert robot.probe.transition(NODE, "configure"), process.output
    robot.connect()
    q = robot.q
    robot.q = q + np.array([0.0, 0.0, 0.0, 2.5, 0.0, 0.0, 0.0])
    try:
        robot.be_seen()
        assert not robot.probe.transition(NODE, "activate")
    finally:
        robot.q = q
    process.wait_for_output("activate refused: activate: q")
