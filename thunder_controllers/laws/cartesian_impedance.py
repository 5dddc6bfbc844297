"""Cartesian impedance: the end effector hangs on springs and dampers from its reference."""

from __future__ import annotations

import casadi as ca

from thunder_controllers.laws.parts import posture, task
from thunder_controllers.laws.parts.gains import FASTEST, stiffness_by_inertia, task_damping_by_inertia
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Option, Options, ReferenceKind, Signals, takes
from thunder_dynamics.spatial import vee

SX = ca.SX

STIFFNESS = (600.0, 40.0)
DAMPING = (30.0, 2.0)
"""Largest defaults, of translation and rotation [N/m, N·m/rad] and [N·s/m, N·m·s/rad]."""


BANDWIDTH = 1.0
"""Default of k_n [1/s]; that of the kinematic loops."""

REDUNDANCY = Option(
    "redundancy", "Draw spare joints to where they were at the activation, or to q_home.", ("start", "posture")
)


@takes(task.OPTION, REDUNDANCY)
def cartesian_impedance(robot: RobotExpressions, options: Options) -> Law:
    """τ = Jᵀ(f + D(ξ_d − J q̇)) − d M q̇ + G + o + τ_n,  f = [K_v(p_d − p) ; −2 R vee(A R_dᵀR)]   [Hogan 1985, part II].

    K = diag(K_v, K_ω), A = ½ tr(K_ω)1 − K_ω, o the effort offsets of the robot file. About a desired pose f = K e: at
    rest a push w displaces the end effector by K⁻¹w. f is the gradient of U = ½ (p_d − p)ᵀK_v(p_d − p) + (1 − cos θ)
    rᵀK_ω r. D damps light directions and d heavy ones and the null space, whatever the inertia.

    τ_n holds the spare joints of a redundant arm: τ_n = ν M P(k_σ² σ + 2 k_σ(z − q̇)), as `hold_spare_joints` has it:
    the end effector feels nothing of it. z leads them to q_home with the bandwidth k_n. ν is zero at singular poses:
    there the law is the one without τ_n, which inverts nothing, and no pose is singular.

    With an exact model, a reference at rest and z = 0, V = ½ q̇ᵀM q̇ + U + ½ k_σ² σᵀM σ falls at the rate −ξᵀD ξ −
    d q̇ᵀM q̇ − ν(2 k_σ vᵀM v + k_σ³ σᵀM(1 − P)σ), v = P q̇, from every orientation and pose: the arm is passive. On its
    way to q_home z adds ν(2 k_σ vᵀM + k_σ² σᵀM P)z, which may be positive; with k_n = 0 it is zero for ever.

    Args:
        options: With `redundancy=start` q_home is where the law was activated, with `posture` a gain.
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
    effort, next_state, telemetry = error.J.T @ (force + D * error.e_dot) + model, dict[str, SX](), error.telemetry
    if posture.is_redundant(robot, error.rows):
        if options["redundancy"] == "start":
            next_state["q_home"] = _start(signals)
        k_n, away, _ = task.posture_error(robot, signals, BANDWIDTH, next_state.get("q_home"))
        z, _, next_state["spare_velocity"] = posture.velocity_home(signals, k_n, away)
        share, distance = posture.away_from_singularities(signals, error.J)
        hold, next_state["deflection"] = posture.hold_spare_joints(robot, signals, error.J, z - qd, share)
        effort, telemetry = effort + hold, {**telemetry, "singularity": distance}
    description = "Springs and dampers at the end effector; spare joints are held."
    return signals.law("cartesian_impedance", description, effort, next_state, telemetry)


def _start(signals: Signals) -> SX:
    """Declare the state q_home, the posture (n,) in which the law was activated."""
    doc = "Posture preferred in the null space: where the law was activated."
    return signals.state("q_home", size=signals.robot.n, default=0.0, unit="rad|m", doc=doc, initial=signals.q)


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
