"""What is heard of a running controller, by a node that says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from nodes import Probe
from sensor_msgs.msg import JointState

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR, STREAM
from thunder_controllers.ros.tools.graph import ASKED, RATE_KEY, Graph, listen

NAME = "/left/adaptive_controller"
JOINTS = ("joint1", "joint2")
LONG_ENOUGH = 1.0
"""For messages to come that come all the time [s]; who does not hear them listens again."""


@contextmanager
def controller(probe: Probe, answers: bool = True, is_ours: bool = True) -> Iterator[None]:
    """A node that says what a controller says."""
    space, _, name = NAME.rpartition("/")
    node = rclpy.create_node(name, namespace=space, context=probe.context, start_parameter_services=answers)
    node.declare_parameter("gravity_compensated_by_robot", True)
    if is_ours:
        node.declare_parameters("", [("joints", list(JOINTS)), ("effort_limit", [8.0]), ("velocity_limit", [])])
    states = node.create_publisher(JointState, "joint_states", STREAM)
    diagnostics = node.create_publisher(DiagnosticArray, names.DIAGNOSTICS, MONITOR)
    statuses = [
        DiagnosticStatus(name="left/adaptive_controller", values=[KeyValue(key=RATE_KEY, value="998.5")]),
        DiagnosticStatus(name="right/adaptive_controller", values=[KeyValue(key=RATE_KEY, value="1.5")]),
        DiagnosticStatus(name="left/adaptive_controller", values=[KeyValue(key="state", value="inactive")]),
    ]

    def speak() -> None:
        message = JointState(name=JOINTS)
        message.header.stamp = node.get_clock().now().to_msg()
        states.publish(message)
        diagnostics.publish(DiagnosticArray(status=statuses))

    node.create_timer(0.02, speak)
    probe.executor.add_node(node)
    try:
        yield
    finally:
        probe.in_own_thread(probe.executor.remove_node, node)
        node.destroy_node()


def heard(probe: Probe, is_enough: Callable[[Graph], Any]) -> Graph:
    """Listen until enough was heard."""
    found: list[Graph] = []

    def listen_again() -> bool:
        found.append(listen(NAME, "joint_states", LONG_ENOUGH))
        return bool(is_enough(found[-1]))

    probe.wait_until(listen_again, "controller that is heard")
    return found[-1]


def test_a_controller_is_heard(probe: Probe) -> None:
    with controller(probe):
        graph = heard(probe, lambda graph: graph.is_there and graph.parameters and graph.stamps and graph.rates)
    assert graph.rmw.startswith("rmw_") and graph.joints == JOINTS and set(graph.rates) == {998.5}
    assert graph.parameters is not None and list(graph.parameters) == list(ASKED)
    assert graph.parameters["gravity_compensated_by_robot"] is True and graph.parameters["joints"] == list(JOINTS)
    assert list(graph.parameters["effort_limit"]) == [8.0] and not graph.parameters["velocity_limit"]
    assert graph.stamps == sorted(graph.stamps)


def test_one_that_does_not_answer_has_no_parameters(probe: Probe) -> None:
    with controller(probe, answers=False):
        graph = heard(probe, lambda graph: graph.is_there and graph.rates)
    assert graph.parameters is None


def test_another_node_of_that_name_answers_without_them(probe: Probe) -> None:
    with controller(probe, is_ours=False):
        assert heard(probe, lambda graph: graph.parameters is not None).parameters == {}


def test_where_nothing_runs_nothing_is_heard(domain: int) -> None:
    graph = listen("/nobody", "joint_states", 0.2)
    assert (graph.is_there, graph.parameters, graph.joints, graph.stamps, graph.rates) == (False, None, (), [], [])


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_for_are_parameters_of_the_controllers(name: str) -> None:
    from thunder_controllers.ros.common.declarations import plugin_parameters

    assert name in {parameter.name for parameter in plugin_parameters()}
