"""Sends the plugin what nobody asked for, then asks what it must still do: attack_run.py DOMAIN LIBRARY.

Run beside `plugin_cycle listen`, with test/ros in PYTHONPATH; not a test by itself.
"""

from __future__ import annotations

import sys

from geometry_msgs.msg import PoseStamped
from nodes import Probe
from std_srvs.srv import Trigger
from test_messages_are_data import Attack, subscribed

from thunder_controllers.host import Library
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR
from thunder_controllers.ros.interfaces import NODES

NODE = f"/{names.CONTROLLER}"
TOPICS = ("~/reference", "~/target_pose", "~/trajectory")
"""Of the plugin with a Cartesian law: states and library come to it otherwise."""


def main() -> None:
    """Attack the plugin; then it must still stop what that has set going, publish and answer."""
    with Probe(int(sys.argv[1]), "attacker") as probe:
        poses = probe.listen(PoseStamped, f"{NODE}/pose", MONITOR)
        poses.wait()
        attack = Attack(probe, NODES[names.CONTROLLER], Library(sys.argv[2]))
        attack.topics([topic for topic in subscribed(NODES[names.CONTROLLER]) if topic.name in TOPICS])
        assert probe.call(Trigger, f"{NODE}/stop").success
        poses.wait_new(10)
        attack.services()
        attack.ask()


if __name__ == "__main__":
    main()
