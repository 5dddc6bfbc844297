"""The C core: C99 of every function and law, from CasADi's instructions, in pieces that a compiler can digest.

A function is straight-line code: one constant for each instruction, no branch, no call but of libm. Its results do not
overlap its arguments (thunder_abi.h), which `restrict` tells the compiler. The same text computes one state, or in the
lanes of a vector as many as there are in a register: `thunder_real` is what templates/core.h makes it. Functions of
more than `PIECE_LIMIT` instructions are split into pieces that hand their live values on through the work vector,
because register allocation is superlinear in the size of a function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from thunder_dynamics.codegen.instructions import ARITHMETIC, Element, read_instructions
from thunder_dynamics.codegen.text import c_double, template
from thunder_dynamics.errors import BuildError

PIECE_LIMIT = 8000
"""Instructions of CasADi in one C function before it is split."""

PIECE_SIZE = 2000
"""Statements in each piece of a split function."""

ANGLES = 4
"""Of which `thunder_sincos` takes a multiple at once."""

SIGNATURE = "(const thunder_real** arg, thunder_real** res, long long* iw, thunder_real* w, int mem)"
"""Of every function: `thunder_eval` of thunder_abi.h."""

OF_LANES, OF_SINGLE_LANES = "__lanes", "__single"
"""End the symbol of a function in lanes, as in templates/core.h; no name of a robot or function has two underscores."""

_LIBM = "sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log log1p expm1 erf floor ceil fabs"
_LIBM_PAIRS = "pow fmod copysign atan2 hypot remainder"

OPERATIONS = {
    ca.OP_ASSIGN: "{0}",
    **ARITHMETIC,
    **{
        getattr(ca, f"OP_{name.upper()}"): f"thunder_{name}({{0}}, {{1}})"
        for name in ("lt", "le", "eq", "ne", "and", "or", "if_else_zero", "fmin", "fmax")
    },
    **{getattr(ca, f"OP_{name.upper()}"): f"thunder_{name}({{0}})" for name in ("not", "sign")},
    ca.OP_POW: "THUNDER_LIBM(pow)({0}, {1})",
    ca.OP_CONSTPOW: "THUNDER_LIBM(pow)({0}, {1})",
    **{getattr(ca, f"OP_{name.upper()}"): f"THUNDER_LIBM({name})({{0}})" for name in _LIBM.split()},
    **{
        getattr(ca, f"OP_{name.upper()}"): f"THUNDER_LIBM({name})({{0}}, {{1}})"
        for name in _LIBM_PAIRS.split()
        if name != "pow"
    },
}
"""C of an operation by CasADi's code, of the operands."""

_CIRCLES = {ca.OP_SIN: "sine", ca.OP_COS: "cosine"}


@dataclass(frozen=True)
class CCore:
    """Text of <robot>_gen.c and <robot>_gen.h, and the size of the work vector of each function."""

    source: str
    header: str
    work_sizes: Mapping[str, int]


@dataclass(frozen=True)
class _Statement:
    """A value of that number, or a result, of the values that are read."""

    text: str
    reads: tuple[int, ...]
    value: int | None = None

    def __str__(self) -> str:
        made = "" if self.value is None else f"const thunder_real {_name(self.value)} = "
        return f"  {made}{self.text};\n"


def _name(value: int) -> str:
    return f"a{value}"


def _literal(operand: float | Element) -> str:
    """C of a constant or an element of an argument."""
    if isinstance(operand, Element):
        return "x{}[{}]".format(*operand)
    literal = "NAN" if math.isnan(operand) else c_double(operand)
    return f"({literal})" if literal.startswith("-") else literal


def write_functions(functions: Mapping[str, ca.Function]) -> dict[str, tuple[str, int]]:
    """C definitions and the sizes of their work vectors; `functions` maps C symbols to CasADi functions.

    Raises:
        BuildError: if a function is not expanded to scalars, has free variables, or an operation that C lacks.
    """
    written = {symbol: _Function(symbol, function) for symbol, function in functions.items()}
    return {symbol: (one.text, one.work_size) for symbol, one in written.items()}


def make_c_core(robot: str, definitions: str, work_sizes: Mapping[str, int]) -> CCore:
    """Make the C core of a robot from definitions of its functions, whose symbols `work_sizes` has."""
    declarations = "".join(f"int {symbol}{SIGNATURE};\n" for symbol in work_sizes)
    others = "".join(f"#define {symbol} THUNDER_IN_LANES({symbol})\n" for symbol in work_sizes)
    each = "".join(f"THUNDER_EACH({name})\n" for name in _LIBM.split() if name not in ("sqrt", "fabs"))
    each += "".join(f"THUNDER_EACH_PAIR({name})\n" for name in _LIBM_PAIRS.split())
    return CCore(
        template("core.c").substitute(robot=robot, each=each, definitions=definitions),
        template("core.h").substitute(robot=robot, declarations=declarations, others=others),
        work_sizes,
    )


class _Function:
    """One function in C."""

    def __init__(self, symbol: str, function: ca.Function) -> None:
        self._symbol = symbol
        self._pointers = "".join(
            [f"  const thunder_real* restrict x{k} = arg[{k}];\n" for k in range(function.n_in())]
            + [f"  thunder_real* restrict r{k} = res[{k}];\n" for k in range(function.n_out())]
        )
        unused = [f"x{k}" for k in range(function.n_in())] + [f"r{k}" for k in range(function.n_out())]
        self._unused = "".join(f"  (void){name};\n" for name in (*unused, "arg", "res", "w"))
        self._angles: list[str] = []
        statements = list(self._statements(function))
        size = max(len(statements), 1) if function.n_instructions() <= PIECE_LIMIT else PIECE_SIZE
        self._pieces = [statements[k : k + size] for k in range(0, len(statements), size)]

    @cached_property
    def _handed(self) -> list[tuple[list[int], list[int]]]:
        """Values that each piece takes from those before it, and that it leaves for those after it."""
        reads = [{value for one in piece for value in one.reads} for piece in self._pieces]
        made = [{one.value for one in piece if one.value is not None} for piece in self._pieces]
        later: set[int] = set()
        handed = []
        for own, new in zip(reversed(reads), reversed(made), strict=True):
            handed.append((sorted(own - new), sorted(new & later)))
            later |= own
        return handed[::-1]

    @cached_property
    def _slots(self) -> dict[int, int]:
        """Places in the work vector of the values that are handed on."""
        return {value: k for k, value in enumerate(value for _, left in self._handed for value in left)}

    @property
    def work_size(self) -> int:
        """Size of its work vector."""
        return len(self._slots)

    @property
    def text(self) -> str:
        """The definition, after those of its pieces."""
        head, end = f"int {self._symbol}{SIGNATURE} {{\n", "  (void)iw;\n  (void)mem;\n  return 0;\n}\n"
        if len(self._pieces) < 2:
            body = "".join(str(one) for piece in self._pieces for one in piece)
            return head + self._pointers + self._circles + body + self._unused + end
        calls = "".join(f"  {self._symbol}_{k}(arg, res, w);\n" for k in range(len(self._pieces)))
        return "".join(map(self._piece_text, range(len(self._pieces)))) + head + calls + end

    @property
    def _circles(self) -> str:
        """Sines and cosines of all angles that are arguments, at once; none of a function in pieces."""
        if not self._angles:
            return ""
        count = len(self._angles)
        size = -(-count // ANGLES) * ANGLES
        return (
            f"  const thunder_real angle[{size}] = {{{', '.join(self._angles)}}};\n"
            f"  thunder_real sine[{size}], cosine[{size}];\n"
            f"  thunder_sincos(angle, sine, cosine, {count});\n"
        )

    def _piece_text(self, k: int) -> str:
        taken, left = self._handed[k]
        head = f"THUNDER_NOINLINE static void {self._symbol}_{k}"
        loads = "".join(f"  const thunder_real {_name(value)} = w[{self._slots[value]}];\n" for value in taken)
        stores = "".join(f"  w[{self._slots[value]}] = {_name(value)};\n" for value in left)
        body = "".join(map(str, self._pieces[k]))
        signature = "(const thunder_real** arg, thunder_real** res, thunder_real* restrict w)"
        return f"{head}{signature} {{\n{self._pointers}{loads}{body}{stores}{self._unused}}}\n\n"

    def _on_circle(self, function: str, angle: str) -> str:
        """The sine or cosine of an argument, computed before all else."""
        if angle not in self._angles:
            self._angles.append(angle)
        return f"{function}[{self._angles.index(angle)}]"

    def _statements(self, function: ca.Function) -> Iterator[_Statement]:
        """The instructions in C."""
        holds: dict[int, int | str] = {}
        count, is_whole = 0, function.n_instructions() <= PIECE_LIMIT
        for code, inputs, number, result in read_instructions(self._symbol, function):
            operands = [holds[one] if isinstance(one, int) else _literal(one) for one in inputs]
            names = [_name(one) if isinstance(one, int) else one for one in operands]
            if code not in ARITHMETIC:  # of a number and a vector C knows what these are
                names = [
                    f"thunder_all({a})" if isinstance(one, float) else a for a, one in zip(names, inputs, strict=True)
                ]
            reads = tuple(one for one in operands if isinstance(one, int))
            if result is not None:
                yield _Statement("r{}[{}] = ".format(*result) + names[0], reads)
            elif code in _CIRCLES and is_whole and names[0].startswith("x"):
                holds[number] = self._on_circle(_CIRCLES[code], names[0])
            elif code not in OPERATIONS:
                raise BuildError(f"CasADi's operation {code} has no C", where=self._symbol, valid="arithmetic")
            else:
                yield _Statement(OPERATIONS[code].format(*names), reads, count)
                holds[number] = count
                count += 1
