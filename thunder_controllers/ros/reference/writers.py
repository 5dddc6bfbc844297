"""What the reference node publishes: samples as messages, one kind for poses, one for joints."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from geometry_msgs.msg import Transform, Twist
from numpy.typing import NDArray
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from trajectory_msgs.msg import JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_controllers.ros.common.hot_subscription import NANOSECONDS
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
        _stamp(self._message, stamp)
        _write(self._transform.translation, sample[POSITION])
        rotation = sample[ROTATION]
        if not np.array_equal(rotation, self._rotation):
            self._rotation = rotation.copy()
            quaternion = Rotation.from_matrix(rotation.reshape(3, 3).T).as_quat().tolist()
            target = self._transform.rotation
            target.x, target.y, target.z, target.w = quaternion
        for twist, values in ((self._velocity, sample[TWIST]), (self._acceleration, sample[ACCELERATION])):
            _write(twist.linear, values[:3])
            _write(twist.angular, values[3:])
        self._publisher.publish(self._message)


def _stamp(message: JointTrajectoryPoint | MultiDOFJointTrajectoryPoint, stamp: int) -> None:
    time = message.time_from_start
    time.sec, time.nanosec = divmod(stamp, NANOSECONDS)


def _write(vector: Any, values: FloatArray) -> None:
    vector.x, vector.y, vector.z = values.tolist()


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
        _stamp(self._message, stamp)
        q, qd, qdd = (array("d", part.tobytes()) for part in np.split(sample, 3))
        self._message.positions, self._message.velocities, self._message.accelerations = q, qd, qdd
        self._publisher.publish(self._message)
