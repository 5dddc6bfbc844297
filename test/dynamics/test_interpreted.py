"""A robot on CasADi's virtual machine: the methods and numbers of the compiled one, without a compiler."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from evaluation import ROOT, assert_close, load_robot, robot_file, symbolic_values

import thunder_dynamics as td
from thunder_dynamics.model import RobotModel

RELATIVE = 1e-12
"""One expression graph, compiled with other roundings."""

ESTIMATE = [1.3, 0.2, -0.1, 0.05, 0.3, 0.01, -0.02, 0.25, 0.03, 0.2]


def methods(robot: Any) -> set[str]:
    return {name for name, _ in inspect.getmembers(type(robot), callable) if not name.startswith("_")}


def set_random(robots: list[Any], model: RobotModel, seed: int) -> None:
    """Set every argument of each robot: signals of order one, parameters 10 % off the file's."""
    rng = np.random.default_rng(seed)
    for name in sorted(name for name in methods(robots[0]) if name.startswith("set_") and name != "set_par_REG"):
        group = name.removeprefix("set_")
        if group.startswith("par_"):
            values = symbolic_values(model, group)
            value = values * rng.uniform(0.9, 1.1, values.size)
        else:
            size = len(model.elastic_joints) if "x" in group else 6 if group == "w" else model.n
            value = rng.uniform(-2, 2, size)
        for robot in robots:
            getattr(robot, name)(value)


def constants(robot: Any) -> dict[str, Any]:
    members = inspect.getmembers(type(robot))
    return {name: value for name, value in members if not name.startswith("_") and not callable(value)}


def cpp_names(header: str) -> set[str]:
    """Names of the public part of a generated class."""
    public = re.search(r" public:(.*) private:", re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL), re.DOTALL)
    assert public
    found = re.findall(r"^  [\w<>:,&* ]*?(\w+)(?:\[\])?(?:\(| =)", public[1], re.MULTILINE)
    assert len(found) > 30
    return set(found)


ONLY_IN_CPP = {"thunder_sea2": "the constructor"}
"""Public names of the C++ class that neither Python class has, and why."""


def assert_same(interpreted: Any, compiled: Any, model: RobotModel) -> None:
    assert methods(interpreted) == methods(compiled) and constants(interpreted) == constants(compiled)
    assert type(interpreted).__name__ == type(compiled).__name__
    for seed in range(3):
        set_random([interpreted, compiled], model, seed)
        for name in sorted(name for name in methods(compiled) if re.match("get_(?!num)", name)):
            expected = getattr(compiled, name)()
            found = getattr(interpreted, name)()
            assert found.shape == expected.shape, name
            assert_close(found, expected, RELATIVE)


@pytest.mark.slow
@pytest.mark.xdist_group("sea2")
def test_an_elastic_arm_is_the_compiled_one(sea2_folder: Path) -> None:
    model = load_robot("sea2")
    assert_same(td.robot(model, backend="casadi"), td.load(sea2_folder), model)


@pytest.mark.slow
@pytest.mark.xdist_group("sea2")
def test_the_class_has_the_same_names_in_every_language(sea2_folder: Path) -> None:
    header, compiled = (sea2_folder / "thunder_sea2.h").read_text(), td.load(sea2_folder)
    ours = methods(compiled) | set(constants(compiled))
    assert cpp_names(header) - ours == set(ONLY_IN_CPP) and ours <= cpp_names(header)


@pytest.mark.slow
@pytest.mark.xdist_group("sea2")
def test_the_module_is_typed_and_every_method_says_what_it_does(sea2_folder: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(sea2_folder / "thunder_sea2.py")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert checked.returncode == 0, checked.stdout
    kind = type(td.load(sea2_folder))
    assert [name for name in methods(kind()) if not getattr(kind, name).__doc__] == []


@pytest.mark.slow
def test_a_robot_of_numbers_is_the_compiled_one(tmp_path: Path) -> None:
    """Its inertial parameters can be read and saved; setting them is refused."""
    model = load_robot("planar3r")
    interpreted, compiled = td.robot(model, backend="casadi"), td.load(td.build(model))
    assert_same(interpreted, compiled, model)
    assert compiled.get_par_gravity().tolist() == [0.0, 0.0, -9.81] and compiled.n_joints == compiled.get_numJoints()
    for robot in (interpreted, compiled):
        robot.save_par_REG(str(tmp_path / "REG.yaml"))
        with pytest.raises(RuntimeError, match="REG.yaml: the inertial parameters of planar3r are numbers; valid"):
            robot.load_par_REG(str(tmp_path / "REG.yaml"))


@pytest.mark.slow
@pytest.mark.xdist_group("sea2")
def test_files_of_inertial_parameters_are_read_and_written_alike(sea2_cpp: Any, tmp_path: Path) -> None:
    """What C++ writes Python reads, and the other way round; entries that are numbers stay as they are."""
    compiled, interpreted = sea2_cpp, td.robot(load_robot("sea2"), backend="casadi")
    compiled.set_par_DYN(1.1 * compiled.get_par_DYN())
    files = {name: str(tmp_path / f"{name}.yaml") for name in ("REG", "DYN", "parameters")}
    compiled.save_par_REG(files["REG"])
    np.testing.assert_allclose(interpreted.load_par_REG(files["REG"]), compiled.get_par_REG(), rtol=1e-14)
    for method in ("save_par_REG", "save_par_DYN", "save_par"):
        written = []
        for robot in (compiled, interpreted):
            result = getattr(robot, method)(files["parameters"])
            assert result == (1 if method == "save_par" else None)
            written.append(yaml.safe_load(Path(files["parameters"]).read_text()))
        if method == "save_par":
            assert written[0].keys() == written[1].keys()
            continue
        for link, keys in written[0]["dynamics"].items():
            assert written[1]["dynamics"][link]["inertial"] == pytest.approx(keys["inertial"], rel=1e-12, abs=1e-18)
    interpreted.save_par_REG(files["REG"])
    np.testing.assert_allclose(compiled.load_par_REG(files["REG"]), interpreted.get_par_REG(), rtol=1e-14)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("m_CoM_x", "CoM_x", "REG.yaml:3: dynamics.link1.inertial.m_CoM_x: no finite number of 'm_CoM_x'; valid: mass"),
        ("  link2:\n", "  link2: 1\n  link3:\n", "REG.yaml:1: dynamics: 3 links; valid: 2"),
        ("dynamics", "dynamic", "0 links; valid: 2"),
        ("  link2:\n", "  link2: []\n  link2:\n", "duplicate key"),
        ("Izz: ", "Izz: x", "no finite number of 'Izz'"),
    ],
)
def test_a_bad_file_of_inertial_parameters_is_named_and_nothing_is_set(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    robot, file = td.robot(load_robot("sea2"), backend="casadi"), tmp_path / "REG.yaml"
    robot.save_par_REG(str(file))
    before = robot.get_par_REG()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(RuntimeError, match=message):
        robot.load_par_REG(str(file))
    np.testing.assert_array_equal(robot.get_par_REG(), before)


@pytest.mark.slow
@pytest.mark.xdist_group("sea2")
def test_files_and_estimates_are_read_and_written_alike(sea2_cpp: Any, tmp_path: Path) -> None:
    model, compiled = load_robot("sea2"), sea2_cpp
    interpreted, groups = td.robot(model, backend="casadi"), list(model.symbolic)
    set_random([compiled], model, 1)
    compiled.save_conf(str(tmp_path / "compiled.yaml"))
    interpreted.load_conf(str(tmp_path / "compiled.yaml"))
    interpreted.save_conf(str(tmp_path / "interpreted.yaml"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compiled.yaml", "interpreted.yaml"]
    compiled.load_conf(str(tmp_path / "interpreted.yaml"))
    estimates = tmp_path / "estimates.yaml"
    estimates.write_text(f"robot: sea2\nlaw: some\nlinks: [{model.link_names[1]}]\npi_hat: {ESTIMATE}\nother: [1.0]\n")
    for robot in (compiled, interpreted):
        robot.load_conf(str(estimates))
    for group in groups:
        np.testing.assert_allclose(
            getattr(interpreted, f"get_{group}")(), getattr(compiled, f"get_{group}")(), rtol=1e-14
        )


@pytest.mark.slow
@pytest.mark.xdist_group("sea2")
def test_the_parameters_of_another_robot_file_are_loaded(sea2_cpp: Any, tmp_path: Path) -> None:
    """Not the file itself, which has a reader, but what save_conf makes of it."""
    text = robot_file("sea2").read_text(encoding="utf-8")
    assert text.count("mass: 1.1") == 1
    (tmp_path / "worn.yaml").write_text(text.replace("mass: 1.1", "mass: 1.3"))
    other = td.robot(td.load_model(tmp_path / "worn.yaml", name="sea2"), backend="casadi")
    other.save_conf(str(tmp_path / "conf.yaml"))
    compiled = sea2_cpp
    for robot in (compiled, td.robot(load_robot("sea2"), backend="casadi")):
        with pytest.raises(RuntimeError, match="worn.yaml:3: .*valid: robot, .*those of a robot file: thunder_dyn"):
            robot.load_conf(str(tmp_path / "worn.yaml"))
    assert compiled.get_par_DYN()[0] == 1.1
    compiled.load_conf(str(tmp_path / "conf.yaml"))
    assert compiled.get_par_DYN()[0] == 1.3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("robot: other\n", "conf.yaml:1: robot: parameters of robot 'other'; valid: sea2"),
        ("par_K: [1.0]\npar_none: [1.0]\n", "conf.yaml:2: par_none: no group 'par_none'; valid: robot, "),
        ("law: some\nlinks: [none]\npi_hat: []\n", "conf.yaml:2: links: no link 'none'"),
        ("law: some\nlinks: text\npi_hat: []\n", "conf.yaml:2: links: 'text' is no list"),
        ("law: some\nlinks: [link2]\npi_hat: [1.0]\n", "conf.yaml:3: pi_hat: .*valid: ten numbers for each of 1 links"),
        (
            "law: some\nlinks: [link2]\npi_hat: [0,0,0,0,0,0,0,0,0,0]\n",
            "conf.yaml:3: pi_hat: set_par_REG: a mass is zero",
        ),
        ("law: some\nlinks: [link2]\npi_hat: [a,0,0,0,0,0,0,0,0,0]\n", "conf.yaml:3: pi_hat: .*valid: ten numbers"),
    ],
)
def test_a_bad_file_is_named_and_nothing_is_set(tmp_path: Path, text: str, message: str) -> None:
    robot, file = td.robot(load_robot("sea2"), backend="casadi"), tmp_path / "conf.yaml"
    before = robot.get_par_K(), robot.get_par_DYN()
    file.write_text(text)
    with pytest.raises(RuntimeError, match=message):
        robot.load_conf(str(file))
    for value, kept in zip((robot.get_par_K(), robot.get_par_DYN()), before, strict=True):
        np.testing.assert_array_equal(value, kept)


def test_a_file_whose_masses_are_zero_is_named(tmp_path: Path) -> None:
    robot, file = td.robot(load_robot("sea2"), backend="casadi"), tmp_path / "REG.yaml"
    robot.save_par_REG(str(file))
    file.write_text(re.sub(r"mass: .*", "mass: 0.0", file.read_text()))
    with pytest.raises(RuntimeError, match=r"REG.yaml:1: dynamics: set_par_REG: a mass is zero"):
        robot.load_par_REG(str(file))


def test_asked_for_the_virtual_machine_does_not_warn(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def add_functions(robot):\n    robot.add_function('twice', 2 * robot.symbol('q'), ['q'], 'Twice.')\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = td.robot(load_robot("planar3r"), backend="casadi", user_functions=file)
    robot.set_q([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(robot.get_twice(), [2.0, 4.0, 6.0])


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(td.ThunderError, match="no backend 'jit'; valid: auto, compiled, casadi"):
        td.robot(load_robot("planar3r"), backend="jit")  # type: ignore[arg-type]
