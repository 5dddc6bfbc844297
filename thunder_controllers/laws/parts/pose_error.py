"""Axis-angle pose error and its kinematics, as symbolic parts that Cartesian laws share.

With R = [n s a] and R_d = [n_d s_d a_d]:  e_o = ½(n×n_d + s×s_d + a×a_d) = r sin θ, and L_o of theory.md §5, for which
ė_o = L_oᵀ ω_d − L_o ω. Both follow from the one matrix Q = R_d Rᵀ, the rotation from actual to desired:

    S(e_o) = ½(Q − Qᵀ),   L_o = ½(tr(Q) 1 − Qᵀ).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from thunder_dynamics.spatial import cos_sin, dot, matrix, skew, vee

SX = ca.SX

TINY = 1e-24
"""Keeps the axis of a vanishing e_o finite; e_o² is of order one wherever the axis is used."""


@dataclass(frozen=True)
class OrientationError:
    """Orientation error e_o (3,), its kinematics L_o (3, 3), and the cosine of the true angle between the frames."""

    e: SX
    L: SX
    cosine: SX


def orientation_error(R: SX, R_d: SX, safe_angle: float | SX) -> OrientationError:
    """e_o and L_o, computed as if the angle were `safe_angle` wherever it is larger.

    L_o is singular at θ = 90° and e_o vanishes again at 180°. Beyond the safe angle [rad] the rotation is replaced by
    the one about the same axis by the safe angle: the direction of the feedback stays, its size is clipped, and L_o
    stays invertible. At exactly 180° the axis is undefined and the error zero; a host refuses to start there.
    """
    Q = R_d @ R.T
    cosine = 0.5 * (ca.trace(Q) - 1.0)
    e = vee(Q)
    c, s = cos_sin(safe_angle)
    beyond = cosine < c
    axis = e / ca.sqrt(dot(e, e) + TINY)
    clipped = c * SX.eye(3) + s * SX(skew(axis)) + (1.0 - c) * (axis @ axis.T)
    used = ca.if_else(beyond, clipped, Q)
    return OrientationError(ca.if_else(beyond, s * axis, e), 0.5 * (ca.trace(used) * SX.eye(3) - used.T), cosine)


def clipped_norm(e: SX, limit: SX) -> SX:
    """e, shortened to the length `limit` where it is longer, shape of e."""
    return SX(e * ca.fmin(1.0, limit / ca.sqrt(dot(e, e) + TINY)))


def inverse_3x3(A: SX) -> SX:
    """Inverse by cofactors, shape (3, 3); A must not be singular."""
    cofactors = [
        [
            A[(i + 1) % 3, (j + 1) % 3] * A[(i + 2) % 3, (j + 2) % 3]
            - A[(i + 1) % 3, (j + 2) % 3] * A[(i + 2) % 3, (j + 1) % 3]
            for j in range(3)
        ]
        for i in range(3)
    ]
    scale = 1.0 / dot(A[0, :].T, ca.vertcat(*cofactors[0]))
    return SX(matrix([[cofactors[j][i] * scale for j in range(3)] for i in range(3)]))
