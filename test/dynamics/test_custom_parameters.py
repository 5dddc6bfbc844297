"""Groups of parameters of one's own in a robot file: in functions, laws, generated classes and files of parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot, robot_file

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.errors import ModelError, RobotFileError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals
from thunder_dynamics.model import CustomParameters, RobotModel

SPRING = """thunder:
  parameters:
    par_spring: {value: [40.0, 0.2], unit: "N·m/rad, rad", description: 'say "hi" */ evil(); /* \\"\\"\\"'}
    par_bias: {value: [1.5]}
"""
FUNCTIONS = """
def add_functions(robot):
    k, rest = robot.symbol("par_spring")[0], robot.symbol("par_spring")[1]
    robot.add_function("spring", k * (rest - robot.symbol("q")[1]) + robot.symbol("par_bias"), ["q"], "A spring")
"""


def with_parameters(folder: Path, text: str = SPRING) -> Path:
    file = folder / "planar3r.yaml"
    file.write_text(robot_file("planar3r").read_text().replace("thunder:\n", text))
    return file


def test_a_file_states_groups_of_its_own(tmp_path: Path) -> None:
    model = td.load_model(with_parameters(tmp_path))
    assert model.parameters("par_spring") == (40.0, 0.2) and model.parameters("par_bias") == (1.5,)
    assert model.symbolic["par_spring"] == (True, True)
    assert model.parameter_groups[-2:] == ("par_spring", "par_bias")
    assert td.lock_joints(model, {"joint3": 0.1}).parameters("par_spring") == (40.0, 0.2)


@pytest.mark.slow
def test_functions_take_them_and_classes_set_save_and_load_them(tmp_path: Path) -> None:
    model, functions = td.load_model(with_parameters(tmp_path)), tmp_path / "mine.py"
    functions.write_text(FUNCTIONS)
    folder = td.build(model, folder=tmp_path / "out", user_functions=functions)
    robots = [td.robot(model, user_functions=functions, backend="casadi"), td.robot(model, user_functions=functions)]
    for robot in robots:
        robot.set_q([0.0, 0.5, 0.0])
        assert robot.get_spring() == pytest.approx(40.0 * (0.2 - 0.5) + 1.5)
        robot.set_par_spring([10.0, 0.5])
        assert robot.get_spring() == pytest.approx(1.5) and robot.get_par_spring() == pytest.approx([10.0, 0.5])
    robots[0].save_conf(tmp_path / "conf.yaml")
    robots[1].set_par_spring([1.0, 1.0])
    robots[1].load_conf(tmp_path / "conf.yaml")
    assert robots[1].get_par_spring() == pytest.approx([10.0, 0.5])
    library = Library(folder / "libplanar3r.so")
    (_, spring, bias) = library.function("spring").inputs
    assert (spring.name, bias.name) == ("par_spring", "par_bias") and spring.defaults.ravel().tolist() == [40.0, 0.2]
    header = (folder / "thunder_planar3r.h").read_text()
    assert "set_par_spring" in header and header.count("/*") == header.count("*/")
    compile((folder / "thunder_planar3r.py").read_text(), "module", "exec")


def test_a_law_that_uses_them_has_them_as_a_gain(tmp_path: Path) -> None:
    robot = RobotExpressions(td.load_model(with_parameters(tmp_path)))
    signals = Signals(robot, ReferenceKind.JOINT)
    spring = robot.symbol("par_spring")
    effort = spring[0] * (spring[1] - signals.q)
    law: Law = signals.law("held", "Held by a spring.", effort, {}, {})
    (gain,) = law.gains
    assert gain.name == "par_spring" and gain.unit == "N·m/rad, rad"
    assert gain.default.ravel().tolist() == [40.0, 0.2]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("spring: {value: [1.0]}", "parameters named 'spring'; valid: a match of par_"),
        ("par_DYN: {value: [1.0]}", "parameters named 'par_DYN'; valid: "),
        ("par_a__b: {value: [1.0]}", "parameters named 'par_a__b'; valid: "),
        ("par_x: {value: []}", "thunder.parameters.par_x.value"),
        ("par_x: {value: [.nan]}", "thunder.parameters.par_x.value"),
        ("par_x: {values: [1.0]}", "thunder.parameters.par_x.values: unknown key"),
    ],
)
def test_what_is_no_group_is_refused(tmp_path: Path, entry: str, message: str) -> None:
    file = with_parameters(tmp_path, f"thunder:\n  parameters:\n    {entry}\n")
    with pytest.raises(RobotFileError) as caught:
        td.load_model(file)
    assert message in str(caught.value)


def test_two_groups_of_a_name_are_refused() -> None:
    model: RobotModel = load_robot("planar3r")
    twice = (CustomParameters("par_x", (1.0,)), CustomParameters("par_x", (2.0,)))
    with pytest.raises(ModelError, match="two groups of parameters share a name"):
        replace(model, custom_parameters=twice)
    assert np.isfinite(replace(model, custom_parameters=twice[:1]).parameters("par_x")).all()
