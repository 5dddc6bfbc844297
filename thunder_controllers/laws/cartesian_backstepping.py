"""Cartesian adaptive backstepping with the axis-angle orientation error (theory.md §5)."""

from __future__ import annotations

from thunder_controllers.laws.kinematic_loop import loop
from thunder_controllers.laws.outside import contact, disturbance, efforts
from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.gains import FASTEST, PROFILE, joint_damping_gain
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes


@takes(*split_dynamics.OPTIONS, PROFILE, loop.OPTION, contact.OPTION, disturbance.OBSERVED)
def cartesian_backstepping(robot: RobotExpressions, options: Options) -> Law:
    """Track a pose with estimated inertial parameters.

        q̇_r = κ (J⁺ L⁻¹(Lᵀ ξ_d + Λ e) + (1 − J⁺J) ν k_n (q_home − q)),   q̈_r = d/dt q̇_r exactly,   s = q̇_r − q̇
        τ    = Y_u π̂ + (Y_k π_k) + K_d s + Jᵀ Lᵀ K_p e + d̂,        π̂̇ = Γ⁻¹ Y_uᵀ s

    d̂ takes up what no parameter explains, and the estimates learn from it: by default an observer, see `Disturbance`.
    Without it V = ½ eᵀK_p e + ½ sᵀM s + ½ π̃ᵀΓπ̃ falls at the rate −eᵀK_p Λ e − sᵀK_d s where nothing is bounded: J⁺ is
    damped near singularities and ν < 1 there, κ < 1 where a joint would come near its speed limit, and the feedback of
    far poses is bounded, as is adaptation that is too eager for the damping.

    Args:
        robot: At least as many joints on the path to its end effector as the task has rows.
    """
    signals = Signals(robot, ReferenceKind.CARTESIAN)
    fastest = FASTEST[options["profile"]]
    motion: loop.KinematicLoop = options.parts["kinematic_loop"](robot, signals, options, fastest)
    signals.describe_telemetry("s", size=robot.n, unit="rad/s", doc="s = q̇_r − q̇.")
    signals.describe_telemetry("qd_r", size=robot.n, unit="rad/s", doc="Reference velocity of the joints.")
    K_d = joint_damping_gain(robot, signals, disturbance.left_for_damping(robot, options, fastest))
    s = motion.qd_r - signals.qd
    K_o = disturbance.observer_bandwidth(signals, options, fastest=fastest)
    fed = motion.feedback, K_d, motion.Lambda, K_o
    model = split_dynamics.SplitDynamics(robot, signals, motion.qd_r, motion.qdd_r, options, *fed)
    outside = efforts.OutsideEfforts(robot, signals, options, model, s, motion.effort)
    return signals.law(
        "cartesian_backstepping",
        "Cartesian adaptive backstepping with axis-angle error.",
        effort=model.effort + model.K_d * s + motion.effort + outside.effort,
        next_state=outside.step(motion.next_state),
        telemetry={"s": s, "qd_r": motion.qd_r, **motion.telemetry, **model.telemetry, **outside.telemetry},
    )
