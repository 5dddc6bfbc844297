"""Runs the Panda by the launch file in controller_manager, and prints what it saw as JSON.

    backend_run.py DOMAIN LOG SECONDS PAYLOAD ros2_control|franka [OPTION…]

PAYLOAD is a mass at the flange that nobody tells the controller of [kg]. For `franka` a virtual Franka is started with
the options, and at the end it is pushed too hard, and recovers as docs/franka.md says. SECONDS are the arm's: a step
is 1 ms. Run with test and test/ros in PYTHONPATH, ROS 2 and this package sourced; not a test by itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from launched_system import LAW, NAME, PATIENCE, SETTLED, Watch, errors_of, launched
from manager_run import states
from nodes import Probe
from std_srvs.srv import SetBool

ROOT = Path(__file__).resolve().parents[2]
STEP = 1e-3
BROADCASTERS = ["joint_state_broadcaster", "franka_robot_state_broadcaster"]
PUSH = "push 0 0 -60"
"""Three times what the virtual Franka takes for a collision [N]."""

OWN = {"ros2_control": ("panda_link7", 0.735522), "franka": ("fr3_link7", 0.6271432862)}
"""The last link and its mass without the payload [kg], by backend."""

LOCKSTEP = ROOT / "config/ros2_control/franka_lockstep.yaml"


def ros2(*words: str) -> str:
    """What a command of `ros2` prints, output and errors; it must do what it is told."""
    run = subprocess.run(["ros2", *words], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert run.returncode == 0, f"ros2 {' '.join(words)}: {run.stdout}{run.stderr}"
    return run.stdout + run.stderr


def until_step(watch: Watch, step: int) -> float:
    """Let the controller come to that step; the time of the newest error then [s]."""
    watch.reports.wait(timeout=PATIENCE)
    reached = lambda: int(watch.report().get("steps", 0)) >= step  # noqa: E731
    watch.probe.wait_until(reached, f"step {step}", 10.0 * PATIENCE)
    return watch.now()


def follow(watch: Watch, seconds: float, own: float) -> dict[str, Any]:
    """Let the arm follow its figure."""
    begun = until_step(watch, round(min(SETTLED, 0.5 * seconds) / STEP))
    ended = until_step(watch, round(seconds / STEP))
    error = errors_of(watch.error(begun, ended))
    return {"error [m]": error, "payload [kg]": watch.bodies.latest.inertia.m - own, "health": watch.report()}


def all_are(watch: Watch, state: str) -> None:
    """Wait until all controllers are in a state."""
    watch.probe.wait_until(lambda: set(states(watch.probe).values()) == {state}, state, PATIENCE)


def trip(watch: Watch, robot: Any) -> dict[str, Any]:
    """A push that is too hard, what it leads to, and the way back."""
    robot.say(PUSH)
    robot.wait("reflex")
    all_are(watch, "inactive")
    activate = ("control", "switch_controllers", "--activate", *BROADCASTERS, NAME)
    robot.say("push 0 0 0")
    found = {"after the reflex": states(watch.probe), "hardware": ros2("control", "list_hardware_components")}
    try:
        ros2(*activate)
        found["activation in reflex"] = "taken"
    except AssertionError:
        found["activation in reflex"] = "refused"
    recover = ("/action_server/error_recovery", "franka_msgs/action/ErrorRecovery", "{}")
    found["recovery"] = ros2("action", "send_goal", *recover)
    ros2("control", "set_hardware_component_state", "FrankaHardwareInterface", "active")
    ros2(*activate)
    found["states"] = states(watch.probe)
    return found


def drive(watch: Watch, seconds: float, own: float, robot: Any) -> dict[str, Any]:
    """The run."""
    watch.errors.wait(timeout=PATIENCE)
    if robot:  # adaptation is frozen at the start
        assert watch.probe.call(SetBool, f"/{NAME}/freeze_adaptation", SetBool.Request(data=False)).success
    result = follow(watch, seconds, own)
    sys.stderr.write(f"{result}\n")
    if robot:
        result["reflexes"] = sum("reflex" in line for line in robot.heard)
        result |= trip(watch, robot)
        result["again"] = follow(watch, 5.0, own)
    return result


def main(domain: str, log: str, seconds: str, payload: str, backend: str, *options: str) -> dict[str, Any]:
    """Start everything, and drive it."""
    os.environ["ROS_DOMAIN_ID"] = domain
    link, own = OWN[backend]
    words = [f"backend:={backend}", f"law:={LAW}"]
    if backend == "ros2_control":
        with launched(Path(log), *words, f"payload:={payload}"), Probe(int(domain), "backend_run") as probe:
            return drive(Watch(probe, link), float(seconds), own, None)
    from virtual_robot import VirtualRobot

    description = Path(log).with_suffix(".urdf")
    xacro = ["xacro", str(ROOT / "urdf/franka_arm.urdf.xacro"), "robot_type:=fr3", "-o", str(description)]
    subprocess.run(xacro, check=True, timeout=PATIENCE)
    with VirtualRobot("--inertial", description, "--payload-mass", payload, *options) as robot:
        words += [f"robot_ip:={robot.address}", "autostart:=true", f"gains:={LOCKSTEP}"]
        with launched(Path(log), *words), Probe(int(domain), "backend_run") as probe:
            return drive(Watch(probe, link), float(seconds), own, robot)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:]), indent=1) + "\n")
