"""Runs the Panda in Gazebo by the launch file, and prints what it saw as JSON.

    gazebo_run.py DOMAIN LOG SECONDS PAYLOAD [LAW]

PAYLOAD is a mass at the flange that nobody tells the controller of [kg]; LAW is as for the launch file. Run with
test/ros in PYTHONPATH, ROS 2 and this package sourced; not a test by itself. Times are the simulation's.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from controller_manager_msgs.srv import SwitchController
from diagnostic_msgs.msg import DiagnosticArray
from gazebo_service import service_command
from geometry_msgs.msg import InertiaStamped, TwistStamped
from nodes import Inbox, Probe
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

NAME = "adaptive_controller"
LAW = "cartesian_backstepping:profile=topics,adaptation=least_squares"
PATIENCE = 600.0
"""How long anything may take [s]: the library is compiled meanwhile."""

SETTLED = 20.0
"""From here on errors count as those of the motion [s]."""


def control(request: str) -> None:
    """Ask the world for something: `pause: true`."""
    command = service_command()
    kind = "gz" if command[0].endswith("gz") else "ignition"
    command += ["-s", "/world/thunder/control", "--reqtype", f"{kind}.msgs.WorldControl"]
    command += ["--reptype", f"{kind}.msgs.Boolean", "--timeout", "5000", "--req", request]
    subprocess.run(command, check=True, capture_output=True, timeout=60.0)


@contextmanager
def launched(domain: int, log: Path, law: str, payload: float) -> Iterator[None]:
    """The system, from the launch to Ctrl-C."""
    words = ["backend:=gazebo", f"payload:={payload}", f"law:={law}"]
    command = ["ros2", "launch", "thunder_controllers", "panda_adaptive.launch.py", *words]
    os.environ |= {
        "ROS_DOMAIN_ID": str(domain),
        "IGN_PARTITION": f"thunder{domain}",
        "GZ_PARTITION": f"thunder{domain}",
    }
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

    def __init__(self, probe: Probe) -> None:
        """Listen to all of them."""
        self.probe = probe
        self.errors: Inbox = probe.listen(TwistStamped, f"/{NAME}/pose_error", 100)
        self.bodies: Inbox = probe.listen(InertiaStamped, f"/{NAME}/estimates/panda_link7", 100)
        self.reports: Inbox = probe.listen(DiagnosticArray, "/diagnostics", 100)

    def now(self) -> float:
        """Time of the newest error [s]."""
        return time_of(self.errors.latest)

    def until(self, time: float) -> None:
        """Let the simulation run to that time [s]."""
        self.probe.wait_until(lambda: self.now() >= time, f"time {time:.1f} s", 10.0 * PATIENCE)

    def wait(self, duration: float) -> None:
        """Let so much wall time pass [s]."""
        begin = Probe.now()
        self.probe.wait_until(lambda: Probe.now() > begin + duration, "time", 2.0 * duration + 10.0)

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


def ways(watch: Watch) -> dict[str, Any]:
    """Steps of the clock, and how fast it runs, in 5 s of wall time."""
    with watch.probe.listening(Clock, "/clock", QoSProfile(depth=1000)) as clock:
        clock.wait(timeout=PATIENCE)
        clock.clear()
        begin = Probe.now()
        watch.wait(5.0)
        passed, messages = Probe.now() - begin, list(clock.messages)
    stamps = [m.clock.sec * 10**9 + m.clock.nanosec for m in messages]
    return {
        "real-time factor": (stamps[-1] - stamps[0]) * 1e-9 / passed,
        "stamps off a millisecond": sum(stamp % 10**6 != 0 for stamp in stamps),
        "share of steps of 1 ms": float((np.diff(stamps) == 10**6).mean()),
    }


def begin_run(watch: Watch) -> tuple[float, dict[str, Any]]:
    """The start: when the controller has become active [s], and what the joints did until then."""
    with watch.joints() as joints:
        joints.wait(timeout=PATIENCE)
        begin = time_of(watch.errors.wait(timeout=PATIENCE))
        watch.until(begin + 0.5)
        held, start = positions(joints, 0.0, begin - 0.1), positions(joints, begin - 0.1, begin + 0.1)
    return begin, {
        "active at [s]": begin,
        "travel before [rad]": travel(held) if len(held) else None,
        "travel around activation [rad]": travel(start),
        "largest error in the first 0.2 s [m]": float(watch.error(begin, begin + 0.2).max()),
    }


def pause(watch: Watch) -> dict[str, Any]:
    """A pause of 3 s, and the 3 s after it."""
    control("pause: true")
    watch.wait(1.0)
    paused = watch.now()
    watch.wait(3.0)
    passed = watch.now() - paused
    control("pause: false")
    watch.until(paused + 3.0)
    return {"time that passed [s]": passed, "error after it [m]": errors_of(watch.error(paused, paused + 3.0))}


def end(watch: Watch) -> dict[str, Any]:
    """The stop, which holds; then the deactivation."""
    assert watch.probe.call(Trigger, f"/{NAME}/stop").success
    stopped = watch.now()
    watch.until(stopped + 3.0)
    request = SwitchController.Request(deactivate_controllers=[NAME], strictness=2)
    with watch.joints() as joints:
        watch.until(stopped + 6.0)
        assert watch.probe.call(SwitchController, "/controller_manager/switch_controller", request, PATIENCE).ok
        off = watch.now()
        joints.wait(lambda m: time_of(m) > off + 1.0, timeout=PATIENCE)
        held, fallen = positions(joints, off - 2.0, off), positions(joints, off, off + 0.5)
    return {"travel in 2 s of a stop [rad]": travel(held), "travel within 0.5 s of deactivation [rad]": travel(fallen)}


def reset(watch: Watch) -> dict[str, Any]:
    """The reset of the world by Gazebo."""
    with watch.probe.listening(Clock, "/clock", QoSProfile(depth=1000)) as clock, watch.joints() as joints:
        clock.wait(timeout=PATIENCE)
        control("reset: {all: true}")
        watch.wait(3.0)
        joints.clear()
        watch.wait(2.0)
        return {
            "time [s]": clock.latest.clock.sec + 1e-9 * clock.latest.clock.nanosec,
            "joint states in 2 s": len(joints),
        }


def drive(watch: Watch, duration: float) -> dict[str, Any]:
    """The run: start, figure, pause, stop, deactivation, reset."""
    begin, start = begin_run(watch)
    watch.until(begin + SETTLED)
    clock = ways(watch)
    watch.until(begin + duration)
    error, mass = errors_of(watch.error(begin + SETTLED, begin + duration)), watch.bodies.latest.inertia.m
    watch.reports.clear()
    report = health(watch.reports.wait(health, count=2, timeout=PATIENCE))
    sys.stderr.write(f"{start} {clock} {error} {mass}\n")
    result = {"start": start, "clock": clock, "error [m]": error, "mass [kg]": mass, "health": report}
    return result | {"pause": pause(watch), "end": end(watch), "reset": reset(watch)}


if __name__ == "__main__":
    number, place, (length, mass_added) = int(sys.argv[1]), Path(sys.argv[2]), map(float, sys.argv[3:5])
    chosen = sys.argv[5] if sys.argv[5:] else LAW
    with launched(number, place, chosen, mass_added), Probe(number, "gazebo_run") as gazebo_probe:
        sys.stdout.write(json.dumps(drive(Watch(gazebo_probe), length), indent=1) + "\n")
