"""An arm that runs away: the controller brakes it, deactivates, and says why."""

from __future__ import annotations

import numpy as np
import pytest
from controller_robot import NODE, TestRobot, build_panda, reset
from nodes import NodeProcess

from thunder_controllers.host import Library

PATIENCE_STEPS = 100
"""Of the node's default, 0.1 s at 1 kHz."""


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


def test_a_runaway_is_braked_and_ends_in_a_deactivation(robot_of_module: TestRobot, process: NodeProcess) -> None:
    robot = robot_of_module
    robot.activate(process)  # here: what follows has to come at once
    velocity = np.zeros(7)
    velocity[6] = 3.1 * robot.library.velocity_limit[6]  # light enough that its brake is below its effort limit
    robot.qd = velocity
    # From the law's efforts to the brake's at the rate limit, 1 N·m per step. An arm that does not stop is deactivated
    # after a second and a half all the same, which a loaded machine may need for these steps: the brake is the last
    # effort before.
    efforts = robot.steps(PATIENCE_STEPS + 100)
    braked = efforts[np.flatnonzero(efforts[:, 6] < efforts[:, 6].min() + 1e-9)[-1]]
    # The last joint is braked, by no more than its limit; the others as it drags them along.
    limit = np.array(robot.library.effort_limit)
    assert -limit[6] <= braked[6] < robot.gravity[6] - 0.1 * limit[6]
    assert (np.abs(braked - robot.gravity) < 0.1 * limit)[:6].all()
    # The node deactivates by itself; meanwhile the robot comes to rest.
    robot.qd = np.zeros(7)

    def is_inactive() -> bool:
        robot.send()
        return robot.probe.state(NODE) == "inactive"

    robot.probe.wait_until(is_inactive, "deactivation")
    # What the brake found to hold the arm with meanwhile stays: this one is held by nothing that moves.
    assert (np.abs(robot.effort - robot.gravity) < 0.1 * limit).all()
    values = robot.report(lambda values: values["state"] == "inactive" and "ran away" in values["message"])
    assert int(values["guard runaway"]) > 0
    reset(robot.probe)
    robot.activate(process)  # an operator may go on
    assert robot.probe.state(NODE) == "active"
