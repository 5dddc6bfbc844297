"""Drives the plugin in a running controller_manager, and prints what it saw as JSON: manager_run.py URDF.

Run by the interpreter of the sourced ROS 2, beside ros2_control_node; not a test by itself.
"""

from __future__ import annotations

import copy
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from controller_manager_msgs.srv import (
    CleanupController,
    ConfigureController,
    ListControllers,
    LoadController,
    SwitchController,
    UnloadController,
)
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped, TwistStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger

NAME, OTHER = "adaptive_controller", "effort_controller"
PATIENCE = 60.0
"""How long anything may take [s]; what is waited for takes milliseconds on a quiet machine."""


class Session:
    """A node with the plugin's topics and the manager's services."""

    def __init__(self, description: str) -> None:
        self._node = rclpy.create_node("manager_run")
        self.seen: dict[str, Any] = {}
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self._node.create_publisher(String, "/robot_description", latched)
        self._description.publish(String(data=description))
        self.target = self._node.create_publisher(PoseStamped, f"/{NAME}/target_pose", 1)
        for kind, topic in ((PoseStamped, "pose"), (TwistStamped, "pose_error")):
            self._listen(kind, f"/{NAME}/{topic}", topic)
        self._listen(InertiaStamped, f"/{NAME}/estimates/panda_link7", "estimate")
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        threading.Thread(target=rclpy.spin, args=(self._node,), daemon=True).start()

    def _listen(self, kind: Any, topic: str, key: str) -> None:
        self._node.create_subscription(kind, topic, lambda message: self.seen.__setitem__(key, message), 10)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == NAME:
                values = {pair.key: pair.value for pair in status.values}
                self.seen["health"] = {"message": status.message, **values}

    def call(self, kind: Any, service: str, **request: Any) -> Any:
        """Call a service and wait for its answer."""
        client = self._node.create_client(kind, service)
        if not client.wait_for_service(PATIENCE):
            raise TimeoutError(service)
        return client.call(kind.Request(**request))

    def manage(self, kind: Any, service: str, **request: Any) -> bool:
        """Call a service of the controller manager; whether it was done."""
        return bool(self.call(kind, f"/controller_manager/{service}", **request).ok)

    def switch(self, on: list[str], off: list[str]) -> bool:
        """Activate and deactivate, all or none."""
        request = {"activate_controllers": on, "deactivate_controllers": off, "strictness": 2}
        return self.manage(SwitchController, "switch_controller", **request)

    def states(self) -> dict[str, str]:
        """State by controller, as `ros2 control list_controllers` shows it."""
        answer = self.call(ListControllers, "/controller_manager/list_controllers")
        return {controller.name: controller.state for controller in answer.controller}

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(0.02)

    def error(self) -> float:
        """Distance from the reference [m]."""
        linear = self.seen["pose_error"].twist.linear
        return math.sqrt(linear.x**2 + linear.y**2 + linear.z**2)

    def health(self, key: str) -> str:
        """A value of the plugin's newest diagnostics."""
        return str(self.seen.get("health", {}).get(key, ""))

    def move(self, step: tuple[float, float, float]) -> None:
        """Send a target beside the present pose, and wait until it is reached."""
        message = PoseStamped()
        message.header.frame_id = "world"
        message.pose = copy.deepcopy(self.seen["pose"].pose)
        position = message.pose.position
        goal = [position.x + step[0], position.y + step[1], position.z + step[2]]
        position.x, position.y, position.z = goal
        self.target.publish(message)
        self.wait(lambda: math.dist(goal, self.place()) < 1e-4, f"a pose at {goal}")

    def place(self) -> list[float]:
        """Where the end effector is [m]."""
        position = self.seen["pose"].pose.position
        return [position.x, position.y, position.z]


def drive(session: Session) -> dict[str, Any]:
    """The life of the plugin: load, track, give way to another controller, come back, end."""
    for name in (NAME, OTHER):
        assert session.manage(LoadController, "load_controller", name=name), name
        assert session.manage(ConfigureController, "configure_controller", name=name), name
    assert session.switch([NAME], [])
    session.wait(lambda: {"pose", "pose_error"} <= session.seen.keys(), "a pose")
    session.wait(lambda: session.states()[NAME] == "active", "an active plugin")
    for step in 3 * [(0.1, 0.1, 0.0), (-0.1, 0.0, 0.1), (0.0, -0.1, -0.1)]:
        session.move(step)
    moving = int(session.health("steps"))
    session.wait(lambda: session.health("reference") == "hold" and int(session.health("steps")) > moving, "rest")
    result: dict[str, Any] = {"health": session.seen["health"], "error": session.error()}
    result["mass"] = session.seen["estimate"].inertia.m
    assert session.call(Trigger, f"/{NAME}/stop").success
    result["other"] = session.switch([OTHER], [NAME]) and session.states()
    result["back"] = session.switch([NAME], [OTHER]) and session.states()
    time.sleep(1.0)  # the estimates, kept from before, hold the arm
    result["error after the return"] = session.error()
    result["off"] = session.switch([], [NAME]) and session.states()
    assert session.manage(CleanupController, "cleanup_controller", name=NAME)
    assert session.manage(UnloadController, "unload_controller", name=NAME)
    result["unloaded"] = session.states()
    return result


def main() -> None:
    """Drive the plugin and print the result."""
    rclpy.init()
    result = drive(Session(Path(sys.argv[1]).read_text(encoding="utf-8")))
    sys.stdout.write(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the spinning thread would wait for a message


if __name__ == "__main__":
    main()
