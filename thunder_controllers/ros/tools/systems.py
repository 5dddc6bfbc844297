"""The systems that `thunder ros` starts: their nodes with what each is given, as launch/<system>.launch.py has them.

These are the ones that need no ROS distribution: MuJoCo's simulation node with all that speaks to it over topics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.resources import PACKAGE, share
from thunder_controllers.ros.common import names
from thunder_controllers.ros.tools.launch_arguments import Argument, read_arguments
from thunder_controllers.ros.tools.requirements import LaunchArgumentError, check_requirements, check_robot

Values = Mapping[str, str]

NEED_A_DISTRIBUTION = (
    *("backend", "controller", "robot_ip", "arm_id", "load", "use_gazebo_gui"),
    *("use_rqt", "use_rviz", "record"),
)
"""Launch arguments that only `ros2 launch` can do something with; they keep their defaults here."""

PANDA = f"package://{PACKAGE}/config/robots/panda.yaml"
PANDA_URDF = f"package://{PACKAGE}/urdf/panda.urdf.xacro"
WRONG_LAST_LINK = f"package://{PACKAGE}/config/estimates/panda_wrong_last_link.yaml"
PANDA_LAW = "cartesian_backstepping:profile=topics"
"""Law that the wrong estimates are for."""


@dataclass(frozen=True)
class NodeEntry:
    """A node to start."""

    module: str
    """Below thunder_controllers.ros."""
    factory: str
    """In that module: makes the node in a process that it shares."""
    name: str
    parameters: Mapping[str, Any]
    """Values that the arguments determine; stronger than those in `files`. Empty lists are left out."""
    files: tuple[Path, ...] = ()
    """ROS parameter files, later ones stronger."""
    required: bool = True
    """If it ends, everything ends; others may end by themselves, but only with status 0 unless they may fail."""
    may_fail: bool = False
    """Its end, however it comes, is the end of nothing else."""
    ends_first: bool = False
    """It is ended before the others, which go on meanwhile."""


def panda_adaptive(given: Values) -> list[NodeEntry]:
    """List the nodes of launch/panda_adaptive.launch.py with its backend mujoco."""
    files = [_config("panda")]
    estimates = given["estimates_file"]
    if estimates == "default":
        estimates = WRONG_LAST_LINK if given["law"] == PANDA_LAW else ""
    return [_generator(given, robot=PANDA), *_simulated(given, PANDA_URDF, "", files, estimates)]


def robot_adaptive(given: Values) -> list[NodeEntry]:
    """List the nodes of launch/robot_adaptive.launch.py."""
    check_robot(given["robot"])
    simulated = _simulated(given, given["robot"], given["ee_link"], [], given["estimates_file"])
    return [_generator(given, **{name: given[name] for name in ("robot", "name", "base_link", "ee_link")}), *simulated]


def generator(given: Values) -> list[NodeEntry]:
    """List the node of launch/generator.launch.py."""
    return [_generator(given, **{name: given[name] for name in ("robot", "name", "base_link", "ee_link")})]


SYSTEMS: Mapping[str, Callable[[Values], list[NodeEntry]]] = {
    "panda_adaptive": panda_adaptive,
    "robot_adaptive": robot_adaptive,
    "generator": generator,
}

MONITOR = NodeEntry("tools.monitor", "MonitorNode", names.MONITOR, {}, ends_first=True)


def arguments_of(name: str) -> dict[str, Argument]:
    """Read which arguments a system takes here."""
    return {key: value for key, value in read_arguments(name).items() if key not in NEED_A_DISTRIBUTION}


def complete(name: str, words: Sequence[str]) -> dict[str, str]:
    """Give every launch argument of a system its value.

    Args:
        name: Key of `SYSTEMS`.
        words: Arguments, each NAME:=VALUE; those that are not given have their defaults.

    Raises:
        ThunderError: if an argument is unknown, has a bad value, or needs a ROS distribution.
    """
    table, given = read_arguments(name), _parse(words)
    for key, value in given.items():
        if key not in table:
            raise LaunchArgumentError(f"no argument '{key}'", where=name, valid=", ".join(arguments_of(name)))
        if key in NEED_A_DISTRIBUTION and value != table[key].default:
            valid = f"ros2 launch {PACKAGE} {name}.launch.py {' '.join(words)}"
            raise LaunchArgumentError("only ros2 launch can do this", where=f"{key}:={value}", valid=valid)
        if table[key].choices and value not in table[key].choices:
            raise LaunchArgumentError(f"{key}:={value}", where=name, valid=", ".join(table[key].choices))
    return {key: given.get(key, argument.default) for key, argument in table.items()}


def _parse(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition(":=")
        if not name or not sign:
            raise LaunchArgumentError(f"'{word}' is no argument", valid="NAME:=VALUE")
        if name in given:
            raise LaunchArgumentError(f"argument '{name}' is given twice", valid="each argument once")
        given[name] = value
    return given


def _generator(given: Values, **texts: str) -> NodeEntry:
    links = [link for link in given["adapted_links"].split("+") if link]
    none = dict.fromkeys(("name", "base_link", "ee_link"), "")
    parameters = {**none, **texts, "output": given["output"], "laws": [given["law"]], "adapted_links": links}
    return NodeEntry("generator.node", "make_node", names.GENERATOR, parameters)


def _simulated(given: Values, urdf: str, ee_link: str, files: list[Path], estimates: str) -> list[NodeEntry]:
    """List what every simulated robot has beside the generator."""
    check_requirements(given)
    own = tuple(files) if given["mode"] == "realtime" else (*files, _config("lockstep"))
    gains = (resolve_file(given["gains"]),) if given["gains"] else ()
    payload, starts = float(given["payload"]), given["autostart"] != "false"
    plant = {"urdf": urdf, "ee_link": ee_link, "mode": given["mode"], "gravity_compensation": False}
    plant |= {"payload.attached": True, "payload.mass": payload} if payload > 0.0 else {"payload.attached": False}
    folders = {"library_folders": [given["output"]] if given["output"] else []}
    control = {"law": _law(given), "gravity_compensated_by_robot": False, "robot_interface": "generic"} | folders
    control |= {"estimates_file": str(resolve_file(estimates))} if estimates else {}
    control["autostart"] = starts and given["reference"] == "auto"
    motion = {"type": given["reference"].replace("stream", "auto"), "law": _law(given), "autostart": starts, **folders}
    nodes = [
        NodeEntry("simulation.node", "SimulationNode", names.SIMULATION, plant, (*own, *gains)),
        NodeEntry("controller.node", "AdaptiveController", names.CONTROLLER, control, (*own, *gains), ends_first=True),
    ]
    if given["reference"] not in ("auto", "none"):
        stream = NodeEntry("reference.node", "ReferenceNode", names.REFERENCE, motion, tuple(files), may_fail=True)
        nodes.append(stream)
    if given["model"] == "true":
        nodes.append(NodeEntry("model.node", "ModelNode", names.MODEL, folders))
    if starts:
        nodes.append(
            NodeEntry("bringup.node", "make_node", names.BRINGUP, {"goal": "active", **folders}, required=False)
        )
    return nodes


def _law(given: Values) -> str:
    return given["law"].partition(":")[0]


def _config(name: str) -> Path:
    return share(f"config/ros/{name}.yaml")
