"""Natural adaptation: estimates stay those of a body that exists (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import casadi as ca

from thunder_controllers.laws.adaptation.bodies import BodyEstimates
from thunder_controllers.laws.adaptation.limit import TINY, gamma_of_links
from thunder_controllers.laws.adaptation.prediction import PredictionError, prediction_weight
from thunder_controllers.laws.adaptation.pseudo_inertia import from_metric, in_metric, reg_from_pseudo_inertia
from thunder_controllers.laws.adaptation.scheme import LINKS, Adaptation, Adapted
from thunder_controllers.laws.parts.redundancy import factor_ldl, solve_lower
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

GAMMA = 0.01
"""Default γ: a link of 1 kg then gains mass as fast as by gradient with Γ = 0.01, one of 0.1 kg as with Γ = 1."""

LARGEST_CHANGE = 0.5
"""Of P in the metric of P itself, in one step: P⁺ is then between P/(1 + 0.5) and P/(1 − 0.5)."""


class NaturalAdaptation(Adaptation):
    """Ṗ_i = κ γ_i⁻¹ P_i 𝓛_i P_i, P_i the pseudo-inertia of link i, tr(P(δπ) 𝓛_i) = δπᵀ Y_iᵀs for every δπ.

    Instead of ½ π̃ᵀΓπ̃ the Bregman divergence of −log det P, times γ, is in V [Lee, Kwon & Park 2018]. One value for all
    links will do, whatever the frame and units; it is faster where much mass is, by P².

    In discrete time, exact for a constant 𝓛: d/dt P⁻¹ = −γ⁻¹𝓛, so P⁺ = (P⁻¹ − Δγ⁻¹𝓛)⁻¹ = R(1 − A)⁻¹Rᵀ with P = RRᵀ
    and A = Δγ⁻¹Rᵀ𝓛R. With 1 − A = UUᵀ, P⁺ = SSᵀ, S = RU⁻ᵀ: positive definite by its form, as κ keeps ‖A‖_F within
    LARGEST_CHANGE. κ is also the share that `AdaptationLimit` keeps, of Σᵢ (Y 𝓖 Yᵀ)ᵢᵢ / K_d,i, δπ = 𝓖 b the change of
    π by b: bᵀ𝓖 b = γ⁻¹‖Rᵀ𝓛(b)R‖_F².

    Args:
        signals: Where state, gains and telemetry are declared: those of BodyEstimates and AdaptationLimit, gain gamma.
        links: Indices of the adapted links, in the order of the columns of Y.
        adapted: Friction adapts by gradient, with w W_fᵀε beside Y_fᵀs where there is a prediction.
        predicts: Add w Wᵀε of `PredictionError` to Yᵀs, divided by 1 + Δ w tr(W 𝓖 Wᵀ), which no w makes unstable.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        adapted: Adapted = LINKS,
        predicts: bool = False,
    ) -> None:
        estimates = BodyEstimates(robot, signals, links)
        super().__init__(signals, estimates)
        self._factors = [factor_ldl(P).root for P in estimates.pseudo_inertias]
        self._rates = reciprocal(gamma_of_links(signals, len(links), GAMMA))
        self._friction, self._prediction, self.predicts = adapted.friction, None, predicts
        if predicts:
            self._weight = prediction_weight(signals)
            self._prediction = PredictionError(robot, signals, links, self.estimate, adapted=adapted.friction)

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state: π̂ after one exact step, drawn to what a loop bears; arguments as of `Adaptation.step`."""
        weights = self.limit.per_damping(K_d, regressor.shape[0])
        force = self.limit.share_kept(self._gain(regressor, weights)) * (regressor.T @ s)
        found: dict[str, SX] = {}
        if self._prediction is not None:
            prediction, size = self._prediction, self._estimates.size
            W, W_f = prediction.W[:, :size], prediction.W[:, size:]
            gain = self._gain(W, SX.ones(W.shape[0]))
            if self._friction:
                gain += dot(ca.densify(ca.sum1(W_f * W_f)).T, self._friction.rates)
            share = self._weight * reciprocal(1.0 + self._signals.dt * self._weight * gain)
            force += share * (W.T @ prediction.error)
            found = prediction.next_state
            if self._friction:
                found = found | self._friction.step(s, K_d, self.limit, share * (W_f.T @ prediction.error))
        return {"pi_hat": self._estimates.kept(self._moved(force), Lambda), **found}

    def _gain(self, regressor: SX, weights: SX) -> SX:
        """Σ_j w_j y_jᵀ 𝓖 y_j over the rows y_j of a regressor."""
        blocks = self._in_metric(regressor)
        return SX(dot(sum(rate * ca.sum2(rows * rows) for rate, rows in blocks), weights))

    def _moved(self, force: SX) -> SX:
        """π̂ after one period of 𝓛(force)."""
        moved = []
        for R, (rate, row) in zip(self._factors, self._in_metric(force.T), strict=True):
            row = self._signals.dt * rate * row.T
            share = ca.fmin(1.0, LARGEST_CHANGE * reciprocal(ca.sqrt(ca.sumsqr(row)) + TINY))
            U = factor_ldl(SX.eye(4) - share * from_metric(row)).root
            S_transposed = solve_lower(U, R.T)
            moved.append(reg_from_pseudo_inertia(S_transposed.T @ S_transposed))
        return SX(ca.vertcat(*moved))

    def _in_metric(self, rows: SX) -> list[tuple[SX, SX]]:
        """γ⁻¹ of every link, and its part of rows (m, 10 k) that act on π̂, in coordinates of `in_metric`."""
        links = zip(self._factors, ca.horzsplit(rows, N_PARAMETERS), strict=True)
        blocks = (ca.vertcat(*(in_metric(R, row.T).T for row in ca.vertsplit(block))) for R, block in links)
        return list(zip(ca.vertsplit(self._rates), blocks, strict=True))


natural_composite = partial(NaturalAdaptation, predicts=True)
"""Natural adaptation by the tracking error and the error of the predicted effort."""
