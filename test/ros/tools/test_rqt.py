"""What rqt is given to plot, and that it waits for topics; opening rqt itself is written up in docs/verification.md."""

from __future__ import annotations

import ast
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import rclpy
from geometry_msgs.msg import TwistStamped
from nodes import Probe

from thunder_controllers.ros.tools.rqt import (
    ESTIMATE,
    PLUGINS,
    RECONFIGURE,
    fill_perspective,
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
    ("topic", "first", "count"),
    [("pose_error", "pose_error/twist/linear/x", 3), ("joint_error", "joint_error/position", 1)],
)
def test_each_kind_of_law_has_its_error_plotted(topic: str, first: str, count: int) -> None:
    fields = plotted_fields([f"{CONTROLLER}/{topic}", f"{CONTROLLER}/pose"], CONTROLLER)
    assert fields["error"][0] == f"{CONTROLLER}/{first}" and len(fields["error"]) == count


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


def test_a_node_is_handed_over_once_it_knows_the_topics(probe: Probe) -> None:
    create = partial(rclpy.create_node, context=probe.node.context)
    other = create("test_rqt_controller")
    other.create_subscription(TwistStamped, "/waiting/adaptive_controller/pose_error", print, 1)
    other.create_publisher(TwistStamped, f"{CONTROLLER}/pose_error", 1)
    wanted = [f"{CONTROLLER}/pose_error"]
    node = patient(create, wanted)("test_rqt_patient")
    try:
        assert set(wanted) <= set(topic_names(node))
        assert not any(name.startswith("/waiting/") for name in topic_names(node))  # nobody publishes it
        assert wait_for_controller(node, CONTROLLER)["error"][0] == f"{CONTROLLER}/pose_error/twist/linear/x"
    finally:
        node.destroy_node()
        other.destroy_node()
