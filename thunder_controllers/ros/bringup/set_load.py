"""Tells a Franka its load with SetLoad, which it takes only while nothing moves it, and ends. Needs franka_msgs."""

from __future__ import annotations

import importlib
import sys

from rclpy.node import Node
from rclpy.task import Future

from thunder_controllers.load import load_from_numbers
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.runtime import EXIT_SUCCESS, STEADY, fail, run
from thunder_dynamics.errors import ThunderError

SERVICE = "service_server/set_load"
"""Of franka_hardware."""

PERIOD = 0.1
"""Between two looks at what is there [s]."""

ANSWER_TIMEOUT = 5.0
"""For the robot's answer [s]."""


class FrankaError(ThunderError):
    """The messages of a Franka are not there."""


class SetLoadNode(Node):
    """Asks the robot once, as soon as its service is there, for a load.

    Raises:
        InertiaError: if `load` is not what `load_from_numbers` takes.
        FrankaError: if franka_msgs is not installed.
        SystemExit: while it spins: 0 once the robot has its load, 1 if it refuses or takes too long.
    """

    def __init__(self) -> None:
        super().__init__(names.SET_LOAD)
        given = DeclaredParameters(self)
        given.declare(node_parameters("bringup", names.SET_LOAD))
        self._load = load_from_numbers(given["load"], "load")
        try:
            self._kind = importlib.import_module("franka_msgs.srv").SetLoad
        except ImportError:
            valid = "source a workspace with franka_ros2 (branch jazzy), or start without a load"
            raise FrankaError("franka_msgs cannot be imported", where="load", valid=valid) from None
        self._client = self.create_client(self._kind, SERVICE)
        self._asks = self.create_timer(PERIOD, self._ask, clock=STEADY)
        waited = f"still waiting for the service {SERVICE} after {given['timeout']:g} s"
        self.create_timer(given["timeout"], lambda: fail(self, waited), clock=STEADY)

    def _ask(self) -> None:
        if not self._client.service_is_ready():
            return
        self._asks.cancel()
        inertia = self._load.inertia_com.ravel()  # symmetric: by columns or by rows
        request = self._kind.Request(mass=self._load.mass, center_of_mass=self._load.com, load_inertia=inertia)
        self._client.call_async(request).add_done_callback(self._on_answer)
        late = f"the load was not set: no answer from {SERVICE} within {ANSWER_TIMEOUT:g} s"
        self.create_timer(ANSWER_TIMEOUT, lambda: fail(self, late), clock=STEADY)

    def _on_answer(self, outcome: Future) -> None:
        answer = outcome.result()
        if not answer.success:
            fail(self, f"the load was not set: the robot refused: {answer.error}")
        self.get_logger().info("the robot has its load")
        raise SystemExit(EXIT_SUCCESS)


def main() -> None:
    """Run the program: exit status 0 once the robot has its load, 1 if that fails."""
    sys.exit(run(SetLoadNode, enclave="set_load"))


if __name__ == "__main__":
    main()
