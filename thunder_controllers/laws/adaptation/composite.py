"""Composite adaptation: by the tracking error and by the error of the predicted effort (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.limit import AdaptationLimit, DiagonalGain, Estimates
from thunder_controllers.laws.adaptation.prediction import PredictionError, prediction_weight
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

MOST_LINKS = 2
"""Whose covariance, (10 k)² numbers that every row of W updates, a step of a millisecond has time for."""


class CompositeAdaptation:
    """π̂̇ = G(κ Yᵀs + w Wᵀε),  Ġ = λ G − w G WᵀW G,  λ = λ_0 (1 − ‖Ĝ‖/‖1‖)   [Slotine & Li 1989].

    G starts from Γ⁻¹ = D², and Ĝ = D⁻¹GD⁻¹, without units, is the state: forgetting ends where its Frobenius norm is
    that of its start, so G is bounded without excitation. ε and its regressor W are of `PredictionError`.

    In discrete time G⁻¹⁺ = G⁻¹/(1 + λΔ) + wΔ WᵀW exactly, row by row of W, and π̂⁺ = π̂ + Δ G⁺(κ Yᵀs + w Wᵀε), which is
    implicit in ε: no w or G makes it unstable. Bounds clamp π̂ as by gradient; they do not keep it consistent. κ is the
    share that `AdaptationLimit` keeps, of Σᵢ (Y G Yᵀ)ᵢᵢ / K_d,i.

    Args:
        signals: Where states and gains are declared: those of Estimates, DiagonalGain, AdaptationLimit and
            PredictionError, pi_lower, pi_upper, state `covariance`, gains prediction_weight and forgetting.
        links: Indices of the adapted links, in the order of the columns of Y.

    Raises:
        LawError: for more links than MOST_LINKS.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> None:
        if len(links) > MOST_LINKS:
            raise LawError(
                f"composite adaptation of {len(links)} links",
                valid=f"adapted_links of at most {MOST_LINKS}, or adaptation=natural_composite",
            )
        self._signals, self._estimates = signals, Estimates(robot, signals, links)
        self.estimate, self.telemetry = self._estimates.value, dict[str, SX]()
        self._root = ca.sqrt(DiagonalGain(signals, len(links)).inverse)
        self._estimates.declare_bounds()
        self.limit = AdaptationLimit(signals)
        self._weight = prediction_weight(signals)
        self._forgetting = signals.gain(
            "forgetting", default=0.2, bounds=(0.0, 10.0), unit="1/s", doc="Rate λ_0 at which old data is forgotten."
        )
        size = self._estimates.size
        covariance = signals.state(
            "covariance",
            size=size**2,
            default=np.eye(size).ravel(),
            unit="1",
            doc="Ĝ, columnwise.",
        )
        self._covariance = ca.reshape(covariance, size, size)
        self._prediction = PredictionError(robot, signals, links, self.estimate)

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next states; arguments as of `Adaptation.step`."""
        dt, root, prediction = self._signals.dt, self._root, self._prediction
        G = self._updated_covariance(prediction.W)
        weights = SX.ones(regressor.shape[0]) * self.limit.per_damping(K_d)
        Y = regressor * ca.repmat(root.T, regressor.shape[0], 1)
        kept = self.limit.share_kept(ca.dot(ca.sum2((Y @ G) * Y), weights))
        force = kept * (regressor.T @ s) + self._weight * (prediction.W.T @ prediction.error)
        moved = self.estimate + dt * root * (G @ (root * force))
        pi = self._estimates.clamped(moved, Lambda)
        return {"pi_hat": pi, "covariance": ca.vec(G), **prediction.next_state}

    def _updated_covariance(self, W: SX) -> SX:
        """Ĝ⁺: forgotten, then by every row of W as by one measurement more."""
        dt, G = self._signals.dt, self._covariance
        bound = ca.sqrt(ca.sumsqr(G) / G.shape[0])
        G = (1.0 + dt * self._forgetting * ca.fmax(1.0 - bound, 0.0)) * G
        information = self._weight * dt
        for row in ca.vertsplit(W):
            w = self._root * row.T
            g = G @ w
            G = G - g @ g.T * (information * reciprocal(1.0 + information * ca.dot(w, g)))
        return SX(0.5 * (G + G.T))
