"""Call the builder of an installed law, and tell in one line what is wrong with it."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from thunder_dynamics.errors import LawError, ThunderError, loaded
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law.contract import Law


def build_law(entry: EntryPoint, robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """Call the builder of an installed law; whatever is wrong with it is one line that names the law and the place.

    Raises:
        LawError: if it raises, or returns anything but a law.
        ThunderError: as the builder raises of options and robots.
    """
    builder: Callable[..., Any] = loaded(entry)
    try:
        with warnings.catch_warnings():  # CasADi's own of NumPy's functions, which do what they should here
            warnings.filterwarnings("ignore", "(?s).*numpy function was called on a casadi value", FutureWarning)
            law = builder(robot, options)
    except Exception as error:
        names_its_law = isinstance(error, ThunderError) and (error.where or "").startswith("law ")
        if names_its_law or (isinstance(error, ThunderError) and not isinstance(error, LawError)):
            raise
        raise _law_error(entry, error) from error
    if not isinstance(law, Law):
        valid = "the result of signals.law(…): is the return missing?"
        raise LawError(f"the builder returns {type(law).__name__}", where=_place(entry, None), valid=valid)
    return law


MENDS = (
    ("truth value", "if_else(condition, a, b), fmin or fmax of CasADi: no if, min or max on symbols"),
    ("imension", "shapes that fit: signals are columns, (n, 1)"),
    ("numpy", "functions of CasADi, such as casadi.fmin and casadi.vertcat"),
    ("keyword", "name, default, bounds, unit and doc"),
    ("CasADi developers", "functions of CasADi, such as casadi.tanh"),
    ("NameError", "a name that the module has"),
)
"""What is valid instead, by a word of the message."""


def _law_error(entry: EntryPoint, error: Exception) -> LawError:
    """The same in one line: CasADi's own messages begin with places in its source."""
    if isinstance(error, LawError):
        where = ": ".join(filter(None, (_place(entry, error), error.where)))
        return LawError(error.what, where=where, valid=error.valid)
    text = re.sub(r"(?s)^.*?/casadi/core/\S+:\d+: (Assertion .*? failed:\s*)?", "", str(error))
    kind = "" if isinstance(error, RuntimeError) else f"{type(error).__name__}: "
    valid = next((mend for word, mend in MENDS if word in kind + text), "an expression of the signals' symbols")
    return LawError(kind + " ".join(text.split()), where=_place(entry, error), valid=valid)


def _place(entry: EntryPoint, error: Exception | None) -> str:
    """Name of a law, and the last line that is neither ours nor a library's."""
    foreign = (str(Path(__file__).parents[1]), str(Path(ca.__file__).parent), str(Path(np.__file__).parent))
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    own = [frame for frame in frames if not frame.filename.startswith((*foreign, "<"))]
    return f"law {entry.name}" + (f" ({own[-1].filename}:{own[-1].lineno})" if own else "")
