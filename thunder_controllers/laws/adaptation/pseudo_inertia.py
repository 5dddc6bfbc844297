"""Pseudo-inertia of a link as a graph, mass first: P = [[m, hᵀ], [h, Σ]], Σ = ½ tr(I) 1₃ − I, I about the origin."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.parts.redundancy import factor_ldl
from thunder_dynamics.inertia import symmetric_from_six
from thunder_dynamics.spatial import reciprocal

SX = ca.SX


def pseudo_inertia(pi: SX) -> SX:
    """P of π (10,), shape (4, 4). Its pivots are m and those of the second moments about the centre of mass."""
    xx, xy, xz, yy, yz, zz = (pi[k] for k in range(4, 10))
    half = 0.5 * (xx + yy + zz)
    return _bordered(pi[0], pi[1:4], [half - xx, -xy, -xz, half - yy, -yz, half - zz])


def reg_from_pseudo_inertia(P: SX) -> SX:
    """π of P, shape (10,)."""
    xx, yy, zz = P[1, 1], P[2, 2], P[3, 3]
    inertia = (yy + zz, -P[1, 2], -P[1, 3], xx + zz, -P[2, 3], xx + yy)
    return ca.vertcat(P[0, 0], P[1:4, 0], *inertia)


def force_matrix(b: SX) -> SX:
    """𝓛, symmetric, with tr(P(δπ) 𝓛) = δπᵀb for every δπ; shape (4, 4)."""
    xx, xy, xz, yy, yz, zz = (b[k] for k in range(4, 10))
    return _bordered(b[0], 0.5 * b[1:4], [yy + zz, -0.5 * xy, -0.5 * xz, xx + zz, -0.5 * yz, xx + yy])


def factor(P: SX) -> SX:
    """R, lower triangular with P = R Rᵀ."""
    factors = factor_ldl(P)
    unit = SX.eye(P.shape[0]) + ca.blockcat(factors.lower)  # whose diagonal is implied
    return SX(unit @ ca.diag(ca.sqrt(ca.vertcat(*factors.pivots))))


def solve_lower(R: SX, B: SX) -> SX:
    """R⁻¹ B of a lower triangular R, by forward substitution."""
    rows: list[SX] = []
    for i in range(R.shape[0]):
        known = sum((R[i, k] * rows[k] for k in range(i)), SX.zeros(1, B.shape[1]))
        rows.append((B[i, :] - known) * reciprocal(R[i, i]))
    return ca.vertcat(*rows)


def smallest_pivot(P: SX) -> SX:
    """Smallest pivot of LDLᵀ, kept above zero by its factors: where it is at their floor P may be indefinite."""
    return SX(ca.mmin(ca.vertcat(*factor_ldl(P).pivots)))


def _bordered(corner: SX, border: SX, six: list[SX]) -> SX:
    block = ca.blockcat(symmetric_from_six(six))
    return ca.blockcat([[corner, border.T], [border, block]])
