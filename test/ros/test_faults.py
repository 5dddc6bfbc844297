"""Faults of the input and of processes, against the real controller: each has its reaction, and leaves nothing behind.

A simulated Panda holds its pose under the real controller, in lock-step, so that a busy machine is no fault of its own.
Every fault is injected where a real one would be: into the messages on their way, or by ending a process. In all of
them, every command is finite, within the torque limits, and no further from the one before than the rate limit allows.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import TwistStamped
from nodes import STOP_TIMEOUT, Inbox, NodeProcess, Probe
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

import thunder_dynamics as td
from thunder_controllers.ros.common.qos import MONITOR, SENSOR, STREAM

ROOT = Path(__file__).parents[2]
CONTROLLER, SIMULATION = "/adaptive_controller", "/mujoco_simulation"
LIMITS = np.array([87.0] * 4 + [12.0] * 3)
LARGEST_STEP = 1000.0 * 0.01
"""Rate limit over the longest period of a ramp, 10 ms [N·m]; a step at 1 kHz is a tenth of it."""

WATCHDOG = 0.3
"""Wall time without joint_states that counts as their loss [s]: less than the simulation waits, more than a loaded
machine pauses."""

DIAGNOSTICS_RATE = 20.0
"""Often enough that a fault is seen, and ended, within a fraction of a second. Without a measurement the arm rests on
the gravity torque of where it was last seen, an equilibrium that it leaves exponentially, and lock-step is fast."""

Q_START = [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]
StartNode = Callable[..., NodeProcess]


def values_of(array: DiagnosticArray) -> dict[str, str]:
    return {pair.key: pair.value for status in array.status for pair in status.values}


def is_from_controller(array: DiagnosticArray) -> bool:
    return any(CONTROLLER[1:] in status.name for status in array.status)


@dataclass
class Bench:
    """The arm under control, and everything that is seen of it."""

    probe: Probe
    controller: NodeProcess
    simulation: NodeProcess
    commands: Inbox
    states: Inbox
    diagnostics: Inbox
    errors: Inbox

    def inject(self, kind: str, **parameters: Any) -> None:
        values = {"fault.kind": kind, **{f"fault.{name}": value for name, value in parameters.items()}}
        assert all(result.successful for result in self.probe.set_parameters(SIMULATION, values))
        assert self.probe.call(SetBool, f"{SIMULATION}/inject_fault", SetBool.Request(data=True)).success

    def end_fault(self) -> None:
        assert self.probe.call(SetBool, f"{SIMULATION}/inject_fault", SetBool.Request(data=False)).success

    def count(self, key: str) -> int:
        """A counter of the controller's diagnostics, as reported next."""
        self.diagnostics.clear()
        return int(float(values_of(self.diagnostics.wait(is_from_controller)).get(key, "0")))

    def wait_for_count(self, key: str, above: int) -> DiagnosticArray:
        return self.diagnostics.wait(
            lambda array: is_from_controller(array) and int(float(values_of(array).get(key, "0"))) > above
        )

    def assert_commands_are_safe(self) -> None:
        efforts = np.array([message.data for message in self.commands.messages])
        assert np.isfinite(efforts).all()
        assert (np.abs(efforts) <= LIMITS).all()
        assert np.abs(np.diff(efforts, axis=0)).max(initial=0.0) <= LARGEST_STEP

    def wait_for_tracking(self) -> None:
        """Until the arm is where it should be, at rest."""
        self.errors.clear()
        self.errors.wait(lambda m: np.linalg.norm([m.twist.linear.x, m.twist.linear.y, m.twist.linear.z]) < 1e-3)
        self.states.clear()
        self.states.wait(lambda m: np.abs(m.velocity).max() < 1e-2)


@pytest.fixture(scope="module")
def library() -> str:
    """The compiled Panda; made once per machine."""
    model = td.load_model(str(ROOT / "config/robots/panda.yaml"))
    folder = td.build(model, laws=[("cartesian_backstepping", {"adapted_links": ["panda_link7"]})], python=False)
    return str(folder / "libpanda.so")


@pytest.fixture
def bench(probe: Probe, start_node: StartNode, library: str) -> Iterator[Bench]:
    with (
        probe.listening(Float64MultiArray, "/effort_controller/commands", STREAM) as commands,
        probe.listening(JointState, "/joint_states", STREAM) as states,
        probe.listening(DiagnosticArray, "/diagnostics", MONITOR) as diagnostics,
        probe.listening(TwistStamped, f"{CONTROLLER}/pose_error", MONITOR) as errors,
    ):
        urdf = str(ROOT / "urdf/panda.urdf.xacro")
        simulation = start_node("simulation", {"urdf": urdf, "q_start": Q_START, "mode": "lockstep"})
        controller = start_node(
            "controller",
            {
                "library": library,
                "watchdog_timeout": WATCHDOG,
                "diagnostics_rate": DIAGNOSTICS_RATE,
                "gap_limit": 10.0,  # the longest of these faults is survived, not latched
            },
        )
        assert probe.transition(CONTROLLER, "configure"), controller.output
        states.wait()
        probe.wait_until(lambda: probe.transition(CONTROLLER, "activate"), "activation")
        bench = Bench(probe, controller, simulation, commands, states, diagnostics, errors)
        commands.wait(count=10)
        bench.wait_for_tracking()
        yield bench


FAULTS = (
    ("nan_joint_states", "guard measurement_non_finite"),
    ("inf_velocity", "guard measurement_non_finite"),
    ("wrong_names", "ramps for lack of joint_states"),
    ("missing_joint", "joint_states joints missing"),
    ("empty", "ramps for lack of joint_states"),
    ("wrong_size", "joint_states wrong sizes"),
    ("duplicate", "joint_states duplicate stamp"),
    ("reorder", "joint_states out of order"),
    ("freeze", "ramps for lack of joint_states"),
    ("drop_joint_states", "ramps for lack of joint_states"),
    ("clock_jump", "joint_states gap in time"),
    ("clock_restart", "joint_states clock went back"),
)
"""Fault and the diagnostic that tells of it."""

HARMLESS = ("duplicate", "reorder")
"""What the controller passes over without any effect on the effort."""


LATCHED = ("clock_jump",)
"""What is like measurements that were missing for long: the arm is stopped, and somebody has to activate again."""


def test_every_fault_of_joint_states_is_seen_survived_and_over_when_it_ends(bench: Bench) -> None:
    for kind, key in FAULTS:
        before = bench.count(key)
        bench.commands.clear()
        bench.states.clear()
        bench.inject(kind)
        told = bench.wait_for_count(key, above=before)
        level = max(status.level for status in told.status)
        assert level != DiagnosticStatus.OK or kind in HARMLESS, f"{kind} is reported as OK"
        bench.end_fault()
        if kind in LATCHED:
            bench.probe.wait_until(lambda: bench.probe.state(CONTROLLER) == "inactive", "end of the stop")
            bench.states.wait()
            bench.probe.wait_until(lambda: bench.probe.transition(CONTROLLER, "activate"), "activation")
        bench.wait_for_tracking()
        bench.assert_commands_are_safe()
        assert bench.probe.state(CONTROLLER) == "active", kind


def test_without_joint_states_the_effort_becomes_the_one_that_holds_the_arm(bench: Bench) -> None:
    bench.inject("drop_joint_states")
    bench.wait_for_count("ramps for lack of joint_states", above=100)
    holding = np.array(bench.commands.latest.data)
    bench.end_fault()
    bench.states.clear()
    state = bench.states.wait()
    # Gravity torque at a place that the arm has not left: what it takes there is what was commanded.
    np.testing.assert_allclose(state.position, Q_START, atol=0.01)
    np.testing.assert_allclose(np.array(bench.commands.latest.data), holding, atol=0.5)
    bench.assert_commands_are_safe()


def test_the_watchdog_starts_within_its_time_in_steps_of_the_simulation(
    probe: Probe, start_node: StartNode, library: str
) -> None:
    """A step is 1 ms of simulated time, which is never faster than the wall clock of the watchdog."""
    urdf, seen = str(ROOT / "urdf/panda.urdf.xacro"), _Silence()
    start_node("simulation", {"urdf": urdf, "q_start": Q_START, "mode": "realtime", "command_timeout": 60.0})
    controller = start_node("controller", {"library": library, "watchdog_timeout": WATCHDOG, "gap_limit": 10.0})
    assert probe.transition(CONTROLLER, "configure"), controller.output
    probe.wait_until(lambda: probe.transition(CONTROLLER, "activate"), "activation")
    with probe.listening(Float64MultiArray, "/effort_controller/commands", STREAM) as commands:
        commands.wait(count=100)
    clock = probe.subscribe(Clock, "/clock", seen.take_clock, SENSOR)
    command = probe.subscribe(Float64MultiArray, "/effort_controller/commands", seen.take_command, STREAM)
    states = probe.subscribe(JointState, "/joint_states", seen.take_state, STREAM)
    probe.wait_until(lambda: seen.state_ns, "joint_states")
    assert probe.set_parameters(SIMULATION, {"fault.kind": "drop_joint_states"})[0].successful
    assert probe.call(SetBool, f"{SIMULATION}/inject_fault", SetBool.Request(data=True)).success
    probe.wait_until(lambda: seen.silent_steps, "command in the silence")
    for subscription in (clock, command, states):
        probe.in_own_thread(probe.node.destroy_subscription, subscription)
    assert 0.5 * WATCHDOG / 1e-3 < seen.silent_steps < 4.0 * WATCHDOG / 1e-3


class _Silence:
    """Simulated time from the last joint_states to the first command that answers none of them."""

    def __init__(self) -> None:
        self.now_ns = self.state_ns = self.silent_steps = 0

    def take_clock(self, message: Clock) -> None:
        self.now_ns = message.clock.sec * 10**9 + message.clock.nanosec

    def take_state(self, message: JointState) -> None:
        self.state_ns = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec

    def take_command(self, message: Float64MultiArray) -> None:
        steps = (self.now_ns - self.state_ns) // 1_000_000
        if not self.silent_steps and self.state_ns and steps > 0.5 * WATCHDOG / 1e-3:
            self.silent_steps = steps


def test_a_lost_reference_leaves_the_arm_at_rest_where_it_was(bench: Bench, start_node: StartNode) -> None:
    reference = start_node("reference", {"type": "lissajous", "ramp_time": 0.5})
    bench.probe.wait_until(lambda: bench.probe.call(Trigger, "/thunder_reference/start").success, "start")
    bench.states.wait(lambda message: np.abs(message.velocity).max() > 0.1)
    bench.commands.clear()
    reference.kill()
    bench.states.clear()
    bench.states.wait(lambda message: np.abs(message.velocity).max() < 5e-3)
    told = bench.wait_for_count("reference lost", above=0)
    assert values_of(told)["reference"] in ("hold", "stopping after a lost stream")
    bench.wait_for_tracking()
    bench.assert_commands_are_safe()
    reference.process.wait()


def test_diagnostics_say_how_fast_and_how_promptly_the_loop_runs(bench: Bench) -> None:
    """That the figures are there and make sense; what they are depends on the machine: benchmarks/ros_realtime.py."""
    bench.diagnostics.clear()
    values = values_of(bench.diagnostics.wait(is_from_controller, count=3))
    figures = ("loop rate [Hz]", "jitter p99 [ms]", "command latency p50 [ms]", "command latency p99 [ms]")
    assert all(float(values[name]) > 0.0 for name in figures)
    assert float(values["command latency p50 [ms]"]) <= float(values["command latency p99 [ms]"])
    bench.commands.wait_new(100)


def test_ctrl_c_ramps_down_and_ends_the_controller(bench: Bench) -> None:
    bench.commands.clear()
    bench.controller.stop()  # within 3 s, status 0, no traceback, nothing left
    bench.assert_commands_are_safe()
    seen = bench.commands.latest.data
    bench.states.clear()
    held = bench.states.wait(lambda message: np.abs(message.velocity).max() == 0.0)  # the brakes
    np.testing.assert_allclose(seen, held.effort, atol=1.0)


def test_sigterm_ends_the_controller_as_well(bench: Bench) -> None:
    bench.controller.stop(signal.SIGTERM)


def test_the_controller_survives_the_end_of_the_robot_and_ends_in_time(bench: Bench) -> None:
    before = bench.count("ramps for lack of joint_states")
    bench.simulation.kill()
    bench.wait_for_count("ramps for lack of joint_states", above=before)
    bench.controller.stop()
    bench.assert_commands_are_safe()


# Last: the graph remembers a controller that was killed for a while, under the name that the others use.
def test_the_robot_survives_the_end_of_the_controller(bench: Bench) -> None:
    os.kill(bench.controller.process.pid, signal.SIGKILL)
    bench.controller.kill()
    bench.states.clear()
    bench.states.wait(lambda message: np.abs(message.velocity).max() == 0.0, timeout=10 * STOP_TIMEOUT)
    bench.simulation.stop()
