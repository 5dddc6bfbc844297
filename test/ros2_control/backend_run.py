"""Runs the arm behind a controller_manager by the launch file, and prints what it saw as JSON.

    backend_run.py DOMAIN LOG SECONDS ros2_control|franka [OPTION…] [ARGUMENT:=VALUE…]

A body of 0.5 kg is at the flange that nobody tells the controller of. `franka` is franka_ros2 on a virtual FR3, started
as docs/gazebo-and-franka.md has it, with a reflex and its recovery at the end; options are those of franka-server,
arguments those of the launch file. Run with test and test/ros in PYTHONPATH, ROS 2 and this package sourced; not a test
by itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from controller_manager_msgs.srv import SetHardwareComponentState
from launched import LAW, NAME, PATIENCE, SETTLED, Watch, errors_of, health, launched
from lifecycle_msgs.msg import State
from manager import manage, states, switch
from nodes import Probe
from rclpy.action import ActionClient
from std_srvs.srv import SetBool, Trigger
from virtual_robot import VirtualRobot

import thunder_dynamics as td
from thunder_controllers.resources import share

PAYLOAD = 0.5
"""At the flange [kg]."""

PUSH = "push 0 0 -150"
"""More than the 20 N and N·m at which a collision is one, unless they were set."""

BROADCASTERS = ("joint_state_broadcaster", "franka_robot_state_broadcaster")


def begin(probe: Probe) -> None:
    """The figure, and learning, of an active controller."""
    assert probe.call(Trigger, f"/{NAME}/start").success
    assert probe.call(SetBool, f"/{NAME}/freeze_adaptation", SetBool.Request(data=False)).success


def measure(watch: Watch, nominal: float, seconds: float) -> dict[str, Any]:
    """Errors and the payload, from now on for so long [s], of which a step is a millisecond whatever its stamp."""
    first, wall = int(watch.health()["steps"]), time.monotonic()

    def wait(duration: float) -> None:
        enough = lambda report: int(health(report).get("steps", 0)) >= first + 1000.0 * duration  # noqa: E731
        watch.reports.wait(enough, timeout=10.0 * PATIENCE)

    wait(min(SETTLED, 0.5 * seconds))
    settled = watch.now()
    wait(seconds)
    return {
        "error [m]": errors_of(watch.error(settled, watch.now())),
        "payload [kg]": watch.bodies.latest.inertia.m - nominal,
        "real-time factor": seconds / (time.monotonic() - wall),
        "health": watch.health(),
    }


def simulated(domain: int, log: Path, seconds: float, more: list[str]) -> dict[str, Any]:
    """MuJoCo's hardware: everything starts by itself."""
    nominal = td.load_model(share("urdf/panda.urdf.xacro")).links[-1].inertia.mass
    words = ["backend:=ros2_control", f"payload:={PAYLOAD}", f"law:={LAW}", *more]
    with launched(log, *words), Probe(domain, "backend_run") as probe:
        watch = Watch(probe)
        watch.errors.wait(timeout=PATIENCE)
        return measure(watch, nominal, seconds)


def reflex(probe: Probe, virtual: VirtualRobot) -> dict[str, Any]:
    """A collision, and the recovery of docs/gazebo-and-franka.md."""
    from franka_msgs.action import ErrorRecovery  # noqa: PLC0415

    virtual.say(PUSH)
    probe.wait_until(lambda: states(probe).get(NAME) != "active", "reflex", PATIENCE)
    result: dict[str, Any] = {"controllers after the reflex": states(probe)}
    virtual.say("push 0 0 0")
    client = ActionClient(probe.node, ErrorRecovery, "/action_server/error_recovery")
    assert client.wait_for_server(PATIENCE)
    answers: list[Any] = []
    # in the executor's thread: an answer that comes before the client has noted its question is lost
    probe.in_own_thread(lambda goal: answers.append(client.send_goal_async(goal)), ErrorRecovery.Goal())
    probe.wait_until(lambda: answers and answers[0].done(), "answer to the error recovery", PATIENCE)
    probe.in_own_thread(lambda goal: answers.append(goal.get_result_async()), answers[0].result())
    probe.wait_until(lambda: answers[1:] and answers[1].done(), "error recovery", PATIENCE)
    result["error recovery"] = answers[1].result().status
    state = State(id=State.PRIMARY_STATE_ACTIVE, label="active")
    request = {"name": "FrankaHardwareInterface", "target_state": state}
    assert manage(probe, SetHardwareComponentState, "set_hardware_component_state", **request).ok
    assert switch(probe, [name for name in (*BROADCASTERS, NAME) if states(probe)[name] != "active"], [])
    result["controllers after the recovery"] = states(probe)
    return result


def franka(domain: int, log: Path, seconds: float, more: list[str]) -> dict[str, Any]:
    """franka_ros2 on a virtual FR3, step by step."""
    urdf, own = log.with_suffix(".urdf"), log.with_suffix(".yaml")
    subprocess.run(["xacro", str(share("urdf/franka_arm.urdf.xacro")), "robot_type:=fr3", "-o", str(urdf)], check=True)
    own.write_text(f"/**/{NAME}:\n  ros__parameters:\n    fixed_period: true\n")
    nominal = td.load_model(urdf).links[-1].inertia.mass
    body = ["--payload-mass", str(PAYLOAD), *(word for word in more if ":=" not in word)]
    with VirtualRobot("--arm", "fr3", "--inertial", urdf, *body) as virtual:
        words = ["backend:=franka", f"robot_ip:={virtual.address}", f"law:={LAW}", f"gains:={own}"]
        words += [word for word in more if ":=" in word]
        with launched(log, *words), Probe(domain, "backend_run") as probe:
            watch = Watch(probe, "fr3_link7")
            probe.wait_until(lambda: states(probe).get(NAME) == "inactive", "configured controller", PATIENCE)
            assert switch(probe, [NAME], [])
            watch.errors.wait(timeout=PATIENCE)
            begin(probe)
            result = measure(watch, nominal, seconds)
            sys.stderr.write(f"{result}\n")
            result |= reflex(probe, virtual)
            begin(probe)
            return result | {"after the recovery": measure(watch, nominal, 2.0 * SETTLED)}


if __name__ == "__main__":
    os.environ["ROS_DOMAIN_ID"] = sys.argv[1]
    number, place, length, backend, *rest = int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:]
    found = (simulated if backend == "ros2_control" else franka)(number, place, length, rest)
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
