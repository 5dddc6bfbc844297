"""Eigenvalues of a symmetric 4 × 4 matrix as a graph: a fixed number of Jacobi's rotations."""

from __future__ import annotations

from functools import reduce
from itertools import combinations

import casadi as ca

from thunder_controllers.laws.parts.redundancy import SMALLEST_PIVOT, factor_ldl
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

TINY = 1e-150
"""Keeps quotients finite, their squares too."""

PAIRS = (*combinations(range(4), 2), *2 * ((0, 3), (1, 2), (0, 2), (1, 3), (0, 1), (2, 3)))
"""What is rotated: three sweeps, after which eigenvectors of bodies are exact but for 1e-9 of the eigenvalues' spread.

The mass, the largest entry, leaves the others alone after one sweep that begins with it. In the other two, neighbours
have no index in common: a processor rotates both at a time.
"""


def all_of(truths: SX) -> SX:
    """One where all of a vector are true, else zero."""
    return reduce(ca.logic_and, ca.vertsplit(truths))


def is_above(A: SX, least: SX) -> SX:
    """One where A has no eigenvalue below `least`, else zero, also where A is not of numbers.

    All pivots of A − least 1 are positive then, by more than the floor of `factor_ldl`.
    """
    return all_of(factor_ldl(A - least * SX.eye(A.shape[0])).pivots > SMALLEST_PIVOT)


def lacking(A: SX, least: SX) -> tuple[SX, SX]:
    """l (4,) ≥ 0 and the rotation V (4, 4), such that A + V diag(l) Vᵀ has no eigenvalue below `least`.

    It is the nearest such matrix, but for what the rotations left off the diagonal: that counts as lacking too, which
    makes the diagonal dominant.
    """
    B, V = rotated_to_diagonal(A)
    off = ca.sum2(ca.fabs(B)) - ca.fabs(ca.diag(B))
    return SX(ca.fmax(least - ca.diag(B) + off, 0.0)), V


def rotated_to_diagonal(A: SX) -> tuple[SX, SX]:
    """VᵀAV, nearly diagonal, and the rotation V, both (4, 4).

    Off the diagonal it shrinks quadratically from sweep to sweep; V is a rotation after any number of them.
    """
    B, V = SX(A), SX.eye(4)
    for p, q in PAIRS:
        c, s, shift = _rotation(B[p, p], B[q, q], B[p, q])
        for k in {0, 1, 2, 3} - {p, q}:
            B[p, k], B[q, k] = c * B[p, k] - s * B[q, k], s * B[p, k] + c * B[q, k]
            B[k, p], B[k, q] = B[p, k], B[q, k]
        B[p, p], B[q, q] = B[p, p] - shift, B[q, q] + shift
        B[p, q] = B[q, p] = 0.0
        V[:, p], V[:, q] = c * V[:, p] - s * V[:, q], s * V[:, p] + c * V[:, q]
    return B, V


def _rotation(app: SX, aqq: SX, apq: SX) -> tuple[SX, SX, SX]:
    """Cosine and sine that make a_pq zero, of the angle θ within ±π/4 or opposite, and by how much a_qq grows.

    tan θ = w/g, w = 2 a_pq, d = a_qq − a_pp, r = ±√(d² + w²) with the sign of d, g = d + r; a_qq grows by r sin²θ.
    """
    d, w = aqq - app, 2.0 * apq
    r = ca.copysign(ca.sqrt(d * d + w * w) + TINY, d)
    g = d + r
    scale = reciprocal(ca.sqrt(g * g + w * w))
    s = w * scale
    return SX(g * scale), SX(s), SX(r * (s * s))
