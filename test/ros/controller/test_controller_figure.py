"""The figure that the controller makes itself: what begins it, what refuses it; what diagnostics say of the error."""

from __future__ import annotations

import pytest
from controller_robot import NODE, TestRobot
from geometry_msgs.msg import PoseStamped
from std_srvs.srv import Trigger

DEFAULTS = {
    **{"lissajous.amplitude": [0.0, 0.02, 0.0], "lissajous.frequency": [0.0, 2.0, 0.0], "ramp_time": 0.05},
    **{"autostart": False, "tracking_error_limit": 1.0},
}


def start(robot: TestRobot) -> Trigger.Response:
    return robot.probe.call(Trigger, f"{NODE}/start")


def wait_for(robot: TestRobot, source: str) -> None:
    with robot.running():
        robot.report(lambda values: values["reference"] == source)


def test_a_service_begins_the_figure_of_the_parameters(robot: TestRobot) -> None:
    robot.activate()
    answer = start(robot)
    assert answer.success, answer.message
    with robot.probe.listening(PoseStamped, f"{NODE}/pose_error") as errors:
        end = robot.stamp_ns + 0.6e9
        with robot.running():
            robot.probe.wait_until(lambda: robot.stamp_ns > end and len(errors) > 100, "errors")
        furthest = max(abs(message.pose.position.y) for message in errors.messages)
    assert furthest == pytest.approx(0.02, rel=0.1)
    wait_for(robot, "motion")
    assert start(robot).success, "another one from its middle"
    assert robot.probe.call(Trigger, f"{NODE}/stop").success
    wait_for(robot, "hold")


def test_a_figure_that_cannot_be_followed_is_refused_with_the_reason(robot: TestRobot) -> None:
    robot.activate()
    robot.set(lissajous__amplitude=[0.0, 2.0, 0.0])
    answer = start(robot)
    assert not answer.success and "trace" in answer.message and "after" in answer.message
    robot.set(lissajous__amplitude=[0.01] * 4)
    assert "amplitude: has 4 values" in start(robot).message
    (result,) = robot.probe.set_parameters(NODE, {"lissajous.frequency": [-1.0]})
    assert not result.successful and "lissajous.frequency" in result.reason


def test_a_parameter_begins_it_with_every_activation(robot: TestRobot) -> None:
    robot.set(autostart=True)
    for _ in range(2):
        robot.activate()
        wait_for(robot, "motion")
        assert robot.transition("deactivate")


def test_the_diagnostics_warn_of_an_error_above_the_limit(robot: TestRobot) -> None:
    robot.set(tracking_error_limit=0.01)
    robot.activate()
    robot.steps(20)
    values = robot.report(lambda values: "tracking error max [rad or m]" in values)
    assert float(values["tracking error max [rad or m]"]) < 1e-9
    assert start(robot).success
    with robot.running():
        robot.report(lambda values: "above 0.01" in values["message"])
