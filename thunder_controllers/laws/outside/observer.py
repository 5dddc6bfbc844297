"""The momentum observer: efforts of the joints that the estimates in use do not explain (theory.md §9)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from thunder_controllers.laws.adaptation.limit import TINY
from thunder_controllers.laws.adaptation.prediction import PredictionError, low_pass
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

OBSERVER_BANDWIDTH = 50.0
"""Default of K_o [1/s] where the residual is only looked at."""


def observer_bandwidth_gain(signals: Signals, default: float = OBSERVER_BANDWIDTH) -> SX:
    """Declare the gain observer_bandwidth, K_o [1/s]."""
    doc = "K_o of the momentum observer."
    return signals.gain("observer_bandwidth", default=default, bounds=(1e-3, 1e3), unit="1/s", doc=doc)


class MomentumObserver:
    """r = K_o(p − p(0) − ∫(τ + Ĉᵀq̇ − Ĝ − τ̂_f + r)), p = M̂ q̇   [De Luca & Mattone 2003].

    The residual r is the effort that the estimates in use do not predict, through the filter K_o/(d/dt + K_o): −ε of
    `PredictionError` with that bandwidth, exact in discrete time for any K_o and period. With π̃ = π − π̂ and W the
    regressor of the dynamics through the same filter, r = −W π̃ + the effort from outside through it.

    Args:
        signals: Where the states of the filter are declared.
        K_o: Bandwidth [1/s], of all joints or of each (n,).
        links: Indices of the adapted links.
        pi: π̂ (10 k,).
        loss: τ̂_f + ô (n,), friction and offsets as the estimates in use have them.
        rotors: Reflected inertias (n,) that are estimated, instead of those of the robot file.
        along: Regressor along the reference (n, m), and parameters beyond those in use (m,), whose effort the law feeds
            forward: filtered apart from them, as they may change faster than the filter.

    Attributes:
        K_o: As given.
        W: (n, 10 k).
        residual: r, (n,) [N·m or N].
        next_state: Next values of all states that were declared so far.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        K_o: SX,
        links: Sequence[int],
        pi: SX,
        loss: SX,
        rotors: SX | None = None,
        along: tuple[SX, SX] | None = None,
    ) -> None:
        self.K_o, self._signals = K_o, signals
        self._inputs = robot, signals, links, pi, loss, rotors
        self.next_state: dict[str, SX] = {}
        prediction = self._predicted("observer_", K_o)
        self.residual, self.W = -prediction.error, prediction.W
        if along is not None:
            Y, beyond = along
            self.residual += self.filtered("observer_along", Y, "Regressor along the reference") @ beyond

    def told(self, K_d: SX) -> SX:
        """Return −ρ K_d⁻¹r, what adapts the estimates below s (n,); declares the gain handover, ρ.

        Args:
            K_d: Feedback of the law on s (n,).
        """
        doc = "ρ: the estimates adapt by the residual of the observer times ρ/K_d, as by s."
        rho = self._signals.gain("handover", default=1.0, bounds=(0.0, 100.0), unit="1", doc=doc)
        return SX(-rho * self.residual * reciprocal(K_d + TINY))

    def slower(self, prefix: str, rate: SX) -> SX:
        """Return the residual (n,) of another filter, of that rate [1/s]; the names of its states have that prefix."""
        return -self._predicted(prefix, rate).error

    def filtered(self, name: str, rows: SX, what: str, initial: SX | None = None) -> SX:
        """Return rows (n, m) through the filter, as sparse as they are; the state of that name starts from zero.

        Args:
            what: Name of the rows, for the text of the state.
            initial: Nonzero values at the activation (rows.nnz(),), instead of zero.
        """
        a = ca.exp(-self.K_o * self._signals.dt)
        doc = f"{what} through the filter of the observer."
        state = self._signals.state(name, size=rows.nnz(), default=0.0, unit="SI", doc=doc, initial=initial)
        low = low_pass(a, SX(rows.sparsity(), state), rows)
        self.next_state[name] = low.nz[:]
        return SX(low)

    def _predicted(self, prefix: str, rate: SX) -> PredictionError:
        robot, signals, links, pi, loss, rotors = self._inputs
        found = PredictionError(robot, signals, links, pi, prefix, rate, loss, rotors=rotors)
        self.next_state |= found.next_state
        return found
