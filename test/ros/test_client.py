"""The Python client with a simulated arm under the real controller, each in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from controller_robot import LINK, SIMULATED_PANDA, TRUE_MASS, build_panda
from documentation import blocks
from nodes import NodeProcess, Probe

from thunder_controllers.host import Library
from thunder_controllers.ros.client import Arm, ControllerError
from thunder_dynamics.errors import DimensionError

ROOT = Path(__file__).parents[2]
SIMULATION = {
    **SIMULATED_PANDA,
    "gap_limit": 10.0,
    "diagnostics_rate": 20.0,
    "estimates_file": str(ROOT / "config/estimates/panda_wrong_last_link.yaml"),
}


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda({"adapted_links": [LINK]})


@pytest.fixture(scope="module")
def arm(domain: int, probe: Probe, library: Library, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arm]:
    given = {**SIMULATION, "library": library.path}
    process = NodeProcess("simulation", given, tmp_path_factory.mktemp("nodes"))
    try:
        probe.wait_until(lambda: probe.state("/adaptive_controller") == "active", "active controller")
        with Arm(domain_id=domain, name="thunder_test_client") as client:
            yield client
        process.stop()
    finally:
        process.kill()


def test_a_motion_ends_at_its_target_while_the_estimate_adapts(arm: Arm) -> None:
    before, first = arm.pose, arm.estimates[LINK].mass
    assert first == pytest.approx(2.5, abs=1e-6)
    arm.freeze(False)
    arm.move(before[:3, 3] + [0.0, -0.1, 0.0], timeout=600)  # there and back: what is learnt on the way moves the arm
    arm.move(before, timeout=600)
    target = before[:3, 3] + [0.0, 0.1, -0.05]
    arm.move(target, timeout=600)
    np.testing.assert_allclose(arm.pose[:3, 3], target, atol=1e-3)
    np.testing.assert_allclose(arm.pose[:3, :3], before[:3, :3], atol=5e-3)
    now = arm.estimates[LINK]
    assert abs(now.mass - TRUE_MASS) < 0.1 * abs(first - TRUE_MASS)
    assert now.com.shape == (3,) and np.linalg.eigvalsh(now.inertia).min() >= 0.0
    arm.move(before, timeout=600)


def test_gains_are_read_and_set_all_or_none(arm: Arm) -> None:
    gains = dict(arm.gains)
    assert {"Lambda", "K_d", "gamma"} <= set(gains)
    arm.set_gains(Lambda=[9.0] * 6, gamma=2.0 * gains["gamma"])
    assert list(arm.gains["Lambda"]) == [9.0] * 6
    with pytest.raises(ControllerError, match="Lambda"):
        arm.set_gains(gamma=gains["gamma"], Lambda=[-1.0] * 6)
    assert list(arm.gains["Lambda"]) == [9.0] * 6 and arm.gains["gamma"] == 2.0 * gains["gamma"]
    arm.set_gains(Lambda=gains["Lambda"], gamma=gains["gamma"])


def test_a_stream_is_followed(arm: Arm) -> None:
    start, end = arm.pose, 0.0
    for k in range(100):
        end = 0.03 * (1.0 - np.cos(0.05 * min(k, 63)))
        pose = start.copy()
        pose[1, 3] += end
        arm.stream(pose)
        time.sleep(0.02)
    deadline = time.monotonic() + 600.0
    while abs(arm.pose[1, 3] - start[1, 3] - end) > 1e-3:
        assert time.monotonic() < deadline, "the stream's end is not reached"
        arm.stream(pose)
        time.sleep(0.02)
    arm.stop()


def test_adaptation_is_frozen_and_goes_on(arm: Arm) -> None:
    arm.freeze()
    time.sleep(0.2)
    kept = arm.estimates[LINK].mass
    arm.move(arm.pose[:3, 3] + [0.0, 0.0, 0.05], timeout=600, position=0.03, angle=0.1)  # it sags by what is wrong
    assert arm.estimates[LINK].mass == kept
    arm.freeze(False)


def test_what_was_learned_is_saved(arm: Arm) -> None:
    file = arm.save_estimates()
    assert 'links: ["panda_link7"]' in file.read_text()


def test_what_cannot_be_done_is_said(arm: Arm, domain: int) -> None:
    with pytest.raises(ControllerError, match="target_pose"):
        arm.move([2.0, 0.0, 0.5])
    with pytest.raises(DimensionError, match="target"):
        arm.move([0.4, 0.0])
    with pytest.raises(DimensionError, match="twist"):
        arm.stream(arm.pose, [0.0])
    with pytest.raises(ControllerError, match="/nobody/pose"):
        Arm("nobody", timeout=0.5, domain_id=domain)


def test_the_lines_of_the_page_run(arm: Arm, capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs/ros2.md"
    (block,) = (block for block in blocks(page) if "ros.client import Arm" in block.text)
    height = arm.pose[2, 3]
    exec(compile(block.text, str(page), "exec"), {})
    assert "kg, was asked to learn with gamma 0.1" in capsys.readouterr().out
    assert abs(arm.pose[2, 3] - height) < 0.01
    arm.stop()
