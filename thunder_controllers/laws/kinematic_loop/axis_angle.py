"""The kinematic loop of the axis-angle error, with the redundancy resolved by the pseudo-inverse (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from thunder_controllers.laws.kinematic_loop.null_space import null_space_velocity
from thunder_controllers.laws.kinematic_loop.pose_error import clipped_norm, orientation_error
from thunder_controllers.laws.kinematic_loop.speed import limit_joints, limit_norm
from thunder_controllers.laws.parts.gains import stiffness_by_inertia
from thunder_controllers.laws.parts.options import choose
from thunder_controllers.laws.parts.redundancy import PseudoInverse, SingularityDamping
from thunder_controllers.laws.parts.task import describe_pose_errors
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
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


class AxisAngleLoop:
    """q̇_r = κ (J⁺ L⁻¹(Lᵀ ξ_d + Λ e) + (1 − J⁺J) ν z), z of `null_space_velocity`, and its torque Jᵀ Lᵀ K_p e.

    ½ eᵀK_p e falls at the rate −eᵀK_p Λ e, but for −eᵀK_p L J s, which the torque cancels, where nothing is bounded.

    Args:
        law: Name of the law, for errors.
        robot: At least as many joints on the path to its end effector as the task has rows.
        signals: Where gains Lambda, K_p, the limits of errors and speeds, those of the null space, and those of
            `SingularityDamping` with its state are declared.
        options: `task`, "pose" (default) or "position", which leaves the orientation free; `redundancy`, "posture"
            (default), "joint_limits" or "none".
        fastest: Largest eigenvalue of M⁻¹K_d [1/s]; it bounds the defaults of Λ and K_p.

    Attributes: those of `KinematicLoop`.
    """

    OPTIONS = ("task", "redundancy")

    def __init__(
        self, law: str, robot: RobotExpressions, signals: Signals, options: Mapping[str, Any], fastest: float
    ) -> None:
        task = choose(law, options, "task", "pose", "position")
        rows = _task_rows(robot, task)
        q, qd = signals.q, signals.qd
        self.described = {"task": task}
        self.Lambda = signals.gain(
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
            default=stiffness_by_inertia(robot, rows, (50.0, 50.0), fastest / 4.0),
            bounds=(0.0, 5000.0),
            unit="N/m, N·m",
            doc="Stiffness on the pose error, per axis.",
        )
        z, z_dot = null_space_velocity(law, robot, signals, options)
        e, v_c, L = _task_velocity(robot, signals, self.Lambda, task)
        J = robot.jacobian(q)[:rows, :]
        J_dot = robot.jacobian_dot(q, qd)[:rows, :]
        damping = SingularityDamping(signals, J)
        inverse = PseudoInverse(J, J_dot, damping.value, damping.rate)
        z, z_dot = damping.posture * z, damping.posture * z_dot + damping.posture_rate * z
        v_c_dot = signals.time_derivative(v_c)
        x, x_dot = inverse.apply(v_c - J @ z, v_c_dot - J_dot @ z - J @ z_dot)
        self.qd_r, self.qdd_r = limit_joints(z + x, z_dot + x_dot, _speed_limit(robot, signals))
        self.effort = J.T @ (L.T @ (K_p * e.clipped))
        self.next_state = {"damping": damping.next}
        self.telemetry = {"pose_error": e.error, "orientation_cosine": e.cosine, **damping.telemetry}


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


def _task_rows(robot: RobotExpressions, task: str) -> int:
    rows = {"pose": 6, "position": 3}[task]
    joints = len(robot.model.path(robot.model.ee_link))
    if joints < rows:
        valid = "task=position" if joints >= 3 else "a robot of at least three joints"
        raise LawError(f"a {task} task needs {rows} joints, {robot.model.name} has {joints}", valid=valid)
    return rows
