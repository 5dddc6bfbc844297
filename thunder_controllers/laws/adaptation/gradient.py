"""Gradient adaptation, free or projected on bounds (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from thunder_controllers.laws.adaptation.limit import AdaptationLimit, DiagonalGain, Estimates
from thunder_controllers.laws.parts.friction import FrictionAdaptation
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot

SX = ca.SX


class GradientAdaptation:
    """π̂̇ = κ Γ⁻¹ Yᵀ s   [Slotine & Li 1987, eq. 12], with or without projection on [pi_lower, pi_upper].

    Projection in discrete time, component by component: the Euler step is clamped, which freezes a component on its
    bound while its derivative points outward. Both end where a sampled loop does not bear more, as `Estimates` has it.

    κ ≤ 1 is the share that `AdaptationLimit` keeps, of Σᵢ (YΓ⁻¹Yᵀ)ᵢᵢ / K_d,i.

    Args:
        signals: Where state and gains are declared: those of Estimates, DiagonalGain and AdaptationLimit.
        links: Indices of the adapted links, in the order of the columns of Y.
        friction: Adapts by itself.
        projects: Have bounds, the gains pi_lower and pi_upper.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        friction: FrictionAdaptation | None = None,
        projects: bool = False,
    ) -> None:
        self._signals, self._estimates = signals, Estimates(robot, signals, links, bounded=projects)
        self.estimate, self.telemetry = self._estimates.value, dict[str, SX]()
        self._rates = DiagonalGain(signals, len(links)).inverse
        if projects:
            self._estimates.declare_bounds()
        self.limit = AdaptationLimit(signals)

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state: π̂ after one Euler step, clamped; arguments as of `Adaptation.step`."""
        dt = self._signals.dt
        per_parameter = SX(regressor * regressor).T @ self.limit.per_damping(K_d, regressor.shape[0])
        kept = self.limit.share_kept(dot(per_parameter, self._rates))
        moved = self.estimate + kept * dt * self._rates * (regressor.T @ s)
        return {"pi_hat": self._estimates.clamped(moved, Lambda)}


def projected(
    robot: RobotExpressions, signals: Signals, links: Sequence[int], friction: FrictionAdaptation | None = None
) -> GradientAdaptation:
    """Gradient adaptation within bounds."""
    return GradientAdaptation(robot, signals, links, friction, projects=True)
