"""A law that sees the end effector: the node subscribes to its measured pose, and refuses what it does not say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from controller_robot import NODE, TestRobot
from geometry_msgs.msg import PoseStamped
from observer_law import build_planar

from thunder_controllers.host import Library
from thunder_controllers.ros.common.qos import SENSOR


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    return Library(build_planar("seeing"))


@pytest.fixture
def publisher(robot: TestRobot) -> Iterator[Any]:
    robot.q = np.array([0.3, -0.5, 0.4])
    robot.activate()
    with robot.probe.advertising(PoseStamped, f"{NODE}/measured_pose", SENSOR) as publisher:
        robot.probe.wait_until(lambda: publisher.get_subscription_count() > 0, "subscription to measured poses")
        yield publisher


def unused(robot: TestRobot) -> int:
    return int(robot.report()["guard measurement_unused"])


def message(robot: TestRobot, position: Any = (0.1, 0.2, 0.3), frame: str = "world", stamp: int | None = None) -> Any:
    given = PoseStamped()  # its quaternion is zero: nothing is asked of it
    given.header.frame_id = frame
    nanoseconds = robot.stamp_ns if stamp is None else stamp
    given.header.stamp.sec, given.header.stamp.nanosec = divmod(nanoseconds, 10**9)
    given.pose.position.x, given.pose.position.y, given.pose.position.z = position
    return given


def test_the_law_goes_on_without_a_pose_and_takes_one_that_is_measured(robot: TestRobot, publisher: Any) -> None:
    robot.probe.wait_until(lambda: robot.step() is not None and unused(robot) > 0, "the guard of a missing measurement")

    def is_used() -> bool:
        publisher.publish(message(robot))
        before = unused(robot)
        robot.step()
        return unused(robot) == before

    robot.probe.wait_until(is_used, "the measured pose to be used")


def test_poses_in_other_frames_without_stamps_or_numbers_are_refused(robot: TestRobot, publisher: Any) -> None:
    robot.step()
    for given, reason in (
        (message(robot, frame="tool"), "measured_pose: frame_id 'tool'"),
        (message(robot, position=(0.0, np.nan, 0.0)), "measured_pose: a position is not finite"),
        (message(robot, stamp=0), "ee_position: stamp: is 0 ns"),
        (message(robot, stamp=robot.stamp_ns + 10**11), "ahead of the joints"),
    ):
        publisher.publish(given)
        with robot.running():
            robot.report(lambda values, reason=reason: reason in values["last refused reference"])
