"""Joint-space adaptive control with the Slotine–Li regressor (theory.md §5)."""

from __future__ import annotations

from thunder_controllers.laws.outside import disturbance, efforts
from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.gains import error_bandwidth_gain, joint_damping_gain
from thunder_controllers.laws.parts.task import joint_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes

PARTIALLY_KNOWN = "slotine_li with gains Lambda = K_p/K_d and K_d; its option known names links that are known"
"""Replacement of the law of this name."""


@takes(*split_dynamics.OPTIONS, *efforts.OPTIONS)
def slotine_li(robot: RobotExpressions, options: Options) -> Law:
    """τ = Y_u π̂ + Y_k π_k + K_d s,  q̇_r = q̇_d + Λ(q_d − q),  s = q̇_r − q̇   [Slotine & Li 1987, eqs. 8–12].

    V = ½ sᵀM s + ½ π̃ᵀΓπ̃ falls at the rate −sᵀK_d s. K_d s = K_p e + K_d ė of a stiffness K_p = K_d Λ.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    Lambda = error_bandwidth_gain(robot, signals)
    K_d = joint_damping_gain(robot, signals, disturbance.left_for_damping(robot, options))
    e, _ = joint_error(signals)
    signals.describe_telemetry("s", size=robot.n, unit="rad/s", doc="s = q̇_r − q̇.")

    feedback = Lambda * e
    qd_r = signals.reference.qd + feedback
    s, qdd_r = qd_r - signals.qd, signals.time_derivative(qd_r)
    K_o = disturbance.observer_bandwidth(signals, options)
    model = split_dynamics.SplitDynamics(robot, signals, qd_r, qdd_r, options, feedback, K_d, Lambda, K_o)
    outside = efforts.OutsideEfforts(robot, signals, options, model, s)
    return signals.law(
        "slotine_li",
        "Joint-space adaptive control with the Slotine–Li regressor.",
        effort=model.effort + model.K_d * s + outside.effort,
        next_state=outside.step({}),
        telemetry={"joint_error": e, "s": s, **model.telemetry, **outside.telemetry},
    )
