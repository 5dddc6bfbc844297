"""Rate and jitter of `thunder ros panda_adaptive` in real time, by its own diagnostics.

    python benchmarks/ros_realtime.py [--seconds 30] [--warm-up 10] [--json FILE]

The nodes run in a process of their own, as users start them. What is reported is what the nodes say on /diagnostics:
this program only collects it, once a second, so that it takes no time from them.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import click
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR

START_LIMIT = 300.0
"""Longest wait for the controller to be active [s]: the first run compiles the library."""

STOP_LIMIT = 5.0
"""Longest wait for the nodes to end [s]."""


class Collector(Node):
    """Keeps every number that the nodes report, by node and key, and whether the controller lets the robot move."""

    def __init__(self) -> None:
        super().__init__("thunder_benchmark")
        self.values: defaultdict[str, list[float]] = defaultdict(list)
        self.active = False
        self.create_subscription(DiagnosticArray, names.DIAGNOSTICS, self._on_diagnostics, MONITOR)

    def _on_diagnostics(self, array: DiagnosticArray) -> None:
        for status in array.status:
            name = status.name.split(":")[0].split("/")[-1]
            if name in (names.CONTROLLER, names.SIMULATION):
                for pair in status.values:
                    self.active |= (pair.key, pair.value) == ("held", "False")
                    with suppress(ValueError):  # texts are left out
                        self.values[f"{name} {pair.key}"].append(float(pair.value))


def spin(collector: Collector, nodes: subprocess.Popen[bytes], seconds: float, until_active: bool = False) -> None:
    """Collect for a time, or until the robot moves."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (until_active and collector.active):
        rclpy.spin_once(collector, timeout_sec=0.5)
        if nodes.poll() is not None:
            raise SystemExit(f"the nodes ended with status {nodes.returncode}")
    if until_active and not collector.active:
        raise SystemExit(f"the robot did not move within {seconds:g} s")


def stop(nodes: subprocess.Popen[bytes]) -> float:
    """Stop as Ctrl-C does; the time it took [s]."""
    begin = time.monotonic()
    with suppress(ProcessLookupError):
        os.killpg(nodes.pid, signal.SIGINT)
    try:
        nodes.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(nodes.pid, signal.SIGKILL)
        nodes.wait()
    return time.monotonic() - begin


@click.command(help=__doc__)
@click.option("--seconds", default=30.0, show_default=True, help="Of measurement.")
@click.option("--warm-up", default=10.0, show_default=True, help="Seconds before the measurement.")
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the summary there as well.")
def main(seconds: float, warm_up: float, file: Path | None) -> None:
    """Run and report."""
    nodes = subprocess.Popen(["thunder", "ros", "panda_adaptive"], start_new_session=True, stdin=subprocess.DEVNULL)
    rclpy.init(args=[])
    try:
        collector = Collector()
        spin(collector, nodes, START_LIMIT, until_active=True)
        spin(collector, nodes, warm_up)
        collector.values.clear()
        spin(collector, nodes, seconds)
    finally:
        stop_time = stop(nodes)
        rclpy.try_shutdown()
    cores = len(os.sched_getaffinity(0))
    print(f"{seconds:g} s in real time on {cores} cores, stopped in {stop_time:.2f} s")
    print(f"{'':64} {'min':>12} {'median':>12} {'max':>12}")
    found = {key: (min(v), statistics.median(v), max(v)) for key, v in sorted(collector.values.items())}
    for key, values in found.items():
        print(f"{key:64} " + " ".join(f"{value:12.6g}" for value in values))
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        result = {"seconds": seconds, "cores": cores, "stop_time_s": stop_time, "min, median, max": found}
        file.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
