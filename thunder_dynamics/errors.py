"""One exception tree: every error says what is wrong, where, and what would be valid, in the words of who asked."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import EntryPoint, PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

DISTRIBUTION = "thunder-controllers"
"""The package as pip knows it."""

LONGEST_INPUT = 60
"""Characters of a wrong value that a message shows."""

LONGEST_LIST = 8
"""Names that a message lists in full."""

LONGEST_UNLIKE = 20
"""The same where none is like the one that was given, so that nobody can guess which is meant."""

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
    """What a message lists where `name` is none of `names`: all or some of them, and which one may be meant."""
    known = list(names)
    close = difflib.get_close_matches(name, known, LONGEST_LIST // 2, 0.5)
    if len(known) <= (LONGEST_LIST if close else LONGEST_UNLIKE):
        text = ", ".join(known) or "none"
    else:
        text = f"{', '.join(close or known[: LONGEST_LIST // 2])}, … ({len(known)} in all)"
    meant = difflib.get_close_matches(name, known, 1, 0.75)
    return f"{text} (did you mean {meant[0]}?)" if meant else text


def printable(text: str, kept: str = "") -> str:
    """A text in which control characters and others that no terminal should be sent, but those kept, are escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def shortened(value: object, longest: int = LONGEST_INPUT) -> str:
    """What a message shows of a wrong value: its repr, cut where it is long."""
    shown = repr(value)
    return shown if len(shown) <= longest else f"{shown[: longest - 3]}…"


def files_beside(path: Path) -> str:
    """What a message lists where there is no file `path`: those beside it of its suffix, and which may be meant."""
    try:
        names = sorted(one.name for one in path.parent.iterdir() if one.suffix == path.suffix)
    except FileNotFoundError:
        return f"a file; there is no folder {path.parent}"
    except OSError as error:
        return f"a file of a folder that can be read, {path.parent} cannot ({error.strerror})"
    return f"a file of {path.parent}: {nearest(path.name, names)}"


class RobotFileWarning(UserWarning):
    """A robot description says something that the model does not have, or not as it is written."""


class UnusedElementWarning(RobotFileWarning):
    """An element or attribute of a robot description is not used, and nobody is known to use it."""


class IgnoredLimitWarning(RobotFileWarning):
    """A limit beyond reason counts as none."""


class UnusedInertiaWarning(RobotFileWarning):
    """Inertial parameters of links belong to no rigid body where it does not matter: only a moment of them acts."""


class OpenLoopWarning(RobotFileWarning):
    """A constraint that closes a kinematic loop is left out: the model is a tree."""


class InconsistentInertiaWarning(RobotFileWarning):
    """Inertial parameters of links belong to no rigid body, and `allow_inconsistent` let them pass."""


class PlaceholderWarning(InconsistentInertiaWarning):
    """Inertial parameters of links are placeholders: nobody has measured them."""


class ChoiceWarning(UserWarning):
    """A reader chose what the file and the options leave open; the message names the option that chooses otherwise."""


class EndEffectorWarning(ChoiceWarning):
    """Several links of the last body could be the end effector."""


class MountingWarning(ChoiceWarning):
    """Joints above the base link turn it: gravity has another direction in its frame, or depends on their positions."""


class ArmWarning(ChoiceWarning):
    """Joints that are no part of the arm are held."""


class ThunderError(Exception):
    """Root of every error this project raises on purpose.

    Args:
        what: What is wrong, in one sentence without a full stop.
        where: Where it is: a file, a file and a line, a key path, an argument.
        valid: What would be accepted instead.

    The message is one line of printable text, whatever a file has in its names and values.
    """

    _kept: ClassVar[str] = ""

    def __init__(self, what: str, *, where: str | None = None, valid: str | None = None) -> None:
        self.what = what
        self.where = where
        self.valid = valid
        message = what if where is None else f"{where}: {what}"
        if valid is not None:
            message += f"; valid: {valid}"
        super().__init__(printable(message, self._kept))


class MissingLibraryError(ThunderError):
    """A Python library that only some uses need is not installed; names the extra of this package that brings it.

    Args:
        module: What cannot be imported, as ModuleNotFoundError names it.
        where: What imports it, for a module that no extra brings.
    """

    def __init__(self, module: str | None, where: str | None = None) -> None:
        name = (module or "a module").partition(".")[0]
        try:
            wanted = requires(DISTRIBUTION) or []
        except PackageNotFoundError:  # the source tree, never installed
            wanted = []
        library = re.compile(rf"(?:.*-)?{re.escape(name.replace('_', '-'))}\b", re.IGNORECASE)
        extras = (re.search(r"extra == .([\w-]+)", line) for line in wanted if library.match(line))
        extra = next((found[1] for found in extras if found), None)
        install = name if extra is None else f"'{DISTRIBUTION}[{extra}]'"
        where = where if extra is None else None
        super().__init__(f"{name} is not installed", where=where, valid=f"pip install {install}")


def require(*modules: str) -> None:
    """Raise `MissingLibraryError` for the first of some libraries that is not installed; none is imported."""
    for module in modules:
        if find_spec(module) is None:
            raise MissingLibraryError(module)


def loaded(entry: EntryPoint) -> Any:
    """What the entry point of an installed package names.

    Raises:
        MissingLibraryError: if a library that its module imports is not installed.
        NameNotFoundError: if its module cannot be imported, or has no such name; in one line.
    """
    try:
        return entry.load()
    except MissingLibraryError:
        raise
    except Exception as error:
        own = entry.module.partition(".")[0]
        where = f"entry point {entry.name} = {entry.value}"
        if isinstance(error, ModuleNotFoundError) and (error.name or own).partition(".")[0] != own:
            raise MissingLibraryError(error.name, where) from error
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        valid = f"module:name in the group {entry.group} of an installed package"
        raise NameNotFoundError(f"cannot be loaded ({reason})", where=where, valid=valid) from error


def all_loaded(entries: Iterable[EntryPoint]) -> dict[str, Any]:
    """What entry points name, by their names; one that cannot be loaded is left out with a warning."""
    found = {}
    for entry in entries:
        try:
            found[entry.name] = loaded(entry)
        except ThunderError as error:
            warnings.warn(f"left out: {error}", RuntimeWarning, stacklevel=2)
    return found


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


class RefusedMotionError(LawError):
    """A motion would leave a limit of the arm, or its reach.

    Attributes:
        limit: "position", "velocity", "acceleration", "effort", "reach", or "law" where the law has no finite effort.
        time: From the start of the motion until then [s].
        joint: Its index; None where the limit is of no joint.
        slower: A motion that takes so many times as long is accepted; None: no such motion was found.
    """

    limit: str
    time: float
    joint: int | None
    slower: float | None


class BuildError(ThunderError):
    """The library could not be generated, compiled or loaded; what a compiler says keeps its lines."""

    _kept = "\n"


class ScenarioError(ThunderError):
    """A simulation scenario cannot be read or run."""


class ImplausibleWarning(UserWarning):
    """A quantity of a robot is beyond what any robot has: a unit may be wrong; see `plausibility`."""


class DegreesWarning(UserWarning):
    """An angle of a file is more than a turn, as where degrees are written for radians."""


class SnappedAnglesWarning(UserWarning):
    """Angles of a file were taken for the right angles that they are close to, as an option says."""
