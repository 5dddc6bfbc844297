"""Sends the plugin wrenches and a trajectory, and sees what it makes of them: wrench_run.py DOMAIN LIBRARY.

Run beside `plugin_cycle listen law:=pushing`, with test/ros in PYTHONPATH; not a test by itself.
"""

from __future__ import annotations

import sys

import numpy as np
from control_msgs.msg import JointTrajectoryControllerState
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from nodes import Probe
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from thunder_controllers.host import Library
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR, REQUEST

NODE = f"/{names.CONTROLLER}"
PUSH = np.array([2.0, 0.0, -3.0, 0.0, 0.5, 0.0])
STEP = np.array([0.1, -0.05, 0.02])
"""Of the reference [rad]; the arm stays where it is."""


def message(wrench: np.ndarray, frame: str = "world") -> WrenchStamped:
    given = WrenchStamped()
    given.header.frame_id = frame
    force, torque = given.wrench.force, given.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench.tolist()
    return given


def main() -> None:
    """Push as wanted, less what is measured; what is refused changes nothing."""
    library = Library(sys.argv[2])
    with Probe(int(sys.argv[1]), "pusher") as probe:
        states = probe.listen(JointTrajectoryControllerState, f"{NODE}/controller_state", MONITOR)
        reports = probe.listen(DiagnosticArray, "/diagnostics", MONITOR)
        wanted = probe.publisher(WrenchStamped, f"{NODE}/reference_wrench", REQUEST)
        measured = probe.publisher(WrenchStamped, f"{NODE}/measured_wrench", REQUEST)

        def wait_for_effort(wrench: np.ndarray) -> None:
            q = np.array(states.wait_new().feedback.positions)
            expected = np.ravel(library.evaluate("G", q)) + library.evaluate("J_ee", q).T @ wrench
            probe.wait_until(
                lambda: np.abs(np.array(states.latest.output.effort) - expected).max() < 1e-9, f"effort of {wrench}"
            )

        wait_for_effort(np.zeros(6))
        wanted.publish(message(PUSH))
        wait_for_effort(PUSH)
        measured.publish(message(PUSH, "tool"))
        reports.wait(lambda report: "measured_wrench: frame_id 'tool'" in str(report.status[0].values))
        wanted.publish(message(np.nan * PUSH))
        reports.wait(lambda report: "pushing.reference.wrench: element 0 is nan" in str(report.status[0].values))
        measured.publish(message(0.5 * PUSH))
        wait_for_effort(0.5 * PUSH)

        q = np.array(states.latest.feedback.positions)
        trajectories = probe.publisher(JointTrajectory, f"{NODE}/joint_trajectory", REQUEST)
        points = [JointTrajectoryPoint(positions=q.tolist()), JointTrajectoryPoint(positions=(q + STEP).tolist())]
        points[1].time_from_start.sec = 1
        trajectories.publish(JointTrajectory(joint_names=list(library.joint_names), points=points))
        states.wait(lambda state: np.allclose(state.error.positions, STEP, rtol=0.0, atol=1e-12))


if __name__ == "__main__":
    main()
