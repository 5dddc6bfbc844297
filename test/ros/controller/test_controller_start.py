"""What the controller is started with: a file that it cannot use is named when it is configured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from controller_robot import NODE, build_panda
from nodes import NodeProcess, Probe
from std_srvs.srv import Trigger

from thunder_controllers.host import Configuration, ControlSession, Library, Options, save_estimates


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"library": ""}, "no library was announced within 0 s"),
        ({"library": "/nowhere/libpanda.so"}, "/nowhere/libpanda.so: there is no such file"),
        ({"library": "package://thunder_controllers/config"}, "SHA256SUMS: there is no such file"),
        ({"library": "package://none/lib.so"}, "no package 'none'"),
        ({"robot": "ur5"}, "the library is of robot 'panda'"),
        ({"estimates_file": "/nowhere/estimates.yaml"}, "cannot be read"),
        ({"measurement_clock": "fr3/robot_time"}, "joint_states have stamps, no other clock is read"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    start_node: Callable[..., NodeProcess], probe: Probe, library: Library, given: dict[str, str], reason: str
) -> None:
    controller = start_node("controller", {"library": library.path, "library_timeout": 0.0, **given})
    assert not probe.transition(NODE, "configure")
    controller.wait_for_output(reason)
    assert probe.state(NODE) == "unconfigured"


def test_saving_leaves_the_file_alone_that_the_estimates_came_from(
    start_node: Callable[..., NodeProcess],
    probe: Probe,
    library: Library,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The default launch starts from a file that is installed."""
    monkeypatch.setenv("ROS_HOME", str(tmp_path / "state"))
    configuration, first = Configuration(library), tmp_path / "first.yaml"
    save_estimates(first, configuration, ControlSession(configuration, Options()).snapshot())
    before = first.read_bytes()
    start_node("controller", {"library": library.path, "library_timeout": 0.0, "estimates_file": str(first)})
    assert probe.transition(NODE, "configure")
    answer = probe.call(Trigger, f"{NODE}/save_estimates")
    assert answer.success and Path(answer.message) == configuration.estimates_path(NODE)
    assert Path(answer.message).is_relative_to(tmp_path / "state") and Path(answer.message).is_file()
    assert first.read_bytes() == before
