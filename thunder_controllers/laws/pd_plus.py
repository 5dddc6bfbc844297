"""PD+: stiffness and damping around a feed-forward of the whole model (theory.md §6)."""

from __future__ import annotations

from thunder_controllers.laws.parts.friction import COMPENSATION, FrictionTerms
from thunder_controllers.laws.parts.gains import LARGEST, damping_by_inertia, joint_damping_gain
from thunder_controllers.laws.parts.task import ERROR_RATE, error_rate, joint_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes


@takes(COMPENSATION, ERROR_RATE)
def pd_plus(robot: RobotExpressions, options: Options) -> Law:
    """τ = K_p e + K_d ė + M q̈_d + C q̇_d + G + F_V q̇_d + F_C sign(q̇),  e = q_d − q   [Paden & Panja 1988].

    With an exact model V = ½ ėᵀM ė + ½ eᵀK_p e falls at the rate −ėᵀ(K_d + F_V)ė.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    q, qd, reference = signals.q, signals.qd, signals.reference
    K_p = signals.gain(
        "K_p",
        size=robot.n,
        default=10.0 * damping_by_inertia(robot),
        bounds=(0.0, 100.0 * LARGEST),
        unit="N·m/rad",
        doc="Stiffness on the position error, per joint.",
    )
    K_d = joint_damping_gain(robot, signals)
    e, e_dot = joint_error(signals)
    e_dot, filtered = error_rate(signals, options, e_dot)
    friction = FrictionTerms(robot, qd, options["friction"])

    feedforward = robot.inverse_dynamics(q, qd, reference.qd, reference.qdd)
    effort = K_p * e + K_d * e_dot + feedforward + friction.torque(reference.qd)
    return signals.law("pd_plus", "PD around a feed-forward of the model.", effort, filtered, {"joint_error": e})
