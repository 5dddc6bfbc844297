"""Drives the plugin in a running controller_manager, and prints what it saw as JSON: manager_run.py DOMAIN URDF.

Run beside ros2_control_node, with test/ros in PYTHONPATH; not a test by itself.
"""

from __future__ import annotations

import copy
import json
import math
import sys
from pathlib import Path
from typing import Any

from controller_manager_msgs.srv import (
    CleanupController,
    ConfigureController,
    ListControllers,
    LoadController,
    SwitchController,
    UnloadController,
)
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped
from launched import NAME, health
from nodes import Inbox, Probe
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger

OTHER = "effort_controller"
PATIENCE = 600.0
"""How long anything may take [s]; what is waited for takes milliseconds on a quiet machine."""


def manage(probe: Probe, kind: Any, service: str, **request: Any) -> Any:
    """Call a service of the controller manager, which must do it."""
    answer = probe.call(kind, f"/controller_manager/{service}", kind.Request(**request), PATIENCE)
    assert getattr(answer, "ok", True), f"{service} {request}"
    return answer


def states(probe: Probe) -> dict[str, str]:
    """State by controller, as `ros2 control list_controllers` shows it."""
    return {c.name: c.state for c in manage(probe, ListControllers, "list_controllers").controller}


def switch(probe: Probe, on: list[str], off: list[str]) -> dict[str, str]:
    """Activate and deactivate, all or none; the states then."""
    request = {"activate_controllers": on, "deactivate_controllers": off, "strictness": 2}
    manage(probe, SwitchController, "switch_controller", **request)
    return states(probe)


def move(poses: Inbox, target: Any, step: tuple[float, float, float]) -> None:
    """Send a target beside the present pose, and wait until it is reached."""
    message = PoseStamped()
    message.header.frame_id = "world"
    message.pose = copy.deepcopy(poses.latest.pose)
    goal = [p + d for p, d in zip(place(poses.latest), step, strict=True)]
    message.pose.position.x, message.pose.position.y, message.pose.position.z = goal
    target.publish(message)
    poses.clear()
    poses.wait(lambda pose: math.dist(goal, place(pose)) < 1e-4, timeout=PATIENCE)


def place(pose: PoseStamped) -> list[float]:
    """Where the end effector is [m]."""
    position = pose.pose.position
    return [position.x, position.y, position.z]


def drive(probe: Probe, description: str) -> dict[str, Any]:
    """The life of the plugin: load, track, give way to another controller, come back, end."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    probe.publisher(String, "/robot_description", latched).publish(String(data=description))
    poses, errors = (probe.listen(PoseStamped, f"/{NAME}/{topic}") for topic in ("pose", "pose_error"))
    estimates = probe.listen(InertiaStamped, f"/{NAME}/estimates/panda_link7")
    reports = probe.listen(DiagnosticArray, "/diagnostics")

    def error() -> float:
        return math.hypot(*place(errors.latest))

    for name in (NAME, OTHER):
        manage(probe, LoadController, "load_controller", name=name)
        manage(probe, ConfigureController, "configure_controller", name=name)
    switch(probe, [NAME], [])
    poses.wait(timeout=PATIENCE)
    target = probe.publisher(PoseStamped, f"/{NAME}/target_pose", 1)
    for step in 3 * [(0.1, 0.1, 0.0), (-0.1, 0.0, 0.1), (0.0, -0.1, -0.1)]:
        move(poses, target, step)
    reports.clear()
    at_rest = reports.wait(lambda report: health(report).get("reference") == "hold", count=2, timeout=PATIENCE)
    result: dict[str, Any] = {"health": health(at_rest), "error": error()}
    result["mass"] = estimates.latest.inertia.m
    assert probe.call(Trigger, f"/{NAME}/stop").success
    result["other"] = switch(probe, [OTHER], [NAME])
    result["back"] = switch(probe, [NAME], [OTHER])
    errors.clear()
    errors.wait(count=50, timeout=PATIENCE)  # handover_time: the effort left by the other one knows of no payload
    result["sag after the return"] = max(math.hypot(*place(message)) for message in list(errors.messages))
    errors.clear()
    errors.wait(lambda pose: math.hypot(*place(pose)) < 1e-4, timeout=PATIENCE)  # by the estimates from before
    result["mass after the return"] = estimates.latest.inertia.m
    result["off"] = switch(probe, [], [NAME])
    manage(probe, CleanupController, "cleanup_controller", name=NAME)
    manage(probe, UnloadController, "unload_controller", name=NAME)
    result["unloaded"] = states(probe)
    return result


if __name__ == "__main__":
    with Probe(int(sys.argv[1]), "manager_run") as manager_probe:
        sys.stdout.write(json.dumps(drive(manager_probe, Path(sys.argv[2]).read_text(encoding="utf-8"))))
