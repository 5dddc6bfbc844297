"""What moves: the nodes of each backend that runs on ros2_control, as data.

Every backend has a controller_manager, a joint_state_broadcaster, and either the plugin `adaptive_controller` or a
forward controller that the Python node commands. They differ in who runs the controller_manager, and on what hardware.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from thunder_controllers.resources import PACKAGE, share
from thunder_controllers.ros.bringup.node_set import (
    SIGN,
    CommandDescription,
    LaunchArgumentError,
    Need,
    NodeDescription,
    Xacro,
    own_node,
    read_number,
    read_numbers,
    read_switch,
)
from thunder_controllers.ros.bringup.start import debian_package
from thunder_controllers.ros.common import names

MANAGER = "controller_manager"
AUTO = "auto"
BROADCASTER = "joint_state_broadcaster"
FORWARD = "effort_controller"
STATE_BROADCASTER = "franka_robot_state_broadcaster"
FRANKA_STATES = ("joint_states", "franka/joint_states")
"""franka_ros2 keeps `joint_states` for arm and gripper together, at a low rate; the arm's own come at the full one."""

PLUGIN, NODE = "plugin", "node"
PLUGIN_TYPE = f"{PACKAGE}/AdaptiveController"
MANAGER_TIMEOUT = 120.0
"""For controller_manager to appear [s]: a simulation loads its robot first."""

FRANKA_ROS2 = "https://github.com/frankarobotics/franka_ros2, branch jazzy, built in this workspace"
REBUILD = f"{PACKAGE} built again with ros-jazzy-controller-interface and ros-jazzy-hardware-interface"
PANDA_URDF = f"package://{PACKAGE}/urdf/panda.urdf.xacro"
PANDA_START = "0 -0.4 0 -2.2 0 1.8 0"
"""Positions at the start of a simulation [rad]: those of config/ros/panda.yaml."""

GAZEBO_PLUGINS = "GZ_SIM_SYSTEM_PLUGIN_PATH"


@dataclass(frozen=True)
class Backend:
    """What a backend adds to the nodes that every system has."""

    nodes: tuple[NodeDescription, ...] = ()
    commands: tuple[CommandDescription, ...] = ()
    needs: tuple[Need, ...] = ()
    before: tuple[tuple[str, ...], ...] = ()
    config: str = ""
    """Name of its parameter file in config/ros2_control; empty: it has no controller_manager."""
    controller: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the controller that the robot determines."""
    generator: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the generator that the robot determines."""
    remappings: tuple[tuple[str, str], ...] = ()
    """Of every node."""
    sim_time: bool = False
    """Whether time is that of /clock."""
    load: tuple[float, ...] = ()
    """Mass and centre of mass that a Franka is told, [kg, m]; empty: none."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Parameter files of controller_manager and controllers."""
        return (control_config(self.config),) if self.config else ()


def control_config(name: str) -> Path:
    """Locate a parameter file of controller_manager and its controllers."""
    return share(f"config/ros2_control/{name}.yaml")


def ros2_control(arguments: Mapping[str, str]) -> Backend:
    """MuJoCo behind ros2_control: real time, in one process with the controllers."""
    payload = read_number(arguments, "payload", "kg")
    model = _model_file(payload)
    words = ("mjcf", str(share("urdf/panda.urdf.xacro")), "--out", str(model), "--q-start", PANDA_START)
    weight = ("--payload-mass", f"{payload:g}") if payload > 0.0 else ()
    description = Xacro(f"package://{PACKAGE}/urdf/panda.ros2_control.xacro", {"model": str(model)})
    return Backend(
        nodes=(_state_publisher(description), _manager("panda_mujoco"), spawner(BROADCASTER)),
        needs=(*_needs(arguments), Need(PACKAGE, REBUILD, "hardware_interface__pluginlib__plugin")),
        before=((*words, *weight),),
        config="panda_mujoco",
    )


def gazebo(arguments: Mapping[str, str]) -> Backend:
    """Gazebo, which runs the controller_manager in its own process, in step with its physics."""
    payload = read_number(arguments, "payload", "kg")
    values = {
        "q_start": PANDA_START,
        "controllers": str(control_config("panda_gazebo")),
        "namespace": arguments["namespace"],
        "payload_mass": f"{payload:g}",
    }
    description = Xacro(f"package://{PACKAGE}/urdf/panda.gazebo.urdf.xacro", values)
    view = CommandDescription(("gz", "sim", "-g"), debian_package("ros_gz_sim"))
    return Backend(
        nodes=(
            _state_publisher(description, use_sim_time=True),
            *_gazebo_nodes(),
            spawner(BROADCASTER),
        ),
        commands=(view,) if read_switch(arguments, "use_gazebo_gui") else (),
        needs=(*_needs(arguments), _need("gz_ros2_control")),
        config="panda_gazebo",
        sim_time=True,
    )


def franka(arguments: Mapping[str, str]) -> Backend:
    """A real arm: franka_ros2's hardware, started here, or by someone else where no `robot_ip` is given."""
    if read_number(arguments, "payload", "kg") > 0.0:
        raise LaunchArgumentError("a payload is simulated only", where="backend:=franka", valid=f"load{SIGN}MASS+X+Y+Z")
    arm, load = arguments["arm_id"], read_numbers(arguments, "load", 4)
    starts = bool(arguments["robot_ip"])
    if arm == "panda" and starts:
        raise LaunchArgumentError(
            "franka_ros2 does not drive a Panda",
            where="arm_id:=panda",
            valid="fr3; or a driver of your own, no robot_ip",
        )
    if load and not starts:
        raise LaunchArgumentError(
            "the description is someone else's",
            where=f"load{SIGN}{arguments['load']}",
            valid="robot_ip:=ADDRESS as well",
        )
    return Backend(
        nodes=_franka_nodes(arguments, load) if starts else (),
        needs=(*_needs(arguments), *_franka_needs(arguments)),
        config="panda_franka",
        controller={"robot": arm, "joints": [f"{arm}_joint{k}" for k in range(1, 8)]},
        generator={} if arm == "panda" else {"robot": "", "ee_link": f"{arm}_link8"},
        remappings=(FRANKA_STATES,),
        load=load,
    )


def spawner(*controllers: str, words: tuple[str, ...] = ()) -> NodeDescription:
    """Describe a run of controller_manager's spawner that activates controllers as soon as it can."""
    timeout = ("--controller-manager-timeout", f"{MANAGER_TIMEOUT:g}")
    return NodeDescription(
        "spawner",
        f"spawner_{controllers[0]}",
        package=MANAGER,
        arguments=(*controllers, "--controller-manager", MANAGER, *timeout, *words),
        required=False,
    )


def _for_controller(words: str) -> str:
    """Hand ROS arguments on to a controller, in one word: a `-p` that stands alone is the spawner's own."""
    return f"--controller-ros-args={words}"


def bringup(arguments: Mapping[str, str], backend: Backend, plugin: Mapping[str, Any]) -> NodeDescription | None:
    """Describe what brings the controller up: nothing with the Python node and without autostart.

    Args:
        arguments: Of the launch.
        backend: What moves.
        plugin: Parameters of the controller if it is the plugin, with the parameter files under `files`.
    """
    autostart = starts_by_itself(arguments)
    if backend.config and arguments["controller"] == PLUGIN:
        values = {key: value for key, value in plugin.items() if key != "files"} | {"type": PLUGIN_TYPE}
        parameters: dict[str, Any] = {
            "controller": names.CONTROLLER,
            "activate": autostart,
            "files": [str(path) for path in plugin["files"]],
            "values": _flow_yaml(values),
        }
        if backend.load:
            parameters["load"] = list(backend.load)
        return own_node("bringup_plugin", names.BRINGUP_PLUGIN, "make_node", parameters=parameters, required=False)
    if not autostart:
        return None
    parameters = {"controller": names.CONTROLLER}
    if backend.config:
        parameters |= {"spawn": [FORWARD], "spawn_files": [str(path) for path in backend.files]}
        joints = ",".join(backend.controller.get("joints", ()))
        if joints:
            parameters["spawn_words"] = [_for_controller(f"-p joints{SIGN}[{joints}]")]
    return own_node("bringup", names.BRINGUP, "make_node", parameters=parameters, required=False)


def starts_by_itself(arguments: Mapping[str, str]) -> bool:
    """Whether controller and motion start without being told: a real arm does not, unless that is asked for."""
    auto = arguments["autostart"] == AUTO
    return arguments.get("backend") != "franka" if auto else read_switch(arguments, "autostart")


def finish(nodes: Iterable[NodeDescription], backend: Backend) -> tuple[NodeDescription, ...]:
    """Give nodes the names of topics and the clock that the backend has.

    A controller_manager would hand what it is given on to its controllers, whose spawners name what they are to get.
    """
    return tuple(node if node.package == MANAGER else _adapted(node, backend) for node in nodes)


def _adapted(node: NodeDescription, backend: Backend) -> NodeDescription:
    follows = backend.sim_time and node.name in (names.REFERENCE, names.MODEL)
    time = {"use_sim_time": True} if follows else {}
    return replace(node, parameters={**node.parameters, **time}, remappings=(*node.remappings, *backend.remappings))


def _flow_yaml(values: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(dict(values), default_flow_style=True, allow_unicode=True, width=1000)).strip()


def _need(package: str) -> Need:
    return Need(package, debian_package(package))


def _needs(arguments: Mapping[str, str]) -> tuple[Need, ...]:
    """List what the controllers are in."""
    if arguments["controller"] == PLUGIN:
        own = Need(PACKAGE, REBUILD, "controller_interface__pluginlib__plugin")
    else:
        own = _need("forward_command_controller")
    return (_need(MANAGER), _need(BROADCASTER), own)


def _state_publisher(description: Xacro, **parameters: Any) -> NodeDescription:
    name = "robot_state_publisher"
    return NodeDescription(name, name, {"robot_description": description, **parameters}, package=name)


def _manager(config: str) -> NodeDescription:
    return NodeDescription("ros2_control_node", MANAGER, files=(control_config(config),), package=MANAGER)


def _model_file(payload: float) -> Path:
    """Choose where the MuJoCo model is written: one place for each content, so that runs do not disturb each other."""
    source = share("urdf/panda.urdf.xacro").read_bytes() + f"{payload!r}".encode()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thunder"
    return cache / "mjcf" / f"panda_{hashlib.sha256(source).hexdigest()[:16]}.xml"


def _gazebo_nodes() -> tuple[NodeDescription, ...]:
    """Describe the server with the world, what puts the robot into it, and the bridge for the time."""
    paths = [os.environ.get(name, "") for name in (GAZEBO_PLUGINS, "LD_LIBRARY_PATH")]
    server = NodeDescription(
        "gzserver",
        "gzserver",
        {"world_sdf_file": str(share("config/gazebo/panda.sdf"))},
        package="ros_gz_sim",
        environment={GAZEBO_PLUGINS: os.pathsep.join(path for path in paths if path)},
    )
    create = NodeDescription(
        "create",
        "ros_gz_sim",
        {"world": "thunder", "topic": names.ROBOT_DESCRIPTION, "name": "panda"},
        package="ros_gz_sim",
        required=False,
    )
    bridge = NodeDescription(
        "parameter_bridge",
        "ros_gz_bridge",
        package="ros_gz_bridge",
        arguments=("/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",),
    )
    return (server, create, bridge)


def _franka_needs(arguments: Mapping[str, str]) -> tuple[Need, ...]:
    """List what starts the robot, if anything does, and what talks about its mode and its load."""
    packages = ["franka_description", "franka_hardware", STATE_BROADCASTER] if arguments["robot_ip"] else []
    talks = arguments["load"] or arguments["controller"] == NODE
    return tuple(Need(package, FRANKA_ROS2) for package in (*packages, *(["franka_msgs"] if talks else [])))


def _franka_nodes(arguments: Mapping[str, str], load: tuple[float, ...]) -> tuple[NodeDescription, ...]:
    arm = arguments["arm_id"]
    values = {"robot_type": arm, "robot_ip": arguments["robot_ip"], "hand": "false"}
    if load:
        values |= {"load_mass": f"{load[0]:g}", "load_com": " ".join(f"{x:g}" for x in load[1:])}
    description = Xacro(f"package://{PACKAGE}/urdf/franka_arm.urdf.xacro", values)
    return (
        _state_publisher(description),
        _manager("panda_franka"),
        spawner(BROADCASTER, words=(_for_controller(f"-r {SIGN.join(FRANKA_STATES)}"),)),
        spawner(STATE_BROADCASTER, words=(_for_controller(f"-p robot_type{SIGN}{arm}"),)),
    )


BACKENDS = {"ros2_control": ros2_control, "gazebo": gazebo, "franka": franka}
"""By name; the backend mujoco is the node of this package and needs nothing of this."""
