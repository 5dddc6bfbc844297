"""Pseudo-inertia of a link as a graph, mass first: P = [[m, hᵀ], [h, Σ]], Σ = ½ tr(I) 1₃ − I, I about the origin."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.parts.redundancy import factor_ldl
from thunder_dynamics.inertia import symmetric_from_six
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

ROOT_TWO = 2.0**0.5


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


def force_of_matrix(L: SX) -> SX:
    """b of a symmetric 𝓛, shape (10,): the inverse of `force_matrix`."""
    xx, yy, zz = L[1, 1], L[2, 2], L[3, 3]
    inertia = (yy + zz - xx, -4.0 * L[1, 2], -4.0 * L[1, 3], xx + zz - yy, -4.0 * L[2, 3], xx + yy - zz)
    return ca.vertcat(L[0, 0], 2.0 * L[1:4, 0], *(0.5 * value for value in inertia))


def in_metric(R: SX, b: SX) -> SX:
    """b in coordinates x of P(δπ) = R X Rᵀ, in which the metric of P = RRᵀ is ‖x‖ = ‖X‖_F; shape (10,).

    That is Rᵀ𝓛(b)R, as δπᵀb = tr(P(δπ) 𝓛) = tr(X Rᵀ𝓛R).
    """
    A = R.T @ force_matrix(b) @ R
    return ca.vertcat(*(A[i, j] * (1.0 if i == j else ROOT_TWO) for i in range(4) for j in range(i, 4)))


def from_metric(x: SX) -> SX:
    """X of its coordinates x (10,), symmetric (4, 4)."""
    entries = iter(ca.vertsplit(x))
    X = SX(4, 4)
    for i in range(4):
        for j in range(i, 4):
            X[i, j] = X[j, i] = next(entries) * (1.0 if i == j else 1.0 / ROOT_TWO)
    return X


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


def solve_upper(R: SX, b: SX) -> SX:
    """R⁻ᵀ b of a lower triangular R and a column, by backward substitution."""
    return SX(solve_lower(R[::-1, ::-1].T, b[::-1])[::-1])


def smallest_pivot(P: SX) -> SX:
    """Smallest pivot of LDLᵀ, kept above zero by its factors: where it is at their floor P may be indefinite."""
    return SX(ca.mmin(ca.vertcat(*factor_ldl(P).pivots)))


def _bordered(corner: SX, border: SX, six: list[SX]) -> SX:
    block = ca.blockcat(symmetric_from_six(six))
    return ca.blockcat([[corner, border.T], [border, block]])
