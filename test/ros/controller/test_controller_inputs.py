"""Reference messages: what they become, and the message that refuses each bad one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, Transform, Twist
from scipy.spatial.transform import Rotation
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.ros.controller.inputs import (
    Frames,
    ReferenceMessageError,
    fill_joint_sample,
    fill_sample,
    target_of,
    timed_joints,
    timed_poses,
)

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


def test_a_streamed_joint_reference_becomes_the_same_sample() -> None:
    row = np.ones(6)
    fill_joint_sample(JointTrajectoryPoint(positions=[1.0, 2.0], accelerations=[3.0, 4.0]), row)
    assert row.tolist() == [1.0, 2.0, 0.0, 0.0, 3.0, 4.0]
    fill_joint_sample(JointTrajectoryPoint(positions=[1.0, 2.0], velocities=[-1.0, -2.0]), row)
    assert row.tolist() == [1.0, 2.0, -1.0, -2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (JointTrajectoryPoint(), "0 positions; valid: 2, in the order of the parameter joints"),
        (JointTrajectoryPoint(positions=[1.0, 2.0, 3.0]), "3 positions"),
        (JointTrajectoryPoint(positions=[1.0, 2.0], velocities=[1.0]), "1 velocities; valid: 2, .* or none"),
        (JointTrajectoryPoint(positions=[1.0, NAN]), "positions are not finite"),
        (JointTrajectoryPoint(positions=[1.0, 2.0], accelerations=[1.0, np.inf]), "accelerations are not finite"),
    ],
)
def test_a_bad_streamed_joint_reference_is_refused_and_changes_nothing(
    message: JointTrajectoryPoint, reason: str
) -> None:
    row = np.ones(6)
    with pytest.raises(ReferenceMessageError, match=reason):
        fill_joint_sample(message, row)
    assert (row == 1.0).all()


def test_a_quaternion_that_is_none_is_refused() -> None:
    message = point(0, 0.0)
    message.transforms[0].rotation.w += 0.1
    with pytest.raises(ReferenceMessageError, match=r"quaternion of norm .*valid: norm 1"):
        fill_sample(message, np.ones(24))


def pose(place: Any, turn: Rotation, frame: str = "world") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    written = transform(place, turn)
    message.pose.position.x, message.pose.position.y, message.pose.position.z = map(float, place)
    message.pose.orientation = written.rotation
    return message


def test_a_target_is_read() -> None:
    position, quaternion = target_of(pose(PLACES[1], TURNS[1]), FRAMES)
    assert np.array_equal(position, PLACES[1])
    assert np.allclose(quaternion, TURNS[1].as_quat(), rtol=0, atol=1e-15)


def test_a_target_in_another_frame_is_refused() -> None:
    with pytest.raises(ReferenceMessageError, match="frame_id 'camera'; valid: 'world'"):
        target_of(pose(PLACES[1], TURNS[1], "camera"), FRAMES)


def test_a_trajectory_becomes_timed_poses() -> None:
    velocity, acceleration = np.arange(1.0, 7.0), np.arange(-6.0, 0.0)
    points = timed_poses(
        trajectory(
            point(1, 1.0, velocities=[twist(velocity)], accelerations=[twist(acceleration)]),
            point(2, 2.5),
        ),
        FRAMES,
    )
    assert [p.time for p in points] == [1.0, 2.5]
    for timed, k in zip(points, (1, 2), strict=True):
        assert np.array_equal(timed.position, PLACES[k])
        assert np.allclose(timed.orientation, TURNS[k].as_quat(), rtol=0, atol=1e-15)
    assert np.array_equal(points[0].twist, velocity) and np.array_equal(points[0].acceleration, acceleration)
    assert points[1].twist is None and points[1].acceleration is None


def with_joint(name: str) -> MultiDOFJointTrajectory:
    message = trajectory(point(1, 1.0))
    message.joint_names = [name]
    return message


def without_transform() -> MultiDOFJointTrajectory:
    message = trajectory(point(1, 1.0))
    message.points[0].transforms = []
    return message


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (trajectory(point(1, 1.0), frame="base"), "frame_id 'base'"),
        (trajectory(point(1, 1.0, velocities=[Twist(), Twist()])), r"points\[0\].velocities: 2 values; valid: 0 or 1"),
        (trajectory(MultiDOFJointTrajectoryPoint(transforms=[transform([NAN, 0, 0], TURNS[0])])), "not finite"),
        (without_transform(), r"points\[0\].transforms: 0 values; valid: 1"),
        (with_joint("elbow"), "joint_names"),
    ],
)
def test_a_bad_trajectory_is_refused(message: MultiDOFJointTrajectory, reason: str) -> None:
    with pytest.raises(ReferenceMessageError, match=reason):
        timed_poses(message, FRAMES)


JOINTS = ("a", "b")


def joint_trajectory(names: list[str], *rows: tuple[float, list[float]], **fields: Any) -> JointTrajectory:
    points = [JointTrajectoryPoint(positions=q, time_from_start=seconds(t), **fields) for t, q in rows]
    return JointTrajectory(joint_names=names, points=points)


def test_joint_trajectories_may_have_another_order_of_joints() -> None:
    message = joint_trajectory(["b", "a"], (1.0, [0.7, 0.5]), velocities=[0.2, 0.1])
    (timed,) = timed_joints(message, JOINTS)
    assert (timed.time, timed.q.tolist(), timed.qd.tolist(), timed.qdd) == (1.0, [0.5, 0.7], [0.1, 0.2], None)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (joint_trajectory(["a"], (1.0, [0.5])), "joint_names"),
        (joint_trajectory(["a", "c"], (1.0, [0.5, 0.5])), "valid: a, b"),
        (joint_trajectory(["a", "b"], (1.0, [0.5])), r"points\[0\].positions: 1 values; valid: 2"),
        (joint_trajectory(["a", "b"], (1.0, [0.5, 0.5]), accelerations=[1.0]), "1 values; valid: 0 or 2"),
    ],
)
def test_a_bad_joint_trajectory_is_refused(message: JointTrajectory, reason: str) -> None:
    with pytest.raises(ReferenceMessageError, match=reason):
        timed_joints(message, JOINTS)
