"""Reference messages: which ones a law takes, and their way into the host, which checks all that they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Twist, WrenchStamped
from numpy.typing import NDArray
from rclpy.qos import QoSProfile
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Entry,
    PosePoint,
    ReferenceReader,
    TimedJoints,
    TimedPose,
)
from thunder_controllers.ros.common.messages import nanoseconds
from thunder_controllers.ros.common.qos import REQUEST, SENSOR
from thunder_controllers.ros.controller.frames import TargetFrames

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Input:
    """A topic of references.

    Attributes:
        kind: Message class.
        topic: Its name.
        follow: Lets the session follow a message, and returns what people should know of it, or nothing; raises
            ThunderError if it is refused.
        qos: Its quality of service.
    """

    kind: Any
    topic: str
    follow: Callable[[Any], str | None]
    qos: QoSProfile = field(default_factory=lambda: REQUEST)


def stream_input(configuration: Configuration, session: ControlSession, reader: ReferenceReader) -> Input:
    """Streamed references that the law takes, each followed from the next step on."""
    if configuration.is_cartesian:
        return Input(
            MultiDOFJointTrajectoryPoint,
            "~/reference",
            lambda m: session.stream(reader.sample(pose_point(m)), nanoseconds(m.time_from_start)),
        )
    return Input(
        JointTrajectoryPoint,
        "~/joint_reference",
        lambda m: session.stream(reader.sample(joint_point(m)), nanoseconds(m.time_from_start)),
    )


def target_inputs(session: ControlSession, reader: ReferenceReader, frames: TargetFrames | None) -> tuple[Input, ...]:
    """Targets that the controller moves to on a way of its own; `frames` are those of a Cartesian law."""
    if frames is not None:
        return _pose_inputs(session, reader, frames)

    def follow_joints(message: JointTrajectory) -> None:
        session.follow(reader.joints(message.joint_names, [joint_point(point) for point in message.points]))

    return (Input(JointTrajectory, "~/joint_trajectory", follow_joints),)


def _pose_inputs(session: ControlSession, reader: ReferenceReader, frames: TargetFrames) -> tuple[Input, ...]:
    def move_to_pose(message: PoseStamped) -> str:
        given = reader.target(frames.base, _pose(message.pose.position, message.pose.orientation))
        (target,) = frames.in_base(message.header, [TimedPose(0.0, *given)], "target_pose")
        way = session.move_to_pose(target.position, target.orientation)
        return "" if way.is_straight and way.pace == 1.0 else f"the arm moves {way}"

    def follow_poses(message: MultiDOFJointTrajectory) -> None:
        given = reader.poses(frames.base, message.joint_names, [pose_point(point) for point in message.points])
        session.follow(frames.in_base(message.header, given, "trajectory"))

    return (
        Input(PoseStamped, "~/target_pose", move_to_pose),
        Input(MultiDOFJointTrajectory, "~/trajectory", follow_poses),
    )


def wrench_inputs(configuration: Configuration, session: ControlSession, reader: ReferenceReader) -> tuple[Input, ...]:
    """Wrenches that the law asks for: the wanted one, the measured one."""
    law, name = configuration.law, "wrench"

    def numbers(message: WrenchStamped, topic: str) -> FloatArray:
        force, torque = message.wrench.force, message.wrench.torque
        given = (force.x, force.y, force.z, torque.x, torque.y, torque.z)
        return reader.wrench(message.header.frame_id, given, topic)

    def want(message: WrenchStamped) -> None:
        session.set_further_reference(name, numbers(message, "reference_wrench"))

    def measure(message: WrenchStamped) -> None:
        session.set_measurement(name, numbers(message, "measured_wrench"))

    wanted = [Input(WrenchStamped, "~/reference_wrench", want)] if _has(law.reference, name) else []
    measured = [Input(WrenchStamped, "~/measured_wrench", measure)] if _has(law.measurements, name) else []
    return (*wanted, *measured)


def position_inputs(
    configuration: Configuration, session: ControlSession, reader: ReferenceReader
) -> tuple[Input, ...]:
    """Poses of the end effector that a sensor outside of the arm sees, where the law takes their position."""
    name = "ee_position"

    def measure(message: PoseStamped) -> None:
        pose = _pose(message.pose.position, message.pose.orientation)
        position = reader.position(message.header.frame_id, pose, "measured_pose")
        session.set_measurement(name, position, nanoseconds(message.header.stamp))

    return (
        (Input(PoseStamped, "~/measured_pose", measure, SENSOR),) if _has(configuration.law.measurements, name) else ()
    )


def _has(entries: Iterable[Entry], name: str) -> bool:
    return any(entry.name == name for entry in entries)


def pose_point(message: MultiDOFJointTrajectoryPoint) -> PosePoint:
    """Take the numbers of a point of poses, as many as it has."""
    return PosePoint(
        1e-9 * nanoseconds(message.time_from_start),
        [_pose(transform.translation, transform.rotation) for transform in message.transforms],
        [_twist(twist) for twist in message.velocities],
        [_twist(twist) for twist in message.accelerations],
    )


def joint_point(message: JointTrajectoryPoint) -> TimedJoints:
    """Take the numbers of a point of joint positions, as many as it has."""
    return TimedJoints(
        1e-9 * nanoseconds(message.time_from_start), message.positions, message.velocities, message.accelerations
    )


def _pose(p: Any, q: Any) -> tuple[float, float, float, float, float, float, float]:
    return p.x, p.y, p.z, q.x, q.y, q.z, q.w


def _twist(twist: Twist) -> tuple[float, float, float, float, float, float]:
    linear, angular = twist.linear, twist.angular
    return linear.x, linear.y, linear.z, angular.x, angular.y, angular.z
