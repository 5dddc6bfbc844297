"""Gains of laws for elastic joints: of links without their motors, and of the motors."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.gains import arm_inertia, joint_damping_gain, least_joint_inertia
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals

SX = ca.SX

LINK_BANDWIDTH, CONSTANT = 100.0, 0.3
"""ω at most by default [1/s], and the largest eigenvalue of M⁻¹K_d over ω."""

BEYOND_SPRINGS = 1.5
"""ω at most by default, over the slowest oscillation of the links on their springs with motors that stand still [1].

A link that is to be faster than its spring needs efforts of its motor that limits cut. sea2, whose spring makes 21
rad/s in its heaviest pose, does not come back from 0.02 rad with ω = 100, and does with 31.
"""

MOTOR_BANDWIDTH, STIFFER = 200.0, 4.0
"""Λ_x, and K_x over Mm, by default at most [1/s]; and K_xΛ_x over the stiffness of the spring, by default at most [1].

A motor that is held so much harder than its spring holds it asks for efforts that limits cut, where springs are soft.

Of the elastic Panda (undamped springs of 1e4 N·m/rad, motors of 0.1 kg·m²) at 1 kHz: 100 to 300 with ω of 50 to 200 are
stable, 300 with ω = 300 is not; with 0.25 ms of delay 200, with 0.5 ms 100 with ω = 50 is.
"""


def link_gains(robot: RobotExpressions, signals: Signals) -> tuple[SX, SX, SX]:
    """Declare K_d and ω of the feedback K_d + ωM on s; and the least inertia of each joint, all joints free, (n,)."""
    bandwidth = link_bandwidth(robot)
    K_d = joint_damping_gain(robot, signals, CONSTANT * bandwidth)
    omega = signals.gain(
        "omega",
        default=bandwidth,
        bounds=(0.0, 2000.0),
        unit="1/s",
        doc="Feedback on s by the inertia of the links, M omega s: as fast in every pose.",
    )
    return K_d, omega, SX(least_joint_inertia(robot))


def link_bandwidth(robot: RobotExpressions) -> float:
    """ω by default [1/s]: LINK_BANDWIDTH, or less where springs are soft."""
    joints = list(robot.model.elastic_joints)
    if not joints:
        return LINK_BANDWIDTH
    root = np.sqrt([e.K[0] for e in robot.model.elasticities()])
    mobility = np.linalg.inv(arm_inertia(robot).samples[0])[:, joints][:, :, joints]
    slowest = np.sqrt(np.linalg.eigvalsh(root[:, None] * mobility * root).min())
    return float(f"{min(LINK_BANDWIDTH, BEYOND_SPRINGS * slowest):.3g}")


def stored_energy(robot: RobotExpressions) -> float:
    """Largest τ²/K of an elastic joint, τ what gravity asks of it in any of some poses [J]."""
    numeric = robot.numeric
    lower, upper = (np.nan_to_num(robot.model.limits(end), posinf=np.pi, neginf=-np.pi) for end in ("lower", "upper"))
    poses = np.random.default_rng(0).uniform(lower, upper, (300, robot.n))
    held = np.asarray(numeric.function("G").map(len(poses))(poses.T))[list(robot.model.elastic_joints)]
    stiffness = np.array([e.K[0] for e in robot.model.elasticities()])
    return float((np.abs(held).max(axis=1) ** 2 / stiffness).max())


def motor_gains(robot: RobotExpressions, signals: Signals) -> tuple[SX, SX, SX]:
    """Declare Λ_x and K_x, (m,) each, and the share of their springs' effect that is left to the motors' errors."""
    inertia, stiffness = np.array([(e.Mm, e.K[0]) for e in robot.model.elasticities()]).T
    bandwidth = np.minimum(MOTOR_BANDWIDTH, np.round(np.sqrt(STIFFER * stiffness / inertia)))
    Lambda_x = signals.gain(
        "Lambda_x",
        size=len(inertia),
        default=bandwidth,
        bounds=(0.0, 2000.0),
        unit="1/s",
        doc="Bandwidth of the motors' position error z.",
    )
    K_x = signals.gain(
        "K_x",
        size=len(inertia),
        default=bandwidth * inertia,
        bounds=(0.0, 1e4),
        unit="N·m·s/rad",
        doc="Feedback on s_x, per motor.",
    )
    kept = signals.gain(
        "kept_stiffness",
        default=1.0,
        bounds=(0.0, 1.0),
        unit="1",
        doc="Share of the springs' stiffness between links and motors' errors z that is left; 0: z is freed of it.",
    )
    return Lambda_x, K_x, kept
