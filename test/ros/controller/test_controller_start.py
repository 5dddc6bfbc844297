"""What the controller is started with: what it cannot use is named when it is configured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from controller_robot import NODE, TestRobot
from nodes import Probe
from std_srvs.srv import Trigger

from thunder_controllers.host import Configuration, ControlSession, Library, Options, save_estimates


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"library": ""}, "no library has been announced"),
        ({"library": "/nowhere/libpanda.so"}, "/nowhere/libpanda.so: there is no such file"),
        ({"library": "package://thunder_controllers/config"}, "SHA256SUMS: there is no such file"),
        ({"library": "package://none/lib.so"}, "no package 'none'"),
        ({"robot": "ur5"}, "the library is of robot 'panda'"),
        ({"estimates_file": "/nowhere/estimates.yaml"}, "cannot be read"),
        ({"measurement_clock": "fr3/robot_time"}, "the simulation says when it measures"),
        ({"fixed_period": True}, "the periods are those of the simulation"),
        ({"exports_states": True}, "no other controller is in this process"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    probe: Probe, library: Library, given: dict[str, Any], reason: str
) -> None:
    robot = TestRobot(probe, library, **given)
    try:
        assert not robot.transition("configure")
        assert reason in robot.report(lambda values: "refused" in values["message"])["message"]
        assert robot.state == "unconfigured"
    finally:
        robot.close()


def test_saving_leaves_the_file_alone_that_the_estimates_came_from(
    probe: Probe, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default launch starts from a file that is installed."""
    monkeypatch.setenv("ROS_HOME", str(tmp_path / "state"))
    configuration, first = Configuration(library), tmp_path / "first.yaml"
    save_estimates(first, configuration, ControlSession(configuration, Options()).snapshot())
    before = first.read_bytes()
    robot = TestRobot(probe, library, estimates_file=str(first))
    try:
        assert robot.transition("configure")
        answer = robot.probe.call(Trigger, f"{NODE}/save_estimates")
        assert answer.success and Path(answer.message) == configuration.estimates_path(NODE)
        assert Path(answer.message).is_relative_to(tmp_path / "state") and Path(answer.message).is_file()
        assert first.read_bytes() == before
    finally:
        robot.close()
