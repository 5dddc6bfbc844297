"""Regressors linear in the inertial parameters.

Y_r(q, q̇, q̇_r, q̈_r) π = M(q) q̈_r + C(q, q̇) q̇_r + G(q), C in Christoffel form [Slotine & Li 1987], shape (nv, 10 n),
columns of link i in REG order about its frame origin. Block (j, i) is zero unless velocity j moves link i.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca

from thunder_dynamics.algorithms.dynamics import LinkMotion
from thunder_dynamics.algorithms.joint_motion import Screw
from thunder_dynamics.algorithms.kinematics import Kinematics
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.spatial import cross, dot

SX = ca.SX


def slotine_li_regressor(kinematics: Kinematics, motions: Sequence[LinkMotion], links: Iterable[int]) -> SX:
    """Y_r restricted to the parameters of `links`, shape (nv, 10·len(links)).

    Args:
        motions: From `dynamics.propagate`; with q̇_r = q̇ and q̈_r = q̈ the result is the classical regressor.
        links: Indices of the links, in the order of the columns.
    """
    blocks = [_link_regressor(kinematics, motions[i], i) for i in links]
    return ca.horzcat(*blocks) if blocks else SX.zeros(kinematics.model.nv, 0)


def _link_regressor(kinematics: Kinematics, motion: LinkMotion, i: int) -> SX:
    """Columns of link i, shape (nv, 10): row j is the power of the wrench of each parameter along screw j."""
    K = rotational_columns(motion)
    Y = SX.zeros(kinematics.model.nv, N_PARAMETERS)
    for j, screw in kinematics.path_screws(i, i):
        Y[j, :] += _powers(motion, K, screw).T
    return Y


def transposed_product(motions: Sequence[LinkMotion], twists: Sequence[Screw]) -> SX:
    """Y_rᵀ s, shape (10 n,), in O(n): rows of Y_r are linear in the screws, which sum up to the twist of each link.

    Args:
        motions: From `dynamics.propagate`.
        twists: Linear and angular velocity of every link at velocities s, as `Dynamics.velocities` gives them.
    """
    powers = (_powers(motion, rotational_columns(motion), twist) for motion, twist in zip(motions, twists, strict=True))
    return ca.vertcat(*powers)


def _powers(motion: LinkMotion, K: Sequence[Sequence[SX]], screw: Screw) -> SX:
    """Power of the wrench of each parameter of a link along a screw, shape (10,).

    Per unit mass the wrench is (a, 0); per unit first moment (B, −S(a)); per unit inertia (0, K). So, with screw
    (s_v, s_ω): s_v·a, Bᵀ s_v + a × s_ω, Kᵀ s_ω.
    """
    s_v, s_w = screw
    first_moment = cross(motion.a, s_w)
    first = (dot(motion.B[:, k], s_v) + first_moment[k] for k in range(3))
    return SX(ca.vertcat(dot(s_v, motion.a), *first, *(dot(column, s_w) for column in K)))


def rotational_columns(motion: LinkMotion) -> list[list[SX]]:
    """Moment per unit of Ixx, Ixy, Ixz, Iyy, Iyz, Izz: I α' + ½(ω × I ω_r + ω_r × I ω), α' = α − ½ ω × ω_r.

    Written with the entries of B, which it shares: α'_y − P_xz = −B_zx and so on, P = ½(ω ω_rᵀ + ω_r ωᵀ).
    """
    w, wr, B, alpha = motion.omega, motion.omega_r, motion.B, motion.alpha
    o = [[w[a] * wr[b] for b in range(3)] for a in range(3)]
    P_xy, P_xz, P_yz = (0.5 * (o[a][b] + o[b][a]) for a, b in ((0, 1), (0, 2), (1, 2)))
    ax = alpha[0] - 0.5 * (o[1][2] - o[2][1])
    ay = alpha[1] - 0.5 * (o[2][0] - o[0][2])
    az = alpha[2] - 0.5 * (o[0][1] - o[1][0])
    return [
        [ax, P_xz, -P_xy],
        [-B[2, 0], B[2, 1], o[0][0] - o[1][1]],
        [B[1, 0], o[2][2] - o[0][0], -B[1, 2]],
        [-P_yz, ay, P_xy],
        [o[1][1] - o[2][2], -B[0, 1], B[0, 2]],
        [P_yz, -P_xz, az],
    ]
