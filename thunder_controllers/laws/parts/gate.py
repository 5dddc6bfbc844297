"""Gates that open smoothly: what adapts while something moves."""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

TINY = 1e-12
"""Of speeds [rad/s or m/s]: keeps quotients finite."""

REST_SPEED = 0.02
"""Default of the gain `rest_speed` [rad/s or m/s]."""


def smooth_step(x: SX) -> SX:
    """x² (3 − 2x) of x kept in [0, 1], element by element: from zero to one with a continuous derivative."""
    x = ca.fmin(ca.fmax(x, 0.0), 1.0)
    return SX(x**2 * (3.0 - 2.0 * x))


def opened(speed: SX, threshold: SX) -> SX:
    """Zero up to the threshold, one from twice that on; one everywhere for a threshold of zero."""
    return smooth_step((speed - threshold + TINY) * reciprocal(threshold + TINY))


def motion(signals: Signals, qd_r: SX) -> SX:
    """From zero at rest to one in motion, by the norm of a reference velocity; declares the gain rest_speed."""
    speed = signals.gain(
        "rest_speed",
        default=REST_SPEED,
        bounds=(0.0, 1e3),
        unit="rad/s|m/s",
        doc="Norm of the reference velocity below which only what gravity shows adapts; from twice that on all does.",
    )
    return opened(ca.norm_2(qd_r), speed)
