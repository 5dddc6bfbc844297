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

    θ are errors in units of their standard deviations, which walk as far as these in T seconds. With ℓ = Δ/T, and a
    share of g independent samples in a period,

        θ̂ = Λ⁻¹ b,   Λ ← (1 − ℓ) Λ + ℓ Π + g w wᵀ/R,   b ← (1 − ℓ) b + ℓ Π θ̂ + g w y/R,

    from Λ = 1, b = 0: least squares of the last T seconds, with what was learned before as their prior. Π = 1 but for
    the last two errors, where they last for T_l: there it is (1 − T/T_l) S + (T/T_l) 1, S the Schur complement of the
    others in Λ, which is all that is known of the two while the others walk.

    Attributes:
        estimate: θ̂ (p,).
        variance: wᵀ Λ⁻¹ w, of wᵀθ̂.
        information: Λ (p, p), and its `factors`.
        right: b (p,).
        row: w (p,).
    """

    estimate: SX
    variance: SX
    information: SX
    factors: LdlFactors
    right: SX
    row: SX

    @classmethod
    def of(cls, state: SX, row: SX) -> Explanation:
        """From the state, (`state_size`(p),), and w."""
        p = row.numel()
        lower = SX(ca.Sparsity.lower(p), state[: p * (p + 1) // 2])
        information, right = ca.tril2symm(lower), state[p * (p + 1) // 2 :]
        factors = factor_ldl(information)
        solved = factors.solve(ca.horzcat(right, row))
        return cls(solved[:, 0], dot(row, solved[:, 1]), information, factors, right, row)

    @property
    def last_square(self) -> SX:
        """Mean of θ_p², θ̂_p² + (Λ⁻¹)_pp."""
        return SX(self.estimate[-1] ** 2 + reciprocal(self.factors.pivots[-1]))

    def learned(self, y: SX, weight: SX, forgotten: SX, lasting: SX | float = 0.0) -> SX:
        """Return the next state.

        Args:
            y: The effort.
            weight: g/R.
            forgotten: ℓ.
            lasting: 1 − T/T_l of the last two errors; zero where they walk as the others do.
        """
        corner = self.factors.lower[-2:, -2:]
        known = corner @ ca.diag(self.factors.pivots[-2:]) @ corner.T
        prior = SX.eye(self.row.numel())
        prior[-2:, -2:] = (1.0 - lasting) * SX.eye(2) + lasting * known
        information = self.information + forgotten * (prior - self.information) + weight * (self.row @ self.row.T)
        right = self.right + forgotten * (prior @ self.estimate - self.right) + weight * self.row * y
        return ca.vertcat(ca.tril(information).nz[:], right)


def state_size(p: int) -> int:
    """How many numbers the state of a regression on p errors has: of Λ the lower triangle, and b."""
    return p * (p + 1) // 2 + p


def first_state(p: int) -> SX:
    """Λ = 1, b = 0."""
    return ca.vertcat(SX(ca.project(SX.eye(p), ca.Sparsity.lower(p))).nz[:], SX.zeros(p))
