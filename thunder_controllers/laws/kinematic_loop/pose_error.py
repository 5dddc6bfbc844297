"""Axis-angle pose error and its kinematics, as symbolic parts that Cartesian laws share.

With R = [n s a] and R_d = [n_d s_d a_d]:  e_o = ½(n×n_d + s×s_d + a×a_d) = r sin θ, and L_o of theory.md §5, for which
ė_o = L_oᵀ ω_d − L_o ω. Q = R_d Rᵀ, the rotation from actual to desired, gives S(e_o) = ½(Q − Qᵀ) and c = cos θ. By
Rodrigues' formula L_o = ½(tr(Q) 1 − Qᵀ) and its inverse are functions of the two:

    L_o = ½((1 + c) 1 + S(e_o) − e_o e_oᵀ/(1 + c)),   L_o⁻¹ = 1 − S(e_o)/(1 + c) + e_o e_oᵀ/(c (1 + c)).
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from thunder_dynamics.spatial import cos_sin, dot, reciprocal, skew, vee

SX = ca.SX

TINY = 1e-24
"""Keeps the axis of a vanishing e_o finite; e_o² is of order one wherever the axis is used."""


@dataclass(frozen=True)
class OrientationError:
    """Orientation error e_o (3,), and its kinematics L_o and L_o⁻¹ (3, 3)."""

    e: SX
    L: SX
    L_inverse: SX


def orientation_error(R: SX, R_d: SX, safe_angle: float | SX) -> OrientationError:
    """e_o and L_o, computed as if the angle were `safe_angle` wherever it is larger.

    L_o is singular at θ = 90° and e_o vanishes again at 180°. Beyond the safe angle [rad] the rotation is replaced by
    the one about the same axis by the safe angle: the direction of the feedback stays, its size is clipped, and L_o
    stays invertible. At exactly 180° the axis is undefined and the error zero; a host refuses to start there.
    """
    Q = R_d @ R.T
    cosine = 0.5 * (ca.trace(Q) - 1.0)
    least, sine = cos_sin(safe_angle)
    e = vee(Q)
    e = e * ca.if_else(cosine < least, sine / ca.sqrt(dot(e, e) + TINY), 1.0)
    c = ca.fmax(cosine, least)
    r = reciprocal(1.0 + c)
    S, square = SX(skew(e)), r * (e @ e.T)
    L = 0.5 * ((1.0 + c) * SX.eye(3) + S - square)
    return OrientationError(e, L, SX.eye(3) - r * S + reciprocal(c) * square)


def clipped_norm(e: SX, limit: SX) -> SX:
    """e, shortened to the length `limit` where it is longer, shape of e."""
    return SX(e * ca.fmin(1.0, limit / ca.sqrt(dot(e, e) + TINY)))
