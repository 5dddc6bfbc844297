"""The simulation node as a process: its states, its clock, its modes, services and diagnostics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from nodes import Inbox, NodeProcess, Probe
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.ros.common.qos import MONITOR, SENSOR, STREAM
from thunder_controllers.ros.simulation.faults import FAULTS
from thunder_controllers.ros.simulation.node import SimulationNode
from thunder_dynamics.errors import ThunderError

StartNode = Callable[..., NodeProcess]

URDF = str(Path(__file__).parents[3] / "urdf/panda.urdf.xacro")
Q_START = [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]
NODE = "/mujoco_simulation"
COMMANDS = "/effort_controller/commands"
SIMULATION = {"urdf": URDF, "q_start": Q_START, "gravity_compensation": True}
"""With gravity compensated, no effort keeps the arm where it is."""


def _stamp(message: JointState) -> int:
    return message.header.stamp.sec * 10**9 + message.header.stamp.nanosec


def _values(status: DiagnosticArray) -> dict[str, str]:
    return {pair.key: pair.value for pair in status.status[0].values}


class Robot:
    """A running simulation, what it sends, and a way to command it."""

    def __init__(self, probe: Probe, states: Inbox, process: NodeProcess) -> None:
        self.probe, self.states, self.process = probe, states, process
        self.commands = probe.publisher(Float64MultiArray, COMMANDS, STREAM)

    def command(self, *effort: float) -> None:
        self.commands.publish(Float64MultiArray(data=list(effort or [0.0] * 7)))

    def inject(self, kind: str, **parameters: Any) -> None:
        values = {"fault.kind": kind, **{f"fault.{name}": value for name, value in parameters.items()}}
        assert all(result.successful for result in self.probe.set_parameters(NODE, values))
        assert self.probe.call(SetBool, f"{NODE}/inject_fault", SetBool.Request(data=True)).success

    def trigger(self, service: str) -> Trigger.Response:
        return self.probe.call(Trigger, f"{NODE}/{service}")


@pytest.fixture
def simulate(probe: Probe, start_node: StartNode) -> Callable[..., Any]:
    @contextmanager
    def run(**parameters: Any) -> Iterator[Robot]:
        with probe.listening(JointState, "/joint_states", STREAM) as states:
            process = start_node("simulation", {**SIMULATION, **parameters})
            robot = Robot(probe, states, process)
            states.wait_new(50)  # the node may match the commands' publisher a little later than that matches it
            yield robot
            process.stop()

    return run


def test_states_are_complete_and_stamped_with_every_period(simulate: Any) -> None:
    with simulate() as robot:
        robot.states.wait(count=50)
        first = robot.states.messages[0]
        assert list(first.name) == [f"panda_joint{i}" for i in range(1, 8)]
        np.testing.assert_allclose(first.position, Q_START, atol=1e-15)
        np.testing.assert_array_equal(first.velocity, np.zeros(7))
        steps = np.diff([_stamp(message) for message in robot.states.messages[:50]])
        assert set(steps) == {1_000_000}


def test_clock_follows_the_stamps(probe: Probe, simulate: Any) -> None:
    with probe.listening(Clock, "/clock", SENSOR) as clocks, simulate(rate=200.0) as robot:
        clocks.wait(count=20)
        robot.states.wait_new(5)
        stamps = {_stamp(message) for message in robot.states.messages}
        times = {message.clock.sec * 10**9 + message.clock.nanosec for message in clocks.messages}
        assert len(times & stamps) >= 20


def test_the_brakes_hold_until_the_first_command(simulate: Any) -> None:
    with simulate(gravity_compensation=False) as robot:
        held = robot.states.wait(count=300)
        np.testing.assert_allclose(held.position, Q_START, atol=1e-15)
        assert np.abs(held.effort).max() > 10.0  # what holding takes: a controller can start from it
        robot.command()
        robot.states.wait(lambda message: abs(message.position[1] - Q_START[1]) > 1e-4)  # it falls


def test_the_brakes_engage_when_commands_stop(probe: Probe, simulate: Any) -> None:
    with probe.listening(DiagnosticArray, f"{NODE}/status", MONITOR) as status, simulate() as robot:
        robot.command(0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        robot.states.wait(lambda message: message.velocity[1] > 0.01)
        robot.states.wait(lambda message: message.velocity[1] == 0.0 and message.position[1] > Q_START[1])
        braked = status.wait(lambda message: "commands have stopped" in message.status[0].message)
        assert _values(braked)["brakes engaged"] == "1"


def test_lock_step_makes_one_step_per_command(simulate: Any) -> None:
    """Commands answer states one by one; the arm's motion is then the same, bit for bit, in every run."""
    runs = []
    for _ in range(2):
        with simulate(mode="lockstep", lockstep_timeout=5.0, **{"noise.q_std": [1e-4]}) as robot:
            robot.command(1.0, 2.0, 3.0, 4.0, 0.5, 0.5, 0.5)
            first = robot.states.wait(lambda message: message.velocity[0] != 0.0)
            trace = [first]
            for k in range(50):
                stamp = _stamp(trace[-1]) + 1_000_000
                robot.command(np.sin(k), 2.0, 3.0, 4.0, 0.5, 0.5, 0.5)
                trace.append(robot.states.wait(lambda message, stamp=stamp: _stamp(message) >= stamp))
                assert _stamp(trace[-1]) == stamp
            runs.append(np.array([message.position for message in trace]))
    np.testing.assert_array_equal(runs[0], runs[1])


def test_lock_step_waits_for_its_command_and_then_brakes(simulate: Any) -> None:
    with simulate(mode="lockstep", lockstep_timeout=0.2) as robot:
        robot.command(0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        waiting = robot.states.wait(lambda message: message.velocity[1] != 0.0)
        after = robot.states.wait(lambda message: _stamp(message) > _stamp(waiting))
        np.testing.assert_allclose(after.position, waiting.position, atol=1e-15)
        np.testing.assert_array_equal(after.velocity, np.zeros(7))


def test_commands_that_do_not_fit_are_refused_and_counted(probe: Probe, simulate: Any) -> None:
    wrong = [[0.0] * 6, [0.0] * 8, [float("nan")] * 7, [float("inf")] * 7, []]
    with probe.listening(DiagnosticArray, f"{NODE}/status", MONITOR) as status, simulate() as robot:
        for effort in wrong:
            robot.commands.publish(Float64MultiArray(data=effort))
        seen = status.wait(lambda message: _values(message)["commands refused"] == str(len(wrong)))
        assert _values(seen)["commands accepted"] == "0"
        assert _values(seen)["last refusal"] == "command: 0 efforts; valid: 7"
        assert _values(seen)["held"] == "True"


def test_a_payload_changes_what_holding_takes_and_can_be_taken_off(simulate: Any) -> None:
    body = {"payload.mass": 2.0, "payload.com": [0.0, 0.0, 0.1]}
    with simulate(gravity_compensation=False, rate=200.0, **body) as robot:
        before = np.array(robot.states.latest.effort)
        assert robot.trigger("attach_payload").success
        loaded = robot.states.wait(lambda message: np.abs(message.effort - before).max() > 5.0)  # 2 kg at some 0.5 m
        np.testing.assert_array_equal(loaded.position, Q_START)
        refused = robot.trigger("attach_payload")
        assert not refused.success and "detach it first" in refused.message
        assert robot.trigger("detach_payload").success
        robot.states.clear()
        robot.states.wait(lambda message: np.allclose(message.effort, before, atol=1e-9))
        assert not robot.trigger("detach_payload").success


def test_an_impossible_payload_is_refused_with_the_reason(simulate: Any) -> None:
    with simulate(**{"payload.inertia": [1.0, 0.0, 0.0, 0.1, 0.0, 0.1]}) as robot:
        answer = robot.trigger("attach_payload")
        assert not answer.success
        assert "payload" in answer.message
        robot.probe.set_parameters(NODE, {"payload.inertia": [0.0] * 6, "payload.link": "nowhere"})
        assert "no link 'nowhere'" in robot.trigger("attach_payload").message


def test_reset_brings_the_arm_back_while_time_goes_on(simulate: Any) -> None:
    with simulate() as robot:
        robot.command(0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        moved = robot.states.wait(lambda message: message.position[1] > Q_START[1] + 1e-4)
        assert robot.trigger("reset").success
        back = robot.states.wait(lambda message: _stamp(message) > _stamp(moved) and list(message.position) == Q_START)
        np.testing.assert_array_equal(back.velocity, np.zeros(7))


def test_pause_stops_time(simulate: Any) -> None:
    with simulate() as robot:
        assert robot.probe.call(SetBool, f"{NODE}/pause", SetBool.Request(data=True)).message == "paused"
        robot.probe.call(SetBool, f"{NODE}/pause", SetBool.Request(data=True))  # a step under way has ended by now
        stamp = _stamp(robot.states.latest)
        robot.probe.call(SetBool, f"{NODE}/pause", SetBool.Request(data=False))
        after = robot.states.wait(lambda message: _stamp(message) > stamp)
        assert _stamp(after) - stamp <= 3_000_000  # states that were still on their way


CONTENT_FAULTS: dict[str, Callable[[JointState], bool]] = {
    "nan_joint_states": lambda message: any(np.isnan(message.position[:1])),
    "inf_velocity": lambda message: any(np.isinf(message.velocity[:1])),
    "wrong_names": lambda message: message.name[:1] == ["other_panda_joint1"],
    "wrong_size": lambda message: len(message.position) == 6 and len(message.name) == 7,
    "missing_joint": lambda message: len(message.name) == 6,
    "empty": lambda message: not message.name,
}


def test_faults_of_content_show_and_end(simulate: Any) -> None:
    with simulate(rate=200.0) as robot:
        for kind, shows in CONTENT_FAULTS.items():
            assert not shows(robot.states.wait_new())
            robot.inject(kind)
            robot.states.wait(shows, count=5)
            assert robot.probe.call(SetBool, f"{NODE}/inject_fault", SetBool.Request(data=False)).message == "none"
            robot.states.wait_new(2)
            robot.states.clear()


TIME_FAULTS: dict[str, Callable[[np.ndarray], bool]] = {
    "freeze": lambda steps: (steps == 0).sum() > 5,
    "duplicate": lambda steps: (steps == 0).sum() > 5,
    "reorder": lambda steps: (steps < 0).sum() > 5,
    "drop_every_second": lambda steps: (steps == 10_000_000).sum() > 5,
    "clock_jump": lambda steps: (steps > 9e9).sum() == 1,
    "clock_restart": lambda steps: (steps < -100_000_000).sum() == 1,
}


def test_faults_of_time_show(simulate: Any) -> None:
    with simulate(rate=200.0) as robot:
        for kind, shows in TIME_FAULTS.items():
            robot.states.clear()
            robot.states.wait(count=50)
            robot.inject(kind)
            robot.probe.wait_until(
                lambda shows=shows: shows(np.diff([_stamp(message) for message in list(robot.states.messages)])),
                f"sign of {kind}",
            )
            robot.probe.call(SetBool, f"{NODE}/inject_fault", SetBool.Request(data=False))
            robot.states.wait_new(5)


def test_stuck_sensors_keep_the_values_while_the_stamp_goes_on(simulate: Any) -> None:
    with simulate(rate=200.0, gravity_compensation=False) as robot:
        robot.inject("stuck_sensors")
        robot.command()
        robot.states.wait_new(12)  # those that were on their way
        robot.states.clear()
        robot.states.wait(count=20)
        values = np.array([message.position for message in robot.states.messages[:20]])
        np.testing.assert_array_equal(values, np.broadcast_to(values[0], values.shape))
        assert set(np.diff([_stamp(message) for message in robot.states.messages[:20]])) == {5_000_000}
        robot.probe.call(SetBool, f"{NODE}/inject_fault", SetBool.Request(data=False))
        robot.states.wait(lambda message: abs(message.position[1] - values[0, 1]) > 1e-3)  # it fell, unseen


def test_a_fault_ends_by_itself_after_its_duration(simulate: Any) -> None:
    with simulate(rate=200.0) as robot:
        robot.inject("drop_joint_states", duration=0.5)
        steps = robot.probe.wait_until(
            lambda: [s for s in np.diff([_stamp(m) for m in list(robot.states.messages)]) if s > 5_000_000], "gap"
        )
        # A hundred messages of 5 ms are missing, or one less if that of the moment of injection had been sent.
        assert steps in ([505_000_000], [500_000_000])


def test_every_fault_is_described_and_every_other_is_refused(simulate: Any) -> None:
    with simulate(rate=100.0) as robot:
        (result,) = robot.probe.set_parameters(NODE, {"fault.kind": "gremlins"})
        assert not result.successful
        assert all(kind in result.reason for kind in FAULTS)


def test_realtime_status_has_what_tells_a_slow_machine(probe: Probe, simulate: Any) -> None:
    with probe.listening(DiagnosticArray, f"{NODE}/status", MONITOR) as status, simulate() as robot:
        robot.command()
        values = _values(status.wait(count=2))
        assert {"rate kept [Hz]", "real-time factor [1]", "late steps", "time given up [s]"} <= values.keys()
        assert float(values["rate kept [Hz]"]) > 0.0


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"urdf": ""}, "parameter urdf: no description"),
        ({"urdf": "/nowhere/arm.urdf"}, "no such file"),
        ({"q_start": [0.0] * 6}, "q_start: 6 values"),
        ({"mode": "fast"}, "realtime, lockstep"),
        ({"rate": -1.0}, "rate"),
        ({"torque_delay": 0.00151}, "torque_delay"),
        ({"joints": ["a", "b"]}, "the controller's: a, b"),
        ({"xacro_args": ["hand"]}, "NAME:=VALUE"),
        ({"noise.q_std": [1.0, 2.0]}, "noise"),
        ({"payload.attached": True, "payload.link": "nowhere"}, "no link 'nowhere'"),
        ({"fault.kind": "gremlins"}, "fault.kind"),
        ({"seed": "one"}, "seed"),
    ],
)
def test_a_bad_parameter_is_refused_with_the_reason(probe: Probe, parameters: dict[str, Any], reason: str) -> None:
    overrides = [Parameter(name, value=value) for name, value in {**SIMULATION, **parameters}.items()]
    with pytest.raises(ThunderError, match=re.escape(reason)):
        SimulationNode(context=probe.context, parameter_overrides=overrides, use_global_arguments=False)


def test_a_node_that_cannot_start_ends_with_the_reason_and_leaves_nothing(start_node: StartNode) -> None:
    process = start_node("simulation", {**SIMULATION, "q_start": [0.0] * 6}, wait=False)
    assert process.wait() == 1
    process.stopped = True
    assert "q_start: 6 values" in process.output
    process.assert_nothing_left()
