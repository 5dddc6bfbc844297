"""lib<robot>.so without a compiler: the object `runtime/interpreter.c`, and behind it the image of a robot.

The instructions are those that C is emitted from. The work vector begins with a function's constants; behind them
values share places whose last readers are past.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple, TypeAlias

import casadi as ca
import numpy as np

from thunder_dynamics.codegen.instructions import Block, Element, Instruction, Operand, in_blocks, read_instructions
from thunder_dynamics.codegen.library_metadata import Macro, Symbol, Table, Value, library_value
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.text import template
from thunder_dynamics.errors import BuildError

KIND = b"thunder1"
"""Ends a file with an image, as in interpreter.c."""

MOST_PROGRAMS = 1024
"""As many as interpreter.c has functions that call one."""


class Program(NamedTuple):
    """A function: its code, numbers of 32 bits as interpreter.c reads them, constants, and size of its work vector."""

    code: bytes
    constants: tuple[float, ...]
    work_size: int


def library_image(package: Package) -> bytes:
    """What lib<robot>.so holds behind the interpreter.

    Args:
        package: One without lanes and loops.

    Raises:
        BuildError: if there are too many functions, or one has an operation that the interpreter lacks.
    """
    programs = {symbol: make_program(symbol, function) for symbol, function in package.straight_functions.items()}
    if len(programs) > MOST_PROGRAMS:
        raise BuildError(f"{len(programs)} functions", where=package.name, valid=f"{MOST_PROGRAMS} without a compiler")
    sizes = {symbol: program.work_size for symbol, program in programs.items()}
    rows = [(Table("code", p.code), Table("double", p.constants), len(p.constants)) for p in programs.values()]
    library = library_value(package, sizes, _abi_version())
    return _Image(list(programs)).whole(library, Table("program", rows))


def make_program(symbol: str, function: ca.Function) -> Program:
    """Instructions of a function for the interpreter.

    Raises:
        BuildError: naming `symbol`, if the function has an operation that there is not.
    """
    return _Assembly(symbol, in_blocks(read_instructions(symbol, function))).program()


@cache
def _codes() -> tuple[dict[int, int], dict[str, int]]:
    """Codes of the interpreter by CasADi's, and of what it does beside."""
    names = re.findall(r"^THUNDER_OPERATION\((\w+),", template("operations.h").template, re.MULTILINE)
    others = ("input", "output", "skip", "end")
    return (
        {getattr(ca, f"OP_{name.upper()}"): code for code, name in enumerate(names)},
        {name: len(names) + k for k, name in enumerate(others)},
    )


_Key: TypeAlias = Operand | bytes
"""A value: the number of an instruction, an element of an argument, or the bytes of a constant."""


class _Step(NamedTuple):
    """An instruction before its values have places.

    Attributes:
        code: Of the interpreter.
        makes: The value that it writes, in the field `to`, or None.
        reads: The values that it reads, in the fields a and b.
        fields: to, a and b, as far as these are no values.
    """

    code: int
    makes: _Key | None
    reads: tuple[_Key, ...]
    fields: tuple[int, int, int] = (0, 0, 0)


class _Assembly:
    """One function. Values are numbers of instructions, elements of arguments and constants, by their bytes."""

    def __init__(self, symbol: str, items: Sequence[Instruction | Block]) -> None:
        self._symbol = symbol
        self._constants: dict[bytes, float] = {}
        self._elements: dict[Element, None] = {}
        self._operations, self._others = _codes()
        body = self._runs(items)
        inputs = [_Step(self._others["input"], one, (), (0, *one)) for one in self._elements]
        self._all = [inputs, *body, [_Step(self._others["end"], None, ())]]

    def program(self) -> Program:
        """Give values their places, those of values that nobody reads any more again."""
        last = {value: k for k, run in enumerate(self._all) for step in run for value in step.reads}
        places: dict[_Key | None, int] = {bits: place for place, bits in enumerate(self._constants)}
        free: list[int] = []
        size, code = len(places), list[int]()
        for k, run in enumerate(self._all):
            code += (run[0].code, len(run)) if run else ()
            for step in run:
                if step.makes is not None and step.makes not in places:
                    places[step.makes] = free.pop() if free else size
                    size = max(size, places[step.makes] + 1)
                made = step.fields[:1] if step.makes is None else (places[step.makes],)
                code += [*made, *map(places.__getitem__, step.reads), *step.fields[len(step.reads) + 1 :]]
            read = dict.fromkeys(value for step in run for value in step.reads)
            free += [places[value] for value in read if last[value] == k and value not in self._constants]
        return Program(np.array(code, np.uint32).tobytes(), tuple(self._constants.values()), size)

    def _value(self, operand: Operand) -> _Key:
        if isinstance(operand, float):
            bits = struct.pack("d", operand)  # -0.0 and 0.0 are one key, and a NaN is none
            self._constants[bits] = operand
            return bits
        if isinstance(operand, Element):
            self._elements[operand] = None
        return operand

    def _runs(self, items: Iterable[Instruction | Block]) -> list[list[_Step]]:
        """Steps in runs of one code, in an order that makes these long."""
        runs: list[list[_Step]] = []
        for is_block, some in groupby(items, lambda one: isinstance(one, Block)):
            if not is_block:
                runs += _in_runs([self._step(one) for one in some if isinstance(one, Instruction)])
            for block in (one for one in some if isinstance(one, Block)):
                body, zero = self._runs(block.body), self._value(0.0)
                size = sum(2 + 3 * len(run) for run in body)
                runs.append([_Step(self._operations[ca.OP_ASSIGN], result, (zero,)) for result in block.results])
                runs.append([_Step(self._others["skip"], None, (self._value(block.condition),), (size, 0, 0))])
                runs += body
        return runs

    def _step(self, one: Instruction) -> _Step:
        reads = tuple(map(self._value, one.operands))
        if one.result is not None:
            return _Step(self._others["output"], None, reads, (one.result.place, 0, one.result.of))
        if one.code not in self._operations:
            raise BuildError(f"CasADi's operation {one.code}", where=self._symbol, valid="arithmetic")
        return _Step(self._operations[one.code], one.number, reads)


def _in_runs(steps: Sequence[_Step]) -> Iterator[list[_Step]]:
    """Steps of no order but that values are made before they are read: of one code as long as there are any."""
    made = {step.makes for step in steps} - {None}
    users: dict[_Key | None, list[int]] = defaultdict(list)
    missing, ready = [0] * len(steps), defaultdict[int, list[int]](list)
    for k, step in enumerate(steps):
        needed = made.intersection(step.reads)
        missing[k] = len(needed)
        for value in needed:
            users[value].append(k)
        if not needed:
            ready[step.code].append(k)
    while ready:
        code = max(ready, key=lambda one: len(ready[one]))
        queue, run = ready.pop(code), list[_Step]()
        for k in queue:  # which grows
            run.append(steps[k])
            for user in users.get(steps[k].makes, ()):
                missing[user] -= 1
                if not missing[user]:
                    (queue if steps[user].code == code else ready[steps[user].code]).append(user)
        yield run


class _Image:
    """Values as the C structures that they are: `int` has 4 bytes, all else 8, and structures begin at multiples of 8.

    A pointer is an offset in the image, whose own place is in `pointers`; one to a function is its number, in `calls`.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        self._numbers = {symbol: k for k, symbol in enumerate(symbols)}
        self._content = bytearray(_HEAD.size)
        self._pointers: list[int] = []
        self._calls: list[int] = []
        self._texts: dict[str, int] = {}

    def whole(self, library: Value, programs: Table) -> bytes:
        """The image, its size and its kind."""
        roots = [self._placed([library]), self._placed(programs.rows)]
        tables = [self._appended(struct.pack(f"={len(of)}Q", *of)) for of in (self._pointers, self._calls)]
        _HEAD.pack_into(self._content, 0, len(self._pointers), len(self._calls), *tables, *roots)
        return bytes(self._content) + struct.pack("=Q", len(self._content)) + KIND

    def _placed(self, rows: Sequence[Value] | bytes) -> int:
        """Offset of the rows of a table; what they point to comes behind them."""
        if isinstance(rows, bytes):
            return self._appended(rows)
        start = at = len(self._content)
        fields: list[tuple[int, Value]] = []
        for row in rows:
            at = _lay(row, at, fields)
        self._appended(bytes(at - start))
        for at, value in fields:
            self._write(at, value)
        return start

    def _appended(self, content: bytes) -> int:
        start = len(self._content)
        self._content += content + bytes(-len(content) % 8)
        return start

    def _write(self, at: int, value: Value) -> None:
        if isinstance(value, (float, Macro)):
            struct.pack_into("=d", self._content, at, value if isinstance(value, float) else float(value.name))
        elif isinstance(value, int):
            struct.pack_into("=i", self._content, at, value)
        elif isinstance(value, Symbol):
            self._calls.append(at)
            struct.pack_into("=Q", self._content, at, self._numbers[value.name])
        elif isinstance(value, str) or (isinstance(value, Table) and (value.rows or value.kind == "double")):
            self._pointers.append(at)
            place = self._text(value) if isinstance(value, str) else self._placed(value.rows)
            struct.pack_into("=Q", self._content, at, place)

    def _text(self, text: str) -> int:
        if text not in self._texts:
            self._texts[text] = self._appended(text.encode() + b"\0")
        return self._texts[text]


_HEAD = struct.Struct("=6Q")
"""Of an image, as in interpreter.c."""


def _lay(value: Value, at: int, fields: list[tuple[int, Value]]) -> int:
    """Append the fields of a value from a place on, with their places; returns where it ends."""
    if isinstance(value, tuple):
        at += -at % 8
        for field in value:
            at = _lay(field, at, fields)
        return at + -at % 8
    size = 4 if isinstance(value, int) else 8
    at += -at % size
    fields.append((at, value))
    return at + size


def _abi_version() -> int:
    header = files("thunder_dynamics").joinpath("include", "thunder", "thunder_abi.h").read_text(encoding="utf-8")
    (version,) = re.findall(r"^#define THUNDER_ABI_VERSION (\d+)$", header, re.MULTILINE)
    return int(version)
