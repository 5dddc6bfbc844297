"""<robot>_jax.py and <robot>_torch.py: one array operation for each of CasADi's, over all states at once.

Both libraries differentiate what is written so. CasADi's conditional is a choice between two values that both exist:
where the one that is not taken comes from an operation with an infinite derivative, reverse-mode differentiation makes
0·∞ of it. Operations that only such a choice uses get a harmless operand where they are not taken.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from thunder_dynamics.codegen.instructions import ARITHMETIC, Element, Instruction, Operand
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.targets.routines import Routine, read_routines
from thunder_dynamics.codegen.text import comment_text, template
from thunder_dynamics.law import SIGNALS, Law
from thunder_dynamics.version import __version__

LIBRARIES: Mapping[str, Mapping[str, str]] = {
    "jax": {
        "library": "JAX",
        "note": "\nOn a processor compile by jax.jit(f, compiler_options={'xla_disable_hlo_passes': 'fusion'}).\n"
        "Otherwise XLA computes a value anew wherever it is used, and may take hundreds of times as long.\n",
        "imports": "import jax.numpy as _xp\nfrom jax.scipy.special import erf as _erf",
        "array": "_xp.asarray(value)",
        "constant": "_xp.asarray(rows)",
    },
    "torch": {
        "library": "PyTorch",
        "note": "",
        "imports": "import torch as _xp\nfrom torch import erf as _erf",
        "array": "_xp.as_tensor(value)",
        "constant": "_xp.tensor(rows, dtype=_xp.float64)",
    },
}
"""What differs between the array libraries: the rest has the same names in all of them."""

_UNARY = "sqrt sin cos tan sinh cosh tanh exp log log1p expm1 floor ceil"
_INVERSE = "sin cos tan sinh cosh tanh"

OPERATIONS = {
    ca.OP_ASSIGN: "{0}",
    **ARITHMETIC,
    ca.OP_POW: "{0} ** {1}",
    ca.OP_CONSTPOW: "{0} ** {1}",
    ca.OP_LT: "_number({0} < {1}, {2})",
    ca.OP_LE: "_number({0} <= {1}, {2})",
    ca.OP_EQ: "_number({0} == {1}, {2})",
    ca.OP_NE: "_number({0} != {1}, {2})",
    ca.OP_NOT: "_number({0} == 0.0, {2})",
    ca.OP_AND: "_number(({0} != 0.0) & ({1} != 0.0), {2})",
    ca.OP_OR: "_number(({0} != 0.0) | ({1} != 0.0), {2})",
    ca.OP_IF_ELSE_ZERO: "_xp.where({0} != 0.0, {1}, 0.0)",
    ca.OP_FMIN: "_xp.where({0} > {1}, {1}, {0})",
    ca.OP_FMAX: "_xp.where({0} < {1}, {1}, {0})",
    ca.OP_FABS: "_xp.abs({0})",
    ca.OP_SIGN: "_sign({0})",
    ca.OP_ERF: "_erf({0})",
    ca.OP_ATAN2: "_xp.arctan2({0}, {1})",
    ca.OP_REMAINDER: "_remainder({0}, {1})",
    **{getattr(ca, f"OP_{name.upper()}"): f"_xp.{name}({{0}})" for name in _UNARY.split()},
    **{getattr(ca, f"OP_A{name.upper()}"): f"_xp.arc{name}({{0}})" for name in _INVERSE.split()},
    **{getattr(ca, f"OP_{name.upper()}"): f"_xp.{name}({{0}}, {{1}})" for name in ("fmod", "copysign", "hypot")},
}
"""Python of an operation by CasADi's code, of the operands; {2} is one that is an array."""

_ARRAYS_ONLY = frozenset(
    {ca.OP_IF_ELSE_ZERO, ca.OP_ATAN2, ca.OP_REMAINDER, ca.OP_FMOD, ca.OP_COPYSIGN, ca.OP_HYPOT, ca.OP_FMIN, ca.OP_FMAX}
)
"""Operations of two operands of which neither may be a number: of where, PyTorch rounds one to single precision."""

_SINGULAR = {
    **dict.fromkeys((ca.OP_INV, ca.OP_SQRT, ca.OP_LOG, ca.OP_LOG1P, ca.OP_EXP, ca.OP_POW), 0),
    **dict.fromkeys((ca.OP_CONSTPOW, ca.OP_ASIN, ca.OP_ACOS, ca.OP_ATANH), 0),
    **dict.fromkeys((ca.OP_DIV, ca.OP_ATAN2, ca.OP_HYPOT), 1),
}
"""Operations that may be infinite or have an infinite derivative, and the operand of which 0.5 prevents it."""


def array_source(package: Package, library: str, digest: str) -> str:
    """Text of <robot>_<library>.py.

    Args:
        library: A key of `LIBRARIES`.
        digest: Hash of what determines it.

    Raises:
        BuildError: naming an operation that arrays lack.
    """
    routines = read_routines(package, OPERATIONS, LIBRARIES[library]["library"])
    layouts = {law.step.name(): _layout(law) for law in package.laws}
    return template("arrays_py.txt").substitute(
        LIBRARIES[library],
        robot=package.name,
        version=__version__,
        hash=digest,
        defaults=_defaults_text(package),
        functions="\n\n".join(_function_text(one, layouts.get(one.name, "")) for one in routines),
    )


def _defaults_text(package: Package) -> str:
    """Values of parameter groups, and of gains and state of laws."""
    values: dict[str, Any] = {name: entry.default.ravel(order="F").tolist() for name, entry in package.groups.items()}
    for law in package.laws:
        kinds = {kind: getattr(law, kind) for kind in ("state", "gains")}
        values[law.step.name()] = {
            kind: [value for entry in entries for value in entry.default.ravel(order="F").tolist()]
            for kind, entries in kinds.items()
        }
    return repr(values)


def _layout(law: Law) -> str:
    """Where the entries of a law's signals lie, as lines of a docstring."""
    lines = []
    for kind in SIGNALS:
        begin, parts = 0, []
        for entry in getattr(law, kind):
            parts.append(f"{entry.name} {begin}:{begin + entry.size} [{comment_text(entry.unit)}]")
            begin += entry.size
        lines += [f"    {kind}: {', '.join(parts)}\n"] if parts else []
    return "".join(lines)


def _function_text(routine: Routine, layout: str) -> str:
    names = [_python_name(name) for name in routine.arguments]
    shapes = routine.arguments.values()
    lines = [f"    x{k} = _split({names[k]!r}, {names[k]}, {shape})" for k, shape in enumerate(shapes) if all(shape)]
    given = [f"x{k}" for k, shape in enumerate(shapes) if all(shape)]
    text, statements = _Names(routine), []
    for one in routine.instructions:
        expression = _expression(one, text)
        statements.append(f"    {text.new(one)} = {expression}")
    joined = [
        _joined([text(element) for element in elements], shape, given)
        for elements, shape in zip(routine.elements, routine.results.values(), strict=True)
    ]
    head = f"def {_python_name(routine.name)}({', '.join(names)}):\n"
    doc = f'    """{comment_text(routine.description)}\n\n    {routine.signature}\n{layout}    """\n'
    return head + doc + "\n".join([*lines, *statements, f"    return {', '.join(joined)}"]) + "\n"


def _joined(texts: Sequence[str], shape: tuple[int, ...], given: Sequence[str]) -> str:
    """A result, of its elements column by column."""
    rows = shape[0]
    by_rows = ", ".join(texts[i] for k in range(rows) for i in range(k, len(texts), rows))
    return f"_join([{by_rows}], {shape}, {', '.join(given)})" if given else f"_constant([{by_rows}]).reshape({shape})"


class _Names:
    """Names of operands; one is given again after the last use of its value, so that its memory is free then."""

    def __init__(self, routine: Routine) -> None:
        self.guards = _guards(routine)
        self._last: dict[int, float] = {}
        for one in routine.instructions:
            self._last |= dict.fromkeys(_values(one.operands), one.number)
        for elements in routine.elements:
            self._last |= dict.fromkeys(_values(elements), math.inf)
        self._names: dict[int, str] = {}
        self._free: list[str] = []
        self._count = 0

    def __call__(self, operand: Operand) -> str:
        if isinstance(operand, Element):
            return "x{}[{}]".format(*operand)
        if isinstance(operand, int):
            return self._names[operand]
        text = "_nan" if math.isnan(operand) else repr(operand).replace("inf", "_inf")
        return f"({text})" if text.startswith("-") else text

    def new(self, one: Instruction) -> str:
        """Name of the value of an instruction, once its operands are read."""
        ended = {value for value in _values(one.operands) if self._last[value] == one.number}
        self._free += [self._names[value] for value in sorted(ended)]
        if not self._free:
            self._free.append(f"a{self._count}")
            self._count += 1
        self._names[one.number] = self._free.pop()
        return self._names[one.number]


def _expression(one: Instruction, text: _Names) -> str:
    is_array = [not isinstance(operand, float) for operand in one.operands]
    texts = [text(operand) for operand in one.operands]
    array = texts[is_array.index(True)]
    if one.code in _ARRAYS_ONLY:
        texts = [
            each if known else f"_xp.full_like({array}, {each})" for each, known in zip(texts, is_array, strict=True)
        ]
    if guards := text.guards.get(one.number):
        taken = " & ".join(f"({text(guard)} != 0.0)" for guard in guards)
        texts[_SINGULAR[one.code]] = f"_xp.where({taken}, {texts[_SINGULAR[one.code]]}, 0.5)"
    return OPERATIONS[one.code].format(*texts, *[""] * (2 - len(texts)), array)


def _guards(routine: Routine) -> dict[int, list[int]]:
    """Conditions without any of which a singular operation is not used, computed before it."""
    used: dict[int, frozenset[int]] = {}
    for elements in routine.elements:
        used |= dict.fromkeys(_values(elements), frozenset())
    guards = {}
    for one in reversed(routine.instructions):
        mine = used.get(one.number, frozenset())
        known = sorted(guard for guard in mine if guard < one.number)
        if one.code in _SINGULAR and known and not isinstance(one.operands[_SINGULAR[one.code]], float):
            guards[one.number] = known
        chosen = _values(one.operands[1:]) if one.code == ca.OP_IF_ELSE_ZERO else []
        for value in _values(one.operands):
            seen = mine | set(_values(one.operands[:1])) if value in chosen else mine
            used[value] = used[value] & seen if value in used else seen
    return guards


def _values(operands: Iterable[Operand]) -> list[int]:
    """Those that are results of instructions."""
    return [operand for operand in operands if isinstance(operand, int)]


def _python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name
