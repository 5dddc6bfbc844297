"""What the control loop measures of itself: arrivals, latencies, and what was wrong with its input."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.ros.controller.measurement import Verdict

WINDOW = 4096
"""Values kept of each measured quantity, a power of two: a report uses those since the report before."""


class Recent:
    """The last values of a quantity, in memory allocated once."""

    def __init__(self) -> None:
        self._values = np.zeros(WINDOW)
        self._count = 0
        self._reported = 0

    def add(self, value: float) -> None:
        """Keep a value."""
        self._values[self._count & (WINDOW - 1)] = value
        self._count += 1

    def take(self) -> NDArray[np.float64]:
        """Values since the last call, the newest `WINDOW` at most, in no particular order."""
        fresh = min(self._count - self._reported, WINDOW)
        last = self._count
        self._reported = last
        return np.asarray(self._values[np.arange(last - fresh, last) & (WINDOW - 1)])


class LoopMonitor:
    """Counters and times of a control loop; written by its thread, read under its lock."""

    def __init__(self) -> None:
        self.verdicts: dict[Verdict, int] = dict.fromkeys(Verdict, 0)
        """Messages by verdict, since configuration; GOOD is not counted."""
        self.ramps = 0
        """Steps towards the safe effort that the loop asked for: bad or missing joint_states."""
        self.silent_ramps = 0
        """Those among them because nothing usable came in time."""
        self.refused_references = 0
        """References that were refused."""
        self.last_refusal = ""
        """Why the last of them was."""
        self._latencies, self._intervals = Recent(), Recent()
        self._arrival_ns = 0

    def count(self, verdict: Verdict) -> None:
        """Count a message that is not good."""
        self.verdicts[verdict] += 1

    def refuse(self, reason: str) -> None:
        """Count a refused reference."""
        self.refused_references += 1
        self.last_refusal = reason

    def record_arrival(self, received_ns: int) -> None:
        """Note when a usable joint_states was received [ns]."""
        if self._arrival_ns:
            self._intervals.add((received_ns - self._arrival_ns) * 1e-9)
        self._arrival_ns = received_ns

    def record_latency(self, nanoseconds: int) -> None:
        """Note the time from the reception of joint_states to the publication of its command."""
        self._latencies.add(nanoseconds * 1e-9)

    def take_times(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Latencies and intervals between arrivals since the last call [s]."""
        return self._latencies.take(), self._intervals.take()

    def faults(self) -> Mapping[str, int]:
        """Count everything that was wrong with the input, by a name."""
        named = {f"joint_states {v.value}": n for v, n in self.verdicts.items() if v is not Verdict.GOOD}
        return {
            **named,
            "references refused": self.refused_references,
            "ramps for lack of joint_states": self.silent_ramps,
        }
