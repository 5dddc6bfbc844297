"""What the spare degrees of freedom are for: velocities z of the joints of which only (1 − J⁺J) z is asked for."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.gate import smooth_step
from thunder_controllers.laws.parts.task import posture_error
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

OPTION = Option("redundancy", "What spare degrees of freedom are for.", ("posture", "joint_limits", "none"))

MARGIN = 0.15
"""Default of the gain `limit_margin`, as a share of the range of a joint."""

AVOIDANCE = 0.25
"""Default of the gain `limit_speed`, as a share of the velocity limit of a joint."""

UNLIMITED_SPEED = 0.5
"""The same for a joint without a velocity limit [rad/s or m/s]."""


def null_space_velocity(robot: RobotExpressions, signals: Signals, options: Options) -> tuple[SX, SX]:
    """Make z and its derivative, each (n,), of the option `redundancy`.

    - "posture" (default): z = k_n (q_home − q), which keeps a closed path of the end effector closed in the joints; of
      joints on a circle k_n sin(q_home − q), which leads home the short way;
    - "joint_limits": z = v (S(x_lower) − S(x_upper)), zero while no joint is within its margin m of a limit, and never
      more than v. x = 1 − d/m of the distance d to the limit, kept in [0, 1], and S(x) = x² (3 − 2x), so that z has a
      continuous derivative. Far from limits spare motion is as free as with "none", and drifts;
    - "none": z = 0.

    Args:
        signals: Where gains k_n and q_home, or limit_margin and limit_speed, are declared.
        options: Of the law, OPTION among them.

    Raises:
        LawError: for "joint_limits" of an arm without any.
    """
    if options["redundancy"] == "posture":
        k_n, error, rate = posture_error(robot, signals, 1.0)
        return k_n * error, k_n * rate
    if options["redundancy"] == "none":
        return SX.zeros(robot.n), SX.zeros(robot.n)
    z = _away_from_limits(robot, signals, options)
    return z, signals.time_derivative(z)


def _away_from_limits(robot: RobotExpressions, signals: Signals, options: Options) -> SX:
    lower, upper, speeds = map(robot.model.limits, ("lower", "upper", "velocity"))
    if not np.isfinite([*lower, *upper]).any():
        raise options.error(f"{robot.model.name} has no joint limits", "redundancy=posture, none")
    margin = signals.gain(
        "limit_margin",
        size="joints",
        default=np.where(np.isfinite(upper - lower), MARGIN * (upper - lower), MARGIN),
        bounds=(1e-3, 10.0),
        unit="rad|m",
        doc="Distance from a joint's limit at which spare motion starts to lead away from it.",
    )
    speed = signals.gain(
        "limit_speed",
        size="joints",
        default=np.where(np.isfinite(speeds), AVOIDANCE * speeds, UNLIMITED_SPEED),
        bounds=(0.0, 100.0),
        unit="rad/s|m/s",
        doc="Of a joint away from its limit, at the limit, as far as the null space has it.",
    )
    low, high = (1.0 - distance * reciprocal(margin) for distance in (signals.q - lower, upper - signals.q))
    return SX(speed * (smooth_step(low) - smooth_step(high)))
