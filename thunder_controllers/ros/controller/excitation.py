"""How well the motion excites the estimated parameters, over the last seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_dynamics.inertia import N_PARAMETERS

FloatArray = NDArray[np.float64]

TIME_CONSTANT = 5.0
"""Of the forgetting [s]."""

RANK_TOLERANCE = 1e-6
"""Directions with less than this part of the strongest one do not count."""


class Excitation:
    """W = ∫ Yᵀ Y with exponential forgetting, Y the columns of the Slotine–Li regressor of the adapted links.

    Between two samples the derivative of q̇_r is taken as their difference.

    Args:
        library: With the function Yr.
        links: Adapted links, names of the library's.
    """

    def __init__(self, library: Library, links: Sequence[str]) -> None:
        known = [library.link_names.index(link) for link in links if link in library.link_names]
        self._library = library
        self._columns = np.concatenate([np.arange(N_PARAMETERS) + N_PARAMETERS * i for i in known] or [np.arange(0)])
        self._information = np.zeros((len(self._columns), len(self._columns)))
        self._previous: FloatArray | None = None
        self.is_available = bool(len(known)) and "Yr" in library.functions

    def add(self, q: FloatArray, qd: FloatArray, qd_r: FloatArray, dt: float) -> None:
        """Use a sample that comes `dt` seconds after the one before; one that is not finite is passed over."""
        if not (np.isfinite(q).all() and np.isfinite(qd).all() and np.isfinite(qd_r).all()):
            return
        if self.is_available and self._previous is not None and dt > 0.0:
            qdd_r = (qd_r - self._previous) / dt
            regressor = np.asarray(self._library.evaluate("Yr", q, qd, qd_r, qdd_r))[:, self._columns]
            forget = float(np.exp(-dt / TIME_CONSTANT))
            self._information = forget * self._information + dt * regressor.T @ regressor
        self._previous = qd_r

    def restart(self) -> None:
        """Forget everything."""
        self._information[:] = 0.0
        self._previous = None

    def report(self) -> tuple[float, int]:
        """Smallest singular value of W, and its numerical rank."""
        values = np.linalg.eigvalsh(self._information)
        if not len(values) or values[-1] <= 0.0:
            return 0.0, 0
        return max(float(values[0]), 0.0), int((values > RANK_TOLERANCE * values[-1]).sum())
