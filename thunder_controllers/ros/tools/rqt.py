"""rqt with plots that find their topics; `python -m thunder_controllers.ros.tools.rqt PERSPECTIVE --namespace NAME`.

rqt restores a perspective right after it has made its node, and rqt_plot drops every topic that this node does not know
by then: without waiting, the plots of a perspective come up empty. So the topics of the controller are waited for, the
perspective is written for them (any namespace, any adapted links), and rqt's node is handed over once it knows them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import rclpy
from rclpy.node import Node

from thunder_controllers.ros.common import names

INTERVAL = 0.1
"""Between two looks at the graph [s]."""

SETTLED = 10
"""Looks at the graph that show the same before all topics of the controller count as discovered."""

PATIENCE = 10.0
"""How long rqt's own node may take to discover what was seen already [s]; after that, plots lack topics."""

ERRORS = (*(f"pose_error/twist/linear/{axis}" for axis in "xyz"), "joint_error/position")
"""Fields to plot of the topics that only an active controller has, one by kind of law."""

ESTIMATE = ("inertia/m", "inertia/com/x", "inertia/com/y", "inertia/com/z")
"""Fields of an estimate to plot."""

PLUGINS = {"error": "plugin__rqt_plot__Plot__1", "estimates": "plugin__rqt_plot__Plot__2"}
RECONFIGURE = "plugin__rqt_reconfigure__Param__1"


def plotted_fields(topics: Sequence[str], controller: str) -> dict[str, list[str]]:
    """What there is to plot of a controller.

    Args:
        topics: Absolute names of all topics.
        controller: Absolute name of its node.

    Returns:
        Fields by plot, `error` and `estimates`; both empty while the controller is not there.
    """
    errors = [f"{controller}/{field}" for field in ERRORS if f"{controller}/{field.partition('/')[0]}" in topics]
    estimates = sorted(topic for topic in topics if topic.startswith(f"{controller}/estimates/"))
    return {"error": errors, "estimates": [f"{topic}/{field}" for topic in estimates for field in ESTIMATE]}


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


def wait_for_controller(node: Node, controller: str) -> dict[str, list[str]]:
    """Wait until the controller is configured, however long a library takes to compile, and all is discovered."""
    node.get_logger().info(f"rqt opens as soon as {controller} is configured")
    fields: dict[str, list[str]] = {"error": []}
    seen = 0
    while seen < SETTLED:
        time.sleep(INTERVAL)
        before, fields = fields, plotted_fields(topic_names(node), controller)
        seen = seen + 1 if fields == before and fields["error"] else 0
    return fields


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
    """Wait for the controller, then run rqt until its window is closed; its exit status."""
    controller = f"{'/' + namespace.strip('/') if namespace else ''}/{names.CONTROLLER}"
    rclpy.init()
    node = rclpy.create_node("thunder_rqt")
    fields = wait_for_controller(node, controller)
    topics = [topic for topic in topic_names(node) if topic.startswith(f"{controller}/")]
    node.destroy_node()
    rclpy.create_node = patient(rclpy.create_node, topics)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / template.name
        path.write_text(fill_perspective(template.read_text(encoding="utf-8"), fields, controller), encoding="utf-8")
        rqt = importlib.import_module("rqt_gui.main").Main()
        return int(rqt.main(["rqt", "--perspective-file", str(path)]) or 0)


@click.command()
@click.argument("perspective", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--namespace", default="", help="Of the controller.")
def main(perspective: Path, namespace: str) -> None:
    """Open rqt on the controller's estimates, error and parameters."""
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(open_rqt(perspective, namespace))


if __name__ == "__main__":
    main()
