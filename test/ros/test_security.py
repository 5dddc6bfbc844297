"""SROS 2: the policies are complete, allow nothing else, and let the nodes work where the security plugins are."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import pytest
from controller_robot import build_panda
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.srv import ChangeState
from nodes import NodeProcess, Probe
from rclpy.impl.implementation_singleton import rclpy_implementation
from sensor_msgs.msg import JointState

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import STREAM
from thunder_controllers.ros.interfaces import NODES, NodeInterface
from thunder_controllers.ros.tools.policies import IN_ONE_PROCESS, MANAGER, OPERATOR, policies

ROOT = Path(__file__).parents[2]
POLICIES = ROOT / "config/security/policies.xml"
CONTROLLER = "/adaptive_controller"

OF_EVERY_NODE = {
    "publish": {"/parameter_events", "/rosout"},
    "subscribe": {"/clock", "/parameter_events"},
    "request": set(),
    "reply": {
        f"~/{name}"
        for name in (
            *("describe_parameters", "get_parameter_types", "get_parameters", "list_parameters"),
            *("set_parameters", "set_parameters_atomically", "get_type_description"),
        )
    },
}
OF_A_LIFECYCLE_NODE = (
    *("change_state", "get_state", "get_available_states"),
    *("get_available_transitions", "get_transition_graph"),
)


def allowed() -> dict[str, dict[str, set[str]]]:
    """What the file allows: names by enclave and by way."""
    found: dict[str, dict[str, set[str]]] = {}
    for enclave in ElementTree.parse(POLICIES).iter("enclave"):
        ways: dict[str, set[str]] = {way: set() for way in OF_EVERY_NODE}
        for group in enclave.iter():
            for way, rule in group.attrib.items():
                if way in ways:
                    assert rule == "ALLOW"
                    ways[way] |= {str(entry.text) for entry in group}
        found[enclave.attrib["path"]] = ways
    return found


def test_the_file_is_what_the_command_writes() -> None:
    run = [sys.executable, "-m", "thunder_controllers.ros.tools.policies"]
    written = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert POLICIES.read_text(encoding="utf-8") == written == policies()


def test_no_name_stands_for_several() -> None:
    text = POLICIES.read_text(encoding="utf-8")
    assert not re.search(r"<(topic|service)>[^<]*[*?\[{~]", text)
    assert all(re.fullmatch(r"/[\w/]+", name) for ways in allowed().values() for w in ways.values() for name in w)


def expected(node: NodeInterface) -> dict[str, set[str]]:
    """What an interface says, with the defaults of its parameters and what stands for several spelled out."""
    defaults = {parameter.name: str(parameter.default) for parameter in node.parameters}
    topics = {way: [t.name for t in node.topics if t.direction == way] for way in ("publishes", "subscribes")}
    patterns = {
        "publish": topics["publishes"],
        "subscribe": topics["subscribes"],
        "reply": [service.name for service in node.services],
        "request": [service.name for service in node.calls],
    }
    found: dict[str, set[str]] = {}
    for way, common in OF_EVERY_NODE.items():
        found[way] = set()
        for pattern in (*patterns[way], *common):
            name = re.sub(r"{(.*?)}", lambda match: defaults[match[1]], pattern).replace("~", f"/{node.name}")
            values = ("panda_link7",) if "<link>" in name else ("M", "C", "G")
            found[way] |= {re.sub("<.*>", value, f"/{name.lstrip('/')}") for value in values}
    if node.name == names.CONTROLLER:
        found["reply"] |= {f"{CONTROLLER}/{name}" for name in OF_A_LIFECYCLE_NODE}
        found["publish"].add(f"{CONTROLLER}/transition_event")
        found["subscribe"] |= {"/tf", "/tf_static"}
    return found


@pytest.mark.parametrize("name", [name for name in NODES if NODES[name].executable not in IN_ONE_PROCESS])
def test_a_node_may_do_what_its_interface_says_and_nothing_else(name: str) -> None:
    assert allowed()[f"/thunder/{NODES[name].executable}"] == expected(NODES[name])


@pytest.mark.parametrize("enclave", IN_ONE_PROCESS)
def test_nodes_in_one_process_may_do_what_each_of_them_may(enclave: str) -> None:
    each = [expected(NODES[name]) for name in IN_ONE_PROCESS[enclave]]
    assert allowed()[f"/thunder/{enclave}"] == {way: set().union(*(node[way] for node in each)) for way in each[0]}
    profiles = [p.attrib["node"] for p in _profiles(enclave)]
    assert profiles == list(IN_ONE_PROCESS[enclave])


def _profiles(enclave: str) -> list[ElementTree.Element]:
    (found,) = (e for e in ElementTree.parse(POLICIES).iter("enclave") if e.attrib["path"] == f"/thunder/{enclave}")
    return list(found.iter("profile"))


def test_the_plugin_may_do_what_the_controller_may_but_for_the_library_topic() -> None:
    controller = expected(NODES[names.CONTROLLER])
    controller["subscribe"].discard("/thunder_generator/library")
    assert allowed()[f"/thunder/{MANAGER}"] == controller


def test_nobody_can_command_efforts_and_only_two_give_references_to_the_controller() -> None:
    for ways in allowed().values():
        assert not any("effort" in topic for topic in ways["publish"] | ways["subscribe"])
    publishers = {
        topic: {enclave.rpartition("/")[2] for enclave, ways in allowed().items() if topic in ways["publish"]}
        for topic in (f"{CONTROLLER}/reference", "/joint_states")
    }
    assert list(publishers.values()) == [{"reference", OPERATOR, "ros"}, {"simulation", "ros"}]


# --- for real ---------------------------------------------------------------------------------------------------------

HANDSHAKES = 120.0
"""For participants to trust each other on a loaded machine [s]."""

NO_PLUGINS = "DDS security needs sros2, and a Fast DDS that was built with -DSECURITY=ON"


@pytest.fixture(scope="module")
def keystore(domain: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys and signed permissions for every enclave, in the domain of this module."""
    if find_spec("sros2") is None:
        pytest.skip(NO_PLUGINS)
    from sros2.api._artifact_generation import generate_artifacts

    folder = tmp_path_factory.mktemp("security") / "keystore"
    generate_artifacts(folder, [], [POLICIES])
    return folder


@pytest.fixture(scope="module")
def secured(keystore: Path) -> Iterator[None]:
    """Participants that are made while it lasts are secure, or not at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_SECURITY_ENABLE", "true")
        patch.setenv("ROS_SECURITY_STRATEGY", "Enforce")
        patch.setenv("ROS_SECURITY_KEYSTORE", str(keystore))
        yield


@pytest.fixture(scope="module")
def operator(secured: None, domain: int) -> Iterator[Probe]:
    try:
        node = Probe(domain, OPERATOR, enclave=f"/thunder/{OPERATOR}")
    except rclpy_implementation.RCLError as error:
        if "SECURITY" in str(error) or "security" in str(error):
            pytest.skip(f"{NO_PLUGINS}: {str(error).splitlines()[0]}")
        raise
    with node:
        yield node


@pytest.fixture(scope="module")
def system(operator: Probe, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A simulated arm under control, everything secured."""
    folder = tmp_path_factory.mktemp("system")
    given = {"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "mode": "lockstep"}
    arm = NodeProcess("simulation", {**given, "library": build_panda().path, "bringup": True}, folder)
    try:
        operator.wait_for_process(arm, HANDSHAKES)
        operator.wait_until(lambda: operator.state(CONTROLLER) == "active", "active controller", HANDSHAKES)
        yield
    finally:
        arm.kill()


def test_the_nodes_work_together_with_these_policies(system: None, operator: Probe) -> None:
    with operator.listening(JointState, "/joint_states", STREAM) as states:
        states.wait(count=100)
    assert operator.state(CONTROLLER) == "active"


def test_who_has_no_keys_sees_nothing_and_is_not_heard(
    system: None, operator: Probe, domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROS_SECURITY_ENABLE")
    with Probe(domain, "stranger") as stranger, operator.listening(JointState, "/joint_states", STREAM) as states:
        publisher = stranger.node.create_publisher(PoseStamped, f"{CONTROLLER}/target_pose", STREAM)
        change = stranger.node.create_client(ChangeState, f"{CONTROLLER}/change_state")
        with stranger.listening(JointState, "/joint_states", STREAM) as seen:
            for _ in range(200):
                publisher.publish(PoseStamped())
            states.wait_new(200)
            assert len(seen) == 0
        assert publisher.get_subscription_count() == 0
        assert not change.service_is_ready()
        assert stranger.node_names() == {"/stranger"}


def test_who_has_keys_of_another_node_may_not_command(system: None, domain: int) -> None:
    with Probe(domain, names.MODEL, enclave="/thunder/model") as model:
        with pytest.raises(rclpy_implementation.RCLError):
            model.node.create_publisher(PoseStamped, f"{CONTROLLER}/target_pose", STREAM)
        with pytest.raises(rclpy_implementation.RCLError):
            model.node.create_client(ChangeState, f"{CONTROLLER}/change_state")
