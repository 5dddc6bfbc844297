"""What the model cannot explain of the effort of every joint, and how much of that its errors and noise may be."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.least_squares.momentum_rows import FRICTION_SHARE, effort_limits
from thunder_controllers.laws.faults.explanation import Explanation, first_state, state_size
from thunder_controllers.laws.parts.friction import FrictionTerms
from thunder_controllers.laws.parts.gate import opened
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot

SX = ca.SX

SETTLED = 5.0
"""Time constants of the filters, after which 4 % of their start is left."""

CALM = 2.0
"""Standard deviations within which nothing is suspected."""

TINY = 1e-12
"""Keeps quotients finite."""

FRICTION_MEMORY = 60.0
"""T_l of friction that the robot file does not state [s]: it changes as drives warm up, in minutes."""

SLIDES = 0.05
"""Speed up to which a joint may stick [rad/s or m/s]; from twice that on it slides."""

SHAPE = 0.1
"""Share of friction that is neither viscous nor Coulomb while a joint slides, if the robot file states none."""


class FaultResidual:
    """r = F²[M q̈ + C q̇ + G + τ_f − τ] by momentum [De Luca & Mattone 2003], F the filter K_o/(d/dt + K_o), per body.

    With an exact model r_i is the torque that acts on joint i beside the one that is asked for, through F², and no
    fault of another joint is in it. Of every body k its share E_k = F²[M_k q̈ + C_k q̇ + G_k] is known by itself, so that
    what errors of the model make of r is known, too: r_i = w_iᵀθ_i + noise, with the row

        w_i = [σ_b E_ik, σ_a F²[I_a q̈]_i, σ_m E_ip, σ_m σ_c ∂E_ip/∂c,
               σ_f F²[F_V q̇]_i, σ_f F²[F_C sign(q̇)]_i, σ_l F²[τ̇_i], τ_max,i]

    of what a standard deviation of each error makes of it: E_p is that of a mass of 1 kg at a distance c from the end
    effector, at c = 0, σ_l that of a lag of the drives, with F²[τ̇] = K_o (F − F²)[τ], and the last an offset, as what
    lasts is no fault. Where the robot file states neither friction of a joint, these are σ_u τ_max,i F²[q̇_i] and
    σ_u τ_max,i F²[sign(q̇_i)], which `FRICTION_MEMORY` keeps.
    Of θ_i what moved before tells the most: `Explanation` learns it, joint by joint, and r_i − w_iᵀθ̂_i has the variance

        σ_i² = R_i + S_i + w_iᵀ Λ_i⁻¹ w_i,
        R_i = ¼ K_o³ Δ σ_v² Σ_j M_ij² + ¼ K_o Δ (F_C,i σ_v/v_s)² F[(1 − tanh²(q̇_i/v_s))²] + σ_e²

    of the white noise of q̇ in the momentum and in the smoothed sign, and of what else there is; the second filter, of
    the same K_o, makes the first nine times smaller at 1 kHz and K_o = 50 1/s. S_i is zero where the file states
    friction, else ⅓ E[F_C²] (F²[slow]² + SHAPE²): friction of a joint that may stick has any value within its level
    F_C, and E[F_C²] is that of θ̂ and Λ. slow is one up to `SLIDES`. Stiction lasts, so it counts as one sample in T.
    Nothing is learned of a joint that is beyond 2σ, but where `several` are, and of none once a fault is known.

    In discrete time as `PredictionError`: exact for an effort that is constant over a period.

    Args:
        signals: Where gains, states and telemetry are declared.
        known: Whether a fault is isolated.
        several: Whether a contact or a body that the model does not have is: what lasts of it is learned.

    Attributes:
        change: r − wᵀθ̂ (n,) [N·m or N]; `once`, through F alone.
        effort: F²[τ] (n,): what is asked for, as r has it; `effort_once`, through F alone.
        deviation: σ (n,) [N·m or N].
        body_error: σ_b [1].
        decay: e^{−K_o Δ}.
        bandwidth: K_o [1/s].
        velocity_noise: σ_v [rad/s or m/s].
        memory: T [s].
        time: Since the activation [s].
        ready: Whether the filters have forgotten their start.
        next_state: Of these states.
        telemetry: What to report.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, known: SX, several: SX) -> None:
        n, qd = robot.n, signals.qd
        self._signals, self.next_state = signals, dict[str, SX]()
        K_o = self.bandwidth = signals.gain(
            "observer_bandwidth", default=50.0, bounds=(0.1, 1e3), unit="1/s", doc="K_o of the momentum observer."
        )
        a = self.decay = ca.exp(-K_o * signals.dt)
        momentum, rest = _bodies(robot, signals.q, qd)
        shape = momentum.sparsity()
        x, rest_before = (
            SX(shape, signals.state(name, size=shape.nnz(), default=0.0, unit="SI", doc=doc, initial=first.nz[:]))
            for name, doc, first in (
                ("body_momenta", "Filtered momentum and its rest, of every body.", K_o * momentum),
                ("body_rests", "Effort of every body without its momentum, one step before.", rest),
            )
        )
        rate = (1.0 - a) / (a * signals.dt)
        x_next = a * x + (1.0 - a) * (rate * momentum + 0.5 * (rest + rest_before))
        self.next_state |= {"body_momenta": x_next.nz[:], "body_rests": rest.nz[:]}
        E = SX(shape, (rate * momentum - x_next).nz[:])
        friction = FrictionTerms(robot, qd)
        rubs = [
            self._filtered(f"filtered_{name}", value, f"{doc} through F.")
            for name, value, doc in (
                ("viscous", friction.viscous * qd, "Viscous friction"),
                ("coulomb", friction.coulomb, "Coulomb friction and offsets"),
            )
        ]
        self.effort_once = self._filtered("filtered_effort", signals.applied_effort, "Effort through F.")
        self.effort = self._filtered("smooth_effort", self.effort_once, "Effort through F².")
        once = [E, *rubs]
        twice = [
            SX(one.sparsity(), self._filtered(f"smooth_{name}", one.nz[:], f"{doc} through F²."))
            for one, name, doc in zip(
                once,
                ("bodies", "viscous", "coulomb"),
                ("Effort of every body", "Viscous friction", "Coulomb friction"),
                strict=True,
            )
        ]
        self._declare_errors()
        self._unstated = [i for i, link in enumerate(robot.model.links) if not (any(link.friction) or link.coulomb)]
        turning = qd[self._unstated]
        slow = 1.0 - opened(ca.fabs(turning), SX(SLIDES))
        own = ca.horzcat(turning, ca.tanh(turning / SMOOTHING_VELOCITY), slow)
        own_once = self._filtered("filtered_motion", ca.vec(own), "Velocity, its sign and slowness, through F.")
        own_twice = self._filtered("smooth_motion", own_once, "Velocity, its sign and slowness, through F².")
        own_once, own_twice = (ca.reshape(one, own.shape) for one in (own_once, own_twice))
        lags = [
            self._lag * K_o * change
            for change in (signals.applied_effort - self.effort_once, self.effort_once - self.effort)
        ]
        rows_once, rows = (
            self._rows(robot, [*columns, lag], moves)
            for columns, lag, moves in zip((once, twice), lags, (own_once, own_twice), strict=True)
        )
        self._clock()
        r_once, r = (
            ca.sum2(bodies[:, : n + 1]) + viscous + coulomb - effort
            for (bodies, viscous, coulomb), effort in ((once, self.effort_once), (twice, self.effort))
        )
        learned = self._learn(r, rows, self._noise(robot), own_twice[:, 2], known, several)
        self.once = r_once - ca.vertcat(*(dot(w, one.estimate) for w, one in zip(rows_once, learned, strict=True)))
        doc = "r − wᵀθ̂: effort of every joint that the model does not explain."
        signals.describe_telemetry("fault_residual", size=n, unit="N·m|N", doc=doc)
        signals.describe_telemetry("fault_deviation", size=n, unit="N·m|N", doc="σ: what it may be without a fault.")
        self.telemetry = {"fault_residual": self.change, "fault_deviation": self.deviation}

    def _filtered(self, name: str, value: SX, doc: str) -> SX:
        if value.is_empty():
            return value
        before = self._signals.state(name, size=value.numel(), default=0.0, unit="N·m|N", doc=doc)
        after = self.next_state[name] = self.decay * before + (1.0 - self.decay) * value
        return SX(after)

    def _declare_errors(self) -> None:
        (
            self.velocity_noise,
            self.body_error,
            self._mass,
            self._reach,
            self._rotor,
            self._friction,
            self._unknown,
            self._lag,
            self._else,
        ) = (
            self._signals.gain(name, default=default, bounds=(0.0, most), unit=unit, doc=f"Standard deviation of {doc}")
            for name, default, most, unit, doc in (
                ("velocity_noise", 3e-3, 10.0, "rad/s|m/s", "the noise of measured velocities, white."),
                ("body_error", 0.02, 1.0, "1", "the effort of every body, as a share of it."),
                ("payload_error", 0.0, 1e3, "kg", "a mass that the model lacks at the end effector."),
                ("payload_reach", 0.05, 10.0, "m", "where the centre of that mass is from there, along each axis."),
                ("rotor_error", 0.05, 1.0, "1", "the inertia of every rotor, as a share of it."),
                ("friction_error", 0.05, 1.0, "1", "the friction of every joint, as a share of it."),
                (
                    "friction_unstated",
                    FRICTION_SHARE,
                    1.0,
                    "1",
                    "viscous friction at 1 rad/s and Coulomb friction where the robot file has neither, over the "
                    "effort limit.",
                ),
                ("drive_lag", 5e-3, 1.0, "s", "the lag and delay of the drives' torque."),
                ("effort_error", 0.0, 1e3, "N·m|N", "what else acts on a joint, as ripple of drives."),
            )
        )

    def _clock(self) -> None:
        signals = self._signals
        self.memory = signals.gain(
            "fault_memory",
            default=2.0,
            bounds=(0.05, 1e3),
            unit="s",
            doc="T: in which errors of the model change as much as they may be.",
        )
        self.time = signals.state("observed_time", default=0.0, unit="s", doc="Since the activation.") + signals.dt
        self.ready = self.time > SETTLED / self.bandwidth
        self.next_state["observed_time"] = self.time

    def _rows(self, robot: RobotExpressions, columns: Sequence[SX], moves: SX) -> list[SX]:
        """Return w_i of every joint, without what cannot be; friction is last of joints whose friction is not stated.

        Args:
            columns: Efforts of bodies, of both frictions, and of a lag of 1σ.
            moves: Velocity and its sign of joints whose friction is not stated.
        """
        bodies, viscous, coulomb, lag = columns
        n, model = robot.n, robot.model
        limits = effort_limits(robot)
        sizes = [*[self.body_error] * n, self._rotor, self._mass, *[self._mass * self._reach] * 3]
        rows = []
        for i in range(n):
            row = [size * bodies[i, k] for k, size in enumerate(sizes) if bodies.sparsity().has_nz(i, k)]
            row += [self._friction * viscous[i]] if any(model.links[i].friction) else []
            row += [self._friction * coulomb[i]] if model.links[i].coulomb else []
            row += [lag[i], limits[i]]
            if i in self._unstated:
                row += ca.vertsplit(self._unknown * limits[i] * moves[self._unstated.index(i), :2].T)
            rows.append(ca.vertcat(*row))
        self._levels = (self._unknown * limits[self._unstated]) ** 2 / 3.0
        return rows

    def _noise(self, robot: RobotExpressions) -> SX:
        """R (n,)."""
        signals, K_o, sigma_v = self._signals, self.bandwidth, self.velocity_noise
        variance = self._else**2 + 0.25 * K_o**3 * signals.dt * sigma_v**2 * ca.sum2(SX(robot["M"]) ** 2)
        coulomb = np.array([link.coulomb for link in robot.model.links])
        if coulomb.any():
            slope = 1.0 - ca.tanh(signals.qd / SMOOTHING_VELOCITY) ** 2
            steep = self._filtered("filtered_slope", slope**2, "How steep the smoothed sign is, squared, through F.")
            variance += 0.25 * K_o * signals.dt * (coulomb * ca.fmin(sigma_v / SMOOTHING_VELOCITY, 1.0)) ** 2 * steep
        return SX(variance)

    def _learn(self, r: SX, rows: list[SX], noise: SX, slow: SX, known: SX, several: SX) -> list[Explanation]:
        signals, sizes = self._signals, [state_size(w.numel()) for w in rows]
        state = signals.state(
            "explained",
            size=sum(sizes),
            default=0.0,
            unit="1",
            doc="What was learned of the model's errors: Λ and b of every joint.",
            initial=ca.vertcat(*(first_state(w.numel()) for w in rows)),
        )
        states = ca.vertsplit(state, [0, *np.cumsum(sizes).tolist()])
        learned = [Explanation.of(one, w) for one, w in zip(states, rows, strict=True)]
        self.change = r - ca.vertcat(*(dot(one.row, one.estimate) for one in learned))
        lasting = SX.zeros(r.numel())
        for k, i in enumerate(self._unstated):
            level = self._levels[k] * learned[i].last_square
            lasting[i] = level * (slow[k] ** 2 + SHAPE**2)
        variance = noise + lasting + ca.vertcat(*(one.variance for one in learned))
        self.deviation = ca.sqrt(ca.fmax(variance, 0.0))
        usual = ca.logic_or(ca.fabs(self.change) < CALM * self.deviation, several)
        learns = ca.logic_and(ca.logic_and(self.ready, ca.logic_not(known)), usual)
        samples = 0.5 * self.bandwidth * signals.dt
        weight = learns * samples / ca.fmax(noise + samples * self.memory / signals.dt * lasting, TINY)
        share = ca.if_else(known, 0.0, ca.fmin(signals.dt / self.memory, 1.0))
        remembered = ca.fmax(1.0 - self.memory / FRICTION_MEMORY, 0.0)
        self.next_state["explained"] = ca.vertcat(
            *(one.learned(r[i], weight[i], share, remembered * (i in self._unstated)) for i, one in enumerate(learned))
        )
        return learned


def _bodies(robot: RobotExpressions, q: SX, qd: SX) -> tuple[SX, SX]:
    """P and N of `PredictionError` of every body, of all rotors, and of what may be held, (n, n + 5) each.

    That is 1 kg at the end effector, and what a metre along each axis of its link makes of that.
    """
    n, zero = robot.n, SX.zeros(robot.n)
    last = robot.model.ee_link
    corners = np.array(robot.model.ee.tr) + np.vstack((np.zeros(3), np.eye(3), -np.eye(3)))
    at = [Inertia(1.0, corner, np.zeros((3, 3))).pi for corner in corners]
    masses = np.column_stack([at[0], *(0.5 * (at[1 + k] - at[4 + k]) for k in range(3))])  # quadratic, so exact

    def columns(qd: SX, qd_r: SX, qdd_r: SX) -> SX:
        each = [robot.inverse_dynamics(q, qd, qd_r, qdd_r, [k], zero) for k in range(n)]
        held = robot.slotine_li_regressor(q, qd, qd_r, qdd_r, [last]) @ masses
        return SX(ca.horzcat(*each, robot.rotor_inertias * qdd_r, held))

    velocity = SX.sym("velocity", n)
    momentum = columns(zero, zero, velocity) - columns(zero, zero, zero)
    drift = ca.reshape(ca.jtimes(ca.vec(momentum), q, qd), momentum.shape)
    momentum, drift = (ca.substitute(term, velocity, qd) for term in (momentum, drift))
    rest = drift - columns(qd, qd, zero)
    shape = momentum.sparsity() + rest.sparsity()
    return ca.project(momentum, shape), ca.project(rest, shape)
