"""Resolution of redundancy: the damped pseudo-inverse, its exact time derivative, and the ramp of the damping.

x = J⁺ c with J⁺ = Jᵀ(JJᵀ + λ²1)⁻¹, for J of full row rank or damped where it is not. λ² is zero where
1/tr((JJᵀ)⁻¹), a lower bound of σ_min² and at least σ_min²/m, exceeds a threshold, and grows smoothly below it, so that
it costs no tracking elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca

from thunder_dynamics.spatial import matrix, reciprocal

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

    def inverse(self) -> SX:
        """A⁻¹ = NᵀD⁻¹N with N = L⁻¹."""
        n = len(self.pivots)
        N: list[list[SX]] = [[SX(0)] * n for _ in range(n)]
        for i in range(n):
            N[i][i] = SX(1)
            for j in range(i):
                N[i][j] = -_sum(self.lower[i][k] * N[k][j] for k in range(j, i))
        scaled = [[N[i][j] * self.reciprocals[i] for j in range(n)] for i in range(n)]
        return _symmetric(n, lambda i, j: _sum(scaled[k][i] * N[k][j] for k in range(j, n)))


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
        reciprocals.append(reciprocal(pivot))
    return LdlFactors(lower, pivots, reciprocals)


@dataclass(frozen=True)
class SingularityRamp:
    """What changes with the distance to a singularity, and its time derivative.

    Attributes:
        damping: λ² [m²].
        distance: μ = 1/tr((JJᵀ)⁻¹), which sets the rest [m²].
        posture: Share of null-space motion that is left: damped, the projection on the null space lets the rest of it
            through to the task.
    """

    damping: SX
    damping_dot: SX
    distance: SX
    posture: SX
    posture_dot: SX


def singularity_ramp(J: SX, J_dot: SX, A: SX, threshold: SX, maximum: SX) -> SingularityRamp:
    """λ² = maximum·(1 − x)² and posture = (x²(3 − 2x))², with x = μ/threshold, at most 1, μ = 1/tr(A⁻¹), A = JJᵀ.

    dμ/dt = −μ² d/dt tr(A⁻¹) = 2 μ² tr(A⁻² J̇Jᵀ).
    """
    inverse = factor_ldl(A).inverse()
    square = _symmetric(A.shape[0], lambda i, j: ca.dot(inverse[:, i], inverse[:, j]))
    distance = reciprocal(ca.trace(inverse))
    distance_dot = 2.0 * distance**2 * ca.dot(J, square @ J_dot)
    scale = reciprocal(threshold)
    x, x_dot = ca.fmin(distance * scale, 1.0), distance_dot * scale
    depth, step = 1.0 - x, x * x * (3.0 - 2.0 * x)
    return SingularityRamp(
        damping=maximum * depth**2,
        damping_dot=-2.0 * maximum * depth * x_dot,
        distance=distance,
        posture=step * step,
        posture_dot=12.0 * step * x * depth * x_dot,
    )


class PseudoInverse:
    """J⁺ along a trajectory: applies it to a vector and differentiates the result exactly.

    Args:
        J: Jacobian (m, n), m ≤ n.
        J_dot: Its time derivative.
        threshold: 1/tr((JJᵀ)⁻¹) below which damping starts [m²].
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


def _symmetric(n: int, entry: Callable[[int, int], SX]) -> SX:
    """Matrix of entry(i, j), asked for i ≤ j only."""
    upper = {(i, j): entry(i, j) for i in range(n) for j in range(i, n)}
    return SX(matrix([[upper[min(i, j), max(i, j)] for j in range(n)] for i in range(n)]))


def _sum(terms: object) -> SX:
    total = SX(0)
    for term in terms:  # type: ignore[attr-defined]
        total = total + term
    return total
