"""What a running ROS graph says of a controller, heard in some seconds; nothing is asked but parameters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from thunder_controllers.ros.common import names

if TYPE_CHECKING:
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.node import Node
    from sensor_msgs.msg import JointState

RATE_KEY = "loop rate [Hz]"
"""Under which the controller's diagnostics report its rate."""

ASKED = ("gravity_compensated_by_robot", "joints", "effort_limit", "velocity_limit")
"""Parameters of the controller that checks look at."""


@dataclass
class Graph:
    """What was heard.

    Args:
        rmw: The RMW of this process.
        is_there: Whether the controller is in the graph.
        parameters: Of the controller, by name; None: it did not answer.
        joints: Names in the joint states.
        stamps: Of the joint states [s], in the order in which they came.
        rates: Of the controller's loop [Hz], one for each of its diagnostics.
    """

    rmw: str = ""
    is_there: bool = False
    parameters: Mapping[str, Any] | None = None
    joints: tuple[str, ...] = ()
    stamps: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)


def is_installed() -> bool:
    """Whether there is rclpy."""
    return find_spec("rclpy") is not None


def listen(controller: str, joint_states: str, seconds: float) -> Graph:
    """Listen to a controller and the states of its joints.

    Args:
        controller: Name of its node, with its namespace.
        joint_states: Topic of the joint states, relative to that namespace.
        seconds: How long.

    Raises:
        ModuleNotFoundError: if there is no rclpy.
    """
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray
    from rcl_interfaces.srv import GetParameters
    from sensor_msgs.msg import JointState

    from thunder_controllers.ros.common.qos import MONITOR, SENSOR
    from thunder_controllers.ros.common.runtime import initialise

    graph, name = Graph(), f"/{controller.strip('/')}"
    initialise(["thunder"])
    try:
        node = rclpy.create_node("thunder_doctor")
        graph.rmw = rclpy.get_rmw_implementation_identifier()
        topic = f"{name.rpartition('/')[0]}/{joint_states}"
        node.create_subscription(JointState, topic, lambda message: _note_states(graph, message), SENSOR)
        node.create_subscription(
            DiagnosticArray, names.DIAGNOSTICS, lambda message: _note_rates(graph, name, message), MONITOR
        )
        client = node.create_client(GetParameters, f"{name}/get_parameters")
        _spin(node, seconds, lambda: _ask(client, graph))
        graph.is_there = name in node.get_fully_qualified_node_names()
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
    return graph


def _spin(node: Node, seconds: float, ask: Any) -> None:
    import rclpy

    end, asked = time.monotonic() + seconds, False
    while time.monotonic() < end:
        asked = asked or ask()
        rclpy.spin_once(node, timeout_sec=0.1)


def _ask(client: Any, graph: Graph) -> bool:
    """Ask for parameters as soon as somebody is there to answer; whether that was so."""
    from rcl_interfaces.srv import GetParameters
    from rclpy.parameter import parameter_value_to_python

    def keep(future: Any) -> None:
        values = map(parameter_value_to_python, future.result().values)
        graph.parameters = dict(zip(ASKED, values, strict=False))  # none at all of a node that lacks one of them

    if not client.service_is_ready():
        return False
    client.call_async(GetParameters.Request(names=list(ASKED))).add_done_callback(keep)
    return True


def _note_states(graph: Graph, message: JointState) -> None:
    graph.joints = graph.joints or tuple(message.name)
    graph.stamps.append(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def _note_rates(graph: Graph, controller: str, message: DiagnosticArray) -> None:
    for status in message.status:
        if f"/{status.name}".startswith(controller):
            with suppress(StopIteration, ValueError):  # a controller that does not run has no rate
                graph.rates.append(float(next(pair.value for pair in status.values if pair.key == RATE_KEY)))
