"""Joint-space adaptive control with the Slotine–Li regressor (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.contact import ContactObserver
from thunder_controllers.laws.parts.gains import damping_by_inertia, joint_damping_gain
from thunder_controllers.laws.parts.options import check_options
from thunder_controllers.laws.parts.task import joint_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals


def slotine_li(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = Y_u π̂ + Y_k π_k + K_d s,  q̇_r = q̇_d + Λ(q_d − q),  s = q̇_r − q̇   [Slotine & Li 1987, eqs. 8–12].

    V = ½ sᵀM s + ½ π̃ᵀΓπ̃ falls at the rate −sᵀK_d s.

    Args:
        robot: Any robot.
        options: `adapted_links`, names of links or "all" (default: the link of the end effector); `adaptation`,
            "consistent" (default), another scheme, or "none": τ = M q̈_r + C q̇_r + G + K_d s; `friction`, "none"
            (default) or "adapted", which adds Y_f φ̂ with estimated friction of every joint; `contact`, "none"
            (default), "observe" or "freeze": see `ContactObserver`.
    """
    check_options("slotine_li", options, (*split_dynamics.OPTIONS, "contact"))
    signals = Signals(robot, ReferenceKind.JOINT)
    Lambda = signals.gain(
        "Lambda",
        size=robot.n,
        default=10.0,
        bounds=(0.0, 200.0),
        unit="1/s",
        doc="Bandwidth of the position error, per joint.",
    )
    K_d = joint_damping_gain(robot, signals, damping_by_inertia(robot))
    e, _ = joint_error(signals)
    signals.describe_telemetry("s", size=robot.n, unit="rad/s", doc="s = q̇_r − q̇.")

    qd_r = signals.reference.qd + Lambda * e
    s = qd_r - signals.qd
    model = split_dynamics.SplitDynamics("slotine_li", robot, signals, qd_r, signals.time_derivative(qd_r), options)
    contact = ContactObserver("slotine_li", robot, signals, options, model)
    return signals.law(
        "slotine_li",
        "Joint-space adaptive control with the Slotine–Li regressor.",
        effort=model.effort + K_d * s,
        next_state=contact.step(model.step(s, K_d, Lambda)),
        telemetry={"joint_error": e, "s": s, **model.telemetry, **contact.telemetry},
        adapted_links=model.adapted_links,
    )
