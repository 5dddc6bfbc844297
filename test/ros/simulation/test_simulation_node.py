"""The simulation node: its services, parameters and diagnostics; and its process, with the controller in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from nodes import NodeProcess, Probe
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.ros.common.qos import MONITOR
from thunder_controllers.ros.simulation.faults import FAULTS
from thunder_controllers.ros.simulation.node import SimulationNode
from thunder_dynamics.errors import ThunderError

URDF = str(Path(__file__).parents[3] / "urdf/panda.urdf.xacro")
Q_START = [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]
NODE = "/mujoco_simulation"
SIMULATION = {"urdf": URDF, "q_start": Q_START, "gravity_compensation": True}


def make(probe: Probe, **parameters: Any) -> SimulationNode:
    overrides = [Parameter(name, value=value) for name, value in {**SIMULATION, **parameters}.items()]
    return SimulationNode(context=probe.context, parameter_overrides=overrides, use_global_arguments=False)


@pytest.fixture
def simulation(probe: Probe) -> Iterator[SimulationNode]:
    node = make(probe, rate=200.0)
    probe.executor.add_node(node)
    node.loop.start()
    yield node
    probe.in_own_thread(probe.executor.remove_node, node)
    node.destroy_node()


def trigger(probe: Probe, service: str) -> Trigger.Response:
    return probe.call(Trigger, f"{NODE}/{service}")


def test_a_payload_is_attached_once_taken_off_and_refused_where_it_cannot_be(
    simulation: SimulationNode, probe: Probe
) -> None:
    assert trigger(probe, "attach_payload").success and simulation.robot.payload is not None
    refused = trigger(probe, "attach_payload")
    assert not refused.success and "detach it first" in refused.message
    assert trigger(probe, "detach_payload").success and not trigger(probe, "detach_payload").success
    probe.set_parameters(NODE, {"payload.inertia": [1.0, 0.0, 0.0, 0.1, 0.0, 0.1]})
    assert "payload" in trigger(probe, "attach_payload").message
    probe.set_parameters(NODE, {"payload.inertia": [0.0] * 6, "payload.link": "nowhere"})
    assert "no link 'nowhere'" in trigger(probe, "attach_payload").message


def test_pause_stops_time_and_reset_brings_the_arm_back(simulation: SimulationNode, probe: Probe) -> None:
    probe.call(Trigger, f"{NODE}/attach_payload")
    assert probe.call(SetBool, f"{NODE}/pause", SetBool.Request(data=True)).message == "paused"
    assert simulation.loop.is_paused
    assert trigger(probe, "reset").success and simulation.robot.payload is None
    assert probe.call(SetBool, f"{NODE}/pause", SetBool.Request(data=False)).message == "running"
    assert not simulation.loop.is_paused


def test_faults_begin_and_end_and_others_are_refused_with_those_there_are(
    simulation: SimulationNode, probe: Probe
) -> None:
    (result,) = probe.set_parameters(NODE, {"fault.kind": "gremlins"})
    assert not result.successful and all(kind in result.reason for kind in FAULTS)
    assert probe.set_parameters(NODE, {"fault.kind": "freeze"})[0].successful
    for data, kind in ((True, "freeze"), (False, "none")):
        assert probe.call(SetBool, f"{NODE}/inject_fault", SetBool.Request(data=data)).message == kind


def test_the_status_has_what_tells_a_slow_machine(simulation: SimulationNode, probe: Probe) -> None:
    with probe.listening(DiagnosticArray, f"{NODE}/status", MONITOR) as status:
        values = {pair.key: pair.value for pair in status.wait(count=2).status[0].values}
    assert {"real-time factor [1]", "late steps", "time given up [s]", "held"} <= values.keys()
    assert float(values["rate kept [Hz]"]) > 0.0


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"urdf": ""}, "parameter urdf: no description"),
        ({"urdf": "/nowhere/arm.urdf"}, "no such file"),
        ({"q_start": [0.0] * 6}, "q_start has shape (6,)"),
        ({"mode": "fast"}, "realtime, lockstep"),
        ({"rate": -1.0}, "rate"),
        ({"torque_delay": 0.00151}, "torque_delay"),
        ({"joints": ["a", "b"]}, "the controller's: a, b"),
        ({"xacro_args": ["hand"]}, "NAME:=VALUE"),
        ({"noise.q_std": [1.0, 2.0]}, "noise"),
        ({"payload.attached": True, "payload.link": "nowhere"}, "no link 'nowhere'"),
    ],
)
def test_a_bad_parameter_is_refused_with_the_reason(probe: Probe, parameters: dict[str, Any], reason: str) -> None:
    with pytest.raises(ThunderError, match=re.escape(reason)):
        make(probe, **parameters)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"q_start": [0.0] * 6}, "q_start has shape (6,)"),
        ({"bringup": True, "library": "/no/such"}, "cannot be brought up"),
    ],
)
def test_a_process_that_cannot_start_ends_with_the_reason_and_leaves_nothing(
    start_node: Callable[..., NodeProcess], parameters: dict[str, Any], reason: str
) -> None:
    process = start_node("simulation", {**SIMULATION, **parameters}, wait=False)
    assert process.wait() == 1
    process.stopped = True
    assert reason in process.output
    process.assert_nothing_left()
