"""Options of robot files are the same wherever one is read: a xacro file of a package that only an option finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from click import Context
from click.testing import CliRunner

from thunder_controllers.arms.trial import plan_trial
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.reading import SPELLED, parameters_given, reading_of
from thunder_controllers.ros.simulation.options import robot_options
from thunder_controllers.ros.tools.launch_arguments import read_arguments
from thunder_controllers.ros.tools.launcher import complete
from thunder_controllers.ros.tools.system import parameters_of
from thunder_controllers.simulation.preparation import build_library, read_description
from thunder_controllers.simulation.robot import SimulatedRobot
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.cli import thunder
from thunder_dynamics.errors import ArmWarning, RobotFileError, spelled
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.locking import Assembly
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import READING, named_values
from thunder_dynamics.readers.source import ReaderOptions
from thunder_dynamics.readers.urdf import UrdfOptions, XacroOptions

ROD = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="rod" params="name parent mass">
    <link name="${name}"><inertial><origin xyz="0.2 0 0"/><mass value="${mass}"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
    <joint name="${name}_joint" type="revolute">
      <parent link="${parent}"/><child link="${name}"/><origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
      <limit lower="-3" upper="3" velocity="2" effort="30"/>
    </joint>
  </xacro:macro>
</robot>
"""
ARM = """<robot name="rods" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find rod_description)/rod.xacro"/>
  <xacro:arg name="mass" default="1.5"/>
  <link name="world"/>
  <xacro:rod name="one" parent="world" mass="$(arg mass)"/>
  <xacro:rod name="two" parent="one" mass="1"/>
</robot>
"""
SCENARIO = {
    "name": "rods",
    "robot": "cell/arm.xacro",
    "robot_options": {"packages": {"rod_description": "rods"}},
    "plant": {"urdf": "cell/arm.xacro", "packages": {"rod_description": "rods"}},
    "law": {"name": "gravity_compensation"},
    "reference": {"type": "hold", "position": [0.5, 0.0, 0.1]},
    "start": {"q": [0.1, 0.2]},
    "duration": 0.1,
    "runs": [{"name": "run"}],
}


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    for name, text in {"rods/rod.xacro": ROD, "cell/arm.xacro": ARM}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / "cell/arm.xacro"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("gen ARM -o OUT", "rods_generatedFiles"),
        ("info ARM", "1.7"),
        ("list functions ARM", "T_0_ee"),
        ("check ARM", "All holds."),
        ("identify ARM OUT/nothing.csv", "nothing.csv"),
        ("gains ARM --law none_such", "no law 'none_such'"),
        ("mjcf ARM --out OUT/arm.xml", "arm.xml"),
    ],
)
def test_packages_and_arguments_are_options_of_every_command(
    command: str, outcome: str, arm: Path, build_cache: object
) -> None:
    words = [word.replace("ARM", str(arm)).replace("OUT", str(arm.parents[1])) for word in command.split()]
    without = CliRunner().invoke(thunder, words)
    assert isinstance(without.exception, RobotFileError) and "no package 'rod_description'" in str(without.exception)
    given = ["--package", f"rod_description={arm.parents[1] / 'rods'}", "--xacro-arg", "mass=1.7"]
    result = CliRunner().invoke(thunder, [*words, *given], env={"COLUMNS": "200"})
    assert outcome in f"{result.output} {result.exception}"


@pytest.mark.slow
def test_a_scenario_names_packages_beside_its_file(arm: Path, build_cache: object) -> None:
    file = arm.parents[1] / "scenario.yaml"
    file.write_text(yaml.safe_dump(SCENARIO), encoding="utf-8")
    scenario = load_scenario(file)
    run = scenario.runs[0]
    assert build_library(scenario, run)[0].links[0].inertia.mass == 1.5
    description = read_description(scenario, run.config)
    assert isinstance(description, Assembly) and description.model.links[0].inertia.mass == 1.5


@pytest.mark.slow
def test_two_kinds_of_files_are_checked_under_the_options_that_each_has(arm: Path, build_cache: object) -> None:
    given = ["--package", f"rod_description={arm.parents[1] / 'rods'}"]
    described = CliRunner().invoke(thunder, ["check", str(arm), *given])
    assert described.exit_code == 0
    other = arm.with_name("arm.yaml")
    other.write_text("num_joints: 2")
    both = CliRunner().invoke(thunder, ["check", str(arm), str(other), *given])
    assert "arm.yaml" in str(both.exception) and "option" not in str(both.exception)
    alone = CliRunner().invoke(thunder, ["check", str(other), *given])
    assert "no option" in str(alone.exception)


NAMES = {option.name for option in READING}


def test_the_table_has_every_option_of_the_readers_and_the_name_is_a_door_s_own() -> None:
    assert set(XacroOptions.model_fields) - NAMES == {"name"}
    assert {option.name for option in READING if option.of == "all"} == set(ReaderOptions.model_fields) - {"name"}
    assert {option.name for option in READING if option.of != "xacro"} == set(UrdfOptions.model_fields) - {"name"}


@pytest.mark.parametrize("command", ["gen", "info", "gains", "identify", "mjcf", "replay", "doctor", "load"])
def test_every_command_that_reads_a_robot_has_all_of_them(command: str) -> None:
    parameters = {parameter.name for parameter in thunder.get_command(Context(thunder), command).params}
    assert parameters >= NAMES


@pytest.mark.parametrize(
    ("command", "own"),
    [("try", {"arm"}), ("check", {"allow_inconsistent"}), ("run", set()), ("commission", set())],
)
def test_others_have_all_but_what_they_do_by_themselves(command: str, own: set[str]) -> None:
    parameters = {parameter.name for parameter in thunder.get_command(Context(thunder), command).params}
    assert NAMES - parameters == own


def test_nodes_and_launch_files_have_all_of_them() -> None:
    words = {option.ros_name for option in READING}
    for folder, node in (("generator", names.GENERATOR), ("simulation", names.SIMULATION)):
        assert words <= {parameter.name for parameter in node_parameters(folder, node)}
    assert words <= set(read_arguments("generator")) and words <= set(read_arguments("robot_adaptive"))


GIVEN = {
    "lock": "finger_a=0.02+finger_b=0.01,0.02",
    "gravity": "0+0+-1.62",
    "rotor": "j1=0.1",
    "arm": "false",
    "ee_link": "left+right",
    "packages": "parts=parts",
    "base": "floating",
}


def test_what_a_launch_file_is_given_is_what_the_reader_gets() -> None:
    defaults = {parameter.name: parameter.default for parameter in node_parameters("generator", names.GENERATOR)}
    assert reading_of({**defaults, **parameters_given(GIVEN)}) == {
        "locked_joints": {"finger_a": (0.02,), "finger_b": (0.01, 0.02)},
        "gravity": (0.0, 0.0, -1.62),
        "rotor_inertias": {"j1": 0.1},
        "ee_link": ("left", "right"),
        "packages": {"parts": str(Path.cwd() / "parts")},
        "base": "floating",
    }


HELD = """<robot name="gripper"><link name="base"/>
  <joint name="one" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="9"/></joint>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="two" type="revolute"><parent link="arm"/><child link="hand"/><axis xyz="0 1 0"/>
    <origin xyz="0.5 0 0"/><limit lower="-1" upper="1" velocity="1" effort="9"/></joint>
  <link name="hand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="jaw" type="prismatic"><parent link="hand"/><child link="finger"/><axis xyz="0 1 0"/>
    <limit lower="0.01" upper="0.04" velocity="1" effort="9"/></joint><link name="finger"/>
</robot>"""


def test_messages_call_an_option_as_it_is_called_there(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(HELD)
    with pytest.raises(RobotFileError, match="hold them: arm=True, or locked_joints={joint: position}"):
        load_model(file, ee_link="hand")
    typed = CliRunner().invoke(thunder, ["info", str(file), "--ee-link", "hand", "--at", "0 0"])
    assert "another --ee-link or --base-link, or hold them: --arm, or --lock JOINT=VALUE" in str(typed.exception)
    with spelled(SPELLED), pytest.raises(RobotFileError, match="another ee_link:= .*: arm:=true, or lock:=JOINT=VALUE"):
        load_model(file, ee_link="hand")
    with pytest.warns(ArmWarning, match="held: jaw; ee_link and locked_joints choose"):
        assert load_model(file, arm=True).joint_names == ("one", "two")


@pytest.mark.parametrize("given", [[], ["ee_link:=hand"], ["lock:=jaw=0.02"]])
def test_an_arm_with_a_gripper_is_launched_without_its_fingers(tmp_path: Path, given: list[str]) -> None:
    """Generator and simulation read the same arm, and hold the finger where it may be."""
    file = tmp_path / "arm.urdf"
    file.write_text(HELD)
    nodes = parameters_of("robot_adaptive", complete("robot_adaptive", [f"robot:={file}", *given]))
    read = {}
    for folder, node in (("generator", names.GENERATOR), ("simulation", names.SIMULATION)):
        defaults = {parameter.name: parameter.default for parameter in node_parameters(folder, node)}
        read[node] = {**defaults, **nodes[node]}
    model = load_model(file, **reading_of(read[names.GENERATOR]))
    simulated = SimulatedRobot(robot_options(read[names.SIMULATION]))
    assert model.joint_names == simulated.joints == ("one", "two") and simulated.plant.ee_link == "hand"
    np.testing.assert_allclose(model.ee.tr, 0.0, atol=1e-15)
    np.testing.assert_allclose(
        np.asarray(RobotExpressions(model).function("G")([0.3, 0.4])).ravel(), simulated.plant.gravity([0.3, 0.4])
    )


def test_gravity_is_an_option_of_every_kind_of_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(thunder, ["info", "panda", "--gravity", "0", "0", "-1.62", "--at", "0 0 0 -1 0 1 0"])
    assert result.exit_code == 0
    assert load_model("panda", gravity=(0, 0, -1.62)).gravity == (0.0, 0.0, -1.62)


def test_a_relative_path_is_seen_from_the_working_directory(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(arm.parents[1])
    scenario = plan_trial("cell/arm.xacro", {"packages": {"rod_description": "rods"}}).scenario
    assert scenario["robot_options"]["packages"] == {"rod_description": str(arm.parents[1] / "rods")}


@pytest.mark.parametrize(("text", "found"), [("a=b", {"a": "b"}), ("a:=b=c", {"a": "b=c"})])
def test_values_are_named_as_on_a_command_line_or_as_in_ros(text: str, found: dict[str, str]) -> None:
    assert named_values([text]) == found


@pytest.mark.parametrize("text", ["a", "=b", ":=b", "a="])
def test_other_forms_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RobotFileError, match=r"here: .* is no option; valid: NAME=VALUE or NAME:=VALUE"):
        named_values([text], "here")
