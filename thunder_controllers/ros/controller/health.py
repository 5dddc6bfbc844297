"""The controller's entry on /diagnostics: how fast and how even it runs, what was wrong, which guards acted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import BLOCKING_GUARDS, Guard, Status
from thunder_controllers.ros.common.diagnostics import ERROR, OK, STALE, WARN

FloatArray = NDArray[np.float64]

NOT_A_FAULT = Guard.ADAPTATION_FROZEN | Guard.EFFORT_RATE_LIMITED | Guard.STOPPING | Guard.NOT_ACTIVE
"""Guards that may act in normal operation."""


@dataclass(frozen=True)
class Health:
    """What a report says of the last period.

    Attributes:
        state: Lifecycle state of the node.
        status: Of the host; None while unconfigured.
        latencies: From reception of joint_states to publication of the command [s].
        intervals: Between usable joint_states [s].
        state_age: Wall-clock time since the last usable joint_states [s].
        state_limit: How old they may be [s].
        faults: Counters of what was wrong with the input.
        reference: Where the reference comes from.
        excitation: Smallest singular value and rank, None if the law adapts nothing.
        extra: Further pairs, of the robot's guard.
        messages: What else a reader must know, such as why the robot stopped.
    """

    state: str
    status: Status | None
    latencies: FloatArray
    intervals: FloatArray
    state_age: float
    state_limit: float
    faults: Mapping[str, int]
    reference: str
    excitation: tuple[float, int] | None
    extra: Mapping[str, str]
    messages: tuple[str, ...] = ()

    @staticmethod
    def idle(state: str, messages: tuple[str, ...]) -> Health:
        """Make the health of a node that is not configured."""
        none = np.zeros(0)
        return Health(state, None, none, none, np.inf, np.inf, {}, "none", None, {}, messages)


class Reporter:
    """Makes reports; remembers counters, so that a fault is news in the report after it only."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def report(self, health: Health) -> tuple[bytes, str, dict[str, Any]]:
        """Return level, message and values; units are in the names of the values."""
        counters = dict(health.faults)
        if health.status is not None:
            counters |= {f"guard {name}": count for name, count in health.status.counters.items()}
        news = [name for name, count in counters.items() if count > self._seen.get(name, 0)]
        self._seen = counters
        level, message = self._judge(health, news)
        return level, message, {**_times(health), **_adaptation(health), **counters, **health.extra}

    @staticmethod
    def _judge(health: Health, news: list[str]) -> tuple[bytes, str]:
        if health.status is None or health.state != "active":
            return (WARN, "; ".join(health.messages)) if health.messages else (OK, health.state)
        if health.state_age > health.state_limit:
            return STALE, f"no usable joint_states for {health.state_age:.2f} s: the effort is the safe one"
        blocking = {f"guard {guard.name.lower()}" for guard in Guard if guard in BLOCKING_GUARDS and guard.name}
        harmless = {f"guard {guard.name.lower()}" for guard in Guard if guard in NOT_A_FAULT and guard.name}
        shown = [name for name in news if name not in harmless]
        if health.messages:
            shown = [*health.messages, *shown]
        if any(name in blocking for name in shown):
            return ERROR, "; ".join(shown)
        return (WARN, "; ".join(shown)) if shown else (OK, "active")


def _times(health: Health) -> dict[str, Any]:
    intervals, latencies = health.intervals, health.latencies
    values: dict[str, Any] = {"state": health.state, "reference": health.reference}
    values["joint_states age [s]"] = health.state_age
    if len(intervals):
        period = float(np.median(intervals))
        values["loop rate [Hz]"] = float(1.0 / intervals.mean()) if intervals.mean() > 0.0 else 0.0
        values["jitter p99 [ms]"] = 1e3 * float(np.percentile(np.abs(intervals - period), 99.0))
    if len(latencies):
        p50, p99 = np.percentile(latencies, (50.0, 99.0))
        values["command latency p50 [ms]"] = 1e3 * float(p50)
        values["command latency p99 [ms]"] = 1e3 * float(p99)
        values["command latency max [ms]"] = 1e3 * float(latencies.max())
    if health.status is not None and health.status.updates:
        values["step time mean [us]"] = 1e-3 * health.status.mean_step_ns
        values["step time max [us]"] = 1e-3 * health.status.max_step_ns
        values["steps"] = health.status.updates
    return values


def _adaptation(health: Health) -> dict[str, Any]:
    if health.excitation is None or health.status is None:
        return {}
    smallest, rank = health.excitation
    return {
        "adaptation frozen": health.status.adaptation_frozen,
        "excitation smallest singular value [SI]": smallest,
        "excitation rank": rank,
    }
