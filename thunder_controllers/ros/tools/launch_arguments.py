"""Arguments of launch files and `thunder ros`, from `launch/arguments.yaml`; what is wrong with their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import yaml
from ament_index_python import has_resource

from thunder_controllers.load import load_from_words
from thunder_controllers.package_uri import resolve_file
from thunder_controllers.resources import PACKAGE, share
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.readers.command_options import READING, Form, ReadingOption
from thunder_dynamics.storage.door import read_text

PANDA = "panda_adaptive"
"""System that has backends, and whose files the launch file knows."""

ROBOTS = {
    PANDA: (f"package://{PACKAGE}/config/robots/panda.yaml", f"package://{PACKAGE}/urdf/panda.urdf.xacro"),
    "robot_adaptive": ("", ""),
}
"""Systems: description of the model, and of the simulated arm; empty: the argument `robot` is both."""

PLUGINS = ("controller_interface__pluginlib__plugin", "hardware_interface__pluginlib__plugin")
"""Resources that this package has where it was compiled with ros2_control: its controller and its hardware."""

NEEDED = ("controller_manager", "joint_state_broadcaster", "robot_state_publisher")
"""Packages that the backend ros2_control starts."""

DISCOVERY = "ROS_AUTOMATIC_DISCOVERY_RANGE"
"""Environment variable that ROS 2 reads when a process joins: LOCALHOST, SUBNET, OFF or SYSTEM_DEFAULT."""


class LaunchArgumentError(ThunderError):
    """A launch argument is unknown, has a bad value, or asks for what is not there."""


class Argument(NamedTuple):
    """A launch argument; every value is text."""

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


def read_arguments(name: str) -> dict[str, Argument]:
    """Read the arguments of a launch file of this package, in the order of their declaration.

    Args:
        name: Of the file, without suffix.
    """
    tables = yaml.safe_load(read_text(share("launch/arguments.yaml"), LaunchArgumentError))
    table = tables[name] | (tables["every_system"] if name in ROBOTS else {})
    found = {key: Argument(key, **{**one, "choices": tuple(one.get("choices", ()))}) for key, one in table.items()}
    return found | ({} if name == PANDA else {one.ros_name: _reading_argument(one) for one in READING})


def _reading_argument(option: ReadingOption) -> Argument:
    """An option of robot files; the arm is selected unless that is asked not to be done."""
    if option.form is Form.FLAG:
        return Argument(option.ros_name, str(option.name == "arm").lower(), option.text, ("true", "false"))
    form = {Form.LIST: f" {option.metavar}, several with + between.", Form.VECTOR: " X+Y+Z."}.get(option.form, "")
    return Argument(option.ros_name, "", option.text + form)


def discovery_environment(discovery: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables to set before nodes start.

    Args:
        discovery: Value of the argument: `auto`, `localhost` or `subnet`. What is asked for by name counts; `auto`
            leaves a range that the user has set, and is this machine otherwise.
        environment: That the nodes would have.
    """
    if discovery == "auto":
        return {} if environment.get(DISCOVERY) else {DISCOVERY: "LOCALHOST"}
    return {DISCOVERY: discovery.upper()}


def choose_backend(given: Mapping[str, str]) -> str:
    """Choose what moves where the argument `backend` leaves that open, as it does by default."""
    if given["backend"] != "auto":
        return given["backend"]
    needed = [*((resource, PACKAGE) for resource in PLUGINS), *(("packages", package) for package in NEEDED)]
    is_there = given["mode"] == "realtime" and all(has_resource(*resource) for resource in needed)
    return "ros2_control" if is_there else "mujoco"


def check_arguments(given: Mapping[str, str]) -> None:
    """Make sure that arguments are sensible before anything starts; `launch` itself knows choices and no more.

    Args:
        given: Values by name, of `panda_adaptive` or `robot_adaptive`.

    Raises:
        LaunchArgumentError: if an argument has a bad value, or the backend cannot do what it asks for.
        PackageUriError: if a file does not exist.
    """
    backend = given.get("backend", "mujoco")
    if given.get("controller", "plugin") != "plugin":
        valid = "the plugin, without this argument; the controller in Python is part of backend:=mujoco"
        raise LaunchArgumentError("a choice no more", where=f"controller:={given['controller']}", valid=valid)
    if given.get("robot", "any") == "":
        raise LaunchArgumentError("no robot", where="robot_adaptive", valid="robot:=FILE")
    if not 0.0 <= numbers(given["payload"])[0] < float("inf"):
        raise LaunchArgumentError(f"payload:={given['payload']}", valid="a number, zero or more [kg]")
    for name in ("drives", "gains", "estimates_file", "robot"):
        if given.get(name, "") not in ("", "default"):
            resolve_file(given[name])
    if given["mode"] == "lockstep" and backend != "mujoco":
        raise LaunchArgumentError("only the simulation node can wait", where="mode:=lockstep", valid="backend:=mujoco")
    if backend == "franka":
        _check_franka(given)


def _check_franka(given: Mapping[str, str]) -> None:
    if float(given["payload"]) > 0.0:
        raise LaunchArgumentError("a payload is simulated only", where="backend:=franka", valid="load:=MASS+X+Y+Z")
    if given["robot_ip"] and given["arm_id"] == "panda":
        valid = "fr3; or a driver of your own, no robot_ip"
        raise LaunchArgumentError("franka_ros2 does not drive a Panda", where="arm_id:=panda", valid=valid)
    if not given["load"]:
        return
    where = f"load:={given['load']}"
    load_from_words(given["load"], where)
    if not given["robot_ip"]:
        valid = "robot_ip:=ADDRESS as well"
        raise LaunchArgumentError("the description is someone else's", where=where, valid=valid)


def numbers(text: str) -> list[float]:
    """Read numbers with + between them; what is none is NaN."""
    try:
        return [float(word) for word in text.split("+")]
    except ValueError:
        return [float("nan")]
