"""Joint accelerations u that do a task, J u = r, within bounds |u_i| ≤ U_i; and the fastest stop within them.

r = p̈_cmd − J̇ q̇ is what joints must contribute to the commanded acceleration of the task. J has shape (m, n), r (m,),
U (n,). All functions take J of any rank: where r is out of its range nothing does the task.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.errors import DimensionError

FloatArray = NDArray[np.float64]

RANK = 1e-9
"""Singular values below this share of the largest count as zero."""

SLACK = 1e-9
"""How far a task may be missed and a bound be exceeded for rounding, relative to what there is to add up."""


class Scaled(NamedTuple):
    """The most of a task that the bounds allow: accelerations u (n,) with J u = factor · r, 0 ≤ factor ≤ 1."""

    u: FloatArray
    factor: float


def clip_pseudo_inverse(J: ArrayLike, r: ArrayLike, U: ArrayLike) -> FloatArray:
    """u = J⁺ r, each component cut at its bound: what a controller does that leaves bounds to the motors. Shape (n,).

    Raises:
        DimensionError: if shapes do not fit, a number is not finite, or a bound is not positive.
    """
    J, r, U = _checked(J, r, U)
    return np.asarray(np.clip(np.linalg.pinv(J, rcond=RANK) @ r, -U, U))


def saturate_in_null_space(J: ArrayLike, r: ArrayLike, U: ArrayLike) -> FloatArray | None:
    """SNS: pin the component that exceeds its bound by the largest ratio |u_i| / U_i, solve for the rest, and again.

    A pinned component stays pinned, so a task may be given up that can be done: `solve_within_bounds` does it
    [Flacco, De Luca, Khatib 2015, "Control of redundant robots under hard joint constraints", alg. 1, without scaling].

    Returns:
        u, shape (n,); None where no accelerations were found.

    Raises:
        DimensionError: as `clip_pseudo_inverse` raises.
    """
    J, r, U = _checked(J, r, U)
    u, free = np.zeros_like(U), np.ones(len(U), dtype=bool)
    while True:
        rest = r - J[:, ~free] @ u[~free]
        u[free] = np.linalg.pinv(J[:, free], rcond=RANK) @ rest
        if not _does(J, u, r, U):
            return None
        ratio = np.where(free, np.abs(u) / U, 0.0)
        worst = int(np.argmax(ratio))
        if ratio[worst] <= 1.0 + SLACK:
            return np.asarray(np.clip(u, -U, U))
        u[worst], free[worst] = np.copysign(U[worst], u[worst]), False


def solve_within_bounds(J: ArrayLike, r: ArrayLike, U: ArrayLike) -> FloatArray | None:
    """Minimise ‖u‖ subject to J u = r, |u_i| ≤ U_i: exact, so that None means that no accelerations do the task.

    u = J⁺ r + N z, N a basis of the null space of J; z is the point nearest to zero of a polytope, with one redundant
    degree of an interval. That is a problem of least distance, which non-negative least squares solve in finitely many
    steps [Lawson & Hanson 1974, "Solving Least Squares Problems", ch. 23.4].

    Returns:
        u, shape (n,); None where there are none.

    Raises:
        DimensionError: as `clip_pseudo_inverse` raises.
    """
    J, r, U = _checked(J, r, U)
    u = np.linalg.pinv(J, rcond=RANK) @ r
    if not _does(J, u, r, U):
        return None
    if (np.abs(u) > U).any():
        N = scipy.linalg.null_space(J, rcond=RANK) * U.max()
        G = np.vstack((N, -N)) / np.tile(U, 2)[:, None]
        h = np.concatenate((-u / U, u / U)) - 1.0
        z = _least_distance(G, h, largest=np.sqrt(len(U)))
        if z is None:
            return None
        u = u + N @ z
    return np.asarray(np.clip(u, -U, U)) if (np.abs(u) <= U * (1.0 + SLACK)).all() else None


def scale_to_bounds(J: ArrayLike, r: ArrayLike, U: ArrayLike) -> Scaled:
    """The largest factor s ≤ 1 for which J u = s r can be done within the bounds, and the least such u.

    All that joints contribute is scaled, the compensation of J̇ q̇ too: the task accelerates by s p̈_cmd + (1 − s) J̇ q̇.
    The factor is a linear program's; below 1 it is taken smaller by `SLACK`, so that u is well defined.

    Raises:
        DimensionError: as `clip_pseudo_inverse` raises.
    """
    J, r, U = _checked(J, r, U)
    u = solve_within_bounds(J, r, U)
    if u is not None:
        return Scaled(u, 1.0)
    n, size = len(U), np.linalg.norm(r)
    program = scipy.optimize.linprog(
        np.append(np.zeros(n), -1.0),
        A_eq=np.column_stack((J * U / size, -r / size)),
        b_eq=np.zeros(len(r)),
        bounds=[(-1.0, 1.0)] * n + [(0.0, 1.0)],
        method="highs",
    )
    factor = max(0.0, (1.0 - SLACK) * float(program.x[-1]))
    u = solve_within_bounds(J, factor * r, U)
    return Scaled(np.zeros(n), 0.0) if u is None else Scaled(u, factor)


def fastest_stop(qd: ArrayLike, U: ArrayLike, dt: float) -> FloatArray:
    """u_i = −U_i sign(q̇_i) until q̇_i is zero, which the last step of length dt [s] makes it exactly. Shape (n,).

    Raises:
        DimensionError: if shapes differ, a number is not finite, or a bound or dt is not positive.
    """
    qd, U = np.asarray(qd, dtype=float), np.asarray(U, dtype=float)
    if (
        qd.ndim != 1
        or qd.shape != U.shape
        or not np.isfinite([*qd, *U, dt]).all()
        or not (np.append(U, dt) > 0.0).all()
    ):
        what = f"q̇ of shape {qd.shape}, U of shape {U.shape}, dt {dt:g}"
        raise DimensionError(what, where="fastest_stop", valid="(n,) and (n,), finite, bounds and dt greater than zero")
    return np.asarray(np.clip(-qd / dt, -U, U))


def _least_distance(G: FloatArray, h: FloatArray, largest: float) -> FloatArray | None:
    """Minimise ‖z‖ subject to G z ≥ h; None if no z with ‖z‖ ≤ `largest` exists.

    With ρ the residual of min ‖[Gᵀ; hᵀ] y − (0, …, 0, 1)‖ over y ≥ 0: ‖ρ‖⁻² = 1 + ‖z‖², and ρ = 0 where there is no z.
    """
    E = np.vstack((G.T, h))
    target = np.append(np.zeros(G.shape[1]), 1.0)
    residual = E @ scipy.optimize.nnls(E, target)[0] - target
    if residual @ residual * (1.0 + largest**2) < 0.5:
        return None
    return np.asarray(-residual[:-1] / residual[-1])


def _does(J: FloatArray, u: FloatArray, r: FloatArray, U: FloatArray) -> bool:
    """Whether J u = r but for rounding."""
    return bool(np.linalg.norm(J @ u - r) <= SLACK * (np.linalg.norm(r) + np.linalg.norm(np.abs(J) @ U)))


def _checked(J: ArrayLike, r: ArrayLike, U: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    J, r, U = (np.asarray(value, dtype=float) for value in (J, r, U))
    fits = J.ndim == 2 and r.shape == J.shape[:1] and U.shape == J.shape[1:]
    if not fits or not all(np.isfinite(value).all() for value in (J, r, U)) or not (U > 0.0).all():
        what = f"J of shape {J.shape}, r of shape {r.shape}, U of shape {U.shape}"
        raise DimensionError(what, where="J u = r", valid="(m, n), (m,), (n,), finite, bounds greater than zero")
    return J, r, U
