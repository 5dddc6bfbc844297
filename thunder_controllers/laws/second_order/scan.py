"""Velocities and accelerations from positions at scans (theory.md §6)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX


class Scan:
    """q̇ and q̈ from the positions now and at the last three scans, exact where q is a cubic polynomial of the time.

    With scans Δ apart, v = (22q_k − 36q_{k−1} + 18q_{k−2} − 4q_{k−3})/(12Δ), a = (2q_k − 5q_{k−1} + 4q_{k−2} −
    q_{k−3})/Δ². Newton's divided differences are the same, and stay exact where steps are not alike, and between scans.

    A scan is due in the step next to Δ after the last one. At activation the arm has come along its velocity.

    Args:
        signals: Where states `scan_q` and `scan_age`, gain scan_period and telemetry `acceleration` are declared.

    Attributes:
        qd: v (n,).
        qdd: a (n,).
        is_due: One in a step with a scan.
        period: Time since the last scan [s].
        next_state: Of the scans.
    """

    def __init__(self, signals: Signals) -> None:
        n, q, dt = signals.robot.n, signals.q, signals.dt
        wanted = signals.gain("scan_period", default=2e-3, bounds=(1e-5, 1.0), unit="s", doc="Δ between two scans.")
        past = signals.state(
            "scan_q",
            size=3 * n,
            default=0.0,
            unit="rad|m",
            doc="Positions at the last three scans, the latest first.",
            initial=ca.vertcat(*(q - k * wanted * signals.qd for k in (1, 2, 3))),
        )
        ages = signals.state(
            "scan_age",
            size=3,
            default=[2e-3, 4e-3, 6e-3],
            bounds=(0.0, np.inf),
            unit="s",
            doc="How long ago these scans were.",
            initial=wanted * SX([1.0, 2.0, 3.0]),
        )
        signals.describe_telemetry("acceleration", size=n, unit="rad/s²|m/s²", doc="q̈ from positions at scans.")
        self.qd, self.qdd = self._derivatives([q, *ca.vertsplit(past, n)], ages)
        self.period = ages[0]
        self.is_due = self.period >= wanted - 0.5 * dt
        pairs = {"scan_q": (ca.vertcat(q, past[: 2 * n]), past), "scan_age": (ca.vertcat(0.0, ages[:2]), ages)}
        after = {name: ca.if_else(self.is_due, new, old) for name, (new, old) in pairs.items()}
        self.next_state = {**after, "scan_age": after["scan_age"] + dt}

    @staticmethod
    def _derivatives(points: Sequence[SX], ages: SX) -> tuple[SX, SX]:
        times = [SX(0), *(-age for age in ca.vertsplit(ages))]
        slopes, newton = list(points), []
        for order in (1, 2, 3):
            slopes = [
                (slopes[k] - slopes[k + 1]) * reciprocal(times[k] - times[k + order]) for k in range(len(slopes) - 1)
            ]
            newton.append(slopes[0])
        first, second, third = newton
        a, b = ages[0], ages[1]
        return first + a * second + a * b * third, 2.0 * (second + (a + b) * third)
