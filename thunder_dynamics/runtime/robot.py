"""The class that every thunder_<robot> of Python is of: the established interface, wherever it is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from thunder_dynamics.errors import RobotFileError, shortened
from thunder_dynamics.inertia import DYN_NAMES, N_PARAMETERS
from thunder_dynamics.readers.yaml_text import YamlDocument, parse_yaml
from thunder_dynamics.runtime.parameter_files import (
    FROM_ROBOT_FILE,
    NO_PAR_REG,
    REG_KEYS,
    FloatArray,
    group_line,
    inertial_text,
    read_estimates,
    read_par_REG,
    write_file,
)
from thunder_dynamics.storage.checksums import read_verified
from thunder_dynamics.storage.door import read_text

if TYPE_CHECKING:
    from thunder_dynamics.runtime._calls import Library


class Evaluator(Protocol):
    """Arguments by name, and the functions of a robot at them. A setter raises ValueError for a wrong size or value."""

    values: FloatArray
    """All arguments, one after the other; a copy."""

    def set(self, name: str, value: ArrayLike) -> None:
        """Copy an argument in."""

    def get(self, name: str) -> FloatArray:
        """Copy an argument out, shape (size,)."""

    def vector(self, name: str) -> FloatArray:
        """What a function is at the arguments, shape (size,)."""

    def matrix(self, name: str) -> FloatArray:
        """The same, shape (rows, cols)."""


class Robot:
    """Kinematics, dynamics and regressors of a robot: set the arguments, then get what is needed of them. SI units.

    A generated module derives its class thunder_<robot> from this one: it has a `set_<argument>` for every argument and
    a `get_<function>` for every function of the robot. A copy is another robot, with the values of this one. One robot
    serves one thread.
    """

    robotName: str
    num_joints: int
    numParDYN: int
    _file: ClassVar[str]
    """Of the module; the library stands beside it."""
    _hash: ClassVar[str]
    """Content hash of that library."""
    _links: ClassVar[tuple[str, ...]]
    _numbers: ClassVar[Mapping[str, tuple[float, ...]]]
    """Every group of parameters as it is in the robot file."""
    _symbolic: ClassVar[Mapping[str, tuple[int, ...]]]
    """Groups of run-time parameters, and which of their numbers these are."""
    _others: ClassVar[Mapping[str, int]]
    """Sizes of the arguments that no function of the library takes: they have a setter all the same."""
    _library: ClassVar[Library | None] = None

    def __init__(self) -> None:
        self._begin(self._evaluator())

    def _begin(self, evaluator: Evaluator) -> None:
        # Bound once: to look a method of an extension up at every call takes as long as a small function.
        self._evaluates = evaluator
        self._set, self._get = evaluator.set, evaluator.get
        self._vector, self._matrix = evaluator.vector, evaluator.matrix

    @classmethod
    def _evaluator(cls) -> Evaluator:
        from thunder_dynamics.runtime.loading import Calls, open_library

        if cls._library is None:
            path = Path(cls._file).resolve().with_name(f"lib{cls.robotName}.so")
            cls._library = open_library(read_verified(path.parent, path.name), path, cls._hash)
        return Calls(cls._library, cls._others)

    def __getstate__(self) -> FloatArray:
        return self._evaluates.values

    def __setstate__(self, values: FloatArray) -> None:
        self._begin(self._evaluator())
        self._evaluates.values = values

    def get_numJoints(self) -> int:
        """Number of joints."""
        return self.num_joints

    def get_numParDYN(self) -> int:
        """Number of inertial parameters of all links."""
        return self.numParDYN

    get_numParREG = get_numParDYN

    def setArguments(self, q: ArrayLike, dq: ArrayLike, dq_r: ArrayLike, ddq_r: ArrayLike) -> None:
        """Set q, dq, dq_r and ddq_r at once."""
        self._set("q", q)
        self._set("dq", dq)
        self._set("dq_r", dq_r)
        self._set("ddq_r", ddq_r)

    def load_conf(self, file: str) -> None:
        """Read run-time parameters from a file that save_conf wrote, or a controller's saved estimates.

        Estimates take the place of the parameters of the links that they name, as far as these are symbolic.

        Raises:
            RuntimeError: naming file and line; nothing is set then.
        """
        with self._reading(file) as document:
            self._load(document)

    def save_conf(self, file: str) -> None:
        """Write all run-time parameters; the file appears whole or not at all."""
        lines = [f"robot: {self.robotName}", *(group_line(group, self._get(group)) for group in self._symbolic)]
        write_file(file, "\n".join(lines) + "\n")

    def save_par(self, file: str) -> int:
        """save_conf; returns 1."""
        self.save_conf(file)
        return 1

    def load_par_REG(self, file: str) -> FloatArray:
        """Read par_REG of all links from a file as save_par_REG writes it, set the symbolic entries; returns par_REG.

        Raises:
            RuntimeError: naming file and line; nothing is set then.
        """
        if "par_DYN" not in self._symbolic:
            raise RuntimeError(f"{file}: {NO_PAR_REG.format(robot=self.robotName)}")
        with self._reading(file) as document:
            par_REG = read_par_REG(document, self._links)
            try:
                self._set_par_REG(par_REG[list(self._symbolic["par_DYN"])])
            except ValueError as error:
                raise RobotFileError(str(error), where=document.where(("dynamics",))) from error
        return self._par_REG()

    def save_par_REG(self, file: str) -> None:
        """Write par_REG of all links, symbolic and numeric entries alike, in the order of the robot."""
        self._save_inertial(file, REG_KEYS, self._vector("pi_from_DYN" if "par_DYN" in self._symbolic else "par_REG"))

    def save_par_DYN(self, file: str) -> None:
        """The same of par_DYN: inertias about the centres of mass."""
        values = np.array(self._numbers["par_DYN"])
        if "par_DYN" in self._symbolic:
            values[list(self._symbolic["par_DYN"])] = self._get("par_DYN")
        self._save_inertial(file, DYN_NAMES, values)

    def _save_inertial(self, file: str, keys: Sequence[str], values: FloatArray) -> None:
        write_file(file, inertial_text(self._links, keys, values))

    @contextmanager
    def _reading(self, file: str) -> Iterator[YamlDocument]:
        before = self._evaluates.values
        try:
            yield parse_yaml(read_text(Path(file), RobotFileError), file)
        except (OSError, UnicodeError, ValueError, RobotFileError) as error:
            self._evaluates.values = before
            raise RuntimeError(str(error)) from error

    def _par_REG(self) -> FloatArray:
        return self._vector("par_REG_from_DYN")

    def _set_par_REG(self, value: ArrayLike) -> None:
        self._set("par_REG", value)
        par_DYN = self._vector("par_DYN_from_REG")
        if not np.isfinite(par_DYN).all():
            raise ValueError("set_par_REG: a mass is zero; valid: masses that are not zero")
        self._set("par_DYN", par_DYN)

    def _load(self, document: YamlDocument) -> None:
        is_law = "law" in document.data
        for key, value in document.data.items():
            where = document.where((key,))
            if key == "robot" and value != self.robotName:
                raise RobotFileError(f"parameters of robot '{value}'", where=where, valid=self.robotName)
            if key in self._symbolic:
                try:
                    self._set(key, value)
                except (TypeError, ValueError) as error:
                    what, _, valid = str(error).partition("; valid: ")
                    what = f"{shortened(value)} is no list of numbers for it: {what}"
                    raise RobotFileError(what, where=where, valid=valid or "[number, number, …]") from error
            elif key != "robot" and not is_law:
                valid = ", ".join(["robot", *self._symbolic]) + FROM_ROBOT_FILE
                raise RobotFileError(f"no group '{key}'", where=where, valid=valid)
        if is_law and "par_DYN" in self._symbolic and "pi_hat" in document.data:
            self._put_estimates(document)

    def _put_estimates(self, document: YamlDocument) -> None:
        """Set the symbolic entries of par_DYN such that their REG form is that of a controller's estimates."""
        estimates = read_estimates(document, self._links)
        reg = self._par_REG()
        for place, entry in enumerate(self._symbolic["par_DYN"]):
            link, parameter = divmod(entry, N_PARAMETERS)
            if self._links[link] in estimates:
                reg[place] = estimates[self._links[link]][parameter]
        try:
            self._set_par_REG(reg)
        except ValueError as error:
            raise RobotFileError(str(error), where=document.where(("pi_hat",))) from error
