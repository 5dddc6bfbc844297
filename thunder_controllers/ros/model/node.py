"""The model: evaluates functions of a robot's library at the measured joint state, without a controller."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, String

from thunder_controllers.host import Library
from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.diagnostics import DIAGNOSTICS_PERIOD, ERROR, OK, WARN, diagnostic
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.joint_reader import is_foreign, read_joints
from thunder_controllers.ros.common.library_message import load_announced
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import LATCHED, MONITOR, STREAM
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


def to_message(name: str, value: FloatArray) -> Float64MultiArray:
    """Write an array with its shape: dimensions `row` and, for a matrix, `column`; row-major, as the layout says.

    A vector of n numbers has one dimension; the label of the first carries the function's name: `M/row`.
    """
    message = Float64MultiArray(data=np.ascontiguousarray(value, dtype=float).ravel().tolist())
    sizes = value.shape or (1,)
    for k, (size, side) in enumerate(zip(sizes, ("row", "column"), strict=False)):
        dimension = MultiArrayDimension(label=f"{name}/{side}", size=size, stride=int(np.prod(sizes[k:])))
        message.layout.dim.append(dimension)
    return message


class ModelNode(Node):
    """Publishes `~/<function>` at a fixed rate, for as long as new joint states come."""

    def __init__(self) -> None:
        super().__init__(names.MODEL)
        self._given = DeclaredParameters(self)
        self._given.declare(node_parameters("model", names.MODEL))
        self._functions: tuple[str, ...] = self._given["functions"]
        self._outputs = {
            name: self.create_publisher(Float64MultiArray, f"~/{name}", MONITOR) for name in self._functions
        }
        self._diagnostics = self.create_publisher(DiagnosticArray, names.DIAGNOSTICS, MONITOR)
        self._library: Library | None = None
        self._problem = WAITING
        self._published = 0
        if self._given["library"]:
            self._use(Library(resolve(self._given["library"])))
        else:
            self.create_subscription(String, self._given["library_topic"], self._on_library, LATCHED)
        self._states = HotSubscription(self, JointState, names.JOINT_STATES, STREAM)
        self.create_timer(1.0 / self._given["rate"], self._publish)
        self.create_timer(DIAGNOSTICS_PERIOD, self._report)

    def _use(self, library: Library) -> None:
        check_functions(library, self._functions)
        self._library, self._problem = library, ""
        self.get_logger().info(f"{library.robot}: {', '.join(self._functions)} from {library.path}")

    def _on_library(self, message: String) -> None:
        """Use the library that is announced; one that is refused leaves the last one in use."""
        try:
            self._use(load_announced(message.data, self._given["library_folders"]))
        except ThunderError as error:
            self._problem = str(error)
            self.get_logger().error(self._problem)

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
            publisher.publish(to_message(name, np.asarray(self._library.evaluate(name, **arguments))))
        self._published += 1

    def _report(self) -> None:
        if self._problem:
            level, message = (WARN if self._problem == WAITING else ERROR), self._problem
        else:
            level, message = (OK, "publishing") if self._published else (WARN, "no joint_states")
        rate = self._published / DIAGNOSTICS_PERIOD
        self._published = 0
        robot = self._library.robot if self._library else ""
        values = {"robot": robot, "functions": " ".join(self._functions), "rate [Hz]": rate}
        self._diagnostics.publish(diagnostic(self, level, message, values))


def main() -> None:
    """Run the program."""
    sys.exit(run(ModelNode, enclave="model"))


if __name__ == "__main__":
    main()
