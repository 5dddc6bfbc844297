"""The Panda by its launch file, and what its slow topics say of the motion. `ros2` and this package must be sourced.

Times are those of the messages.
"""

from __future__ import annotations

import _thread
import math
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped
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
    """The system, from the launch to Ctrl-C; words are arguments of the launch file, `payload:=0.5`.

    Its end before that interrupts whatever is waited for.
    """
    command = ["ros2", "launch", "thunder_controllers", "panda_adaptive.launch.py", *words]
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        ending = threading.Event()

        def interrupt() -> None:
            process.wait()
            if not ending.is_set():
                _thread.interrupt_main()

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            yield
        finally:
            ending.set()
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
        """Listen to all of them; the link is the one whose estimate follows the payload."""
        self.probe = probe
        self.errors: Inbox = probe.listen(PoseStamped, f"/{NAME}/pose_error", 100)
        self.bodies: Inbox = probe.listen(InertiaStamped, f"/{NAME}/estimates/{link}", 100)
        self.reports: Inbox = probe.listen(DiagnosticArray, "/diagnostics", 100)

    def now(self) -> float:
        """Time of the newest error [s]."""
        return time_of(self.errors.latest)

    def until(self, time: float) -> None:
        """Let the system run to that time [s]."""
        self.probe.wait_until(lambda: self.now() >= time, f"time {time:.1f} s", 10.0 * PATIENCE)

    def wait(self, duration: float) -> None:
        """Let so much wall time pass [s]."""
        begin = Probe.now()
        self.probe.wait_until(lambda: Probe.now() > begin + duration, "time", 2.0 * duration + 10.0)

    def error(self, begin: float, end: float) -> np.ndarray:
        """Distances from the reference between two times, [m]."""
        found = [m.pose.position for m in list(self.errors.messages) if begin <= time_of(m) < end]
        return np.array([math.hypot(e.x, e.y, e.z) for e in found])

    def health(self) -> dict[str, str]:
        """What the plugin says of itself from now on."""
        self.reports.clear()
        return health(self.reports.wait(health, count=2, timeout=PATIENCE))

    def joints(self) -> Any:
        """Listen to the joints for the time of a with block."""
        return self.probe.listening(JointState, "/joint_states", 1000)


def time_of(message: Any) -> float:
    """Stamp of a message [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def positions(joints: Inbox, begin: float, end: float) -> np.ndarray:
    """Joint positions between two times, a row each, sorted by the names of the joints, [rad]."""
    found = [m for m in list(joints.messages) if begin <= time_of(m) <= end]
    return np.array([[q for _, q in sorted(zip(m.name, m.position, strict=True))] for m in found])


def travel(positions: np.ndarray) -> float:
    """The furthest that a joint has come from where it was first [rad]."""
    return float(np.abs(positions - positions[0]).max())


def errors_of(values: np.ndarray) -> dict[str, float]:
    """Mean and largest [m]."""
    return {"mean": float(values.mean()), "largest": float(values.max())}
