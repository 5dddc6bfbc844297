"""Asks the plugin on MuJoCo's hardware for trajectories, as MoveIt does, and prints what it saw as JSON.

    trajectory_run.py DOMAIN LOG joints|poses

Run with test/ros in PYTHONPATH, ROS 2 and this package sourced; not a test by itself.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance, JointTolerance
from geometry_msgs.msg import PoseStamped, Quaternion, Transform, Vector3
from launched import NAME, PATIENCE, launched
from manager import JOINTS, place
from nodes import Probe
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectoryPoint, MultiDOFJointTrajectoryPoint

LAWS = {"joints": "slotine_li:adapted_links=panda_link7", "poses": "cartesian_backstepping"}
STATES = {getattr(GoalStatus, name): name.removeprefix("STATUS_") for name in dir(GoalStatus) if "STATUS_" in name}
CODES = {
    getattr(FollowJointTrajectory.Result, name): name
    for name in ("SUCCESSFUL", "INVALID_GOAL", "PATH_TOLERANCE_VIOLATED", "GOAL_TOLERANCE_VIOLATED")
}


class Asking:
    """A client of the action."""

    def __init__(self, probe: Probe) -> None:
        self.probe, self.feedback = probe, []
        self.client = ActionClient(probe.node, FollowJointTrajectory, f"/{NAME}/follow_joint_trajectory")
        assert self.client.wait_for_server(PATIENCE)

    def send(self, goal: FollowJointTrajectory.Goal) -> Any:
        """The goal's handle, whose `accepted` says what became of it."""
        self.feedback.clear()
        note = lambda message: self.feedback.append(message.feedback)  # noqa: E731
        return self._answer(lambda: self.client.send_goal_async(goal, feedback_callback=note))

    def result(self, handle: Any) -> dict[str, Any]:
        """What came of it in the end."""
        found = self._answer(handle.get_result_async)
        return {
            "status": STATES[found.status],
            "code": CODES[found.result.error_code],
            "reason": found.result.error_string,
            "feedback": len(self.feedback),
        }

    def cancel(self, handle: Any) -> None:
        """And wait for the answer."""
        self._answer(handle.cancel_goal_async)

    def ask(self, goal: FollowJointTrajectory.Goal) -> dict[str, Any]:
        """Send it, and what came of it."""
        handle = self.send(goal)
        return self.result(handle) if handle.accepted else {"status": "REJECTED"}

    def _answer(self, question: Callable[[], Any]) -> Any:
        futures: list[Any] = []
        # in the executor's thread: an answer that comes before the client has noted its question is lost
        self.probe.in_own_thread(lambda _: futures.append(question()), None)
        self.probe.wait_until(lambda: futures and futures[0].done(), "answer of the action", PATIENCE)
        return futures[0].result()


def after(seconds: float) -> Duration:
    """Time from the start."""
    return Duration(sec=int(seconds), nanosec=int(1e9 * (seconds % 1.0)))


def joint_goal(start: np.ndarray, way: np.ndarray, seconds: float, **more: Any) -> FollowJointTrajectory.Goal:
    """From where the arm is, joints in another order than the controller has: positions and velocities."""
    goal = FollowJointTrajectory.Goal(**more)
    goal.trajectory.joint_names = list(reversed(JOINTS))
    for share in np.linspace(0.0, 1.0, 11):
        q = start + way * 0.5 * (1.0 - np.cos(np.pi * share))
        qd = way * 0.5 * np.pi / seconds * np.sin(np.pi * share) * (0.0 < share < 1.0)
        point = JointTrajectoryPoint(positions=q[::-1].tolist(), velocities=qd[::-1].tolist())
        point.time_from_start = after(seconds * share)
        goal.trajectory.points.append(point)
    return goal


def joints(probe: Probe) -> dict[str, Any]:
    """Goals of a joint law: one that is reached, and each end that another may have."""
    client, states = Asking(probe), probe.listen(JointState, "/joint_states")
    way = np.array([0.4, -0.2, 0.3, 0.2, -0.3, 0.2, 0.5])

    def tolerance(position: float) -> list[JointTolerance]:
        return [JointTolerance(name=name, position=position) for name in JOINTS]

    start = place(states)
    found: dict[str, Any] = {"there": client.ask(joint_goal(start, way, 3.0, goal_tolerance=tolerance(0.02)))}
    found["error [rad]"] = float(np.abs(place(states) - start - way).max())
    found["back"] = client.ask(joint_goal(place(states), start - place(states), 3.0, path_tolerance=tolerance(0.1)))
    strict = joint_goal(place(states), way, 3.0, path_tolerance=tolerance(1e-7))
    found["strict path"] = client.ask(strict)
    probe.wait_until(lambda: abs(states.latest.velocity[0]) < 1e-3, "rest", PATIENCE)
    late = joint_goal(
        place(states), start - place(states), 3.0, goal_tolerance=tolerance(1e-9), goal_time_tolerance=after(0.5)
    )
    found["strict goal"] = client.ask(late)
    handle = client.send(joint_goal(place(states), way, 4.0))
    probe.wait_until(lambda: len(client.feedback) > 3, "feedback", PATIENCE)
    client.cancel(handle)
    found["cancelled"] = client.result(handle)
    found["speed after that [rad/s]"] = max(map(abs, states.wait(timeout=PATIENCE).velocity))
    first = client.send(joint_goal(place(states), start - place(states), 4.0))
    second = client.send(joint_goal(place(states), start - place(states), 3.0))
    found["overtaken"], found["overtaking"] = client.result(first), client.result(second)
    far = joint_goal(start, 10.0 * way, 3.0)
    found["out of limits"] = client.ask(far)
    unknown = joint_goal(start, way, 3.0, path_tolerance=[JointTolerance(name="elbow", position=1.0)])
    found["unknown joint"] = client.ask(unknown)
    found["poses"] = client.ask(pose_goal(PoseStamped(), (0.0, 0.0, 0.1), 2.0))
    return found


def pose_goal(start: PoseStamped, way: Sequence[float], seconds: float) -> FollowJointTrajectory.Goal:
    """To another place, with the same orientation."""
    goal = FollowJointTrajectory.Goal()
    goal.multi_dof_trajectory.header.frame_id = start.header.frame_id
    p, r = start.pose.position, start.pose.orientation
    point = MultiDOFJointTrajectoryPoint(time_from_start=after(seconds))
    moved = Vector3(x=p.x + way[0], y=p.y + way[1], z=p.z + way[2])
    point.transforms.append(Transform(translation=moved, rotation=Quaternion(x=r.x, y=r.y, z=r.z, w=r.w)))
    goal.multi_dof_trajectory.points.append(point)
    return goal


def poses(probe: Probe) -> dict[str, Any]:
    """Goals of a Cartesian law."""
    client, places = Asking(probe), probe.listen(PoseStamped, f"/{NAME}/pose")
    start = copy.deepcopy(places.wait(timeout=PATIENCE))
    goal = pose_goal(start, (0.0, 0.15, 0.05), 3.0)
    near = JointComponentTolerance(component=JointComponentTolerance.TRANSLATION, position=0.01)
    goal.component_path_tolerance = goal.component_goal_tolerance = [near]
    found: dict[str, Any] = {"there": client.ask(goal)}
    desired, error = client.feedback[-1].multi_dof_desired.transforms, client.feedback[-1].multi_dof_error.transforms
    found["fed back [m]"] = [desired[0].translation.y - start.pose.position.y, error[0].translation.y]
    places.clear()
    found["way [m]"] = places.wait(timeout=PATIENCE).pose.position.y - start.pose.position.y
    near.component = JointComponentTolerance.X_AXIS
    found["one axis"] = client.ask(goal)
    found["joints"] = client.ask(joint_goal(np.zeros(7), np.ones(7), 3.0))
    return found


if __name__ == "__main__":
    os.environ["ROS_DOMAIN_ID"] = sys.argv[1]
    words = ["backend:=ros2_control", f"law:={LAWS[sys.argv[3]]}", "reference:=none"]
    with launched(Path(sys.argv[2]), *words), Probe(int(sys.argv[1]), "trajectory_run") as asking:
        sys.stdout.write(json.dumps({"joints": joints, "poses": poses}[sys.argv[3]](asking), indent=1) + "\n")
