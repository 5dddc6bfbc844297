"""What a system may be asked for and what must be installed for it; every refusal is one line with its remedy.

The launch files check this before anything starts, and so does `thunder ros`.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.resources import PACKAGE
from thunder_dynamics.errors import ThunderError

APT = "ros-jazzy-"
"""What names of Debian packages of ROS 2 Jazzy begin with."""

FRANKA_ROS2 = "https://github.com/frankarobotics/franka_ros2, branch jazzy, built in this workspace"
FRANKA_ARM = ("franka_description", "franka_hardware", "franka_robot_state_broadcaster")
REBUILD = f"{PACKAGE} built again with {APT}controller-interface and {APT}hardware-interface"
CONTROLLERS, HARDWARE = "controller_interface__pluginlib__plugin", "hardware_interface__pluginlib__plugin"
PROGRAM = ""


class LaunchArgumentError(ThunderError):
    """A launch argument is unknown, has a bad value, or asks for what is not there."""


class NotInstalledError(ThunderError):
    """Something that a system needs is not installed; names all of it, and what brings it."""


@dataclass(frozen=True)
class Need:
    """Something of another package that a system cannot do without."""

    name: str
    """In the ament index, or on the PATH."""
    origin: str
    """Where it comes from: a Debian package, or a place to build it from."""
    resource: str = "packages"
    """Kind of the entry in the ament index; a plugin is one, too; `PROGRAM`: it is a program."""

    @property
    def is_met(self) -> bool:
        """Whether it is installed."""
        if self.resource == PROGRAM:
            return shutil.which(self.name) is not None
        try:
            from ament_index_python import has_resource

            return bool(has_resource(self.resource, self.name))
        except (ImportError, OSError, ValueError):  # OSError: no AMENT_PREFIX_PATH
            return False

    def __str__(self) -> str:
        kind = self.resource.partition("__")[0]
        return self.name if self.resource in ("packages", PROGRAM) else f"{self.name} with {kind}"


XACRO = Need("xacro", f"{APT}xacro", PROGRAM)
TOOLS = {
    "use_rqt": Need("rqt", f"{APT}rqt-common-plugins", PROGRAM),
    "use_rviz": Need("rviz2", f"{APT}rviz2", PROGRAM),
    "record": Need("ros2", f"{APT}ros2bag", PROGRAM),
}
"""Programs, by the argument that asks for them."""


def check_requirements(given: Mapping[str, str]) -> None:
    """Make sure that the arguments of a system are sensible and that all is installed that they ask for.

    Args:
        given: Value of every launch argument by name; tools that are not named are not wanted.

    Raises:
        LaunchArgumentError: if an argument has a bad value, or the backend cannot do what it asks for.
        PackageUriError: if a file does not exist.
        NotInstalledError: names everything that is missing.
    """
    _check_values(given)
    if given.get("backend") == "franka":
        _check_franka(given)
    missing = [need for need in _needs(given) if not need.is_met]
    if missing:
        names = ", ".join(dict.fromkeys(str(need) for need in missing))
        raise NotInstalledError(f"not installed: {names}", valid=_remedy([need.origin for need in missing]))


def check_robot(robot: str) -> None:
    """Make sure that there is a description to simulate.

    Raises:
        LaunchArgumentError: if none is given.
        PackageUriError: if the file does not exist.
    """
    if not robot:
        raise LaunchArgumentError("no robot", where="robot_adaptive", valid="robot:=FILE, URDF or xacro")
    resolve_file(robot)


def _check_values(given: Mapping[str, str]) -> None:
    try:
        payload = float(given["payload"])
    except ValueError:
        payload = -1.0
    if not 0.0 <= payload < float("inf"):
        raise LaunchArgumentError(f"payload:={given['payload']}", valid="a number, zero or more [kg]")
    for name in ("gains", "estimates_file"):
        if given[name] not in ("", "default"):
            resolve_file(given[name])
    if given["mode"] == "lockstep" and given.get("backend", "mujoco") != "mujoco":
        raise LaunchArgumentError("only the simulation node can wait", where="mode:=lockstep", valid="backend:=mujoco")


def _check_franka(given: Mapping[str, str]) -> None:
    if float(given["payload"]) > 0.0:
        raise LaunchArgumentError("a payload is simulated only", where="backend:=franka", valid="load:=MASS+X+Y+Z")
    if given["robot_ip"] and given["arm_id"] == "panda":
        valid = "fr3; or a driver of your own, no robot_ip"
        raise LaunchArgumentError("franka_ros2 does not drive a Panda", where="arm_id:=panda", valid=valid)
    if not given["load"]:
        return
    try:
        load = [float(word) for word in given["load"].split("+")]
    except ValueError:
        load = []
    where = f"load:={given['load']}"
    if len(load) != 4 or not load[0] > 0.0 or not all(abs(number) < 1e3 for number in load):
        raise LaunchArgumentError("no load", where=where, valid="4 numbers a+b+…, the first positive")
    if not given["robot_ip"]:
        valid = "robot_ip:=ADDRESS as well"
        raise LaunchArgumentError("the description is someone else's", where=where, valid=valid)


def _needs(given: Mapping[str, str]) -> list[Need]:
    """List what a system needs beside this package, which has no other needs with the backend mujoco."""
    backend, is_plugin = given.get("backend", "mujoco"), given.get("controller") == "plugin"
    is_managed, is_franka = backend != "mujoco", backend == "franka"
    is_described = (not is_franka or given["robot_ip"]) if is_managed else given.get("use_rviz") == "true"
    has_window = given.get("use_gazebo_gui") == "true"
    table = (
        (is_described, [*_packaged("robot_state_publisher"), XACRO]),
        (is_managed, _packaged("controller_manager", "joint_state_broadcaster")),
        (is_managed and is_plugin, [Need(PACKAGE, REBUILD, CONTROLLERS)]),
        (is_managed and not is_plugin, _packaged("forward_command_controller")),
        (backend == "ros2_control", [Need(PACKAGE, REBUILD, HARDWARE)]),
        (backend == "gazebo", _packaged("ros_gz_sim", "ros_gz_bridge", "gz_ros2_control")),
        (backend == "gazebo" and has_window, [Need("gz", f"{APT}ros-gz-sim", PROGRAM)]),
        (is_franka and given["robot_ip"], [Need(name, FRANKA_ROS2) for name in FRANKA_ARM]),
        (is_franka and (given["load"] or not is_plugin), [Need("franka_msgs", FRANKA_ROS2)]),
        *((given.get(name) == "true", [tool]) for name, tool in TOOLS.items()),
    )
    return [need for is_wanted, needs in table if is_wanted for need in needs]


def _packaged(*packages: str) -> list[Need]:
    return [Need(package, APT + package.replace("_", "-")) for package in packages]


def _remedy(origins: list[str]) -> str:
    """Say what to install: one apt command for what is packaged, then the rest."""
    packages = dict.fromkeys(origin for origin in origins if origin.startswith(APT))
    others = dict.fromkeys(origin for origin in origins if not origin.startswith(APT))
    command = [f"sudo apt install {' '.join(packages)}"] if packages else []
    return "; ".join([*command, *others])
