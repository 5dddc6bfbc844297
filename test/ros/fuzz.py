"""Random messages of any type: extreme, empty, large, not finite, of wrong sizes, and some that are nearly right."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from random import Random
from typing import Any

import numpy as np
from rosidl_parser.definition import AbstractNestedType, AbstractString, Array, BasicType, NamespacedType

NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, 1e-9, 1e9, -1e9, 1.7e308, -1.7e308)
WORDS = (
    "",
    " ",
    "0",
    "\n\x1b[31m",
    "é☃",
    "x" * 10_000,
    "/",
    "~",
    "{}",
    "[" * 3000,
    "laws: {a: 5}",
    "a: &a [*a]",
    "<a/>",
)
LARGE = 10_000
"""Elements of the longest sequences of numbers, and of all sequences of a message together."""

WEIGHT = 50
"""Of a message in that count."""

CDR = b"\0\1\0\0"
"""What every serialised message begins with: little-endian CDR."""


class Fuzzer:
    """Makes messages.

    Args:
        seed: Same seed, same messages.
        names: Of joints: what a sequence of strings often is, and how long sequences often are.
        words: Further strings that mean something to the receiver.
        largest: Elements of a message, and characters of a string.
    """

    def __init__(self, seed: int, names: Sequence[str], words: Sequence[str] = (), largest: int = LARGE) -> None:
        self._random, self._rng = Random(seed), np.random.default_rng(seed)
        self._names, self._words = list(names), [*words, *names]
        self._largest, self._strange = largest, [word for word in WORDS if len(word) <= largest]
        self._wildness, self._left = 0.0, 0

    def message(self, kind: Any) -> Any:
        """A message; of one in three every number is ordinary, of one in three few are not."""
        self._wildness, self._left = self._random.choice([0.0, 0.02, 0.5]), self._largest
        return self._fill(kind)

    def payload(self) -> bytes:
        """Bytes that a message cannot be read from, or only by chance."""
        return CDR[: self._random.randrange(5)] + self._random.randbytes(self._random.randrange(200))

    def flag(self) -> bool:
        """True or false."""
        return self._random.random() < 0.5

    def _fill(self, kind: Any) -> Any:
        fields = zip(kind.get_fields_and_field_types(), kind.SLOT_TYPES, strict=True)
        values = {name: self._value(slot) for name, slot in fields}
        if kind.__name__ == "Quaternion" and self._wildness < 0.5:
            norm = float(np.linalg.norm(list(values.values()))) or 1.0
            values = {name: value / norm for name, value in values.items()}
        return kind(**values)

    def _value(self, slot: Any) -> Any:
        if isinstance(slot, AbstractNestedType):
            return self._sequence(slot)
        if isinstance(slot, NamespacedType):
            return self._fill(getattr(import_module(".".join(slot.namespaces)), slot.name))
        if isinstance(slot, AbstractString):
            is_word = not self._is_wild() and self._words
            return self._random.choice(self._words if is_word else self._strange)
        return self._number(slot)

    def _sequence(self, slot: Any) -> Any:
        of_messages, n = isinstance(slot.value_type, NamespacedType), len(self._names)
        if isinstance(slot, Array):
            size = slot.size
        elif self._is_wild():
            size = self._random.choice([0, 1, n - 1, n + 1, self._largest // WEIGHT if of_messages else self._largest])
        else:
            size = self._random.choice([0, 1, 1, 2, 5]) if of_messages else n
        if not isinstance(slot, Array):
            size = min(size, max(self._left, 0))
        self._left -= WEIGHT * size if of_messages else size
        if isinstance(slot.value_type, AbstractString) and size == n and not self._is_wild():
            return list(self._names)
        if isinstance(slot.value_type, BasicType) and slot.value_type.typename == "double":
            return self._doubles(size)
        return [self._value(slot.value_type) for _ in range(size)]

    def _doubles(self, size: int) -> list[float]:
        values = self._rng.normal(scale=0.5, size=size)
        is_wild = self._rng.random(size) < self._wildness
        return list(np.where(is_wild, self._rng.choice(NUMBERS, size), values).tolist())

    def _number(self, slot: Any) -> Any:
        kind = slot.typename
        if kind == "boolean":
            return self.flag()
        if kind == "octet":
            return self._random.randbytes(1)
        if kind in ("float", "double"):
            value = self._random.choice(NUMBERS) if self._is_wild() else self._random.gauss(0.0, 0.5)
            return value if kind == "double" or not abs(value) > 3e38 else float(np.copysign(np.inf, value))
        bits = int(kind.lstrip("uint"))
        lowest = 0 if kind.startswith("u") else -(2 ** (bits - 1))
        highest = lowest + 2**bits - 1
        return self._random.randrange(10) if not self._is_wild() else lowest if self.flag() else highest

    def _is_wild(self) -> bool:
        return self._random.random() < self._wildness
