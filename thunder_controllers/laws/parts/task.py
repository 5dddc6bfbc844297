"""The task of springs and of laws of the second order: the error of end effector or joints, and the posture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals
from thunder_dynamics.spatial import vee

SX = ca.SX

OPTION = Option("task", "Follow the pose, or the position and leave the orientation free.", ("pose", "position"))

ERROR_RATE = Option(
    "error_rate", "ė as it is, or through a low-pass of the time constant error_filter.", ("direct", "filtered")
)

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


def task_error(
    robot: RobotExpressions,
    signals: Signals,
    options: Options,
    *,
    distance: float = ACTIVATION_DISTANCE,
    inverts: bool = True,
    tip: tuple[SX, SX] | None = None,
) -> Task:
    """Errors of the option `task`; declares telemetry `pose_error` and `orientation_cosine`.

    Args:
        options: Of the law, OPTION among them.
        distance: A host refuses to activate with a larger position error along any axis [m].
        inverts: The law inverts J.
        tip: Position (3,) and Jacobian (6, n) of the end effector instead of the robot file's.

    Raises:
        LawError: for an arm with fewer joints on the path to its end effector than the task has rows, of an inverse.
    """
    rows = {"pose": 6, "position": 3}[options["task"]]
    joints = len(robot.model.path(robot.model.ee_link))
    if inverts and joints < rows:
        valid = "task=position" if joints >= 3 else "a robot of at least three joints"
        raise options.error(f"a {options['task']} task needs {rows} joints, {robot.model.name} has {joints}", valid)
    reference, (R, p) = signals.reference, robot.pose(signals.q)
    p, J = (p, robot.jacobian(signals.q)) if tip is None else tip
    Q = reference.rotation @ R.T
    e = ca.vertcat(reference.position - p, vee(Q))
    largest, least = np.array([distance] * 3 + [np.inf] * 3), np.cos(ACTIVATION_ANGLE) if rows == 6 else -np.inf
    signals.describe_telemetry(
        "pose_error", size=6, unit="m, 1", doc="[p_d − p; r sin θ].", activation_bounds=(-largest, largest)
    )
    signals.describe_telemetry(
        "orientation_cosine",
        unit="1",
        doc="Cosine of the angle between the actual and the desired orientation.",
        activation_bounds=(float(least), np.inf),
    )
    telemetry = {"pose_error": e, "orientation_cosine": 0.5 * (ca.trace(Q) - 1.0)}
    J = J[:rows, :]
    return Task(rows, e[:rows], reference.twist[:rows] - J @ signals.qd, J, R, telemetry)


def posture_error(
    robot: RobotExpressions, signals: Signals, bandwidth: float, q_home: SX | None = None
) -> tuple[SX, SX, SX]:
    """Return k_n, e = q_home − q, of a joint on a circle sin(q_home − q), and de/dt; e is smooth all the way round.

    Declares k_n, a bandwidth with that default, and q_home, shape (n,), the middle of the joint ranges by default.

    Args:
        q_home: A constant posture, instead of the gain.
    """
    lower, upper = robot.model.limits("lower"), robot.model.limits("upper")
    has_range = np.isfinite(lower) & np.isfinite(upper)
    k_n = signals.gain(
        "k_n", default=bandwidth, bounds=(0.0, 50.0), unit="1/s", doc="Bandwidth of the null-space posture."
    )
    if q_home is None:
        q_home = signals.gain(
            "q_home",
            size="joints",
            default=0.5 * (np.where(has_range, lower, 0.0) + np.where(has_range, upper, 0.0)),
            bounds=(-1e3, 1e3),
            unit="rad|m",
            doc="Posture preferred in the null space; the middle of the joint ranges by default.",
        )
    way, rate = q_home - signals.q, -signals.qd
    circles = robot.model.circles
    error = ca.vertcat(*(ca.sin(way[i]) if circles[i] else way[i] for i in range(robot.n)))
    change = ca.vertcat(*(ca.cos(way[i]) * rate[i] if circles[i] else rate[i] for i in range(robot.n)))
    return k_n, error, change


ACTIVATION_ERROR = 0.5
"""A host refuses to activate with a larger error of any joint [rad] or [m]."""


def joint_error(signals: Signals) -> tuple[SX, SX]:
    """e = q_d − q and ė, each (n,); declares the telemetry `joint_error`, which is e."""
    bounds = (-ACTIVATION_ERROR, ACTIVATION_ERROR)
    signals.describe_telemetry(
        "joint_error", size=signals.robot.n, unit="rad|m", doc="q_d − q.", activation_bounds=bounds
    )
    return signals.reference.q - signals.q, signals.reference.qd - signals.qd


def error_rate(signals: Signals, options: Options, e_dot: SX) -> tuple[SX, dict[str, SX]]:
    """ė (n,) as the option `error_rate` has it, and the next state of the filter, if there is one.

    filtered: ε with T ε̇ + ε = ė, ε(0) = 0, exact for an ė that is constant since the last step. It declares the state
    `error_rate` and the gain error_filter, T. What falls by a law falls with ė alone: the lag T of the damping is to be
    small beside what R_1 or K_d makes of it.

    Args:
        options: Of the law, ERROR_RATE among them.
        e_dot: q̇_d − q̇.
    """
    if options["error_rate"] == "direct":
        return e_dot, {}
    unit = "rad/s|m/s"
    before = signals.state("error_rate", size=signals.robot.n, default=0.0, unit=unit, doc="ė through the low-pass.")
    doc = "Time constant of the low-pass of ė."
    T = signals.gain("error_filter", default=2e-3, bounds=(1e-5, 1.0), unit="s", doc=doc)
    now = e_dot + (before - e_dot) * ca.exp(-signals.dt / T)
    return now, {"error_rate": now}
