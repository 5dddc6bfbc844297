"""Tells a Franka its load with SetLoad, which it accepts only while no controller moves it, and ends."""

from __future__ import annotations

import sys
from typing import NoReturn

import numpy as np
from rclpy.node import Node
from rclpy.task import Future

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.parameters import DeclaredParameters, ParameterError
from thunder_controllers.ros.common.runtime import EXIT_FAILURE, EXIT_SUCCESS, STEADY, run
from thunder_controllers.ros.franka.services import SettingClient, import_franka_msgs, load_request
from thunder_dynamics.inertia import Inertia

SERVICE = "service_server/set_load"
"""Of franka_hardware."""

PERIOD = 0.1
"""Between two looks at what is there [s]."""

ANSWER_TIMEOUT = 5.0
"""For the robot's answer [s]."""


class SetLoadNode(Node):
    """Asks the robot once, as soon as its service is there.

    Raises:
        ParameterError: if `load` is not four numbers with a mass.
        FrankaError: if franka_msgs is not installed.
        SystemExit: while it spins: 0 once the robot has its load, 1 if it refuses or takes too long.
    """

    def __init__(self) -> None:
        super().__init__(names.SET_LOAD)
        given = DeclaredParameters(self)
        given.declare(node_parameters("franka", names.SET_LOAD))
        self._load = _parse_load(given["load"])
        self._timeout = given["timeout"]
        _, services = import_franka_msgs("load", "start without a load")
        self._service = SettingClient(self, services.SetLoad, SERVICE, ANSWER_TIMEOUT)
        self._asks = self.create_timer(PERIOD, self._ask, clock=STEADY)
        self.create_timer(self._timeout, self._give_up, clock=STEADY)

    def _ask(self) -> None:
        if self._service.is_there:
            self._asks.cancel()
            self._service.request(lambda request: load_request(request, self._load)).add_done_callback(self._on_answer)

    def _on_answer(self, outcome: Future) -> None:
        reason = outcome.result()
        if reason is None:
            self.get_logger().info("the robot has its load")
            raise SystemExit(EXIT_SUCCESS)
        self._fail(f"the load was not set: {reason}")

    def _give_up(self) -> None:
        self._fail(f"still waiting for the service {SERVICE} after {self._timeout:g} s")

    def _fail(self, reason: str) -> NoReturn:
        self.get_logger().fatal(reason)
        raise SystemExit(EXIT_FAILURE)


def _parse_load(numbers: tuple[float, ...]) -> Inertia:
    """Read mass [kg] and centre of mass in the flange frame [m] of a load without extent."""
    if len(numbers) != 4 or not numbers[0] > 0.0:
        raise ParameterError(f"{list(numbers)} is no load", where="load", valid="mass above zero, x, y, z")
    return Inertia(numbers[0], np.array(numbers[1:]), np.zeros((3, 3)))


def main() -> None:
    """Run the program: exit status 0 once the robot has its load, 1 if that fails."""
    sys.exit(run(SetLoadNode, enclave="set_load"))


if __name__ == "__main__":
    main()
