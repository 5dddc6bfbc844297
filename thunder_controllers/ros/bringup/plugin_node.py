"""Brings the ros2_control plugin up: waits for a library, tells a Franka its load, runs the spawner, and is done."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rclpy.node import Node
from std_msgs.msg import String

from thunder_controllers.ros.bringup.node import PERIOD, Done, end_process, end_process_on_failure
from thunder_controllers.ros.bringup.spawner import Spawner, SpawnerError, write_parameters
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.library_message import LibraryMessageError, parse_library_message
from thunder_controllers.ros.common.parameters import DeclaredParameters, ParameterError
from thunder_controllers.ros.common.qos import LATCHED
from thunder_controllers.ros.common.runtime import run
from thunder_controllers.ros.franka.services import STEADY, SettingClient, load_request
from thunder_dynamics.inertia import Inertia

LOAD_TIMEOUT = 5.0
"""For the robot's answer to SetLoad [s]."""


class BringupPluginNode(Node):
    """Gives the plugin its parameters and its library, and lets controller_manager's spawner load it.

    Args:
        done: Called once, in the thread that spins: with None after success, else with the reason.

    Raises:
        ParameterError: if `values` is no YAML mapping, or `load` is neither empty nor four numbers with a mass.
    """

    def __init__(self, done: Done) -> None:
        super().__init__(names.BRINGUP_PLUGIN)
        self._given = DeclaredParameters(self)
        self._given.declare(node_parameters("bringup", names.BRINGUP_PLUGIN))
        self._done = done
        self._values = _parse_values(self._given["values"])
        self._load = _parse_load(self._given["load"])
        self._folder = tempfile.TemporaryDirectory(prefix="thunder_bringup_")
        self._spawner: Spawner | None = None
        self._service: SettingClient | None = None
        self._next: Callable[[], None] | None = None
        self._waiting_for = "a library"
        self._start = STEADY.now()
        self._timer = self.create_timer(PERIOD, self._advance, clock=STEADY)
        if self._given["wait_for_library"]:
            self.create_subscription(String, self._given["library_topic"], self._on_library, LATCHED)
        else:
            self._next = self._find_robot

    def destroy_node(self) -> None:
        """End the spawner, too, if it still runs."""
        if self._spawner is not None:
            self._spawner.stop()
        self._folder.cleanup()
        super().destroy_node()

    def _on_library(self, message: String) -> None:
        """Take the first library that is announced; later ones are for the next start."""
        if "library" in self._values:
            return
        try:
            self._values["library"] = parse_library_message(message.data).library
        except LibraryMessageError as error:
            self._end(str(error))
            return
        self._next = self._find_robot

    def _advance(self) -> None:
        """Do what is next, once the time has come."""
        if (STEADY.now() - self._start).nanoseconds * 1e-9 > self._given["timeout"]:
            self._end(f"still waiting for {self._waiting_for} after {self._given['timeout']:g} s")
        elif self._next is not None:
            self._next()

    def _find_robot(self) -> None:
        """Look for the robot's settings, if it is to be told a load."""
        if self._load is None:
            self._spawn()
            return
        try:
            from franka_msgs.srv import SetLoad
        except ImportError:
            self._end("a load needs franka_msgs, which is not installed; valid: a workspace with franka_ros2")
            return
        name = "service_server/set_load"
        self._waiting_for = f"the service {name}"
        self._service = SettingClient(self, SetLoad, name, LOAD_TIMEOUT)
        self._next = self._set_load

    def _set_load(self) -> None:
        """Tell the robot its load, which it accepts only while no controller moves it."""
        service, load = self._service, self._load
        if service is None or load is None or not service.is_there:
            return
        self._next = None
        self._waiting_for = "the robot's answer"
        service.request(lambda request: load_request(request, load), self._on_load_set)

    def _on_load_set(self, reason: str | None) -> None:
        if reason is None:
            self._next = self._spawn
        else:
            self._end(f"the load was not set: {reason}")

    def _spawn(self) -> None:
        controller = self._given["controller"]
        path = write_parameters(Path(self._folder.name) / f"{controller}.yaml", controller, self._values)
        try:
            self._spawner = Spawner(
                [controller],
                manager=self._given["controller_manager"],
                namespace=self.get_namespace(),
                timeout=self._given["timeout"],
                activate=self._given["activate"],
                files=[*self._given["files"], str(path)],
            )
        except SpawnerError as error:
            self._end(str(error))
            return
        self._waiting_for = "the spawner"
        self._next = self._watch_spawner

    def _watch_spawner(self) -> None:
        status = None if self._spawner is None else self._spawner.poll()
        if status is not None:
            self._end(None if status == 0 else f"the spawner ended with status {status}; its log says why")

    def _end(self, reason: str | None) -> None:
        self._timer.cancel()
        if reason is None:
            state = "active" if self._given["activate"] else "configured"
            self.get_logger().info(f"the controller is {state}")
        else:
            self.get_logger().fatal(reason)
        self._done(reason)


def _parse_values(text: str) -> dict[str, Any]:
    try:
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ParameterError(
            f"no YAML: {' '.join(str(error).split())}", where="values", valid="{name: value}"
        ) from None
    if not isinstance(values, Mapping):
        raise ParameterError(f"'{text}' is no mapping", where="values", valid="{name: value}")
    return {str(name): value for name, value in values.items()}


def _parse_load(numbers: tuple[float, ...]) -> Inertia | None:
    """Read mass [kg] and centre of mass in the flange frame [m] of a load without extent; None for no numbers."""
    if not numbers:
        return None
    if len(numbers) != 4 or numbers[0] <= 0.0:
        raise ParameterError(f"{list(numbers)} is no load", where="load", valid="mass above zero, x, y, z")
    return Inertia(numbers[0], np.array(numbers[1:]), np.zeros((3, 3)))


def make_node() -> BringupPluginNode:
    """Make the node for a process that it shares: failure ends the process, success leaves it alone."""
    return BringupPluginNode(end_process_on_failure)


def main() -> None:
    """Run the program: exit status 0 once the controller is up, 1 if that fails."""
    sys.exit(run(_make_ending))


def _make_ending() -> BringupPluginNode:
    return BringupPluginNode(end_process)


if __name__ == "__main__":
    main()
