"""Cartesian adaptive backstepping with the axis-angle orientation error (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.gains import (
    damping_by_inertia,
    fastest_of,
    joint_damping_gain,
    stiffness_by_inertia,
)
from thunder_controllers.laws.parts.options import check_options
from thunder_controllers.laws.parts.pose_error import clipped_norm, orientation_error
from thunder_controllers.laws.parts.redundancy import PseudoInverse, SingularityDamping
from thunder_controllers.laws.parts.speed import limit_joints, limit_norm
from thunder_controllers.laws.parts.task import describe_pose_errors, posture_gains
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals
from thunder_dynamics.spatial import vee

SX = ca.SX

LARGEST_ORIENTATION_ERROR = float(np.deg2rad(80.0))
"""Widest bound of the clip [rad]: L_o is singular at 90°."""

ACTIVATION_DISTANCE = 0.5
"""A host refuses to activate with a larger position error along any axis [m]."""

SPEED_SHARE = 0.8
"""Of a joint's velocity limit that q̇_r may ask for; the rest is for s."""

BANDWIDTHS = 22.0
"""Of the pose error that the damping is at least faster by."""

UNLIMITED_SPEED = 1e3
"""Bound of q̇_r for joints without a velocity limit [rad/s or m/s]."""


def cartesian_backstepping(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """Track a pose with estimated inertial parameters.

        q̇_r = κ (J⁺ L⁻¹(Lᵀ ξ_d + Λ e) + (1 − J⁺J) ν k_n (q_home − q)),   q̈_r = d/dt q̇_r exactly,   s = q̇_r − q̇
        τ    = Y_u π̂ + (Y_k π_k) + K_d s + Jᵀ Lᵀ K_p e,            π̂̇ = Γ⁻¹ Y_uᵀ s

    V = ½ eᵀK_p e + ½ sᵀM s + ½ π̃ᵀΓπ̃ falls at the rate −eᵀK_p Λ e − sᵀK_d s where nothing is bounded: J⁺ is damped near
    singularities and ν < 1 there, κ < 1 where a joint would come near its speed limit, and the feedback of far poses is
    bounded, as is adaptation that is too eager for the damping.

    Args:
        robot: At least as many joints on the path to its end effector as the task has rows.
        options: `adapted_links`, names of links or "all" (default: the link of the end effector); `adaptation`,
            "projected" (default), another scheme, or "none": every link is known; `task`, "pose" (default) or
            "position", which leaves the orientation free; `friction`, "none" (default) or "adapted",
            which adds Y_f φ̂ with estimated viscous and Coulomb friction of every joint; `profile`, "default", "stiff"
            or "topics", for loops with a delay of up to 2, 1 or 3 ms, which sets the defaults of K_d, K_p and Λ.
    """
    check_options("cartesian_backstepping", options, (*split_dynamics.OPTIONS, "task", "profile"))
    signals = Signals(robot, ReferenceKind.CARTESIAN)
    fastest = fastest_of(str(options.get("profile", "default")))
    loop = _kinematic_loop(robot, signals, str(options.get("task", "pose")), fastest)
    K_d = joint_damping_gain(robot, signals, damping_by_inertia(robot, fastest))
    s = loop.qd_r - signals.qd
    model = split_dynamics.SplitDynamics("cartesian_backstepping", robot, signals, loop.qd_r, loop.qdd_r, options)
    return signals.law(
        "cartesian_backstepping",
        "Cartesian adaptive backstepping with axis-angle error.",
        effort=model.effort + K_d * s + loop.tau_task,
        next_state=model.step(s, K_d, loop.Lambda) | {"damping": loop.damping.next},
        telemetry={"s": s, "qd_r": loop.qd_r, **loop.telemetry, **model.telemetry},
        **{"adapted_links": model.adapted_links, "task": options.get("task", "pose")},
    )


@dataclass(frozen=True)
class _KinematicLoop:
    """Bandwidths of the task, reference velocity and acceleration of the joints, the task's torque, what to report."""

    Lambda: SX
    damping: SingularityDamping
    qd_r: SX
    qdd_r: SX
    tau_task: SX
    telemetry: Mapping[str, SX]


def _kinematic_loop(robot: RobotExpressions, signals: Signals, task: str, fastest: float) -> _KinematicLoop:
    rows = _task_rows(robot, task)
    q, qd = signals.q, signals.qd
    Lambda = signals.gain(
        "Lambda",
        size=rows,
        default=min(10.0, fastest / BANDWIDTHS),
        bounds=(0.0, 200.0),
        unit="1/s",
        doc="Bandwidth of the pose error, per axis.",
    )
    K_p = signals.gain(
        "K_p",
        size=rows,
        default=stiffness_by_inertia(robot, rows, 50.0, fastest),
        bounds=(0.0, 5000.0),
        unit="N/m, N·m",
        doc="Stiffness on the pose error, per axis.",
    )
    z, z_dot = _null_space_velocity(robot, signals)
    e, v_c, L = _task_velocity(robot, signals, Lambda, task)
    J = robot.jacobian(q)[:rows, :]
    J_dot = robot.jacobian_dot(q, qd)[:rows, :]
    damping = SingularityDamping(signals, J)
    inverse = PseudoInverse(J, J_dot, damping.value, damping.rate)
    z, z_dot = damping.posture * z, damping.posture * z_dot + damping.posture_rate * z
    v_c_dot = signals.time_derivative(v_c)
    x, x_dot = inverse.apply(v_c - J @ z, v_c_dot - J_dot @ z - J @ z_dot)
    qd_r, qdd_r = limit_joints(z + x, z_dot + x_dot, _speed_limit(robot, signals))
    signals.describe_telemetry("s", size=robot.n, unit="rad/s", doc="s = q̇_r − q̇.")
    signals.describe_telemetry("qd_r", size=robot.n, unit="rad/s", doc="Reference velocity of the joints.")
    telemetry = {"pose_error": e.error, "orientation_cosine": e.cosine, **damping.telemetry}
    return _KinematicLoop(Lambda, damping, qd_r, qdd_r, J.T @ (L.T @ (K_p * e.clipped)), telemetry)


@dataclass(frozen=True)
class _PoseError:
    """The error fed to the law, the true error that is reported, and the cosine of the orientation error."""

    clipped: SX
    error: SX
    cosine: SX


def _task_velocity(robot: RobotExpressions, signals: Signals, Lambda: SX, task: str) -> tuple[_PoseError, SX, SX]:
    """Pose error, v_c = L⁻¹(Lᵀ ξ_d + Λ e) and L; for a position task L = 1₃."""
    reference = signals.reference
    R, p = robot.pose(signals.q)
    e_p = reference.position - p
    with_orientation = task == "pose"
    largest = _orientation_error_limit(signals) if with_orientation else LARGEST_ORIENTATION_ERROR
    rotation = orientation_error(R, reference.rotation, largest)
    describe_pose_errors(signals, ACTIVATION_DISTANCE, with_orientation=with_orientation)
    error = ca.vertcat(e_p, vee(reference.rotation @ R.T))
    e_near = clipped_norm(e_p, _position_error_limit(signals))
    v_linear = reference.twist[:3] + Lambda[:3] * e_near
    if not with_orientation:
        return _PoseError(e_near, error, rotation.cosine), v_linear, SX.eye(3)
    feedback = limit_norm(rotation.L_inverse @ (Lambda[3:] * rotation.e), _angular_speed_limit(signals))
    v_angular = rotation.L_inverse @ (rotation.L.T @ reference.twist[3:]) + feedback
    L = ca.diagcat(SX.eye(3), rotation.L)
    return _PoseError(ca.vertcat(e_near, rotation.e), error, rotation.cosine), ca.vertcat(v_linear, v_angular), L


def _position_error_limit(signals: Signals) -> SX:
    return signals.gain(
        "position_error_limit",
        default=0.1,
        bounds=(1e-3, 10.0),
        unit="m",
        doc="Larger position errors are fed to the law at this length, so that it approaches from afar at Λ times it.",
    )


def _orientation_error_limit(signals: Signals) -> SX:
    return signals.gain(
        "orientation_error_limit",
        default=1.0,
        bounds=(0.01, LARGEST_ORIENTATION_ERROR),
        unit="rad",
        doc="Larger orientation errors are fed to the law as if they were of this angle.",
    )


def _angular_speed_limit(signals: Signals) -> SX:
    return signals.gain(
        "angular_speed_limit",
        default=2.0,
        bounds=(1e-2, 100.0),
        unit="rad/s",
        doc="The feedback of the orientation error turns the end effector no faster.",
    )


def _speed_limit(robot: RobotExpressions, signals: Signals) -> SX:
    limits = np.array([link.joint.limits.velocity for link in robot.model.links])
    return signals.gain(
        "speed_limit",
        size=robot.n,
        default=np.where(np.isfinite(limits), SPEED_SHARE * limits, UNLIMITED_SPEED),
        bounds=(1e-3, UNLIMITED_SPEED),
        unit="rad/s|m/s",
        doc="q̇_r is scaled as a whole so that no joint is asked for more; 0.8 of the velocity limits by default.",
    )


def _null_space_velocity(robot: RobotExpressions, signals: Signals) -> tuple[SX, SX]:
    """z = k_n (q_home − q) and its derivative: the posture that the free joint motion tends to."""
    k_n, q_home = posture_gains(robot, signals, 1.0)
    return k_n * (q_home - signals.q), -k_n * signals.qd


def _task_rows(robot: RobotExpressions, task: str) -> int:
    rows = {"pose": 6, "position": 3}
    if task not in rows:
        raise LawError(f"task '{task}'", where="law cartesian_backstepping", valid=", ".join(rows))
    joints = len(robot.model.path(robot.model.ee_link))
    if joints < rows[task]:
        valid = "task=position" if joints >= rows["position"] else "a robot of at least three joints"
        raise LawError(f"a {task} task needs {rows[task]} joints, {robot.model.name} has {joints}", valid=valid)
    return rows[task]
