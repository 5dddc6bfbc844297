"""A live view of a controller in the terminal: one line a period, a summary at the end, never redrawn."""

from __future__ import annotations

import math
import statistics
import sys
from contextlib import suppress
from functools import partial

import click
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, Point, PoseStamped, Quaternion
from rclpy.node import Node
from sensor_msgs.msg import JointState

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import MONITOR
from thunder_controllers.ros.common.runtime import run
from thunder_controllers.ros.tools.graph import RATE_KEY

INERTIA_TYPE = "geometry_msgs/msg/InertiaStamped"
WINDOW = 5.0
"""First and last error of the summary are those of this time [s]."""


def describe_error(error: PoseStamped | JointState) -> tuple[float, str, str]:
    """Size of the error of position, its unit, and the words for both parts of the error.

    Of a pose these are a distance and the angle of its rotation, 2 asin|v| of the quaternion's vector v, by which a
    small angle stays exact; of joints, largest values.
    """
    if isinstance(error, PoseStamped):
        size = _norm(error.pose.position)
        angle = 2.0 * math.asin(min(_norm(error.pose.orientation), 1.0))
        return size, "m", f"error {size:.2e} m, {angle:.2e} rad"
    size, rate = (max(map(abs, values), default=0.0) for values in (error.position, error.velocity))
    return size, "rad or m", f"error {size:.2e} rad or m, {rate:.2e} per s"


def _norm(vector: Point | Quaternion) -> float:
    return math.hypot(vector.x, vector.y, vector.z)


class MonitorNode(Node):
    """Listens to a controller and writes lines to standard output."""

    is_stopped = True
    """The summary is written at once."""

    def __init__(self) -> None:
        super().__init__(names.MONITOR)
        given = DeclaredParameters(self)
        given.declare(node_parameters("bringup", names.MONITOR))
        self._controller = self.resolve_topic_name(given["controller"])
        self._errors: dict[float, float] = {}
        """Size of the error of position by the time of its message [s]."""
        self._rates: list[float] = []
        """Of the controller [Hz]."""
        self._rate = self._error = ""
        self._unit = "m"
        self._estimates: dict[str, str] = {}
        """Mass and centre of mass by link, as text; empty until they arrive."""
        self._is_silent = False
        for kind, topic in ((PoseStamped, "pose_error"), (JointState, "joint_error")):
            self.create_subscription(kind, f"{self._controller}/{topic}", self._on_error, MONITOR)
        self.create_subscription(DiagnosticArray, names.DIAGNOSTICS, self._on_diagnostics, MONITOR)
        self.create_timer(given["period"], self._write_line)

    def begin_stop(self) -> None:
        """Write first and last error, estimates, and the rate that was kept."""
        if not self._errors:
            click.echo("summary: no error was received")
            return
        start, end = min(self._errors), max(self._errors)
        # A motion may start at rest, without error: of the first seconds the largest error counts.
        first = max(error for time, error in self._errors.items() if time - start <= WINDOW)
        last = statistics.fmean(error for time, error in self._errors.items() if end - time <= WINDOW)
        click.echo(f"summary of {end - start:.1f} s")
        words = f"at first up to {first:.2e} {self._unit}, mean of the last {WINDOW:g} s {last:.2e} {self._unit}"
        click.echo(f"  position error: {words}")
        for estimate in self._known_estimates():
            click.echo(f"  estimate of {estimate}")
        if self._rates:
            rates = f"median {statistics.median_high(self._rates):.1f} Hz, lowest {min(self._rates):.1f} Hz"
            click.echo(f"  control rate: {rates}")

    def _known_estimates(self) -> list[str]:
        return [f"{link}: {text}" for link, text in sorted(self._estimates.items()) if text]

    def _on_error(self, message: PoseStamped | JointState) -> None:
        size, self._unit, self._error = describe_error(message)
        time = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if self._errors and time < next(reversed(self._errors)):  # the clock went back: a new history
            self._errors.clear()
        self._errors[time] = size

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if not f"/{status.name}".startswith(self._controller):
                continue
            self._rate = ""
            with suppress(StopIteration, ValueError):  # a controller that does not run has no rate
                rate = float(next(pair.value for pair in status.values if pair.key == RATE_KEY))
                self._rate = f"{rate:.0f} Hz"
                self._rates += [rate] if rate > 0.0 else []

    def _on_estimate(self, link: str, message: InertiaStamped) -> None:
        c = message.inertia.com
        self._estimates[link] = f"m {message.inertia.m:.4f} kg, c ({c.x:+.4f}, {c.y:+.4f}, {c.z:+.4f}) m"

    def _write_line(self) -> None:
        self._find_estimates()
        if self._error:
            elapsed = max(self._errors) - min(self._errors)
            words = [f"{elapsed:6.1f} s", self._error, *self._known_estimates(), self._rate]
            click.echo("  ".join(filter(None, words)))
        elif not self._is_silent:
            click.echo(f"waiting for {self._controller}")
        self._error, self._is_silent = "", not self._error

    def _find_estimates(self) -> None:
        """Subscribe to estimates that have appeared: which links are adapted is known to the controller only."""
        prefix = f"{self._controller}/estimates/"
        for topic, types in self.get_topic_names_and_types():
            link = topic.removeprefix(prefix)
            if topic.startswith(prefix) and INERTIA_TYPE in types and link not in self._estimates:
                self._estimates[link] = ""
                self.create_subscription(InertiaStamped, topic, partial(self._on_estimate, link), MONITOR)


def main() -> None:
    """Run the program."""
    sys.exit(run(MonitorNode, enclave="monitor"))


if __name__ == "__main__":
    main()
