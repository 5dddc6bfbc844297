"""Going on with a fault: with the joints that are left, with what is known of the faulty one, or to rest."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.faults.isolation import FaultIsolation
from thunder_controllers.laws.faults.kinds import Action, Kind
from thunder_controllers.laws.faults.saturation import Joints, saturate
from thunder_controllers.laws.parts.friction import FrictionTerms
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Signals
from thunder_dynamics.spatial import dot

SX = ca.SX

OPTION = Option(
    "faults",
    "Report faults of joints, or also go on with the joints that are left, and stop where they cannot.",
    ("off", "isolate", "continue"),
)

LOST = 0.95
"""Share of its torque that a joint loses from which on it is taken to have none of choice: what is left would be
multiplied by twenty, and the error of λ with it."""

FREE = 1e6
"""Of bounds that do not bind [1, rad/s, rad]."""

PATIENCE = 0.2
"""For which the task may be more than accelerations or torques allow, as when an error is made good [s]."""

STIFFNESS = 10.0
"""Bandwidth with which joints come to rest [1/s]; twice that is how fast speeds go to their bounds."""

BRAKING = 0.5
"""Share of U that is counted on to stop before a limit of position; the rest is for what else happens there."""

SLOWER = 0.2
"""How fast patience ends where the error alone is too large: it may take a second to be made good. One that grows
counts by how many tolerances it is, as nothing makes it good."""


class FaultRecovery:
    """u and τ of an arm with a fault.

    block   u_i = −λ q̇_i, then zero: its column goes to the right-hand side.
    bias    τ_i − b.        loss   τ_i/(1 − λ), as far as the torque reaches.
    unknown, and suspected: τ_i less what is not explained of it, which holds joints back until there is a kind.
    freeze, and a loss of nearly all: no torque of choice; M_i u = g_i − C_i q̇ − G_i − τ_f,i is one row more.

    `saturate` keeps accelerations of all that obey within

        −U_i ≤ u_i ≤ U_i  and  −2k (V_i(q_i − q_i^l) + q̇_i) ≤ u_i ≤ 2k (V_i(q_i^u − q_i) − q̇_i),

    V(x) = min(V, √(U x)) the speed from which half of U stops within x, so that neither limits of velocity nor those of
    position are passed. The arm stops where for `PATIENCE` these leave less than the whole task, or a torque exceeds
    its limit; where for five times that the position is farther off than the gain `fault_tolerance`, or for less if
    that grows and is more; or where a joint without torque of choice passes its limits. All that obey then go to where
    they can stop at U, and stay: u = k²(q_s − q) − 2 k q̇ within U. A joint that has no torque of choice moves on as its
    weight has it: brakes are the robot's.

    Args:
        signals: Where states, and telemetry `fault_action` are declared.
        isolation: Of the same law.
        limit: U (n,).

    Attributes:
        obeys: 0 of a blocked joint, else 1, (n,).
        next_state: Of these states.
        telemetry: What to report.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, isolation: FaultIsolation, limit: SX) -> None:
        self._robot, self._signals, self._isolation, self._limit = robot, signals, isolation, limit
        chosen, kind, size = isolation.is_joint, isolation.kind, isolation.size
        is_lost = ca.logic_and(kind == Kind.LOSS, size > LOST)
        blocked = chosen * (kind == Kind.BLOCK)
        self.obeys, self._passive = 1.0 - blocked, chosen * ca.logic_or(kind == Kind.FREEZE, is_lost)
        self._share = 1.0 - chosen * (kind == Kind.LOSS) * ca.fmin(size, LOST)
        self._bias = chosen * (kind == Kind.BIAS) * size
        self._own = -blocked * size * signals.qd
        self._known = ca.logic_and(dot(chosen, SX.ones(robot.n)) > 0.5, kind > Kind.UNKNOWN)
        self._stopped = signals.state("fault_stop", default=0.0, unit="1", doc="1 from when the arm stops for a fault.")
        self._hindered = signals.state("hindered_time", default=0.0, unit="s", doc="For which the task is too much.")
        self._rest = signals.state(
            "rest_posture", size=robot.n, default=0.0, unit="rad|m", doc="Where joints stop.", initial=signals.q
        )
        self.next_state: dict[str, SX] = {}
        doc = f"What becomes of a fault: {', '.join(f'{one.value} {one.name.lower()}' for one in Action)}."
        signals.describe_telemetry("fault_action", unit="1", doc=doc)
        doc = "Share of J q̈ that the bounds of q̈ allow."
        signals.describe_telemetry("task_share", unit="1", doc=doc)

    def accelerate(self, J: SX, r: SX, preferred: SX, damping: SX) -> SX:
        """u (n,) with J u = r, or to rest."""
        robot, q, qd = self._robot, self._signals.q, self._signals.qd
        residual = self._isolation.residual
        M, passive = SX(robot["M"]), self._passive
        held = robot.inverse_dynamics(q, qd, qd, SX.zeros(robot.n)) + FrictionTerms(robot, qd).torque(qd)
        has_row = dot(passive, SX.ones(robot.n))
        row = passive.T @ M
        inertia = ca.if_else(has_row > 0.5, dot(row.T, passive), 1.0)
        row = row / inertia
        value = dot(passive, residual.effort + residual.change - held) / inertia
        lower, upper = (bound * (1.0 + FREE * passive) for bound in self._bounds())
        joints = Joints(lower, upper, self.obeys, self._own, row, value, has_row)
        found = saturate(J, r, preferred, joints, damping)
        k = STIFFNESS
        slowing = k**2 * (self._rest - q) - 2.0 * k * qd
        slowing = self.obeys * ca.fmin(ca.fmax(slowing, -self._limit), self._limit) + self._own
        # a joint without torque of choice moves as the others have it
        slowing += passive * (value - ca.mtimes(row, slowing))
        self._short = found.share < 1.0 - 1e-6
        self._found_share = found.share
        return SX(ca.if_else(self._stopped > 0.5, slowing, found.u))

    def _bounds(self) -> tuple[SX, SX]:
        """Of u, (n,) each."""
        model, q, qd, U = self._robot.model, self._signals.q, self._signals.qd, self._limit
        speed = np.nan_to_num(model.limits("velocity"), posinf=FREE)
        room = (
            (q - np.nan_to_num(model.limits("lower"), neginf=-FREE)),
            np.nan_to_num(model.limits("upper"), posinf=FREE) - q,
        )
        down, up = (ca.fmin(speed, ca.sqrt(2.0 * BRAKING * U * ca.fmax(one, 0.0))) for one in room)
        lower = ca.fmin(ca.fmax(-2.0 * STIFFNESS * (down + qd), -U), (1.0 - BRAKING) * U)
        upper = ca.fmax(ca.fmin(2.0 * STIFFNESS * (up - qd), U), lower + BRAKING * U)
        return lower, ca.fmin(upper, U)

    def apply(self, effort: SX, error: SX, error_rate: SX) -> SX:
        """τ (n,) with what is known of the faulty joint; completes state and telemetry.

        Args:
            effort: That of a healthy arm (n,).
            error: p_d − p (3,).
            error_rate: Its derivative (3,).
        """
        signals, model = self._signals, self._robot.model
        q, qd, U, known = signals.q, signals.qd, self._limit, self._known
        asked = (effort - self._bias - self._isolation.unexplained) / self._share
        asked = ca.if_else(self._passive, 0.0, asked)
        weak = ca.mmax(ca.fabs(asked) / np.array(model.limits("effort"))) > 1.0
        lower, upper, speed = (model.limits(name) for name in ("lower", "upper", "velocity"))
        astray = ca.fmax(ca.fmax(q - upper, lower - q), ca.fabs(qd) - speed)
        outside = ca.mmax(ca.if_else(self._passive, astray, -1.0)) > 0.0
        distance = ca.sqrt(dot(error, error)) / self._isolation.tolerance
        grows = dot(error, error_rate) > 0.0
        astray_rate = SLOWER * ca.if_else(grows, ca.fmin(distance, 1.0 / SLOWER), 1.0)
        hindered = ca.logic_or(weak, self._short)
        rate = ca.if_else(hindered, 1.0, ca.if_else(distance > 1.0, astray_rate, -1.0))
        time = ca.if_else(known, ca.fmax(self._hindered + rate * signals.dt, 0.0), 0.0)
        now = ca.logic_and(known, ca.logic_or(outside, time > PATIENCE))
        ahead = q + self.obeys * qd * ca.fabs(qd) / (2.0 * U)
        stopped = ca.if_else(now, 1.0, self._stopped)
        self.next_state = {
            "fault_stop": stopped,
            "hindered_time": time,
            "rest_posture": ca.if_else(self._stopped > 0.5, self._rest, ahead),
        }
        action = ca.if_else(stopped > 0.5, int(Action.STOPS), known * int(Action.CONTINUES))
        self.telemetry = {"fault_action": action, "task_share": self._found_share}
        return SX(asked)
