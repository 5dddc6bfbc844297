"""Composite adaptation: by the tracking error and by the error of the predicted effort (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from thunder_controllers.laws.adaptation.bodies import LEAST_SLOPE, nearest
from thunder_controllers.laws.adaptation.eigen import all_of
from thunder_controllers.laws.adaptation.limit import Estimates
from thunder_controllers.laws.adaptation.prediction import PredictionError, prediction_weight
from thunder_controllers.laws.adaptation.scheme import LINKS, Adaptation, Adapted
from thunder_controllers.laws.parts.redundancy import factor_ldl, solve_lower, solve_upper
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

MOST_LINKS = 2
"""Whose information, (10 k)² numbers that are factored, a step of a millisecond has time for."""

MOST_INFORMATION = 1e3
"""Trace of Ĵ at most: no direction adapts by less than that share of Γ⁻¹, and J is factored exactly."""


class CompositeAdaptation(Adaptation):
    """π̂̇ = G(κ Yᵀs + w Wᵀε),  Ġ = −w G WᵀW G   [Slotine & Li 1989].

    Of the information J = G⁻¹ that is J̇ = w WᵀW: it starts from Γ, so that G never exceeds Γ⁻¹, and what exceeds
    `MOST_INFORMATION` is scaled back to it, which is all the forgetting that there is. The state is Ĵ = DJD, D² = Γ⁻¹,
    without units. ε and its regressor W are of `PredictionError`.

    In discrete time J⁺ = J + wΔ WᵀW, and π̂⁺ = π̂ + Δ J⁺⁻¹(κ Yᵀs + w Wᵀε), which is implicit in ε:
    no w or Γ makes it unstable. κ is the share that `AdaptationLimit` keeps, of Σᵢ (Y G Yᵀ)ᵢᵢ / K_d,i.

    Bounds are a projection too: the half-space that contains them, and the truth, has its nearest point in the metric J
    of V, so that V falls; what is left, of second order in a step, is clamped. Clamped alone, estimates stay at bounds
    that the data is not at.

    Args:
        signals: Where all is declared: what the estimates and their Γ, AdaptationLimit and PredictionError have, state
            `information`, gain prediction_weight.
        links: Indices of the adapted links, in the order of the columns of Y.
        adapted: With friction π̂, Y and Γ are those of its coefficients too, and G that of all.

    Raises:
        LawError: for more links than MOST_LINKS.
    """

    predicts = True
    separable = True

    def __init__(
        self, robot: RobotExpressions, signals: Signals, links: Sequence[int], adapted: Adapted = LINKS
    ) -> None:
        if len(links) > MOST_LINKS:
            raise LawError(
                f"composite adaptation of {len(links)} links",
                valid=f"adapted_links of at most {MOST_LINKS}, or adaptation=natural_composite",
            )
        super().__init__(signals, Estimates(robot, signals, links, adapted.mask.get("pi_hat")))
        friction = adapted.friction
        self._friction, self._parameters, self._root = friction, self.estimate, self._estimates.root
        if friction:
            self._root = ca.diagcat(self._root, ca.diag(ca.sqrt(friction.rates)))
            self._parameters = ca.vertcat(self.estimate, friction.estimate)
        self._weight = prediction_weight(signals)
        size = self._root.shape[0]
        self._triangle = ca.Sparsity.lower(size)
        information = signals.state(
            "information",
            size=self._triangle.nnz(),
            default=ca.DM(self._triangle, ca.project(ca.DM.eye(size), self._triangle).nonzeros()).nonzeros(),
            unit="1",
            doc="Lower triangle of Ĵ, columnwise.",
        )
        self._information = ca.tril2symm(SX(self._triangle, information))
        self._prediction = PredictionError(robot, signals, links, self.estimate, adapted=friction)

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next states; arguments as of `Adaptation.step`."""
        dt, D, prediction = self._signals.dt, self._root, self._prediction
        regressor = ca.horzcat(regressor, self._friction.regressor) if self._friction else regressor
        J, weight = self._updated_information()
        R = factor_ldl(J).root
        Z = solve_lower(R, D.T @ regressor.T)
        kept = self.limit.share_kept(dot(ca.sum1(Z * Z).T, self.limit.per_damping(K_d, regressor.shape[0])))
        predicted = solve_lower(R, D.T @ (prediction.W.T @ prediction.error))
        x = self._parameters + D @ solve_upper(R, dt * kept * (Z @ s) + weight * predicted)
        x = self._projected(x, R, Lambda)
        found = {"pi_hat": x[: self._estimates.size], "information": ca.project(J, self._triangle).nz[:]}
        if self._friction:
            found["friction_hat"] = x[self._estimates.size :]
        return found | prediction.next_state

    def _projected(self, x: SX, R: SX, Lambda: SX) -> SX:
        """x to the nearest points of half-spaces in the metric J = D⁻¹RRᵀD⁻¹, and what is left into the bounds."""
        D, size = self._root, self._estimates.size

        def inverse(normal: SX) -> SX:
            return SX(D @ solve_upper(R, solve_lower(R, D.T @ normal)))

        missing = self._bounded(x, Lambda) - x
        normal = missing * reciprocal(ca.densify(ca.sum2(D * D)) + LEAST_SLOPE)  # what stays misses nothing
        x = ca.if_else(all_of(missing == 0.0), x, nearest(x, normal, dot(normal, missing), inverse))
        return ca.vertcat(self._estimates.kept(x[:size], Lambda), self._bounded(x, Lambda)[size:])

    def _bounded(self, x: SX, Lambda: SX) -> SX:
        """x clamped, component by component."""
        pi, phi = x[: self._estimates.size], x[self._estimates.size :]
        clamped = self._estimates.clamped(pi, Lambda)
        return ca.vertcat(clamped, self._friction.bounded(phi)) if self._friction else clamped

    def _updated_information(self) -> tuple[SX, SX]:
        """Ĵ⁺, with every row of W as with one measurement more, and their weight wΔ."""
        start, W = SX.eye(self._root.shape[0]), self._prediction.W @ self._root
        weight = ca.fmin(self._signals.dt * self._weight, MOST_INFORMATION * reciprocal(ca.sumsqr(W) + LEAST_SLOPE))
        more = self._information - start + weight * (W.T @ W)
        return start + ca.fmin(1.0, MOST_INFORMATION * reciprocal(ca.trace(more) + LEAST_SLOPE)) * more, weight
