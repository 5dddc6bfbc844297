"""`thunder ros NAME [ARGUMENT:=VALUE…]`: what the launch files do, on machines that have no `launch`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click
import yaml

from thunder_controllers.ros.bringup.bringups import BRINGUPS
from thunder_controllers.ros.bringup.node_set import (
    SIGN,
    Bringup,
    CommandDescription,
    LaunchArgumentError,
    NodeDescription,
    NodeSet,
    parameter_file,
    parse_arguments,
)
from thunder_controllers.ros.bringup.start import debian_package, node_parameters, prepare
from thunder_controllers.ros.common import names
from thunder_controllers.ros.tools.processes import ProcessDescription, ProcessGroup
from thunder_dynamics.errors import ThunderError

EXIT_USAGE = 2


def _show_arguments(bringup: Bringup) -> str:
    """List the arguments of a bring-up with defaults, as `ros2 launch --show-args` does."""
    lines = [bringup.description, ""]
    for argument in bringup.arguments:
        choices = f" ({', '.join(argument.choices)})" if argument.choices else ""
        lines += [f"  {argument.name}{SIGN}{argument.default!r}", f"      {argument.description}{choices}"]
    return "\n".join(lines)


@click.command()
@click.argument("name", type=click.Choice(sorted(BRINGUPS)))
@click.argument("arguments", nargs=-1, metavar=f"[ARGUMENT{SIGN}VALUE]...")
@click.option("--show-args", is_flag=True, help="List the arguments of NAME and end.")
@click.option("--single-process", is_flag=True, help="Run all nodes in one process.")
@click.option("--duration", type=click.FloatRange(min=0.0, min_open=True), help="End after this wall time [s].")
@click.option("--monitor", is_flag=True, help="Write error and estimates as they come, and a summary at the end.")
def ros(
    name: str, arguments: tuple[str, ...], show_args: bool, single_process: bool, duration: float | None, monitor: bool
) -> None:
    """Bring up the ROS 2 system NAME, as launch/NAME.launch.py does."""
    if show_args:
        click.echo(_show_arguments(BRINGUPS[name]))
        return
    try:
        _check_rclpy()
        nodes = BRINGUPS[name].node_set(parse_arguments(arguments))
        if single_process:
            _check_shareable(nodes)
        prepare(nodes)
        if monitor:
            nodes = _with_monitor(nodes)
        start = run_in_one_process if single_process else run_in_processes
        sys.exit(start(nodes, duration))
    except ThunderError as error:
        click.echo(f"thunder ros: {' '.join(str(error).split())}", err=True)
        sys.exit(EXIT_USAGE)


def _check_rclpy() -> None:
    if importlib.util.find_spec("rclpy") is None:
        what = "rclpy is not installed"
        raise LaunchArgumentError(what, valid="pip install 'thunder-controllers[ros]', or a sourced ROS 2 distribution")


def _with_monitor(nodes: NodeSet) -> NodeSet:
    module = "thunder_controllers.ros.tools.monitor"
    node = NodeDescription(
        "monitor", names.MONITOR, {"controller": names.CONTROLLER}, module=module, factory=f"{module}:MonitorNode"
    )
    return replace(nodes, nodes=(*nodes.nodes, node))


def run_in_processes(nodes: NodeSet, duration: float | None = None) -> int:
    """Run every node in a process of its own until one ends, the time has passed, or Ctrl-C.

    Args:
        nodes: What to run.
        duration: [s]; None: until Ctrl-C.

    Returns:
        Exit status: 0, or 1 if a node ended that should not have.
    """
    with tempfile.TemporaryDirectory(prefix="thunder_ros_") as folder:
        descriptions = [_node_process(node, nodes.namespace, Path(folder)) for node in nodes.nodes]
        descriptions += [_command_process(command) for command in nodes.commands]
        group = ProcessGroup(descriptions, _environment(), lambda line: click.echo(f"thunder ros: {line}", err=True))
        with _on_signals(group.wake):
            return group.run(duration)


def run_in_one_process(nodes: NodeSet, duration: float | None = None) -> int:
    """Run every node in this process, each in a thread.

    Raises:
        LaunchArgumentError: if there are commands or foreign nodes, which cannot share a process.
    """
    from thunder_controllers.ros.tools.shared_process import run_shared

    _check_shareable(nodes)
    with tempfile.TemporaryDirectory(prefix="thunder_ros_") as folder:
        files = [word for node in nodes.nodes for word in _parameter_arguments(node, Path(folder))]
        renamed = dict.fromkeys(remapping for node in nodes.nodes for remapping in node.remappings)  # one for all
        arguments = ["thunder", "--ros-args", *_namespace_arguments(nodes.namespace), *_remappings(renamed), *files]
        factories = [_load(node.factory) for node in nodes.nodes]
        if duration is not None:
            signal.setitimer(signal.ITIMER_REAL, duration)  # SIGALRM is one of the signals that stop the nodes
        return run_shared(factories, arguments)


def _check_shareable(nodes: NodeSet) -> None:
    foreign = [node.name for node in nodes.nodes if not node.factory] + [command.name for command in nodes.commands]
    if foreign:
        raise LaunchArgumentError(f"{', '.join(foreign)} cannot share a process", where="--single-process")


def _load(factory: str) -> Callable[[], Any]:
    module, _, attribute = factory.partition(":")
    loaded: Callable[[], Any] = getattr(importlib.import_module(module), attribute)
    return loaded


def _node_process(node: NodeDescription, namespace: str, folder: Path) -> ProcessDescription:
    program = [sys.executable, "-m", node.module] if node.module else [_find_executable(node)]
    renamed = _remappings(node.remappings)
    ros = ["--ros-args", *_namespace_arguments(namespace), *renamed, *_parameter_arguments(node, folder)]
    ends_first = node.name in (names.CONTROLLER, names.MONITOR)
    command = (*program, *node.arguments, *ros)
    return ProcessDescription(node.name, command, node.required, ends_first, node.environment)


def _command_process(command: CommandDescription) -> ProcessDescription:
    return ProcessDescription(command.name, command.words, required=False)


def _find_executable(node: NodeDescription) -> str:
    """Locate an executable of another package, which is installed: `prepare` has looked for it."""
    from ament_index_python import get_package_prefix

    path = Path(get_package_prefix(node.package)) / "lib" / node.package / node.executable
    if not path.is_file():
        raise LaunchArgumentError("no such executable", where=str(path), valid=debian_package(node.package))
    return str(path)


def _namespace_arguments(namespace: str) -> list[str]:
    return ["-r", f"__ns:=/{namespace.strip('/')}"] if namespace.strip("/") else []


def _remappings(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return [word for pair in pairs for word in ("-r", SIGN.join(pair))]


def _parameter_arguments(node: NodeDescription, folder: Path) -> list[str]:
    """Write the node's own parameters to a file and name all its files, the strongest last."""
    files = list(node.files)
    own = node_parameters(node)
    if own:
        files.append(folder / f"{node.name}.yaml")
        files[-1].write_text(yaml.safe_dump(parameter_file(node.name, own), allow_unicode=True), encoding="utf-8")
    return [word for file in files for word in ("--params-file", str(file))]


def _environment() -> dict[str, str]:
    """Environment of the children: output by line, so that lines of several nodes do not mix."""
    return {**os.environ, "PYTHONUNBUFFERED": "1", "RCUTILS_LOGGING_BUFFERED_STREAM": "1"}


@contextmanager
def _on_signals(callback: Callable[[], None]) -> Iterator[None]:
    """Call back on SIGINT and SIGTERM instead of raising KeyboardInterrupt."""

    def handle(number: int, frame: FrameType | None) -> None:
        callback()

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
