"""What the simulation sends and receives at every step: joint_states and /clock out, commands in."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.hot_subscription import NANOSECONDS, HotSubscription
from thunder_controllers.ros.common.qos import SENSOR, STREAM
from thunder_controllers.ros.simulation.faults import FaultInjector
from thunder_controllers.simulation.robot import SimulatedRobot
from thunder_dynamics.errors import DimensionError


class StatePublisher:
    """Publishes the measured state of a robot, through the fault that acts; allocates no message per step.

    Args:
        node: Owns the publishers.
        robot: Whose state it is.
        faults: Between the robot and the topic.
    """

    def __init__(self, node: Node, robot: SimulatedRobot, faults: FaultInjector) -> None:
        self._states = node.create_publisher(JointState, names.JOINT_STATES, STREAM)
        self._clocks = node.create_publisher(Clock, names.CLOCK, SENSOR)
        self._robot = robot
        self._faults = faults
        zeros = [0.0] * robot.n
        self._message = JointState(
            name=list(robot.joints), position=array("d", zeros), velocity=array("d", zeros), effort=array("d", zeros)
        )
        self._clock = Clock()
        # Views of the message's own memory: the plant writes its state where it is sent from.
        self._views = [np.frombuffer(a) for a in (self._message.position, self._message.velocity, self._message.effort)]

    def publish(self) -> None:
        """Measure, and send the clock and what the fault makes of the state."""
        time_ns = self._robot.time_ns
        self._robot.measure(*self._views)
        seconds, nanoseconds = divmod(self._faults.stamp(time_ns), NANOSECONDS)
        for stamp in (self._message.header.stamp, self._clock.clock):
            stamp.sec, stamp.nanosec = seconds, nanoseconds
        self._clocks.publish(self._clock)
        for message in self._faults.messages(self._message, time_ns):
            self._states.publish(message)


class CommandPort(HotSubscription[Float64MultiArray]):
    """Takes effort commands; what does not fit the robot is refused and counted.

    Args:
        node: Owns the subscription.
        topic: Of the commands.
        robot: Gets them.
    """

    def __init__(self, node: Node, topic: str, robot: SimulatedRobot) -> None:
        super().__init__(node, Float64MultiArray, topic, STREAM)
        self._robot = robot
        self.accepted = 0
        self.refused = 0
        self.last_refusal = ""

    def take_all(self) -> int:
        """Hand every command that waits to the robot, the newest last; how many were accepted."""
        before = self.accepted
        while self.take_one():
            pass
        return self.accepted - before

    def take_one(self) -> bool:
        """Hand the oldest command that waits to the robot; whether there was one."""
        message = self.take()
        if message is None:
            return False
        try:
            self._robot.command(np.frombuffer(message.data))
        except DimensionError as error:
            self.refused += 1
            self.last_refusal = str(error)
        else:
            self.accepted += 1
        return True

    def discard(self) -> int:
        """Drop the commands that wait; how many there were."""
        count = 0
        while self.skip():
            count += 1
        return count


class ReferenceGate(HotSubscription[Any]):
    """Watches a stream of references that answers states, so that lock-step can wait for it.

    A controller uses the newest reference that has reached it. If steps did not wait for the stream, a reference node
    that lags behind would show as an error of tracking that depends on the machine.
    """

    expects = False
    """Whether states are being answered: true from the first reference on, until it is set to false."""

    def clear(self) -> None:
        """Drop what has come; to be called before a state is published."""
        while self.skip():
            self.expects = True
