"""What the model cannot explain of the effort of every joint, and how much of that its errors and noise may be."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.friction import FrictionTerms
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.law import Signals

SX = ca.SX

SETTLED = 5.0
"""Time constants of the filters, after which 4 % of their start is left."""


class FaultResidual:
    """r = F²[M q̈ + C q̇ + G + τ_f − τ] by momentum [De Luca & Mattone 2003], F the filter K_o/(d/dt + K_o), per body.

    With an exact model r_i is the torque that acts on joint i beside the one that is asked for, through F², and no
    fault of another joint is in it. Of every body k its share E_k = F[M_k q̈ + C_k q̇ + G_k] is known by itself, so that
    what errors of the model make of r is known, too. Each has a standard deviation, and with those of all bodies,
    rotors, friction and noise independent,

        σ_i² = ¼ K_o³ Δ σ_v² Σ_j M_ij² + σ_b² Σ_k (E_ik − Ē_ik)² + σ_m² (E_ip − Ē_ip)² + σ_a² R_i²
              + σ_f² (|F_V q̇| + F_C)_i² + ¼ K_o Δ (F_C σ_v/v_s)_i²

    is the variance of r_i − r̄_i: E_p is that of a mass of 1 kg at the end effector, R_i = F[I_a q̈], and Coulomb
    friction counts in full, as its sign is not known at rest. The first and the last term are the white noise of q̇ in
    the momentum and in the smoothed sign; the second filter, of the same K_o, makes the first nine times smaller at
    1 kHz and K_o = 50 1/s. Means r̄, Ē are over the last T seconds, and kept from the isolation on: what lasts, as the
    weight of something that is held, is no fault. An error of a mass is in r as E is, so its change in r is that of E;
    an error of a centre of mass turns with its body, and is taken to change as much.

    In discrete time as `PredictionError`: exact for an effort that is constant over a period.

    Args:
        signals: Where gains, states and telemetry are declared; `fault_joint`, whose fault is known, is another's.
        known: Whether a fault is isolated: r̄ and Ē stay as they are.

    Attributes:
        change: r − r̄ (n,) [N·m or N]; `once`, through F alone.
        effort: F²[τ] (n,): what is asked for, as r has it; `effort_once`, through F alone.
        deviation: σ (n,) [N·m or N].
        decay: e^{−K_o Δ}.
        bandwidth: K_o [1/s].
        velocity_noise: σ_v [rad/s or m/s].
        time: Since the activation [s].
        ready: Whether the filters have forgotten their start.
        next_state: Of these states.
        telemetry: What to report.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, known: SX) -> None:
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
        E = rate * momentum - x_next
        friction = FrictionTerms(robot, qd)
        lost = self._filtered("filtered_friction", friction.torque(qd), "Friction and offsets through F.")
        self.effort_once = self._filtered("filtered_effort", signals.applied_effort, "Effort through F.")
        self.effort = self._filtered("smooth_effort", self.effort_once, "Effort through F².")
        once = ca.sum2(E[:, : n + 1]) + lost - self.effort_once
        r = self._filtered("smooth_residual", once, "r.")
        mean, E_mean = self._means(r, E, known)
        self.change, self.once = r - mean, once - mean
        coulomb = np.array([link.coulomb for link in robot.model.links])
        self.deviation = self._deviation(robot, E - E_mean, ca.fabs(friction.viscous * qd) + coulomb, coulomb)
        doc = "r − r̄: effort of every joint that the model does not explain."
        signals.describe_telemetry("fault_residual", size=n, unit="N·m|N", doc=doc)
        signals.describe_telemetry("fault_deviation", size=n, unit="N·m|N", doc="σ: what it may be without a fault.")
        self.telemetry = {"fault_residual": self.change, "fault_deviation": self.deviation}

    def _filtered(self, name: str, value: SX, doc: str) -> SX:
        before = self._signals.state(name, size=value.numel(), default=0.0, unit="N·m|N", doc=doc)
        after = self.next_state[name] = self.decay * before + (1.0 - self.decay) * value
        return SX(after)

    def _means(self, r: SX, E: SX, known: SX) -> tuple[SX, SX]:
        """r̄ and Ē: plain means since the filters are ready, and over T once that is longer."""
        signals = self._signals
        T = signals.gain(
            "fault_memory", default=2.0, bounds=(0.05, 1e3), unit="s", doc="T: what lasts longer is no fault."
        )
        time = signals.state("observed_time", default=0.0, unit="s", doc="Since the activation.") + signals.dt
        now = ca.vertcat(r, E.nz[:])
        mean = signals.state("usual", size=now.numel(), default=0.0, unit="N·m|N", doc="r̄, and Ē of every body.")
        waited = time - SETTLED / self.bandwidth
        self.time, self.ready = time, waited > 0.0
        share = ca.fmin(ca.fmax(signals.dt / T, signals.dt / ca.fmax(waited, signals.dt)), 1.0)
        mean_next = mean + ca.if_else(known, 0.0, share) * (now - mean)
        self.next_state |= {"observed_time": time, "usual": mean_next}
        return mean_next[: r.numel()], SX(E.sparsity(), mean_next[r.numel() :])

    def _deviation(self, robot: RobotExpressions, E: SX, rubs: SX, coulomb: np.ndarray) -> SX:
        n, dt = robot.n, self._signals.dt
        sigma_v, sigma_b, sigma_m, sigma_a, sigma_f = (
            self._signals.gain(name, default=default, bounds=(0.0, most), unit=unit, doc=f"Standard deviation of {doc}")
            for name, default, most, unit, doc in (
                ("velocity_noise", 3e-3, 10.0, "rad/s|m/s", "the noise of measured velocities, white."),
                ("body_error", 0.02, 1.0, "1", "the effort of every body, as a share of it."),
                ("payload_error", 0.0, 1e3, "kg", "a mass that the model lacks at the end effector."),
                ("rotor_error", 0.05, 1.0, "1", "the inertia of every rotor, as a share of it."),
                ("friction_error", 0.05, 1.0, "1", "the friction of every joint, as a share of it."),
            )
        )
        self.velocity_noise = sigma_v
        M, K_o = SX(robot["M"]), self.bandwidth
        variance = 0.25 * K_o**3 * dt * sigma_v**2 * ca.sum2(M**2)
        variance += 0.25 * K_o * dt * (coulomb * ca.fmin(sigma_v / SMOOTHING_VELOCITY, 1.0)) ** 2
        variance += sigma_b**2 * ca.sum2(E[:, :n] ** 2) + (sigma_m * E[:, n + 1]) ** 2
        return SX(ca.sqrt(variance + (sigma_a * E[:, n]) ** 2 + (sigma_f * rubs) ** 2))


def _bodies(robot: RobotExpressions, q: SX, qd: SX) -> tuple[SX, SX]:
    """P and N of `PredictionError` of every body, of all rotors, and of 1 kg at the end effector, (n, n + 2) each."""
    n, zero = robot.n, SX.zeros(robot.n)
    last = robot.model.ee_link
    mass = Inertia(1.0, np.array(robot.model.ee.tr), np.zeros((3, 3))).pi

    def columns(qd: SX, qd_r: SX, qdd_r: SX) -> SX:
        each = [robot.inverse_dynamics(q, qd, qd_r, qdd_r, [k], zero) for k in range(n)]
        point = robot.slotine_li_regressor(q, qd, qd_r, qdd_r, [last]) @ mass
        return SX(ca.horzcat(*each, robot.rotor_inertias * qdd_r, point))

    velocity = SX.sym("velocity", n)
    momentum = columns(zero, zero, velocity) - columns(zero, zero, zero)
    drift = ca.reshape(ca.jtimes(ca.vec(momentum), q, qd), momentum.shape)
    momentum, drift = (ca.substitute(term, velocity, qd) for term in (momentum, drift))
    rest = drift - columns(qd, qd, zero)
    shape = momentum.sparsity() + rest.sparsity()
    return ca.project(momentum, shape), ca.project(rest, shape)
