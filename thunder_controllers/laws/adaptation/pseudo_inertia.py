"""Pseudo-inertia of a link as a graph, mass first: P = [[m, hᵀ], [h, Σ]] (theory.md §1).

All here is linear. The lower triangle of P, column by column, is U π, with U of `thunder_dynamics.inertia`.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.redundancy import factor_ldl
from thunder_dynamics import inertia

SX = ca.SX

TRIANGLE = ca.Sparsity.lower(4)

COUNT = ca.project(2.0 * ca.DM.ones(4, 4) - ca.DM.eye(4), TRIANGLE).nz[:]
"""How often an entry of the triangle is in the matrix: tr(P 𝓛) = Σ COUNT · triangle(P) · triangle(𝓛)."""

_BODIES = inertia.pseudo_inertia(np.eye(inertia.N_PARAMETERS))[:, [3, 0, 1, 2]][:, :, [3, 0, 1, 2]]
_COLUMNS, _ROWS = np.triu_indices(4)
U = ca.sparsify(_BODIES[:, _ROWS, _COLUMNS].T)
U_INVERSE = ca.sparsify(np.linalg.inv(np.array(U)))
FORCE = ca.diag(1.0 / COUNT) @ U_INVERSE.T


def pseudo_inertia(pi: SX) -> SX:
    """P of π (10,), shape (4, 4). Its pivots are m and those of the second moments about the centre of mass."""
    return _symmetric(U @ pi)


def reg_from_pseudo_inertia(P: SX) -> SX:
    """π of P, shape (10,)."""
    return U_INVERSE @ _triangle(P)


def force_matrix(b: SX) -> SX:
    """𝓛, symmetric, with tr(P(δπ) 𝓛) = δπᵀb for every δπ; shape (4, 4)."""
    return _symmetric(FORCE @ b)


def force_of_matrix(L: SX) -> SX:
    """b of a symmetric 𝓛, shape (10,): the inverse of `force_matrix`."""
    return U.T @ (COUNT * _triangle(L))


def in_metric(R: SX, b: SX) -> SX:
    """b in coordinates x of P(δπ) = R X Rᵀ, in which the metric of P = RRᵀ is ‖x‖ = ‖X‖_F; shape (10,).

    That is Rᵀ𝓛(b)R, as δπᵀb = tr(P(δπ) 𝓛) = tr(X Rᵀ𝓛R).
    """
    return ca.sqrt(COUNT) * _triangle(R.T @ (force_matrix(b) @ R))


def from_metric(x: SX) -> SX:
    """X of its coordinates x (10,), symmetric (4, 4)."""
    return _symmetric((1.0 / ca.sqrt(COUNT)) * x)


def smallest_pivot(P: SX) -> SX:
    """Smallest pivot of LDLᵀ, kept above zero by its factors: where it is at their floor P may be indefinite."""
    return SX(ca.mmin(factor_ldl(P).pivots))


def _symmetric(triangle: SX) -> SX:
    return ca.tril2symm(SX(TRIANGLE, ca.densify(SX(triangle))))


def _triangle(P: SX) -> SX:
    return ca.project(P, TRIANGLE).nz[:]
