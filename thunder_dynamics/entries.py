"""Entries: the named, shaped, bounded, documented blocks that the flat signal vectors of a law are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.errors import LawError

FloatArray = NDArray[np.float64]

ENTRY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


class EntryFlag(IntFlag):
    """Meaning of an entry to a host; the values are those of thunder_abi.h."""

    NONE = 0
    ADAPTED = 1
    ACTIVATION = 2
    UNUSED = 4
    INITIAL = 8
    AGE = 16
    MEASURED = 32
    JOINTS = 64


@dataclass(frozen=True, eq=False)
class Entry:
    """A named block of a flat signal vector.

    Attributes:
        name: Identifier, unique in its signal.
        shape: (rows, cols); scalars are (1, 1).
        unit: SI unit as text.
        description: One sentence.
        default: Default values, of that shape.
        lower: Lower bounds, of that shape, −inf where there is none.
        upper: Upper bounds.
        flags: What a host does with it.
    """

    name: str
    shape: tuple[int, int]
    unit: str
    description: str
    default: FloatArray
    lower: FloatArray
    upper: FloatArray
    flags: EntryFlag = EntryFlag.NONE

    @property
    def size(self) -> int:
        """Number of values."""
        return self.shape[0] * self.shape[1]


def make_entry(
    name: str,
    shape: tuple[int, int],
    unit: str,
    description: str,
    default: ArrayLike = 0.0,
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    flags: EntryFlag = EntryFlag.NONE,
) -> Entry:
    """Build an `Entry`, broadcasting default and bounds to its shape.

    Raises:
        LawError: for a bad name, a value that does not broadcast, or a default outside its bounds.
    """
    where = f"signal entry {name!r}"
    if not ENTRY_NAME.fullmatch(name):
        raise LawError("not an identifier", where=where, valid=f"a match of {ENTRY_NAME.pattern}")
    if min(shape) < 1:
        raise LawError(f"shape {shape}", where=where, valid="at least one value")
    if not unit or not description:
        raise LawError("no unit or no description", where=where, valid="both, with unit '1' for pure numbers")
    values, lower, upper = (broadcast(value, shape, where) for value in (default, *bounds))
    if not np.isfinite(values).all() or not ((lower <= values) & (values <= upper)).all():
        raise LawError(
            f"the default {default!r} is not within {bounds}", where=where, valid="finite, lower ≤ default ≤ upper"
        )
    return Entry(name, shape, unit, description, values, lower, upper, flags)


def broadcast(value: ArrayLike, shape: tuple[int, int], where: str) -> FloatArray:
    """Copy a value into the shape of an entry, read-only; a vector is a column.

    Raises:
        LawError: if it does not broadcast.
    """
    array = np.asarray(value, dtype=float)
    if array.ndim == 1:
        array = array[:, None]
    try:
        result = np.array(np.broadcast_to(array, shape))
    except ValueError as error:
        raise LawError(
            f"a value of shape {array.shape}", where=where, valid=f"one that broadcasts to {shape}"
        ) from error
    result.setflags(write=False)
    return result
