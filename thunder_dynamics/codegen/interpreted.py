"""The interface of a compiled robot on CasADi's virtual machine: the same methods and numbers, no compiler, slower."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import yaml
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.codegen.cpp_class import (
    CONVERSIONS,
    FROM_ROBOT_FILE,
    NO_PAR_REG,
    REG_KEYS,
    constants,
    established_names,
    has_conversions,
    numeric_groups,
    stored_arguments,
)
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.package_files import group_line
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import DYN_NAMES, N_PARAMETERS
from thunder_dynamics.readers.source import read_text
from thunder_dynamics.readers.yaml_text import YamlDocument, parse_yaml

FloatArray = NDArray[np.float64]


class InterpretedRobot:
    """Kinematics, dynamics and regressors of a robot: set the arguments, then get what is needed of them. SI units.

    What `interpreted_robot` returns is of a class of its own, thunder_<robot>, which has a `set_<argument>` for every
    argument and a `get_<function>` for every function of the robot. A function is built when it is first asked for.

    Args:
        robot: Expressions, user functions included.
    """

    def __init__(self, robot: RobotExpressions) -> None:
        self._package = Package(robot)
        self._functions: dict[str, ca.Function] = {}
        names = stored_arguments(self._package)
        self._values = {name: self._package.arguments[name].default.ravel(order="F").copy() for name in names}

    def get_numJoints(self) -> int:
        """Number of joints."""
        return self._package.model.n

    def get_numParDYN(self) -> int:
        """Number of inertial parameters of all links."""
        return len(self._package.model.pi)

    get_numParREG = get_numParDYN

    def setArguments(self, q: ArrayLike, dq: ArrayLike, dq_r: ArrayLike, ddq_r: ArrayLike) -> None:
        """Set q, dq, dq_r and ddq_r at once."""
        for name, value in {"q": q, "dq": dq, "dq_r": dq_r, "ddq_r": ddq_r}.items():
            self._set(name, value)

    def load_conf(self, file: str) -> None:
        """Read run-time parameters from a file that save_conf wrote, or a controller's saved estimates.

        Raises:
            RuntimeError: naming file and line; nothing is set then.
        """
        with self._reading(file) as document:
            self._load(document)

    def save_conf(self, file: str) -> None:
        """Write all run-time parameters; the file appears whole or not at all."""
        lines = [f"robot: {self._package.name}", *(group_line(g, self._values[g]) for g in self._package.groups)]
        _write(file, "\n".join(lines) + "\n")

    def save_par(self, file: str) -> int:
        """save_conf; returns 1."""
        self.save_conf(file)
        return 1

    def load_par_REG(self, file: str) -> FloatArray:
        """Read par_REG of all links from a file as save_par_REG writes it, set the symbolic entries; returns par_REG.

        Raises:
            RuntimeError: naming file and line; nothing is set then.
        """
        model = self._package.model
        if not self._is_symbolic:
            raise RuntimeError(f"{file}: {NO_PAR_REG.format(robot=model.name)}")
        with self._reading(file) as document:
            values = np.array([_inertial(document, link) for link in _linked(document, model.n)]).ravel()
            self._set_par_REG(values[list(model.symbolic["par_DYN"])])
        return self._par_REG()

    def save_par_REG(self, file: str) -> None:
        """Write par_REG of all links, symbolic and numeric entries alike, in the order of the robot."""
        self._save_inertial(file, REG_KEYS, self._function("pi_from_DYN" if self._is_symbolic else "par_REG"))

    def save_par_DYN(self, file: str) -> None:
        """The same of par_DYN: inertias about the centres of mass."""
        model = self._package.model
        values = np.array(model.parameters("par_DYN"))
        if self._is_symbolic:
            values[list(model.symbolic["par_DYN"])] = self._values["par_DYN"]
        self._save_inertial(file, DYN_NAMES, values)

    @property
    def _is_symbolic(self) -> bool:
        return has_conversions(self._package)

    def _save_inertial(self, file: str, keys: Sequence[str], values: FloatArray) -> None:
        rows = values.reshape(-1, N_PARAMETERS).tolist()
        links = zip(self._package.model.link_names, rows, strict=True)
        entries = {link: {"inertial": dict(zip(keys, row, strict=True))} for link, row in links}
        _write(file, yaml.safe_dump({"dynamics": entries}, sort_keys=False))

    @contextmanager
    def _reading(self, file: str) -> Iterator[YamlDocument]:
        before = dict(self._values)
        try:
            yield parse_yaml(read_text(Path(file)), file)
        except (OSError, UnicodeError, ValueError, RobotFileError) as error:
            self._values = before
            raise RuntimeError(str(error)) from error

    def _set(self, name: str, value: ArrayLike) -> None:
        self._values[name] = self._checked(name, value)

    def _group(self, name: str) -> FloatArray:
        return self._values[name].copy()

    def _checked(self, name: str, value: ArrayLike) -> FloatArray:
        array = np.array(value, dtype=float)
        if array.ndim != 1:
            raise ValueError(f"array of {array.ndim} dimensions; valid: one dimension")
        size = self._package.arguments[name].size
        if array.size != size:
            raise ValueError(f"set_{name}: {array.size} values; valid: {size}")
        for position in np.flatnonzero(~np.isfinite(array))[:1]:
            raise ValueError(f"set_{name}: value {position} is not finite; valid: finite numbers")
        return array

    def _function(self, name: str, given: Mapping[str, FloatArray] | None = None) -> FloatArray:
        robot, values = self._package.robot, {**self._values, **(given or {})}
        if name not in self._functions:
            self._functions[name] = robot.function(name)
        function = self._functions[name]
        result = np.array(function.call([ca.DM(values[argument]) for argument in function.name_in()])[0])
        return result[:, 0] if result.shape[1] == 1 and not robot.spec(name).is_matrix else result

    def _par_REG(self) -> FloatArray:
        return self._function("par_REG_from_DYN")

    def _set_par_REG(self, value: ArrayLike) -> None:
        par_DYN = self._function("par_DYN_from_REG", {"par_REG": self._checked("par_REG", value)})
        if not np.isfinite(par_DYN).all():
            raise ValueError("set_par_REG: a mass is zero; valid: masses that are not zero")
        self._values["par_DYN"] = par_DYN

    def _load(self, document: YamlDocument) -> None:
        name, groups = self._package.name, self._package.groups
        is_law = "law" in document.data
        for key, value in document.data.items():
            where = document.where((key,))
            if key == "robot" and value != name:
                raise RobotFileError(f"parameters of robot '{value}'", where=where, valid=name)
            if key in groups:
                try:
                    self._set(key, value)
                except (TypeError, ValueError) as error:
                    raise RobotFileError(f"{value} is no list of numbers for it: {error}", where=where) from error
            elif key != "robot" and not is_law:
                valid = ", ".join(["robot", *groups]) + FROM_ROBOT_FILE
                raise RobotFileError(f"no group '{key}'", where=where, valid=valid)
        if is_law and self._is_symbolic and "pi_hat" in document.data:
            self._put_estimates(document)

    def _put_estimates(self, document: YamlDocument) -> None:
        """Set the symbolic entries of par_DYN such that their REG form is that of a controller's estimates."""
        model, links, estimates = self._package.model, document.data.get("links", []), document.data["pi_hat"]
        where = document.where(("links",))
        if not isinstance(links, list):
            raise RobotFileError(f"'{links}' is no list", where=where, valid="[name, name, ...]")
        for link in links:
            if link not in model.link_names:
                raise RobotFileError(f"no link '{link}'", where=where, valid=", ".join(model.link_names))
        where = document.where(("pi_hat",))
        try:
            values = dict(zip(links, np.array(estimates, dtype=float).reshape(len(links), N_PARAMETERS), strict=True))
        except (TypeError, ValueError) as error:
            valid = f"ten numbers for each of {len(links)} links"
            raise RobotFileError(f"{estimates} in 'pi_hat'", where=where, valid=valid) from error
        symbolic = np.flatnonzero(model.symbolic["par_DYN"])
        reg = self._par_REG()
        for position, (link, entry) in enumerate(zip(*np.divmod(symbolic, N_PARAMETERS), strict=True)):
            if model.link_names[link] in values:
                reg[position] = values[model.link_names[link]][entry]
        try:
            self._set_par_REG(reg)
        except ValueError as error:
            raise RobotFileError(str(error), where=where) from error


def _linked(document: YamlDocument, count: int) -> list[str]:
    """Keys of the links in a file of inertial parameters, which has as many as the robot."""
    links = document.data.get("dynamics")
    if not isinstance(links, dict) or len(links) != count:
        found = len(links) if isinstance(links, dict) else 0
        raise RobotFileError(f"{found} links", where=document.where(("dynamics",)), valid=str(count))
    return list(links)


def _inertial(document: YamlDocument, link: str) -> list[float]:
    """The ten parameters of a link in a file of par_REG."""
    entry = document.data["dynamics"][link]
    given = entry.get("inertial") if isinstance(entry, dict) else None
    values = given if isinstance(given, dict) else {}
    for key in REG_KEYS:
        if not isinstance(values.get(key), (int, float)) or not np.isfinite(values[key]):
            where = document.where(("dynamics", link, "inertial", key))
            raise RobotFileError(f"no finite number of '{key}'", where=where, valid=", ".join(REG_KEYS))
    return [float(values[key]) for key in REG_KEYS]


def _write(file: str, text: str) -> None:
    """Write a file that appears whole or not at all."""
    partial = Path(f"{file}.part")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, file)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RuntimeError(f"{file}: cannot be written") from error


def interpreted_robot(robot: RobotExpressions, functions: Sequence[str] = ()) -> InterpretedRobot:
    """An instance with the methods that the class thunder_<robot> of a generated module has.

    Args:
        robot: Expressions, user functions included.
        functions: Functions on request, as for `build`.
    """
    package = Package(robot, functions=functions)
    methods: dict[str, Any] = dict(constants(package))
    for name in stored_arguments(package):
        entry = package.arguments[name]
        doc = f"{entry.description} {entry.size} values [{entry.unit}]."
        methods[f"set_{name}"] = _method(doc, InterpretedRobot._set, name)
    for established, argument in established_names(package).items():
        methods[f"set_{established}"] = methods[f"set_{argument}"]
    for group in package.groups:
        methods[f"get_{group}"] = _method("", InterpretedRobot._group, group)
    for group, values in numeric_groups(package).items():
        methods[f"get_{group}"] = _method("", lambda _, numbers: np.array(numbers), values)
    if has_conversions(package):
        methods["set_par_REG"] = InterpretedRobot._set_par_REG
        methods["get_par_REG"] = InterpretedRobot._par_REG
    for name in package.selected:
        if name not in CONVERSIONS:
            methods[f"get_{name}"] = _method(robot.spec(name).description, InterpretedRobot._function, name)
    kind = type(f"thunder_{package.name}", (InterpretedRobot,), methods)
    instance: InterpretedRobot = kind(robot)
    return instance


def _method(doc: str, call: Callable[..., Any], *first: Any) -> Callable[..., Any]:
    """A method of a class that calls with some first arguments."""

    def method(self: InterpretedRobot, *given: ArrayLike) -> Any:
        return call(self, *first, *given)

    method.__doc__ = doc or None
    return method
