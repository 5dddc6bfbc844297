"""Natural adaptation: estimates stay those of a body that exists (theory.md §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from thunder_controllers.laws.adaptation.limit import TINY, AdaptationLimit, Estimates
from thunder_controllers.laws.adaptation.prediction import PredictionError, prediction_weight
from thunder_controllers.laws.adaptation.pseudo_inertia import (
    factor,
    force_matrix,
    pseudo_inertia,
    reg_from_pseudo_inertia,
    smallest_pivot,
    solve_lower,
)
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

GAMMA = 0.01
"""Default γ: a link of 1 kg then gains mass as fast as by gradient with Γ = 0.01, one of 0.1 kg as with Γ = 1."""

LARGEST_CHANGE = 0.5
"""Of P in the metric of P itself, in one step: P⁺ is then between P/(1 + 0.5) and P/(1 − 0.5)."""

LEAST_PIVOT = 1e-10
"""Of P, mass first, with which a host activates [kg, kg·m²]: that of a gram within a third of a millimetre."""


class NaturalAdaptation:
    """Ṗ_i = κ γ⁻¹ P_i 𝓛_i P_i, P_i the pseudo-inertia of link i, tr(P(δπ) 𝓛_i) = δπᵀ Y_iᵀs for every δπ.

    Instead of ½ π̃ᵀΓπ̃ the Bregman divergence of −log det P is in V [Lee, Kwon & Park 2018]. One gain for all,
    whatever the frame and units; it is faster where much mass is, by P².

    In discrete time, exact for a constant 𝓛: d/dt P⁻¹ = −γ⁻¹𝓛, so P⁺ = (P⁻¹ − Δγ⁻¹𝓛)⁻¹ = R(1 − A)⁻¹Rᵀ with P = RRᵀ
    and A = Δγ⁻¹Rᵀ𝓛R. With 1 − A = UUᵀ, P⁺ = SSᵀ, S = RU⁻ᵀ: positive definite by its form, as κ keeps ‖A‖_F within
    LARGEST_CHANGE. κ is also the share that `AdaptationLimit` keeps, of Σᵢ (Y 𝓖 Yᵀ)ᵢᵢ / K_d,i, δπ = 𝓖 b the change of
    π by b: bᵀ𝓖 b = γ⁻¹‖Rᵀ𝓛(b)R‖_F².

    What a sampled loop does not bear (`Estimates`) is not clamped, which could leave the set of bodies, but
    drawn towards the nominal value: π_0 + t(π − π_0) is between two bodies.

    It cannot start from what is no body, such as a point mass: `consistency`, of the least of all links, has bounds
    outside of which a host does not activate.

    Args:
        signals: Where state and gains are declared, those of Estimates and AdaptationLimit, gain gamma and telemetry
            `consistency`.
        links: Indices of the adapted links, in the order of the columns of Y.
        predicts: Add w Wᵀε of `PredictionError` to Yᵀs, divided by 1 + Δ w tr(W 𝓖 Wᵀ), which no w makes unstable.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int], predicts: bool = False) -> None:
        self._signals, self._estimates = signals, Estimates(robot, signals, links)
        self.estimate = self._estimates.value
        self._rate = reciprocal(
            signals.gain(
                "gamma",
                default=GAMMA,
                bounds=(1e-6, 1e9),
                unit="N·m",
                doc="Γ of all links in the metric of their pseudo-inertia; larger is slower.",
            )
        )
        self.limit = AdaptationLimit(signals)
        signals.describe_telemetry(
            "consistency",
            unit="kg, kg·m²",
            doc="Smallest pivot of the estimated pseudo-inertias, mass first; positive for bodies that exist.",
            activation_bounds=(LEAST_PIVOT, ca.inf),
        )
        self._prediction: PredictionError | None = None
        if predicts:
            self._weight = prediction_weight(signals)
            self._prediction = PredictionError(robot, signals, links, self.estimate)
        P = [pseudo_inertia(pi) for pi in ca.vertsplit(self.estimate, N_PARAMETERS)]
        self._factors = [factor(matrix) for matrix in P]
        pivots = [smallest_pivot(matrix) for matrix in P]
        self.telemetry: Mapping[str, SX] = {"consistency": ca.mmin(ca.vertcat(*pivots))}

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state: π̂ after one exact step, drawn to what a loop bears; arguments as of `Adaptation.step`."""
        weights = SX.ones(regressor.shape[0]) * self.limit.per_damping(K_d)
        force = self.limit.share_kept(self._rate * self._gain(regressor, weights)) * (regressor.T @ s)
        if self._prediction is None:
            return {"pi_hat": self._bounded(self._moved(force), Lambda)}
        W, weight = self._prediction.W, self._signals.dt * self._weight * SX.ones(regressor.shape[0])
        share = reciprocal(1.0 + self._rate * self._gain(W, weight))
        force += share * self._weight * (W.T @ self._prediction.error)
        return {"pi_hat": self._bounded(self._moved(force), Lambda), **self._prediction.next_state}

    def _gain(self, regressor: SX, weights: SX) -> SX:
        """Σ_j w_j y_jᵀ 𝓖 y_j γ over the rows y_j of a regressor."""
        total = SX(0)
        for R, columns in zip(self._factors, ca.horzsplit(regressor, N_PARAMETERS), strict=True):
            for j in range(regressor.shape[0]):
                total += weights[j] * ca.sumsqr(R.T @ force_matrix(columns[j, :].T) @ R)
        return total

    def _moved(self, force: SX) -> SX:
        """π̂ after one period of 𝓛(force)."""
        scale = self._signals.dt * self._rate
        moved = []
        for R, b in zip(self._factors, ca.vertsplit(force, N_PARAMETERS), strict=True):
            A = scale * (R.T @ force_matrix(b) @ R)
            share = ca.fmin(1.0, LARGEST_CHANGE * reciprocal(ca.sqrt(ca.sumsqr(A)) + TINY))
            U = factor(SX.eye(4) - share * A)
            S_transposed = solve_lower(U, R.T)
            moved.append(reg_from_pseudo_inertia(S_transposed.T @ S_transposed))
        return SX(ca.vertcat(*moved))

    def _bounded(self, pi: SX, Lambda: SX) -> SX:
        """π̂ drawn towards its nominal value, link by link, until it is within the bounds."""
        estimates = self._estimates
        width = estimates.bearable(Lambda)
        change = pi - estimates.nominal
        room = ca.if_else(
            change > 0.0,
            ca.fmin(width, estimates.bounds[1] - estimates.nominal),
            ca.fmin(width, estimates.nominal - estimates.bounds[0]),
        )
        excess = ca.fabs(change) / (room + TINY)
        shares = [ca.repmat(1.0 / ca.fmax(1.0, ca.mmax(e)), N_PARAMETERS) for e in ca.vertsplit(excess, N_PARAMETERS)]
        return SX(estimates.nominal + ca.vertcat(*shares) * change)


def natural_composite(robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> NaturalAdaptation:
    """Natural adaptation by the tracking error and the error of the predicted effort."""
    return NaturalAdaptation(robot, signals, links, predicts=True)
