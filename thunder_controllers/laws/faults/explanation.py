"""What errors of the model explain of an effort: Bayesian regression on what they would make of it, as it moves."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from thunder_controllers.laws.parts.redundancy import LdlFactors, factor_ldl
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX


@dataclass(frozen=True)
class Explanation:
    """θ̂ of y = wᵀθ + noise of variance R, before a sample is learned: what it says of that sample.

    θ are errors in units of their standard deviations; error k walks as far as that in T_k seconds. With ℓ_k = Δ/T_k,
    D = diag(√(1 − ℓ)), and a share of g independent samples in a period,

        θ̂ = Λ⁻¹ b,   Λ' = D Λ D + diag(ℓ),   Λ ← Λ' + g w wᵀ/R,   b ← Λ' θ̂ + g w y/R,

    from Λ = 1, b = 0: least squares of the last T_k seconds, with what was learned before as their prior.

    Attributes:
        estimate: θ̂ (p,).
        variance: wᵀ Λ⁻¹ w, of wᵀθ̂.
        information: Λ (p, p), and its `factors`.
        row: w (p,).
    """

    estimate: SX
    variance: SX
    information: SX
    factors: LdlFactors
    row: SX

    @classmethod
    def of(cls, state: SX, row: SX) -> Explanation:
        """From the state, (`state_size`(p),), and w."""
        p = row.numel()
        lower = SX(ca.Sparsity.lower(p), state[: p * (p + 1) // 2])
        information, right = ca.tril2symm(lower), state[p * (p + 1) // 2 :]
        factors = factor_ldl(information)
        solved = factors.solve(ca.horzcat(right, row))
        return cls(solved[:, 0], dot(row, solved[:, 1]), information, factors, row)

    @property
    def last_square(self) -> SX:
        """Mean of θ_p², θ̂_p² + (Λ⁻¹)_pp."""
        return SX(self.estimate[-1] ** 2 + reciprocal(self.factors.pivots[-1]))

    def learned(self, y: SX, weight: SX, forgotten: SX) -> SX:
        """The next state.

        Args:
            y: The effort.
            weight: g/R.
            forgotten: ℓ, (p,), or one for all.
        """
        forgotten = forgotten * SX.ones(self.row.numel())
        kept = ca.sqrt(1.0 - forgotten)
        walked = ca.tril2symm(ca.tril((kept @ kept.T) * self.information) + ca.diag(forgotten))
        information = walked + weight * (self.row @ self.row.T)
        right = walked @ self.estimate + weight * self.row * y
        return ca.vertcat(ca.tril(information).nz[:], right)


def state_size(p: int) -> int:
    """How many numbers the state of a regression on p errors has: of Λ the lower triangle, and b."""
    return p * (p + 1) // 2 + p


def first_state(p: int) -> SX:
    """Λ = 1, b = 0."""
    return ca.vertcat(SX(ca.project(SX.eye(p), ca.Sparsity.lower(p))).nz[:], SX.zeros(p))
