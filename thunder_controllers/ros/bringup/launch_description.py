"""Makes a launch description of a bring-up; launch files import it, and nothing else imports launch or launch_ros."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ament_index_python import PackageNotFoundError, get_package_prefix
from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, EmitEvent, ExecuteProcess, OpaqueFunction
from launch.events import Shutdown
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from thunder_controllers.ros.bringup.bringups import BRINGUPS
from thunder_controllers.ros.bringup.node_set import Bringup, NodeDescription, ros_parameters
from thunder_controllers.ros.bringup.start import node_parameters, prepare


def describe(name: str) -> LaunchDescription:
    """Describe a bring-up: its arguments, and the nodes that their values ask for.

    Args:
        name: Key of `BRINGUPS`.
    """
    bringup = BRINGUPS[name]
    arguments = [
        DeclareLaunchArgument(a.name, default_value=a.default, description=a.description, choices=a.choices or None)
        for a in bringup.arguments
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=_actions, args=[bringup])])


def _actions(context: LaunchContext, bringup: Bringup) -> list[Action]:
    """Make the actions once the values of the arguments are known."""
    given = {a.name: LaunchConfiguration(a.name).perform(context) for a in bringup.arguments}
    nodes = bringup.node_set(given)
    prepare(nodes)
    actions = [_node(node, nodes.namespace) for node in nodes.nodes]
    commands = [ExecuteProcess(cmd=list(command.words), output="screen") for command in nodes.commands]
    return [*actions, *commands]


def _node(node: NodeDescription, namespace: str) -> Node:
    parameters: list[Any] = [str(path) for path in node.files]
    own = ros_parameters(node_parameters(node))
    if own:
        parameters.append({name: _as_text(value) for name, value in own.items()})
    program, words = _program(node)
    return Node(
        **program,
        arguments=[*words, *node.arguments],
        name=node.name if node.module else None,
        namespace=namespace,
        parameters=parameters,
        remappings=list(node.remappings),
        additional_env=dict(node.environment),
        output="screen",
        emulate_tty=False,
        on_exit=_on_exit(node),
    )


def _as_text(value: Any) -> Any:
    """Keep launch_ros from reading text as YAML."""
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value


def _program(node: NodeDescription) -> tuple[dict[str, Any], list[str]]:
    """Choose the installed executable, which knows its interpreter; without one, this interpreter and the module."""
    if not node.module or _is_installed(node):
        return {"package": node.package, "executable": node.executable}, []
    return {"executable": sys.executable}, ["-m", node.module]


def _is_installed(node: NodeDescription) -> bool:
    try:
        prefix = Path(get_package_prefix(node.package))
    except (PackageNotFoundError, OSError, ValueError):  # OSError: no AMENT_PREFIX_PATH
        return False
    return (prefix / "lib" / node.package / node.executable).is_file()


def _on_exit(node: NodeDescription) -> Callable[[ProcessExited, LaunchContext], list[Action] | None]:
    """End everything if a required node ends, or another one with an error."""

    def act(event: ProcessExited, context: LaunchContext) -> list[Action] | None:
        if context.is_shutdown or not (node.required or event.returncode != 0):
            return None
        reason = f"{node.name} ended with status {event.returncode}"
        return [EmitEvent(event=Shutdown(reason=reason))]

    return act
