"""The Panda by its launch file, as a process, and what its controller says: for scripts that print what they saw.

Needs ROS 2 and this package sourced, and test/ros in PYTHONPATH.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, TwistStamped
from nodes import Inbox, Probe
from sensor_msgs.msg import JointState

NAME = "adaptive_controller"
LAW = "cartesian_backstepping:profile=topics,adaptation=least_squares"
PATIENCE = 600.0
"""How long anything may take [s]: the library is compiled meanwhile."""

SETTLED = 20.0
"""From here on errors count as those of the motion [s]."""


@contextmanager
def launched(log: Path, *words: str) -> Iterator[None]:
    """The system with these arguments, from the launch to Ctrl-C."""
    command = ["ros2", "launch", "thunder_controllers", "panda_adaptive.launch.py", *words]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            yield
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60.0)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def health(report: DiagnosticArray) -> dict[str, str]:
    """The values of the plugin in a report; none in one of others."""
    return {pair.key: pair.value for status in report.status if status.name == NAME for pair in status.values}


class Watch:
    """What the slow topics say; the fast ones, /clock and /joint_states, are listened to only while they are needed."""

    def __init__(self, probe: Probe, link: str = "panda_link7") -> None:
        """Listen to all of them; `link` is the one that is estimated."""
        self.probe = probe
        self.errors: Inbox = probe.listen(TwistStamped, f"/{NAME}/pose_error", 100)
        self.bodies: Inbox = probe.listen(InertiaStamped, f"/{NAME}/estimates/{link}", 100)
        self.reports: Inbox = probe.listen(DiagnosticArray, "/diagnostics", 100)

    def now(self) -> float:
        """Time of the newest error [s]."""
        return time_of(self.errors.latest)

    def until(self, time: float) -> None:
        """Let the motion go on to that time [s]."""
        self.probe.wait_until(lambda: self.now() >= time, f"time {time:.1f} s", 10.0 * PATIENCE)

    def wait(self, duration: float) -> None:
        """Let so much wall time pass [s]."""
        begin = Probe.now()
        self.probe.wait_until(lambda: Probe.now() > begin + duration, "time", 2.0 * duration + 10.0)

    def report(self) -> dict[str, str]:
        """The next report of the plugin."""
        self.reports.clear()
        return health(self.reports.wait(health, count=2, timeout=PATIENCE))

    def error(self, begin: float, end: float) -> np.ndarray:
        """Distances from the reference between two times, [m]."""
        found = [m.twist.linear for m in list(self.errors.messages) if begin <= time_of(m) < end]
        return np.array([math.hypot(e.x, e.y, e.z) for e in found])

    def joints(self) -> Any:
        """Listen to the joints for the time of a with block."""
        return self.probe.listening(JointState, "/joint_states", 1000)


def time_of(message: Any) -> float:
    """Stamp of a message [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def errors_of(values: np.ndarray) -> dict[str, float]:
    """Mean and largest [m]."""
    return {"mean": float(values.mean()), "largest": float(values.max())}
