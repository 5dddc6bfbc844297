"""The model: evaluates functions of a robot's library at the measured joint state, without a controller."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from thunder_controllers.host import Library
from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.announced import on_library
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.diagnostics import DIAGNOSTICS_PERIOD, ERROR, OK, WARN, report_health
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.messages import array_message, is_foreign, read_joints
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import MONITOR, STREAM
from thunder_controllers.ros.common.runtime import run
from thunder_dynamics.errors import NameNotFoundError, ThunderError

FloatArray = NDArray[np.float64]

POSITION = "q"
VELOCITY = "dq"
PARAMETERS = "par_"
"""Prefix of arguments that have a default: the values of the robot file."""

WAITING = "waiting for a library"


def check_functions(library: Library, functions: Sequence[str]) -> None:
    """Make sure that every function is there and depends on q, dq and parameters only.

    Raises:
        NameNotFoundError: if there is no such function, or it needs what no joint state holds.
    """
    for name in functions:
        if unknown := _unknown_inputs(library, name):
            what = f"{name} needs {', '.join(unknown)}, which joint_states does not hold"
            usable = [other for other in library.functions if not _unknown_inputs(library, other)]
            raise NameNotFoundError(what, where="parameter functions", valid=", ".join(usable))


def _unknown_inputs(library: Library, name: str) -> list[str]:
    inputs = [entry.name for entry in library.function(name).inputs]
    return [i for i in inputs if i not in (POSITION, VELOCITY) and not i.startswith(PARAMETERS)]


class ModelNode(Node):
    """Publishes `~/<function>` at a fixed rate, for as long as new joint states come."""

    def __init__(self, **options: Any) -> None:
        super().__init__(names.MODEL, **options)
        self._given = DeclaredParameters(self)
        self._given.declare(node_parameters("model", names.MODEL))
        self._functions: tuple[str, ...] = self._given["functions"]
        self._outputs = {
            name: self.create_publisher(Float64MultiArray, f"~/{name}", MONITOR) for name in self._functions
        }
        self._library: Library | None = None
        self._problem = WAITING
        self._published = 0
        if self._given["library"]:
            self._use(Library(resolve(self._given["library"])))
        else:
            on_library(self, self._given, self._use, self._refuse)
        self._states = HotSubscription(self, JointState, names.JOINT_STATES, STREAM)
        self.create_timer(1.0 / self._given["rate"], self._publish)
        report_health(self, self._report)

    def _use(self, library: Library) -> None:
        check_functions(library, self._functions)
        self._library, self._problem = library, ""
        self.get_logger().info(f"{library.robot}: {', '.join(self._functions)} from {library.path}")

    def _refuse(self, reason: str) -> None:
        self._problem = reason

    def _newest_state(self, joints: Sequence[str]) -> JointState | None:
        """Take what has come since the last time; the newest that tells of these joints."""
        newest = None
        while (message := self._states.take()) is not None:
            if not is_foreign(message.name, joints):
                newest = message
        return newest

    def _publish(self) -> None:
        state = None if self._library is None else self._newest_state(self._library.joint_names)
        if self._library is None or state is None:
            return
        try:
            q, qd = read_joints(state, self._library.joint_names)
        except ThunderError as error:
            self._problem = str(error)
            return
        self._problem = ""
        values = {POSITION: q, VELOCITY: qd}
        for name, publisher in self._outputs.items():
            inputs = {entry.name for entry in self._library.function(name).inputs}
            arguments = {key: value for key, value in values.items() if key in inputs}
            value = np.asarray(self._library.evaluate(name, **arguments))
            publisher.publish(array_message(value, f"{name}/row", f"{name}/column"))
        self._published += 1

    def _report(self) -> tuple[bytes, str, dict[str, Any]]:
        if self._problem:
            level, message = (WARN if self._problem == WAITING else ERROR), self._problem
        else:
            level, message = (OK, "publishing") if self._published else (WARN, "no joint_states")
        rate = self._published / DIAGNOSTICS_PERIOD
        self._published = 0
        robot = self._library.robot if self._library else ""
        values = {"robot": robot, "functions": " ".join(self._functions), "rate [Hz]": rate}
        return level, message, values


def main() -> None:
    """Run the program."""
    sys.exit(run(ModelNode, enclave="model"))


if __name__ == "__main__":
    main()
