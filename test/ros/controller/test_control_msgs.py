"""~/controller_state in the form of control_msgs, over DDS; where control_msgs is not installed this is skipped."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from controller_robot import NODE, TestRobot, build_panda
from sensor_msgs.msg import JointState

from thunder_controllers.host import Library

control_msgs = pytest.importorskip("control_msgs.msg", reason="control_msgs is not installed: it comes with ROS 2 only")


@pytest.fixture(scope="module", params=["cartesian_backstepping", "slotine_li"])
def library(request: pytest.FixtureRequest) -> Library:
    return build_panda(law=request.param)


def _state(robot: TestRobot) -> Any:
    """A state that holds the measurement that was sent last."""
    kind = importlib.import_module("control_msgs.msg").JointTrajectoryControllerState
    with robot.probe.listening(kind, f"{NODE}/controller_state") as states:
        robot.q[3] += 0.01
        robot.qd[3] = 0.05
        robot.step()
        stamp = divmod(robot.stamp_ns, 10**9)
        return states.wait(lambda m: (m.header.stamp.sec, m.header.stamp.nanosec) == stamp)


def test_the_state_holds_measurement_and_command(robot: TestRobot) -> None:
    state = _state(robot)
    assert list(state.joint_names) == list(robot.library.joint_names)
    np.testing.assert_array_equal(state.feedback.positions, robot.q)
    np.testing.assert_array_equal(state.feedback.velocities, robot.qd)
    np.testing.assert_array_equal(state.output.effort, robot.effort)
    assert state.header.frame_id == "world"


def test_a_joint_law_states_reference_and_error(robot: TestRobot) -> None:
    with robot.probe.listening(JointState, f"{NODE}/joint_error") as errors:
        state = _state(robot)
        if robot.library.laws == ("cartesian_backstepping",):
            assert not state.reference.positions and not state.error.positions and not len(errors)
            return
        error = errors.wait(lambda m: m.header.stamp == state.header.stamp)
    expected = np.array(state.reference.positions) - robot.q
    np.testing.assert_array_equal(state.error.positions, expected)
    np.testing.assert_array_equal(error.position, expected)
    np.testing.assert_array_equal(state.error.velocities, np.array(state.reference.velocities) - robot.qd)
    assert len(state.reference.accelerations) == len(robot.q) and np.abs(expected[3]) > 5e-3
