"""Prediction of the applied effort by the estimates, without accelerations (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from thunder_controllers.laws.parts.friction import FrictionAdaptation, FrictionTerms
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals

SX = ca.SX

BANDWIDTH = 20.0
"""Default bandwidth of the filter [1/s]: motions of an arm are slower, noise of velocities is faster."""


def prediction_weight(signals: Signals) -> SX:
    """Declare w, the weight of the prediction error beside the tracking error."""
    return signals.gain(
        "prediction_weight",
        default=1.0,
        bounds=(0.0, 1e4),
        unit="rad/(N·m·s)",
        doc="Weight of the prediction error beside the tracking error.",
    )


class PredictionError:
    """ε = F[τ] − W π̂ − F[Y_f] φ̂ − F[τ_k], F the filter ω/(d/dt + ω), W the filtered regressor of the dynamics.

    τ = d/dt(M q̇) − Cᵀq̇ + G + τ_f, as Ṁ = C + Cᵀ, so that only the momentum is differentiated, by the filter itself:
    F[dp/dt] = ω(p − F[p]) [Slotine & Li 1989]. With Y_r(q, q̇, q̇_r, q̈_r) as it is,

        P = Y_r(q, 0, 0, q̇) − Y_r(q, 0, 0, 0),    P π = M q̇,        N = Ṗ|_q̇ − Y_r(q, q̇, q̇, 0),    N π = Cᵀq̇ − G,

    Ṗ|_q̇ along q̇ with q̇ in P constant, and W = ω P − F[ω P + N]. Links that are known are one more column, whose
    parameter is one. Friction is that of the estimates φ̂ where it is adapted, whose columns W has too; joints that are
    too slow to tell it from gravity are then left out, by √g. Where it is not, it is that of the robot file, whose
    effort offsets are in τ_f in either case.

    In discrete time the effort is constant over a period, dP/dt too, and N is the mean N̄ of both its ends: with
    a = e^(−ωΔ), W⁺ = a W + (1 − a)((P⁺ − P)/Δ − N̄), whatever ω does from a period to the next. Both sides start from
    zero.

    Args:
        signals: Where states `filtered_regressor`, `momentum`, `momentum_rest`, `filtered_effort` and
            `filtered_friction`, and gain prediction_bandwidth are declared.
        links: Indices of the adapted links.
        estimate: π̂ (10 k,).
        prefix: Of the names of the states, for a second one in a law.
        omega: ω of the filter, instead of the gain: one, or one of every row (n,).
        friction: Effort of friction and offsets (n,), instead of those of the robot file.
        adapted: Friction that is estimated, in W, instead of either.
        rotors: Their reflected inertias (n,), instead of those of the robot file.
        motion: Positions and velocities (n,) of the links, instead of the measured ones, by which all starts.

    Attributes:
        W: (n, 10 k), or (n, 10 k + 2 n) with friction.
        error: ε (n,) [N·m or N].
        next_state: Of these states.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        estimate: SX,
        prefix: str = "",
        omega: SX | None = None,
        friction: SX | None = None,
        adapted: FrictionAdaptation | None = None,
        rotors: SX | None = None,
        motion: tuple[SX, SX] | None = None,
        applied: SX | None = None,
    ) -> None:
        n, columns = robot.n, estimate.numel() + 1
        if omega is None:
            omega = signals.gain(
                "prediction_bandwidth",
                default=BANDWIDTH,
                bounds=(0.1, 1e3),
                unit="1/s",
                doc="Of the filter of effort and regressor whose difference adapts the estimates.",
            )
        known = SX.sym("rotors", n)
        momentum, rest = first = _momentum_and_rest(
            robot, signals.q, signals.qd, links, None if rotors is None else known
        )
        if rotors is not None:  # a state starts from no other state: with the rotors of the file
            first = ca.substitute([momentum, rest], [known], [SX(ca.densify(robot.rotor_inertias))])
            momentum, rest = ca.substitute([momentum, rest], [known], [rotors])
        if motion is not None:
            momentum, rest = ca.substitute([momentum, rest], [signals.q, signals.qd], list(motion))

        def before(name: str, doc: str, initial: SX | None = None) -> SX:
            value = None if initial is None else ca.vec(initial)
            state = signals.state(prefix + name, size=n * columns, default=0.0, unit="SI", doc=doc, initial=value)
            return SX(ca.reshape(state, n, columns))

        doc = "Filtered effort per adapted parameter, column by column, then of the known links."
        W = before("filtered_regressor", doc)
        doc = "Momentum per column as in filtered_regressor, one step before."
        momentum_before = before("momentum", doc, first[0])
        doc = "Effort without that of the momentum, per column as in filtered_regressor, one step before."
        rest_before = before("momentum_rest", doc, first[1])
        doc = "Filtered effort, friction left out."
        effort = signals.state(f"{prefix}filtered_effort", size=n, default=0.0, unit="N·m|N", doc=doc)
        a = ca.exp(-omega * signals.dt)
        mean_rest = 0.5 * (rest + rest_before)
        change = (momentum - momentum_before) / signals.dt
        filtered = low_pass(a, W, change - mean_rest)
        if friction is None:
            terms = FrictionTerms(robot, signals.qd).torque(signals.qd)
            friction = SX(robot.model.effort_offsets) if adapted else terms
        effort_next = a * effort + (1.0 - a) * ((signals.applied_effort if applied is None else applied) - friction)
        self.W = filtered[:, :-1]
        self.error = effort_next - filtered[:, -1] - self.W @ estimate
        self.next_state = {
            f"{prefix}filtered_regressor": ca.vec(filtered),
            f"{prefix}momentum": ca.vec(momentum),
            f"{prefix}momentum_rest": ca.vec(rest),
            f"{prefix}filtered_effort": effort_next,
        }
        if adapted is not None:
            self._add_friction(signals, adapted, a)

    def _add_friction(self, signals: Signals, friction: FrictionAdaptation, a: SX) -> None:
        Y_f, gate = friction.measured
        filtered = signals.state(
            "filtered_friction",
            size=Y_f.nnz(),
            default=0.0,
            unit="rad/s|m/s, 1",
            doc="Filtered velocity of every joint, then its smoothed sign.",
        )
        W_f = low_pass(a, SX(Y_f.sparsity(), filtered), Y_f)
        self.next_state["filtered_friction"] = W_f.nz[:]
        share = ca.sqrt(gate)
        self.error = share * (self.error - W_f @ friction.estimate)
        self.W = ca.diag(share) @ ca.horzcat(self.W, W_f)


def low_pass(a: SX, before: SX, rows: SX) -> SX:
    """Return a x + (1 − a) y of rows (n, m), a of all of them or of each (n,), as sparse as they are."""
    if a.is_scalar():
        return SX(a * before + (1.0 - a) * rows)
    return SX(ca.diag(a) @ before + ca.diag(1.0 - a) @ rows)


def _momentum_and_rest(robot: RobotExpressions, q: SX, qd: SX, links: Sequence[int], rotors: SX | None) -> list[SX]:
    """P and N with the known links' own in a last column, each (n, 10 k + 1)."""
    zero = SX.zeros(robot.n)
    known = [i for i in range(robot.n) if i not in links]

    def columns(qd: SX, qd_r: SX, qdd_r: SX) -> SX:
        Y_u = robot.slotine_li_regressor(q, qd, qd_r, qdd_r, links)
        return ca.densify(ca.horzcat(Y_u, robot.inverse_dynamics(q, qd, qd_r, qdd_r, known, rotors)))

    velocity = SX.sym("velocity", robot.n)
    momentum = columns(zero, zero, velocity) - columns(zero, zero, zero)
    drift = ca.reshape(ca.jtimes(ca.vec(momentum), q, qd), momentum.shape)
    momentum, drift = (ca.substitute(term, velocity, qd) for term in (momentum, drift))
    return [momentum, drift - columns(qd, qd, zero)]
