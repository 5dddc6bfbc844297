"""Gravity compensation: the arm floats, to be led by hand; a baseline without a reference."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.parts.gains import LARGEST, damping_by_inertia
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes

DAMPING_SHARE = 0.05
"""Of the damping by inertia; without any, delayed compensation of gravity lets the arm swing."""


@takes()
def gravity_compensation(robot: RobotExpressions, options: Options) -> Law:
    """τ = G(q) + o − K_d q̇, o the effort offsets of the robot file.

    With an exact model the kinetic energy ½ q̇ᵀM q̇ falls at the rate −q̇ᵀK_d q̇: every pose is one of rest.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    K_d = signals.gain(
        "K_d",
        size="joints",
        default=DAMPING_SHARE * damping_by_inertia(robot),
        bounds=(0.0, LARGEST),
        unit="N·m·s/rad",
        doc="Damping of every joint, felt by whoever leads the arm.",
    )
    rest = ca.SX.zeros(robot.n)
    held = robot.inverse_dynamics(signals.q, rest, rest, rest) + robot.model.effort_offsets
    effort = held - K_d * signals.qd
    return signals.law("gravity_compensation", "Gravity compensation with joint damping.", effort, {}, {})
