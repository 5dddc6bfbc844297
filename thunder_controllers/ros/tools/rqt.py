"""rqt with plots that find their topics; `python -m thunder_controllers.ros.tools.rqt --namespace NAME`.

rqt restores a perspective right after it has made its node, and rqt_plot drops every topic that this node does not know
by then: without waiting, the plots of a perspective come up empty. So the topics of the controller are waited for, the
perspective is written for them (any namespace, any adapted links), and rqt's node is handed over once it knows them.
rqt_plot also takes its own wall clock from stamps, so that it labels simulated time, which begins at 0, with large
negative numbers: it is made to count from the first error that the controller publishes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.wait_for_message import wait_for_message
from sensor_msgs.msg import JointState

from thunder_controllers.resources import share
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.storage.door import read_text

INTERVAL = 0.1
"""Between two looks at the graph [s]."""

SETTLED = 10
"""Looks at the graph that show the same before all topics of the controller count as discovered."""

PATIENCE = 10.0
"""How long rqt's own node may take to discover what was seen already [s], after that plots lack topics; and how long
a configured controller may take to publish an error, after that it is not active."""

ERRORS = {"pose_error": PoseStamped, "joint_error": JointState}
"""Topics that a controller has once it is configured, one by kind of law."""

ESTIMATE = ("inertia/m", "inertia/com/x", "inertia/com/y", "inertia/com/z")
"""Fields of an estimate to plot."""

PLUGINS = {"error": "plugin__rqt_plot__Plot__1", "estimates": "plugin__rqt_plot__Plot__2"}
RECONFIGURE = "plugin__rqt_reconfigure__Param__1"


class NotInstalledError(ThunderError):
    """rqt is not installed."""


def plotted_fields(topics: Sequence[str], controller: str, joints: int = 1) -> dict[str, list[str]]:
    """What there is to plot of a controller.

    Args:
        topics: Absolute names of all topics.
        controller: Absolute name of its node.
        joints: How many it moves; rqt_plot wants each entry of an array named.

    Returns:
        Fields by plot, `error` and `estimates`; both empty while the controller is not there.
    """
    parts = {
        "pose_error": [f"pose/position/{axis}" for axis in "xyz"],
        "joint_error": [f"position[{joint}]" for joint in range(joints)],
    }
    errors = [f"{controller}/{name}" for name in ERRORS if f"{controller}/{name}" in topics]
    estimates = sorted(topic for topic in topics if topic.startswith(f"{controller}/estimates/"))
    return {
        "error": [f"{topic}/{part}" for topic in errors for part in parts[topic.rpartition("/")[2]]],
        "estimates": [f"{topic}/{field}" for topic in estimates for field in ESTIMATE],
    }


def fill_perspective(template: str, fields: Mapping[str, Sequence[str]], controller: str) -> str:
    """Put fields and controller into a perspective.

    Args:
        template: Perspective as JSON, with two plots and a parameter editor.
        fields: As `plotted_fields` returns them.
        controller: Absolute name of the node whose parameters are shown.
    """
    perspective = json.loads(template)
    settings = {PLUGINS[name]: ("topics", list(fields[name])) for name in PLUGINS}
    settings[RECONFIGURE] = ("selected_nodes", [controller])
    for plugin, (key, value) in settings.items():
        keys = perspective["groups"]["pluginmanager"]["groups"][plugin]["groups"]["plugin"]["keys"]
        keys[key]["repr"] = repr(value)
    return json.dumps(perspective, indent=2)


def topic_names(node: Node) -> list[str]:
    """Absolute names of the topics that a node knows publishers of: a subscription alone tells of no controller."""
    return [name for name, _ in node.get_topic_names_and_types() if node.count_publishers(name)]


def wait_for_controller(node: Node, controller: str) -> list[str]:
    """Wait until the controller is configured, however long a library takes to compile, and all is discovered.

    Returns:
        Its topics.
    """
    node.get_logger().info(f"rqt opens as soon as {controller} is configured")
    topics: list[str] = []
    seen = 0
    while seen < SETTLED:
        time.sleep(INTERVAL)
        before, topics = topics, [name for name in topic_names(node) if name.startswith(f"{controller}/")]
        seen = seen + 1 if topics == before and plotted_fields(topics, controller)["error"] else 0
    return topics


def next_error(node: Node, controller: str, topics: Sequence[str]) -> PoseStamped | JointState | None:
    """The next error that a controller with these topics publishes; None while it is not active."""
    name = next(name for name in ERRORS if f"{controller}/{name}" in topics)
    return wait_for_message(ERRORS[name], node, f"{controller}/{name}", qos_profile=MONITOR, time_to_wait=PATIENCE)[1]


def count_from(stamp: float) -> None:
    """Let rqt_plot count time from a stamp [s] instead of its own wall clock."""
    widget: Any = importlib.import_module("rqt_plot.plot_widget")
    curve = widget.ROSData
    widget.ROSData = lambda node, topic, _: curve(node, topic, stamp)


def patient(create: Callable[..., Node], topics: Sequence[str]) -> Callable[..., Node]:
    """Make nodes that know topics when they are handed over, unless that takes longer than `PATIENCE`."""

    def create_node(*arguments: Any, **options: Any) -> Node:
        node = create(*arguments, **options)
        limit = time.monotonic() + PATIENCE
        while not set(topics) <= set(topic_names(node)) and time.monotonic() < limit:
            time.sleep(INTERVAL)
        return node

    return create_node


def open_rqt(template: Path, namespace: str) -> int:
    """Wait for the controller, then run rqt until its window is closed; its exit status.

    Raises:
        NotInstalledError: if rqt, or its plot, is not there.
    """
    missing = [name for name in ("rqt_gui", "rqt_plot") if find_spec(name) is None]
    if missing:
        raise NotInstalledError(f"{', '.join(missing)} not installed", valid="apt install ros-jazzy-rqt-common-plugins")
    controller = f"{'/' + namespace.strip('/') if namespace else ''}/{names.CONTROLLER}"
    rclpy.init()
    node = rclpy.create_node("thunder_rqt")
    topics = wait_for_controller(node, controller)
    error = next_error(node, controller, topics)
    node.destroy_node()
    fields = plotted_fields(topics, controller, len(error.position) if isinstance(error, JointState) else 1)
    if error is not None:
        count_from(error.header.stamp.sec + 1e-9 * error.header.stamp.nanosec)
    rclpy.create_node = patient(rclpy.create_node, topics)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / template.name
        filled = fill_perspective(read_text(template, ThunderError), fields, controller)
        path.write_text(filled, encoding="utf-8")
        rqt = importlib.import_module("rqt_gui.main").Main()
        return int(rqt.main(["rqt", "--perspective-file", str(path)]) or 0)


@click.command()
@click.argument("perspective", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
@click.option("--namespace", default="", help="Of the controller.")
def main(perspective: Path | None, namespace: str) -> None:
    """Open rqt on the controller's estimates, error and parameters, with the package's PERSPECTIVE or another."""
    with contextlib.suppress(KeyboardInterrupt):
        try:
            sys.exit(open_rqt(perspective or share("config/rqt/thunder.perspective"), namespace))
        except ThunderError as error:
            raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
