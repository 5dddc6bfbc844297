"""One inertia that stands for the whole arm and follows its motion (theory.md §6)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.friction import FrictionTerms
from thunder_controllers.laws.parts.gains import error_dynamics_gains, mean_inertia
from thunder_controllers.laws.parts.task import error_rate, joint_error
from thunder_dynamics.algorithms.dynamics import Dynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals
from thunder_dynamics.spatial import dot

SX = ca.SX

LOWEST_SHARE = 0.1
"""Of the mean inertia, below which β does not fall by default: R_1/β is then 200 1/s, which 2 ms of delay bear."""

NO_LIMIT = 1e9
"""Effort of a joint whose file states no limit [N·m or N]."""

TINY = 1e-9
"""Of efforts [N·m]: keeps quotients finite."""

RESTING = 1e-6
"""‖y‖ below which the direction of y says nothing, and β is held [N·m]."""


class ScalarInertia:
    """β, with μ β̇ + β = yᵀM y / ‖y‖² and μ⁻¹ = μ_0 + μ_1 ‖q̇‖; held while y vanishes.

    Args:
        signals: Where state `beta`, gains mu_0, mu_1, beta_lower and telemetry `inertia` are declared.
        M: Mass matrix at signals.q (n, n), which may be estimated.

    Attributes:
        mean: Of tr(M)/n over poses [kg·m²].
        beta: Its value now [kg·m²]; at activation tr(M)/n of the robot file.
        telemetry: What to report of it.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, M: SX) -> None:
        self._signals, self._M, self.mean = signals, M, mean_inertia(robot)
        beta = signals.state(
            "beta",
            default=self.mean,
            unit="kg·m²",
            doc="Inertia β of the error.",
            initial=ca.trace(robot["M"]) / robot.n,
        )
        doc = "β tends to its value at the rate μ_0 + μ_1 ‖q̇‖."
        self._mu_0 = signals.gain("mu_0", default=0.0, bounds=(0.0, 1e4), unit="1/s", doc=doc)
        self._mu_1 = signals.gain("mu_1", default=10.0, bounds=(0.0, 1e4), unit="1/rad", doc=doc)
        self._lower = signals.gain(
            "beta_lower",
            default=LOWEST_SHARE * self.mean,
            bounds=(1e-9, 1e4),
            unit="kg·m²",
            doc="β does not fall below it: R_1/β is a velocity feedback, which delay and sampling bound.",
        )
        signals.describe_telemetry("inertia", unit="kg·m²", doc="β in use.")
        self.beta = ca.fmax(beta, self._lower)
        self.telemetry = {"inertia": self.beta}

    def step(self, y: SX) -> dict[str, SX]:
        """Next state, exact for a quotient and a speed that are constant over the step."""
        square, qd = dot(y, y), self._signals.qd
        moves = square > RESTING**2
        quotient = dot(y, self._M @ y) / ca.if_else(moves, square, 1.0)
        share = 1.0 - ca.exp(-self._signals.dt * (self._mu_0 + self._mu_1 * ca.sqrt(dot(qd, qd))))
        return {"beta": self.beta + ca.if_else(moves, share * (quotient - self.beta), 0.0)}


SATURATION = Option(
    "saturation", "Leave limits of effort to the host, or give what feedback fits within them.", ("host", "law")
)


class ErrorDynamics:
    """τ that gives an arm of M, C and G the error dynamics β ë + (Z + R_1) ė + R_0 e = 0, Z = C + F_V, e = q_d − q.

        τ = M(q̈_d + β⁻¹(Z q̇_d + R_0 e + R_1 ė − Z q̇)) + Z q̇ + G + F_C sign(q̇),   y = Z q̇ in `ScalarInertia`

    With saturation=law it is the largest share κ ≤ 1 of R_0 e + R_1 ė that keeps all efforts within `effort_limit`: the
    error dynamics stay of that form, with κ R_0 and κ R_1. Where the rest alone exceeds a limit κ is zero, and that is
    cut. While κ < 1 nothing adapts.

    Args:
        signals: Where what `ScalarInertia`, `joint_error` and `error_rate` have is declared, and gains R_0 and R_1.
        options: Of the law, COMPENSATION, ERROR_RATE and SATURATION among them.
        model: At signals.q, which may be estimated.

    Attributes:
        M: Its mass matrix (n, n).
        e: (n,).
        e_dot: (n,), as `error_rate` has it.
        beta: [kg·m²].
        R_1: (n,).
        effort: τ (n,).
        share: κ.
        next_state: Of β, and of the filter of ė, if there is one.
        telemetry: The error, and β.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, options: Options, model: Dynamics) -> None:
        qd, reference, M = signals.qd, signals.reference, model.mass_matrix()
        C, G = model.coriolis_matrix(qd), model.gravity_torque(robot.parameters["par_gravity"])
        self.e, e_dot = joint_error(signals)
        self.e_dot, filtered = error_rate(signals, options, e_dot)
        friction = FrictionTerms(robot, qd, options["friction"])
        inertia = ScalarInertia(robot, signals, M)
        self.beta = inertia.beta
        R_0, self.R_1 = error_dynamics_gains(signals, "joints", inertia.mean)
        y, y_d = (C @ velocity + friction.viscous * velocity for velocity in (qd, reference.qd))
        feedback = R_0 * self.e + self.R_1 * self.e_dot
        known = y + G + friction.coulomb
        self.M, self.share = M, SX(1.0)
        self.effort = M @ (reference.qdd + (y_d + feedback - y) / self.beta) + known
        self.telemetry = {"joint_error": self.e, **inertia.telemetry}
        if options[SATURATION.name] == "law":
            rest = M @ (reference.qdd + (y_d - y) / self.beta) + known
            self.share, self.effort = _within(_effort_limit(robot, signals), rest, M @ feedback / self.beta)
            doc = "Share κ of the feedback that fits within the limits of effort."
            signals.describe_telemetry("feedback_share", unit="1", doc=doc)
            self.telemetry["feedback_share"] = self.share
        self.next_state = {**inertia.step(y), **filtered}


def _effort_limit(robot: RobotExpressions, signals: Signals) -> SX:
    return signals.gain(
        "effort_limit",
        size="joints",
        default=np.minimum(robot.model.limits("effort"), NO_LIMIT),
        bounds=(1e-3, NO_LIMIT),
        unit="N·m|N",
        doc="Largest effort of each joint, of the robot file by default.",
    )


def _within(limit: SX, rest: SX, feedback: SX) -> tuple[SX, SX]:
    """The largest κ in [0, 1] with |rest + κ feedback| ≤ limit for every joint, and that effort."""
    room = ca.fmax(limit - ca.sign(feedback) * rest, 0.0)
    share = ca.fmin(1.0, ca.mmin(room / (ca.fabs(feedback) + TINY)))
    return share, SX(ca.fmin(ca.fmax(rest + share * feedback, -limit), limit))
