"""`bringup` drives the controller node through its lifecycle and ends, as real processes over DDS."""

from __future__ import annotations

from pathlib import Path

import pytest
from controller_robot import NODE, PARAMETERS, TestRobot, build_panda
from nodes import NodeProcess, Probe


def test_two_runs_leave_room_for_a_spawner_between_configuring_and_activating(
    domain: int, probe: Probe, tmp_path: Path
) -> None:
    library = build_panda()
    controller = NodeProcess(
        "controller", {"library": str(library.path), **PARAMETERS}, tmp_path, name="adaptive_controller"
    )
    runs = []
    try:
        probe.wait_for_process(controller)
        runs.append(NodeProcess("bringup", {"wait_for_library": False, "goal": "inactive"}, tmp_path))
        assert runs[-1].wait() == 0, runs[-1].output
        assert "the controller is inactive" in runs[-1].output
        assert probe.state(NODE) == "inactive", "a robot takes settings before it moves"
        runs.append(NodeProcess("bringup", {}, tmp_path, remap={"thunder_generator/library": "none"}))
        runs.append(NodeProcess("bringup", {"wait_for_library": False}, tmp_path, name="second"))
        robot = TestRobot(probe, library)

        def has_become_active() -> bool:
            robot.send()
            return probe.state(NODE) == "active"

        probe.wait_until(has_become_active, "active controller")
        assert runs[-1].wait() == 0, runs[-1].output
        assert "the controller is active" in runs[-1].output
        assert runs[-2].is_running, "it waits for a library"
        controller.stop()
    finally:
        for node in (*runs, controller):
            node.kill()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"timeout": 1.0}, "still waiting for a library after 1 s"),
        ({"timeout": 1.0, "wait_for_library": False}, "still waiting for the controller's services after 1 s"),
        ({"goal": "asleep"}, "goal"),
    ],
)
def test_what_keeps_it_from_its_goal_is_said(
    parameters: dict[str, object], message: str, domain: int, tmp_path: Path
) -> None:
    node = NodeProcess("bringup", parameters, tmp_path, name="thunder_bringup")
    try:
        assert node.wait() == 1
        assert message in node.output
    finally:
        node.kill()
