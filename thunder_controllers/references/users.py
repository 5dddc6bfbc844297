"""References of other packages: classes or functions found by entry points of the group `thunder.references`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np
from pydantic import ConfigDict

from thunder_controllers.fields import FloatArray
from thunder_controllers.references.trajectories import RATES, Follower, Reference, Smooth, Stated
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, loaded, nearest

GROUP = "thunder.references"
"""Entry points: the type's name, and what makes a `Reference` of the options that go with it, as keyword arguments."""


class Checked:
    """A user's reference, whose errors and wrong shapes are told in one line.

    Args:
        reference: Anything with `sample` as in `Reference`; `period`, and `further_rates` as in `Smooth`, are optional.
        name: For errors.

    Raises:
        ScenarioError: if it has no `sample`.
    """

    def __init__(self, reference: Any, name: str) -> None:
        if not callable(getattr(reference, "sample", None)):
            what = f"{name} is a {type(reference).__name__} without a method sample"
            raise ScenarioError(what, where="reference", valid="sample(t) -> rows")
        self._reference, self._name = reference, name
        self.period: float | None = getattr(reference, "period", None)

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows.

        Raises:
            ScenarioError: if it raises, or gives anything but finite rows.
        """
        return self._rows("sample", t, "(N, 24) of a pose or (N, 3·n) of joints", lambda values: [values])[0]

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """What it knows of `jerk` and `snap`, see `Smooth`. Raises as `sample` does."""
        if not isinstance(self._reference, Smooth):
            return {}
        rows = self._rows("further_rates", t, "(N, n) each", lambda rates: [rates[name] for name in RATES])
        return dict(zip(RATES, rows, strict=True))

    def _rows(self, method: str, t: FloatArray, valid: str, read: Callable[[Any], list[Any]]) -> list[FloatArray]:
        """What is read of what a method gives for times."""
        try:
            found = [np.array(rows, dtype=float) for rows in read(getattr(self._reference, method)(t.copy()))]
        except Exception as error:
            what = f"{self._name}: {method} raises {type(error).__name__}: {error}"
            raise ScenarioError(what, where="reference", valid="a row for every time of the run") from error
        for rows in found:
            if rows.ndim != 2 or len(rows) != len(t) or not np.isfinite(rows).all():
                what = f"{self._name}: {method} gives values of shape {rows.shape}, or not finite, for {len(t)} times"
                raise ScenarioError(what, where="reference", valid=f"finite, {valid}")
        return found


def reference_entries() -> dict[str, EntryPoint]:
    """Entry points of the references of installed packages, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


class UserReference(Stated):
    """What an entry point of the group `thunder.references` makes of all keys beside `type` and `further`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def build_for(self, follower: Follower) -> Reference:
        """Call the entry point.

        Raises:
            NameNotFoundError: if there is none, or it cannot be imported.
            ScenarioError: if it does not take the keys, or makes no reference of them.
        """
        entries = reference_entries()
        if self.type not in entries:
            raise NameNotFoundError(f"no reference '{self.type}'", where=GROUP, valid=nearest(self.type, entries))
        make = loaded(entries[self.type])
        try:
            made = make(**self.model_extra or {})
        except Exception as error:
            what = f"{self.type} ({entries[self.type].value}) raises {type(error).__name__}: {error}"
            raise ScenarioError(what, where="reference", valid="the options that it takes") from error
        return Checked(made, self.type)
