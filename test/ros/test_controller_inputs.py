"""Reference messages: what they become, and the message that refuses each bad one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, Transform, Twist
from scipy.spatial.transform import Rotation
from test_controller_motion import assert_is_consistent, run
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from thunder_controllers.ros.controller_inputs import (
    Frames,
    ReferenceMessageError,
    fill_sample,
    motion_along,
    motion_of_joints,
    motion_to_pose,
)
from thunder_controllers.trajectories import POSITION, ROTATION, TWIST, PathLimits

FRAMES = Frames("world", "ee")
NAN = float("nan")
TURNS = [Rotation.from_euler("xyz", angles) for angles in ([3.0, 0.2, -0.4], [2.7, 0.0, 0.0], [3.1, -0.2, 0.5])]
PLACES = np.array([[0.4, -0.1, 0.5], [0.5, 0.0, 0.45], [0.45, 0.1, 0.55]])


def transform(place: Any, turn: Rotation) -> Transform:
    message = Transform()
    message.translation.x, message.translation.y, message.translation.z = map(float, place)
    rotation = message.rotation
    rotation.x, rotation.y, rotation.z, rotation.w = turn.as_quat().tolist()
    return message


def twist(values: Any) -> Twist:
    message = Twist()
    message.linear.x, message.linear.y, message.linear.z = map(float, values[:3])
    message.angular.x, message.angular.y, message.angular.z = map(float, values[3:])
    return message


def start() -> np.ndarray:
    row = np.zeros(24)
    row[POSITION], row[ROTATION] = PLACES[0], TURNS[0].as_matrix().T.ravel()
    return row


def seconds(value: float) -> Duration:
    return Duration(sec=int(value), nanosec=round((value - int(value)) * 1e9))


def point(k: int, time: float, **fields: Any) -> MultiDOFJointTrajectoryPoint:
    return MultiDOFJointTrajectoryPoint(
        transforms=[transform(PLACES[k], TURNS[k])], time_from_start=seconds(time), **fields
    )


def trajectory(*points: MultiDOFJointTrajectoryPoint, frame: str = "world") -> MultiDOFJointTrajectory:
    message = MultiDOFJointTrajectory(joint_names=["ee"], points=list(points))
    message.header.frame_id = frame
    return message


def test_a_streamed_reference_becomes_the_same_sample() -> None:
    row = np.zeros(24)
    velocity, acceleration = np.arange(1.0, 7.0), np.arange(-6.0, 0.0)
    fill_sample(point(1, 0.0, velocities=[twist(velocity)], accelerations=[twist(acceleration)]), row)
    assert np.array_equal(row[POSITION], PLACES[1])
    assert np.allclose(row[ROTATION].reshape(3, 3).T, TURNS[1].as_matrix(), rtol=0, atol=1e-15)
    assert np.array_equal(row[12:], np.concatenate((velocity, acceleration)))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (MultiDOFJointTrajectoryPoint(), "0 transforms"),
        (MultiDOFJointTrajectoryPoint(transforms=[Transform(), Transform()]), "2 transforms"),
        (point(0, 0.0, velocities=[Twist(), Twist()]), "2 velocities"),
        (point(0, 0.0, velocities=[twist([NAN] * 6)]), "not finite"),
        (MultiDOFJointTrajectoryPoint(transforms=[transform([NAN, 0, 0], TURNS[0])]), "not finite"),
    ],
)
def test_a_bad_streamed_reference_is_refused_and_changes_nothing(
    message: MultiDOFJointTrajectoryPoint, reason: str
) -> None:
    row = np.ones(24)
    with pytest.raises(ReferenceMessageError, match=reason):
        fill_sample(message, row)
    assert (row == 1.0).all()


def test_a_quaternion_that_is_none_is_refused() -> None:
    message = point(0, 0.0)
    message.transforms[0].rotation.w += 0.1
    with pytest.raises(ReferenceMessageError, match=r"quaternion of norm .*valid: norm 1"):
        fill_sample(message, np.ones(24))


def test_a_target_in_another_frame_is_refused() -> None:
    message = PoseStamped()
    message.header.frame_id = "camera"
    with pytest.raises(ReferenceMessageError, match="frame_id 'camera'; valid: 'world'"):
        motion_to_pose(message, FRAMES, start(), PathLimits())


def rates(k: int) -> dict[str, list[Twist]]:
    moving = np.array([0.05, 0.02, -0.01, 0.1, 0.0, -0.2]) if k == 1 else np.zeros(6)
    return {"velocities": [twist(moving)], "accelerations": [twist(2.0 * moving)]}


TRAJECTORIES: dict[str, Callable[[], MultiDOFJointTrajectory]] = {
    "poses": lambda: trajectory(point(1, 1.0), point(2, 2.5)),
    "from zero": lambda: trajectory(point(0, 0.0), point(1, 1.0), point(2, 2.5)),
    "velocities": lambda: trajectory(
        *(point(k, t, velocities=rates(k)["velocities"]) for k, t in ((1, 1.0), (2, 2.5)))
    ),
    "accelerations": lambda: trajectory(*(point(k, t, **rates(k)) for k, t in ((1, 1.0), (2, 2.5)))),
}


@pytest.mark.parametrize("case", TRAJECTORIES)
def test_a_trajectory_passes_its_points_with_continuous_acceleration(case: str) -> None:
    rows = run(motion_along(TRAJECTORIES[case](), FRAMES, start()))
    assert_is_consistent(np.vstack([start(), rows]), 100.0)
    for k, time in ((1, 1.0), (2, 2.5)):
        row = rows[round(time * 1000) - 1]
        assert np.allclose(row[POSITION], PLACES[k], rtol=0, atol=1e-9)
        assert np.allclose(row[ROTATION].reshape(3, 3).T, TURNS[k].as_matrix(), rtol=0, atol=1e-9)
    assert np.abs(np.diff(rows[:, 18:], axis=0)).max() < 0.1  # a jump would be of the size of the accelerations, 1
    assert np.abs(rows[-1, TWIST.start :]).max() < 1e-9


def test_given_velocities_are_taken_at_their_points() -> None:
    rows = run(motion_along(TRAJECTORIES["accelerations"](), FRAMES, start()))
    moving = np.array([0.05, 0.02, -0.01, 0.1, 0.0, -0.2])
    assert np.allclose(rows[999, TWIST], moving, rtol=0, atol=1e-9)
    assert np.allclose(rows[999, 18:], 2.0 * moving, rtol=0, atol=1e-9)


def with_far_turn() -> MultiDOFJointTrajectory:
    message = trajectory(point(1, 1.0))
    message.points[0].transforms[0] = transform(PLACES[1], TURNS[0] * Rotation.from_rotvec([2.5, 0.0, 0.0]))
    return message


def with_joint(name: str) -> MultiDOFJointTrajectory:
    message = trajectory(point(1, 1.0))
    message.joint_names = [name]
    return message


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (trajectory(), "time_from_start"),
        (trajectory(point(1, 1.0), point(2, 1.0)), "strictly increasing"),
        (trajectory(point(0, 0.0)), "time_from_start"),
        (trajectory(point(1, 0.0), point(2, 1.0)), "away; valid: 0.01"),
        (trajectory(point(1, 1.0), frame="base"), "frame_id 'base'"),
        (trajectory(point(1, 1.0, velocities=[twist([1] * 6)])), "the last point moves"),
        (with_far_turn(), "too large a turn"),
        (with_joint("elbow"), "joint_names"),
    ],
)
def test_a_bad_trajectory_is_refused(message: MultiDOFJointTrajectory, reason: str) -> None:
    with pytest.raises(ReferenceMessageError, match=reason):
        motion_along(message, FRAMES, start())


JOINTS = ("a", "b")
JOINT_START = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0])


def joint_trajectory(names: list[str], *rows: tuple[float, list[float]]) -> JointTrajectory:
    points = [JointTrajectoryPoint(positions=q, time_from_start=seconds(t)) for t, q in rows]
    return JointTrajectory(joint_names=names, points=points)


def test_joint_trajectories_may_have_another_order_of_joints() -> None:
    rows = run(motion_of_joints(joint_trajectory(["b", "a"], (1.0, [0.7, 0.5])), JOINTS, JOINT_START))
    assert np.allclose(rows[-1], [0.5, 0.7, 0, 0, 0, 0], rtol=0, atol=1e-12)
    assert abs(rows[0, 2] - 0.3) < 0.01  # the velocity goes on from what it was


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (joint_trajectory(["a"], (1.0, [0.5])), "joint_names"),
        (joint_trajectory(["a", "c"], (1.0, [0.5, 0.5])), "valid: a, b"),
        (joint_trajectory(["a", "b"], (1.0, [0.5])), "1 values; valid: 2"),
        (joint_trajectory(["a", "b"], (1.0, [NAN, 0.5])), "not finite"),
        (joint_trajectory(["a", "b"], (0.0, [5.0, 0.5]), (1.0, [5.0, 0.5])), "away"),
    ],
)
def test_a_bad_joint_trajectory_is_refused(message: JointTrajectory, reason: str) -> None:
    with pytest.raises(ReferenceMessageError, match=reason):
        motion_of_joints(message, JOINTS, JOINT_START)
