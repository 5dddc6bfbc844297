"""A robot YAML that names a URDF: the URDF's robot, with what the YAML says instead, and its run-time parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation import ROOT, evaluate
from robot_yaml import BODY, message_of, write
from robots import random_state

from thunder_dynamics.errors import InertiaError, NameNotFoundError, PlaceholderWarning
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model

URDF = ROOT / "test" / "data" / "arm.urdf"
HEAD = f"kinematics: {{type: URDF, urdf_path: {URDF}, base_link: pedestal, ee_link: tool}}\n"


def read(folder: Path, text: str, **options: object) -> RobotModel:
    return load_model(write(folder, text), **options)


def test_it_is_the_robot_of_the_urdf_under_the_name_of_the_file(tmp_path: Path) -> None:
    model, urdf = read(tmp_path, HEAD), load_model(URDF, base_link="pedestal", ee_link="tool")
    assert model.name == "arm" and model.joint_names == urdf.joint_names
    state = random_state(urdf, 1)
    for name in ("M", "C", "G", "T_0_ee", "dl"):
        expected = evaluate(RobotExpressions(urdf), name, state)
        np.testing.assert_array_equal(evaluate(RobotExpressions(model), name, state), expected)


def test_the_path_is_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "urdf" / "an_arm.urdf").write_bytes(URDF.read_bytes())
    model = read(tmp_path, HEAD.replace(str(URDF), "urdf/an_arm.urdf"))
    assert model.n == 3


def test_what_the_file_says_counts_instead_of_the_urdf(tmp_path: Path) -> None:
    text = f"""{HEAD}
num_joints: 3
type_joints: [R, P, R]
Dl_order: 2
gravity: {{value: [0, 0, -1.62]}}
Base_to_L0: {{tr: [0, 0, 1], ypr: [0.1, 0, 0]}}
Ln_to_EE: {{tr: [0, 0, 0.2], ypr: [0.3, 0, 0]}}
dynamics:
  rod:
    inertial: {{{BODY}}}
    friction: {{Dl: [0.5, 0.25]}}
    rotor: {{inertia: 0.01, gear_ratio: 10}}
"""
    model, urdf = read(tmp_path, text), load_model(URDF, base_link="pedestal", ee_link="tool")
    rod = model.links[model.index_of("rod")]
    assert rod.inertia.dyn.tolist() == [2.0, 0.1, 0.2, 0.3, 0.02, 0.001, 0.002, 0.03, 0.003, 0.025]
    assert rod.friction == (0.5, 0.25) and rod.joint.rotor_inertia == 1.0 and model.gravity == (0.0, 0.0, -1.62)
    upper = urdf.links[0].friction
    assert model.links[0].friction == (*upper, *(0.0,) * (2 - len(upper)))
    state, here, there = random_state(model, 2), model.base.pose, model.ee.pose
    at = evaluate(RobotExpressions(urdf), "T_0_ee", state)
    base, tool = np.eye(4), np.eye(4)
    base[:3, :3], base[:3, 3] = here.rotation, here.translation
    flange = urdf.ee.pose
    tool[:3, :3] = flange.rotation.T @ there.rotation
    tool[:3, 3] = flange.rotation.T @ (there.translation - flange.translation)
    np.testing.assert_allclose(tool[:3, 3], [0, 0, 0.2], atol=1e-15)
    np.testing.assert_allclose(evaluate(RobotExpressions(model), "T_0_ee", state), base @ at @ tool, atol=1e-14)


def test_entries_of_a_urdf_robot_become_run_time_parameters(tmp_path: Path) -> None:
    """The mass of one link with the other numbers of the URDF: M is linear in it."""
    text = f"{HEAD}dynamics: {{rod: {{inertial: {{symb: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}}}}}\n"
    text += "gravity: {symb: [0, 0, 1]}\n"
    model = read(tmp_path, text)
    robot, state = RobotExpressions(model), random_state(model, 3)
    assert robot.signature("M") == ("q", "par_DYN") and robot.signature("G") == ("q", "par_gravity", "par_DYN")
    light, file, heavy = (evaluate(robot, "M", state | {"par_DYN": np.array([m])}) for m in (0.0, 2.0, 4.0))
    np.testing.assert_allclose(heavy - file, file - light, atol=1e-14)
    plain = RobotExpressions(read(tmp_path, HEAD))
    np.testing.assert_allclose(evaluate(robot, "M", state), evaluate(plain, "M", state), atol=1e-14)


def test_what_cannot_be_is_named_with_its_place(tmp_path: Path) -> None:
    for more, what in (
        ("num_joints: 4", "num_joints: 4 joints; valid: 3, those of"),
        ("type_joints: [R, R, R]", "type_joints: ['R', 'R', 'R']; valid: ['R', 'P', 'R'], those of"),
        ("dynamics: {rood: {}}", "dynamics.rood: no link 'rood' that moves; valid: upper, rod"),
        ("dynamics: {rod: {inertial: {mass: 1}}}", "dynamics.rod.inertial: missing key 'CoM_x'; valid: all ten"),
        (
            "Dl_order: 2\ndynamics: {rod: {friction: {Dl: [1]}}}",
            "dynamics.rod.friction.Dl: 1 entries; valid: at least 2",
        ),
        ("elastic: {}", "unknown key 'elastic'"),
    ):
        assert what in message_of(tmp_path, f"{HEAD}{more}\n"), more
    assert "no file " in message_of(tmp_path, HEAD.replace(URDF.name, "none.urdf"))
    assert "kinematics.type" in message_of(tmp_path, HEAD.replace("URDF,", "SDF,"))
    with pytest.raises(NameNotFoundError, match="no link 'bas'"):
        read(tmp_path, HEAD.replace("base_link: pedestal", "base_link: bas"))


def test_inertias_of_the_file_are_judged_and_placeholders_noted(tmp_path: Path) -> None:
    text = f"{HEAD}dynamics: {{rod: {{inertial: {{{BODY}}}}}}}\n"
    assert "dynamics.rod.inertial" in message_of(tmp_path, text.replace("Iyy: 0.03", "Iyy: 0.3"), InertiaError)
    equal = text
    for old in ("Ixx: 0.02", "Ixy: 0.001", "Ixz: 0.002", "Iyy: 0.03", "Iyz: 0.003", "Izz: 0.025"):
        equal = equal.replace(old, f"{old[:3]}: 1")
    with pytest.warns(PlaceholderWarning, match="dynamics.rod.*placeholders for inertias: rod,"):
        read(tmp_path, equal)


def test_joints_are_locked_and_rotors_left_out_as_of_other_files(tmp_path: Path) -> None:
    text = f"{HEAD}dynamics: {{rod: {{rotor: {{inertia: 0.1}}}}}}\n"
    assert read(tmp_path, text, locked_joints={"slide": 0.1}).joint_names == ("swing", "spin")
    assert read(tmp_path, text, without_rotors=True).rotor_inertias.tolist() == [0.0, 0.0, 0.0]
