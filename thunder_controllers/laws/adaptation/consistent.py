"""Gradient adaptation projected on what bodies are, in its own metric (theory.md §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from thunder_controllers.laws.adaptation.bodies import BodyEstimates
from thunder_controllers.laws.adaptation.eigen import lacking
from thunder_controllers.laws.adaptation.limit import AdaptationLimit, gamma_of, gamma_of_links
from thunder_controllers.laws.adaptation.pseudo_inertia import force_matrix, pseudo_inertia, reg_from_pseudo_inertia
from thunder_controllers.laws.parts.friction import FrictionAdaptation
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

LEAST_MOMENT = 1e-6
"""Least second moment of mass about any axis through the CoM [kg·m²]: that of ten grams within a centimetre."""


class ConsistentAdaptation:
    """π̂̇ = κ Γ⁻¹ Yᵀ s, projected on P ⪰ ε, P the pseudo-inertia of each adapted link.

    Γ is such that δπᵀΓδπ = γ ‖X‖_F², X = W P(δπ) W with W = diag(γ_m, γ_I 1₃)^¼: that is
    γ (γ_m δm² + 2 √(γ_m γ_I) ‖δh‖² + γ_I ‖δΣ‖_F²), one γ per link. In this metric the nearest body has the same
    eigenvectors of X and its eigenvalues, but for those below ε, which become ε. It is nearer than π̂ to every body, to
    the true one too: V = … + ½ π̃ᵀΓπ̃ falls by projection too, and motion along the border goes on.

    κ ≤ 1 is the share that `AdaptationLimit` keeps, of Σᵢ (YΓ⁻¹Yᵀ)ᵢᵢ / K_d,i.

    Args:
        signals: Where state, gains and telemetry are declared: those of BodyEstimates, AdaptationLimit, pi_lower and
            pi_upper, gamma, gamma_mass and gamma_inertia.
        links: Indices of the adapted links, in the order of the columns of Y.
        friction: Adapts by itself.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        friction: FrictionAdaptation | None = None,
    ) -> None:
        self._signals, self._estimates = signals, BodyEstimates(robot, signals, links)
        self.estimate = self._estimates.value
        self.telemetry: Mapping[str, SX] = self._estimates.telemetry
        self._rates = reciprocal(gamma_of_links(signals, len(links)))
        mass = gamma_of(signals, "mass", "N·m/kg²", "the mass; that on the first moment is 2 √(γ_mass γ_inertia)")
        inertia = gamma_of(signals, "inertia", "N/(kg²·m³)", "the second moments")
        root = ca.vertcat(ca.sqrt(ca.sqrt(mass)), ca.repmat(ca.sqrt(ca.sqrt(inertia)), 3))
        self._root, self._inverse = root, reciprocal(root)
        self._least = LEAST_MOMENT * ca.sqrt(inertia)
        self._estimates.declare_bounds()
        self.limit = AdaptationLimit(signals)

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state: π̂ after one Euler step, projected; arguments as of `Adaptation.step`."""
        weights = self.limit.per_damping(K_d, regressor.shape[0])
        links = list(zip(ca.vertsplit(self._rates), ca.horzsplit(regressor, N_PARAMETERS), strict=True))
        speed = SX(0)
        for rate, Y in links:
            for weight, row in zip(ca.vertsplit(weights), ca.vertsplit(Y), strict=True):
                speed += rate * weight * ca.sumsqr(self._force(row.T))
        kept = self._signals.dt * self.limit.share_kept(speed)
        moved = [
            self._projected(self._scaled(pi) + kept * rate * self._force(Y.T @ s))
            for (rate, Y), pi in zip(links, ca.vertsplit(self.estimate, N_PARAMETERS), strict=True)
        ]
        return {"pi_hat": self._estimates.drawn(ca.vertcat(*moved), Lambda)}

    def _scaled(self, pi: SX) -> SX:
        """X of π."""
        return SX(pseudo_inertia(pi) * (self._root @ self._root.T))

    def _force(self, b: SX) -> SX:
        """What δπᵀb is in X: tr(X F)."""
        return SX(force_matrix(b) * (self._inverse @ self._inverse.T))

    def _projected(self, X: SX) -> SX:
        """π of the nearest X ⪰ ε."""
        lacks, V = lacking(X, self._least)
        nearest = X + V @ (ca.repmat(lacks, 1, 4) * V.T)
        return reg_from_pseudo_inertia(nearest * (self._inverse @ self._inverse.T))
