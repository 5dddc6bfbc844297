"""Joints on a circle: positions by the turn nearest to what was expected, as the host takes them (`circles.hpp`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.fields import FloatArray
from thunder_dynamics.joints import Topology

if TYPE_CHECKING:
    from thunder_controllers.host import Library

TURN = 2.0 * np.pi

Circles = NDArray[np.bool_]
"""Which joints are on a circle, shape (n,)."""


def circles_of(library: Library) -> Circles:
    """Return which joints of a robot are on a circle, shape (n,)."""
    return np.asarray(library.joint_topology == Topology.CIRCLE)


def nearest(q: ArrayLike, expected: ArrayLike, circles: ArrayLike) -> FloatArray:
    """Return positions (…, n), those of joints on a circle at the turn nearest to what was expected of each."""
    positions = np.asarray(q, dtype=float)
    return np.asarray(positions + _turns(np.subtract(expected, positions), circles))


def unwrap(rows: ArrayLike, circles: ArrayLike, first: Sequence[float] | FloatArray | None = None) -> FloatArray:
    """Return positions (N, n), those of joints on a circle at the turn nearest to the row before.

    Args:
        rows: Positions, one row after the other.
        circles: Which joints are on a circle, shape (n,).
        first: What is expected of the first row, (n,); by default it is as it is.
    """
    positions = np.array(rows, dtype=float)
    before = np.vstack([positions[:1] if first is None else np.reshape(first, (1, -1)), positions[:-1]])
    return np.asarray(positions + np.cumsum(_turns(before - positions, circles), axis=0))


def _turns(way: FloatArray, circles: ArrayLike) -> FloatArray:
    """Whole turns to go; none where a way is not finite."""
    return TURN * np.round(np.where(np.isfinite(way) & circles, way, 0.0) / TURN)
