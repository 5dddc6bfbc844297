"""CasADi's list of instructions as values that are written once, which every language is emitted from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import casadi as ca

from thunder_dynamics.errors import BuildError

ARITHMETIC = {
    ca.OP_ADD: "{0} + {1}",
    ca.OP_SUB: "{0} - {1}",
    ca.OP_MUL: "{0} * {1}",
    ca.OP_DIV: "{0} / {1}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0} * {0}",
    ca.OP_TWICE: "{0} + {0}",
    ca.OP_INV: "1.0 / {0}",
}
"""Operations by CasADi's code that all languages write alike, of the operands."""


class Element(NamedTuple):
    """Element of an argument or a result, column by column."""

    of: int
    place: int


Operand = int | float | Element
"""The instruction of that number, a constant, or an element of an argument."""


class Instruction(NamedTuple):
    """One of CasADi's operations, of operands; `result` is the element that it writes, if that is all it does."""

    code: int
    operands: tuple[Operand, ...]
    number: int
    result: Element | None


def read_instructions(symbol: str, function: ca.Function) -> Iterator[Instruction]:
    """Instructions of a function, whose places CasADi writes again and again; constants and arguments are operands.

    Raises:
        BuildError: naming `symbol`, if the function is not expanded to scalars or has free variables.
    """
    if not function.is_a("SXFunction") or function.has_free():
        raise BuildError("only scalar-expanded functions without free variables compile", where=symbol)
    holds: dict[int, Operand] = {}
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        inputs, outputs = function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_CONST:
            holds[outputs[0]] = float(function.instruction_constant(k))
        elif code == ca.OP_INPUT:
            holds[outputs[0]] = Element(*inputs)
        else:
            result = Element(*outputs) if code == ca.OP_OUTPUT else None
            yield Instruction(code, tuple(holds[place] for place in inputs), k, result)
            if result is None:
                holds[outputs[0]] = k
