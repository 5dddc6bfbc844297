"""Joint-space adaptive control of arms with elastic joints, by backstepping on their motors (theory.md §5)."""

from __future__ import annotations

from thunder_controllers.laws.elastic import motors
from thunder_controllers.laws.elastic.gains import link_gains
from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.gains import error_bandwidth_gain
from thunder_controllers.laws.parts.task import joint_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes


@takes(*split_dynamics.OPTIONS, motors.OPTION, elastic=True)
def slotine_li_elastic(robot: RobotExpressions, options: Options) -> Law:
    """τ_m = Mm(ẍ_r + Λ_x ż) + dm + k + d + K_x s_x, x_r such that the springs give τ_d  [Lozano & Brogliato 1992].

    τ_d = M̂(q̈_r + ω s) + Ĉ q̇_r + Ĝ + K_d s; `Motors` says how the motors follow, and what remains.

    The link side is `slotine_li` with a feedback K_d + ωM, which is as fast in every pose: a link alone, without its
    rotor, turns with a hundred times the inertia in one pose that it has in another.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    Lambda = error_bandwidth_gain(robot, signals)
    motors.check(robot, options)  # before gains by the springs
    K_d, omega, least = link_gains(robot, signals)
    e, _ = joint_error(signals)
    signals.describe_telemetry("s", size=robot.n, unit="rad/s", doc="s = q̇_r − q̇.")

    feedback = Lambda * e
    qd_r = signals.reference.qd + feedback
    s = qd_r - signals.qd
    qdd_r, damping = signals.time_derivative(qd_r) + omega * s, K_d + omega * least
    model = split_dynamics.SplitDynamics(
        robot, signals, qd_r, qdd_r, options, feedback, damping, Lambda, stiffens=False
    )
    motor = motors.Motors(robot, signals, options, model, model.effort + K_d * s, s, qd_r)
    return signals.law(
        "slotine_li_elastic",
        "Joint-space adaptive control of elastic joints by backstepping on their motors.",
        effort=motor.effort,
        next_state={**model.step(s), **motor.next_state},
        telemetry={"joint_error": e, "s": s, **motor.telemetry, **model.telemetry},
    )
