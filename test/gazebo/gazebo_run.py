"""Runs the Panda in Gazebo by the launch file, and prints what it saw as JSON.

    gazebo_run.py DOMAIN LOG SECONDS PAYLOAD [LAW]

PAYLOAD is a mass at the flange that nobody tells the controller of [kg]; LAW is as for the launch file. Run with
test/ros in PYTHONPATH, ROS 2 and this package sourced; not a test by itself. Times are the simulation's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from controller_manager_msgs.srv import SwitchController
from gazebo_service import service_command
from launched import LAW, NAME, PATIENCE, SETTLED, Watch, errors_of, launched, positions, time_of, travel
from nodes import Probe
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger


def control(request: str) -> None:
    """Ask the world for something: `pause: true`."""
    command = service_command()
    kind = "gz" if command[0].endswith("gz") else "ignition"
    command += ["-s", "/world/thunder/control", "--reqtype", f"{kind}.msgs.WorldControl"]
    command += ["--reptype", f"{kind}.msgs.Boolean", "--timeout", "5000", "--req", request]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


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
    report = watch.health()
    sys.stderr.write(f"{start} {clock} {error} {mass}\n")
    result = {"start": start, "clock": clock, "error [m]": error, "mass [kg]": mass, "health": report}
    return result | {"pause": pause(watch), "end": end(watch), "reset": reset(watch)}


if __name__ == "__main__":
    domain, place, (length, payload) = sys.argv[1], Path(sys.argv[2]), map(float, sys.argv[3:5])
    partition = f"thunder{domain}"
    os.environ |= {"ROS_DOMAIN_ID": domain, "IGN_PARTITION": partition, "GZ_PARTITION": partition}
    words = ["backend:=gazebo", f"payload:={payload}", f"law:={sys.argv[5] if sys.argv[5:] else LAW}"]
    with launched(place, *words), Probe(int(domain), "gazebo_run") as gazebo_probe:
        sys.stdout.write(json.dumps(drive(Watch(gazebo_probe), length), indent=1) + "\n")
