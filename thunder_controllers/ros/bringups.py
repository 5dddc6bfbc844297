"""The systems that this package brings up: the adaptive Panda, any adaptive robot, a generator alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from thunder_controllers.resources import PACKAGE, share
from thunder_controllers.ros import names
from thunder_controllers.ros.node_set import (
    FALSE,
    TRUE,
    Argument,
    Bringup,
    CommandDescription,
    LaunchArgumentError,
    NodeDescription,
    NodeSet,
    own_node,
    read_list,
    read_number,
    read_switch,
)
from thunder_controllers.ros.package_uri import resolve_file

ON_OFF = (TRUE, FALSE)
NONE = "none"
PANDA = f"package://{PACKAGE}/config/robots/panda.yaml"
PANDA_URDF = f"package://{PACKAGE}/urdf/panda.urdf.xacro"
WRONG_LAST_LINK = f"package://{PACKAGE}/config/estimates/panda_wrong_last_link.yaml"

LOCKSTEP_PATIENCE = 2.0
"""Wall time after which silence in lock-step is a fault [s]: a loaded machine must not end it."""

_LAW = Argument("law", "cartesian_backstepping", "Law to run, NAME[:option=a+b].")
_REFERENCE = Argument(
    "reference",
    "lissajous",
    "Motion of the reference node; none: no such node.",
    ("lissajous", "pose_to_pose", "excitation", "hold", NONE),
)
_COMMON = (
    Argument("payload", "0", "Mass at the end effector that the controller does not know of, simulation only [kg]."),
    Argument("gains", "", "ROS parameter file for the controller: its gains, above those of the defaults."),
    Argument("namespace", "", "Namespace of all nodes."),
    Argument(
        "mode",
        "realtime",
        "Simulated time keeps pace with real time, or waits for the commands.",
        ("realtime", "lockstep"),
    ),
    Argument("autostart", TRUE, "Configure and activate the controller, and start the motion.", ON_OFF),
    Argument("model", FALSE, "Publish M, C and G of the library too.", ON_OFF),
    Argument("use_rqt", FALSE, "Open rqt with plots of estimates and error and the parameter editor.", ON_OFF),
    Argument("use_rviz", FALSE, "Show the robot in rviz2.", ON_OFF),
    Argument("record", FALSE, "Record all topics into a bag in the working folder.", ON_OFF),
)


def _config(name: str) -> Path:
    return share(f"config/ros/{name}.yaml")


def _generator(arguments: Mapping[str, str], robot: str, extra: Mapping[str, str]) -> NodeDescription:
    parameters = {"robot": robot, "laws": [arguments["law"]], "adapted_links": read_list(arguments, "adapted_links")}
    given = {name: value for name, value in extra.items() if value}
    files = (_config("generator"),)
    return own_node("generator", names.GENERATOR, "make_node", parameters={**parameters, **given}, files=files)


def _controller(arguments: Mapping[str, str], files: tuple[Path, ...], franka: bool, estimates: str) -> NodeDescription:
    parameters = {
        "law": arguments["law"].partition(":")[0],
        "gravity_compensated_by_robot": franka,
        "robot_interface": "franka" if franka else "generic",
    }
    if arguments["mode"] == "lockstep":
        parameters["watchdog_timeout"] = LOCKSTEP_PATIENCE
    if estimates:
        parameters["estimates_file"] = str(resolve_file(estimates))
    gains = (resolve_file(arguments["gains"]),) if arguments["gains"] else ()
    files = (_config("controller"), *files, *gains)
    return own_node("controller", names.CONTROLLER, "AdaptiveController", parameters=parameters, files=files)


def _simulation(arguments: Mapping[str, str], urdf: str, files: tuple[Path, ...], ee_link: str = "") -> NodeDescription:
    payload = read_number(arguments, "payload", "kg")
    parameters = {"urdf": urdf, "mode": arguments["mode"], "ee_link": ee_link, "gravity_compensation": False}
    if arguments["mode"] == "lockstep":
        parameters["lockstep_timeout"] = 1.5 * LOCKSTEP_PATIENCE
    if payload > 0.0:
        parameters |= {"payload.attached": True, "payload.mass": payload}
    files = (_config("simulation"), *files)
    return own_node("simulation", names.SIMULATION, "SimulationNode", parameters=parameters, files=files)


def _others(arguments: Mapping[str, str], files: tuple[Path, ...]) -> list[NodeDescription]:
    """Reference, model and bring-up, as far as they are asked for."""
    nodes = []
    autostart = read_switch(arguments, "autostart")
    if arguments["reference"] != NONE:
        parameters = {"type": arguments["reference"], "autostart": autostart, "controller": names.CONTROLLER}
        files = (_config("reference"), *files)
        nodes.append(own_node("reference", names.REFERENCE, "ReferenceNode", parameters=parameters, files=files))
    if read_switch(arguments, "model"):
        nodes.append(own_node("model", names.MODEL, "ModelNode", files=(_config("model"),)))
    if autostart:
        parameters = {"controller": names.CONTROLLER}
        nodes.append(own_node("bringup", names.BRINGUP, "make_node", parameters=parameters, required=False))
    return nodes


def _tools(
    arguments: Mapping[str, str], urdf: str
) -> tuple[tuple[NodeDescription, ...], tuple[CommandDescription, ...]]:
    """Viewers and recorder, as far as they are asked for."""
    nodes: list[NodeDescription] = []
    commands: list[CommandDescription] = []
    if read_switch(arguments, "use_rqt"):
        perspective = str(share("config/rqt/thunder.perspective"))
        commands.append(CommandDescription(("rqt", "--perspective-file", perspective), "ros-jazzy-rqt-common-plugins"))
    if read_switch(arguments, "use_rviz"):
        parameters = {"robot_description": _urdf_text(urdf)}
        publisher = "robot_state_publisher"
        nodes.append(NodeDescription(publisher, publisher, parameters, package=publisher, required=False))
        commands.append(CommandDescription(("rviz2", "-d", str(share("config/rviz/thunder.rviz"))), "ros-jazzy-rviz2"))
    if read_switch(arguments, "record"):
        commands.append(CommandDescription(("ros2", "bag", "record", "--all"), "ros-jazzy-ros2bag"))
    return tuple(nodes), tuple(commands)


def _urdf_text(urdf: str) -> str:
    """Read a URDF, or expand a xacro file."""
    from thunder_dynamics.readers.xacro import expand_xacro

    path = resolve_file(urdf)
    return expand_xacro(path, {}) if path.suffix == ".xacro" else path.read_text(encoding="utf-8")


def _panda(arguments: Mapping[str, str]) -> NodeSet:
    backend = arguments["backend"]
    if backend == "gazebo":
        raise LaunchArgumentError(
            "the backend gazebo needs the ros2_control plugin, which this version does not have",
            where="backend:=gazebo",
            valid="mujoco; franka, beside a running franka_ros2",
        )
    simulated = backend == "mujoco"
    files = (_config("panda"),)
    estimates = arguments["estimates_file"]
    if estimates == "default":
        # Only a simulated arm may start from estimates that are known to be wrong.
        estimates = WRONG_LAST_LINK if simulated and arguments["law"] == _LAW.default else ""
    nodes = [_generator(arguments, PANDA, {}), _controller(arguments, files, not simulated, estimates)]
    if simulated:
        nodes.append(_simulation(arguments, PANDA_URDF, files))
    tools, commands = _tools(arguments, PANDA_URDF)
    return NodeSet((*nodes, *_others(arguments, files), *tools), commands, arguments["namespace"])


def _robot(arguments: Mapping[str, str]) -> NodeSet:
    robot = arguments["robot"]
    if not robot:
        raise LaunchArgumentError("no robot", where="robot_adaptive", valid="robot:=FILE, URDF or xacro")
    resolve_file(robot)
    extra = {name: arguments[name] for name in ("name", "base_link", "ee_link")}
    nodes = [
        _generator(arguments, robot, extra),
        _controller(arguments, (), False, arguments["estimates_file"]),
        _simulation(arguments, robot, (), arguments["ee_link"]),
    ]
    tools, commands = _tools(arguments, robot)
    return NodeSet((*nodes, *_others(arguments, ()), *tools), commands, arguments["namespace"])


def _generator_alone(arguments: Mapping[str, str]) -> NodeSet:
    extra = {name: arguments[name] for name in ("name", "base_link", "ee_link", "output")}
    node = _generator(arguments, arguments["robot"], extra)
    return NodeSet((node,), (), arguments["namespace"])


_ROBOT_NAMES = (
    Argument("name", "", "Name of the robot, a C identifier; empty: the file's or the description's."),
    Argument("base_link", "", "Link of a URDF that is the base; empty: its root."),
    Argument("ee_link", "", "Link of a URDF that is the end effector; empty: its only leaf."),
)

PANDA_ADAPTIVE = Bringup(
    "panda_adaptive",
    "An adaptive Panda: generator, simulation, controller and reference.",
    (
        Argument(
            "backend",
            "mujoco",
            "What moves: a simulation, or a real arm beside a running franka_ros2 (effort commands).",
            ("mujoco", "gazebo", "franka"),
        ),
        _LAW,
        Argument("adapted_links", "panda_link7", "Links whose inertial parameters are estimated, a+b, or all."),
        _REFERENCE,
        Argument(
            "estimates_file",
            "default",
            "Estimates to start from; empty: those of the robot file; default: in simulation a last link of 2.5 kg "
            "that is not there, so that there is something to learn.",
        ),
        *_COMMON,
    ),
    _panda,
)

ROBOT_ADAPTIVE = Bringup(
    "robot_adaptive",
    "Any adaptive robot in simulation, from its URDF.",
    (
        Argument("robot", "", "URDF or xacro: path or package:// URI."),
        *_ROBOT_NAMES,
        _LAW,
        Argument("adapted_links", "", "Links whose inertial parameters are estimated, a+b, or all; empty: the last."),
        _REFERENCE,
        Argument("estimates_file", "", "Estimates to start from; empty: those of the robot file."),
        *_COMMON,
    ),
    _robot,
)

GENERATOR_ALONE = Bringup(
    "generator",
    "The generator alone: builds a library and says where it is.",
    (
        Argument("robot", "", "YAML, URDF or xacro: path or package:// URI; empty: the topic robot_description."),
        *_ROBOT_NAMES,
        _LAW,
        Argument("adapted_links", "", "Links whose inertial parameters are estimated, a+b, or all; empty: the last."),
        Argument("output", "", "Folder to write to; empty: the cache."),
        Argument("namespace", "", "Namespace of the node."),
    ),
    _generator_alone,
)

BRINGUPS = {bringup.name: bringup for bringup in (PANDA_ADAPTIVE, ROBOT_ADAPTIVE, GENERATOR_ALONE)}
"""All of them by name."""
