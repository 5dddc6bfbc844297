"""A law of a user's own, as docs show it: joint-space Slotine–Li; and helpers to step any law with numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from thunder_controllers.laws.adaptation.gradient import projected
from thunder_dynamics.entries import Entry
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals


def slotine_li(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
    """τ = Y_r π̂ + K_d s,  q̇_r = q̇_d + Λ(q_d − q),  s = q̇_r − q̇   [Slotine & Li 1987, eqs. 8–12]."""
    signals = Signals(robot, ReferenceKind.JOINT)
    adaptation = projected(robot, signals, range(robot.n))
    Lambda = signals.gain("Lambda", default=5.0, bounds=(0, 100), unit="1/s", doc="Bandwidth of the position error.")
    K_d = signals.gain(
        "K_d", size=robot.n, default=10.0, bounds=(0, 100), unit="N·m·s/rad", doc="Feedback on s, per joint."
    )
    signals.describe_telemetry("s", unit="rad/s", doc="s = q̇_r − q̇.", size=robot.n)
    qd_r = signals.reference.qd + Lambda * (signals.reference.q - signals.q)
    qdd_r = signals.time_derivative(qd_r)
    s = qd_r - signals.qd
    regressor = robot.slotine_li_regressor(signals.q, signals.qd, qd_r, qdd_r)
    return signals.law(
        "slotine_li",
        "Joint-space adaptive control.",
        effort=regressor @ adaptation.estimate + K_d * s,
        next_state=adaptation.step(regressor, s, K_d, Lambda),
        telemetry={"s": s},
    )


def packed(entries: tuple[Entry, ...], values: Mapping[str, Any] | None = None) -> np.ndarray:
    """Flat column-major vector of a signal; entries that are not given have their defaults."""
    given = dict(values or {})
    parts = []
    for entry in entries:
        value = np.asarray(given.pop(entry.name, entry.default), dtype=float)
        value = value.reshape(-1, 1) if value.ndim == 1 else value
        parts.append(np.broadcast_to(value, entry.shape).ravel(order="F"))
    assert not given, f"no entries {sorted(given)}"
    return np.concatenate(parts) if parts else np.zeros(0)


def unpacked(entries: tuple[Entry, ...], values: np.ndarray) -> dict[str, np.ndarray]:
    """Entries of a flat vector by name, flat."""
    result, start = {}, 0
    for entry in entries:
        result[entry.name] = values[start : start + entry.size]
        start += entry.size
    return result


def step(
    law: Law,
    q: np.ndarray,
    qd: np.ndarray,
    reference: Mapping[str, Any],
    state: Mapping[str, Any] | None = None,
    gains: Mapping[str, Any] | None = None,
    dt: float = 1e-3,
    applied_effort: np.ndarray | None = None,
    measurements: Mapping[str, Any] | None = None,
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Effort, next state and telemetry of one step of a law."""
    given = (measurements, reference, state, gains)
    entries = (law.measurements, law.reference, law.state, law.gains)
    inputs = (packed(*pair) for pair in zip(entries, given, strict=True))
    applied = np.zeros_like(q) if applied_effort is None else applied_effort
    effort, next_state, telemetry = (np.asarray(v).ravel() for v in law.step(q, qd, applied, *inputs, dt))
    return effort, unpacked(law.state, next_state), unpacked(law.telemetry, telemetry)
