"""What a generated package holds: the functions, laws and parameter groups of one robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from thunder_dynamics.algorithms.catalogue import ARGUMENTS as ON_REQUEST
from thunder_dynamics.codegen.c_core import CCore, in_parts, make_c_core, write_functions
from thunder_dynamics.codegen.loops import Loops
from thunder_dynamics.entries import Entry, make_entry
from thunder_dynamics.expressions import TOGETHER, RobotExpressions
from thunder_dynamics.law import Law


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


def _row(name: str, arguments: Sequence[str], description: str) -> dict[str, Any]:
    return {"name": name, "arguments": list(arguments), "description": description}


@dataclass(frozen=True)
class FunctionGroup:
    """Functions in one that share what they have in common, with the result of each."""

    name: str
    symbol: str
    arguments: tuple[str, ...]
    results: tuple[GeneratedFunction, ...]


class Package:
    """Everything that the generated files of one robot are written from.

    Args:
        robot: Expressions, user functions included.
        laws: Closed laws.
        content_hash: Hash of the inputs, stored in the library.
        flags: Compiler flags, for the CMakeLists.txt.
        functions: Functions on request, by name, beside those of every library, and groups such as `M+C+G`.
        has_lanes: Whether every function and step is there in lanes too: thunder_abi.h.
        has_single_lanes: Whether they are in those of single precision.
        has_loops: Whether functions of a large robot are loops, which only C has.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        laws: Sequence[Law] = (),
        content_hash: str = "",
        flags: Sequence[str] = (),
        functions: Sequence[str] = (),
        has_lanes: bool = False,
        has_single_lanes: bool = False,
        has_loops: bool = True,
    ) -> None:
        self.robot = robot
        self.model = robot.model
        self.name = robot.model.name
        self.laws = tuple(laws)
        self.content_hash = content_hash
        self.flags = tuple(flags)
        self.has_lanes = has_lanes
        self.has_single_lanes = has_single_lanes
        self.loops = Loops(robot, has_loops)
        self.selected = robot.selected(functions)
        self._groups = robot.groups(functions)

    @cached_property
    def functions(self) -> tuple[GeneratedFunction, ...]:
        """The functions that are compiled, in the order of their declaration."""
        return tuple(map(self._generated, self.selected))

    @cached_property
    def function_groups(self) -> tuple[FunctionGroup, ...]:
        """Functions that are compiled together, as requested."""
        found = []
        for names in self._groups:
            arguments = tuple(self.robot.function_of_group(names).name_in())
            symbol = f"{self.name}_{'__'.join(names)}"
            found.append(FunctionGroup(TOGETHER.join(names), symbol, arguments, tuple(map(self._generated, names))))
        return tuple(found)

    def _generated(self, name: str) -> GeneratedFunction:
        spec, looped = self.robot.spec(name), self.loops.functions.get(name)
        if looped:
            arguments, rows, cols = looped.arguments, looped.rows, looped.cols
        else:
            arguments, (rows, cols) = self.robot.signature(name), self.robot[name].shape
        is_vector = cols == 1 and not spec.is_matrix
        return GeneratedFunction(name, f"{self.name}_{name}", spec.description, arguments, rows, cols, is_vector)

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each function: name, arguments, description, shape [rows, columns] and operations of its C code.

        Operations of one in loops are None, as is the shape of one that is compiled on request alone.
        """
        rows = []
        for f in self.functions:
            count = None if f.name in self.loops.functions else self.robot.operations(f.name)
            rows.append({**_row(f.name, f.arguments, f.description), "shape": [f.rows, f.cols], "operations": count})
        for name in self.robot.functions_on_request:
            if name not in self.selected:
                spec = self.robot.spec(name)
                rows.append({**_row(name, spec.arguments, spec.description), "shape": None, "operations": None})
        return rows

    def law_functions(self, law: Law) -> Mapping[str, ca.Function]:
        """A law's step, and `initial` if it has one, by their C symbols."""
        functions = [function for function in (law.step, law.initial) if function is not None]
        return {f"{self.name}_{function.name()}": function for function in functions}

    @property
    def straight_functions(self) -> Mapping[str, ca.Function]:
        """All that is straight-line code, functions, groups, tables of loops and laws, by symbol."""
        straight = [f for f in self.functions if f.name not in self.loops.functions]
        table = {f.symbol: self.robot.function(f.name) for f in straight}
        for group, names in zip(self.function_groups, self._groups, strict=True):
            table[group.symbol] = self.robot.function_of_group(names)
        if self.loops.functions:
            table |= {self.loops.symbol(name): looped.function for name, looped in self.loops.tables.items()}
        for law in self.laws:
            table |= self.law_functions(law)
        return table

    @cached_property
    def core(self) -> CCore:
        """The C core of functions and laws."""
        written = write_functions(self.straight_functions)
        sizes = {symbol: size for symbol, (_, size) in written.items()}
        loops, more = self.loops.source(sizes)
        definitions = in_parts([*(text for text, _ in written.values()), loops])
        return make_c_core(self.name, definitions, {**sizes, **more})

    @cached_property
    def arguments(self) -> Mapping[str, Entry]:
        """Entries of every argument, with its default: the file's values for parameters, zero for signals."""
        entries = {}
        taken = {a for f in self.functions for a in f.arguments} | {
            a for g in self.function_groups for a in g.arguments
        }
        for name, argument in self.robot.arguments.items():
            if name in ON_REQUEST and name not in taken:
                continue
            default = np.array(argument.default)[:, None]
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
                group,
                symbol.shape,
                self.robot.arguments[group].unit or "1",
                self.robot.arguments[group].description or group,
                self._symbolic_values(group, group),
            )
            for group, symbol in self.robot.parameters.symbols.items()
        }

    def _symbolic_values(self, group: str, mask_of: str) -> np.ndarray:
        return np.array(self.model.parameters(group))[list(self.model.symbolic[mask_of])][:, None]
