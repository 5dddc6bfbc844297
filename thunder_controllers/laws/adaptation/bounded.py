"""Gradient adaptation within bounds (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from thunder_controllers.laws.adaptation.limit import PI_UNITS, AdaptationLimit, DiagonalGain, Estimates
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot

SX = ca.SX


class BoundedAdaptation:
    """π̂̇ = κ Γ⁻¹ Yᵀ s with component-wise projection on [pi_lower, pi_upper]   [Slotine & Li 1987, eq. 12].

    Projection in discrete time: the Euler step is clamped, which freezes a component on its bound while its derivative
    points outward. The bounds end where a sampled loop does not bear more, as `Estimates` has it.

    κ ≤ 1 is the share that `AdaptationLimit` keeps, of Σᵢ (YΓ⁻¹Yᵀ)ᵢᵢ / K_d,i.

    Args:
        signals: Where state and gains are declared: those of Estimates, DiagonalGain and AdaptationLimit, and the gains
            pi_lower, pi_upper.
        links: Indices of the adapted links, in the order of the columns of Y.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> None:
        self._signals, self._estimates = signals, Estimates(robot, signals, links)
        self.estimate, self.telemetry = self._estimates.value, dict[str, SX]()
        self._rates = DiagonalGain(signals, len(links)).inverse
        self._bounds = declare_bounds(signals, self._estimates)
        self.limit = AdaptationLimit(signals)

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state: π̂ after one Euler step, clamped to its bounds.

        Args:
            regressor: Y of the adapted links, (n, 10 k).
            s: (n,).
            K_d: The law's feedback on s, (n,) or one for all.
            Lambda: Bandwidths of the law's error, of any size [1/s].
        """
        dt = self._signals.dt
        weights = SX.ones(regressor.shape[0]) * self.limit.per_damping(K_d)  # K_d may be one for all
        per_parameter = SX(regressor * regressor).T @ weights
        kept = self.limit.share_kept(dot(per_parameter, self._rates))
        moved = self.estimate + kept * dt * self._rates * (regressor.T @ s)
        return {"pi_hat": clamp(moved, self._bounds, self._estimates, Lambda)}


def declare_bounds(signals: Signals, estimates: Estimates) -> tuple[SX, SX]:
    """Declare the gains pi_lower and pi_upper, each (10 k,)."""
    lower = signals.gain(
        "pi_lower",
        size=estimates.size,
        default=estimates.lower,
        bounds=(-1e3, 1e3),
        unit=PI_UNITS,
        doc="Lower bounds of the estimates.",
    )
    return lower, signals.gain(
        "pi_upper",
        size=estimates.size,
        default=estimates.upper,
        bounds=(-1e3, 1e3),
        unit=PI_UNITS,
        doc="Upper bounds of the estimates.",
    )


def clamp(pi: SX, bounds: tuple[SX, SX], estimates: Estimates, Lambda: SX) -> SX:
    """π within its bounds, and within what a loop with bandwidths Λ bears."""
    width = estimates.bearable(Lambda)
    lower, upper = ca.fmax(bounds[0], estimates.nominal - width), ca.fmin(bounds[1], estimates.nominal + width)
    return SX(ca.fmin(ca.fmax(pi, lower), upper))
