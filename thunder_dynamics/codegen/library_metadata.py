"""<robot>_library.c: the library's own metadata as constants, behind the one symbol of thunder_abi.h."""

from __future__ import annotations

import math
from collections.abc import Sequence

from thunder_dynamics.codegen.c_core import OF_LANES, OF_SINGLE_LANES
from thunder_dynamics.codegen.package import FunctionGroup, GeneratedFunction, Package
from thunder_dynamics.codegen.text import c_array, c_double, c_string, template
from thunder_dynamics.entries import Entry, make_entry
from thunder_dynamics.law import SIGNALS, Law
from thunder_dynamics.version import __version__

PREFIX = "thunder__"
"""Of every name in the file: no robot and no function may hold two underscores, so nothing can collide."""


_EVAL = "(const double** arg, double** res, long long* iw, double* w, int mem)"
"""Of a function in lanes, which has vectors there, as a thunder_eval."""


class _Constants:
    """Collects definitions of constant arrays and hands out their names."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._count = 0

    def doubles(self, values: Sequence[float]) -> str:
        name = f"{PREFIX}d{self._count}"
        self._count += 1
        self.text.append(c_array(name, values))
        return name

    def strings(self, name: str, values: Sequence[str]) -> None:
        self.text.append(f"static const char* const {name}[] = {{{', '.join(c_string(v) for v in values)}}};\n")

    def entry(self, entry: Entry, offset: int = 0) -> str:
        """Initialiser of a thunder_entry; matrices column-major."""
        arrays = (self.doubles(v.ravel(order="F").tolist()) for v in (entry.default, entry.lower, entry.upper))
        texts = (c_string(t) for t in (entry.name, entry.unit, entry.description))
        rows, cols = entry.shape
        return f"{{{', '.join(texts)}, {rows}, {cols}, {offset}, {int(entry.flags)}, {', '.join(arrays)}}}"

    def entries(self, name: str, entries: Sequence[Entry], *, offsets: bool = True) -> str:
        """Define an array of entries; returns its name, or NULL for none."""
        if not entries:
            return "NULL"
        offset, rows = 0, []
        for entry in entries:
            rows.append("  " + self.entry(entry, offset))
            offset += entry.size if offsets else 0
        self.text.append(f"static const thunder_entry {name}[] = {{\n" + ",\n".join(rows) + "\n};\n")
        return name

    def signal(self, name: str, entries: Sequence[Entry]) -> str:
        """Initialiser of a thunder_signal."""
        size = sum(e.size for e in entries)
        return f"{{{size}, {len(entries)}, {self.entries(name, entries)}}}"


def library_source(package: Package) -> str:
    """Text of <robot>_library.c."""
    constants = _Constants()
    constants.strings(f"{PREFIX}joint_names", package.model.joint_names)
    constants.strings(f"{PREFIX}link_names", package.model.link_names)
    functions = [_function(constants, package, f) for f in package.functions]
    functions += [_function_group(constants, package, group) for group in package.function_groups]
    laws = [_law(constants, package, law) for law in package.laws]
    groups = [f"{{{c_string(name)}, {constants.entry(entry)}}}" for name, entry in package.groups.items()]
    limits = [link.joint.limits for link in package.model.links]
    names = ("lower", "upper", "velocity", "acceleration", "effort", "effort_rate")
    limit_arrays = [constants.doubles([getattr(limit, name) for limit in limits]) for name in names]
    pi = constants.doubles(package.model.pi.tolist())
    rotors = ", ".join("NAN" if math.isnan(rotor) else c_double(rotor) for rotor in package.model.drive_inertias)
    return template("library.c").substitute(
        robot=package.name,
        constants="".join(constants.text),
        functions=_table("thunder_function", f"{PREFIX}functions", functions),
        laws=_table("thunder_law", f"{PREFIX}laws", laws),
        groups=_table("thunder_parameter_group", f"{PREFIX}parameter_groups", groups),
        version=c_string(__version__),
        hash=c_string(package.content_hash),
        lanes="THUNDER_LANES" if package.has_lanes else 0,
        single_lanes="2 * THUNDER_LANES" if package.has_single_lanes else 0,
        declarations=_declarations(package),
        n_joints=package.model.n,
        limits=", ".join(limit_arrays),
        pi=pi,
        rotors=rotors,
        n_functions=len(functions),
        n_laws=len(laws),
        n_groups=len(groups),
    )


def _function(constants: _Constants, package: Package, f: GeneratedFunction) -> str:
    output = make_entry("out", (f.rows, f.cols), "SI", f.description or f.name)
    return _called(constants, package, f, f.description, [output])


def _function_group(constants: _Constants, package: Package, group: FunctionGroup) -> str:
    outputs = [make_entry(f.name, (f.rows, f.cols), "SI", f.description or f.name) for f in group.results]
    return _called(constants, package, group, f"{', '.join(f.name for f in group.results)} together.", outputs)


def _called(
    constants: _Constants, package: Package, f: GeneratedFunction | FunctionGroup, what: str, outputs: Sequence[Entry]
) -> str:
    inputs = [package.arguments[a] for a in f.arguments]
    taken = constants.entries(f"{PREFIX}in_{f.symbol}", inputs, offsets=False)
    given = constants.entries(f"{PREFIX}out_{f.symbol}", outputs, offsets=False)
    work = package.core.work_sizes[f.symbol]
    head = f"{c_string(f.name)}, {c_string(what)}, {len(inputs)}, {len(outputs)}"
    return f"{{{head}, {taken}, {given}, {f.symbol}, 0, {work}, {_in_lanes(package, f.symbol)}}}"


def _law(constants: _Constants, package: Package, law: Law) -> str:
    signals = [constants.signal(f"{PREFIX}{law.name}_{kind}", getattr(law, kind)) for kind in SIGNALS]
    symbols = package.law_functions(law)
    work = max(package.core.work_sizes[symbol] for symbol in symbols)
    step, initial = (*symbols, "NULL")[:2]
    head = f"{c_string(law.name)}, {c_string(law.description)}, {law.reference_kind.value}"
    return f"{{{head}, {', '.join(signals)}, {step}, {initial}, 0, {work}, {_in_lanes(package, step)}}}"


def _declarations(package: Package) -> str:
    symbols = package.core.work_sizes
    lanes = (f"int {symbol}{OF_LANES}{_EVAL};\n" for symbol in symbols if package.has_lanes)
    single = _EVAL.replace("double", "float")
    return "".join([*lanes, *(f"int {s}{OF_SINGLE_LANES}{single};\n" for s in symbols if package.has_single_lanes)])


def _in_lanes(package: Package, symbol: str) -> str:
    lanes = f"{symbol}{OF_LANES}" if package.has_lanes else "NULL"
    return lanes + ", " + (f"{symbol}{OF_SINGLE_LANES}" if package.has_single_lanes else "NULL")


def _table(kind: str, name: str, rows: Sequence[str]) -> str:
    if not rows:
        return f"#define {name} NULL\n"
    return f"static const {kind} {name}[] = {{\n  " + ",\n  ".join(rows) + "\n};\n"
