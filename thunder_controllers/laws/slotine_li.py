"""Joint-space adaptive control with the Slotine–Li regressor (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thunder_controllers.laws.parts.adaptation import BoundedAdaptation, adapted_links, check_options
from thunder_controllers.laws.parts.gains import damping_by_place, joint_damping_gain
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals


def slotine_li(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = Y_u π̂ + Y_k π_k + K_d s,  q̇_r = q̇_d + Λ(q_d − q),  s = q̇_r − q̇   [Slotine & Li 1987, eqs. 8–12].

    V = ½ sᵀM s + ½ π̃ᵀΓπ̃ falls at the rate −sᵀK_d s.

    Args:
        robot: Any robot.
        options: `adapted_links`, names of links or "all" (default: the link of the end effector).
    """
    check_options("slotine_li", options, ("adapted_links",))
    links = adapted_links(robot.model, options.get("adapted_links"))
    known = [i for i in range(robot.n) if i not in links]
    signals = Signals(robot, ReferenceKind.JOINT)
    q, qd, reference, n = signals.q, signals.qd, signals.reference, robot.n
    adaptation = BoundedAdaptation(robot, signals, links)
    Lambda = signals.gain(
        "Lambda",
        size=n,
        default=5.0,
        bounds=(0.0, 200.0),
        unit="1/s",
        doc="Bandwidth of the position error, per joint.",
    )
    K_d = joint_damping_gain(robot, signals, damping_by_place(robot))
    far = 0.5  # a host refuses to activate with a larger error of any joint [rad] or [m]
    signals.describe_telemetry("joint_error", size=n, unit="rad|m", doc="q_d − q.", activation_bounds=(-far, far))
    signals.describe_telemetry("s", size=n, unit="rad/s", doc="s = q̇_r − q̇.")

    qd_r = reference.qd + Lambda * (reference.q - q)
    qdd_r = signals.time_derivative(qd_r)
    s = qd_r - qd
    Y_u = robot.slotine_li_regressor(q, qd, qd_r, qdd_r, links)
    tau_known = robot.inverse_dynamics(q, qd, qd_r, qdd_r, known)
    return signals.law(
        "slotine_li",
        "Joint-space adaptive control with the Slotine–Li regressor.",
        effort=Y_u @ adaptation.estimate + tau_known + K_d * s,
        next_state=adaptation.step(Y_u, s, K_d, Lambda),
        telemetry={"joint_error": reference.q - q, "s": s},
        adapted_links=[robot.model.links[i].name for i in links],
    )
