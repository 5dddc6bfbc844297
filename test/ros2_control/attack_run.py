"""Sends the plugin what nobody asked for, then what it must still take: attack_run.py DOMAIN LIBRARY.

Run beside `plugin_cycle listen`, with test/ros in PYTHONPATH; not a test by itself.
"""

from __future__ import annotations

import sys

from geometry_msgs.msg import PoseStamped, TwistStamped
from nodes import Probe
from std_srvs.srv import Trigger
from test_messages_are_data import Attack, subscribed

from thunder_controllers.host import Library
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR, REQUEST
from thunder_controllers.ros.interfaces import NODES

NODE = f"/{names.CONTROLLER}"
TOPICS = ("~/reference", "~/target_pose", "~/trajectory")
"""Of the plugin with a Cartesian law: states and library come to it otherwise."""


def main() -> None:
    """Attack the plugin, stop what that has set going, and have it follow a valid target."""
    with Probe(int(sys.argv[1]), "attacker") as probe:
        poses = probe.listen(PoseStamped, f"{NODE}/pose", MONITOR)
        poses.wait()
        attack = Attack(probe, NODES[names.CONTROLLER], Library(sys.argv[2]))
        attack.topics([topic for topic in subscribed(NODES[names.CONTROLLER]) if topic.name in TOPICS])
        attack.services()
        assert probe.call(Trigger, f"{NODE}/stop").success
        assert probe.state(NODE) == "active"
        targets = probe.publisher(PoseStamped, f"{NODE}/target_pose", REQUEST)
        target = poses.wait_new()
        target.pose.position.z += 0.05
        with probe.listening(TwistStamped, f"{NODE}/pose_error", MONITOR) as errors:
            targets.publish(target)  # the arm stays where it is: what is left to do grows to 5 cm
            errors.wait(lambda error: abs(error.twist.linear.z - 0.05) < 1e-3 and abs(error.twist.linear.x) < 1e-3)


if __name__ == "__main__":
    main()
