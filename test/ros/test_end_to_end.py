"""Generator, simulation, reference and controller as processes over DDS: the graph that the launch files start.

The plant runs in lock-step, so twenty simulated seconds are the same on a slow machine, they only take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import InertiaStamped, TwistStamped
from nodes import NodeProcess, Probe
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.ros.common.qos import LATCHED, MONITOR, STREAM

ROOT = Path(__file__).parents[2]
CONTROLLER = "/adaptive_controller"
REFERENCE = "/thunder_reference"
LINK = "panda_link7"
DURATION = 20.0
FROZEN = 4.0
"""First part of the motion, without adaptation: what the wrong estimate does [s]."""

BUILD_LIMIT = 180.0
"""The first build on a machine compiles the library, for one core some 15 s; others find it in the cache."""

RUN_LIMIT = 240.0
"""Wall time for the simulated motion; a 2-core machine takes some 20 s."""

RATE_LIMIT = 1000.0
"""Of the Panda's torques [N·m/s]."""

TRUE_MASS = 0.735522
"""Of the last link [kg], config/robots/panda.yaml."""

CONTROLLER_PARAMETERS = {
    "law": "cartesian_backstepping",
    "estimates_file": str(ROOT / "config/estimates/panda_wrong_last_link.yaml"),
    "freeze_on_start": True,
    "gains.gamma": 0.3,
    "watchdog_timeout": 2.0,  # of wall time: a loaded machine must not end the lock-step
}
SIMULATION_PARAMETERS = {
    "urdf": str(ROOT / "urdf/panda.urdf.xacro"),
    "q_start": [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0],
    "mode": "lockstep",
    "lockstep_timeout": 3.0,
}
StartNode = Callable[..., NodeProcess]


@dataclass(frozen=True)
class Record:
    """What a run of the whole graph gave; arrays have one row per message."""

    library: dict[str, Any]
    error: np.ndarray
    """Time [s], position error (3) [m]."""
    estimates: list[InertiaStamped]
    commands: np.ndarray
    """Efforts (7) around the change of gains and the deactivation [N·m]."""
    changes: list[Any]
    """Results of parameter changes: a good one, then bad ones."""
    deactivated: bool
    last_state: JointState
    after: int
    """Commands that came after the deactivation was answered."""


def _seconds(message: Any) -> float:
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def _after(time: float) -> Callable[[Any], bool]:
    return lambda message: _seconds(message) >= time


@pytest.fixture(scope="module")
def nodes(probe: Probe, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The four processes, stopped one by one at the end, each cleanly."""
    folder = tmp_path_factory.mktemp("nodes")
    generator = {
        "robot": str(ROOT / "config/robots/panda.yaml"),
        "laws": ["cartesian_backstepping"],
        "adapted_links": [LINK],
    }
    started = [
        NodeProcess("generator", generator, folder),
        NodeProcess("simulation", SIMULATION_PARAMETERS, folder),
        NodeProcess("controller", CONTROLLER_PARAMETERS, folder),
        NodeProcess("reference", {"type": "lissajous", "ramp_time": 1.0}, folder),
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
    """Bring the graph up, run it for twenty simulated seconds, change gains meanwhile, and deactivate."""
    with (
        probe.listening(String, "/thunder_generator/library", LATCHED) as libraries,
        probe.listening(TwistStamped, f"{CONTROLLER}/pose_error", MONITOR) as errors,
        probe.listening(InertiaStamped, f"{CONTROLLER}/estimates/{LINK}", MONITOR) as estimates,
    ):
        library = yaml.safe_load(libraries.wait(timeout=BUILD_LIMIT).data)
        assert probe.transition(CONTROLLER, "configure"), nodes[2].output
        assert probe.state(CONTROLLER) == "inactive"
        with probe.listening(JointState, "/joint_states", STREAM) as states:
            states.wait()
        assert probe.transition(CONTROLLER, "activate"), nodes[2].output
        probe.wait_until(lambda: probe.call(Trigger, f"{REFERENCE}/start").success, "start of the motion")
        start = _seconds(errors.wait())
        errors.wait(_after(start + FROZEN), timeout=RUN_LIMIT)
        freeze = probe.call(SetBool, f"{CONTROLLER}/freeze_adaptation", SetBool.Request(data=False))
        assert freeze.success, freeze.message
        errors.wait(_after(start + 0.5 * DURATION), timeout=RUN_LIMIT)
        changes = _change_gains(probe)
        errors.wait(_after(start + DURATION), timeout=RUN_LIMIT)
        commands, states, deactivated, after = _deactivate(probe)
    rows = [(_seconds(m) - start, m.twist.linear.x, m.twist.linear.y, m.twist.linear.z) for m in errors.messages]
    return Record(library, np.array(rows), estimates.messages, commands, changes, deactivated, states, after)


def _change_gains(probe: Probe) -> list[Any]:
    """One change that is valid and two that are not."""
    wanted = ({"gains.gamma": 0.2}, {"gains.gamma": -1.0}, {"gains.K_d": [1.0, 2.0]})
    return [probe.set_parameters(CONTROLLER, change)[0] for change in wanted]


def _deactivate(probe: Probe) -> tuple[np.ndarray, JointState, bool, int]:
    """Deactivate in full motion, with all commands recorded from before until after."""
    with (
        probe.listening(Float64MultiArray, "/effort_controller/commands", STREAM) as commands,
        probe.listening(JointState, "/joint_states", STREAM) as states,
    ):
        commands.wait(count=20)
        deactivated = probe.transition(CONTROLLER, "deactivate")
        state = probe.state(CONTROLLER)
        assert state == "inactive"
        states.wait_new(5)  # the answer may overtake commands that were sent before it: they have come by then
        sent = len(commands)
        states.wait_new(20)
        return (
            np.array([message.data for message in commands.messages]),
            states.latest,
            deactivated,
            len(commands) - sent,
        )


def test_the_generator_says_which_library_there_is(record: Record) -> None:
    assert (record.library["robot"], record.library["laws"]) == ("panda", ["cartesian_backstepping"])
    assert len(record.library["hash"]) == 64


def test_the_error_falls_a_hundredfold(record: Record) -> None:
    time, error = record.error[:, 0], np.linalg.norm(record.error[:, 1:], axis=1)
    frozen = error[(time > 0.5 * FROZEN) & (time < FROZEN)].mean()
    late = error[time > DURATION - 2.0].mean()
    assert late < 0.01 * frozen


def test_estimates_arrive_in_their_link_and_reach_the_true_mass(record: Record) -> None:
    assert {message.header.frame_id for message in record.estimates} == {LINK}
    masses = np.array([message.inertia.m for message in record.estimates])
    assert masses[0] == pytest.approx(2.5, abs=1e-9)
    assert abs(masses[-1] - TRUE_MASS) < 0.1 * abs(masses[0] - TRUE_MASS)


def test_estimates_come_at_the_rate_of_publication(record: Record) -> None:
    assert len(record.estimates) > 10 and len(record.error) > 10  # fifty a second of whichever clock: not asserted on


def test_gains_change_while_running_and_bad_ones_are_refused_with_the_reason(record: Record, probe: Probe) -> None:
    good, *bad = record.changes
    assert good.successful, good.reason
    assert probe.get_parameters(CONTROLLER, "gains.gamma") == [0.2]
    for result, name in zip(bad, ("gains.gamma", "gains.K_d"), strict=True):
        assert not result.successful
        assert name in result.reason


def test_gains_tell_tools_their_bounds_and_units(record: Record, probe: Probe) -> None:
    (gamma,) = probe.describe_parameters(CONTROLLER, "gains.gamma")
    assert gamma.description
    assert len(gamma.floating_point_range) == 1
    assert gamma.floating_point_range[0].from_value < 0.3 < gamma.floating_point_range[0].to_value


def test_deactivation_ramps_the_effort_to_what_holds_the_arm(record: Record) -> None:
    assert record.deactivated
    steps = np.abs(np.diff(record.commands, axis=0))
    assert steps.max() <= RATE_LIMIT * 1e-3 * (1 + 1e-9)
    assert record.after == 0
    # The safe effort is gravity's, of the robot file, at a pose that has hardly changed since.
    np.testing.assert_allclose(record.commands[-1], record.last_state.effort, atol=1.0)
