"""Which nodes each backend consists of, how they are called, and what is missing when they cannot start.

The node sets are data: these tests need none of the packages that the backends are made of.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.ros.bringup.backends import BACKENDS, NODE, PANDA_START, PLUGIN, PLUGIN_TYPE
from thunder_controllers.ros.bringup.bringups import PANDA_ADAPTIVE, WRONG_LAST_LINK
from thunder_controllers.ros.bringup.node_set import LaunchArgumentError, NodeDescription, NodeSet, Xacro
from thunder_controllers.ros.bringup.start import (
    NotInstalledError,
    PreparationError,
    check_needs,
    node_parameters,
    prepare,
)
from thunder_controllers.ros.common import names
from thunder_controllers.ros.tools.launcher import _node_process

ROOT = Path(__file__).parents[3]
CONTROL = sorted((ROOT / "config/ros2_control").glob("*.yaml"))
FRANKA_LIMITS = [87.0] * 4 + [12.0] * 3
"""Torque limits of a Franka's joints [N·m]."""

FRANKA_REFLEX = 1000.0
"""Torque rate at which a Franka stops [N·m/s]."""

ARM = {"backend": "franka", "robot_ip": "10.0.0.1"}


def make(**given: str) -> NodeSet:
    return PANDA_ADAPTIVE.node_set(given)


def by_name(nodes: NodeSet) -> dict[str, NodeDescription]:
    table = {node.name: node for node in nodes.nodes}
    assert len(table) == len(nodes.nodes), "names are unique"
    return table


def plugin_values(nodes: NodeSet) -> dict[str, Any]:
    """Parameters that the plugin gets above its files."""
    values: dict[str, Any] = yaml.safe_load(by_name(nodes)[names.BRINGUP_PLUGIN].parameters["values"])
    return values


def description(nodes: NodeSet) -> Xacro:
    value = by_name(nodes)["robot_state_publisher"].parameters["robot_description"]
    assert isinstance(value, Xacro)
    return value


def section(file: Path, node: str) -> dict[str, Any]:
    parameters: dict[str, Any] = yaml.safe_load(file.read_text())[f"/**/{node}"]["ros__parameters"]
    return parameters


def control(name: str) -> Path:
    return ROOT / f"config/ros2_control/{name}.yaml"


# --- what every backend on ros2_control has ---------------------------------------------------------------------------


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_the_plugin_is_loaded_by_the_spawner_with_what_the_arguments_say(backend: str, tmp_path: Path) -> None:
    gains = tmp_path / "gains.yaml"
    gains.write_text("/**/adaptive_controller: {ros__parameters: {gains.gamma: 0.5}}")
    nodes = make(backend=backend, gains=str(gains), law="slotine_li:friction=adapted", reference="none")
    table = by_name(nodes)
    assert names.CONTROLLER not in table, "the controller is no process"
    assert names.SIMULATION not in table
    assert names.BRINGUP not in table
    starter = table[names.BRINGUP_PLUGIN]
    assert not starter.required, "it ends once the controller is up"
    assert starter.parameters["files"][-1] == str(gains), "the last file is the strongest"
    assert Path(starter.parameters["files"][0]).parent.name == "ros2_control"
    values = plugin_values(nodes)
    assert values["type"] == PLUGIN_TYPE
    assert values["law"] == "slotine_li", "its options are the generator's"
    assert "library" not in values, "the generator says where it is"
    assert table[names.GENERATOR].parameters["laws"] == ["slotine_li:friction=adapted"]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_the_node_commands_a_forward_controller_that_is_spawned_in_time(backend: str) -> None:
    table = by_name(make(backend=backend, controller="node", autostart="true"))
    assert names.BRINGUP_PLUGIN not in table
    assert table[names.CONTROLLER].factory.endswith("controller_node:AdaptiveController")
    parameters = table[names.BRINGUP].parameters
    assert parameters["spawn"] == ["effort_controller"]
    (file,) = parameters["spawn_files"]
    joints = section(Path(file), "effort_controller").get("joints") or parameters["spawn_words"][-1]
    assert len(re.findall(r"joint\d", str(joints))) == 7


@pytest.mark.parametrize("backend", ["ros2_control", "gazebo"])
def test_a_simulated_arm_starts_by_itself_from_wrong_estimates_and_holds_itself_up(backend: str) -> None:
    nodes = make(backend=backend)
    values = plugin_values(nodes)
    assert values["gravity_compensated_by_robot"] is False
    assert Path(values["estimates_file"]) == resolve_file(WRONG_LAST_LINK)
    assert by_name(nodes)[names.BRINGUP_PLUGIN].parameters["activate"] is True
    assert by_name(nodes)[names.REFERENCE].parameters["autostart"] is True


@pytest.mark.parametrize("controller", [PLUGIN, NODE])
@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_names_and_the_order_of_the_start_do_not_depend_on_the_backend(backend: str, controller: str) -> None:
    order = [node.name for node in make(backend=backend, controller=controller, autostart="true").nodes]
    tail = [names.GENERATOR, *([names.CONTROLLER] if controller == NODE else []), names.REFERENCE]
    assert order[-len(tail) - 1 : -1] == tail
    assert order[-1] == (names.BRINGUP_PLUGIN if controller == PLUGIN else names.BRINGUP)


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_lock_step_is_refused_where_nothing_waits(backend: str) -> None:
    with pytest.raises(LaunchArgumentError, match="lockstep.*backend:=mujoco"):
        make(backend=backend, mode="lockstep")


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_viewers_and_model_join_every_backend(backend: str) -> None:
    nodes = make(backend=backend, use_rqt="true", use_rviz="true", record="true", model="true")
    assert {"rqt", "rviz2", "ros2"} <= {command.name for command in nodes.commands}
    assert names.MODEL in by_name(nodes)
    publishers = [node for node in nodes.nodes if node.package == "robot_state_publisher"]
    assert len(publishers) == (0 if backend == "franka" else 1), "one description; a running franka_ros2 has its own"


# --- each backend -----------------------------------------------------------------------------------------------------


def test_ros2_control_runs_mujoco_on_a_model_with_the_payload_that_is_written_first() -> None:
    nodes = make(backend="ros2_control", payload="1.5")
    table = by_name(nodes)
    (words,) = nodes.before
    assert words[0] == "mjcf"
    assert Path(words[1]) == ROOT / "urdf/panda.urdf.xacro"
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert float(options["--payload-mass"]) == 1.5
    assert options["--q-start"] == PANDA_START
    assert description(nodes).file.endswith("urdf/panda.ros2_control.xacro")
    assert description(nodes).arguments["model"] == options["--out"]
    manager = table["controller_manager"]
    assert (manager.package, manager.executable) == ("controller_manager", "ros2_control_node")
    assert [file.name for file in manager.files] == ["panda_mujoco.yaml"]
    broadcaster = table["spawner_joint_state_broadcaster"]
    assert (broadcaster.package, broadcaster.executable) == ("controller_manager", "spawner")
    assert broadcaster.arguments[0] == "joint_state_broadcaster"
    assert not broadcaster.required


def test_runs_with_different_payloads_have_different_models() -> None:
    files = {make(backend="ros2_control", payload=mass).before[0][3] for mass in ("0", "1", "2")}
    assert len(files) == 3
    assert "--payload-mass" not in make(backend="ros2_control").before[0]


def test_simulations_start_where_the_simulation_node_does() -> None:
    q = section(ROOT / "config/ros/panda.yaml", names.SIMULATION)["q_start"]
    assert np.array_equal([float(word) for word in PANDA_START.split()], q)


def test_gazebo_gets_world_robot_clock_and_the_time_of_the_simulation() -> None:
    nodes = make(backend="gazebo", payload="1.5", namespace="left", model="true", use_gazebo_gui="true")
    table = by_name(nodes)
    server = table["gzserver"]
    assert (server.package, server.executable, server.required) == ("ros_gz_sim", "gzserver", True)
    assert Path(server.parameters["world_sdf_file"]) == ROOT / "config/gazebo/panda.sdf"
    assert "GZ_SIM_SYSTEM_PLUGIN_PATH" in server.environment, "Gazebo looks for gz_ros2_control's library there"
    create = table["ros_gz_sim"]
    assert (create.package, create.executable, create.required) == ("ros_gz_sim", "create", False)
    assert create.parameters == {"world": "thunder", "topic": "robot_description", "name": "panda"}
    assert table["ros_gz_bridge"].arguments == ("/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",)
    arguments = description(nodes).arguments
    assert (arguments["namespace"], float(arguments["payload_mass"])) == ("left", 1.5)
    assert Path(arguments["controllers"]) == control("panda_gazebo")
    for name in (names.REFERENCE, names.MODEL, "robot_state_publisher"):
        assert table[name].parameters["use_sim_time"] is True
    assert ("gz", "sim", "-g") in [command.command for command in nodes.commands]
    assert "controller_manager" not in table, "it runs inside Gazebo"


def test_a_real_arm_waits_for_a_person_and_starts_from_its_own_model() -> None:
    nodes = make(**ARM)
    values = plugin_values(nodes)
    assert values["gravity_compensated_by_robot"] is True
    assert "estimates_file" not in values
    assert by_name(nodes)[names.BRINGUP_PLUGIN].parameters["activate"] is False
    assert by_name(nodes)[names.REFERENCE].parameters["autostart"] is False
    assert names.BRINGUP not in by_name(make(**ARM, controller="node"))
    assert by_name(make(**ARM, autostart="true"))[names.BRINGUP_PLUGIN].parameters["activate"] is True


def test_franka_ros2_is_started_with_address_kind_and_load_of_the_arm() -> None:
    nodes = make(**ARM, arm_id="fp3", load="0.5+0+0.01+0.1")
    table = by_name(nodes)
    arguments = description(nodes).arguments
    assert description(nodes).file.endswith("urdf/franka_arm.urdf.xacro")
    assert (arguments["robot_ip"], arguments["robot_type"], arguments["hand"]) == ("10.0.0.1", "fp3", "false")
    assert (float(arguments["load_mass"]), arguments["load_com"]) == (0.5, "0 0.01 0.1")
    assert table[names.BRINGUP_PLUGIN].parameters["load"] == [0.5, 0.0, 0.01, 0.1], "robot and model know the same"
    assert [file.name for file in table["controller_manager"].files] == ["panda_franka.yaml"]
    assert table["spawner_franka_robot_state_broadcaster"].arguments[-1] == "--controller-ros-args=-p robot_type:=fp3"
    generator = table[names.GENERATOR].parameters
    assert (generator["robot"], generator["ee_link"]) == ("", "fp3_link8"), "the model is that of robot_description"
    values = plugin_values(nodes)
    assert values["robot"] == "fp3"
    assert values["joints"] == [f"fp3_joint{k}" for k in range(1, 8)]


def test_everything_beside_a_franka_reads_its_states_at_the_full_rate() -> None:
    nodes = make(**ARM, controller="node", model="true")
    for node in nodes.nodes:
        if node.package != "controller_manager":
            assert ("joint_states", "franka/joint_states") in node.remappings, node.name
    words = by_name(nodes)["spawner_joint_state_broadcaster"].arguments
    assert words[-1] == "--controller-ros-args=-r joint_states:=franka/joint_states"


def test_the_spawner_understands_its_command_lines() -> None:
    spawner = pytest.importorskip("controller_manager.spawner", reason="controller_manager is not installed")
    for backend in ({"backend": "ros2_control"}, {"backend": "gazebo"}, ARM):
        nodes = by_name(PANDA_ADAPTIVE.node_set({**backend, "controller": "node", "autostart": "true"}))
        lines = [list(node.arguments) for node in nodes.values() if node.executable == "spawner"]
        parameters = nodes[names.BRINGUP].parameters
        lines.append([*parameters["spawn"], *parameters.get("spawn_words", ())])
        for line in lines:
            _, (controller,) = spawner.parse_native_args(line)
            assert controller["name"] == line[0]
            words = [word.partition("=")[2] for word in line if word.startswith("--controller-ros-args")]
            assert controller["controller_ros_args"] == (words or None)


def test_the_node_on_a_franka_has_its_guard_and_the_names_of_its_joints() -> None:
    parameters = by_name(make(**ARM, controller="node"))[names.CONTROLLER].parameters
    assert parameters["robot_interface"] == "franka"
    assert parameters["gravity_compensated_by_robot"] is True
    assert parameters["joints"][0] == "fr3_joint1"
    assert parameters["robot"] == "fr3"


def test_beside_a_running_franka_ros2_nothing_of_it_is_started() -> None:
    nodes = make(backend="franka")
    packages = {node.package for node in nodes.nodes}
    assert packages == {"thunder_controllers"}
    assert "franka_hardware" not in {need.package for need in nodes.needs}
    assert "franka_hardware" in {need.package for need in make(**ARM).needs}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"payload": "1"}, "payload is simulated only.*load:="),
        ({"load": "1+0+0+0"}, "load:=1.*valid: robot_ip"),
        ({"robot_ip": "10.0.0.1", "load": "1+0+0"}, "load:=1.*4 numbers"),
        ({"robot_ip": "10.0.0.1", "load": "-1+0+0+0"}, "load:=-1.*the first positive"),
        ({"robot_ip": "10.0.0.1", "load": "heavy"}, "load:=heavy.*4 numbers"),
        ({"robot_ip": "10.0.0.1", "load": "nan+0+0+0"}, "load:=nan"),
        ({"robot_ip": "10.0.0.1", "arm_id": "panda"}, "does not drive a Panda.*valid: fr3"),
    ],
)
def test_what_a_real_arm_cannot_do_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(LaunchArgumentError, match=message):
        make(backend="franka", **given)


# --- parameter files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", CONTROL, ids=lambda file: file.stem)
def test_a_controller_manager_runs_at_1_khz_and_knows_the_types_of_its_controllers(file: Path) -> None:
    manager = section(file, "controller_manager")
    assert manager["update_rate"] == 1000
    assert manager["adaptive_controller"]["type"] == PLUGIN_TYPE
    assert manager["joint_state_broadcaster"]["type"] == "joint_state_broadcaster/JointStateBroadcaster"
    assert manager["effort_controller"]["type"] == "forward_command_controller/ForwardCommandController"
    assert section(file, "effort_controller")["interface_name"] == "effort"


@pytest.mark.parametrize("file", CONTROL, ids=lambda file: file.stem)
def test_parameters_of_the_plugin_are_ones_that_it_declares(file: Path) -> None:
    declared = yaml.safe_load((ROOT / "thunder_controllers/ros2_control/plugin/parameters.yaml").read_text())[
        "thunder_adaptive_controller"
    ]
    values = section(file, "adaptive_controller")
    assert set(values) - {"gains"} <= set(declared)
    for name, value in values.items():
        kind = declared[name]["type"] if name != "gains" else ""
        assert not kind.startswith("double") or type(np.ravel(value).tolist()[0]) is float, f"{name}: ROS has no mixed"


def test_a_franka_gets_no_torque_that_it_would_refuse() -> None:
    values = section(control("panda_franka"), "adaptive_controller")
    assert values["effort_limit"] == FRANKA_LIMITS
    assert len(values["effort_rate_limit"]) == 7
    assert max(values["effort_rate_limit"]) < FRANKA_REFLEX
    assert values["zero_start"] is True
    assert values["gravity_compensated_by_robot"] is True
    assert 0.0 < values["max_activation_error"] <= 0.05, "a step of the reference is a reflex"
    assert values["freeze_on_start"] is True
    manager = section(control("panda_franka"), "controller_manager")
    assert manager["thread_priority"] < 99, "the kernel's own threads are at 99"
    assert manager["cpu_affinity"]
    assert manager["overruns"] == {"manage": False, "print_warnings": False}


# --- what is not installed --------------------------------------------------------------------------------------------


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ament index that is empty."""
    folder = tmp_path / "share/ament_index/resource_index"
    (folder / "packages").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    return folder


@pytest.mark.parametrize(
    ("given", "packages", "more"),
    [
        ({"backend": "ros2_control"}, ["controller-manager", "joint-state-broadcaster", "robot-state-publisher"], []),
        ({"backend": "ros2_control", "controller": "node"}, ["forward-command-controller"], []),
        ({"backend": "gazebo"}, ["ros-gz-sim", "ros-gz-bridge", "gz-ros2-control"], []),
        (ARM, ["controller-manager"], ["franka_hardware", "franka_description", "github.com/frankarobotics"]),
        ({**ARM, "load": "1+0+0+0"}, [], ["franka_msgs"]),
        ({"use_rviz": "true", "use_rqt": "true"}, ["rviz2", "rqt-common-plugins", "robot-state-publisher"], []),
    ],
)
def test_all_that_is_missing_is_named_at_once_with_its_debian_packages(
    given: dict[str, str], packages: list[str], more: list[str], index: Path
) -> None:
    with pytest.raises(NotInstalledError) as error:
        check_needs(make(**given))
    text = str(error.value)
    for package in packages:
        assert re.search(rf"sudo apt install [^;]*\bros-jazzy-{package}\b", text)
    for word in more:
        assert word in text


def test_a_package_without_its_plugins_is_named_with_what_to_build(index: Path) -> None:
    nodes = make(backend="ros2_control")
    for node in [*nodes.nodes, *nodes.needs]:
        (index / "packages" / node.package).touch()
    with pytest.raises(NotInstalledError, match="thunder_controllers with controller_interface") as error:
        check_needs(nodes)
    assert "thunder_controllers with hardware_interface" in str(error.value)
    assert "built again with ros-jazzy-controller-interface" in str(error.value)
    for kind in ("controller_interface", "hardware_interface"):
        (index / f"{kind}__pluginlib__plugin").mkdir()
        (index / f"{kind}__pluginlib__plugin" / "thunder_controllers").touch()
    check_needs(nodes)


def test_nothing_is_missing_for_the_simulation_node(index: Path) -> None:
    check_needs(make())


def test_without_an_ament_index_everything_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(NotInstalledError, match="controller_manager"):
        check_needs(make(backend="ros2_control"))


def test_a_command_that_fails_before_the_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(PreparationError, match=r"thunder gen /no/such\.yaml: .*no/such"):
        prepare(NodeSet((), before=(("gen", "/no/such.yaml"),)))


# --- command lines ----------------------------------------------------------------------------------------------------


def test_a_node_gets_its_words_remappings_description_and_variables(tmp_path: Path) -> None:
    node = NodeDescription(
        "bringup",
        "thunder_bringup",
        {"robot_description": Xacro("package://thunder_controllers/urdf/panda.urdf.xacro", {"prefix": "left_"})},
        module="thunder_controllers.ros.bringup.node",
        arguments=("first", "--second"),
        remappings=(("joint_states", "franka/joint_states"),),
        environment={"EXTRA": "1"},
    )
    process = _node_process(node, "arm", tmp_path)
    words = list(process.command)
    assert words.index("first") < words.index("--second") < words.index("--ros-args")
    assert "joint_states:=franka/joint_states" in words
    assert "__ns:=/arm" in words
    assert process.environment == {"EXTRA": "1"}
    (file,) = tmp_path.iterdir()
    parameters = yaml.safe_load(file.read_text())["/**/thunder_bringup"]["ros__parameters"]
    assert "left_joint7" in parameters["robot_description"]
    assert parameters == node_parameters(node)
