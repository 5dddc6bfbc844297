"""Sends the plugin measured poses, good ones and bad ones, and sees what it makes of them: pose_run.py DOMAIN LIBRARY.

Run beside `plugin_cycle listen law:=seeing`, with test/ros in PYTHONPATH; not a test by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from control_msgs.msg import JointTrajectoryControllerState
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from launched import health
from nodes import Probe

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR, SENSOR

NODE = f"/{names.CONTROLLER}"
PLACE = (0.1, 0.2, 0.3)


def message(stamp: Time, position: Sequence[float] = PLACE, frame: str = "world") -> PoseStamped:
    """Its quaternion is that of a message that nobody has filled in: nothing is asked of it."""
    given = PoseStamped()
    given.header.frame_id, given.header.stamp = frame, stamp
    given.pose.position.x, given.pose.position.y, given.pose.position.z = position
    return given


def main() -> None:
    """Without poses the guard acts in every step; with them in none; what is refused is told."""
    with Probe(int(sys.argv[1]), "camera") as probe:
        states = probe.listen(JointTrajectoryControllerState, f"{NODE}/controller_state", MONITOR)
        reports = probe.listen(DiagnosticArray, "/diagnostics", MONITOR)
        poses = probe.publisher(PoseStamped, f"{NODE}/measured_pose", SENSOR)

        def unused(tells: bool) -> int:
            """Steps without a measured pose from one report to the next, while poses are told or not."""
            reports.clear()

            def reported() -> bool:
                if tells:
                    poses.publish(message(states.latest.header.stamp))
                return len(reports) > 1

            probe.wait_until(reported, "reports")
            first, second = (int(health(report)["guard measurement_unused"]) for report in reports.messages[:2])
            return second - first

        probe.wait_until(lambda: unused(tells=False) > 0, "the guard of a missing measurement")
        probe.wait_until(lambda: unused(tells=True) == 0, "steps that all have a measured pose")
        for given, reason in (
            (message(states.latest.header.stamp, frame="tool"), "measured_pose: frame_id 'tool'"),
            (message(states.latest.header.stamp, (0.0, np.nan, 0.0)), "measured_pose: a position is not finite"),
            (message(Time()), "ee_position: stamp: is 0 ns"),
            (message(Time(sec=states.latest.header.stamp.sec + 100)), "ahead of the joints"),
        ):
            poses.publish(given)
            reports.wait(lambda report, reason=reason: reason in health(report)["last refused reference"])


if __name__ == "__main__":
    main()
