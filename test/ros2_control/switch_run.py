"""Switches the controller of the simulated hardware on and off at random, and prints what it saw as JSON.

    switch_run.py DOMAIN LOG SWITCHES [SEED] [stream]

Each activation is sent to the other of two poses, so that most deactivations meet a moving arm, which the hardware's
brakes stop. With `stream` a reference goes to and fro between them all the time, 100 times a second, while the
controller is off for up to 1.5 s: it is somewhere else when the controller comes back.
Run with test/ros in PYTHONPATH, ROS 2 and this package sourced; not a test by itself.
"""

from __future__ import annotations

import copy
import json
import math
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Transform, Twist, Vector3
from launched import LAW, NAME, PATIENCE, Watch, launched, time_of
from manager import switch
from nodes import Inbox, Probe
from numpy.typing import NDArray
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

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

PERIOD = 10.0
"""Of the stream, to and fro [s]."""

CAUGHT = 4.0
"""Time in which an arm has caught up with its stream [s]."""

SHOWN = 0.05
"""After an activation the hardware still shows the effort of its brakes for so long at most [s]."""


def rows(joints: Inbox, begin: float, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times between two of them, (N,) [s], with velocities [rad/s] and efforts [N·m] of the joints, (N, 14)."""
    found = [m for m in list(joints.messages) if begin <= time_of(m) <= end]
    return np.array([time_of(m) for m in found]), np.array([[*m.velocity, *m.effort] for m in found])


def largest_rate(times: NDArray[np.float64], efforts: NDArray[np.float64]) -> float:
    """Of any joint between two samples [N·m/s], which are a millisecond apart at least, whatever their stamps."""
    passed = np.maximum(np.diff(times), 1e-3)
    return float((np.abs(np.diff(efforts, axis=0)).max(axis=1) / passed).max())


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
            refused += not switch(watch.probe, [], [NAME])
            stopped = time.time() + STOP
            braked = joints.wait(lambda m, then=stopped: time_of(m) > then, timeout=PATIENCE)
            times, values = rows(joints, begin, off)
            if len(times) > 1:
                steps = max(steps, largest_rate(times, values[:, 7:]))
                samples += len(times)
                speeds.append(float(np.abs(values[-1, :7]).max()))
            moved.append(max(map(abs, braked.velocity)))
        refused += not switch(watch.probe, [NAME], [])
    return {
        "switches": switches,
        "refused": refused,
        "samples while it commands": samples,
        "largest rate of an effort over its limit": steps / RATE,
        "speed when it went off, median and largest [rad/s]": [float(np.median(speeds)), max(speeds)],
        "largest speed 0.2 s later [rad/s]": max(moved),
        "health": watch.health(),
    }


@contextmanager
def streaming(probe: Probe, home: PoseStamped) -> Iterator[Callable[[], float]]:
    """Stream poses to either side of one, and say how far [m] that is now."""
    publisher, begin = probe.publisher(MultiDOFJointTrajectoryPoint, f"/{NAME}/reference", 10), time.monotonic()
    at, turn, done = home.pose.position, home.pose.orientation, threading.Event()

    def phase() -> float:
        return 2.0 * math.pi / PERIOD * (time.monotonic() - begin)

    def place() -> float:
        return WAY * math.sin(phase())

    def send() -> None:
        while not done.wait(0.01):
            pose = Transform(translation=Vector3(x=at.x, y=at.y + place(), z=at.z), rotation=turn)
            twist = Twist(linear=Vector3(y=WAY * 2.0 * math.pi / PERIOD * math.cos(phase())))
            publisher.publish(MultiDOFJointTrajectoryPoint(transforms=[pose], velocities=[twist]))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield place
    finally:
        done.set()
        thread.join()


def drive_beside_a_stream(watch: Watch, switches: int, rng: random.Random) -> dict[str, Any]:
    """Off and on beside a stream: how far that was when the controller came back, and is once it has caught up."""
    refused, away, steps, samples, near, errors = 0, [], 0.0, 0, [], []
    poses = watch.probe.listen(PoseStamped, f"/{NAME}/pose")
    home = poses.wait(timeout=PATIENCE)

    def distance() -> float:
        poses.clear()
        return abs(poses.wait(timeout=PATIENCE).pose.position.y - home.pose.position.y - place())

    with streaming(watch.probe, home) as place:
        watch.wait(CAUGHT)
        for _ in range(switches // 2):
            refused += not switch(watch.probe, [], [NAME])
            watch.wait(rng.uniform(*PAUSES))
            with watch.joints() as joints:
                joints.wait(timeout=PATIENCE)
                watch.errors.clear()
                refused += not switch(watch.probe, [NAME], [])
                watch.errors.wait(timeout=PATIENCE)
                begin = watch.now() + SHOWN
                away.append(distance())
                watch.wait(CAUGHT)
                times, values = rows(joints, begin, watch.now())
            near.append(distance())
            errors.append(float(watch.error(begin, watch.now()).max()))
            steps = max(steps, largest_rate(times, values[:, 7:]))
            samples += len(times)
    return {
        "switches": switches,
        "refused": refused,
        "samples while it commands": samples,
        "largest rate of an effort over its limit": steps / RATE,
        "from the stream at first, median and largest [m]": [float(np.median(away)), max(away)],
        "4 s later [m]": [float(np.median(near)), max(near)],
        "largest error of what it follows [m]": max(errors),
        "health": watch.health(),
    }


if __name__ == "__main__":
    os.environ["ROS_DOMAIN_ID"] = sys.argv[1]
    numbers, is_streamed = [word for word in sys.argv[3:] if word != "stream"], "stream" in sys.argv
    chosen = random.Random(int(numbers[1]) if numbers[1:] else 0)
    words = ["backend:=ros2_control", f"payload:={PAYLOAD}", f"law:={LAW}", "reference:=none"]
    with launched(Path(sys.argv[2]), *words), Probe(int(sys.argv[1]), "switch_run") as switch_probe:
        switched = Watch(switch_probe)
        switched.errors.wait(timeout=PATIENCE)
        run = drive_beside_a_stream if is_streamed else drive
        sys.stdout.write(json.dumps(run(switched, int(numbers[0]), chosen), indent=1) + "\n")
