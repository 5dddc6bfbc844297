"""`thunder ros NAME [ARGUMENT:=VALUE…]`: a simulated system of ROS 2 nodes on machines that have no `ros2 launch`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
import yaml

from thunder_controllers.resources import PACKAGE
from thunder_controllers.ros.tools.discovery import discovery_environment
from thunder_controllers.ros.tools.launch_arguments import read_description
from thunder_controllers.ros.tools.processes import ProcessDescription, ProcessGroup
from thunder_controllers.ros.tools.systems import MONITOR, SYSTEMS, NodeEntry, arguments_of, complete
from thunder_dynamics.errors import MissingLibraryError

BY_LINE = {"PYTHONUNBUFFERED": "1", "RCUTILS_LOGGING_BUFFERED_STREAM": "1"}
"""Output by line, so that lines of several nodes do not mix."""


@click.command()
@click.argument("name", type=click.Choice(sorted(SYSTEMS)))
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT:=VALUE]...")
@click.option("--show-args", is_flag=True, help="List the arguments of NAME and end.")
@click.option("--single-process", is_flag=True, help="Run all nodes in one process.")
@click.option("--duration", type=click.FloatRange(min=0.0, min_open=True), help="End after this wall time [s].")
@click.option("--monitor", is_flag=True, help="Write error and estimates as they come, and a summary at the end.")
def ros(
    name: str, arguments: tuple[str, ...], show_args: bool, single_process: bool, duration: float | None, monitor: bool
) -> None:
    """Bring up the ROS 2 system NAME in simulation; `ros2 launch` knows more backends."""
    if show_args:
        click.echo(_show_arguments(name))
        return
    if importlib.util.find_spec("rclpy") is None:
        raise MissingLibraryError("rclpy")
    given = complete(name, arguments)
    nodes = [*SYSTEMS[name](given), *([MONITOR] if monitor else [])]
    os.environ.update(discovery_environment(given["discovery"], os.environ))
    namespace = ["-r", f"__ns:=/{given['namespace'].strip('/')}"] if given["namespace"].strip("/") else []
    with tempfile.TemporaryDirectory(prefix="thunder_ros_") as folder:
        run = _run_in_one_process if single_process else _run_in_processes
        sys.exit(run(nodes, namespace, Path(folder), duration))


def _show_arguments(name: str) -> str:
    """List the arguments of a system with defaults, as `ros2 launch --show-args` does."""
    lines = [read_description(name), ""]
    for argument in arguments_of(name).values():
        choices = f" ({', '.join(argument.choices)})" if argument.choices else ""
        lines += [f"  {argument.name}:={argument.default!r}", f"      {argument.description}{choices}"]
    return "\n".join(lines)


def _report(line: str) -> None:
    click.echo(f"thunder ros: {line}", err=True)


def _run_in_processes(nodes: Sequence[NodeEntry], namespace: list[str], folder: Path, duration: float | None) -> int:
    """Run every node in a process of its own until one ends, the time has passed, or Ctrl-C; the exit status."""
    descriptions = []
    for node in nodes:
        command = (sys.executable, "-m", _module(node), "--ros-args", *namespace, *_parameter_words(node, folder))
        descriptions.append(ProcessDescription(node.name, command, node.required, node.may_fail, node.ends_first))
    return ProcessGroup(descriptions, {**os.environ, **BY_LINE}, _report).run(duration)


def _run_in_one_process(nodes: Sequence[NodeEntry], namespace: list[str], folder: Path, duration: float | None) -> int:
    """Run every node in this process, each in a thread; the exit status."""
    from thunder_controllers.ros.tools.shared_process import run_shared

    words = ["thunder", "--ros-args", *namespace]
    words += [word for node in nodes for word in _parameter_words(node, folder)]
    factories = [getattr(importlib.import_module(_module(node)), node.factory) for node in nodes]
    if duration is not None:
        signal.setitimer(signal.ITIMER_REAL, duration)  # SIGALRM is one of the signals that stop the nodes
    return run_shared(factories, words)


def _module(node: NodeEntry) -> str:
    return f"{PACKAGE}.ros.{node.module}"


def _parameter_words(node: NodeEntry, folder: Path) -> list[str]:
    """Write the node's own values to a file, but for empty lists, and name all its files, the strongest last."""
    own = folder / f"{node.name}.yaml"
    values = {name: value for name, value in node.parameters.items() if value != []}
    section = {f"/**/{node.name}": {"ros__parameters": values}}
    own.write_text(yaml.safe_dump(section, allow_unicode=True), encoding="utf-8")
    return [word for file in (*node.files, own) for word in ("--params-file", str(file))]
