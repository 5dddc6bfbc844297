"""What `thunder ros` starts: nodes, parameters and arguments of each system, as data."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.ros.common import names
from thunder_controllers.ros.interfaces import NODES
from thunder_controllers.ros.tools.launch_arguments import read_arguments
from thunder_controllers.ros.tools.launcher import ros
from thunder_controllers.ros.tools.systems import (
    MONITOR,
    NEED_A_DISTRIBUTION,
    SYSTEMS,
    WRONG_LAST_LINK,
    NodeEntry,
    arguments_of,
    complete,
)

ROOT = Path(__file__).parents[3]


def by_name(*words: str, system: str = "panda_adaptive") -> dict[str, NodeEntry]:
    nodes = SYSTEMS[system](complete(system, words))
    table = {node.name: node for node in nodes}
    assert len(table) == len(nodes), "names are unique"
    return table


def test_the_default_is_the_whole_graph_in_simulation() -> None:
    nodes = by_name()
    assert set(nodes) == {names.GENERATOR, names.CONTROLLER, names.SIMULATION, names.BRINGUP}
    assert nodes[names.CONTROLLER].parameters["gravity_compensated_by_robot"] is False
    assert nodes[names.CONTROLLER].parameters["robot_interface"] == "generic"
    assert nodes[names.SIMULATION].parameters["gravity_compensation"] is False
    assert not nodes[names.BRINGUP].required, "it ends once the controller is active"
    assert Path(nodes[names.CONTROLLER].parameters["estimates_file"]) == resolve_file(WRONG_LAST_LINK)
    assert [file.stem for file in nodes[names.CONTROLLER].files] == ["panda"]


def test_arguments_reach_the_nodes_that_they_are_about(tmp_path: Path) -> None:
    gains = tmp_path / "gains.yaml"
    gains.write_text("/**/adaptive_controller: {ros__parameters: {gains.gamma: 0.5}}")
    nodes = by_name(
        "law:=cartesian_backstepping:friction=adapted",
        "adapted_links:=panda_link6+panda_link7",
        "payload:=1.5",
        f"gains:={gains}",
        "reference:=none",
        "model:=true",
        "autostart:=false",
    )
    assert set(nodes) == {names.GENERATOR, names.CONTROLLER, names.SIMULATION, names.MODEL}
    assert nodes[names.GENERATOR].parameters["laws"] == ["cartesian_backstepping:friction=adapted"]
    assert nodes[names.GENERATOR].parameters["adapted_links"] == ["panda_link6", "panda_link7"]
    assert nodes[names.CONTROLLER].parameters["law"] == "cartesian_backstepping"
    assert nodes[names.CONTROLLER].files[-1] == gains, "the last file is the strongest"
    assert "estimates_file" not in nodes[names.CONTROLLER].parameters, "they are for the law without options"
    assert nodes[names.SIMULATION].parameters["payload.mass"] == 1.5
    assert nodes[names.SIMULATION].parameters["payload.attached"] is True
    assert nodes[names.SIMULATION].files[-1] == gains, "a start position may be in it"


def test_in_lock_step_the_nodes_bear_the_pauses_of_a_loaded_machine() -> None:
    nodes = by_name("mode:=lockstep")
    assert nodes[names.SIMULATION].parameters["mode"] == "lockstep"
    for name in (names.SIMULATION, names.CONTROLLER):
        assert nodes[name].files[-1].stem == "lockstep"


def test_another_law_has_neither_the_gains_nor_the_estimates_of_the_default_one() -> None:
    controller = by_name("law:=slotine_li")[names.CONTROLLER]
    assert [file.stem for file in controller.files] == ["panda"]
    assert "estimates_file" not in controller.parameters


def test_any_robot_gives_its_names_to_generator_and_simulation() -> None:
    robot = str(ROOT / "urdf/panda.urdf.xacro")
    nodes = by_name(f"robot:={robot}", "ee_link:=panda_flange", "base_link:=b", "name:=n", system="robot_adaptive")
    generator = nodes[names.GENERATOR].parameters
    assert [generator[key] for key in ("robot", "name", "base_link", "ee_link")] == [robot, "n", "b", "panda_flange"]
    simulation = nodes[names.SIMULATION].parameters
    assert (simulation["urdf"], simulation["ee_link"]) == (robot, "panda_flange")
    assert nodes[names.CONTROLLER].files == ()


def test_the_generator_alone_is_one_node() -> None:
    nodes = by_name("robot:=r.yaml", "output:=/tmp/out", "adapted_links:=all", system="generator")
    assert set(nodes) == {names.GENERATOR}
    assert nodes[names.GENERATOR].parameters["output"] == "/tmp/out"
    assert nodes[names.GENERATOR].parameters["adapted_links"] == ["all"]


@pytest.mark.parametrize("entry", [*by_name("model:=true").values(), MONITOR], ids=lambda entry: entry.name)
def test_every_entry_names_a_module_that_makes_its_node(entry: NodeEntry) -> None:
    module = importlib.import_module(f"thunder_controllers.ros.{entry.module}")
    assert callable(getattr(module, entry.factory))
    assert callable(module.main)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing:=1"], "no argument 'nothing'.*valid: estimates_file"),
        (["backend:=moon"], "backend:=moon"),
        (["mode:=slow"], "mode:=slow.*valid: realtime, lockstep"),
        (["payload:=heavy"], r"payload:=heavy.*zero or more \[kg\]"),
        (["payload"], "'payload' is no argument.*NAME:=VALUE"),
        (["payload:=1", "payload:=2"], "given twice"),
        (["gains:=/no/such.yaml"], "no such file"),
        (["estimates_file:=/no/such.yaml"], "no such file"),
    ],
)
def test_a_bad_argument_is_refused_with_what_would_be_valid(words: list[str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        by_name(*words)


@pytest.mark.parametrize("word", ["backend:=ros2_control", "backend:=gazebo", "backend:=franka", "use_rqt:=true"])
def test_what_needs_a_distribution_is_refused_with_the_command_that_has_it(word: str) -> None:
    with pytest.raises(Exception, match=rf"ros2 launch thunder_controllers panda_adaptive.launch.py payload:=1 {word}"):
        by_name("payload:=1", word)


def test_the_backend_that_runs_may_be_named() -> None:
    assert set(by_name("backend:=mujoco")) == set(by_name())


def test_any_robot_needs_a_description() -> None:
    with pytest.raises(Exception, match="robot:=FILE"):
        by_name(system="robot_adaptive")


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_the_command_lists_the_arguments_of_a_system(name: str) -> None:
    result = CliRunner().invoke(ros, [name, "--show-args"])
    assert result.exit_code == 0
    assert re.findall(r"^  (\w+):=", result.output, re.MULTILINE) == list(arguments_of(name))


def test_every_system_has_a_launch_file_and_every_launch_file_for_users_is_a_system() -> None:
    parts = {"arguments", "discovery", "tools"}
    assert {path.name.partition(".")[0] for path in (ROOT / "launch").glob("*.launch.py")} - parts == set(SYSTEMS)


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_every_argument_says_what_it_does_and_has_a_valid_default(name: str) -> None:
    for argument in read_arguments(name).values():
        assert argument.description.endswith((".", "…", "]."))
        assert not argument.choices or argument.default in argument.choices


def test_the_reference_may_be_the_controllers_own_a_stream_of_any_motion_or_none() -> None:
    (motion,) = (p for p in NODES[names.REFERENCE].parameters if p.name == "type")
    choices = read_arguments("panda_adaptive")["reference"].choices
    assert choices == ("auto", "none", "stream", *(name for name in motion.choices if name != "auto"))


@pytest.mark.parametrize(
    ("reference", "autostart", "figure", "streamed"),
    [
        ("auto", "auto", True, None),
        ("auto", "false", False, None),
        ("none", "auto", False, None),
        ("stream", "auto", False, "auto"),
        ("pose_to_pose", "auto", False, "pose_to_pose"),
    ],
)
def test_the_controller_makes_the_default_reference_itself_and_outlives_a_stream(
    reference: str, autostart: str, figure: bool, streamed: str | None
) -> None:
    nodes = by_name(f"reference:={reference}", f"autostart:={autostart}")
    assert nodes[names.CONTROLLER].parameters["autostart"] is figure
    assert (names.REFERENCE in nodes) is (streamed is not None)
    if streamed is not None:
        assert nodes[names.REFERENCE].parameters["type"] == streamed
        assert nodes[names.REFERENCE].may_fail


def test_what_needs_a_distribution_are_arguments_of_a_launch_file() -> None:
    assert set(NEED_A_DISTRIBUTION) <= set(read_arguments("panda_adaptive"))


@pytest.mark.parametrize("path", sorted((ROOT / "launch").rglob("*.py")), ids=lambda path: path.stem)
def test_every_launch_file_can_be_read_at_a_glance(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 120
