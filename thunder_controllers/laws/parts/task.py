"""The task of springs and of laws of the second order: the error of end effector or joints, and the posture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.options import choose
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import vee

SX = ca.SX

ACTIVATION_ANGLE = float(np.deg2rad(160.0))
"""A host refuses to activate with a larger orientation error [rad]: at 180° it has no direction."""

ACTIVATION_DISTANCE = 0.3
"""A host refuses to activate with a larger position error along any axis [m]."""


@dataclass(frozen=True)
class Task:
    """The rows of the task: three, the position, or six, the pose.

    Attributes:
        rows: How many.
        e: [p_d − p ; r sin θ of the rotation from actual to desired], world axes, shape (rows,).
        e_dot: ξ_d − J q̇, shape (rows,): ė of the position, and the relative angular velocity.
        J: Jacobian, shape (rows, n).
        R: Rotation of the end effector.
        telemetry: What to report.
    """

    rows: int
    e: SX
    e_dot: SX
    J: SX
    R: SX
    telemetry: Mapping[str, SX]


def task_error(law: str, robot: RobotExpressions, signals: Signals, options: Mapping[str, Any]) -> Task:
    """Errors of the option `task`, "pose" (default) or "position"; declares the telemetry of the errors.

    Raises:
        LawError: for another task.
    """
    rows = {"pose": 6, "position": 3}[choose(law, options, "task", "pose", "position")]
    reference, (R, p) = signals.reference, robot.pose(signals.q)
    Q = reference.rotation @ R.T
    e = ca.vertcat(reference.position - p, vee(Q))
    describe_pose_errors(signals, ACTIVATION_DISTANCE, with_orientation=rows == 6)
    telemetry = {"pose_error": e, "orientation_cosine": 0.5 * (ca.trace(Q) - 1.0)}
    J = robot.jacobian(signals.q)[:rows, :]
    return Task(rows, e[:rows], reference.twist[:rows] - J @ signals.qd, J, R, telemetry)


def describe_pose_errors(signals: Signals, distance: float, *, with_orientation: bool) -> None:
    """Declare the telemetry `pose_error` and `orientation_cosine`, which forbid activation far away.

    Args:
        distance: Largest position error along any axis [m].
        with_orientation: The angle may not exceed ACTIVATION_ANGLE.
    """
    largest = np.array([distance] * 3 + [np.inf] * 3)
    signals.describe_telemetry(
        "pose_error", size=6, unit="m, 1", doc="[p_d − p; r sin θ].", activation_bounds=(-largest, largest)
    )
    signals.describe_telemetry(
        "orientation_cosine",
        unit="1",
        doc="Cosine of the angle between the actual and the desired orientation.",
        activation_bounds=(float(np.cos(ACTIVATION_ANGLE)) if with_orientation else -np.inf, np.inf),
    )


def require_joints(law: str, robot: RobotExpressions, task: Task) -> None:
    """Raise `LawError` for an arm with fewer joints on the path to its end effector than the task has rows."""
    joints = len(robot.model.path(robot.model.ee_link))
    if joints < task.rows:
        valid = "task=position" if joints >= 3 else "a robot of at least three joints"
        raise LawError(
            f"{task.rows} rows of the task need as many joints, not {joints}", where=f"law {law}", valid=valid
        )


def posture_gains(robot: RobotExpressions, signals: Signals, bandwidth: float) -> tuple[SX, SX]:
    """Declare k_n, a bandwidth with that default, and q_home, shape (n,), the middle of the joint ranges by default."""
    ranges = [(link.joint.limits.lower, link.joint.limits.upper) for link in robot.model.links]
    k_n = signals.gain(
        "k_n", default=bandwidth, bounds=(0.0, 50.0), unit="1/s", doc="Bandwidth of the null-space posture."
    )
    return k_n, signals.gain(
        "q_home",
        size=robot.n,
        default=np.array([0.5 * (a + b) if np.isfinite([a, b]).all() else 0.0 for a, b in ranges]),
        bounds=(-1e3, 1e3),
        unit="rad|m",
        doc="Posture preferred in the null space; the middle of the joint ranges by default.",
    )


ACTIVATION_ERROR = 0.5
"""A host refuses to activate with a larger error of any joint [rad] or [m]."""


def joint_error(signals: Signals) -> tuple[SX, SX]:
    """e = q_d − q and ė, each (n,); declares the telemetry `joint_error`, which is e."""
    bounds = (-ACTIVATION_ERROR, ACTIVATION_ERROR)
    signals.describe_telemetry(
        "joint_error", size=signals.robot.n, unit="rad|m", doc="q_d − q.", activation_bounds=bounds
    )
    return signals.reference.q - signals.q, signals.reference.qd - signals.qd
