"""Joint-space adaptive control with explicit stiffness and damping, for a partially known robot (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.contact import ContactObserver
from thunder_controllers.laws.parts.gains import joint_impedance_gains
from thunder_controllers.laws.parts.options import check_options
from thunder_controllers.laws.parts.task import joint_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals


def partially_known(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = Y_u π̂ + Y_k π_k + K_p e + K_d ė,  q̇_r = q̇_d + Λ e,  Λ = K_d⁻¹K_p,  π̂̇ = Γ⁻¹ Y_uᵀ (q̇_r − q̇).

    K_p e + K_d ė = K_d s with s = q̇_r − q̇, so V = ½ sᵀM s + ½ π̃ᵀΓπ̃ falls at the rate −sᵀK_d s.

    Args:
        robot: Any robot.
        options: `adapted_links`, names of links or "all" (default: the link of the end effector), the rest is known;
            `adaptation`, "consistent" (default), another scheme, or "none": τ = M q̈_r + C q̇_r + G + K_p e + K_d ė;
            `friction`, "none" (default) or "adapted", which adds Y_f φ̂ with estimated friction of every joint;
            `contact`, "none" (default), "observe" or "freeze": see `ContactObserver`.
    """
    check_options("partially_known", options, (*split_dynamics.OPTIONS, "contact"))
    signals = Signals(robot, ReferenceKind.JOINT)
    K_p, K_d = joint_impedance_gains(robot, signals)
    e, e_dot = joint_error(signals)
    signals.describe_telemetry("s", size=robot.n, unit="rad/s", doc="s = q̇_r − q̇.")

    Lambda = K_p / K_d
    qd_r = signals.reference.qd + Lambda * e
    s = qd_r - signals.qd
    qdd_r = signals.time_derivative(qd_r)
    model = split_dynamics.SplitDynamics("partially_known", robot, signals, qd_r, qdd_r, options)
    contact = ContactObserver("partially_known", robot, signals, options, model)
    return signals.law(
        "partially_known",
        "Joint-space adaptive control with explicit stiffness and damping.",
        effort=model.effort + K_p * e + K_d * e_dot,
        next_state=contact.step(model.step(s, K_d, Lambda)),
        telemetry={"joint_error": e, "s": s, **model.telemetry, **contact.telemetry},
        adapted_links=model.adapted_links,
    )
