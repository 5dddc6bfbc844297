"""Gains that laws share."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals


def joint_damping_gain(robot: RobotExpressions, signals: Signals) -> ca.SX:
    """Declare K_d, the feedback on s per joint, shape (n,).

    It falls from 30 at the base to 2 at the last joint by default, geometrically: distal joints move less inertia, and
    the sampling rate bounds K_d / inertia (10 on the last joint of a Panda is unstable at 1 kHz).
    """
    n = robot.n
    return signals.gain(
        "K_d",
        size=n,
        default=np.geomspace(30.0, 2.0, n) if n > 1 else 10.0,
        bounds=(0.0, 500.0),
        unit="N·m·s/rad",
        doc="Feedback on s per joint; the sampling rate bounds it.",
    )
