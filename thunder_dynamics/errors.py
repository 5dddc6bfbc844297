"""One exception tree: every error says what is wrong, where, and what would be valid."""

from __future__ import annotations


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
