"""Gives the plugin, or the node, targets of a tool in frames of tf, in MuJoCo, and prints what it saw as JSON.

    frames_run.py DOMAIN LOG ros2_control|mujoco

The base of the law is panda_link0, which stands in `world`. Run with test/ros in PYTHONPATH, ROS 2 and this package
sourced; not a test by itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Transform, TransformStamped, Twist
from launched import NAME, PATIENCE, health, launched
from nodes import Probe
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from thunder_controllers.ros.common.messages import write_rotation, write_stamp, write_vector
from thunder_controllers.ros.common.qos import LATCHED, REQUEST

PARAMETERS = f"/**/{NAME}:\n  ros__parameters: {{base_frame: panda_link0, ee_frame: hand, tool_frame: gripper}}\n"


def matrix(place: list[float], turn: list[float]) -> np.ndarray:
    """A homogeneous transform, of a translation and Euler angles."""
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = Rotation.from_euler("xyz", turn).as_matrix(), place
    return found


BASE = matrix([0.3, -0.2, 0.8], [0.0, 0.0, 0.5])
CAMERA = matrix([1.2, 0.1, 1.6], [2.2, 0.3, -1.0])
TOOL = matrix([0.02, -0.03, 0.12], [0.1, 0.2, 0.7])
CARTS = [matrix([x, 0.0, 0.4], [0.0, 0.0, 0.0]) for x in (0.1, 0.3)]
"""Where the cart is at first and then."""


NEAR = 5e-4
"""How near the tool must come to a target [m, rad]."""


def transform(parent: str, child: str, numbers: np.ndarray, stamp: int = 0) -> TransformStamped:
    """As tf has it."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    write_stamp(message.header.stamp, stamp)
    write_vector(message.transform.translation, numbers[:3, 3])
    write_rotation(message.transform.rotation, numbers[:3, :3])
    return message


class Frames:
    """Targets, and where the tool is."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.poses = probe.listen(PoseStamped, f"/{NAME}/pose")
        self.reports = probe.listen(DiagnosticArray, "/diagnostics", 100)
        self.poses.wait(timeout=PATIENCE)
        self.targets = probe.publisher(PoseStamped, f"/{NAME}/target_pose", REQUEST)
        self.ways = probe.publisher(MultiDOFJointTrajectory, f"/{NAME}/trajectory", REQUEST)

    def tool(self) -> np.ndarray:
        """Where it is now, in the base frame."""
        self.poses.clear()
        message = self.poses.wait(timeout=PATIENCE)
        assert message.header.frame_id == "panda_link0"
        p, q = message.pose.position, message.pose.orientation
        hand = np.eye(4)
        hand[:3, :3], hand[:3, 3] = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix(), [p.x, p.y, p.z]
        return hand @ TOOL

    def target(self, frame: str, numbers: np.ndarray, stamp: int = 0) -> None:
        """Ask for it."""
        message = PoseStamped()
        message.header.frame_id = frame
        write_stamp(message.header.stamp, stamp)
        write_vector(message.pose.position, numbers[:3, 3])
        write_rotation(message.pose.orientation, numbers[:3, :3])
        self.targets.publish(message)

    def refusal(self, frame: str, word: str, stamp: int = 0) -> str:
        """Why a target in a frame is refused: asked for until a word is in the reason, as tf may still be coming in."""
        found: list[str] = []

        def is_told() -> bool:
            self.target(frame, np.eye(4), stamp)
            self.reports.clear()
            report = self.reports.wait(lambda report: bool(health(report)), timeout=PATIENCE)
            found.append(health(report)["last refused reference"])
            return word in found[-1]

        self.probe.wait_until(is_told, word, 60.0)
        return found[-1]

    def error_at(self, wanted: np.ndarray) -> list[float]:
        """How far the tool is from a place in the base frame, once it has come near [m, rad]."""
        found: list[float] = []

        def is_near() -> bool:
            tool = self.tool()
            turn = Rotation.from_matrix(wanted[:3, :3].T @ tool[:3, :3]).magnitude()
            found[:] = [float(np.linalg.norm(tool[:3, 3] - wanted[:3, 3])), float(turn)]
            return max(found) < NEAR

        self.probe.wait_until(is_near, f"tool at {wanted[:3, 3]}, not {found}", 60.0)
        return found


def drive(probe: Probe) -> dict[str, Any]:
    """To targets in a fixed, a moving and an unknown frame."""
    frames = Frames(probe)
    start = frames.tool()
    found: dict[str, Any] = {"no tool yet": frames.refusal("panda_link0", "tool_frame")}
    fixed = probe.publisher(TFMessage, "/tf_static", LATCHED)
    names = (("world", "panda_link0", BASE), ("world", "camera", CAMERA), ("hand", "gripper", TOOL))
    fixed.publish(TFMessage(transforms=[transform(*entry) for entry in names]))
    found["unknown frame"] = frames.refusal("shelf", '"shelf" passed')

    def moved(way: list[float], turn: list[float]) -> np.ndarray:
        wanted = start @ matrix([0.0, 0.0, 0.0], turn)
        wanted[:3, 3] += way
        return wanted

    wanted = moved([0.05, 0.1, -0.05], [0.1, -0.1, 0.3])
    frames.target("camera", np.linalg.inv(CAMERA) @ BASE @ wanted)
    found["camera"] = frames.error_at(wanted)
    wanted = moved([-0.05, -0.1, 0.0], [0.0, 0.2, 0.0])
    frames.target("world", BASE @ wanted)
    found["world"] = frames.error_at(wanted)
    wanted = moved([0.0, 0.05, 0.05], [0.0, 0.0, 0.0])
    frames.target("panda_link0", wanted)
    found["base"] = frames.error_at(wanted)

    now = time.time_ns()
    moving = probe.publisher(TFMessage, "/tf", 100)
    stamps = (now - 10**9, now)
    moving.publish(TFMessage(transforms=[transform("world", "cart", *at) for at in zip(CARTS, stamps, strict=True)]))
    found["future"] = frames.refusal("cart", "extrapolation", now + 10**12)
    wanted = moved([0.0, -0.05, 0.0], [0.0, 0.0, -0.2])
    frames.target("cart", np.linalg.inv((CARTS[0] + CARTS[1]) / 2.0) @ BASE @ wanted, now - 5 * 10**8)
    found["cart between its places"] = frames.error_at(wanted)

    way = MultiDOFJointTrajectory(joint_names=["gripper"])
    way.header.frame_id = "camera"
    for second, share in ((3, 0.5), (6, 1.0)):
        point = MultiDOFJointTrajectoryPoint(transforms=[Transform()], velocities=[Twist()], accelerations=[Twist()])
        place = between(wanted, start, share)
        stamped = transform("camera", "", np.linalg.inv(CAMERA) @ BASE @ place)
        point.transforms[0] = stamped.transform
        point.time_from_start.sec = second
        way.points.append(point)
    frames.ways.publish(way)
    found["trajectory"] = frames.error_at(start)
    return found


def between(first: np.ndarray, second: np.ndarray, share: float) -> np.ndarray:
    """A pose on the way from one to another."""
    turn = Rotation.from_matrix(first[:3, :3].T @ second[:3, :3]).as_rotvec()
    found = np.eye(4)
    found[:3, :3] = first[:3, :3] @ Rotation.from_rotvec(share * turn).as_matrix()
    found[:3, 3] = first[:3, 3] + share * (second[:3, 3] - first[:3, 3])
    return found


if __name__ == "__main__":
    os.environ["ROS_DOMAIN_ID"] = sys.argv[1]
    log = Path(sys.argv[2])
    own = log.with_suffix(".yaml")
    own.write_text(PARAMETERS)
    words = [f"backend:={sys.argv[3]}", "law:=cartesian_backstepping", "reference:=none", f"gains:={own}"]
    with launched(log, *words), Probe(int(sys.argv[1]), "frames_run") as asking:
        sys.stdout.write(json.dumps(drive(asking), indent=1) + "\n")
