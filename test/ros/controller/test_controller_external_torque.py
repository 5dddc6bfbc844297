"""A law with a momentum observer: the node publishes what it finds, in the order of the joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from controller_robot import NODE, TestRobot, build_panda
from sensor_msgs.msg import JointState

from thunder_controllers.host import Library

SETTLED = 300
"""Steps of a millisecond after which a filter of 50 rad/s has seen all but 1e-6."""


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    return build_panda({"adaptation": "none", "contact": "observe"}, law="slotine_li")


def test_what_holds_an_arm_against_its_controller_is_published(robot: TestRobot) -> None:
    """It stays beside its reference, so something takes what the effort is beyond gravity."""
    robot.q[1] += 0.02
    with robot.probe.listening(JointState, f"{NODE}/external_torque") as messages:
        robot.steps(SETTLED)
        stamp = divmod(robot.stamp_ns, 10**9)
        found = messages.wait(lambda m: (m.header.stamp.sec, m.header.stamp.nanosec) >= stamp)
    expected = robot.gravity - robot.effort
    assert list(found.name) == list(robot.library.joint_names) and not found.position
    assert abs(expected[1]) > 0.5
    np.testing.assert_allclose(found.effort, expected, atol=1e-5 * np.abs(expected).max())
