"""CasADi's list of instructions as values that are written once, which every language is emitted from.

A graph has no branches: CasADi's if_else_zero(c, x), which is x where c is true and zero elsewhere, takes x as it takes
any operand. What nothing but such an x needs may be left out where c is false: a language that branches asks for it
`in_blocks`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
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


LEAST_COST, MOST_INSTRUCTIONS = 100, 4000
"""Of a block: of less the branch, which may be mispredicted, is not worth it; of more compilers take too long.

A Panda's step takes 717 ns with blocks of 100 on, 735 with those of 30, 832 with those of 1000 alone.
"""

_SLOW = {ca.OP_DIV, ca.OP_INV, ca.OP_SQRT}
"""Operations that cost as much as ten others."""

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


def is_of_angle(one: Instruction) -> bool:
    """Whether it is the sine or cosine of an element of an argument: those of all may be computed at once."""
    return one.code in (ca.OP_SIN, ca.OP_COS) and isinstance(one.operands[0], Element)


class Block(NamedTuple):
    """What is computed only where a condition is true; `results` are the numbers of what is used outside of it."""

    condition: Operand
    body: tuple[Instruction | Block, ...]
    results: tuple[int, ...]


def in_blocks(instructions: Iterable[Instruction]) -> list[Instruction | Block]:
    """Instructions in another order, of which blocks hold what nothing outside needs where their condition is false.

    What if_else_zero(c, x) gives is outside of the block with x. There may be several blocks of one condition, where
    one needs what comes of another. Sines and cosines of arguments are outside, as they are computed all at once.
    """
    return _Arrangement(list(instructions)).items


class _Arrangement:
    """Instructions by the conditions under which they are needed, outermost first: their path."""

    def __init__(self, instructions: Sequence[Instruction]) -> None:
        self._users: dict[int, set[int]] = defaultdict(set)
        paths: dict[int, tuple[Operand, ...]] = {}
        costs: dict[tuple[Operand, ...], int] = defaultdict(int)
        for one in reversed(instructions):
            if is_of_angle(one):
                paths[one.number] = ()
            own = paths.setdefault(one.number, ())
            for length in range(1, len(own) + 1):
                costs[own[:length]] += 10 if one.code in _SLOW else 1
            for place, operand in enumerate(one.operands):
                if not isinstance(operand, int):
                    continue
                is_chosen = one.code == ca.OP_IF_ELSE_ZERO and place == 1 and one.operands[0] not in own
                path = (*own, one.operands[0]) if is_chosen else own
                paths[operand] = _common_start(paths.get(operand, path), path)
                self._users[operand].add(one.number)
        self._paths = {
            number: path[: sum(costs[path[:length]] >= LEAST_COST for length in range(1, len(path) + 1))]
            for number, path in paths.items()
        }
        self._made: set[Operand] = set()
        self.items = self._arranged(instructions, ())

    def _arranged(self, instructions: Sequence[Instruction], path: tuple[Operand, ...]) -> list[Instruction | Block]:
        """What is needed in all cases as soon as it can be made, blocks as late as all else allows."""
        items: list[Instruction | Block] = []
        waiting = list(instructions)
        while waiting:
            at_once, waiting = self._ready(waiting, lambda one: self._paths[one.number] == path)
            items += at_once
            first = next((one for one in waiting if self._is_ready(one) and self._paths[one.number] != path), None)
            if first is not None:
                block, waiting = self._block(waiting, self._paths[first.number][: len(path) + 1])
                items.append(block)
        return items

    def _block(self, waiting: list[Instruction], path: tuple[Operand, ...]) -> tuple[Block, list[Instruction]]:
        """A block of as much as can be made, and what is left."""
        group: list[Instruction] = []
        while True:
            more, waiting = self._ready(waiting, lambda one: self._paths[one.number][: len(path)] == path)
            if not more:
                break
            group += more
        numbers = {one.number for one in group[:MOST_INSTRUCTIONS]}
        self._made.difference_update(one.number for one in group)
        body = tuple(self._arranged(group[:MOST_INSTRUCTIONS], path))
        results = tuple(one.number for one in group[:MOST_INSTRUCTIONS] if not self._users[one.number] <= numbers)
        return Block(path[-1], body, results), group[MOST_INSTRUCTIONS:] + waiting

    def _ready(
        self, waiting: list[Instruction], is_wanted: Callable[[Instruction], bool]
    ) -> tuple[list[Instruction], list[Instruction]]:
        """Those wanted that can be made, one after the other, and what is left."""
        ready, left = list[Instruction](), list[Instruction]()
        for one in waiting:
            if is_wanted(one) and self._is_ready(one):
                ready.append(one)
                self._made.add(one.number)
            else:
                left.append(one)
        return ready, left

    def _is_ready(self, one: Instruction) -> bool:
        needs = (*one.operands, *self._paths[one.number])
        return all(operand in self._made for operand in needs if isinstance(operand, int))


def _common_start(one: tuple[Operand, ...], other: tuple[Operand, ...]) -> tuple[Operand, ...]:
    same = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:same]
