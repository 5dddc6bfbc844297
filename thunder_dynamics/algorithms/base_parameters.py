"""Base parameters: the combinations of inertial parameters that the motion of a robot depends on.

The columns of a regressor Y(q, q̇, q̈) are linearly dependent as functions of the state. With K of full row rank,
Y π = Y_b (K π), Y_b some columns of Y that are independent: π_b = K π is all that any motion can tell, and all that
an effort depends on [Gautier, "Numerical calculation of the base inertial parameters of robots", 1991].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.inertia import REG_NAMES

FloatArray = NDArray[np.float64]

Regressor = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Y(q, q̇, q̈), (n, p)."""

STATES = 100
"""Random states: ten rows of every joint for each parameter of its link."""

EXACT = 1e-9
"""Share of the largest singular value below which a direction has no effect: rounding leaves 1e-14, and what a robot
shows by its geometry is above 1e-4."""

LEAST_PIVOT = 0.1
"""Least distance of a parameter's row of the null space from the rows that were chosen before it.

A parameter that is nearer is chosen only when no other one is left: the bound then falls by ten.
"""

DROPPED_FIRST = ("m", "mcz", "mcy", "mcx", "Iyy", "Izz", "Ixx", "Iyz", "Ixz", "Ixy")
"""Which of a link's parameters is expressed by others if there is a choice, as tables of base parameters have it."""


def parameter_names(links: Sequence[str]) -> tuple[str, ...]:
    """Names of π of links, REG order: `link1.m`, `link1.mcx` and so on."""
    return tuple(f"{link}.{name}" for link in links for name in REG_NAMES)


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Which parameters act, and how.

    Attributes:
        names: Of all p parameters.
        kept: Columns of Y that are Y_b, b of them, ascending.
        K: π_b = K π, (b, p); column `kept[i]` is the i-th unit vector.
        gap: Smallest singular value that was kept over the largest that was not: how clear the decision was. Of
            regressors with columns of unit norm; infinite where nothing was dropped.
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    K: FloatArray
    gap: float

    @property
    def unobservable(self) -> tuple[str, ...]:
        """Names of the parameters without any effect."""
        return tuple(name for name, column in zip(self.names, self.K.T, strict=True) if not column.any())

    @property
    def alone(self) -> tuple[str, ...]:
        """Names of the parameters that are base parameters by themselves."""
        rows = zip(self.kept, self.K, strict=True)
        return tuple(self.names[place] for place, row in rows if np.count_nonzero(row) == 1)

    @property
    def combined(self) -> tuple[str, ...]:
        """Names of the parameters that act only in combination with others."""
        apart = {*self.unobservable, *self.alone}
        return tuple(name for name in self.names if name not in apart)

    def texts(self) -> tuple[str, ...]:
        """Each base parameter as a sum: `link1.Izz + link2.Iyy + 0.25·link2.m`."""
        return tuple(self._text(place, row) for place, row in zip(self.kept, self.K, strict=True))

    def _text(self, place: int, row: FloatArray) -> str:
        text = self.names[place]
        for k in np.flatnonzero(row):
            if k != place:
                size = f"{abs(row[k]):.6g}"
                text += f" {'-' if row[k] < 0.0 else '+'} {'' if size == '1' else size + '·'}{self.names[k]}"
        return text


def find_base_parameters(
    regressor: Regressor, names: Sequence[str], n: int, tolerance: float = EXACT
) -> BaseParameters:
    """Find the base parameters of a regressor from random states; the same ones every time.

    The null space of Y over the states, columns scaled to unit norm, is decided once, by its singular values. Which
    parameters are then expressed by the others is a choice: from the last to the first, and `DROPPED_FIRST`, as long as
    the equations that this leaves to solve are well conditioned (rows of the null space, by Gram–Schmidt).

    Args:
        regressor: Y, of n joints and as many parameters as there are names.
        names: Of the parameters; those of bodies end in `.` and a name of `inertia.REG_NAMES`.
        n: Number of joints.
        tolerance: Share of the largest column, or singular value, below which one counts as without effect. A larger
            one than `EXACT` takes a geometry with rounded angles as it is meant; Y π = Y_b K π holds to that.
    """
    rng = np.random.default_rng(0)
    W = np.concatenate([regressor(*state) for state in rng.uniform(-np.pi, np.pi, (3, STATES, n)).swapaxes(0, 1)])
    size = np.linalg.norm(W, axis=0)
    acts = size > tolerance * size.max()
    scale = np.where(acts, size, 1.0)
    values, rows = np.linalg.svd(np.where(acts, W / scale, 0.0), full_matrices=False)[1:]
    rank = int((values > tolerance * values[0]).sum())
    null = rows[rank:].T
    dropped = _pivots(null, _preference(names, ~acts))
    kept = np.setdiff1d(np.arange(len(names)), dropped)
    relation = -null[kept] @ np.linalg.inv(null[dropped])
    relation[np.abs(relation) < 0.1 * tolerance] = 0.0
    K = np.zeros((len(kept), len(names)))
    K[np.arange(len(kept)), kept] = 1.0
    K[:, dropped] = relation * scale[dropped] / scale[kept, None]
    gap = values[rank - 1] / values[rank] if rank < len(values) and values[rank] > 0.0 else np.inf
    return BaseParameters(tuple(names), tuple(kept.tolist()), K, float(gap))


def _preference(names: Sequence[str], without_effect: NDArray[np.bool_]) -> list[int]:
    """Columns in the order in which they are to be dropped."""

    def key(place: int) -> tuple[bool, bool, int, int]:
        owner, _, kind = names[place].rpartition(".")
        first = next(k for k, name in enumerate(names) if name.startswith(f"{owner}."))
        is_body = kind in DROPPED_FIRST
        return not without_effect[place], is_body, -first, DROPPED_FIRST.index(kind) if is_body else place

    return sorted(range(len(names)), key=key)


def _pivots(null: FloatArray, order: Sequence[int]) -> NDArray[np.int64]:
    """As many rows of an orthonormal basis (p, d) as it has columns, well conditioned, the first of `order` first."""
    left, chosen, least = null.copy(), list[int](), LEAST_PIVOT
    while len(chosen) < null.shape[1]:
        for place in order:
            length = np.linalg.norm(left[place])
            if length > least and place not in chosen:
                chosen.append(place)
                direction = left[place] / length
                left -= np.outer(left @ direction, direction)
        least *= 0.1
    return np.array(chosen, dtype=np.int64)
