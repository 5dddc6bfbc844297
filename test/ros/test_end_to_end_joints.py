"""The same graph with a joint law: the reference node finds the law out, streams joint references, the error falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import InertiaStamped
from nodes import NodeProcess, Probe
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from test_end_to_end import BUILD_LIMIT, LINK, ROOT, RUN_LIMIT, SIMULATION_PARAMETERS, TRUE_MASS

from thunder_controllers.ros.common.qos import LATCHED, MONITOR, STREAM

CONTROLLER = "/adaptive_controller"
REFERENCE = "/thunder_reference"
FROZEN = 5.0
"""First part of the motion, without adaptation [s]."""

DURATION = 20.0
ESTIMATES = """
robot: panda
law: slotine_li
links: [panda_link7]
pi_hat: [2.5, 0.5, 0.5, 0.5, 0.204, -0.1, -0.1, 0.204, -0.1, 0.204]
"""


@dataclass(frozen=True)
class Record:
    """What a run gave; one row per message."""

    error: np.ndarray
    """Time [s], errors of the seven joints [rad]."""
    velocity_error: np.ndarray
    estimates: list[InertiaStamped]
    reference_output: str
    rest: np.ndarray
    """Positions at two times after the reference was stopped, shape (2, 7) [rad]."""


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


@pytest.fixture(scope="module")
def nodes(probe: Probe, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The four processes, stopped one by one at the end, each cleanly."""
    folder = tmp_path_factory.mktemp("joint_nodes")
    estimates = folder / "estimates.yaml"
    estimates.write_text(ESTIMATES)
    controller = {
        "law": "slotine_li",
        "estimates_file": str(estimates),
        "freeze_on_start": True,
        "gains.gamma": 0.1,
        "watchdog_timeout": 2.0,  # of wall time: a loaded machine must not end the lock-step
    }
    robot = {"robot": str(ROOT / "config/robots/panda.yaml"), "laws": ["slotine_li"], "adapted_links": [LINK]}
    started = [
        NodeProcess("generator", robot, folder),
        NodeProcess("simulation", SIMULATION_PARAMETERS, folder),
        NodeProcess("controller", controller, folder),
        NodeProcess("reference", {"type": "auto", "autostart": True, "ramp_time": 1.0}, folder),
    ]
    try:
        for process in started:
            probe.wait_for_process(process)
        yield started
        for process in reversed(started):
            process.stop()
    finally:
        for process in started:
            process.kill()


@pytest.fixture(scope="module")
def record(probe: Probe, nodes: list[NodeProcess]) -> Record:
    """Activate, let the reference start by itself, adapt from `FROZEN` on, stop the reference at the end."""
    with (
        probe.listening(String, "/thunder_generator/library", LATCHED) as libraries,
        probe.listening(JointState, f"{CONTROLLER}/joint_error", MONITOR) as errors,
        probe.listening(InertiaStamped, f"{CONTROLLER}/estimates/{LINK}", MONITOR) as estimates,
    ):
        libraries.wait(timeout=BUILD_LIMIT)
        assert probe.transition(CONTROLLER, "configure"), nodes[2].output
        with probe.listening(JointState, "/joint_states", STREAM) as states:
            states.wait()
        assert probe.transition(CONTROLLER, "activate"), nodes[2].output
        start = _seconds(errors.wait())
        errors.wait(lambda m: _seconds(m) >= start + FROZEN, timeout=RUN_LIMIT)
        assert probe.call(SetBool, f"{CONTROLLER}/freeze_adaptation", SetBool.Request(data=False)).success
        errors.wait(lambda m: _seconds(m) >= start + DURATION, timeout=RUN_LIMIT)
        rest = _rest(probe)
    rows = [(_seconds(m) - start, *m.position) for m in errors.messages]
    rates = [m.velocity for m in errors.messages]
    return Record(np.array(rows), np.array(rates), estimates.messages, nodes[3].output, rest)


def _rest(probe: Probe) -> np.ndarray:
    """Stop the reference; positions two and two and a half seconds later."""
    assert probe.call(Trigger, f"{REFERENCE}/stop").success
    with probe.listening(JointState, "/joint_states", STREAM) as states:
        start = _seconds(states.wait())
        early = states.wait(lambda m: _seconds(m) >= start + 2.0, timeout=RUN_LIMIT)
        late = states.wait(lambda m: _seconds(m) >= start + 2.5, timeout=RUN_LIMIT)
    return np.array([early.position, late.position])


def test_the_reference_finds_out_that_the_law_follows_joints(record: Record) -> None:
    assert "motion: joint_lissajous" in record.reference_output


def test_the_error_falls_twentyfold(record: Record) -> None:
    time, error = record.error[:, 0], np.linalg.norm(record.error[:, 1:], axis=1)
    frozen = error[(time > 0.5 * FROZEN) & (time < FROZEN)].mean()
    assert error[time > DURATION - 3.0].mean() < 0.05 * frozen


def test_the_joints_move(record: Record) -> None:
    # Even a perfect tracker has this velocity error while the estimate is wrong and the arm moves.
    assert np.abs(record.velocity_error[record.error[:, 0] < FROZEN]).max() > 1e-3


def test_the_estimate_of_the_mass_gets_nearer(record: Record) -> None:
    masses = np.array([message.inertia.m for message in record.estimates])
    assert masses[0] == pytest.approx(2.5, abs=1e-9)
    assert abs(masses[-1] - TRUE_MASS) < 0.5 * abs(masses[0] - TRUE_MASS)


def test_a_stopped_reference_leaves_the_arm_at_rest(record: Record) -> None:
    # A stream that ends at rest is a lost one to the controller, which then holds the same place; adaptation goes on.
    np.testing.assert_allclose(record.rest[1], record.rest[0], atol=1e-3)
