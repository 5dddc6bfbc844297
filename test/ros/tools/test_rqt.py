"""What rqt is given to plot, and that it waits for topics; docs/results/verification.md says of opening rqt itself."""

from __future__ import annotations

import ast
import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import rclpy
from click.testing import CliRunner
from geometry_msgs.msg import PoseStamped
from nodes import Probe
from sensor_msgs.msg import JointState

from thunder_controllers.ros.tools.rqt import (
    ESTIMATE,
    PLUGINS,
    RECONFIGURE,
    fill_perspective,
    main,
    next_error,
    patient,
    plotted_fields,
    topic_names,
    wait_for_controller,
)

TEMPLATE = (Path(__file__).resolve().parents[3] / "config/rqt/thunder.perspective").read_text(encoding="utf-8")
CONTROLLER = "/left/adaptive_controller"


def settings(text: str, plugin: str, key: str) -> Any:
    groups = json.loads(text)["groups"]["pluginmanager"]["groups"]
    return ast.literal_eval(groups[plugin]["groups"]["plugin"]["keys"][key]["repr"])


def test_there_is_nothing_to_plot_of_another_controller() -> None:
    others = ["/adaptive_controller/pose_error", "/left/adaptive_controller2/estimates/link7", "/left/pose_error"]
    assert plotted_fields(others, CONTROLLER) == {"error": [], "estimates": []}


@pytest.mark.parametrize(
    ("topic", "last", "count"),
    [("pose_error", "pose_error/pose/position/z", 3), ("joint_error", "joint_error/position[6]", 7)],
)
def test_each_kind_of_law_has_its_error_plotted(topic: str, last: str, count: int) -> None:
    fields = plotted_fields([f"{CONTROLLER}/{topic}", f"{CONTROLLER}/pose"], CONTROLLER, joints=7)
    assert fields["error"][-1] == f"{CONTROLLER}/{last}" and len(fields["error"]) == count


def test_every_adapted_link_has_its_estimates_plotted() -> None:
    topics = [f"{CONTROLLER}/estimates/{link}" for link in ("wrist_3_link", "tool")]
    fields = plotted_fields(topics, CONTROLLER)["estimates"]
    assert fields == [f"{CONTROLLER}/estimates/{link}/{part}" for link in ("tool", "wrist_3_link") for part in ESTIMATE]


def test_the_perspective_is_written_for_the_controller_that_is_there() -> None:
    fields = {"error": ["/a/b"], "estimates": ["/c/d", "/e/f"]}
    text = fill_perspective(TEMPLATE, fields, CONTROLLER)
    assert {name: settings(text, plugin, "topics") for name, plugin in PLUGINS.items()} == fields
    assert settings(text, RECONFIGURE, "selected_nodes") == [CONTROLLER]
    before, after = json.loads(TEMPLATE), json.loads(text)
    assert before.keys() == after.keys() and before["keys"] == after["keys"]


def test_a_machine_without_rqt_is_told_what_to_install() -> None:
    if find_spec("rqt_plot") is not None:
        pytest.skip("rqt is installed")
    result = CliRunner().invoke(main)
    assert result.exit_code == 1 and result.output.count("\n") == 1
    assert "rqt_plot not installed" in result.output and "apt install ros-jazzy-rqt-common-plugins" in result.output


def test_a_node_is_handed_over_once_it_knows_the_topics(probe: Probe) -> None:
    create = partial(rclpy.create_node, context=probe.node.context)
    other = create("test_rqt_controller")
    other.create_subscription(PoseStamped, "/waiting/adaptive_controller/pose_error", print, 1)
    other.create_publisher(PoseStamped, f"{CONTROLLER}/pose_error", 1)
    wanted = [f"{CONTROLLER}/pose_error"]
    node = patient(create, wanted)("test_rqt_patient")
    try:
        assert set(wanted) <= set(topic_names(node))
        assert not any(name.startswith("/waiting/") for name in topic_names(node))  # nobody publishes it
        assert wait_for_controller(node, CONTROLLER) == wanted
    finally:
        node.destroy_node()
        other.destroy_node()


def test_the_next_error_says_when_time_began_and_how_many_joints_there_are(probe: Probe) -> None:
    message = JointState(position=[0.0] * 7)
    message.header.stamp.sec = 3
    publisher = probe.node.create_publisher(JointState, f"{CONTROLLER}/joint_error", 1)
    timer = probe.node.create_timer(0.01, lambda: publisher.publish(message))
    node = rclpy.create_node("test_rqt_asking", context=probe.node.context)
    try:
        error = next_error(node, CONTROLLER, [f"{CONTROLLER}/joint_error"])
        assert isinstance(error, JointState) and error.header.stamp.sec == 3 and len(error.position) == 7
    finally:
        node.destroy_node()
        probe.in_own_thread(probe.node.destroy_timer, timer)
        probe.in_own_thread(probe.node.destroy_publisher, publisher)
