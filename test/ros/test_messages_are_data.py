"""Whatever comes on a topic or asks for a service: the node goes on, and takes a valid message afterwards.

What is subscribed to and offered is read from interfaces.yaml, so that nothing new is left out. Every node is a process
and every message goes over DDS; bytes that no message can be read from are among them. A node that writes a traceback
fails.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rcl_interfaces.msg
import rcl_interfaces.srv
from controller_robot import Q, TestRobot, build_panda, values_of
from diagnostic_msgs.msg import DiagnosticArray
from fuzz import LARGE, Fuzzer
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.srv import ChangeState
from nodes import NodeProcess, Probe
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.host import Library
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import PROFILES
from thunder_controllers.ros.interfaces import NODES, NodeInterface, Topic

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
StartNode = Callable[..., NodeProcess]

MESSAGES = 150
"""On each topic."""
RAW = 7
"""One of so many is no message but bytes."""
REQUESTS = 20
"""To each service that has something in its request."""
BURST = 10
"""Messages between two questions to the node: as many as wait in a queue."""

LIMITS = np.array([87.0] * 4 + [12.0] * 3)
PARAMETER_SERVICES = (
    "DescribeParameters",
    "GetParameters",
    "GetParameterTypes",
    "ListParameters",
    "SetParameters",
    "SetParametersAtomically",
)
SIMULATION = {"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "gravity_compensation": True}


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


@pytest.fixture(scope="module")
def joint_library() -> Library:
    return build_panda(law="slotine_li")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the nodes work: what they are made to write is there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Attack:
    """Sends a node what it never asked for."""

    def __init__(self, probe: Probe, interface: NodeInterface, library: Library, largest: int = LARGE) -> None:
        self.probe, self.interface = probe, interface
        words = ("world", "panda_flange", "panda_link8", *(parameter.name for parameter in interface.parameters))
        self.fuzzer = Fuzzer(1, library.joint_names, words, largest)
        self.node = f"/{interface.name}"

    def topics(self, topics: Sequence[Topic], between: Callable[[], object] | None = None) -> None:
        """Messages of the right type and raw bytes on all topics in turn; `between` is called after each burst."""
        with ExitStack() as stack:
            targets = []
            for topic in topics:
                package, _, name = topic.type.split("/")
                kind = getattr(import_module(f"{package}.msg"), name)
                advertising = self.probe.advertising(kind, self.resolve(topic.name), PROFILES[topic.qos])
                targets.append((kind, stack.enter_context(advertising)))
            for k in range(MESSAGES):
                for kind, publisher in targets:
                    publisher.publish(self.fuzzer.payload() if k % RAW == 0 else self.fuzzer.message(kind))
                if k % BURST == 0:
                    self.ask()
                    if between is not None:
                        between()

    def services(self) -> None:
        """Requests to every service of interfaces.yaml and to those that every node has."""
        for service in self.interface.services:
            package, _, name = service.type.split("/")
            kind = getattr(import_module(f"{package}.srv"), name)
            for _ in range(10):
                self.probe.call(kind, self.resolve(service.name), self.fuzzer.message(kind.Request))
        for name in PARAMETER_SERVICES:
            kind = getattr(rcl_interfaces.srv, name)
            for _ in range(REQUESTS):
                request = self.fuzzer.message(kind.Request)
                for parameter in getattr(request, "parameters", ()):
                    parameter.value.type %= 10  # the others are a defect of rclpy: see the last test
                service = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
                self.probe.call(kind, f"{self.node}/{service}", request)

    def ask(self) -> None:
        """A question that the node must answer."""
        self.probe.get_parameters(self.node, "use_sim_time")

    def resolve(self, name: str) -> str:
        """The name with the defaults of the parameters in it."""
        values = {parameter.name: str(parameter.default) for parameter in self.interface.parameters}
        name = re.sub(r"{(.*?)}", lambda found: values[found[1]], name).replace("<link>", "panda_link7")
        return name.replace("~", self.node) if name.startswith("~") else f"/{name.lstrip('/')}"


def subscribed(interface: NodeInterface) -> list[Topic]:
    return [topic for topic in interface.topics if topic.direction == "subscribes"]


# --- the nodes without an arm in their hands --------------------------------------------------------------------------


def check_model(probe: Probe, library: Library) -> None:
    states = probe.publisher(JointState, "/joint_states", PROFILES["STREAM"])
    with probe.listening(Float64MultiArray, "/thunder_model/G") as inbox:
        message = JointState(name=list(library.joint_names), position=Q.tolist())
        probe.wait_until(lambda: len(inbox) or states.publish(message), "G")
    np.testing.assert_array_equal(inbox.latest.data, np.ravel(library.evaluate("G", Q)))


def check_reference(probe: Probe, library: Library) -> None:
    values = {"type": "hold", "centre": [], "ypr": [0.0, 0.0, 0.0]}  # seven whole numbers were taken as `ypr`
    for name, value in values.items():
        assert probe.set_parameters("/thunder_reference", {name: value})[0].successful
    poses = probe.publisher(PoseStamped, "/adaptive_controller/pose", PROFILES["MONITOR"])
    message = PoseStamped()
    message.header.frame_id, message.pose.position.x, message.pose.orientation.w = "world", 0.4, 1.0

    def moves() -> bool:
        poses.publish(message)  # again and again: the first may come before the node knows who sends it
        return "under way" in probe.call(Trigger, "/thunder_reference/start").message

    probe.wait_until(moves, "motion")


def check_simulation(probe: Probe, library: Library) -> None:
    assert probe.call(SetBool, "/mujoco_simulation/pause", SetBool.Request(data=False)).success
    assert probe.call(Trigger, "/mujoco_simulation/reset").success
    with probe.listening(JointState, "/joint_states", PROFILES["STREAM"]) as states:
        assert np.isfinite(states.wait_new(10).position).all()


Check = Callable[[Probe, Library], None]
NODES_WITHOUT_ARM: Mapping[str, tuple[str, dict[str, Any], Check]] = {
    names.GENERATOR: ("generator", {}, lambda probe, _: None),
    names.SIMULATION: ("simulation", SIMULATION, check_simulation),
    names.REFERENCE: ("reference", {"autostart": True, "type": "lissajous"}, check_reference),
    names.MODEL: ("model", {"functions": ["G"]}, check_model),
    names.MONITOR: ("tools.monitor", {"period": 0.2}, lambda probe, _: None),
}
"""Executable, parameters, and what must work afterwards."""

ENDS_WITH_THE_REASON = {names.WAIT_FOR_LIBRARY: "it ends with the first announcement, good or bad"}


def test_every_node_that_listens_or_serves_is_attacked_here() -> None:
    listening = {name for name, node in NODES.items() if subscribed(node) or node.services}
    assert listening == {names.CONTROLLER, *NODES_WITHOUT_ARM, *ENDS_WITH_THE_REASON}


@pytest.mark.parametrize("name", NODES_WITHOUT_ARM)
def test_a_node_survives_whatever_comes(name: str, probe: Probe, start_node: StartNode, library: Library) -> None:
    executable, parameters, check = NODES_WITHOUT_ARM[name]
    if name == names.MODEL:  # without announcements; those are sent to it as well
        parameters = {**parameters, "library": library.path}
    node = start_node(executable, parameters, name=name)
    attack = Attack(probe, NODES[name], library)
    library_topics = [topic for topic in subscribed(NODES[name]) if "library_topic" in topic.name]
    attack.topics([topic for topic in subscribed(NODES[name]) if topic not in library_topics or name != names.MODEL])
    attack.services()
    assert node.is_running, node.output
    check(probe, library)
    attack.ask()


# --- the controller ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cartesian", "joint"])
def test_an_arm_under_control_survives_whatever_comes(
    kind: str, probe: Probe, library: Library, joint_library: Library
) -> None:
    used, other = (library, "joint") if kind == "cartesian" else (joint_library, "cartesian")
    robot = TestRobot(probe, used)
    silent = ("~/joint_",) if other == "joint" else ("~/reference", "~/target_pose", "~/trajectory")
    # test_controller_wrenches and test_controller_poses have laws for these
    silent = (*silent, "~/reference_wrench", "~/measured_wrench", "~/measured_pose")
    attack = Attack(probe, NODES[names.CONTROLLER], used)
    parameters = list(robot.node.get_parameters_by_prefix("").values())
    try:
        robot.activate()
        attack.topics(
            [topic for topic in subscribed(NODES[names.CONTROLLER]) if not topic.name.startswith(silent)],
            between=robot.step,
        )
        with robot.running():
            attack.services()
        for number in (0, 10, 200, 255):
            request = ChangeState.Request()
            request.transition.id = number
            assert not probe.call(ChangeState, f"{attack.node}/change_state", request).success
        efforts = np.array(robot.efforts)
        assert len(efforts) > MESSAGES // BURST and np.isfinite(efforts).all() and (np.abs(efforts) <= LIMITS).all()
        robot.reset()
        robot.node.set_parameters(parameters)  # a law or a limit that is set may be refused when it counts, as here
        assert np.isfinite(robot.activate()).all() and np.isfinite(robot.steps(10)).all()
    finally:
        robot.close()


# --- what a node does about a defect ----------------------------------------------------------------------------------


def test_an_exception_of_a_callback_is_logged_and_reported_and_the_arm_stays_under_control(
    probe: Probe, start_node: StartNode, library: Library
) -> None:
    """The defect is one of rclpy: a parameter of no known type raises ValueError, and gets no answer."""
    arm = start_node("simulation", {**SIMULATION, "library": library.path, "bringup": True}, namespace="/arm")
    node = "/arm/adaptive_controller"
    arm.wait_for_output("adapts panda_link7")  # it answers again when it is active
    probe.wait_until(lambda: probe.state(node) == "active", "active controller")
    client = probe.node.create_client(rcl_interfaces.srv.SetParameters, f"{node}/set_parameters")
    probe.wait_until(client.service_is_ready, "service")
    parameter = rcl_interfaces.msg.Parameter(name="law", value=rcl_interfaces.msg.ParameterValue(type=255))
    with probe.listening(DiagnosticArray, "/diagnostics") as diagnostics:
        client.call_async(rcl_interfaces.srv.SetParameters.Request(parameters=[parameter]))
        reported = diagnostics.wait(lambda m: m.status[0].message.startswith("a callback failed: ValueError"))
    values = values_of(reported)
    assert values["level"] == "2" and values["failed callbacks"].startswith("1, last: ValueError: 255 is not a valid")
    arm.wait_for_output("a callback failed; the node goes on.")
    assert probe.state(node) == "active"
    arm.process.send_signal(signal.SIGINT)
    assert arm.wait() == 0
    arm.stopped = True
