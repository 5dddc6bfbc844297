"""The model node: functions of the library at the measured joint state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nodes import Probe
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_controllers.ros.common.library_message import describe_folder, format_library_message
from thunder_controllers.ros.common.qos import LATCHED, MONITOR, STREAM
from thunder_controllers.ros.model.node import ModelNode
from thunder_dynamics.errors import NameNotFoundError

ROOT = Path(__file__).parents[3]
NODE = "/thunder_model"
Q = np.array([0.3, -0.7, 1.1])
QD = np.array([0.5, -0.2, 0.4])

MakeNode = Callable[..., ModelNode]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = td.load_model(ROOT / "config/robots/planar3r.yaml")
    return td.build(model, folder=tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    return Library(folder / "libplanar3r.so")


def joint_state(library: Library, order: tuple[int, ...] = (0, 1, 2)) -> JointState:
    """The state Q, QD in any order, with a joint that is none of the robot's in front."""
    names = ["gripper", *(library.joint_names[k] for k in order)]
    return JointState(name=names, position=[9.0, *Q[list(order)]], velocity=[9.0, *QD[list(order)]])


def array(message: Float64MultiArray) -> np.ndarray:
    return np.reshape(message.data, [dim.size for dim in message.layout.dim])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_values_are_those_of_the_library_whatever_the_order_of_the_joints(
    order: tuple[int, ...], make_node: MakeNode, probe: Probe, folder: Path, library: Library
) -> None:
    functions = ["M", "C", "G", "J_ee"]
    make_node(ModelNode, {"library": str(folder), "functions": functions})
    inboxes = {name: probe.listen(Float64MultiArray, f"{NODE}/{name}", MONITOR) for name in functions}
    states = probe.publisher(JointState, "/joint_states", STREAM)
    probe.wait_until(lambda: all(probe.node.count_publishers(i.topic) for i in inboxes.values()), "publishers")
    states.publish(joint_state(library, order))
    expected = {"M": library.evaluate("M", Q), "C": library.evaluate("C", Q, QD)}
    expected |= {"G": library.evaluate("G", Q), "J_ee": library.evaluate("J_ee", Q)}
    for name, inbox in inboxes.items():
        probe.wait_until(lambda inbox=inbox: len(inbox) or states.publish(joint_state(library, order)), name)
        np.testing.assert_array_equal(array(inbox.latest), expected[name])  # the same code, called twice
    dims = [(dim.label, dim.size, dim.stride) for dim in inboxes["J_ee"].latest.layout.dim]
    assert dims == [("J_ee/row", 6, 18), ("J_ee/column", 3, 3)]


def test_a_library_may_be_announced(
    make_node: MakeNode,
    probe: Probe,
    folder: Path,
    library: Library,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where there is none
    announcement = probe.publisher(String, "/thunder_generator/library", LATCHED, subscribers=0)
    announcement.publish(String(data=format_library_message(describe_folder(Path(library.path).parent))))
    make_node(ModelNode, {"functions": ["G"], "library_folders": [str(folder.parent)]})
    inbox = probe.listen(Float64MultiArray, f"{NODE}/G", MONITOR)
    states = probe.publisher(JointState, "/joint_states", STREAM)
    probe.wait_until(lambda: len(inbox) or states.publish(joint_state(library)), "G")
    assert array(inbox.latest).shape == (3,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ["joint1"], "position": [0.0]}, "joint_states: missing "),
        ({"position": [0.0, 1.0]}, "joint_states: 2 values"),
        ({"position": [0.0, 1.0, float("nan"), 0.0]}, "not finite"),
    ],
)
def test_a_bad_joint_state_is_not_evaluated_but_reported(
    changes: dict[str, Any], message: str, make_node: MakeNode, probe: Probe, folder: Path, library: Library
) -> None:
    state = joint_state(library)
    for field, value in changes.items():
        setattr(state, field, value)
    make_node(ModelNode, {"library": str(folder), "functions": ["G"]})
    inbox = probe.listen(Float64MultiArray, f"{NODE}/G", MONITOR)
    status = probe.listen(DiagnosticArray, "/diagnostics", MONITOR)
    states = probe.publisher(JointState, "/joint_states", STREAM)
    probe.wait_until(lambda: probe.node.count_publishers(inbox.topic), "publisher")
    states.publish(state)
    status.wait(lambda m: m.status[0].level == DiagnosticStatus.ERROR and message in m.status[0].message)
    assert len(inbox) == 0
    probe.wait_until(lambda: len(inbox) or states.publish(joint_state(library)), "G of a good state")


def test_the_joint_states_of_a_gripper_are_passed_over(
    make_node: MakeNode, probe: Probe, folder: Path, library: Library
) -> None:
    make_node(ModelNode, {"library": str(folder), "functions": ["G"], "rate": 1000.0})
    inbox = probe.listen(Float64MultiArray, f"{NODE}/G", MONITOR)
    status = probe.listen(DiagnosticArray, "/diagnostics", MONITOR)
    states = probe.publisher(JointState, "/joint_states", STREAM)
    probe.wait_until(lambda: len(inbox) or states.publish(joint_state(library)), "G")
    for _ in range(20):
        count = len(inbox)
        states.publish(JointState(name=["finger"], position=[0.1]))
        states.publish(joint_state(library))
        states.publish(JointState(name=["finger"], position=[0.1]))
        probe.wait_until(lambda count=count: len(inbox) > count, "G of a state between the gripper's")
    levels = [message.status[0].level for message in status.messages if message.status[0].name == NODE[1:]]
    assert DiagnosticStatus.ERROR not in levels


@pytest.mark.parametrize(
    ("functions", "message"),
    [(["no_such"], "no_such"), (["Yr"], "Yr needs dq_r, ddq_r"), (["M", "reg_M"], "reg_M needs ddq_r")],
)
def test_functions_that_cannot_be_evaluated_are_refused_at_the_start(
    functions: list[str], message: str, make_node: MakeNode, folder: Path
) -> None:
    with pytest.raises(NameNotFoundError, match=f"{message}.*valid: "):
        make_node(ModelNode, {"library": str(folder), "functions": functions})
