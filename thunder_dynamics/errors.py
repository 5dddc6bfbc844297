"""One exception tree: every error says what is wrong, where, and what would be valid, in the words of who asked."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

LONGEST_LIST = 8
"""Names that a message lists in full."""

_spelling: ContextVar[Mapping[str, str]] = ContextVar("spelling", default=MappingProxyType({}))


@contextmanager
def spelled(options: Mapping[str, str]) -> Iterator[None]:
    """Have messages call options by other names, such as a command line's."""
    token = _spelling.set(options)
    try:
        yield
    finally:
        _spelling.reset(token)


def option(name: str, value: str = "") -> str:
    """What a message calls an option: its name in Python, with what it is set to, unless `spelled` says otherwise."""
    return _spelling.get().get(name, name + value)


def listed(names: Sequence[str]) -> str:
    """The first of some names, as a message lists them."""
    return ", ".join(names[:LONGEST_LIST]) + (", …" if len(names) > LONGEST_LIST else "")


def nearest(name: str, names: Iterable[str]) -> str:
    """What a message lists where `name` is none of `names`: all if they are few, else those that look like it."""
    known = list(names)
    if len(known) <= LONGEST_LIST:
        return listed(known) or "none"
    close = difflib.get_close_matches(name, known, LONGEST_LIST // 2, 0.5) or known[: LONGEST_LIST // 2]
    return f"{', '.join(close)}, … ({len(known)} in all)"


class ThunderError(Exception):
    """Root of every error this project raises on purpose.

    Args:
        what: What is wrong, in one sentence without a full stop.
        where: Where it is: a file, a file and a line, a key path, an argument.
        valid: What would be accepted instead.
    """

    def __init__(self, what: str, *, where: str | None = None, valid: str | None = None) -> None:
        self.what = what
        self.where = where
        self.valid = valid
        message = what if where is None else f"{where}: {what}"
        if valid is not None:
            message += f"; valid: {valid}"
        super().__init__(message)


class RobotFileError(ThunderError):
    """A robot description cannot be read, or says something that no robot can be."""


class ModelError(ThunderError):
    """A `RobotModel` was assembled from values that contradict each other."""


class InertiaError(ModelError):
    """Inertial parameters that no rigid body has."""


class DimensionError(ThunderError):
    """An array has the wrong shape."""


class NameNotFoundError(ThunderError):
    """A link, function, law, gain or group of that name does not exist."""


class ExpressionError(ThunderError):
    """A symbolic expression or a user's function cannot be built."""


class LawError(ThunderError):
    """A control law is declared or parametrised wrongly."""


class BuildError(ThunderError):
    """The library could not be generated, compiled or loaded."""


class ScenarioError(ThunderError):
    """A simulation scenario cannot be read or run."""
