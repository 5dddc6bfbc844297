"""Composite adaptation: by the tracking error and by the error of the predicted effort (theory.md §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from thunder_controllers.laws.adaptation.bodies import ConsistentEstimates
from thunder_controllers.laws.adaptation.limit import AdaptationLimit, DiagonalGain, Estimates
from thunder_controllers.laws.adaptation.prediction import PredictionError, prediction_weight
from thunder_controllers.laws.adaptation.pseudo_inertia import factor, solve_lower, solve_upper
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

MOST_LINKS = 2
"""Whose information, (10 k)² numbers that are factored, a step of a millisecond has time for."""


class CompositeAdaptation:
    """π̂̇ = G(κ Yᵀs + w Wᵀε),  Ġ = λ(G − GΓG) − w G WᵀW G   [Slotine & Li 1989].

    Of the information J = G⁻¹ that is J̇ = −λ(J − Γ) + w WᵀW: it starts from Γ and forgets towards Γ, so that G never
    exceeds Γ⁻¹. The state is Ĵ = DJD, D² = Γ⁻¹, without units. ε and its regressor W are of `PredictionError`.

    In discrete time J⁺ = Γ + (J − Γ)/(1 + λΔ) + wΔ WᵀW, and π̂⁺ = π̂ + Δ J⁺⁻¹(κ Yᵀs + w Wᵀε), which is implicit in ε:
    no w or Γ makes it unstable. κ is the share that `AdaptationLimit` keeps, of Σᵢ (Y G Yᵀ)ᵢᵢ / K_d,i.

    Bounds clamp π̂, which need not be that of a body. With `consistent` it is, by projection in the metric J of V, as
    `ConsistentEstimates` has it.

    Args:
        signals: Where all is declared: what Estimates, DiagonalGain, AdaptationLimit and PredictionError have, or
            ConsistentEstimates, state `information`, gains prediction_weight, forgetting, and pi_lower and pi_upper
            without `consistent`.
        links: Indices of the adapted links, in the order of the columns of Y.
        consistent: Whether estimates stay those of bodies.

    Raises:
        LawError: for more links than MOST_LINKS.
    """

    def __init__(
        self, robot: RobotExpressions, signals: Signals, links: Sequence[int], consistent: bool = False
    ) -> None:
        if len(links) > MOST_LINKS:
            raise LawError(
                f"composite adaptation of {len(links)} links",
                valid=f"adapted_links of at most {MOST_LINKS}, or adaptation=natural_composite",
            )
        self._signals = signals
        self._bodies = ConsistentEstimates(robot, signals, links) if consistent else None
        self._estimates = self._bodies or Estimates(robot, signals, links)
        self.estimate = self._estimates.value
        self.telemetry: Mapping[str, SX] = self._bodies.telemetry if self._bodies else {}
        self._root = ca.sqrt(DiagonalGain(signals, len(links)).inverse)
        if not consistent:
            self._estimates.declare_bounds()
        self.limit = AdaptationLimit(signals)
        self._weight = prediction_weight(signals)
        self._forgetting = signals.gain(
            "forgetting", default=0.2, bounds=(0.0, 10.0), unit="1/s", doc="Rate λ at which old data is forgotten."
        )
        size = self._estimates.size
        self._triangle = ca.Sparsity.lower(size)
        information = signals.state(
            "information",
            size=self._triangle.nnz(),
            default=ca.DM(self._triangle, ca.project(ca.DM.eye(size), self._triangle).nonzeros()).nonzeros(),
            unit="1",
            doc="Lower triangle of Ĵ, columnwise.",
        )
        self._information = ca.tril2symm(SX(self._triangle, information))
        self._prediction = PredictionError(robot, signals, links, self.estimate)

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next states; arguments as of `Adaptation.step`."""
        dt, D, prediction = self._signals.dt, self._root, self._prediction
        J = self._updated_information()
        R = factor(J)
        Z = solve_lower(R, D * regressor.T)
        weights = SX.ones(regressor.shape[0]) * self.limit.per_damping(K_d)
        kept = self.limit.share_kept(dot(ca.sum1(Z * Z).T, weights))
        predicted = solve_lower(R, D * (prediction.W.T @ prediction.error))
        pi = self.estimate + dt * D * solve_upper(R, kept * (Z @ s) + self._weight * predicted)
        if self._bodies:
            pi = self._bodies.projected(pi, lambda force: D * solve_upper(R, solve_lower(R, D * force)))
            pi = self._bodies.drawn(pi, Lambda)
        else:
            pi = self._estimates.clamped(pi, Lambda)
        return {"pi_hat": pi, "information": ca.project(J, self._triangle).nz[:], **prediction.next_state}

    def _updated_information(self) -> SX:
        """Ĵ⁺: forgotten, then with every row of W as with one measurement more."""
        dt, start = self._signals.dt, SX.eye(self._estimates.size)
        W = self._prediction.W * ca.repmat(self._root.T, self._prediction.W.shape[0], 1)
        kept = reciprocal(1.0 + dt * self._forgetting)
        return SX(start + kept * (self._information - start) + (self._weight * dt) * (W.T @ W))


def consistent_composite(robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> CompositeAdaptation:
    """Composite adaptation whose estimates stay those of bodies."""
    return CompositeAdaptation(robot, signals, links, consistent=True)
