"""The kinematic loop of the axis-angle error, with the redundancy resolved by the pseudo-inverse (theory.md §5)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.kinematic_loop import kinematics, null_space
from thunder_controllers.laws.kinematic_loop.pose_error import clipped_norm, orientation_error
from thunder_controllers.laws.kinematic_loop.speed import TINY, limit_joints, limit_norm
from thunder_controllers.laws.parts import task
from thunder_controllers.laws.parts.gains import stiffness_by_inertia
from thunder_controllers.laws.parts.posture import SLOWER, hold_spare_joints, is_redundant
from thunder_controllers.laws.parts.redundancy import PseudoInverse, SingularityDamping
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Options, Signals
from thunder_dynamics.spatial import dot, reciprocal

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

    Where no posture holds the spare joints (redundancy=none, joint_limits) the torque has τ_n of `hold_spare_joints`
    besides, for s_0 = (1 − J⁺J)s alone: an error of the pose that stays shall not drive them. V with the energy of the
    deflection falls by ν(2 k_σ s_0ᵀM s_0 + k_σ³ σᵀM(1 − P)σ) more, and rises by −(J⁺J s)ᵀτ_n, which is zero where the
    end effector moves as it shall.

    Args:
        robot: At least as many joints on the path to its end effector as the task has rows.
        signals: Where gains Lambda, K_p, the limits of errors and speeds, those of the null space, and those of
            `SingularityDamping` with its state are declared.
        options: Of the law, OPTIONS among them.
        fastest: Largest eigenvalue of M⁻¹K_d [1/s]; it bounds the defaults of Λ and K_p.

    Attributes: those of `KinematicLoop`.
    """

    OPTIONS = (task.OPTION, null_space.OPTION, kinematics.OPTION)

    def __init__(self, robot: RobotExpressions, signals: Signals, options: Options, fastest: float) -> None:
        self.next_state, self.telemetry = dict[str, SX](), dict[str, SX]()
        adapted = None if options["kinematics"] == "known" else kinematics.AdaptedKinematics(robot, signals, options)
        tip = None if adapted is None else (adapted.position, adapted.jacobian)
        error = task.task_error(robot, signals, options, distance=ACTIVATION_DISTANCE, tip=tip)
        rows, J = error.rows, error.J
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
        z, z_dot = null_space.null_space_velocity(robot, signals, options)
        e, v_c, fed, L = _task_velocity(signals, self.Lambda, error)
        wrench = L.T @ (K_p * e)
        if adapted is None:
            J_dot, v_c_dot = robot.jacobian_dot(signals.q, signals.qd), signals.time_derivative(v_c)
            damping = SingularityDamping(signals, J)
        else:
            ahead = adapted.step(wrench[:3])
            J_dot, v_c_dot = ahead.jacobian_rate, ahead.rate_of(signals, v_c)
            damping = SingularityDamping(signals, J, first=adapted.nominal[:rows, :])
            self.next_state |= ahead.next_state
            self.telemetry |= ahead.telemetry
        J_dot = J_dot[:rows, :]
        inverse = PseudoInverse(J, J_dot, damping.value, damping.rate)
        z, z_dot = damping.posture * z, damping.posture * z_dot + damping.posture_rate * z
        x, x_dot = inverse.apply(v_c - J @ z, v_c_dot - J_dot @ z - J @ z_dot)
        limits = robot.model.limits("velocity")
        speed_limit = signals.gain(
            "speed_limit",
            size="joints",
            default=np.where(np.isfinite(limits), SPEED_SHARE * limits, UNLIMITED_SPEED),
            bounds=(1e-3, UNLIMITED_SPEED),
            unit="rad/s|m/s",
            doc="q̇_r is scaled as a whole so that no joint is asked for more; 0.8 of the velocity limits by default.",
        )
        self.qd_r, self.qdd_r = limit_joints(z + x, z_dot + x_dot, speed_limit)
        scale = dot(self.qd_r, z + x) * reciprocal(dot(z + x, z + x) + TINY)
        self.feedback = scale * inverse.apply(fed, SX.zeros(rows))[0]
        self.effort = J.T @ wrench
        if options["redundancy"] != "posture" and is_redundant(robot, rows):
            s = inverse.project(self.qd_r - signals.qd)
            hold, self.next_state["deflection"] = hold_spare_joints(
                robot, signals, J, s, damping.posture, fastest / SLOWER
            )
            self.effort += hold
        self.next_state |= {"damping": damping.next}
        self.telemetry |= {**error.telemetry, **damping.telemetry}


def _task_velocity(signals: Signals, Lambda: SX, error: task.Task) -> tuple[SX, SX, SX, SX]:
    """Error that is fed to the law, v_c = L⁻¹(Lᵀ ξ_d + Λ e), its part L⁻¹Λ e, and L; for a position task L = 1₃."""
    reference = signals.reference
    near = signals.gain(
        "position_error_limit",
        default=0.1,
        bounds=(1e-3, 10.0),
        unit="m",
        doc="Larger position errors are fed to the law at this length, so that it approaches from afar at Λ times it.",
    )
    e_near = clipped_norm(error.e[:3], near)
    closer = Lambda[:3] * e_near
    v_linear = reference.twist[:3] + closer
    if error.rows == 3:
        return e_near, v_linear, closer, SX.eye(3)
    safe_angle = signals.gain(
        "orientation_error_limit",
        default=1.0,
        bounds=(0.01, LARGEST_ORIENTATION_ERROR),
        unit="rad",
        doc="Larger orientation errors are fed to the law as if they were of this angle.",
    )
    fastest = signals.gain(
        "angular_speed_limit",
        default=2.0,
        bounds=(1e-2, 100.0),
        unit="rad/s",
        doc="The feedback of the orientation error turns the end effector no faster.",
    )
    rotation = orientation_error(error.R, reference.rotation, safe_angle)
    feedback = limit_norm(rotation.L_inverse @ (Lambda[3:] * rotation.e), fastest)
    v_angular = rotation.L_inverse @ (rotation.L.T @ reference.twist[3:]) + feedback
    L = ca.diagcat(SX.eye(3), rotation.L)
    v_c = ca.vertcat(v_linear, v_angular)
    return ca.vertcat(e_near, rotation.e), v_c, ca.vertcat(closer, feedback), L
