"""The arm that a controller with the module's `library` controls: `robot_of_module`, and `robot`, reset for each test.

A module may have `parameters`, of its controller, and `defaults`, which are set before each test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # without rclpy the modules here are skipped, not this one
    from controller_robot import TestRobot
    from nodes import Probe

    from thunder_controllers.host import Library


@pytest.fixture(scope="module")
def parameters() -> dict[str, Any]:
    return {}


@pytest.fixture(scope="module")
def library() -> Library:
    from controller_robot import build_panda

    return build_panda()


@pytest.fixture(scope="module")
def robot_of_module(probe: Probe, library: Library, parameters: dict[str, Any]) -> Iterator[TestRobot]:
    from controller_robot import TestRobot

    robot = TestRobot(probe, library, **parameters)
    yield robot
    robot.close()


@pytest.fixture
def robot(request: pytest.FixtureRequest, robot_of_module: TestRobot) -> TestRobot:
    robot_of_module.reset()
    if defaults := getattr(request.module, "DEFAULTS", None):
        robot_of_module.set(**defaults)
    return robot_of_module
