"""Cartesian impedance: the end effector hangs on springs and dampers from its reference."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.parts import task
from thunder_controllers.laws.parts.gains import FASTEST, stiffness_by_inertia, task_damping_by_inertia
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes
from thunder_dynamics.spatial import vee

SX = ca.SX

STIFFNESS = (600.0, 40.0)
DAMPING = (30.0, 2.0)
"""Largest defaults, of translation and rotation [N/m, N·m/rad] and [N·s/m, N·m·s/rad]."""


@takes(task.OPTION)
def cartesian_impedance(robot: RobotExpressions, options: Options) -> Law:
    """τ = Jᵀ(f + D(ξ_d − J q̇)) − d M q̇ + G + o,  f = [K_v(p_d − p) ; −2 R vee(A R_dᵀR)]   [Hogan 1985, part II].

    K = diag(K_v, K_ω), A = ½ tr(K_ω)1 − K_ω, o the effort offsets of the robot file. About a desired pose f = K e: at
    rest a push w displaces the end effector by K⁻¹w. f is the gradient of U = ½ (p_d − p)ᵀK_v(p_d − p) + (1 − cos θ)
    rᵀK_ω r. With an exact model and a reference at rest V = ½ q̇ᵀM q̇ + U falls at the rate −ξᵀD ξ − d q̇ᵀM q̇, from
    every orientation. D damps light directions and d heavy ones and the null space, whatever the inertia. Nothing is
    inverted: no pose is singular.
    """
    signals = Signals(robot, ReferenceKind.CARTESIAN)
    q, qd, rest = signals.q, signals.qd, SX.zeros(robot.n)
    error = task.task_error(robot, signals, options, inverts=False)
    K, D, d = _gains(robot, signals, error.rows)

    force = K[:3] * error.e[:3]
    if error.rows == 6:
        A = 0.5 * ca.sum1(K[3:]) * SX.eye(3) - ca.diag(K[3:])
        force = ca.vertcat(force, -2.0 * error.R @ vee(A @ signals.reference.rotation.T @ error.R))
    model = robot.inverse_dynamics(q, rest, rest, -d * qd) + robot.model.effort_offsets
    effort = error.J.T @ (force + D * error.e_dot) + model
    description = "Springs and dampers at the end effector."
    return signals.law("cartesian_impedance", description, effort, {}, error.telemetry)


def _gains(robot: RobotExpressions, signals: Signals, rows: int) -> tuple[SX, SX, SX]:
    """Stiffness and damping of the task, each (rows,), and damping of all motion."""
    K = signals.gain(
        "K",
        size=rows,
        default=stiffness_by_inertia(robot, rows, STIFFNESS, FASTEST["default"] / 4.0),
        bounds=(0.0, 5000.0),
        unit="N/m, N·m/rad",
        doc="Stiffness along the axes of the world, then about those of the desired frame.",
    )
    D = signals.gain(
        "D",
        size=rows,
        default=task_damping_by_inertia(robot, rows, DAMPING),
        bounds=(0.0, 500.0),
        unit="N·s/m, N·m·s/rad",
        doc="Damping along and about the axes of the world.",
    )
    d = signals.gain("d", default=15.0, bounds=(0.0, 500.0), unit="1/s", doc="Damping of all motion, per inertia.")
    return K, D, d
