"""Variable-inertia computed torque: the inertia of the error dynamics follows the arm (theory.md §6)."""

from __future__ import annotations

from thunder_controllers.laws.parts.friction import COMPENSATION
from thunder_controllers.laws.parts.task import ERROR_RATE
from thunder_controllers.laws.second_order.adapted_links import OPTIONS, AdaptedLinks, error_weight
from thunder_controllers.laws.second_order.scalar_inertia import SATURATION, ErrorDynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes


@takes(COMPENSATION, ERROR_RATE, *OPTIONS, SATURATION)
def variable_inertia(robot: RobotExpressions, options: Options) -> Law:
    """τ = M(q̈_d + β⁻¹ Z q̇_d) + β⁻¹M(R_0 e + R_1 ė) + (1 − β⁻¹M) Z q̇ + G + F_C sign(q̇),  Z = C + F_V,  e = q_d − q.

        μ β̇ + β = yᵀM y / ‖y‖²,  y = Z q̇,  μ⁻¹ = μ_0 + μ_1 ‖q̇‖,  β(0) = tr(M)/n

    With an exact model β ë + (Z + R_1) ė + R_0 e = 0. The quotient is the β that makes ‖(M − β)Z q̇‖ least, so that
    little is compensated; it lies between the eigenvalues of M, and β with it, but for its lower bound.
    V = ½ β ėᵀė + ½ eᵀR_0 e falls at the rate −ėᵀ(R_1 + F_V + ½ Ṁ − ½ β̇)ė.

    With adaptation M̂, Ĉ and Ĝ are of estimates, π̂̇ = Γ⁻¹Wᵀ(ė + α e) with W = β M̂⁻¹Y(q, q̇, q̈), and for α = 0 V and
    ½ π̃ᵀΓπ̃ together fall at that rate with Ĉ for ½ Ṁ: `variable_inertia_adaptive`, of masses alone, is the published
    form, this one of all parameters.

    Args:
        robot: Any robot; with joints of both kinds the one inertia β stands for [kg·m²] and [kg] alike.
    """
    signals = Signals(robot, ReferenceKind.JOINT)
    adapted = AdaptedLinks(robot, signals, options)
    dynamics = ErrorDynamics(robot, signals, options, adapted.dynamics)
    next_state, telemetry = {**dynamics.next_state}, {**dynamics.telemetry, **adapted.telemetry}
    if adapted.links:
        error = (dynamics.share >= 1.0) * (dynamics.e_dot + error_weight(signals, 5.0) * dynamics.e)
        found, reported = adapted.step_by_acceleration(dynamics.beta, error, dynamics.R_1)
        next_state, telemetry = next_state | found, telemetry | reported
    doc = "Computed torque with an inertia that follows the arm."
    return signals.law("variable_inertia", doc, dynamics.effort, next_state, telemetry)
