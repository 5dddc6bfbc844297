"""Brings the controller node up: waits for a library, configures, waits for the robot, activates, and is done.

Over ros2_control this takes two runs, `goal` inactive and `goal` active, with a spawner between them: a real arm takes
settings before it moves only, and needs an active effort controller to be moved.
"""

from __future__ import annotations

import sys
from enum import Enum

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.library_message import load_announced
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import LATCHED
from thunder_controllers.ros.common.runtime import EXIT_FAILURE, EXIT_SUCCESS, run
from thunder_dynamics.errors import ThunderError

PERIOD = 0.1
"""Between two looks at what is there [s]."""

RETRY = 1.0
"""Between two attempts at activation: the robot may still be on its way to a state that allows it [s]."""

ATTEMPTS = 20
"""Attempts at activation before giving up."""


class Step(Enum):
    """What is being waited for."""

    LIBRARY = "a library"
    CONTROLLER = "the controller's services"
    CONFIGURE = "the controller to be configured"
    ROBOT = "joint_states"
    ACTIVATE = "the controller to be activated"


class BringupNode(Node):
    """Drives the lifecycle of a controller once, from wherever it is to `goal`.

    Args:
        ends_process: Whether success ends the process, too, as failure does.

    Raises:
        SystemExit: while it spins: 0 after success if `ends_process`, 1 after failure.
    """

    def __init__(self, ends_process: bool = True) -> None:
        super().__init__(names.BRINGUP)
        self._given = DeclaredParameters(self)
        self._given.declare(node_parameters("bringup", names.BRINGUP))
        self._ends_process = ends_process
        self._step = Step.CONTROLLER
        self._attempts = 0
        controller = self._given["controller"]
        self._change = self.create_client(ChangeState, f"{controller}/change_state")
        self._state = self.create_client(GetState, f"{controller}/get_state")
        if self._given["wait_for_library"]:
            self._step = Step.LIBRARY
            self.create_subscription(String, self._given["library_topic"], self._on_library, LATCHED)
        self._start = self.get_clock().now()
        self._timer = self.create_timer(PERIOD, self._advance)
        self._pause = 0

    def _on_library(self, message: String) -> None:
        """Go on if the controller will find that library, too."""
        if self._step is not Step.LIBRARY:
            return
        try:
            load_announced(message.data, self._given["library_folders"])
        except ThunderError as error:
            self.get_logger().error(f"not used: {error}")
            return
        self._step = Step.CONTROLLER

    def _advance(self) -> None:
        if (self.get_clock().now() - self._start).nanoseconds * 1e-9 > self._given["timeout"]:
            self._end(f"still waiting for {self._step.value} after {self._given['timeout']:g} s")
        elif self._pause > 0:
            self._pause -= 1
        elif self._step is Step.CONTROLLER and self._change.service_is_ready() and self._state.service_is_ready():
            self._ask_state()
        elif self._step is Step.ROBOT and self.count_publishers(names.JOINT_STATES) > 0:
            self._request(Transition.TRANSITION_ACTIVATE, Step.ACTIVATE)

    def _ask_state(self) -> None:
        """Go on from the state that the controller is in."""
        self._step = Step.CONFIGURE
        self._state.call_async(GetState.Request()).add_done_callback(self._on_state)

    def _on_state(self, future: Future) -> None:
        state = future.result().current_state
        if state.id == State.PRIMARY_STATE_UNCONFIGURED:
            self._request(Transition.TRANSITION_CONFIGURE, Step.CONFIGURE)
        elif state.id == State.PRIMARY_STATE_INACTIVE:
            self._on_configured()
        elif state.id == State.PRIMARY_STATE_ACTIVE:
            self._end()
        else:
            self._end(f"the controller is {state.label}")

    def _request(self, transition: int, step: Step) -> None:
        self._step = step
        request = ChangeState.Request(transition=Transition(id=transition))
        self._change.call_async(request).add_done_callback(self._on_changed)

    def _on_changed(self, future: Future) -> None:
        if future.result().success:
            (self._on_configured if self._step is Step.CONFIGURE else self._end)()
        elif self._step is Step.CONFIGURE:
            self._end("the controller cannot be configured; its log says why")
        else:
            self._retry()

    def _on_configured(self) -> None:
        """Go on to the robot, if the controller shall be active."""
        if self._given["goal"] == "inactive":
            self._end()
        else:
            self._step = Step.ROBOT

    def _retry(self) -> None:
        self._attempts += 1
        if self._attempts >= ATTEMPTS:
            self._end(f"the controller refused activation {ATTEMPTS} times; its log says why")
        self._step, self._pause = Step.ROBOT, round(RETRY / PERIOD)

    def _end(self, reason: str | None = None) -> None:
        self._timer.cancel()
        if reason is not None:
            self.get_logger().fatal(reason)
            raise SystemExit(EXIT_FAILURE)
        self.get_logger().info(f"the controller is {self._given['goal']}")
        if self._ends_process:
            raise SystemExit(EXIT_SUCCESS)


def make_node() -> BringupNode:
    """Make the node for a process that it shares: failure ends the process, success leaves it alone."""
    return BringupNode(ends_process=False)


def main() -> None:
    """Run the program: exit status 0 once the controller is where it shall be, 1 if that fails."""
    sys.exit(run(BringupNode, enclave="bringup"))


if __name__ == "__main__":
    main()
