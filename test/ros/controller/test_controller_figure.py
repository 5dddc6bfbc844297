"""The figure that the controller makes itself: what begins it, what refuses it; what diagnostics say of the error."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from controller_robot import NODE, TestRobot, build_panda, reference_message, reset
from geometry_msgs.msg import TwistStamped
from nodes import NodeProcess, Probe
from std_srvs.srv import Trigger

from thunder_controllers.host import Library

FIGURE = {"lissajous.amplitude": [0.0, 0.02, 0.0], "lissajous.frequency": [0.0, 2.0, 0.0], "ramp_time": 0.05}


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


@pytest.fixture
def robot(robot_of_module: TestRobot, process: NodeProcess, probe: Probe) -> Iterator[TestRobot]:
    reset(probe)
    given = {**FIGURE, "autostart": False, "tracking_error_limit": 1.0, "reference_timeout": 0.1}
    assert all(result.successful for result in probe.set_parameters(NODE, given))
    yield robot_of_module


def start(robot: TestRobot) -> Trigger.Response:
    return robot.probe.call(Trigger, f"{NODE}/start")


def furthest(robot: TestRobot, seconds: float) -> float:
    """The largest distance of the reference from the robot, which stays where it is, in simulated seconds [m]."""
    with robot.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors:
        end = robot.stamp_ns + seconds * 1e9
        robot.probe.wait_until(lambda: (robot.step(), robot.stamp_ns > end and len(errors) > 0)[1], "steps")
        return max(abs(message.twist.linear.y) for message in errors.messages)


def test_a_service_begins_the_figure_of_the_parameters(robot: TestRobot, process: NodeProcess) -> None:
    robot.activate(process)
    robot.step()
    answer = start(robot)
    assert answer.success, answer.message
    assert furthest(robot, 0.4) == pytest.approx(0.02, rel=0.05)
    robot.report(lambda values: values["reference"] == "motion")
    assert robot.probe.set_parameters(NODE, {"lissajous.amplitude": [0.0, 0.01, 0.0]})[0].successful
    assert start(robot).success, "another one from its middle"
    assert robot.probe.call(Trigger, f"{NODE}/stop").success
    robot.probe.wait_until(lambda: (robot.step(), robot.report()["reference"] == "hold")[1], "rest")


def test_a_figure_that_cannot_be_followed_is_refused_with_the_reason(robot: TestRobot, process: NodeProcess) -> None:
    robot.activate(process)
    robot.step()
    assert robot.probe.set_parameters(NODE, {"lissajous.amplitude": [0.0, 2.0, 0.0]})[0].successful
    answer = start(robot)
    assert not answer.success and "trace" in answer.message and "after" in answer.message
    assert robot.probe.set_parameters(NODE, {"lissajous.amplitude": [0.01] * 4})[0].successful
    assert "amplitude: has 4 values" in start(robot).message
    (result,) = robot.probe.set_parameters(NODE, {"lissajous.frequency": [-1.0]})
    assert not result.successful and "lissajous.frequency" in result.reason


def test_a_parameter_begins_it_with_every_activation(robot: TestRobot, process: NodeProcess) -> None:
    assert robot.probe.set_parameters(NODE, {"autostart": True})[0].successful
    robot.activate(process)
    for _ in range(2):
        robot.probe.wait_until(lambda: (robot.step(), robot.report()["reference"] == "motion")[1], "the figure")
        assert robot.probe.transition(NODE, "deactivate")
        robot.start(process)


def test_the_diagnostics_warn_of_an_error_above_the_limit(robot: TestRobot, process: NodeProcess) -> None:
    assert robot.probe.set_parameters(NODE, {"tracking_error_limit": 0.01})[0].successful
    robot.activate(process)
    robot.steps(20)
    values = robot.report(lambda values: "tracking error max [rad or m]" in values)
    assert float(values["tracking error max [rad or m]"]) < 1e-9
    assert start(robot).success
    robot.probe.wait_until(lambda: (robot.step(), "above 0.01" in robot.report()["message"])[1], "the warning")


def test_the_end_of_a_stream_is_told_and_the_place_is_held(robot: TestRobot, process: NodeProcess) -> None:
    robot.activate(process)
    publisher = robot.references()
    publisher.publish(reference_message(robot.pose))
    robot.probe.wait_until(lambda: (robot.step(), robot.report()["reference"] == "stream")[1], "the stream")
    robot.steps(200)
    ended = "the stream of references has ended"
    process.wait_for_output(ended)
    for _ in range(3):  # for as long as that is so, not once
        robot.probe.wait_until(lambda: (robot.step(), ended in robot.report()["message"])[1], "the warning")
    assert robot.probe.state(NODE) == "active"
    np.testing.assert_allclose(robot.effort, robot.gravity, atol=1.0)
