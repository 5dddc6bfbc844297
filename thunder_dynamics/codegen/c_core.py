"""The C core: C99 of every function and law, from CasADi's instructions, in pieces that a compiler can digest.

A function is straight-line code: one constant for each instruction, no call but of libm. Only blocks of instructions
that a condition needs (`in_blocks`) are functions of their own, which are called where it holds, in lanes in any of
them; blocks of the same text are one function. Results do not overlap arguments (thunder_abi.h), which `restrict` tells
the compiler. The same text computes one state, or in the lanes of a vector as many as there are in a register:
`thunder_real` is what templates/core.h makes it. Functions of more than `PIECE_LIMIT` statements are split into pieces
that hand their live values on through the work vector, because register allocation is superlinear in the size of a
function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import casadi as ca

from thunder_dynamics.codegen.instructions import (
    ARITHMETIC,
    Block,
    Element,
    Instruction,
    Operand,
    in_blocks,
    is_of_angle,
    read_instructions,
)
from thunder_dynamics.codegen.text import c_double, template
from thunder_dynamics.errors import BuildError

PIECE_LIMIT = 12000
"""Statements in one C function before it is split."""

PARTS = 4
"""Of the source, for compilers that run at the same time: time goes with its length."""

PIECE_SIZE = 2000
"""Statements in each piece of a split function."""

LONG = 2000
"""Statements of a function from which on it asks for its code ahead, if it is told that this may be in no cache."""

ANGLES = 4
"""Of which `thunder_sincos` takes a multiple at once."""

SIGNATURE = "(const thunder_real** arg, thunder_real** res, long long* iw, thunder_real* w, int mem)"
"""Of every function: `thunder_eval` of thunder_abi.h."""

OF_LANES, OF_SINGLE_LANES = "__lanes", "__single"
"""End the symbol of a function in lanes, as in templates/core.h; no name of a robot or function has two underscores."""

_LIBM = "sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log log1p expm1 erf floor ceil fabs"
_LIBM_PAIRS = "pow fmod copysign atan2 hypot remainder"

COMPARISONS = {ca.OP_LT: "{0} < {1}", ca.OP_LE: "{0} <= {1}", ca.OP_EQ: "{0} == {1}", ca.OP_NE: "{0} != {1}"}
LOGIC = {ca.OP_NOT: "{0} == 0", ca.OP_AND: "{0} & {1}", ca.OP_OR: "{0} | {1}"}
"""What makes masks, of numbers and of masks."""

OPERATIONS = {
    ca.OP_ASSIGN: "{0}",
    **ARITHMETIC,
    **COMPARISONS,
    **LOGIC,
    **{getattr(ca, f"OP_{name.upper()}"): f"thunder_{name}({{0}}, {{1}})" for name in ("if_else_zero", "fmin", "fmax")},
    ca.OP_SIGN: "thunder_sign({0})",
    ca.OP_POW: "THUNDER_LIBM(pow)({0}, {1})",
    ca.OP_CONSTPOW: "THUNDER_LIBM(pow)({0}, {1})",
    **{getattr(ca, f"OP_{name.upper()}"): f"THUNDER_LIBM({name})({{0}})" for name in _LIBM.split()},
    **{
        getattr(ca, f"OP_{name.upper()}"): f"THUNDER_LIBM({name})({{0}}, {{1}})"
        for name in _LIBM_PAIRS.split()
        if name != "pow"
    },
}
"""C of an operation by CasADi's code, of the operands; what logic takes, and if_else_zero first, are masks."""

_CIRCLES = {ca.OP_SIN: "sine", ca.OP_COS: "cosine"}


@dataclass(frozen=True)
class CCore:
    """Text of <robot>_gen.c and <robot>_gen.h, and the size of the work vector of each function."""

    source: str
    header: str
    work_sizes: Mapping[str, int]


@dataclass(frozen=True)
class _Statement:
    """C that makes values of those numbers, or a result, of the values that are read."""

    text: str
    reads: tuple[int, ...]
    makes: tuple[int, ...] = ()


class _Names(dict[int | Element, str]):
    """C of values as it was given, and of elements of arguments.

    Attributes:
        masks: C of those that are truths, whose numbers are made of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.masks: dict[int, str] = {}

    def __missing__(self, element: int | Element) -> str:
        if isinstance(element, int):
            raise KeyError(element)
        return "x{}[{}]".format(*element)

    def number(self, operand: Operand) -> str:
        """C of an operand; constants are no keys, as 1.0 is the same key as value 1."""
        if not isinstance(operand, float):
            return self[operand]
        literal = "NAN" if math.isnan(operand) else c_double(operand)
        return f"({literal})" if literal.startswith("-") else literal

    def vector(self, operand: Operand) -> str:
        """The same, where C does not know that a constant is one of every lane: all but arithmetic."""
        return f"thunder_all({self.number(operand)})" if isinstance(operand, float) else self.number(operand)

    def mask(self, operand: Operand) -> str:
        """C of an operand that is a truth."""
        known = self.masks.get(operand) if isinstance(operand, int) else None
        return known or f"({self.vector(operand)} != 0.0)"

    def make(self, value: int, place: int, is_mask: bool) -> str:
        """Name a value; returns its declaration."""
        if not is_mask:
            self[value] = f"a{place}"
            return f"  const thunder_real a{place}"
        self.masks[value], self[value] = f"m{place}", f"thunder_is(m{place})"
        return f"  const thunder_mask m{place}"


class _Inputs(_Names):
    """C of values in a block, whose inputs are all that it does not make."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[int | Element] = []

    def __missing__(self, value: int | Element) -> str:
        self.inputs.append(value)
        return self.setdefault(value, f"i[{len(self.inputs) - 1}]")


def write_functions(functions: Mapping[str, ca.Function]) -> dict[str, tuple[str, int]]:
    """C definitions and the sizes of their work vectors; `functions` maps C symbols to CasADi functions.

    Raises:
        BuildError: if a function is not expanded to scalars, has free variables, or an operation that C lacks.
    """
    written = {symbol: _Function(symbol, function) for symbol, function in functions.items()}
    return {symbol: (one.text, one.work_size) for symbol, one in written.items()}


def in_parts(definitions: Sequence[str]) -> str:
    """Definitions one after the other, of which THUNDER_PART=1 … `PARTS` compiles one part each; without it, all."""
    total, done, parts = sum(map(len, definitions)), 0, [""] * PARTS
    for text in definitions:
        parts[min(PARTS * done // max(total, 1), PARTS - 1)] += text + "\n"
        done += len(text)
    return "\n".join(
        f"#if !defined(THUNDER_PART) || THUNDER_PART == {k}\n{part}#endif\n" for k, part in enumerate(parts, 1)
    )


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
        self._names = _Names()
        self._blocks: dict[str, str] = {}
        items = in_blocks(read_instructions(symbol, function))
        self._is_whole = len(items) <= PIECE_LIMIT
        statements = list(self._statements(items, self._names))
        size = max(len(statements), 1) if self._is_whole else PIECE_SIZE
        self._part = f"THUNDER_SECTION({symbol}) " if len(statements) >= LONG else ""
        self._pieces = [statements[k : k + size] for k in range(0, len(statements), size)]

    @cached_property
    def _handed(self) -> list[tuple[list[int], list[int]]]:
        """Values that each piece takes from those before it, and that it leaves for those after it."""
        reads = [{value for one in piece for value in one.reads} for piece in self._pieces]
        made = [{value for one in piece for value in one.makes} for piece in self._pieces]
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
        """The definition, after those of its blocks and pieces."""
        blocks = "".join(f"THUNDER_NOINLINE static void {name}{body}" for body, name in self._blocks.items())
        head, end = f"{self._part}int {self._symbol}{SIGNATURE} {{\n", "  (void)iw;\n  (void)mem;\n  return 0;\n}\n"
        if self._part:
            blocks = f"THUNDER_LONG({self._symbol})\n{blocks}"
            head += f"  THUNDER_AHEAD({self._symbol})\n"
        if len(self._pieces) < 2:
            body = "".join(one.text for piece in self._pieces for one in piece)
            return blocks + head + self._pointers + self._circles + body + self._unused + end
        calls = "".join(f"  {self._symbol}_{k}(arg, res, w);\n" for k in range(len(self._pieces)))
        return blocks + "".join(map(self._piece_text, range(len(self._pieces)))) + head + calls + end

    @property
    def _circles(self) -> str:
        """Sines and cosines of all angles that are arguments, at once; none of a function in pieces."""
        if not self._angles:
            return ""
        used = len(self._angles)
        size = -(-used // ANGLES) * ANGLES
        return (
            f"  const thunder_real angle[{size}] = {{{', '.join(self._angles)}}};\n"
            f"  thunder_real sine[{size}], cosine[{size}];\n"
            f"  thunder_sincos(angle, sine, cosine, {used});\n"
        )

    def _piece_text(self, k: int) -> str:
        taken, left = self._handed[k]
        head = f"THUNDER_NOINLINE {self._part}static void {self._symbol}_{k}"
        masks = self._names.masks
        loads = "".join(
            f"  const thunder_mask {masks[value]} = w[{self._slots[value]}] != 0.0;\n"
            if value in masks
            else f"  const thunder_real {self._names[value]} = w[{self._slots[value]}];\n"
            for value in taken
        )
        stores = "".join(f"  w[{self._slots[value]}] = {self._names[value]};\n" for value in left)
        body = "".join(one.text for one in self._pieces[k])
        signature = "(const thunder_real** arg, thunder_real** res, thunder_real* restrict w)"
        return f"{head}{signature} {{\n{self._pointers}{loads}{body}{stores}{self._unused}}}\n\n"

    def _on_circle(self, function: str, angle: str) -> str:
        """The sine or cosine of an argument, computed before all else."""
        if angle not in self._angles:
            self._angles.append(angle)
        return f"{function}[{self._angles.index(angle)}]"

    def _statements(self, items: Sequence[Instruction | Block], names: _Names) -> Iterator[_Statement]:
        """Instructions and blocks in C; `names` is told of what they make."""
        places = count()
        for one in items:
            if isinstance(one, Block):
                names.update((result, f"a{next(places)}") for result in one.results)
                yield self._call(one, names)
                continue
            write = names.number if one.code in ARITHMETIC else names.mask if one.code in LOGIC else names.vector
            operands = [write(operand) for operand in one.operands]
            if one.code == ca.OP_IF_ELSE_ZERO:
                operands[0] = names.mask(one.operands[0])
            reads = tuple(operand for operand in one.operands if isinstance(operand, int))
            if one.result is not None:
                yield _Statement("  r{}[{}] = {};\n".format(*one.result, operands[0]), reads)
            elif self._is_whole and is_of_angle(one):
                names[one.number] = self._on_circle(_CIRCLES[one.code], operands[0])
            elif one.code not in OPERATIONS:
                raise BuildError(f"CasADi's operation {one.code} has no C", where=self._symbol, valid="arithmetic")
            else:
                made = names.make(one.number, next(places), one.code in COMPARISONS or one.code in LOGIC)
                yield _Statement(f"{made} = {OPERATIONS[one.code].format(*operands)};\n", reads, (one.number,))

    def _call(self, block: Block, names: _Names) -> _Statement:
        """A block's results, which are zero where it is not computed: its function is called with all that it reads."""
        own = _Inputs()
        body = "".join(one.text for one in self._statements(block.body, own))
        body += "".join(f"  o[{k}] = {own[result]};\n" for k, result in enumerate(block.results))
        body = f"(const thunder_real* restrict i, thunder_real* restrict o) {{\n{body}}}\n\n"
        function = self._blocks.setdefault(body, f"{self._symbol}_if{len(self._blocks)}")
        results = [names[result] for result in block.results]
        text = (
            f"  thunder_real {', '.join(f'{result} = thunder_all(0.0)' for result in results)};\n"
            f"  if (thunder_any({names.mask(block.condition)})) {{\n"
            f"    const thunder_real in[] = {{{', '.join(names[one] for one in own.inputs)}}};\n"
            f"    thunder_real out[{len(results)}];\n"
            f"    {function}(in, out);\n"
            f"{''.join(f'    {result} = out[{k}];{chr(10)}' for k, result in enumerate(results))}"
            "  }\n"
        )
        reads = tuple(operand for operand in (block.condition, *own.inputs) if isinstance(operand, int))
        return _Statement(text, reads, block.results)
