"""A robot on CasADi's virtual machine: the class and numbers of the compiled one, no compiler, slower."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from thunder_dynamics.codegen import python_module
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.runtime._calls import Arguments
from thunder_dynamics.runtime.loading import class_of
from thunder_dynamics.runtime.parameter_files import FloatArray
from thunder_dynamics.runtime.robot import Robot


class Interpreter(Arguments):
    """The functions of a robot at its arguments; each is built when it is first asked for."""

    def __init__(self, package: Package) -> None:
        super().__init__({name: entry.default.ravel(order="F") for name, entry in package.arguments.items()})
        self._robot = package.robot
        self._functions: dict[str, ca.Function] = {}

    def vector(self, name: str) -> FloatArray:
        """What the function is at the arguments, shape (size,)."""
        return self.matrix(name).ravel(order="F")

    def matrix(self, name: str) -> FloatArray:
        """The same, shape (rows, cols)."""
        if name not in self._functions:
            self._functions[name] = self._robot.function(name)
        function = self._functions[name]
        return np.array(function.call([ca.DM(self.get(argument)) for argument in function.name_in()])[0])


def interpreted_robot(robot: RobotExpressions, functions: Sequence[str] = ()) -> Robot:
    """An instance of the class thunder_<robot> that a generated module has, evaluated here.

    Args:
        robot: Expressions, user functions included.
        functions: Functions on request, as for `build`.
    """
    package = Package(robot, functions=functions)
    kind = class_of(python_module.source(package), f"thunder_{package.name}", "")
    instance: Robot = type(kind.__name__, (kind,), {"_evaluator": staticmethod(lambda: Interpreter(package))})()
    return instance
