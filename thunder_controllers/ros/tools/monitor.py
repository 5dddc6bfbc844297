"""A live view of a controller in the terminal: one line a period, a summary at the end, never redrawn."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, TwistStamped, Vector3
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import MONITOR
from thunder_controllers.ros.common.runtime import run

ESTIMATES = "/estimates/"
INERTIA_TYPE = "geometry_msgs/msg/InertiaStamped"
WINDOW = 5.0
"""First and last error of the summary are means over this time [s]."""

RATE_KEY = "loop rate [Hz]"
"""Under which the controller's diagnostics report its rate."""


@dataclass
class History:
    """What has been seen: times of messages [s], size of the position error, rates of the controller [Hz]."""

    times: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def add(self, time: float, error: float) -> None:
        """Keep one error; a clock that went back starts a new history."""
        if self.times and time < self.times[-1]:
            self.times.clear()
            self.errors.clear()
        self.times.append(time)
        self.errors.append(error)

    @property
    def elapsed(self) -> float:
        """Time from the first error to the last [s]."""
        return self.times[-1] - self.times[0] if self.times else 0.0

    def first(self) -> float:
        """Largest error of the first `WINDOW` seconds: a motion may start at rest, without error."""
        return max(e for t, e in zip(self.times, self.errors, strict=True) if t - self.times[0] <= WINDOW)

    def last(self) -> float:
        """Mean error of the last `WINDOW` seconds."""
        window = [e for t, e in zip(self.times, self.errors, strict=True) if self.times[-1] - t <= WINDOW]
        return sum(window) / len(window)


def format_error(error: TwistStamped) -> str:
    """Write norms of both parts of a pose error."""
    return f"error {_norm(error.twist.linear):.2e} m, {_norm(error.twist.angular):.2e} (sin)"


def format_joint_error(error: JointState) -> str:
    """Write the largest errors of the joints."""
    return f"error {_largest(error.position):.2e} rad or m, {_largest(error.velocity):.2e} per s"


def _largest(values: Iterable[float]) -> float:
    return max((abs(value) for value in values), default=0.0)


def format_estimate(link: str, estimate: InertiaStamped) -> str:
    """Write mass and centre of mass of a link."""
    c = estimate.inertia.com
    return f"{link}: m {estimate.inertia.m:.4f} kg, c ({c.x:+.4f}, {c.y:+.4f}, {c.z:+.4f}) m"


def _norm(vector: Vector3) -> float:
    return math.sqrt(vector.x**2 + vector.y**2 + vector.z**2)


class MonitorNode(Node):
    """Listens to a controller and writes lines to standard output."""

    def __init__(self) -> None:
        super().__init__(names.MONITOR)
        given = DeclaredParameters(self)
        given.declare(node_parameters("bringup", names.MONITOR))
        self._controller = self.resolve_topic_name(given["controller"])
        self._history = History()
        self._error = ""
        self._unit = "m"
        self._estimates: dict[str, InertiaStamped] = {}
        self._rate: float | None = None
        self._silent = False
        self.create_subscription(TwistStamped, f"{self._controller}/pose_error", self._on_error, MONITOR)
        self.create_subscription(JointState, f"{self._controller}/joint_error", self._on_joint_error, MONITOR)
        self.create_subscription(DiagnosticArray, names.DIAGNOSTICS, self._on_diagnostics, MONITOR)
        self.create_timer(given["period"], self._write_line)

    def begin_stop(self) -> None:
        """Write the summary."""
        self.write_summary()

    @property
    def is_stopped(self) -> bool:
        """Whether the summary is written: always, `begin_stop` has done it."""
        return True

    def write_summary(self) -> None:
        """Write first and last error, estimates, and the rate that was kept."""
        if not self._history.times:
            _write("summary: no error was received")
            return
        first, last = self._history.first(), self._history.last()
        _write(f"summary of {self._history.elapsed:.1f} s")
        unit = self._unit
        _write(f"  position error: at first up to {first:.2e} {unit}, mean of the last {WINDOW:g} s {last:.2e} {unit}")
        for link, estimate in sorted(self._estimates.items()):
            _write(f"  estimate of {format_estimate(link, estimate)}")
        if self._history.rates:
            rates = sorted(self._history.rates)
            _write(f"  control rate: median {rates[len(rates) // 2]:.1f} Hz, lowest {rates[0]:.1f} Hz")

    def _on_error(self, message: TwistStamped) -> None:
        self._add(message.header, format_error(message), _norm(message.twist.linear), "m")

    def _on_joint_error(self, message: JointState) -> None:
        self._add(message.header, format_joint_error(message), _largest(message.position), "rad or m")

    def _add(self, header: Header, text: str, size: float, unit: str) -> None:
        self._error, self._unit = text, unit
        self._history.add(header.stamp.sec + 1e-9 * header.stamp.nanosec, size)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if not f"/{status.name}".startswith(self._controller):
                continue
            values = {pair.key: pair.value for pair in status.values}
            self._rate = _number(values.get(RATE_KEY))
            if self._rate is not None and self._rate > 0.0:
                self._history.rates.append(self._rate)

    def _on_estimate(self, link: str, message: InertiaStamped) -> None:
        self._estimates[link] = message

    def _write_line(self) -> None:
        self._find_estimates()
        if not self._error:
            if not self._silent:
                _write(f"waiting for {self._controller}")
            self._silent = True
            return
        rate = [] if self._rate is None else [f"{self._rate:.0f} Hz"]
        estimates = [format_estimate(*item) for item in sorted(self._estimates.items())]
        _write("  ".join([f"{self._history.elapsed:6.1f} s", self._error, *estimates, *rate]))
        self._error = ""
        self._silent = False

    def _find_estimates(self) -> None:
        """Subscribe to estimates that have appeared: which links are adapted is known to the controller only."""
        prefix = self._controller + ESTIMATES
        for topic, types in self.get_topic_names_and_types():
            link = topic[len(prefix) :]
            if topic.startswith(prefix) and INERTIA_TYPE in types and link not in self._links():
                self._subscribe(topic, link)

    def _links(self) -> set[str]:
        return {subscription.topic_name.rpartition("/")[2] for subscription in self.subscriptions}

    def _subscribe(self, topic: str, link: str) -> None:
        self.create_subscription(InertiaStamped, topic, lambda message: self._on_estimate(link, message), MONITOR)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the program."""
    sys.exit(run(MonitorNode))


if __name__ == "__main__":
    main()
