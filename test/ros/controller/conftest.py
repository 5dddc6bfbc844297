"""A controller process with the module's `library`, and the arm that it controls.

Fixtures: `process` (module), `robot_of_module` (module), `robot` (function: activated, and reset afterwards).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # without rclpy the modules here are skipped, not this one
    from controller_robot import TestRobot
    from nodes import NodeProcess, Probe

    from thunder_controllers.host import Library


@pytest.fixture(scope="module")
def process(probe: Probe, library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    from controller_robot import running_controller

    with running_controller(probe, tmp_path_factory.mktemp("controller"), library=library.path) as process:
        yield process


@pytest.fixture(scope="module")
def robot_of_module(probe: Probe, library: Library) -> TestRobot:
    from controller_robot import TestRobot

    return TestRobot(probe, library)


@pytest.fixture
def robot(robot_of_module: TestRobot, process: NodeProcess, probe: Probe) -> Iterator[TestRobot]:
    from controller_robot import reset

    robot_of_module.activate(process)
    yield robot_of_module
    reset(probe)
