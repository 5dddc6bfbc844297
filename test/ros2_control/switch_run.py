"""Switches the controller of the simulated hardware on and off at random, and prints what it saw as JSON.

    switch_run.py DOMAIN LOG SWITCHES [SEED]

Each activation is sent to the other of two poses, so that most deactivations meet a moving arm, which the hardware's
brakes stop.
Run with test/ros in PYTHONPATH, ROS 2 and this package sourced; not a test by itself.
"""

from __future__ import annotations

import copy
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from controller_manager_msgs.srv import SwitchController
from geometry_msgs.msg import PoseStamped
from launched import LAW, NAME, PATIENCE, Watch, launched, time_of
from nodes import Inbox, Probe
from numpy.typing import NDArray

PAYLOAD = 0.5
"""At the flange, of which nobody tells the controller [kg]."""

RATE = 1000.0
"""Default of `effort_rate_limit` [N·m/s]."""

WAY = 0.15
"""From where the arm starts to either pose, along y [m]."""

PAUSES = (0.02, 1.5)
"""For which it is on [s]."""

STOP = 0.2
"""Time that the brakes have [s]."""


def switch(probe: Probe, active: bool) -> bool:
    """Whether the manager has done it."""
    names = {"activate_controllers" if active else "deactivate_controllers": [NAME]}
    request = SwitchController.Request(**names, strictness=2, activate_asap=True)
    return bool(probe.call(SwitchController, "/controller_manager/switch_controller", request, PATIENCE).ok)


def rows(joints: Inbox, begin: float, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times between two of them, (N,) [s], with velocities [rad/s] and efforts [N·m] of the joints, (N, 14)."""
    found = [m for m in list(joints.messages) if begin <= time_of(m) <= end]
    return np.array([time_of(m) for m in found]), np.array([[*m.velocity, *m.effort] for m in found])


def drive(watch: Watch, switches: int, rng: random.Random) -> dict[str, Any]:
    """Off and on, so many times; what the efforts did while it was on, and the arm when it went off."""
    refused, steps, samples, speeds, moved = 0, 0.0, 0, [], []
    home = watch.probe.listen(PoseStamped, f"/{NAME}/pose").wait(timeout=PATIENCE)
    target = watch.probe.publisher(PoseStamped, f"/{NAME}/target_pose", 1)
    for sign in switches // 4 * (1.0, -1.0):
        there = copy.deepcopy(home)
        there.pose.position.y += sign * WAY
        target.publish(there)
        with watch.joints() as joints:
            joints.wait(timeout=PATIENCE)
            begin = time_of(joints.latest)
            watch.wait(rng.uniform(*PAUSES))
            off = time_of(joints.latest)
            refused += not switch(watch.probe, active=False)
            stopped = time.time() + STOP
            braked = joints.wait(lambda m, then=stopped: time_of(m) > then, timeout=PATIENCE)
            times, values = rows(joints, begin, off)
            if len(times) > 1:
                passed = np.maximum(np.diff(times), 1e-3)
                steps = max(steps, float((np.abs(np.diff(values[:, 7:], axis=0)).max(axis=1) / passed).max()))
                samples += len(times)
                speeds.append(float(np.abs(values[-1, :7]).max()))
            moved.append(max(map(abs, braked.velocity)))
        refused += not switch(watch.probe, active=True)
    return {
        "switches": switches,
        "refused": refused,
        "samples while it commands": samples,
        "largest rate of an effort over its limit": steps / RATE,
        "speed when it went off, median and largest [rad/s]": [float(np.median(speeds)), max(speeds)],
        "largest speed 0.2 s later [rad/s]": max(moved),
        "health": watch.health(),
    }


if __name__ == "__main__":
    os.environ["ROS_DOMAIN_ID"] = sys.argv[1]
    chosen = random.Random(int(sys.argv[4]) if sys.argv[4:] else 0)
    words = ["backend:=ros2_control", f"payload:={PAYLOAD}", f"law:={LAW}", "reference:=none"]
    with launched(Path(sys.argv[2]), *words), Probe(int(sys.argv[1]), "switch_run") as switch_probe:
        switched = Watch(switch_probe)
        switched.errors.wait(timeout=PATIENCE)
        sys.stdout.write(json.dumps(drive(switched, int(sys.argv[3]), chosen), indent=1) + "\n")
