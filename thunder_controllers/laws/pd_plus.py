"""PD+: stiffness and damping around a feed-forward of the whole model (theory.md §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thunder_controllers.laws.parts.friction import FrictionTerms
from thunder_controllers.laws.parts.gains import joint_impedance_gains
from thunder_controllers.laws.parts.options import check_options
from thunder_controllers.laws.parts.task import joint_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals


def pd_plus(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = K_p e + K_d ė + M q̈_d + C q̇_d + G + F_V q̇_d + F_C sign(q̇),  e = q_d − q   [Paden & Panja 1988].

    With an exact model V = ½ ėᵀM ė + ½ eᵀK_p e falls at the rate −ėᵀ(K_d + F_V)ė.

    Args:
        robot: Any robot.
        options: `friction`, "model" (default) or "none", which leaves its terms out.
    """
    check_options("pd_plus", options, ("friction",))
    signals = Signals(robot, ReferenceKind.JOINT)
    q, qd, reference = signals.q, signals.qd, signals.reference
    K_p, K_d = joint_impedance_gains(robot, signals)
    e, e_dot = joint_error(signals)
    friction = FrictionTerms("pd_plus", robot, qd, options)

    feedforward = robot.inverse_dynamics(q, qd, reference.qd, reference.qdd)
    feedforward += friction.viscous * reference.qd + friction.coulomb
    effort = K_p * e + K_d * e_dot + feedforward
    return signals.law("pd_plus", "PD around a feed-forward of the model.", effort, {}, {"joint_error": e})
