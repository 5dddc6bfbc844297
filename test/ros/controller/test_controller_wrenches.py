"""A law that asks for wrenches: the node subscribes to them, feeds them, and refuses what they do not say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from controller_robot import NODE, TestRobot
from geometry_msgs.msg import WrenchStamped
from nodes import Probe
from observer_law import build_planar

from thunder_controllers.host import Library
from thunder_controllers.ros.common.qos import REQUEST

PUSH = np.array([2.0, 0.0, -3.0, 0.0, 0.5, 0.0])


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    return Library(build_planar("pushing"))


@pytest.fixture
def robot(robot: TestRobot) -> TestRobot:
    robot.q = np.array([0.3, -0.5, 0.4])
    robot.activate()
    return robot


def message(wrench: np.ndarray, frame: str = "world") -> WrenchStamped:
    given = WrenchStamped()
    given.header.frame_id = frame
    force, torque = given.wrench.force, given.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench.tolist()
    return given


@pytest.fixture
def publishers(robot: TestRobot) -> Iterator[tuple[Any, Any]]:
    probe = robot.probe
    with (
        probe.advertising(WrenchStamped, f"{NODE}/reference_wrench", REQUEST) as wanted,
        probe.advertising(WrenchStamped, f"{NODE}/measured_wrench", REQUEST) as measured,
    ):
        for publisher in (wanted, measured):
            probe.wait_until(lambda p=publisher: p.get_subscription_count() > 0, "subscription to wrenches")
        yield wanted, measured


def wait_for_effort(robot: TestRobot, wrench: np.ndarray) -> None:
    expected = robot.gravity + robot.library.evaluate("J_ee", robot.q).T @ wrench
    robot.probe.wait_until(lambda: np.abs(robot.step() - expected).max() < 1e-9, f"the effort of {wrench}")


def test_the_law_gets_the_wrench_that_is_wanted_and_the_one_that_is_measured(
    robot: TestRobot, publishers: tuple[Any, Any]
) -> None:
    wanted, measured = publishers
    wait_for_effort(robot, np.zeros(6))
    wanted.publish(message(PUSH))
    wait_for_effort(robot, PUSH)
    measured.publish(message(0.5 * PUSH))
    wait_for_effort(robot, 0.5 * PUSH)


def test_wrenches_in_other_frames_and_wanted_ones_that_are_not_finite_are_refused(
    robot: TestRobot, publishers: tuple[Any, Any]
) -> None:
    wanted, measured = publishers
    for publisher, given, reason in (
        (wanted, message(PUSH, "tool"), "reference_wrench: frame_id 'tool'"),
        (measured, message(PUSH, "tool"), "measured_wrench: frame_id 'tool'"),
        (wanted, message(np.nan * PUSH), "pushing.reference.wrench: element 0 is"),
    ):
        publisher.publish(given)
        with robot.running():
            robot.report(lambda values, reason=reason: reason in values["last refused reference"])
    wait_for_effort(robot, np.zeros(6))


def test_a_measured_wrench_that_is_not_finite_is_a_bad_measurement(
    robot: TestRobot, publishers: tuple[Any, Any]
) -> None:
    publishers[1].publish(message(np.inf * np.ones(6)))
    robot.probe.wait_until(
        lambda: np.isfinite(robot.step()).all() and robot.report()["guard measurement_non_finite"] != "0",
        "the guard of bad measurements",
    )


def test_a_law_that_no_topic_can_feed_is_refused_when_it_is_configured(probe: Probe, build_cache: Path) -> None:
    robot = TestRobot(probe, Library(build_planar("observer")))
    try:
        assert not robot.transition("configure")
        message = robot.report(lambda values: "refused" in values["message"])["message"]
        assert "topics: the law observer needs the measurement 'external_effort'; valid: ee_position, wrench" in message
    finally:
        robot.close()
