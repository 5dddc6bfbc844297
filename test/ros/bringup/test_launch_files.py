"""What the launch files start for each backend and argument, by the real launch; none of the packages is needed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("launch.actions", reason="launch is not installed (not on PyPI); it comes with ROS 2")
pytest.importorskip("launch_ros.actions", reason="launch_ros is not installed (not on PyPI); it comes with ROS 2")

from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_files import Evaluation, Process

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.ros.common import names
from thunder_controllers.ros.tools.launch_arguments import DISCOVERY, PLUGINS, ROBOTS, read_arguments
from thunder_controllers.ros.tools.launcher import complete
from thunder_controllers.ros.tools.system import WRONG_LAST_LINK, parameters_of

ROOT = Path(__file__).parents[3]
BACKENDS = ["franka", "gazebo", "ros2_control"]
SIMULATION = "simulation"
"""Program of the arm with its controller."""

ARM = {"backend": "franka", "robot_ip": "10.0.0.1"}
PANDA = str(ROOT / "urdf/panda.urdf.xacro")
OTHERS = {
    "controller_manager": ("ros2_control_node", "spawner"),
    "robot_state_publisher": ("robot_state_publisher",),
    "ros_gz_sim": ("gzserver", "create"),
    "ros_gz_bridge": ("parameter_bridge",),
    **dict.fromkeys(("joint_state_broadcaster", "gz_ros2_control"), ()),
    **dict.fromkeys(("franka_description", "franka_hardware", "franka_robot_state_broadcaster", "franka_msgs"), ()),
}
"""Packages that the backends need, with their executables."""

OWN = ("generator", "model", "reference", "set_load", "simulation", "thunder")


@pytest.fixture(autouse=True)
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ament prefix with all packages; its programs do nothing, but for xacro, which tells its command line."""
    folder = tmp_path / "prefix"
    index = folder / "share/ament_index/resource_index"
    programs = {**OTHERS, "thunder_controllers": (*OWN, "wait_for_library")}
    paths = [folder / "lib" / package / name for package in programs for name in programs[package]]
    paths += [folder / "bin" / name for name in ("gz", "ros2", "rqt", "rviz2", "xacro")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + ('echo "$@"\n' if path.name == "xacro" else ""))
        path.chmod(0o755)
    (index / "packages").mkdir(parents=True)
    for package in programs:
        (index / "packages" / package).touch()
    (folder / "share/thunder_controllers").symlink_to(ROOT)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(folder))
    monkeypatch.setenv("PATH", f"{folder}/bin:/bin:/usr/bin")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    return folder


def start(file: str = "panda_adaptive", /, **given: str) -> Evaluation:
    return Evaluation(ROOT / f"launch/{file}.launch.py", **given)


def values(spawner: Process) -> dict[str, str]:
    """Parameters that a controller gets above its files."""
    words = [word.partition("=")[2] for word in spawner.words if word.startswith("--controller-ros-args=-p ")]
    return {name: value for name, _, value in (word[3:].partition(":=") for word in words)}


def files(spawner: Process) -> list[str]:
    """Names of the parameter files that a controller gets, the strongest last."""
    pairs = zip(spawner.words, spawner.words[1:], strict=False)
    return [Path(second).name for first, second in pairs if first == "--param-file"]


def description(system: Evaluation) -> dict[str, str]:
    """The command line by which the description was expanded: `file`, and the xacro arguments."""
    text = system["robot_state_publisher"].parameters["robot_description"]
    file, _, rest = text.strip().partition(" ")
    return {"file": Path(file).name, **dict(re.findall(r"(\w+):=((?:(?! \w+:=).)*)", rest))}


def has_started(system: Evaluation, package: str) -> bool:
    return any(f"/lib/{package}/" in process.words[0] for process in system.processes)


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ROBOTS, "generator"])
def test_what_is_read_without_launch_is_what_launch_declares(name: str) -> None:
    source = PythonLaunchDescriptionSource(str(ROOT / f"launch/{name}.launch.py"))
    declared = source.try_get_launch_description_without_context().get_launch_arguments()
    table = {argument.name: argument.default_value[0].text for argument in declared}
    assert table == {name: argument.default for name, argument in read_arguments(name).items()}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("panda_adaptive", {"payload": "1.5", "autostart": "false", "adapted_links": "a+b", "namespace": "left"}),
        ("robot_adaptive", {"robot": PANDA, "ee_link": "panda_flange", "name": "arm", "reference": "stream"}),
    ],
)
def test_thunder_ros_gives_its_nodes_what_the_launch_file_gives_them(name: str, given: dict[str, str]) -> None:
    own = parameters_of(name, complete(name, [f"{key}:={value}" for key, value in given.items()]))
    own[SIMULATION] = own.pop(names.SIMULATION) | own.pop(names.CONTROLLER)
    own[names.GENERATOR].pop("robot")  # as a path, there a URI
    launched = {process.name: process.parameters for process in start(name, **given).processes}
    assert launched.keys() == own.keys()
    for node, parameters in own.items():
        stated = {key: value for key, value in parameters.items() if value != []}
        assert stated.items() <= launched[node].items()


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("panda_adaptive", {}, "LOCALHOST"),
        ("panda_adaptive", {"discovery": "subnet"}, "SUBNET"),
        ("generator", {"robot": PANDA}, "LOCALHOST"),
    ],
)
def test_nodes_are_found_from_this_machine_only_unless_asked_for_more(
    name: str, given: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DISCOVERY, raising=False)
    assert start(name, **given).environment[DISCOVERY] == expected


@pytest.mark.parametrize("backend", ["mujoco", "ros2_control"])
def test_who_needs_the_library_looks_where_the_generator_puts_it(backend: str) -> None:
    system = start(backend=backend, output="/tmp/out", model="true", reference="stream")
    assert system[names.GENERATOR].parameters["output"] == "/tmp/out"
    found = {p.name for p in system.processes if p.parameters.get("library_folders") == ["/tmp/out"]}
    own = {"simulation"} if backend == "mujoco" else {names.WAIT_FOR_LIBRARY}
    assert found == {names.REFERENCE, names.MODEL, *own}
    assert not any("library_folders" in process.parameters for process in start(backend=backend).processes)


# --- the simulation node ----------------------------------------------------------------------------------------------


def test_the_default_is_the_whole_graph_in_simulation() -> None:
    system = start()
    assert [process.name for process in system.processes if process.is_required] == [names.GENERATOR, SIMULATION]
    assert {process.namespace for process in system.processes} == {"/"}
    parameters = system[SIMULATION].parameters
    assert parameters["bringup"] and parameters["autostart"]
    assert not start(autostart="false")[SIMULATION].parameters["bringup"]
    assert not system[SIMULATION].node, "it has two nodes: a name would be that of both"


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, "controller_manager"), ({"mode": "lockstep"}, SIMULATION), ({"backend": "mujoco"}, SIMULATION)],
)
def test_ros2_control_is_the_default_where_the_plugin_is_installed(
    given: dict[str, str], expected: str, prefix: Path
) -> None:
    assert not has_started(start(), "controller_manager")
    for resource in PLUGINS:
        (prefix / "share/ament_index/resource_index" / resource).mkdir()
        (prefix / "share/ament_index/resource_index" / resource / "thunder_controllers").touch()
    system = start(**given)
    assert has_started(system, "controller_manager") is (expected == "controller_manager")
    assert any(process.name == SIMULATION for process in system.processes) is (expected == SIMULATION)


@pytest.mark.parametrize("reference", ["stream", "pose_to_pose"])
def test_the_end_of_a_stream_ends_nothing_else(reference: str) -> None:
    system = start(reference=reference)
    stream = system[names.REFERENCE]
    assert stream.parameters["type"] == reference.replace("stream", "auto")
    assert not stream.is_required and not stream.must_end_well
    assert system[SIMULATION].parameters["autostart"] is False


def test_viewers_are_started_when_asked_for_and_their_windows_may_be_closed() -> None:
    system = start(use_rqt="true", use_rviz="true", record="true", model="true", namespace="left")
    assert system[names.MODEL].is_required
    rqt = next(process for process in system.processes if "thunder_controllers.ros.tools.rqt" in process.words)
    assert rqt.words[0] == sys.executable and rqt.words[-2:] == ("--namespace", "left")
    assert system["rviz2"].words[1] == "-d" and system["ros2"].words[1:] == ("bag", "record", "--all")
    assert description(system)["file"] == "panda.urdf.xacro"
    for process in (rqt, system["rviz2"], system["ros2"]):
        assert not process.is_required and not process.must_end_well


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"backend": "moon"}, "moon"),
        ({"payload": "heavy"}, "payload:=heavy"),
        ({"backend": "ros2_control", "controller": "node"}, "controller:=node: a choice no more"),
    ],
)
def test_a_bad_argument_is_refused_before_anything_starts(given: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        start(**given)


# --- what every backend on ros2_control has ---------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_plugin_is_loaded_by_the_spawner_once_there_is_its_library(backend: str, tmp_path: Path) -> None:
    gains = tmp_path / "gains.yaml"
    gains.write_text("/**/adaptive_controller: {ros__parameters: {gains.gamma: 0.5}}")
    law = "slotine_li:friction=adapted"
    drives = tmp_path / "drives.yaml"
    drives.touch()
    system = start(backend=backend, gains=str(gains), drives=str(drives), law=law, reference="none", namespace="left")
    for absent in (SIMULATION, names.REFERENCE):
        assert absent not in system
    spawner = system["spawner adaptive_controller"]
    assert spawner.namespace == "/left" and spawner.must_end_well and not spawner.is_required
    assert files(spawner)[1:] == ["drives.yaml", "gains.yaml", "library.yaml"], "the last file is the strongest"
    assert files(spawner)[0] in ("panda_mujoco.yaml", "panda_gazebo.yaml", "panda_franka.yaml")
    assert system.before(spawner)[0] == "wait_for_library"
    waits = system[names.WAIT_FOR_LIBRARY]
    assert waits.namespace == "/left"
    assert waits.parameters["controller"] == "adaptive_controller"
    assert waits.parameters["file"] in spawner.words
    assert values(spawner)["law"] == "slotine_li", "its options are the generator's"
    assert system[names.GENERATOR].parameters["laws"] == [law]


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_autostart_the_plugin_is_configured_only(backend: str) -> None:
    system = start(backend=backend, autostart="false", reference="stream")
    spawner = system["spawner adaptive_controller"]
    assert "--inactive" in spawner.words and values(spawner)["autostart"] == "false"
    assert system[names.REFERENCE].parameters["autostart"] is False


@pytest.mark.parametrize("backend", ["ros2_control", "gazebo"])
def test_a_simulated_arm_starts_by_itself_from_wrong_estimates(backend: str) -> None:
    system = start(backend=backend)
    spawner = system["spawner adaptive_controller"]
    assert Path(values(spawner)["estimates_file"]) == resolve_file(WRONG_LAST_LINK)
    assert "--inactive" not in spawner.words
    assert values(spawner)["autostart"] == "true" and names.REFERENCE not in system
    assert "estimates_file" not in values(start(backend=backend, law="slotine_li")["spawner adaptive_controller"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_every_backend_has_beside_its_robot(backend: str) -> None:
    system = start(backend=backend, model="true", use_rqt="true", use_rviz="true", record="true")
    for name in (names.GENERATOR, names.MODEL):
        assert system[name].is_required
    assert "rviz2" in system and "ros2" in system
    publishers = [process for process in system.processes if process.program == "robot_state_publisher"]
    assert len(publishers) == (0 if backend == "franka" else 1), "one description; a running franka_ros2 has its own"


# --- each backend -----------------------------------------------------------------------------------------------------


def test_ros2_control_runs_mujoco_on_a_model_with_the_payload_that_is_written_first() -> None:
    system = start(backend="ros2_control", payload="1.5")
    words = system["thunder mjcf"].words
    assert Path(words[2]).samefile(PANDA)
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert float(options["--payload-mass"]) == 1.5
    assert description(system) == {"file": "panda.ros2_control.xacro", "model": options["--out"]}
    manager = system["ros2_control_node"]
    assert manager.is_required and [file.name for file in manager.files] == ["panda_mujoco.yaml"]
    broadcaster = system["spawner joint_state_broadcaster"]
    assert broadcaster.must_end_well and not broadcaster.is_required
    for process in (manager, broadcaster, system["robot_state_publisher"]):
        assert system.before(process) == ["thunder"], "the model comes first"
    assert "--payload-mass" not in start(backend="ros2_control")["thunder mjcf"].words


def test_gazebo_gets_world_robot_clock_and_the_time_of_the_simulation() -> None:
    given = {"payload": "1.5", "namespace": "left", "model": "true", "use_gazebo_gui": "true"}
    system = start(backend="gazebo", reference="stream", **given)
    server = system["gzserver"]
    assert server.is_required
    assert Path(server.parameters["world_sdf_file"]).samefile(ROOT / "config/gazebo/panda.sdf")
    variables = {key[0].text for key, _ in server.action.process_description.additional_env}
    assert variables == {"GZ_SIM_SYSTEM_PLUGIN_PATH"}, "Gazebo looks for gz_ros2_control's library there"
    create = system["create"]
    assert create.must_end_well and not create.is_required
    assert create.parameters == {"world": "thunder", "topic": "robot_description", "name": "panda"}
    assert "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock" in system["parameter_bridge"].words
    given = description(system)
    assert (given["file"], given["namespace"], float(given["payload_mass"])) == ("panda.gazebo.urdf.xacro", "left", 1.5)
    assert Path(given["controllers"]).name == "panda_gazebo.yaml"
    for name in (names.REFERENCE, names.MODEL, "robot_state_publisher"):
        assert system[name].parameters["use_sim_time"] is True
    assert system["gz"].words == ("gz", "sim", "-g")
    assert "gz" not in start(backend="gazebo")
    assert "ros2_control_node" not in system, "it runs inside Gazebo"
    assert system["spawner joint_state_broadcaster"].must_end_well


def test_a_real_arm_waits_for_a_person_and_starts_from_its_own_model() -> None:
    system = start(**ARM)
    spawner = system["spawner adaptive_controller"]
    assert "--inactive" in spawner.words
    assert "estimates_file" not in values(spawner)
    assert values(spawner)["autostart"] == "false"
    assert "--inactive" not in start(**ARM, autostart="true")["spawner adaptive_controller"].words


def test_franka_ros2_is_started_with_address_kind_and_load_of_the_arm() -> None:
    system = start(**ARM, arm_id="fp3", load="0.5+0+0.01+0.1+2e-3+0+0+2e-3+0+3e-3")
    given = description(system)
    assert given["file"] == "franka_arm.urdf.xacro"
    assert (given["robot_ip"], given["robot_type"], given["hand"]) == ("10.0.0.1", "fp3", "false")
    assert (float(given["load_mass"]), given["load_com"]) == (0.5, "0.0 0.01 0.1")
    assert given["load_inertia"] == "0.002 0.0 0.0 0.002 0.0 0.003"
    assert system[names.SET_LOAD].parameters["load"] == [0.5, 0.0, 0.01, 0.1, 2e-3, 0.0, 0.0, 2e-3, 0.0, 3e-3], (
        "robot and model know the same"
    )
    spawner = system["spawner adaptive_controller"]
    assert system.before(spawner) == ["set_load", "wait_for_library"], "a robot takes its load while nothing moves it"
    assert [file.name for file in system["ros2_control_node"].files] == ["panda_franka.yaml"]
    assert "--controller-ros-args=-p robot_type:=fp3" in system["spawner franka_robot_state_broadcaster"].words
    generator = system[names.GENERATOR].parameters
    assert (generator["robot"], generator["ee_link"]) == ("", "fp3_link8"), "the model is that of robot_description"
    assert values(spawner)["robot"] == "fp3"
    assert values(spawner)["joints"] == f"[{','.join(f'fp3_joint{k}' for k in range(1, 8))}]"
    assert names.SET_LOAD not in start(**ARM)


def test_everything_beside_a_franka_reads_its_states_at_the_full_rate() -> None:
    system = start(**ARM, model="true", autostart="true", reference="stream")
    for name in (names.REFERENCE, names.MODEL, "robot_state_publisher"):
        assert "joint_states:=franka/joint_states" in system[name].remappings, name
    words = system["spawner joint_state_broadcaster"].words
    assert "--controller-ros-args=-r joint_states:=franka/joint_states" in words


def test_beside_a_running_franka_ros2_nothing_of_it_is_started() -> None:
    system = start(backend="franka")
    assert not has_started(system, "robot_state_publisher")
    assert "ros2_control_node" not in system and "spawner joint_state_broadcaster" not in system
    panda = start(backend="franka", arm_id="panda")[names.GENERATOR].parameters
    assert panda["robot"].endswith("config/robots/panda.yaml") and panda["ee_link"] == ""


@pytest.mark.parametrize("given", [{"backend": "ros2_control"}, {"backend": "gazebo"}, ARM], ids=lambda g: g["backend"])
def test_the_spawner_understands_its_command_lines(given: dict[str, str]) -> None:
    spawner = pytest.importorskip("controller_manager.spawner", reason="controller_manager is not installed")
    system = start(**given, autostart="true")
    lines = [process.words[1:] for process in system.processes if process.program == "spawner"]
    assert len(lines) >= 2
    for line in lines:
        own = line[: line.index("--ros-args")]
        _, (found,) = spawner.parse_native_args(own)
        assert found["name"] == line[0]
        words = [word.partition("=")[2] for word in own if word.startswith("--controller-ros-args")]
        assert found["controller_ros_args"] == (words or None)
