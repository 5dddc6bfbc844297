"""The load that a robot is told of (SetLoad on a Franka), as numbers in the frame of its flange, and in words."""

from __future__ import annotations

from collections.abc import Sequence

from thunder_dynamics.errors import InertiaError
from thunder_dynamics.inertia import Inertia

FORM = "MASS+X+Y+Z, then none or +IXX+IXY+IXZ+IYY+IYZ+IZZ about the CoM [kg, m, kg·m²]"


def load_from_numbers(numbers: Sequence[float], where: str) -> Inertia:
    """Body of 4 or 10 numbers: mass [kg], CoM [m], inertia about the CoM [kg·m²], none of it if it is left out.

    Raises:
        InertiaError: if they are another number, the mass is not positive, or no body has these values.
    """
    if len(numbers) not in (4, 10) or not numbers[0] > 0.0 or not all(abs(number) < 1e3 for number in numbers):
        raise InertiaError("no load", where=where, valid=f"4 or 10 numbers, the first positive: {FORM}")
    load = Inertia.from_dyn([*numbers, *[0.0] * (10 - len(numbers))])
    load.check_consistent(where)
    return load


def load_from_words(words: str, where: str) -> Inertia:
    """Body of `MASS+X+Y+Z` or ten numbers.

    Raises:
        InertiaError: as `load_from_numbers`, or if a word is no number.
    """
    try:
        numbers = [float(word) for word in words.split("+")]
    except ValueError:
        raise InertiaError("no load", where=where, valid=FORM) from None
    return load_from_numbers(numbers, where)


def load_words(load: Inertia) -> str:
    """What `load_from_words` reads, to nine digits: a thin body stays one."""
    return "+".join(f"{number:.9g}" for number in load.dyn)
