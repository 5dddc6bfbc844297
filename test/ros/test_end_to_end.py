"""Generator, arm with controller, and reference as processes over DDS: what the launch files start with MuJoCo.

The arm runs in lock-step, so the simulated seconds are the same on a slow machine, they only take longer.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from controller_robot import LINK, SIMULATED_PANDA, TRUE_MASS, build_panda
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped
from nodes import NodeProcess, Probe
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.ros.common.qos import MONITOR, STREAM

ROOT = Path(__file__).parents[2]
CONTROLLER, SIMULATION, REFERENCE = "/adaptive_controller", "/mujoco_simulation", "/thunder_reference"
DURATION = 14.0
FROZEN = 3.0
"""First part of the motion, without adaptation: what the wrong estimate does [s]."""

RUN_LIMIT = 240.0
"""Wall time for the build, and for the simulated motion; a 2-core machine takes some 20 s."""

RATE_LIMIT = 1000.0
"""Of the Panda's torques [N·m/s]."""

JOINT_ESTIMATES = """
robot: panda
law: slotine_li
links: [panda_link7]
pi_hat: [2.5, 0.5, 0.5, 0.5, 0.204, -0.1, -0.1, 0.204, -0.1, 0.204]
"""


@dataclass(frozen=True)
class Record:
    """What a run of the whole graph gave; arrays have one row per message."""

    error: np.ndarray
    """Time [s], error of the position [m] or the joints [rad]."""
    masses: np.ndarray
    """Estimates of the last link [kg]."""
    efforts: np.ndarray
    """Time [s] and efforts that acted (7) before the brakes did, around the deactivation [N·m]."""
    holding: np.ndarray
    """What the brakes held then, shape (7,) [N·m]."""


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


@pytest.fixture(scope="module", params=["cartesian_backstepping", "slotine_li"])
def record(request: pytest.FixtureRequest, probe: Probe, tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Let the graph come up, stream a motion, adapt from `FROZEN` on, and deactivate in full motion."""
    law, folder = request.param, tmp_path_factory.mktemp("nodes")
    estimates = ROOT / "config/estimates/panda_wrong_last_link.yaml"
    is_cartesian = law == "cartesian_backstepping"
    if not is_cartesian:
        estimates = folder / "estimates.yaml"
        estimates.write_text(JOINT_ESTIMATES)
    kind, topic = (PoseStamped, "pose_error") if is_cartesian else (JointState, "joint_error")
    robot = {"robot": str(ROOT / "config/robots/panda.yaml"), "laws": [law], "adapted_links": [LINK]}
    started = [NodeProcess("generator", robot, folder)]
    started.append(
        NodeProcess("simulation", {**SIMULATED_PANDA, "estimates_file": str(estimates), "gains.gamma": 0.2}, folder)
    )
    started.append(NodeProcess("reference", {"type": "auto", "autostart": True, "ramp_time": 1.0}, folder))
    try:
        with (
            probe.listening(kind, f"{CONTROLLER}/{topic}", MONITOR) as errors,
            probe.listening(InertiaStamped, f"{CONTROLLER}/estimates/{LINK}", MONITOR) as inertias,
        ):
            start = _seconds(errors.wait(timeout=RUN_LIMIT))
            errors.wait(lambda m: _seconds(m) >= start + FROZEN, timeout=RUN_LIMIT)
            assert probe.call(SetBool, f"{CONTROLLER}/freeze_adaptation", SetBool.Request(data=False)).success
            errors.wait(lambda m: _seconds(m) >= start + DURATION, timeout=RUN_LIMIT)
            efforts, holding = _deactivate(probe)
        assert inertias.latest.header.frame_id == LINK
        rows = [(_seconds(m) - start, _size(m)) for m in errors.messages]
        masses = [m.inertia.m for m in inertias.messages]
        for process in reversed(started):
            process.stop()
        return Record(np.array(rows), np.array(masses), efforts, holding)
    finally:
        for process in started:
            process.kill()


def _size(message: Any) -> float:
    if isinstance(message, JointState):
        return float(np.linalg.norm(message.position))
    error = message.pose.position
    return float(np.linalg.norm([error.x, error.y, error.z]))


def _deactivate(probe: Probe) -> tuple[np.ndarray, np.ndarray]:
    """Efforts from before a deactivation in full motion until the brakes hold the arm, and what those hold."""
    with probe.listening(JointState, "/joint_states", STREAM) as states:
        states.wait(count=20)
        assert probe.transition(CONTROLLER, "deactivate") and probe.state(CONTROLLER) == "inactive"
        states.wait_new(5)
        assert not np.any(states.latest.velocity), "the brakes hold it"
        moving = [m for m in states.messages if np.any(m.velocity)]
        return np.array([(_seconds(m), *m.effort) for m in moving]), np.array(states.latest.effort)


def test_the_error_falls_and_the_estimate_reaches_the_true_mass(record: Record) -> None:
    time, error = record.error.T
    frozen = error[(time > 0.5 * FROZEN) & (time < FROZEN)].mean()
    assert error[time > DURATION - 2.0].mean() < 0.05 * frozen
    assert record.masses[0] == pytest.approx(2.5, abs=1e-9)
    assert abs(record.masses[-1] - TRUE_MASS) < 0.5 * abs(record.masses[0] - TRUE_MASS)


def test_deactivation_ramps_the_effort_to_what_holds_the_arm(record: Record) -> None:
    steps = np.abs(np.diff(record.efforts, axis=0))  # of states that follow one another, or nearly
    assert (steps[:, 1:] <= RATE_LIMIT * steps[:, :1] * (1 + 1e-6)).all()
    np.testing.assert_allclose(record.efforts[-1, 1:], record.holding, atol=1.0)


# --- without a reference ----------------------------------------------------------------------------------------------


@pytest.fixture
def arm(probe: Probe, start_node: Callable[..., NodeProcess], tmp_path: Path) -> NodeProcess:
    """An arm that holds its place under control."""
    library = build_panda({"adapted_links": [LINK]})
    given = {**SIMULATED_PANDA, "library": library.path, "diagnostics_rate": 20.0, "gap_limit": 10.0}
    process = start_node("simulation", given, name=None)
    probe.wait_until(lambda: probe.state(CONTROLLER) == "active", "active controller")
    return process


def _values(array: DiagnosticArray, node: str) -> dict[str, str]:
    return {pair.key: pair.value for status in array.status if status.name == node[1:] for pair in status.values}


FAULTS = (
    ("nan_joint_states", "guard measurement_non_finite"),
    ("wrong_names", "guard measurement_stale"),
    ("freeze", "guard measurement_stale"),
    ("drop_joint_states", "guard measurement_stale"),
)
"""Fault and the diagnostic that tells of it; all kinds are tried without processes."""


def test_faults_of_the_sensors_are_seen_and_survived_and_a_reset_too(arm: NodeProcess, probe: Probe) -> None:
    """Without a measurement the arm rests on the gravity torque of where it was last seen, for a moment."""
    with (
        probe.listening(DiagnosticArray, "/diagnostics", MONITOR) as diagnostics,
        probe.listening(JointState, "/joint_states", STREAM) as states,
    ):
        for kind, key in FAULTS:
            assert probe.set_parameters(SIMULATION, {"fault.kind": kind, "fault.duration": 0.05})[0].successful
            assert probe.call(SetBool, f"{SIMULATION}/inject_fault", SetBool.Request(data=True)).success
            diagnostics.wait(lambda m, key=key: int(_values(m, CONTROLLER).get(key, "0")) > 5)
            # What acts still would be what the next fault finds: an arm whose last readable position is NaN.
            assert probe.call(SetBool, f"{SIMULATION}/inject_fault", SetBool.Request(data=False)).success
            states.clear()
            states.wait(lambda m: len(m.velocity) == 7 and np.abs(m.velocity).max() < 1e-2)
            assert probe.state(CONTROLLER) == "active", kind
        assert np.abs(np.subtract(states.latest.position, SIMULATED_PANDA["q_start"])).max() < 0.01
        assert probe.call(Trigger, f"{SIMULATION}/reset").success
        states.wait_new(100)
        assert probe.state(CONTROLLER) == "active", arm.output
        assert np.abs(np.subtract(states.latest.position, SIMULATED_PANDA["q_start"])).max() < 0.01
    arm.stop(signal.SIGTERM)  # within 3 s, status 0, no traceback, nothing left; other tests end nodes by SIGINT
