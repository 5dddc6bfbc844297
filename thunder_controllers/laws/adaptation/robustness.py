"""What keeps estimates from drifting by noise and by what the model leaves out, whatever the scheme (theory.md §8)."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX


class Robustness:
    """Dead zone on s, and σ-modification: a pull of estimates to their nominal values [Ioannou & Kokotović 1984].

    Args:
        signals: Where the gains dead_zone and sigma_modification are declared, both zero by default.
    """

    def __init__(self, signals: Signals) -> None:
        self._dead_zone = signals.gain(
            "dead_zone",
            default=0.0,
            bounds=(0.0, 10.0),
            unit="rad/s|m/s",
            doc="Of every component of s, the part that adapts nothing.",
        )
        pull = signals.dt * signals.gain(
            "sigma_modification",
            default=0.0,
            bounds=(0.0, 1e3),
            unit="1/s",
            doc="Rate σ at which estimates return to the values of the robot file.",
        )
        self._share = pull * reciprocal(1.0 + pull)

    def outside_dead_zone(self, s: SX) -> SX:
        """s less its saturation by the dead zone: continuous."""
        return SX(s - ca.fmin(ca.fmax(s, -self._dead_zone), self._dead_zone))

    def pulled(self, estimate: SX, nominal: NDArray[np.float64]) -> SX:
        """(x + Δσ x_0)/(1 + Δσ), implicit: stable for any σ, and between two bodies, thus a body."""
        return SX(estimate + self._share * (SX(nominal) - estimate))
