"""What is measured of the arm: published as joint_states and /clock, and read by the controller beside it."""

from __future__ import annotations

from array import array

import numpy as np
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.messages import nanoseconds, write_stamp
from thunder_controllers.ros.common.qos import SENSOR, STREAM
from thunder_controllers.ros.simulation.faults import FaultInjector
from thunder_controllers.simulation.robot import SimulatedRobot


class Sensors:
    """Measures a robot through the fault that acts; allocates no message per step.

    Args:
        node: Owns the publishers.
        robot: Whose state it is.
        faults: Between the robot and all who read its state.
    """

    def __init__(self, node: Node, robot: SimulatedRobot, faults: FaultInjector) -> None:
        self._states = node.create_publisher(JointState, names.JOINT_STATES, STREAM)
        self._clocks = node.create_publisher(Clock, names.CLOCK, SENSOR)
        self._robot, self._faults = robot, faults
        zeros = [0.0] * robot.n
        self._message = JointState(
            name=list(robot.joints), position=array("d", zeros), velocity=array("d", zeros), effort=array("d", zeros)
        )
        self._clock = Clock()
        # Views of the message's own memory: the plant writes its state where it is sent from.
        self._views = [np.frombuffer(a) for a in (self._message.position, self._message.velocity, self._message.effort)]
        self.stamp = 0
        """Of the newest measurement that arrived whole [ns]."""
        self.q, self.qd, self.effort = np.zeros((3, robot.n))
        """Its positions, velocities and efforts, shape (n,)."""

    def measure(self) -> None:
        """Measure, send the clock and what the fault makes of the state, and keep what a controller can read of it."""
        time_ns = self._robot.time_ns
        self._robot.measure(*self._views)
        for stamp in (self._message.header.stamp, self._clock.clock):
            write_stamp(stamp, self._faults.stamp(time_ns))
        self._clocks.publish(self._clock)
        sent = self._faults.messages(self._message, time_ns)
        for message in sent:
            self._states.publish(message)
        if readable := [message for message in sent if self._is_whole(message)]:
            self._keep(max(readable, key=lambda message: nanoseconds(message.header.stamp)))

    def _is_whole(self, message: JointState) -> bool:
        sizes = {len(message.position), len(message.velocity), len(message.effort)}
        return message.name == self._message.name and sizes == {self._robot.n}

    def _keep(self, message: JointState) -> None:
        self.stamp = nanoseconds(message.header.stamp)
        self.q[:], self.qd[:], self.effort[:] = message.position, message.velocity, message.effort
