"""What a generated package holds: the functions, laws and parameter groups of one robot, and the text of every file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import casadi as ca
import numpy as np

from thunder_dynamics.codegen.c_core import CCore, generate_c_core
from thunder_dynamics.codegen.text import comment_text, template
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Entry, Law, make_entry
from thunder_dynamics.version import __version__


@dataclass(frozen=True)
class GeneratedFunction:
    """One compiled function: its C symbol, what it takes and gives; a vector is one column that is no matrix."""

    name: str
    symbol: str
    description: str
    arguments: tuple[str, ...]
    rows: int
    cols: int
    is_vector: bool
    function: ca.Function


class Package:
    """Everything that the generated files of one robot are written from.

    Args:
        robot: Expressions, user functions included.
        laws: Closed laws.
        content_hash: Hash of the inputs, stored in the library.
        flags: Compiler flags, for the CMakeLists.txt.
    """

    def __init__(
        self, robot: RobotExpressions, laws: Sequence[Law] = (), content_hash: str = "", flags: Sequence[str] = ()
    ) -> None:
        self.robot = robot
        self.model = robot.model
        self.name = robot.model.name
        self.laws = tuple(laws)
        self.content_hash = content_hash
        self.flags = tuple(flags)

    @cached_property
    def functions(self) -> tuple[GeneratedFunction, ...]:
        """All functions of the robot, in the order of their declaration."""
        result = []
        for name in self.robot.functions:
            function = self.robot.function(name)
            rows, cols = function.size1_out(0), function.size2_out(0)
            arguments, spec = self.robot.signature(name), self.robot.spec(name)
            is_vector = cols == 1 and not spec.is_matrix
            symbol = f"{self.name}_{name}"
            result.append(GeneratedFunction(name, symbol, spec.description, arguments, rows, cols, is_vector, function))
        return tuple(result)

    def law_symbol(self, law: Law) -> str:
        """C symbol of a law's step."""
        return f"{self.name}_law_{law.name}"

    @cached_property
    def core(self) -> CCore:
        """The C core of functions and laws."""
        table = {f.symbol: f.function for f in self.functions}
        table |= {self.law_symbol(law): law.step for law in self.laws}
        return generate_c_core(self.name, table)

    @cached_property
    def arguments(self) -> Mapping[str, Entry]:
        """Entries of every argument, with its default: the file's values for parameters, zero for signals."""
        entries = {}
        for name, argument in self.robot.arguments.items():
            default: float | np.ndarray = 0.0
            if name in self.groups:
                default = self.groups[name].default
            elif name == "par_REG":
                default = self._symbolic_values("par_REG", "par_DYN")
            unit, descr = argument.unit or "1", argument.description or name
            entries[name] = make_entry(name, argument.symbol.shape, unit, descr, default)
        return entries

    @cached_property
    def groups(self) -> Mapping[str, Entry]:
        """Parameter groups with symbolic entries: only those entries, with the file's values as default."""
        return {
            group: make_entry(
                group, symbol.shape, "SI", f"Symbolic entries of {group}.", self._symbolic_values(group, group)
            )
            for group, symbol in self.robot.parameters.symbols.items()
        }

    def _symbolic_values(self, group: str, mask_of: str) -> np.ndarray:
        return np.array(self.model.parameters(group))[list(self.model.symbolic[mask_of])][:, None]

    def files(self) -> dict[str, str]:
        """Text of every file of the package, by name."""
        from thunder_dynamics.codegen import cpp_class, manifest, python_module

        name = self.name
        header = files("thunder_dynamics").joinpath("include", "thunder", "thunder_abi.h").read_text(encoding="utf-8")
        return {
            f"{name}_gen.c": self.core.source,
            f"{name}_gen.h": self.core.header,
            f"{name}_library.c": manifest.library_source(self),
            "thunder/thunder_abi.h": header,
            f"thunder_{name}.h": cpp_class.header(self),
            f"thunder_{name}.cpp": cpp_class.source(self),
            f"test_{name}.cpp": cpp_class.self_test(self),
            f"{name}_conf.yaml": conf_text(self),
            f"thunder_{name}_py.cpp": python_module.source(self),
            f"thunder_{name}.pyi": python_module.stub(self),
            "CMakeLists.txt": cmake_text(self),
            "README.md": readme_text(self),
        }


def conf_text(package: Package) -> str:
    """<robot>_conf.yaml: the run-time parameters, one flow list a line, as load_conf and save_conf have them."""
    lines = [
        f"# Run-time parameters of {package.name}: the symbolic entries of each group, SI units.",
        f"robot: {package.name}",
    ]
    lines += [f"{name}: [{', '.join(repr(float(v)) for v in e.default.ravel())}]" for name, e in package.groups.items()]
    return "\n".join(lines) + "\n"


def cmake_text(package: Package) -> str:
    """CMakeLists.txt of the package."""
    return template("CMakeLists.txt").substitute(robot=package.name, flags=" ".join(package.flags))


def readme_text(package: Package) -> str:
    """README.md of the package: what it holds and how to use it."""
    rows = [
        f"| `get_{f.name}` | {', '.join(f.arguments)} | {f.rows}×{f.cols} | {comment_text(f.description)} |"
        for f in package.functions
    ]
    laws = [
        f"## Law `{law.name}`\n\n{comment_text(law.description)} Reference: {law.reference_kind.name.lower()}.\n\n"
        + _law_table(law)
        for law in package.laws
    ]
    groups = [f"| `{name}` | {entry.size} |" for name, entry in package.groups.items()]
    return template("README.md").substitute(
        robot=package.name,
        version=__version__,
        joints=", ".join(package.model.joint_names),
        hash=package.content_hash,
        functions="\n".join(rows),
        groups="\n".join(["| group | entries |", "|---|---|", *groups])
        if groups
        else "None: every parameter is numeric.",
        laws="\n".join(laws) or "No law was compiled in.",
    )


def _law_table(law: Law) -> str:
    rows = ["| signal | entry | shape | unit | default | meaning |", "|---|---|---|---|---|---|"]
    for kind in ("reference", "state", "gains", "telemetry"):
        for entry in getattr(law, kind):
            values = np.unique(entry.default)
            default = f"{values[0]:g}" if values.size == 1 else "per element"
            shape = "×".join(str(k) for k in entry.shape)
            rows.append(
                f"| {kind} | `{entry.name}` | {shape} | {entry.unit} | {default} | {comment_text(entry.description)} |"
            )
    return "\n".join(rows) + "\n"
