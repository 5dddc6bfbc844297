"""Computed torque: the model turns the arm into double integrators (theory.md §6)."""

from __future__ import annotations

from thunder_controllers.laws.parts.friction import COMPENSATION, FrictionTerms
from thunder_controllers.laws.parts.gains import error_dynamics_gains
from thunder_controllers.laws.parts.task import ERROR_RATE, error_rate, joint_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes


@takes(COMPENSATION, ERROR_RATE)
def computed_torque(robot: RobotExpressions, options: Options) -> Law:
    """τ = M(q̈_d + R_1 ė + R_0 e) + C q̇ + G + F_V q̇ + F_C sign(q̇),  e = q_d − q   [Luh, Walker & Paul 1980].

    With an exact model ë + R_1 ė + R_0 e = 0: every joint by itself, linear, the same at every pose.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    q, qd, reference = signals.q, signals.qd, signals.reference
    R_0, R_1 = error_dynamics_gains(signals, robot.n)
    e, e_dot = joint_error(signals)
    e_dot, filtered = error_rate(signals, options, e_dot)
    friction = FrictionTerms(robot, qd, options["friction"])

    qdd = reference.qdd + R_1 * e_dot + R_0 * e
    effort = robot.inverse_dynamics(q, qd, qd, qdd) + friction.torque(qd)
    return signals.law("computed_torque", "Computed torque of the whole model.", effort, filtered, {"joint_error": e})
