"""The error of joint positions, as laws with a joint reference start from it."""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.law import Signals

ACTIVATION_ERROR = 0.5
"""A host refuses to activate with a larger error of any joint [rad] or [m]."""


def joint_error(signals: Signals) -> tuple[ca.SX, ca.SX]:
    """e = q_d − q and ė, each (n,); declares the telemetry `joint_error`, which is e."""
    bounds = (-ACTIVATION_ERROR, ACTIVATION_ERROR)
    signals.describe_telemetry(
        "joint_error", size=signals.robot.n, unit="rad|m", doc="q_d − q.", activation_bounds=bounds
    )
    return signals.reference.q - signals.q, signals.reference.qd - signals.qd
