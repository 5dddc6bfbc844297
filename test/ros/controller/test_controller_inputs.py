"""Reference messages on their way into the host: nothing of what they say is lost, and what it refuses is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, Transform, Twist
from pendulum2 import compile_pendulum2
from scipy.spatial.transform import Rotation
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from thunder_controllers.host import Configuration, ControlSession, Library, Options, ReferenceReader
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_controllers.ros.controller.frames import TargetFrames
from thunder_controllers.ros.controller.inputs import Input, joint_point, pose_point, stream_input, target_inputs
from thunder_dynamics.errors import LawError, NameNotFoundError

TURN = Rotation.from_euler("xyz", [0.7, 0.1, -0.3])
PLACE = np.array([0.5, 0.0, 0.45])
VELOCITY, ACCELERATION = np.arange(1.0, 7.0), np.arange(-6.0, 0.0)
START, REST = np.array([0.1, 0.2]), np.zeros(2)


def find(base: str, frame: str, stamp: Any) -> Transform:
    """As tf does: it knows one frame, a shift of the base."""
    if (base, frame) != ("world", "table"):
        raise LookupError("unknown to tf")
    return transform([0.1, 0.0, 0.0], Rotation.identity())


class Shell:
    """What a configured node has of a law: a session, active at START, and the inputs of its messages."""

    def __init__(self, library: Library, law: str) -> None:
        configuration = Configuration(library, law=law, joints=["a", "b"])
        self.reader = ReferenceReader(configuration, "world", "ee")
        self.session = ControlSession(
            configuration, Options(rehearses_motions=False, approaches_jumps=False, approach_patience=np.inf)
        )
        self.stream = stream_input(configuration, self.session, self.reader)
        frames = TargetFrames("world", "ee", "", find) if configuration.is_cartesian else None
        self.targets = target_inputs(self.session, self.reader, frames)
        self.session.activate(START, REST)
        self.session.update(0, 0.0, START, REST, 1e-3, np.zeros(2))

    def target(self, kind: Any) -> Input:
        (found,) = (target for target in self.targets if target.kind is kind)
        return found

    def reference_after(self, steps: int) -> Any:
        """Reference and its source after some milliseconds."""
        for k in range(1, steps + 1):
            self.session.update(k * 10**6, 1e-3 * k, START, REST, 1e-3, np.zeros(2))
        snapshot = self.session.snapshot()
        return snapshot.reference_vector, snapshot.reference_source


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(compile_pendulum2(Path(tmp_path_factory.mktemp("pendulum2"))))


@pytest.fixture
def cartesian(library: Library) -> Shell:
    return Shell(library, "cartesian_spring")


@pytest.fixture
def joint(library: Library) -> Shell:
    return Shell(library, "joint_adaptive")


def transform(place: Any = PLACE, turn: Rotation = TURN) -> Transform:
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


def pose(time: Duration, **fields: Any) -> MultiDOFJointTrajectoryPoint:
    return MultiDOFJointTrajectoryPoint(transforms=[transform()], time_from_start=time, **fields)


MOVING = pose(Duration(sec=1, nanosec=500_000_000), velocities=[twist(VELOCITY)], accelerations=[twist(ACCELERATION)])


def test_a_point_of_poses_keeps_all_its_numbers(cartesian: Shell) -> None:
    row = cartesian.reader.sample(pose_point(MOVING))
    np.testing.assert_array_equal(row[POSITION], PLACE)
    np.testing.assert_allclose(row[ROTATION].reshape(3, 3).T, TURN.as_matrix(), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(row[12:], np.concatenate((VELOCITY, ACCELERATION)))
    first, second = cartesian.reader.poses("world", [], [pose_point(MOVING), pose_point(pose(Duration(sec=2)))])
    assert (first.time, second.time) == (1.5, 2.0)
    np.testing.assert_array_equal(first.twist, VELOCITY)
    np.testing.assert_array_equal(first.acceleration, ACCELERATION)
    assert second.twist is None and second.acceleration is None


def test_a_point_of_joints_keeps_all_its_numbers(joint: Shell) -> None:
    message = JointTrajectoryPoint(
        positions=[0.7, 0.5],
        velocities=[0.2, 0.1],
        accelerations=[0.4, 0.3],
        time_from_start=Duration(nanosec=250_000_000),
    )
    (timed,) = joint.reader.joints(["b", "a"], [joint_point(message)])
    assert (timed.time, timed.q.tolist(), timed.qd.tolist(), timed.qdd.tolist()) == (
        0.25,
        [0.5, 0.7],
        [0.1, 0.2],
        [0.3, 0.4],
    )


def test_a_streamed_pose_is_followed(cartesian: Shell) -> None:
    assert (cartesian.stream.kind, cartesian.stream.topic) == (MultiDOFJointTrajectoryPoint, "~/reference")
    cartesian.stream.follow(pose(Duration(), velocities=MOVING.velocities, accelerations=MOVING.accelerations))
    reference, source = cartesian.reference_after(1)
    assert source == "stream"
    np.testing.assert_array_equal(reference[POSITION], PLACE)


def test_streamed_joints_are_followed(joint: Shell) -> None:
    assert (joint.stream.kind, joint.stream.topic) == (JointTrajectoryPoint, "~/joint_reference")
    joint.stream.follow(JointTrajectoryPoint(positions=[0.101, 0.202], accelerations=[3.0, 4.0]))
    reference, source = joint.reference_after(1)
    assert (reference.tolist(), source) == ([0.101, 0.202, 0.0, 0.0, 3.0, 4.0], "stream")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (MultiDOFJointTrajectoryPoint(), "0 transforms"),
        (pose(Duration(), accelerations=[twist([float("nan")] * 6)]), "not finite"),
    ],
)
def test_a_bad_streamed_pose_is_refused_and_changes_nothing(
    cartesian: Shell, message: MultiDOFJointTrajectoryPoint, reason: str
) -> None:
    with pytest.raises(LawError, match=reason):
        cartesian.stream.follow(message)
    assert not cartesian.session.is_streamed


def goal(frame: str = "world") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    written = transform()
    message.pose.position.x, message.pose.position.y, message.pose.position.z = PLACE.tolist()
    message.pose.orientation = written.rotation
    return message


def test_a_target_pose_is_moved_to(cartesian: Shell) -> None:
    assert {target.topic for target in cartesian.targets} == {"~/target_pose", "~/trajectory"}
    cartesian.target(PoseStamped).follow(goal())
    reference, source = cartesian.reference_after(15_000)
    np.testing.assert_allclose(reference[POSITION], PLACE, rtol=0, atol=1e-12)
    assert source == "hold"
    with pytest.raises(LawError, match="target_pose: frame_id 'camera': unknown to tf; valid: 'world'"):
        cartesian.target(PoseStamped).follow(goal("camera"))


def test_a_target_pose_in_another_frame_is_moved_to(cartesian: Shell) -> None:
    cartesian.target(PoseStamped).follow(goal("table"))
    reference, _ = cartesian.reference_after(15_000)
    np.testing.assert_allclose(reference[POSITION], PLACE + [0.1, 0.0, 0.0], rtol=0, atol=1e-12)


def test_a_trajectory_of_poses_is_followed(cartesian: Shell) -> None:
    message = MultiDOFJointTrajectory(joint_names=["ee"], points=[pose(Duration(sec=2))])
    with pytest.raises(LawError, match="trajectory: frame_id ''"):
        cartesian.target(MultiDOFJointTrajectory).follow(message)
    message.header.frame_id = "world"
    cartesian.target(MultiDOFJointTrajectory).follow(message)
    reference, _ = cartesian.reference_after(2001)
    np.testing.assert_allclose(reference[POSITION], PLACE, rtol=0, atol=1e-12)


def test_a_joint_trajectory_is_followed(joint: Shell) -> None:
    (target,) = joint.targets
    assert (target.kind, target.topic) == (JointTrajectory, "~/joint_trajectory")
    points = [JointTrajectoryPoint(positions=[0.7, 0.5], time_from_start=Duration(sec=1))]
    target.follow(JointTrajectory(joint_names=["b", "a"], points=points))
    reference, _ = joint.reference_after(1001)
    np.testing.assert_allclose(reference, [0.5, 0.7, 0.0, 0.0, 0.0, 0.0], rtol=0, atol=1e-12)
    with pytest.raises(NameNotFoundError, match="joint_trajectory: joint_names: missing b; valid: a, b, each once"):
        target.follow(JointTrajectory(joint_names=["a"], points=points))
