"""Eigenvalues of a small symmetric matrix as a graph: a fixed number of sweeps of Jacobi's rotations."""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.spatial import reciprocal

SX = ca.SX

TINY = 1e-300
"""Keeps quotients finite."""

SWEEPS = 3
"""After which eigenvectors are exact but for 1e-9 of the spread of the eigenvalues."""


def lacking(A: SX, least: SX) -> tuple[SX, SX]:
    """l (n,) ≥ 0 and the rotation V (n, n), such that A + V diag(l) Vᵀ has no eigenvalue below `least`.

    It is the nearest such matrix, but for what the rotations left off the diagonal: that counts as lacking too, which
    makes the diagonal dominant.
    """
    B, V = rotated_to_diagonal(A)
    off = ca.sum2(ca.fabs(B)) - ca.fabs(ca.diag(B))
    return SX(ca.fmax(least - ca.diag(B) + off, 0.0)), V


def rotated_to_diagonal(A: SX, sweeps: int = SWEEPS) -> tuple[SX, SX]:
    """VᵀAV, nearly diagonal, and the rotation V, both (n, n).

    Off the diagonal it shrinks quadratically from sweep to sweep; V is a rotation after any number of them.
    """
    n = A.shape[0]
    B, V = SX(A), SX.eye(n)
    for _ in range(sweeps):
        for p in range(n):
            for q in range(p + 1, n):
                c, s = _rotation(B[p, p], B[q, q], B[p, q])
                turn = SX.eye(n)
                turn[p, p] = turn[q, q] = c
                turn[p, q], turn[q, p] = s, -s
                B = turn.T @ B @ turn
                B[p, q] = B[q, p] = 0.0
                V = V @ turn
    return B, V


def _rotation(app: SX, aqq: SX, apq: SX) -> tuple[SX, SX]:
    """Cosine and sine that make a_pq zero, of the angle within ±π/4: tan = 2 a_pq / (d ± √(d² + 4 a_pq²))."""
    d = aqq - app
    root = ca.sqrt(d * d + 4.0 * apq * apq)
    t = 2.0 * apq * reciprocal(d + ca.if_else(d < 0.0, -root, root) + ca.if_else(d < 0.0, -TINY, TINY))
    c = reciprocal(ca.sqrt(1.0 + t * t))
    return SX(c), SX(t * c)
