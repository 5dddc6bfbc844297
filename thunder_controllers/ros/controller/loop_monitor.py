"""What the control loop measures of itself: arrivals, latencies, and what was wrong with its input."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from thunder_controllers.ros.controller.measurement import Verdict

WINDOW = 4096
"""Values kept of each measured quantity: a report uses those since the report before, the newest of them."""


class LoopMonitor:
    """Counters and times of a control loop, written by its thread; a report may read them at any time."""

    def __init__(self) -> None:
        self.verdicts: dict[Verdict, int] = dict.fromkeys(Verdict, 0)
        """Messages by verdict, since configuration; GOOD is not counted."""
        self.silent_ramps = 0
        """Steps towards the safe effort because nothing usable came in time."""
        self.refused_references = 0
        """References that were refused."""
        self.last_refusal = ""
        """Why the last of them was."""
        self._latencies: deque[float] = deque(maxlen=WINDOW)
        self._intervals: deque[float] = deque(maxlen=WINDOW)
        self._arrival_ns = 0

    def record_arrival(self, received_ns: int) -> None:
        """Note when a usable joint_states was received [ns]."""
        if self._arrival_ns:
            self._intervals.append((received_ns - self._arrival_ns) * 1e-9)
        self._arrival_ns = received_ns

    def record_latency(self, nanoseconds: int) -> None:
        """Note the time from the reception of joint_states to the publication of its command."""
        self._latencies.append(nanoseconds * 1e-9)

    def take_times(self) -> tuple[list[float], list[float]]:
        """Latencies and intervals between arrivals since the last call [s]."""
        return _drained(self._latencies), _drained(self._intervals)

    def faults(self) -> Mapping[str, int]:
        """Count everything that was wrong with the input, by a name."""
        harmless = (Verdict.GOOD, Verdict.FOREIGN)
        named = {f"joint_states {v.value}": n for v, n in self.verdicts.items() if v not in harmless}
        return {
            **named,
            "references refused": self.refused_references,
            "ramps for lack of joint_states": self.silent_ramps,
        }


def _drained(values: deque[float]) -> list[float]:
    """Take what is there now; more may be appended meanwhile."""
    return [values.popleft() for _ in range(len(values))]
