"""Resolution of redundancy: the damped pseudo-inverse, its exact time derivative, and its damping.

x = J⁺ c with J⁺ = Jᵀ(JJᵀ + λ²1)⁻¹, for J of full row rank or damped where it is not. λ² is zero where
1/tr((JJᵀ)⁻¹), a lower bound of σ_min² and at least σ_min²/m, exceeds a threshold, and grows smoothly below it, so that
it costs no tracking elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

DAMPING_LAG = 0.01
"""With which damping follows the distance to a singularity [s]."""

SMALLEST_PIVOT = 1e-12
"""Floor of a pivot of JJᵀ [m²]; pivots of a useful pose are above 1e-4."""


@dataclass(frozen=True)
class LdlFactors:
    """A = L D Lᵀ of a symmetric positive definite matrix: unit lower L (n, n), and the pivots d (n,)."""

    lower: SX
    pivots: SX

    @property
    def root(self) -> SX:
        """R, lower triangular with A = R Rᵀ."""
        return SX(self.lower @ ca.diag(ca.sqrt(self.pivots)))

    def solve(self, B: SX) -> SX:
        """A⁻¹ B."""
        return solve_upper(self.lower, ca.diag(reciprocal(self.pivots)) @ solve_lower(self.lower, B))

    def inverse_trace(self) -> SX:
        """tr A⁻¹ = Σᵢ ‖rowᵢ of L⁻¹‖²/dᵢ."""
        inverse = solve_lower(self.lower, SX.eye(self.pivots.numel()))
        return SX(dot(reciprocal(self.pivots), ca.sum2(inverse * inverse)))


def factor_ldl(A: SX) -> LdlFactors:
    """Factor a symmetric positive semi-definite matrix; pivots are kept above `SMALLEST_PIVOT`."""
    n = A.shape[0]
    lower, pivots = SX.eye(n), SX.zeros(n)
    pivots[0] = ca.fmax(A[0, 0], SMALLEST_PIVOT)
    for i in range(1, n):
        scaled = solve_lower(lower[:i, :i], A[i, :i].T)  # L_ik d_k
        row = scaled * reciprocal(pivots[:i])
        lower[i, :i] = row.T
        pivots[i] = ca.fmax(A[i, i] - dot(scaled, row), SMALLEST_PIVOT)
    return LdlFactors(lower, pivots)


def solve_lower(R: SX, B: SX) -> SX:
    """R⁻¹ B of a lower triangular R, by forward substitution."""
    rows: list[SX] = []
    for i in range(R.shape[0]):
        known = sum((R[i, k] * rows[k] for k in range(i)), SX.zeros(1, B.shape[1]))
        rows.append((B[i, :] - known) * reciprocal(R[i, i]))
    return ca.vertcat(*rows)


def solve_upper(R: SX, B: SX) -> SX:
    """R⁻ᵀ B of a lower triangular R, by backward substitution."""
    return SX(solve_lower(R[::-1, ::-1].T, B[::-1, :])[::-1, :])


class SingularityDamping:
    """λ² of J⁺, a state that follows μ = 1/tr((JJᵀ)⁻¹) with a lag, so that its derivative is known without that of μ.

        d/dt λ² = (maximum·(1 − x)² − λ²)/τ,   x = μ/threshold, at most 1,   τ = DAMPING_LAG and one period

    Args:
        signals: Where state `damping`, gains singularity_threshold, damping_max, and telemetry `singularity` and
            `damping` are declared.
        J: Jacobian (m, n), m ≤ n, an expression of q.
        first: What it is taken for at the activation, where J depends on more than q and gains.

    Attributes:
        value: λ² in use [m²].
        rate: Its derivative.
        next: Its next value, of the state `damping`.
        posture: ν = (1 − λ²/maximum)⁴, the share of null-space motion that is left: damped, the projection on the null
            space lets the rest of it through to the task.
        posture_rate: Its derivative.
        telemetry: What to report.
    """

    def __init__(self, signals: Signals, J: SX, first: SX | None = None) -> None:
        threshold = singularity_threshold(signals, "damping starts")
        maximum = signals.gain(
            "damping_max", default=1e-3, bounds=(1e-9, 1.0), unit="m²", doc="λ² of the pseudo-inverse at a singularity."
        )

        def wanted_at(distance: SX) -> SX:
            return SX(maximum * ca.fmax(1.0 - distance * reciprocal(threshold), 0.0) ** 2)

        distance = distance_to_singularity(J)
        describe_singularity(signals)
        wanted = wanted_at(distance)
        self.value = signals.state(
            "damping",
            default=0.0,
            bounds=(0.0, 1.0),
            unit="m²",
            doc="λ² of the pseudo-inverse.",
            initial=wanted if first is None else wanted_at(distance_to_singularity(first)),
        )
        self.rate = (wanted - self.value) / (DAMPING_LAG + signals.dt)
        self.next = self.value + signals.dt * self.rate
        left = 1.0 - self.value / maximum
        cube = left * left * left
        self.posture, self.posture_rate = left * cube, -4.0 * cube / maximum * self.rate
        signals.describe_telemetry("damping", unit="m²", doc="λ² in use; zero away from singularities.")
        self.telemetry = {"singularity": distance, "damping": self.value}


def singularity_threshold(signals: Signals, what: str) -> SX:
    """Declare singularity_threshold [m²], the distance to a singularity below which something happens."""
    return signals.gain(
        "singularity_threshold",
        default=1e-3,
        bounds=(1e-9, 1.0),
        unit="m²",
        doc=f"1/tr((JJᵀ)⁻¹) below which {what}.",
    )


def describe_singularity(signals: Signals) -> None:
    """Declare the telemetry `singularity`, the distance to a singularity."""
    doc = "1/tr((JJᵀ)⁻¹), between σ_min²/m and σ_min² of J; zero at a singularity."
    signals.describe_telemetry("singularity", unit="m²", doc=doc)


def distance_to_singularity(J: SX) -> SX:
    """Return 1/tr((JJᵀ)⁻¹) [m²]."""
    return SX(reciprocal(factor_ldl(J @ J.T).inverse_trace()))


class PseudoInverse:
    """J⁺ along a trajectory: applies it to a vector and differentiates the result exactly.

    Args:
        J: Jacobian (m, n), m ≤ n.
        J_dot: Its time derivative.
        damping: λ² [m²].
        damping_rate: Its time derivative.
    """

    def __init__(self, J: SX, J_dot: SX, damping: SX, damping_rate: SX) -> None:
        self.J, self.J_dot, self._damping_rate = J, J_dot, damping_rate
        self._factors = factor_ldl(J @ J.T + damping * SX.eye(J.shape[0]))

    def project(self, velocity: SX) -> SX:
        """(1 − J⁺J) of a velocity (n,)."""
        return SX(velocity - self.J.T @ self._factors.solve(self.J @ velocity))

    def apply(self, c: SX, c_dot: SX) -> tuple[SX, SX]:
        """x = J⁺c and ẋ: with A y = c, x = Jᵀy, ẋ = J̇ᵀy + JᵀA⁻¹(ċ − J̇x − J(J̇ᵀy) − d(λ²)/dt y)."""
        y = self._factors.solve(c)
        x = self.J.T @ y
        drift = self.J_dot.T @ y
        y_dot = self._factors.solve(c_dot - self.J_dot @ x - self.J @ drift - self._damping_rate * y)
        return x, drift + self.J.T @ y_dot
