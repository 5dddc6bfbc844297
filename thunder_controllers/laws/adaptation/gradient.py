"""Adaptation along the gradient: free, within bounds, or of bodies that exist (theory.md §8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import casadi as ca

from thunder_controllers.laws.adaptation.bodies import ConsistentEstimates
from thunder_controllers.laws.adaptation.limit import Estimates
from thunder_controllers.laws.adaptation.scheme import LINKS, Adaptation, Adapted
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot

SX = ca.SX


FREE = partial(Estimates, bounded=False)


class GradientAdaptation(Adaptation):
    """π̂̇ = κ Γ⁻¹ Yᵀ s   [Slotine & Li 1987, eq. 12], after each Euler step back to where its estimates may be.

    That is projection in discrete time, in the metric Γ of V: V falls by it, and the motion along a border goes on.
    κ ≤ 1 is the share that `AdaptationLimit` keeps, of Σᵢ (YΓ⁻¹Yᵀ)ᵢᵢ / K_d,i. Of Γ⁻¹ the rows and columns of what the
    mask leaves out are zero.

    Args:
        signals: Where state and gains are declared: those of the estimates, of their Γ, and of AdaptationLimit.
        links: Indices of the adapted links, in the order of the columns of Y.
        adapted: The joints adapt by themselves.
        estimates: What they may be: `Estimates`, with bounds or without, or `ConsistentEstimates`.
    """

    separable = True

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        adapted: Adapted = LINKS,
        estimates: Callable[..., Estimates] = FREE,
    ) -> None:
        super().__init__(signals, estimates(robot, signals, links, adapted.mask.get("pi_hat")))
        self._root = self._estimates.root

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state: π̂ after one Euler step, projected; arguments as of `Adaptation.step`."""
        Z = self._root.T @ regressor.T
        kept = self.limit.share_kept(dot(ca.sum1(Z * Z).T, self.limit.per_damping(K_d, regressor.shape[0])))
        moved = self.estimate + self._root @ (kept * self._signals.dt * (Z @ s))
        return {"pi_hat": self._estimates.kept(moved, Lambda)}


projected = partial(GradientAdaptation, estimates=Estimates)
"""Component by component within bounds."""

consistent = partial(GradientAdaptation, estimates=ConsistentEstimates)
"""P ⪰ ε, and within bounds."""
