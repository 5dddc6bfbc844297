"""PD+: stiffness and damping around a feed-forward of the whole model (theory.md §6), which may adapt."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.outside import disturbance
from thunder_controllers.laws.parts.friction import COMPENSATION, FrictionTerms
from thunder_controllers.laws.parts.gains import (
    LARGEST,
    damping_by_inertia,
    joint_damping_gain,
    pd_integral_bandwidth,
)
from thunder_controllers.laws.parts.task import ERROR_RATE, error_rate, joint_error
from thunder_controllers.laws.second_order.adapted_links import OPTIONS, AdaptedLinks, error_weight
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes
from thunder_dynamics.spatial import reciprocal

TINY = 1e-9
"""Keeps quotients finite."""


@takes(COMPENSATION, ERROR_RATE, *OPTIONS, disturbance.OPTION)
def pd_plus(robot: RobotExpressions, options: Options) -> Law:
    """τ = K_p e + K_d ė + M̂ q̈_d + Ĉ q̇_d + Ĝ + F_V q̇_d + F_C sign(q̇),  e = q_d − q   [Paden & Panja 1988].

    With an exact model V = ½ ėᵀM ė + ½ eᵀK_p e falls at the rate −ėᵀ(K_d + F_V)ė. With adaptation, which needs neither
    q̈ nor M̂⁻¹ [Kelly, Carelli & Ortega 1989],

        π̂̇ = Γ⁻¹Y(q, q̇, q̇_d, q̈_d)ᵀ(ė + a e),  a = α/(1 + ‖e‖),   V = ½ ėᵀM ė + a eᵀM ė + ½ eᵀK_p e + ½ π̃ᵀΓπ̃

    falls at the rate −ėᵀ(K_d + F_V − a M)ė − a eᵀ(K_p e + (K_d + F_V)ė − Cᵀė) + ȧ eᵀM ė, which a small α keeps
    negative: without the term a e the arm could come to rest beside its reference.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    q, qd, reference = signals.q, signals.qd, signals.reference
    K_p = signals.gain(
        "K_p",
        size="joints",
        default=10.0 * damping_by_inertia(robot),
        bounds=(0.0, 100.0 * LARGEST),
        unit="N·m/rad",
        doc="Stiffness on the position error, per joint.",
    )
    K_d = joint_damping_gain(robot, signals, disturbance.left_for_damping(robot, options))
    e, e_dot = joint_error(signals)
    e_dot, filtered = error_rate(signals, options, e_dot)
    friction = FrictionTerms(robot, qd, options["friction"])
    K_o = disturbance.observer_bandwidth(signals, options)
    Lambda = K_p * reciprocal(K_d + TINY)
    adapted = AdaptedLinks(robot, signals, options)

    model = adapted.effort(q, qd, reference.qd, reference.qdd) + friction.torque(reference.qd)
    observer = None if K_o is None else adapted.observer(K_o, friction.torque(reference.qd), Lambda)
    rejected = disturbance.Disturbance(signals, options, model, observer, bandwidth=pd_integral_bandwidth)
    effort = model + K_p * e + K_d * e_dot + rejected.effort
    next_state = {**filtered, **rejected.next_state}
    if adapted.links:
        error = e_dot + error_weight(signals, 1.0) * reciprocal(1.0 + ca.norm_2(e)) * e
        Y, damping = adapted.regressor(q, qd, reference.qd, reference.qdd), K_d
        if observer is not None and not adapted.predicts:
            error, Y = ca.vertcat(error, observer.told(K_d)), ca.vertcat(Y, observer.W)
            damping = ca.vertcat(K_d, K_d)
        next_state |= adapted.step(Y, error, damping, Lambda)
    next_state |= observer.next_state if observer is not None else {}
    telemetry = {"joint_error": e, **adapted.telemetry, **rejected.telemetry}
    return signals.law("pd_plus", "PD around a feed-forward of the model.", effort, next_state, telemetry)
