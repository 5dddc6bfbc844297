"""Shows the plugin a tip that is not where its library has it, and prints how far that is from its target, as JSON.

    tip_run.py DOMAIN URDF LIBRARY

Run beside ros2_control_node, whose arm is as the library says but for its tool, with test/ros in PYTHONPATH; not a test
by itself.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from controller_manager_msgs.srv import ConfigureController, LoadController
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from launched import NAME, health, time_of
from manager import manage, positions, switch
from nodes import Probe
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from thunder_controllers.host import Library
from thunder_controllers.ros.common.qos import SENSOR

BROADCASTER = "joint_state_broadcaster"
OFFSET = np.array([0.0, 0.03, 0.04])
"""From the end effector of the library to the tip, in the axes of the end effector [m]."""
STEP = np.array([0.05, 0.05, -0.05])
PERIOD = 0.01
"""Between two poses of the sensor [s]."""
CLOSE = 5e-4
"""Distance of the tip from its target that is waited for: a hundredth of the offset, after 5 s at 1/s [m]."""

PATIENCE = 120.0
"""How long anything may take [s]; the tip takes 5 s."""


class Sensor:
    """What a camera sees of the tip, which the joints tell as the true arm has it."""

    def __init__(self, probe: Probe, library: Library) -> None:
        """Listen to the joints; poses are told from `see` alone."""
        self.probe, self.library = probe, library
        self.joints = probe.listen(JointState, "/joint_states")
        self.poses = probe.publisher(PoseStamped, f"/{NAME}/measured_pose", SENSOR)
        self.told = 0.0

    def tip(self, state: JointState) -> np.ndarray:
        """Where the tip is, in the world [m]."""
        pose = self.library.evaluate("T_0_ee", np.array(positions(state)))
        return pose[:3, 3] + pose[:3, :3] @ OFFSET

    def distance(self, goal: np.ndarray) -> float:
        """Of the tip from there, now [m]."""
        return float(np.linalg.norm(self.tip(self.joints.latest) - goal))

    def see(self, frame: str = "world", error: float = 0.0) -> None:
        """Tell of the newest state, if the last pose is old enough."""
        state = self.joints.latest
        if 0.0 <= time_of(state) - self.told < PERIOD:
            return
        self.told = time_of(state)
        given = PoseStamped(header=state.header)
        given.header.frame_id = frame
        tip = self.tip(state) + error
        given.pose.position.x, given.pose.position.y, given.pose.position.z = tip.tolist()
        self.poses.publish(given)

    def see_until(self, condition: Callable[[], bool], what: str, **wrong: Any) -> None:
        """Tell of one state after the other until a condition holds."""

        def holds() -> bool:
            self.see(**wrong)
            return condition()

        self.probe.wait_until(holds, what, PATIENCE)


def run(probe: Probe, description: str, library: Library) -> dict[str, Any]:
    """To a target without the sensor, then with it, then with one whose poses are refused."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    probe.publisher(String, "/robot_description", latched).publish(String(data=description))
    for name in (BROADCASTER, NAME):
        assert manage(probe, LoadController, "load_controller", name=name).ok
        assert manage(probe, ConfigureController, "configure_controller", name=name).ok
    poses, reports = probe.listen(PoseStamped, f"/{NAME}/pose"), probe.listen(DiagnosticArray, "/diagnostics")
    assert switch(probe, [BROADCASTER, NAME], [])
    sensor = Sensor(probe, library)
    sensor.joints.wait(timeout=PATIENCE)

    target = copy.deepcopy(poses.wait(timeout=PATIENCE))
    place = target.pose.position
    place.x, place.y, place.z = goal = np.array([place.x, place.y, place.z]) + STEP
    probe.publisher(PoseStamped, f"/{NAME}/target_pose", 1).publish(target)
    poses.wait(lambda pose: np.linalg.norm(place_of(pose) - goal) < 1e-5, timeout=PATIENCE)

    def told() -> list[dict[str, str]]:
        """What the plugin, and not the manager, says of itself since the last `clear`."""
        return [values for report in list(reports.messages) if (values := health(report))]

    def unused() -> int:
        """Steps without a pose, from one report to the next, while the sensor tells."""
        reports.clear()
        sensor.see_until(lambda: len(told()) > 1, "reports")
        first, second = (int(values["guard measurement_unused"]) for values in told()[:2])
        return second - first

    reports.clear()
    report = health(reports.wait(health, timeout=PATIENCE))
    result: dict[str, Any] = {"offset": float(np.linalg.norm(OFFSET))}
    result["unseen"] = {"error": sensor.distance(goal), "unused": int(report["guard measurement_unused"])}
    sensor.see_until(lambda: sensor.distance(goal) < CLOSE, "tip at the target")
    probe.wait_until(lambda: unused() == 0, "steps that all have a pose", PATIENCE)
    result["seen"] = {"error": sensor.distance(goal)}
    for wrong, reason in (({"frame": "camera"}, "frame_id 'camera'"), ({"error": np.nan}, "a position is not finite")):
        text = f"measured_pose: {reason}"
        sensor.see_until(lambda text=text: any(text in v["last refused reference"] for v in told()), text, **wrong)
    result["refused"] = {"error": sensor.distance(goal)}
    return result


def place_of(pose: PoseStamped) -> np.ndarray:
    """Of the end effector [m]."""
    position = pose.pose.position
    return np.array([position.x, position.y, position.z])


if __name__ == "__main__":
    with Probe(int(sys.argv[1]), "camera") as camera:
        seen = run(camera, Path(sys.argv[2]).read_text(encoding="utf-8"), Library(sys.argv[3]))
    sys.stdout.write(json.dumps(seen))
