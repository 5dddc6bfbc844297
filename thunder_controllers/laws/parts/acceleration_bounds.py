"""Joint accelerations within bounds, exactly, for one redundant degree of freedom (theory.md §7)."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.redundancy import PseudoInverse
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot

SX = ca.SX

UNLIMITED = 1e4
"""Bound of joints without an acceleration limit [rad/s² or m/s²]."""

TINY = 1e-9
"""Entry of the null vector below which a joint takes no part in the null space, which has length one."""


@dataclass(frozen=True)
class BoundedAccelerations:
    """u (n,) with J u = share · r and |u_i| ≤ U_i, and the share of the task that is done, 1 where all can be."""

    u: SX
    share: SX


def acceleration_limit(robot: RobotExpressions, signals: Signals) -> SX:
    """Declare U, shape (n,), the robot file's acceleration limits by default."""
    limits = robot.model.limits("acceleration")
    return signals.gain(
        "acceleration_limit",
        size="joints",
        default=np.where(np.isfinite(limits), limits, UNLIMITED),
        bounds=(1e-3, 1e6),
        unit="rad/s²|m/s²",
        doc="U: no joint is asked for more.",
    )


def accelerate_within(inverse: PseudoInverse, r: SX, preferred: SX, U: SX) -> BoundedAccelerations:
    """Accelerate by s r with the largest s ≤ 1 that the bounds allow, as near to `preferred` as they allow.

    u = s J⁺r + N z, N the unit vector of the null space of J, (n − 1, n) of full rank. Joint i leaves z an interval,
    and all of them have a point in common where each two have one: with v_i = sign(N_i)(J⁺r)_i and n_i = |N_i| that is
    s |v_j n_i − v_i n_j| ≤ U_j n_i + U_i n_j, whence s; z is the point of the common interval next to Nᵀ preferred, so
    that ‖u‖ is least where this is zero. Where J is damped, both are as good as J⁺.

    Args:
        inverse: J⁺.
        r: What the joints contribute to the acceleration of the task, (n − 1,).
        preferred: Accelerations of which the null space has its share, (n,).
        U: Bounds, positive, (n,).
    """
    n = U.numel()
    wanted, N = inverse.apply(r, SX.zeros(n - 1))[0], _null_vector(inverse)
    size, v = ca.fabs(N), ca.sign(N) * wanted
    v = ca.if_else(size > TINY, v, wanted)
    i, j = (places.tolist() for places in np.tril_indices(n, -1))
    room, need = U[j] * size[i] + U[i] * size[j], ca.fabs(v[j] * size[i] - v[i] * size[j])
    share = ca.mmin(ca.if_else(need > room, room / need, 1.0))
    free = size > TINY
    width = ca.if_else(free, size, 1.0)
    least = ca.mmax(ca.if_else(free, (-U - share * v) / width, -ca.inf))
    most = ca.mmin(ca.if_else(free, (U - share * v) / width, ca.inf))
    z = ca.fmin(ca.fmax(dot(N, preferred), least), most)
    return BoundedAccelerations(share * wanted + N * z, share)


def _null_vector(inverse: PseudoInverse) -> SX:
    """The longest column of 1 − J⁺J = N Nᵀ, made of length one; its sign is any."""
    J = inverse.J
    n = J.shape[1]
    columns = [SX.eye(n)[:, i] - inverse.apply(J[:, i], SX.zeros(J.shape[0]))[0] for i in range(n)]
    longest, square = columns[0], columns[0][0]
    for i in range(1, n):
        longer = columns[i][i] > square
        longest = ca.if_else(longer, columns[i], longest)
        square = ca.if_else(longer, columns[i][i], square)
    return SX(longest / ca.sqrt(dot(longest, longest)))
