"""A control law: expressions over the robot's model, which are compiled into its library."""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes


@takes()
def new_project(robot: RobotExpressions, options: Options) -> Law:
    """τ = K_p e + K_d ė + G,  e = q_d − q: a spring and a damper per joint, with gravity compensated."""
    signals = Signals(robot, ReferenceKind.JOINT)
    q, qd, reference, rest = signals.q, signals.qd, signals.reference, ca.SX.zeros(robot.n)
    K_p = signals.gain("K_p", default=100.0, bounds=(0, 1000), unit="N·m/rad", doc="Stiffness, per joint.")
    K_d = signals.gain("K_d", default=10.0, bounds=(0, 100), unit="N·m·s/rad", doc="Damping, per joint.")
    doc = "e, per joint."
    signals.describe_telemetry("joint_error", size=robot.n, unit="rad", doc=doc, activation_bounds=(-0.5, 0.5))

    e, e_dot = reference.q - q, reference.qd - qd
    effort = K_p * e + K_d * e_dot + robot.inverse_dynamics(q, rest, rest, rest)
    return signals.law("new_project", "PD with gravity compensation.", effort, {}, {"joint_error": e})
