"""Cartesian computed torque: the model turns the end effector into double integrators (resolved acceleration)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from thunder_controllers.laws.kinematic_loop.pose_error import clipped_norm
from thunder_controllers.laws.parts.acceleration_bounds import accelerate_within, acceleration_limit
from thunder_controllers.laws.parts.friction import FrictionTerms
from thunder_controllers.laws.parts.gains import error_dynamics_gains
from thunder_controllers.laws.parts.options import check_options, choose
from thunder_controllers.laws.parts.redundancy import PseudoInverse, SingularityDamping
from thunder_controllers.laws.parts.task import Task, posture_gains, require_joints, task_error
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals

SX = ca.SX


def cartesian_computed_torque(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = M q̈ + C q̇ + G + F_V q̇ + F_C sign(q̇),  q̈ = J⁺(ξ̇_d + R_1(ξ_d − J q̇) + R_0 e − J̇ q̇) + (1 − J⁺J) z.

    e = [p_d − p ; r sin θ], z = ν k_n²(q_home − q) − 2 k_n q̇, ν fading near singularities   [Luh, Walker & Paul 1980].
    With an exact model, away from singularities and within the limits of the errors, ë_p + R_1 ė_p + R_0 e_p = 0, and
    with the relative angular velocity ω̃ = ω_d − ω the rotation has dω̃/dt + R_1 ω̃ + R_0 r sin θ = 0:
    1 − cos θ + ½ ω̃ᵀR_0⁻¹ω̃ falls at the rate −ω̃ᵀR_0⁻¹R_1 ω̃, from every angle below 180°.

    Args:
        robot: At least as many joints on the path to its end effector as the task has rows.
        options: `task`, "pose" (default) or "position", which leaves the orientation free; `friction`, "model"
            (default) or "none", which leaves its terms out; `redundancy`, "posture" (default) or "acceleration_bounds",
            with which |q̈_i| ≤ U_i: z as far as they leave room, and where they leave none the largest share of
            J q̈ that they allow, for an arm of one joint more than the task has rows.
    """
    law = "cartesian_computed_torque"
    check_options(law, options, ("task", "friction", "redundancy"))
    signals = Signals(robot, ReferenceKind.CARTESIAN)
    q, qd = signals.q, signals.qd
    task = task_error(law, robot, signals, options)
    require_joints(law, robot, task)
    R_0, R_1 = error_dynamics_gains(signals, task.rows)
    k_n, q_home = posture_gains(robot, signals, 2.0)
    friction = FrictionTerms(law, robot, qd, options)

    acceleration = signals.reference.acceleration[: task.rows] + R_1 * task.e_dot + R_0 * _near(signals, task)
    J_dot = robot.jacobian_dot(q, qd)[: task.rows, :]
    damping = SingularityDamping(signals, task.J)
    inverse = PseudoInverse(task.J, J_dot, damping.value, damping.rate)
    z = damping.posture * k_n**2 * (q_home - q) - 2.0 * k_n * qd
    # Only J⁺ is applied here; what `apply` differentiates is not asked for, and not compiled.
    r, telemetry = acceleration - J_dot @ qd, {**task.telemetry, **damping.telemetry}
    if choose(law, options, "redundancy", "posture", "acceleration_bounds") == "posture":
        qdd = z + inverse.apply(r - task.J @ z, SX.zeros(task.rows))[0]
    else:
        _require_one_redundant(law, robot, task)
        bounded = accelerate_within(inverse, r, z, acceleration_limit(robot, signals))
        signals.describe_telemetry("task_share", unit="1", doc="Share of J q̈ that the bounds of q̈ allow.")
        qdd, telemetry["task_share"] = bounded.u, bounded.share
    effort = robot.inverse_dynamics(q, qd, qd, qdd) + friction.viscous * qd + friction.coulomb
    return signals.law(
        law,
        "Computed torque of the pose of the end effector.",
        effort=effort,
        next_state={"damping": damping.next},
        telemetry=telemetry,
    )


def _require_one_redundant(law: str, robot: RobotExpressions, task: Task) -> None:
    spare = robot.n - task.rows
    if spare != 1:
        valid = f"an arm of {task.rows + 1} joints, or redundancy=posture"
        what = f"acceleration_bounds with {spare} redundant degrees of freedom"
        raise LawError(what, where=f"law {law}", valid=valid)


def _near(signals: Signals, task: Task) -> SX:
    """The errors, each shortened to its limit where it is longer."""
    limits = [
        signals.gain(
            f"{what}_error_limit",
            default=default,
            bounds=(1e-3, most),
            unit=unit,
            doc=f"Larger errors of the {what} are fed to the law at this length.",
        )
        for what, default, most, unit in (("position", 0.1, 10.0, "m"), ("orientation", 0.4, 1.0, "1"))[
            : task.rows // 3
        ]
    ]
    return ca.vertcat(*(clipped_norm(task.e[3 * i : 3 * i + 3], limit) for i, limit in enumerate(limits)))
