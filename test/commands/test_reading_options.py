"""Options of robot files are the same wherever one is read: a xacro file of a package that only an option finds."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from thunder_controllers.commands.check import OPTIONS_OF
from thunder_controllers.simulation.preparation import build_library, read_description
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.cli import thunder
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.readers.command_options import OPTIONS, named_values
from thunder_dynamics.readers.urdf import XacroOptions

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
    assert '<mass value="1.5"/>' in str(read_description(scenario, run.config))


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


def test_the_command_line_has_every_option_of_the_readers_but_two() -> None:
    assert set(XacroOptions.model_fields) - set(OPTIONS) == {"name", "gravity"}
    assert OPTIONS_OF[".xacro"] >= set(OPTIONS) and OPTIONS_OF[".yaml"] >= {"locked_joints", "without_rotors"}


@pytest.mark.parametrize(("text", "found"), [("a=b", {"a": "b"}), ("a:=b=c", {"a": "b=c"})])
def test_values_are_named_as_on_a_command_line_or_as_in_ros(text: str, found: dict[str, str]) -> None:
    assert named_values([text]) == found


@pytest.mark.parametrize("text", ["a", "=b", ":=b", "a="])
def test_other_forms_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RobotFileError, match=r"here: .* is no option; valid: NAME=VALUE or NAME:=VALUE"):
        named_values([text], "here")
