"""The control loop of the node when it fails itself: a defect must not leave the arm with its last effort."""

from __future__ import annotations

from typing import Any

import numpy as np
import rclpy
from controller_robot import Q, build_panda
from nodes import Probe
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectoryPoint

from thunder_controllers.host import Configuration, ControlSession, Options
from thunder_controllers.ros.common.qos import STREAM
from thunder_controllers.ros.controller.inputs import Input
from thunder_controllers.ros.controller.loop import ControlLoop

ROUNDING = 1e-9


def test_a_loop_that_fails_ramps_the_effort_to_the_safe_one_and_says_so(probe: Probe) -> None:
    def fail(message: Any) -> None:
        raise ZeroDivisionError("a defect")

    library = build_panda(law="slotine_li")
    configuration = Configuration(library)
    session = ControlSession(configuration, Options())
    node = rclpy.create_node("loop", context=probe.context)
    parameters: Any = {"watchdog_timeout": 60.0, "command_topic": "/commands"}
    loop = ControlLoop(node, parameters, configuration, session, Input(JointTrajectoryPoint, "/references", fail))
    loop.start()
    try:
        commands = probe.listen(Float64MultiArray, "/commands", STREAM)
        probe.wait_until(lambda: probe.node.count_publishers("/commands") > 0, "publisher of commands")
        states = probe.publisher(JointState, "/joint_states", STREAM)
        states.publish(JointState(name=list(library.joint_names), position=Q.tolist(), velocity=[0.0] * 7))
        probe.wait_until(lambda: np.isfinite(loop.state_age), "measurement")
        loop.activate(zero_start=True, max_error=np.inf)
        probe.publisher(JointTrajectoryPoint, "/references", STREAM).publish(JointTrajectoryPoint())
        probe.wait_until(lambda: not session.is_commanding, "end of the ramp")
        gravity = np.ravel(library.evaluate("G", Q))
        probe.wait_until(lambda: np.abs(np.array(commands.latest.data) - gravity).max() < ROUNDING, "safe effort")
        efforts = np.array([np.zeros(7), *(message.data for message in commands.messages)])
        assert np.abs(gravity).max() > 10.0 and np.abs(np.diff(efforts, axis=0)).max() <= 10.0 + ROUNDING
        assert loop.has_failed
    finally:
        loop.close()
        node.destroy_node()
