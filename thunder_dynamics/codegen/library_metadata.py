"""The library's own metadata: the structures of thunder_abi.h as values, and as constants in <robot>_library.c."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from thunder_dynamics.codegen.c_core import OF_LANES, OF_SINGLE_LANES
from thunder_dynamics.codegen.package import FunctionGroup, GeneratedFunction, Package
from thunder_dynamics.codegen.text import c_double, c_string, template
from thunder_dynamics.entries import Entry, make_entry
from thunder_dynamics.law import SIGNALS, Law
from thunder_dynamics.version import __version__

PREFIX = "thunder__"
"""Of every name in the file: no robot and no function may hold two underscores, so nothing can collide."""


_EVAL = "(const double** arg, double** res, long long* iw, double* w, int mem)"
"""Of a function in lanes, which has vectors there, as a thunder_eval."""


@dataclass(frozen=True)
class Table:
    """A pointer to constants of one C type, one after the other; NULL if there are none, but for numbers."""

    kind: str
    rows: Sequence[Value] | bytes


@dataclass(frozen=True)
class Symbol:
    """A pointer to a function."""

    name: str


@dataclass(frozen=True)
class Macro:
    """A number that the compiler knows."""

    name: str


Value: TypeAlias = "int | float | str | None | Table | Symbol | Macro | tuple[Value, ...]"
"""Of a field: a text is a pointer to its characters, None a pointer to nothing, a tuple a structure, field by field."""


def library_value(package: Package, work_sizes: Mapping[str, int], abi_version: Value) -> tuple[Value, ...]:
    """The `thunder_library` of a robot.

    Args:
        package: The robot.
        work_sizes: Of every function, by symbol.
        abi_version: That of thunder_abi.h.
    """
    model = package.model
    functions = [_function(package, f, work_sizes) for f in package.functions]
    functions += [_function_group(package, group, work_sizes) for group in package.function_groups]
    laws = [_law(package, law, work_sizes) for law in package.laws]
    groups = [(name, _entry(entry)) for name, entry in package.groups.items()]
    limits = [link.joint.limits for link in model.links]
    names = ("lower", "upper", "velocity", "acceleration", "effort", "effort_rate")
    by_state = ("velocity_offset", "velocity_deceleration", "effort_corner_velocity", "effort_no_load_velocity")
    return (
        abi_version,
        package.name,
        __version__,
        package.content_hash,
        model.n,
        Table("char*", model.joint_names),
        Table("char*", model.link_names),
        *(_doubles([getattr(limit, name) for limit in limits]) for name in names),
        _doubles(model.pi.tolist()),
        Table("double", [Macro("NAN") if math.isnan(rotor) else rotor for rotor in model.drive_inertias]),
        Table("int", [int(link.joint.topology) for link in model.links]),
        *(_doubles([getattr(limit, name) for limit in limits]) for name in by_state),
        len(functions),
        Table("thunder_function", functions),
        len(laws),
        Table("thunder_law", laws),
        len(groups),
        Table("thunder_parameter_group", groups),
        Macro("THUNDER_LANES") if package.has_lanes else 0,
        Macro("2 * THUNDER_LANES") if package.has_single_lanes else 0,
    )


def library_source(package: Package) -> str:
    """Text of <robot>_library.c."""
    writer = _Constants()
    library = writer.text(library_value(package, package.core.work_sizes, Macro("THUNDER_ABI_VERSION")))
    return template("library.c").substitute(
        robot=package.name,
        declarations=_declarations(package),
        constants="".join(writer.definitions),
        library=library,
    )


class _Constants:
    """Writes values as initialisers in C; `definitions` are those of the tables that they point to."""

    def __init__(self) -> None:
        self.definitions: list[str] = []

    def text(self, value: Value) -> str:
        """Initialiser of a value."""
        if isinstance(value, tuple):
            return f"{{{', '.join(map(self.text, value))}}}"
        if isinstance(value, Table):
            return self._table(value)
        if isinstance(value, str):
            return c_string(value)
        if isinstance(value, float):
            return c_double(value)
        return "NULL" if value is None else str(getattr(value, "name", value))

    def _table(self, table: Table) -> str:
        """Name of a table; C demands an element, so one of no numbers has one that is not used."""
        rows = [self.text(row) for row in table.rows] or ["0.0"] * (table.kind == "double")
        if not rows:
            return "NULL"
        name = f"{PREFIX}{len(self.definitions)}"
        kind = table.kind.replace("char*", "char* const")
        between = ",\n  " if table.kind.startswith("thunder_") else ", "
        self.definitions.append(f"static const {kind} {name}[] = {{{between.join(rows)}}};\n")
        return name


def _doubles(values: Sequence[float]) -> Table:
    return Table("double", [float(value) for value in values])


def _entry(entry: Entry, offset: int = 0) -> tuple[Value, ...]:
    """A thunder_entry; matrices column-major."""
    arrays = [_doubles(v.ravel(order="F").tolist()) for v in (entry.default, entry.lower, entry.upper)]
    return (entry.name, entry.unit, entry.description, *entry.shape, offset, int(entry.flags), *arrays)


def _entries(entries: Sequence[Entry]) -> Table:
    """Those of a function, each a vector of its own."""
    return Table("thunder_entry", [_entry(entry) for entry in entries])


def _signal(entries: Sequence[Entry]) -> tuple[Value, ...]:
    """A thunder_signal."""
    offset, rows = 0, []
    for entry in entries:
        rows.append(_entry(entry, offset))
        offset += entry.size
    return (offset, len(entries), Table("thunder_entry", rows))


def _function(package: Package, f: GeneratedFunction, work_sizes: Mapping[str, int]) -> tuple[Value, ...]:
    output = make_entry("out", (f.rows, f.cols), "SI", f.description or f.name)
    return _called(package, f, f.description, [output], work_sizes)


def _function_group(package: Package, group: FunctionGroup, work_sizes: Mapping[str, int]) -> tuple[Value, ...]:
    outputs = [make_entry(f.name, (f.rows, f.cols), "SI", f.description or f.name) for f in group.results]
    return _called(package, group, f"{', '.join(f.name for f in group.results)} together.", outputs, work_sizes)


def _called(
    package: Package,
    f: GeneratedFunction | FunctionGroup,
    what: str,
    outputs: Sequence[Entry],
    work_sizes: Mapping[str, int],
) -> tuple[Value, ...]:
    inputs = [package.arguments[a] for a in f.arguments]
    head = (f.name, what, len(inputs), len(outputs), _entries(inputs), _entries(outputs))
    return (*head, Symbol(f.symbol), 0, work_sizes[f.symbol], *_in_lanes(package, f.symbol))


def _law(package: Package, law: Law, work_sizes: Mapping[str, int]) -> tuple[Value, ...]:
    signals = [_signal(getattr(law, kind)) for kind in SIGNALS]
    symbols = list(package.law_functions(law))
    work = max(work_sizes[symbol] for symbol in symbols)
    step, initial = (*map(Symbol, symbols), None)[:2]
    head = (law.name, law.description, int(law.reference_kind.value))
    return (*head, *signals, step, initial, 0, work, *_in_lanes(package, symbols[0]))


def _declarations(package: Package) -> str:
    symbols = package.core.work_sizes
    lanes = (f"int {symbol}{OF_LANES}{_EVAL};\n" for symbol in symbols if package.has_lanes)
    single = _EVAL.replace("double", "float")
    return "".join([*lanes, *(f"int {s}{OF_SINGLE_LANES}{single};\n" for s in symbols if package.has_single_lanes)])


def _in_lanes(package: Package, symbol: str) -> tuple[Symbol | None, Symbol | None]:
    return (
        Symbol(f"{symbol}{OF_LANES}") if package.has_lanes else None,
        Symbol(f"{symbol}{OF_SINGLE_LANES}") if package.has_single_lanes else None,
    )
