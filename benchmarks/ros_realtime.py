"""Rate and jitter of `thunder ros panda_adaptive` in real time, by its own diagnostics.

    python benchmarks/ros_realtime.py [--seconds 30] [--warm-up 10] [--json FILE]

The nodes run in a process of their own, as users start them. What is reported is what the nodes say on /diagnostics:
this program only collects it, once a second, so that it takes no time from them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR

NODES = (names.CONTROLLER, names.SIMULATION)
START_LIMIT = 300.0
"""Longest wait for the controller to be active [s]: the first run compiles the library."""

STOP_LIMIT = 5.0
"""Longest wait for the nodes to end [s]."""


class Collector(Node):
    """Keeps every numeric value that the nodes report, and the worst message of each."""

    def __init__(self) -> None:
        super().__init__("thunder_benchmark")
        self.values: dict[str, dict[str, list[float]]] = {name: {} for name in NODES}
        self.messages: dict[str, list[str]] = {name: [] for name in NODES}
        self.active = False
        self.create_subscription(DiagnosticArray, names.DIAGNOSTICS, self._on_diagnostics, MONITOR)

    def clear(self) -> None:
        """Forget what was collected while the nodes started."""
        for name in NODES:
            self.values[name].clear()
            self.messages[name].clear()

    def _on_diagnostics(self, array: DiagnosticArray) -> None:
        for status in array.status:
            name = status.name.split(":")[0].split("/")[-1]
            if name not in NODES:
                continue
            self.messages[name].append(status.message)
            for pair in status.values:
                try:
                    value = float(pair.value)
                except ValueError:
                    continue
                self.values[name].setdefault(pair.key, []).append(value)
            held = [pair.value for pair in status.values if pair.key == "held"]
            self.active = self.active or held == ["False"]


def start_nodes() -> subprocess.Popen[bytes]:
    """Start the nodes in a process group of their own."""
    command = [sys.executable, "-c", "from thunder_controllers.ros.tools.launcher import ros; ros()", "panda_adaptive"]
    return subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL)


def spin(collector: Collector, nodes: subprocess.Popen[bytes], seconds: float, until_active: bool = False) -> None:
    """Collect for a time, or until the robot moves."""
    executor = SingleThreadedExecutor()
    executor.add_node(collector)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (until_active and collector.active):
        executor.spin_once(timeout_sec=0.5)
        if nodes.poll() is not None:
            sys.exit(f"the nodes ended with status {nodes.returncode}")
    executor.shutdown()
    if until_active and not collector.active:
        sys.exit(f"the robot did not move within {seconds:g} s")


def stop_nodes(nodes: subprocess.Popen[bytes]) -> float:
    """Stop as Ctrl-C does; the time it took [s]."""
    begin = time.monotonic()
    if nodes.poll() is None:
        os.killpg(nodes.pid, signal.SIGINT)
    try:
        nodes.wait(STOP_LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(nodes.pid, signal.SIGKILL)
        nodes.wait()
    return time.monotonic() - begin


def summary(collector: Collector, seconds: float, stop_time: float) -> dict[str, Any]:
    """Smallest, median and largest of every value over the run."""
    return {
        "seconds": seconds,
        "cores": len(os.sched_getaffinity(0)),
        "stop_time_s": stop_time,
        "nodes": {
            name: {
                "messages": sorted(set(collector.messages[name])),
                "values": {
                    key: {"min": min(v), "median": statistics.median(v), "max": max(v), "last": v[-1]}
                    for key, v in sorted(collector.values[name].items())
                },
            }
            for name in NODES
        },
    }


def print_summary(result: dict[str, Any]) -> None:
    """Write one table per node."""
    print(f"{result['seconds']:g} s in real time on {result['cores']} cores, stopped in {result['stop_time_s']:.2f} s")
    for name, node in result["nodes"].items():
        print(f"\n{name}: {'; '.join(node['messages'])}")
        print(f"  {'':44} {'min':>12} {'median':>12} {'max':>12}")
        for key, values in node["values"].items():
            print(f"  {key:44} {values['min']:12.6g} {values['median']:12.6g} {values['max']:12.6g}")


def measure(seconds: float, warm_up: float, nodes: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Collect for `seconds` once the robot moves and `warm_up` is over; the nodes are stopped whatever happens."""
    rclpy.init(args=[])
    try:
        collector = Collector()
        spin(collector, nodes, START_LIMIT, until_active=True)
        spin(collector, nodes, warm_up)
        collector.clear()
        spin(collector, nodes, seconds)
    finally:
        stop_time = stop_nodes(nodes)
        rclpy.try_shutdown()
    return summary(collector, seconds, stop_time)


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="of measurement")
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds before the measurement")
    parser.add_argument("--json", type=Path, help="write the summary there as well")
    options = parser.parse_args()
    result = measure(options.seconds, options.warm_up, start_nodes())
    print_summary(result)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
