"""What the reference node publishes: samples as messages, one kind for poses, one for joints."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Transform, Twist
from numpy.typing import NDArray
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_controllers.ros.common.messages import doubles, write_rotation, write_stamp, write_twist, write_vector
from thunder_controllers.ros.common.qos import STREAM

FloatArray = NDArray[np.float64]


class PoseWriter:
    """Publishes Cartesian samples; allocates no message per sample.

    Args:
        node: Owns the publisher.
        topic: Of the references.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_publisher(MultiDOFJointTrajectoryPoint, topic, STREAM)
        self._transform, self._velocity, self._acceleration = Transform(), Twist(), Twist()
        self._message = MultiDOFJointTrajectoryPoint(
            transforms=[self._transform], velocities=[self._velocity], accelerations=[self._acceleration]
        )
        self._rotation = np.full(9, np.nan)

    def send(self, sample: FloatArray, stamp: int) -> None:
        """Publish a sample, shape (24,), that is due at a stamp of joint_states [ns]."""
        write_stamp(self._message.time_from_start, stamp)
        write_vector(self._transform.translation, sample[POSITION])
        rotation = sample[ROTATION]
        if not np.array_equal(rotation, self._rotation):
            self._rotation = rotation.copy()
            write_rotation(self._transform.rotation, rotation.reshape(3, 3).T)
        write_twist(self._velocity, sample[TWIST])
        write_twist(self._acceleration, sample[ACCELERATION])
        self._publisher.publish(self._message)


class JointWriter:
    """Publishes joint samples.

    Args:
        node: Owns the publisher.
        topic: Of the references.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_publisher(JointTrajectoryPoint, topic, STREAM)
        self._message = JointTrajectoryPoint()

    def send(self, sample: FloatArray, stamp: int) -> None:
        """Publish a sample, shape (3·n,), that is due at a stamp of joint_states [ns]."""
        write_stamp(self._message.time_from_start, stamp)
        q, qd, qdd = map(doubles, np.split(sample, 3))
        self._message.positions, self._message.velocities, self._message.accelerations = q, qd, qdd
        self._publisher.publish(self._message)
