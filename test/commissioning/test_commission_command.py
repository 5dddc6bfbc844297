"""`thunder commission` end to end: what it finds of a simulated arm, the file, and who reads that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from command_line import Ended, thunder
from evaluation import robot_file

from thunder_controllers.analysis.gain_file import read_gains
from thunder_controllers.host.measured import read_measurement
from thunder_controllers.simulation.preparation import prepare
from thunder_controllers.simulation.scenario import load_scenario
from thunder_dynamics.errors import LawError, NameNotFoundError, RobotFileError
from thunder_dynamics.readers import load_model

PLANT = {
    "engine": "model",
    "rotors": [0.3, 0.1, 0.03],
    "friction": {"viscous": [1.0, 0.5, 0.2], "coulomb": [0.8, 0.4, 0.2]},
    "offsets": [0.3, -0.2, 0.1],
    "drive_gain": [1.05, 0.95, 1.0],
    "torque_delay": 0.003,
    "velocity_cutoff": 60.0,
    "noise": {"q_std": 1e-5},
}


def scenario(folder: Path, **plant: object) -> Path:
    """A planar arm on a scenario's plant."""
    robot = str(robot_file("planar3r"))
    file = folder / "scenario.yaml"
    document = {
        "name": "planar",
        "robot": robot,
        "plant": {"urdf": robot, **PLANT, **plant},
        "law": {"name": "slotine_li", "options": {"adaptation": "none"}},
        "reference": {"type": "joint_lissajous", "centre": [0.4, 0.8, -0.6], "amplitude": 0.1, "frequency": 0.2},
        "start": {"q": [0.4, 0.8, -0.6]},
        "duration": 0.2,
        "runs": [{"name": "run", "adaptation": False}],
    }
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return file


def read(ended: Ended) -> dict[str, Any]:
    """The line of JSON among what goes to standard error."""
    found: dict[str, Any] = json.loads(next(line for line in ended.output.splitlines() if line.startswith("{")))
    return found


@pytest.fixture(scope="module")
def commissioned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended, Path]:
    folder = tmp_path_factory.mktemp("commissioned")
    file, out = scenario(folder), folder / "drives.yaml"
    return file, thunder("commission", file, "--json", "--out", out), out


@pytest.mark.slow
def test_it_finds_the_physics_that_no_file_says(commissioned: tuple[Path, Ended, Path]) -> None:
    _, ended, out = commissioned
    assert ended.exit_code == 0, ended.output
    joints = read(ended)["joints"].values()
    for name, truth, tolerance in (
        ("rotor", PLANT["rotors"], 0.1),
        ("coulomb", PLANT["friction"]["coulomb"], 0.1),
        ("gain", PLANT["drive_gain"], 0.05),
    ):
        told = [(found[name]["found"], true) for found, true in zip(joints, truth, strict=True) if found[name]]
        assert told and all(abs(value - true) < tolerance * true for value, true in told), name
    measured = read_measurement(out)
    assert measured["dead_time"] == pytest.approx(0.003, abs=5e-4)
    assert measured["velocity_cutoff"] == pytest.approx(60.0, rel=0.05) and measured["velocity_by_differences"]


@pytest.mark.slow
def test_a_robot_takes_the_drives_of_the_file(commissioned: tuple[Path, Ended, Path]) -> None:
    _, ended, out = commissioned
    found = list(read(ended)["joints"].values())
    model = load_model(robot_file("planar3r"), drives=out)
    bare = load_model(robot_file("planar3r"))
    for k, link in enumerate(model.links):
        for name, value, before in (
            ("rotor", link.joint.rotor_inertia, bare.links[k].joint.rotor_inertia),
            ("viscous", link.friction[0], bare.links[k].friction[0] if bare.links[k].friction else 0.0),
            ("coulomb", link.coulomb, bare.links[k].coulomb),
            ("offset", link.effort_offset, bare.links[k].effort_offset),
        ):
            told = found[k][name]
            assert value == (before if told is None else pytest.approx(told["found"], rel=1e-4)), name


@pytest.mark.slow
def test_gains_scenario_and_host_take_the_same_file(commissioned: tuple[Path, Ended, Path]) -> None:
    file, _, out = commissioned
    law = ("--law", "slotine_li:adaptation=none", "--poses", "3")
    ended = thunder("gains", robot_file("planar3r"), *law, "--drives", out, "--gains", out, "--json")
    assert ended.exit_code == 0 and read(ended)["margin"] > 1.9
    loaded = load_scenario(file, {"robot_options": {"drives": str(out)}, "law": {"gains": read_gains(out)}})
    options = prepare(loaded, loaded.runs[0]).host.options
    measured = read_measurement(out)
    assert all(getattr(options, name) == value for name, value in measured.items())
    ended = thunder("run", file, "--set", f"robot_options.drives={out}", "--gains", out, "--out", out.parent / "run")
    assert ended.exit_code == 0, ended.output


@pytest.mark.slow
def test_an_effort_that_does_not_reach_a_joint_names_it(tmp_path: Path) -> None:
    joint = load_model(robot_file("planar3r")).joint_names[2]
    fault = {"type": "block", "rate": 100.0, "joints": [joint]}
    ended = thunder("commission", scenario(tmp_path, faults=[fault]))
    assert ended.exit_code == 2 and f"{joint}: it stands still under" in ended.output


@pytest.mark.slow
def test_an_arm_that_is_pushed_is_refused(tmp_path: Path) -> None:
    model = load_model(robot_file("planar3r"))
    fault = {"type": "wrench", "link": model.link_names[-1], "force": [40.0, 40.0, 0.0], "start": 1.0}
    ended = thunder("commission", scenario(tmp_path, faults=[fault]))
    assert ended.exit_code == 2 and "from its start; valid: within 0.1: an arm that nothing pushes" in ended.output


def test_wrong_input_is_one_line(tmp_path: Path) -> None:
    for arguments, message in (
        (["nothing"], "no scenario or robot 'nothing'"),
        ([scenario(tmp_path), "--effort-share", "0.5"], "0.5 is not in the range"),
    ):
        ended = thunder("commission", *arguments)
        assert ended.exit_code == 2 and message in ended.output


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("/**/drives: {ros__parameters: {joint9: {rotor: 0.1}}}", NameNotFoundError, "no joint 'joint9'"),
        ("/**/drives: {ros__parameters: {joint1: {rotor: -1.0}}}", RobotFileError, "ros__parameters.joint1.rotor"),
        ("/**/drives: {ros__parameters: {joint1: {mass: 1.0}}}", RobotFileError, "unknown key 'mass'"),
        ("/**/drives: {ros__parameters: {joint1: 3}}", RobotFileError, "joint1"),
        ("drives: {}", RobotFileError, "no drives; valid: the section /\\*\\*/drives"),
    ],
)
def test_a_wrong_file_of_drives_says_where(text: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    file = tmp_path / "drives.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=message):
        load_model(robot_file("ur5"), drives=file)


def test_a_measurement_out_of_bounds_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "drives.yaml"
    file.write_text("/**/adaptive_controller: {ros__parameters: {dead_time: -1.0}}", encoding="utf-8")
    with pytest.raises(LawError, match="dead_time"):
        read_measurement(file)


def test_drives_that_say_nothing_leave_the_robot_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "drives.yaml"
    file.write_text("/**/drives: {ros__parameters: {}}", encoding="utf-8")
    bare, same = load_model(robot_file("rpr")), load_model(robot_file("rpr"), drives=file)
    assert [link.friction for link in same.links] == [link.friction for link in bare.links]
    np.testing.assert_array_equal(same.rotor_inertias, bare.rotor_inertias)
