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

PATIENCE = 0.2
"""For which the task may be more than accelerations or torques allow, as when an error is made good [s]."""

STIFFNESS = 10.0
"""Bandwidth with which joints come to rest [1/s]."""


class FaultRecovery:
    """u and τ of an arm with a fault.

    block   u_i = −λ q̇_i, then zero: its column goes to the right-hand side.
    bias    τ_i − b.        loss   τ_i/(1 − λ), as far as the torque reaches.
    freeze, and a loss of nearly all: no torque of choice; M_i u = g_i − C_i q̇ − G_i − τ_f,i is one row more.

    Accelerations are within their bounds by `saturate`. The arm stops where for `PATIENCE` the bounds leave less than
    the whole task, or a torque exceeds its limit; where a joint could not stop before its limit of position any more;
    or where the faulty one exceeds its limit of velocity. All that obey then go to where they can stop at U, and stay:
    u = k²(q_s − q) − 2 k q̇ within U. A joint that has no torque of choice moves on as its weight has it: brakes are the
    robot's.

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
        limit = self._limit * (1.0 + 1e6 * passive)
        joints = Joints(limit, self.obeys, self._own, row, value, has_row)
        found = saturate(J, r, preferred, joints, damping)
        k = STIFFNESS
        slowing = k**2 * (self._rest - q) - 2.0 * k * qd
        slowing = self.obeys * ca.fmin(ca.fmax(slowing, -self._limit), self._limit) + self._own
        # a passive joint moves as the others have it
        slowing += passive * (value - ca.mtimes(row, slowing))
        self._short = found.share < 1.0 - 1e-6
        self._found_share = found.share
        return SX(ca.if_else(self._stopped > 0.5, slowing, found.u))

    def apply(self, effort: SX) -> SX:
        """τ (n,) with what is known of the faulty joint; completes state and telemetry."""
        signals, model = self._signals, self._robot.model
        q, qd, U, known = signals.q, signals.qd, self._limit, self._known
        asked = (effort - self._bias) / self._share
        asked = ca.if_else(self._passive, 0.0, asked)
        weak = ca.mmax(ca.fabs(asked) / np.array(model.limits("effort"))) > 1.0
        ahead = q + self.obeys * qd * ca.fabs(qd) / (2.0 * U)
        outside = ca.mmax(ca.fmax(ahead - model.limits("upper"), model.limits("lower") - ahead)) > 0.0
        fast = ca.mmax(self._passive * ca.fabs(qd) / np.array(model.limits("velocity"))) > 1.0
        hindered = ca.logic_or(weak, self._short)
        time = ca.if_else(known, ca.fmax(self._hindered + ca.if_else(hindered, 1.0, -1.0) * signals.dt, 0.0), 0.0)
        now = ca.logic_and(known, ca.logic_or(ca.logic_or(outside, fast), time > PATIENCE))
        stopped = ca.if_else(now, 1.0, self._stopped)
        self.next_state = {
            "fault_stop": stopped,
            "hindered_time": time,
            "rest_posture": ca.if_else(self._stopped > 0.5, self._rest, ahead),
        }
        action = ca.if_else(stopped > 0.5, int(Action.STOPS), known * int(Action.CONTINUES))
        self.telemetry = {"fault_action": action, "task_share": self._found_share}
        return SX(asked)
