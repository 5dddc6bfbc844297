"""Resolution of redundancy: the damped pseudo-inverse, its exact time derivative, and the ramp of the damping.

x = J⁺ c with J⁺ = Jᵀ(JJᵀ + λ²1)⁻¹, for J of full row rank or damped where it is not. λ² is zero where the smallest
pivot of the factored JJᵀ exceeds a threshold and grows smoothly below it, so that it costs no tracking elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

SX = ca.SX

SMALLEST_PIVOT = 1e-12
"""Floor of a pivot of JJᵀ [m²]; pivots of a useful pose are above 1e-4."""


@dataclass(frozen=True)
class LdlFactors:
    """A = L D Lᵀ of a symmetric positive definite matrix: unit lower L, pivots d and their reciprocals."""

    lower: list[list[SX]]
    pivots: list[SX]
    reciprocals: list[SX]

    def solve(self, b: SX) -> SX:
        """A⁻¹ b."""
        n = len(self.pivots)
        y: list[SX] = []
        for i in range(n):
            y.append(b[i] - _sum(self.lower[i][k] * y[k] for k in range(i)))
        return self.solve_transposed([value * r for value, r in zip(y, self.reciprocals, strict=True)])

    def solve_transposed(self, b: list[SX]) -> SX:
        """Solve Lᵀ x = b."""
        n = len(self.pivots)
        x: list[SX] = [SX(0)] * n
        for i in reversed(range(n)):
            x[i] = b[i] - _sum(self.lower[k][i] * x[k] for k in range(i + 1, n))
        return ca.vertcat(*x)


def factor_ldl(A: SX) -> LdlFactors:
    """Factor a symmetric positive semi-definite matrix; pivots are kept above `SMALLEST_PIVOT`."""
    n = A.shape[0]
    lower: list[list[SX]] = [[SX(0)] * n for _ in range(n)]
    pivots: list[SX] = []
    reciprocals: list[SX] = []
    for i in range(n):
        scaled: list[SX] = []  # L_ik d_k
        for k in range(i):
            value = A[i, k] - _sum(scaled[m] * lower[k][m] for m in range(k))
            scaled.append(value)
            lower[i][k] = value * reciprocals[k]
        pivot = ca.fmax(A[i, i] - _sum(scaled[k] * lower[i][k] for k in range(i)), SMALLEST_PIVOT)
        pivots.append(pivot)
        reciprocals.append(1.0 / pivot)
    return LdlFactors(lower, pivots, reciprocals)


@dataclass(frozen=True)
class SingularityRamp:
    """Damping λ² and its time derivative, and the smallest pivot of JJᵀ that sets them."""

    damping: SX
    damping_dot: SX
    pivot: SX


def singularity_ramp(J: SX, J_dot: SX, A: SX, threshold: SX, maximum: SX) -> SingularityRamp:
    """λ² = maximum·(1 − d/threshold)² for d below the threshold and 0 above, d the smallest pivot of A = JJᵀ.

    A pivot is d_k = w_kᵀ A w_k with Lᵀ w_k = unit vector k, stationary in w_k, so ḋ_k = 2 (Jᵀw_k)·(J̇ᵀw_k): exact
    and cheap.
    """
    factors = factor_ldl(A)
    smallest = factors.pivots[0]
    for pivot in factors.pivots[1:]:
        smallest = ca.fmin(smallest, pivot)
    w = factors.solve_transposed([pivot <= smallest for pivot in factors.pivots])
    pivot_dot = 2.0 * ca.dot(J.T @ w, J_dot.T @ w)
    depth = ca.fmax(1.0 - smallest / threshold, 0.0)
    return SingularityRamp(maximum * depth**2, -2.0 * maximum * depth / threshold * pivot_dot, smallest)


class PseudoInverse:
    """J⁺ along a trajectory: applies it to a vector and differentiates the result exactly.

    Args:
        J: Jacobian (m, n), m ≤ n.
        J_dot: Its time derivative.
        threshold: Smallest pivot below which damping starts [m²].
        maximum: λ² at a singularity [m²].
    """

    def __init__(self, J: SX, J_dot: SX, threshold: SX, maximum: SX) -> None:
        self.J, self.J_dot = J, J_dot
        A = ca.mtimes(J, J.T)
        self.ramp = singularity_ramp(J, J_dot, A, threshold, maximum)
        self._factors = factor_ldl(A + self.ramp.damping * SX.eye(J.shape[0]))

    def apply(self, c: SX, c_dot: SX) -> tuple[SX, SX]:
        """x = J⁺c and ẋ: with A y = c, x = Jᵀy, ẋ = J̇ᵀy + JᵀA⁻¹(ċ − J̇x − J(J̇ᵀy) − d(λ²)/dt y)."""
        y = self._factors.solve(c)
        x = self.J.T @ y
        drift = self.J_dot.T @ y
        y_dot = self._factors.solve(c_dot - self.J_dot @ x - self.J @ drift - self.ramp.damping_dot * y)
        return x, drift + self.J.T @ y_dot


def _sum(terms: object) -> SX:
    total = SX(0)
    for term in terms:  # type: ignore[attr-defined]
        total = total + term
    return total
