"""`thunder ros NAME [ARGUMENT:=VALUE…]`: an arm in MuJoCo under ROS 2, where there is no `ros2 launch`."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from thunder_controllers.resources import PACKAGE
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.reading import reading_of
from thunder_controllers.ros.tools.launch_arguments import (
    ROBOTS,
    Argument,
    LaunchArgumentError,
    check_arguments,
    discovery_environment,
    read_arguments,
)
from thunder_controllers.ros.tools.system import files_of, parameters_of
from thunder_dynamics.errors import MissingLibraryError

NEED_A_DISTRIBUTION = ("backend", "robot_ip", "arm_id", "load", "use_gazebo_gui", "use_rqt", "use_rviz", "record")
"""Launch arguments that only `ros2 launch` can do something with; they keep their defaults here."""

CHOSEN = {"backend": "mujoco"}
"""What they are here where `ros2 launch` chooses."""


@click.command()
@click.argument("name", type=click.Choice(sorted(ROBOTS)))
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT:=VALUE]...")
@click.option("--show-args", is_flag=True, help="List the arguments of NAME and end.")
@click.option("--duration", type=click.FloatRange(min=0.0, min_open=True), help="End after this wall time [s].")
@click.option("--monitor", is_flag=True, help="Write error and estimates as they come, and a summary at the end.")
def ros(name: str, arguments: tuple[str, ...], show_args: bool, duration: float | None, monitor: bool) -> None:
    """Run a simulated arm and its controller under ROS 2, in one process; `ros2 launch` knows more backends."""
    if show_args:
        click.echo(_show_arguments(name))
        return
    if importlib.util.find_spec("rclpy") is None:
        raise MissingLibraryError("rclpy")
    given = complete(name, arguments)
    check_arguments(given)
    os.environ.update(discovery_environment(given["discovery"], os.environ))
    with tempfile.TemporaryDirectory(prefix="thunder_ros_") as folder:
        sys.exit(_run(parameters_of(name, given), files_of(name, given), given, Path(folder), duration, monitor))


def arguments_of(name: str) -> dict[str, Argument]:
    """Read which arguments a system takes here."""
    return {key: value for key, value in read_arguments(name).items() if key not in NEED_A_DISTRIBUTION}


def _show_arguments(name: str) -> str:
    """List the arguments of a system with defaults, as `ros2 launch --show-args` does."""
    lines = []
    for argument in arguments_of(name).values():
        choices = f" ({', '.join(argument.choices)})" if argument.choices else ""
        lines += [f"  {argument.name}:={argument.default!r}", f"      {argument.description}{choices}"]
    return "\n".join(lines)


def complete(name: str, words: Sequence[str]) -> dict[str, str]:
    """Give every launch argument of a system its value.

    Args:
        name: Key of `ROBOTS`.
        words: Arguments, each NAME:=VALUE; those that are not given have their defaults.

    Raises:
        ThunderError: if an argument is unknown, has a bad value, or needs a ROS distribution.
    """
    table, given = read_arguments(name), {}
    for word in words:
        key, sign, value = word.partition(":=")
        if not sign or key in given:
            raise LaunchArgumentError(f"'{word}' is no argument, or its second value", valid="NAME:=VALUE, each once")
        given[key] = value
        if key not in table:
            raise LaunchArgumentError(f"no argument '{key}'", where=name, valid=", ".join(arguments_of(name)))
        if key in NEED_A_DISTRIBUTION and value not in (table[key].default, CHOSEN.get(key)):
            valid = f"ros2 launch {PACKAGE} {name}.launch.py {' '.join(words)}"
            raise LaunchArgumentError("only ros2 launch can do this", where=f"{key}:={value}", valid=valid)
        if table[key].choices and value not in table[key].choices:
            raise LaunchArgumentError(f"{key}:={value}", where=name, valid=", ".join(table[key].choices))
    return {key: CHOSEN.get(key) or given.get(key, argument.default) for key, argument in table.items()}


def _run(
    parameters: dict[str, dict[str, Any]],
    files: Sequence[Path],
    given: Mapping[str, str],
    folder: Path,
    duration: float | None,
    monitor: bool,
) -> int:
    """Build the library, then run the nodes until a signal or the end of the time; the exit status."""
    from thunder_controllers.ros.common.runtime import NodeFactory, run
    from thunder_controllers.ros.generator.build_worker import BuildProcess
    from thunder_controllers.ros.model.node import ModelNode
    from thunder_controllers.ros.reference.node import ReferenceNode
    from thunder_controllers.ros.simulation.node import make_nodes
    from thunder_controllers.ros.tools.monitor import MonitorNode

    defaults = {parameter.name: parameter.default for parameter in node_parameters("generator", names.GENERATOR)}
    build, process = parameters.pop(names.GENERATOR), BuildProcess()
    try:
        request = {**defaults, **build}
        library = process.run({**request, "reading": reading_of(request), "robot_file": build["robot"]}).path
    finally:
        process.end()
    own = folder / "parameters.yaml"
    sections = {
        f"/**/{node}": {"ros__parameters": {**values, "library": library}} for node, values in parameters.items()
    }
    own.write_text(yaml.safe_dump(sections, allow_unicode=True), encoding="utf-8")
    words = ["thunder", "--ros-args", "-r", f"__ns:=/{given['namespace'].strip('/')}"]
    words += [word for file in (*files, own) for word in ("--params-file", str(file))]
    chosen: dict[str, NodeFactory] = {names.REFERENCE: ReferenceNode, names.MODEL: ModelNode}
    factories = [make_nodes, *(factory for node, factory in chosen.items() if node in parameters)]
    if duration is not None:
        signal.setitimer(signal.ITIMER_REAL, duration)  # SIGALRM is one of the signals that stop the nodes
    return run(*factories, *([MonitorNode] if monitor else []), enclave="ros", arguments=words)
