"""Computed torque: the model turns the arm into double integrators (theory.md §6), and may adapt by what is left."""

from __future__ import annotations

from thunder_controllers.laws.outside import disturbance
from thunder_controllers.laws.parts.friction import COMPENSATION, FrictionTerms
from thunder_controllers.laws.parts.gains import acceleration_bandwidth, error_dynamics_gains, mean_inertia
from thunder_controllers.laws.parts.task import ERROR_RATE, error_rate, joint_error
from thunder_controllers.laws.second_order.adapted_links import OPTIONS, AdaptedLinks, error_weight
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes


@takes(COMPENSATION, ERROR_RATE, *OPTIONS, disturbance.OPTION)
def computed_torque(robot: RobotExpressions, options: Options) -> Law:
    """τ = M̂(q̈_d + R_1 ė + R_0 e) + Ĉ q̇ + Ĝ + F_V q̇ + F_C sign(q̇),  e = q_d − q   [Luh, Walker & Paul 1980].

    With an exact model ë + R_1 ė + R_0 e = 0: every joint by itself, linear, the same at every pose. With another
    ë + R_1 ė + R_0 e = W (π − π̂), W = M̂⁻¹Y(q, q̇, q̈), and with adaptation [Craig, Hsu & Sastry 1987]

        π̂̇ = m Γ⁻¹Wᵀ(ė + α e),   V = ½ m (‖ė + α e‖² + eᵀ(R_0 + α(R_1 − α)) e) + ½ π̃ᵀΓπ̃,   0 < α < R_1

    falls at the rate −m (ėᵀ(R_1 − α)ė + α eᵀR_0 e), m the mean of tr(M)/n, so that Γ is what it is in other laws.
    It needs q̈, of positions at scans, and M̂⁻¹: a scheme whose estimates are bodies.

    Raises:
        LawError: for a scheme whose estimates need not be bodies, or a disturbance beside adaptation.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    q, qd, reference = signals.q, signals.qd, signals.reference
    R_0, R_1 = error_dynamics_gains(signals, "joints")
    e, e_dot = joint_error(signals)
    e_dot, filtered = error_rate(signals, options, e_dot)
    friction = FrictionTerms(robot, qd, options["friction"])
    adapted = AdaptedLinks(robot, signals, options)

    qdd = reference.qdd + R_1 * e_dot + R_0 * e
    choice = options[disturbance.OPTION.name]
    if adapted.links and choice != "none":  # W of this law is of q̈ at scans, and ε has another M̂⁻¹
        raise options.error(f"disturbance={choice} beside adaptation", "one of them, or slotine_li, which has both")
    without = adapted.effort(q, qd, qd, reference.qdd) + friction.torque(qd)
    K_o = disturbance.observer_bandwidth(signals, options, acceleration_bandwidth)
    observer = None if K_o is None else adapted.observer(K_o, friction.torque(qd))
    rejected = disturbance.Disturbance(signals, options, without, observer, bandwidth=acceleration_bandwidth)
    effort = adapted.effort(q, qd, qd, qdd) + friction.torque(qd) + rejected.effort
    next_state = {**filtered, **rejected.next_state, **(observer.next_state if observer is not None else {})}
    telemetry = {"joint_error": e, **adapted.telemetry, **rejected.telemetry}
    if adapted.links:
        m = mean_inertia(robot)
        found, reported = adapted.step_by_acceleration(m, e_dot + error_weight(signals, 5.0) * e, m * R_1)
        next_state, telemetry = next_state | found, telemetry | reported
    return signals.law("computed_torque", "Computed torque of the whole model.", effort, next_state, telemetry)
