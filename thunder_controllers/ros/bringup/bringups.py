"""The systems that this package brings up: the adaptive Panda, any adaptive robot, a generator alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.resources import PACKAGE, share
from thunder_controllers.ros.bringup.backends import (
    AUTO,
    BACKENDS,
    NODE,
    PANDA_URDF,
    PLUGIN,
    Backend,
    bringup,
    finish,
    starts_by_itself,
)
from thunder_controllers.ros.bringup.node_set import (
    FALSE,
    TRUE,
    Argument,
    Bringup,
    CommandDescription,
    LaunchArgumentError,
    NodeDescription,
    NodeSet,
    Xacro,
    own_node,
    read_list,
    read_number,
    read_switch,
)
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters

ON_OFF = (TRUE, FALSE)
NONE = "none"
MOTIONS = next(p.choices for p in node_parameters("reference", names.REFERENCE) if p.name == "type")
PANDA = f"package://{PACKAGE}/config/robots/panda.yaml"
WRONG_LAST_LINK = f"package://{PACKAGE}/config/estimates/panda_wrong_last_link.yaml"

LOCKSTEP_PATIENCE = 2.0
"""Wall time after which silence in lock-step is a fault [s]: a loaded machine must not end it."""

_LAW = Argument("law", "cartesian_backstepping", "Law to run, NAME[:option=a+b].")
_REFERENCE = Argument(
    "reference",
    AUTO,
    "Motion of the reference node; auto: lissajous or joint_lissajous, as the law wants it; none: no such node.",
    (*MOTIONS, NONE),
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
    Argument(
        "autostart",
        AUTO,
        "Activate the controller and start the motion; auto: in simulation, not on a real arm. Without it the plugin "
        "is configured only, and the node is not even that.",
        (AUTO, *ON_OFF),
    ),
    Argument("model", FALSE, "Publish M, C and G of the library too.", ON_OFF),
    Argument("use_rqt", FALSE, "Open rqt with plots of estimates and error and the parameter editor.", ON_OFF),
    Argument("use_rviz", FALSE, "Show the robot in rviz2.", ON_OFF),
    Argument("record", FALSE, "Record all topics into a bag in the working folder.", ON_OFF),
)


def _config(name: str) -> Path:
    return share(f"config/ros/{name}.yaml")


def _generator(arguments: Mapping[str, str], robot: str, extra: Mapping[str, str]) -> NodeDescription:
    parameters = {"robot": robot, "laws": [arguments["law"]], "adapted_links": read_list(arguments, "adapted_links")}
    files = (_config("generator"),)
    return own_node("generator", names.GENERATOR, "make_node", parameters={**parameters, **extra}, files=files)


def _law(arguments: Mapping[str, str]) -> str:
    return arguments["law"].partition(":")[0]


def _estimates(estimates: str) -> dict[str, Any]:
    return {"estimates_file": str(resolve_file(estimates))} if estimates else {}


def _gains(arguments: Mapping[str, str]) -> tuple[Path, ...]:
    return (resolve_file(arguments["gains"]),) if arguments["gains"] else ()


def _controller(
    arguments: Mapping[str, str], files: tuple[Path, ...], values: Mapping[str, Any], franka: bool = False
) -> NodeDescription:
    parameters: dict[str, Any] = {
        "law": _law(arguments),
        "gravity_compensated_by_robot": franka,
        "robot_interface": "franka" if franka else "generic",
    }
    if arguments["mode"] == "lockstep":
        parameters["watchdog_timeout"] = LOCKSTEP_PATIENCE
    files = (_config("controller"), *files, *_gains(arguments))
    return own_node(
        "controller", names.CONTROLLER, "AdaptiveController", parameters={**parameters, **values}, files=files
    )


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
    """Reference and model, as far as they are asked for."""
    nodes = []
    if arguments["reference"] != NONE:
        parameters = {
            "type": arguments["reference"],
            "law": _law(arguments),
            "autostart": starts_by_itself(arguments),
            "controller": names.CONTROLLER,
        }
        files = (_config("reference"), *files)
        nodes.append(own_node("reference", names.REFERENCE, "ReferenceNode", parameters=parameters, files=files))
    if read_switch(arguments, "model"):
        nodes.append(own_node("model", names.MODEL, "ModelNode", files=(_config("model"),)))
    return nodes


def _tools(
    arguments: Mapping[str, str], urdf: str
) -> tuple[tuple[NodeDescription, ...], tuple[CommandDescription, ...]]:
    """Viewers and recorder, as far as they are asked for; without `urdf` somebody publishes the description already."""
    nodes: list[NodeDescription] = []
    commands: list[CommandDescription] = []
    if read_switch(arguments, "use_rqt"):
        perspective = str(share("config/rqt/thunder.perspective"))
        rqt = ("rqt", perspective, "--namespace", arguments["namespace"])
        commands.append(CommandDescription(rqt, "ros-jazzy-rqt-common-plugins", f"{PACKAGE}.ros.tools.rqt"))
    if read_switch(arguments, "use_rviz"):
        if urdf:
            publisher = "robot_state_publisher"
            parameters = {"robot_description": Xacro(urdf)}
            nodes.append(NodeDescription(publisher, publisher, parameters, package=publisher, required=False))
        commands.append(CommandDescription(("rviz2", "-d", str(share("config/rviz/thunder.rviz"))), "ros-jazzy-rviz2"))
    if read_switch(arguments, "record"):
        commands.append(CommandDescription(("ros2", "bag", "record", "--all"), "ros-jazzy-ros2bag"))
    return tuple(nodes), tuple(commands)


def _panda_files(arguments: Mapping[str, str]) -> tuple[Path, ...]:
    """Parameters of the nodes for a Panda; gains that suit the delay of topics are known for the default law."""
    own = (_config("panda_cartesian_backstepping"),) if _law(arguments) == _LAW.default else ()
    return (_config("panda"), *own)


def _panda(arguments: Mapping[str, str]) -> NodeSet:
    name = arguments["backend"]
    if name == "mujoco":
        return _simulated_panda(arguments)
    if arguments["mode"] == "lockstep":
        raise LaunchArgumentError("only the simulation node can wait", where="mode:=lockstep", valid="backend:=mujoco")
    backend = BACKENDS[name](arguments)
    files = _panda_files(arguments)
    estimates = _estimates(_panda_estimates(arguments))
    values = {**backend.controller, **estimates}
    nodes = [*backend.nodes, _generator(arguments, PANDA, backend.generator)]
    if arguments["controller"] == NODE:
        nodes.append(_controller(arguments, files, values, franka=name == "franka"))
    plugin = {
        "law": _law(arguments),
        "gravity_compensated_by_robot": name == "franka",
        **values,
        "files": (*backend.files, *_gains(arguments)),
    }
    starter = bringup(arguments, backend, plugin)
    nodes += [*_others(arguments, files), *([starter] if starter else [])]
    tools, commands = _tools(arguments, "")
    return NodeSet(
        finish((*nodes, *tools), backend),
        (*backend.commands, *commands),
        arguments["namespace"],
        backend.needs,
        backend.before,
    )


def _simulated_panda(arguments: Mapping[str, str]) -> NodeSet:
    files = _panda_files(arguments)
    estimates = _estimates(_panda_estimates(arguments))
    nodes = [
        _generator(arguments, PANDA, {}),
        _controller(arguments, files, estimates),
        _simulation(arguments, PANDA_URDF, files),
    ]
    return _with_tools(arguments, nodes, files, PANDA_URDF)


def _panda_estimates(arguments: Mapping[str, str]) -> str:
    """Choose the estimates to start from: only a simulated arm may have ones that are known to be wrong."""
    given = arguments["estimates_file"]
    if given != "default":
        return given
    learns = arguments["backend"] != "franka" and arguments["law"] == _LAW.default
    return WRONG_LAST_LINK if learns else ""


def _robot(arguments: Mapping[str, str]) -> NodeSet:
    robot = arguments["robot"]
    if not robot:
        raise LaunchArgumentError("no robot", where="robot_adaptive", valid="robot:=FILE, URDF or xacro")
    resolve_file(robot)
    extra = {name: arguments[name] for name in ("name", "base_link", "ee_link") if arguments[name]}
    nodes = [
        _generator(arguments, robot, extra),
        _controller(arguments, (), _estimates(arguments["estimates_file"])),
        _simulation(arguments, robot, (), arguments["ee_link"]),
    ]
    return _with_tools(arguments, nodes, (), robot)


def _with_tools(
    arguments: Mapping[str, str], nodes: list[NodeDescription], files: tuple[Path, ...], urdf: str
) -> NodeSet:
    """Add to the nodes of a simulation what every system has."""
    starter = bringup(arguments, Backend(), {})
    tools, commands = _tools(arguments, urdf)
    others = [*_others(arguments, files), *([starter] if starter else []), *tools]
    return NodeSet((*nodes, *others), commands, arguments["namespace"])


def _generator_alone(arguments: Mapping[str, str]) -> NodeSet:
    extra = {name: arguments[name] for name in ("name", "base_link", "ee_link", "output") if arguments[name]}
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
            "What moves: the simulation node; MuJoCo behind ros2_control; Gazebo; a real arm by franka_ros2.",
            ("mujoco", "ros2_control", "gazebo", "franka"),
        ),
        Argument(
            "controller",
            PLUGIN,
            "What controls over ros2_control: the plugin in controller_manager, or the Python node. The backend mujoco "
            "has the node.",
            (PLUGIN, NODE),
        ),
        _LAW,
        Argument("adapted_links", "", "Links whose inertial parameters are estimated, a+b, or all; empty: the last."),
        _REFERENCE,
        Argument(
            "estimates_file",
            "default",
            "Estimates to start from; empty: those of the robot file; default: in simulation a last link of 2.5 kg "
            "that is not there, so that there is something to learn.",
        ),
        Argument(
            "robot_ip",
            "",
            "Address of a Franka's control unit; empty: its controller_manager runs already. Backend franka only.",
        ),
        Argument(
            "arm_id",
            "fr3",
            "Kind of the Franka, which its joints are named after: <arm_id>_joint1… Backend franka only.",
        ),
        Argument(
            "load",
            "",
            "Load at the flange that robot and model are told of, MASS+X+Y+Z [kg, m]; empty: none. Backend franka with "
            "robot_ip only.",
        ),
        Argument("use_gazebo_gui", FALSE, "Open Gazebo's window. Backend gazebo only.", ON_OFF),
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
