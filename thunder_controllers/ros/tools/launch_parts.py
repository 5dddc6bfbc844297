"""What launch files have in common. They alone import this: `launch` and `launch_ros` come with a ROS distribution."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchLogDir, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.resources import PACKAGE, share
from thunder_controllers.ros.common.names import (
    CONTROLLER,
    GENERATOR,
    MODEL,
    REFERENCE,
    SET_LOAD,
    SIMULATION,
    WAIT_FOR_LIBRARY,
)
from thunder_controllers.ros.tools.launch_arguments import PANDA, discovery_environment, read_arguments
from thunder_controllers.ros.tools.system import files_of, given_files, parameters_of, starts_by_itself

Given = Mapping[str, str]
"""Value of each launch argument."""


def describe(setup: Callable[[Given], Sequence[Any]], name: str = "") -> LaunchDescription:
    """Describe a launch file to `ros2 launch`: the arguments of that name, and what is made of their values.

    Args:
        setup: Makes the actions.
        name: Of the file that declares the arguments; empty: the including file has declared them.
    """

    def discover(context: Any) -> list[Any]:
        chosen = discovery_environment(context.launch_configurations["discovery"], context.environment)
        return [SetEnvironmentVariable(*pair) for pair in chosen.items()]

    arguments = [
        DeclareLaunchArgument(
            argument.name,
            default_value=argument.default,
            description=argument.description,
            choices=list(argument.choices) or None,
        )
        for argument in (read_arguments(name).values() if name else ())
    ]
    actions = OpaqueFunction(function=lambda context: list(setup(context.launch_configurations)))
    return LaunchDescription([*arguments, *([OpaqueFunction(function=discover)] if name else []), actions])


def end_all(event: Any, context: Any) -> Shutdown:
    """End everything, for a process that the others cannot do without."""
    return Shutdown()


def end_if_failed(event: Any, context: Any) -> Shutdown | None:
    """End everything if a process that is to end has failed."""
    return Shutdown() if event.returncode else None


def node(given: Given, package: str, executable: str, *parameters: Any, on_exit: Any = end_all, **options: Any) -> Node:
    """Describe a node, whose end is the end of all unless `on_exit` says otherwise."""
    # An empty list has no type in ROS: it is left out.
    tables = [{k: v for k, v in p.items() if v != []} if isinstance(p, dict) else str(p) for p in parameters]
    given_options = {"namespace": given["namespace"], "parameters": tables, "output": "screen", "on_exit": on_exit}
    return Node(package=package, executable=executable, **given_options, **options)


def generator(given: Given, parameters: Mapping[str, Any]) -> Node:
    """Describe the generator."""
    return node(given, PACKAGE, "generator", parameters, name=GENERATOR)


def simulation(name: str, given: Given) -> Node:
    """Describe MuJoCo and the controller of its arm, in one process of two nodes: it is given no name."""
    nodes = parameters_of(name, given)
    return node(given, PACKAGE, "simulation", *files_of(name, given), nodes[SIMULATION] | nodes[CONTROLLER])


def backend(given: Given) -> IncludeLaunchDescription:
    """Include the launch file of the backend that is asked for."""
    file = share(f"launch/backends/{given['backend']}.launch.py")
    return IncludeLaunchDescription(PythonLaunchDescriptionSource(str(file)))


def state_publisher(given: Given, words: Sequence[str], *parameters: Any, **options: Any) -> Node:
    """Describe a robot_state_publisher with the description that xacro writes for a command line."""
    description = {"robot_description": ParameterValue(Command(["xacro ", *words]), value_type=str)}
    publisher = "robot_state_publisher"
    return node(given, publisher, publisher, *({**description, **more} for more in parameters or ({},)), **options)


def control_node(given: Given, config: str) -> Node:
    """Describe a process of controller_manager with a parameter file."""
    return node(given, "controller_manager", "ros2_control_node", config)


def spawner(given: Given, controller: str, *words: Any) -> Node:
    """Describe a run of controller_manager's spawner, which ends once the controller is loaded, or active."""
    arguments = [controller, "--controller-manager-timeout", "120", *words]
    return node(given, "controller_manager", "spawner", arguments=arguments, on_exit=end_if_failed)


def ros_argument(argument: str) -> str:
    """Word by which a spawner passes an argument on: in one word, as a `-p` that stands alone is the spawner's own."""
    return f"--controller-ros-args={argument}"


def plugin(given: Given, config: str) -> list[Any]:
    """Load the plugin in controller_manager, with its library as soon as the generator has one.

    Args:
        given: Arguments of the Panda's system.
        config: Parameter file of controller_manager and its controllers; the later files are the stronger ones.
    """
    nodes, library = parameters_of(PANDA, given), PathJoinSubstitution([LaunchLogDir(), "library.yaml"])
    found = [str(file) for file in given_files(given)]
    values = {key: str(value).lower() if value in (True, False) else value for key, value in nodes[CONTROLLER].items()}
    waits, load = nodes[WAIT_FOR_LIBRARY] | {"file": library}, nodes.get(SET_LOAD)
    words = [
        *("--switch-timeout", "20"),
        *([] if starts_by_itself(given) else ["--inactive"]),
        *(word for file in (config, *found, library) for word in ("--param-file", file)),
        *(ros_argument(f"-p {key}:={value}") for key, value in values.items()),
    ]
    return in_turn(
        node(given, PACKAGE, "wait_for_library", waits, name=WAIT_FOR_LIBRARY, on_exit=None),
        # A robot takes its load only while nothing moves it.
        *([node(given, PACKAGE, "set_load", load, name=SET_LOAD, on_exit=None)] if load else []),
        spawner(given, CONTROLLER, *words),
    )


def in_turn(*steps: Any) -> list[Any]:
    """Start each process, or list of processes, once the one before has ended well; a failure ends everything."""

    def follow(step: Any, then: Any) -> RegisterEventHandler:
        started = lambda event, _: then if event.returncode == 0 else Shutdown()  # noqa: E731
        return RegisterEventHandler(OnProcessExit(target_action=step, on_exit=started))

    return [steps[0], *(follow(step, then) for step, then in zip(steps, steps[1:], strict=False))]


def beside(name: str, given: Given, urdf: str, joint_states: str = "joint_states") -> list[Any]:
    """Describe what goes beside a controller where it is asked for; windows may be closed while the system goes on.

    Args:
        name: Of the system.
        given: Its arguments.
        urdf: Description to publish for rviz2; empty: somebody publishes one already.
        joint_states: Topic of the states.
    """
    nodes, remappings = parameters_of(name, given), [("joint_states", joint_states)]
    tools: list[Any] = []
    if motion := nodes.get(REFERENCE):
        options = {"name": REFERENCE, "remappings": remappings, "on_exit": None}
        tools.append(node(given, PACKAGE, "reference", *files_of(name, given), motion, **options))
    if MODEL in nodes:
        tools.append(node(given, PACKAGE, "model", nodes[MODEL], name=MODEL, remappings=remappings))
    commands = {
        "use_rqt": [sys.executable, "-m", "thunder_controllers.ros.tools.rqt", "--namespace", given["namespace"]],
        "use_rviz": ["rviz2", "-d", str(share("config/rviz/thunder.rviz"))],
        "record": ["ros2", "bag", "record", "--all"],
    }
    tools += [ExecuteProcess(cmd=words, output="screen") for key, words in commands.items() if given[key] == "true"]
    if given["use_rviz"] == "true" and urdf:
        tools.append(state_publisher(given, [str(resolve_file(urdf))], on_exit=None))
    return tools
