"""Puts a controller before the plugin on MuJoCo's hardware, and prints what it saw as JSON: chain_run.py DOMAIN LOG.

forward_command_controller writes the positions of a joint law's reference, 100 times a second; the plugin exports what
it finds, so the broadcaster that takes all is switched with it. Run with test/ros in PYTHONPATH, ROS 2 and this package
sourced; not a test by itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from controller_manager_msgs.srv import (
    ConfigureController,
    ListControllers,
    ListHardwareInterfaces,
    LoadController,
)
from launched import NAME, PATIENCE, launched, time_of
from manager import JOINTS, manage, place, positions, switch
from nodes import Inbox, Probe
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

BEFORE, BROADCASTER = "forward", "joint_state_broadcaster"
RATE = 100.0
"""Of the commands [Hz]."""

PARAMETERS = f"""
{BEFORE}:
  ros__parameters:
    joints: [{", ".join(f"{NAME}/{joint}" for joint in JOINTS)}]
    interface_name: position
"""


def load(probe: Probe, folder: Path) -> None:
    """The controller before the plugin."""
    file = folder / "forward.yaml"
    file.write_text(PARAMETERS)
    given = {
        f"{BEFORE}.type": "forward_command_controller/ForwardCommandController",
        f"{BEFORE}.params_file": [str(file)],
    }
    parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in given.items()]
    assert all(r.successful for r in manage(probe, SetParameters, "set_parameters", parameters=parameters).results)
    assert manage(probe, LoadController, "load_controller", name=BEFORE).ok
    assert manage(probe, ConfigureController, "configure_controller", name=BEFORE).ok


def along(states: Inbox, start: np.ndarray, way: np.ndarray, send: Callable[[list[float]], None]) -> float:
    """Send places of a smooth way from start for four seconds; see `behind`."""
    steps, sent, begin = int(4.0 * RATE), [], time.time()
    states.clear()
    for step in range(steps + 1):
        q = start + way * 0.5 * (1.0 - np.cos(np.pi * step / steps))
        sent.append((time.time(), *q))
        send(q.tolist())
        time.sleep(max(0.0, begin + (step + 1) / RATE - time.time()))
    return behind(np.array(sent), list(states.messages))


def behind(sent: np.ndarray, states: list[JointState]) -> float:
    """How far a joint is from what was sent when it was measured, at most."""
    stamps = np.array([time_of(state) for state in states])
    q = np.array([positions(state) for state in states])
    during = (stamps > sent[0, 0]) & (stamps < sent[-1, 0])
    wanted = [np.interp(stamps[during], sent[:, 0], column) for column in sent[:, 1:].T]
    return float(np.abs(np.array(wanted).T - q[during]).max())


def drive(probe: Probe, folder: Path) -> dict[str, Any]:
    """Chained, along a smooth way that the other controller gives, and unchained again."""
    states = probe.listen(JointState, "/joint_states")
    states.wait(timeout=PATIENCE)
    active = lambda: {c.name: c for c in manage(probe, ListControllers, "list_controllers").controller}  # noqa: E731
    probe.wait_until(lambda: NAME in active() and active()[NAME].state == "active", "active controller", PATIENCE)

    load(probe, folder)
    found: dict[str, Any] = {"off before those who read it": switch(probe, [], [NAME])}
    assert switch(probe, [], [NAME, BROADCASTER])
    found["chained"] = switch(probe, [BEFORE, NAME, BROADCASTER], [])
    found["is chained"] = active()[NAME].is_chained
    interfaces = manage(probe, ListHardwareInterfaces, "list_hardware_interfaces")
    for kind in ("command_interfaces", "state_interfaces"):
        names = [i.name for i in getattr(interfaces, kind) if i.name.startswith(f"{NAME}/")]
        found[kind] = sorted({name.rsplit("/", 1)[1] for name in names})
    start, way = place(states), np.array([0.3, -0.1, 0.2, 0.2, -0.2, 0.1, 0.3])
    commands = probe.publisher(Float64MultiArray, f"/{BEFORE}/commands", 1)
    found["behind what was sent, largest [rad]"] = along(
        states, start, way, lambda q: commands.publish(Float64MultiArray(data=q))
    )
    time.sleep(1.0)
    found["error at the end [rad]"] = float(np.abs(place(states) - start - way).max())
    stream = probe.publisher(JointTrajectoryPoint, f"/{NAME}/joint_reference", 10)
    stream.publish(JointTrajectoryPoint(positions=start.tolist()))
    time.sleep(1.0)
    found["moved by a topic [rad]"] = float(np.abs(place(states) - start - way).max())
    assert switch(probe, [], [BEFORE, NAME, BROADCASTER])
    found["alone again"] = switch(probe, [NAME, BROADCASTER], [])
    found["is still chained"] = active()[NAME].is_chained
    send = lambda q: stream.publish(JointTrajectoryPoint(positions=q))  # noqa: E731
    found["the same by a topic"] = along(states, place(states), -way, send)
    time.sleep(1.0)
    rest = place(states)
    assert switch(probe, [], [NAME, BROADCASTER])
    assert switch(probe, [BEFORE, NAME, BROADCASTER], [])
    time.sleep(1.0)
    found["moved by what was written before [rad]"] = float(np.abs(place(states) - rest).max())
    assert switch(probe, [], [BEFORE, NAME, BROADCASTER])
    assert switch(probe, [NAME, BROADCASTER], [])
    found["starts a motion"] = probe.call(Trigger, f"/{NAME}/start", Trigger.Request(), PATIENCE).success
    return found


if __name__ == "__main__":
    os.environ["ROS_DOMAIN_ID"] = sys.argv[1]
    log = Path(sys.argv[2])
    own = log.with_suffix(".yaml")
    own.write_text(f"/**/{NAME}:\n  ros__parameters:\n    exports_states: true\n")
    words = ["backend:=ros2_control", "law:=slotine_li:adapted_links=panda_link7", "reference:=none", f"gains:={own}"]
    with launched(log, *words), Probe(int(sys.argv[1]), "chain_run") as asking:
        sys.stdout.write(json.dumps(drive(asking, log.parent), indent=1) + "\n")
