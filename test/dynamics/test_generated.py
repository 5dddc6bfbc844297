"""The generated package: compiled = symbolic, setters and files of parameters, types, README, CMake."""

from __future__ import annotations

import copy
import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from evaluation import ROOT, assert_close, evaluate, load_robot, symbolic_values
from german import german_environment
from robots import general_robot, pinocchio_model, random_inertia, random_robot, random_state
from watchdog import watched

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import Joint, JointKind, Link, Pose, RobotModel
from thunder_dynamics.runtime.robot import Robot

RELATIVE = 1e-12  # the acceptance limit: one expression graph, compiled with other roundings
PEER = 1e-10  # a recursion of other roundings, over tens of links
CONVERSIONS = ("par_REG_from_DYN", "par_DYN_from_REG", "pi_from_DYN")


def arguments_of(robot: RobotExpressions, seed: int) -> dict[str, np.ndarray]:
    """Signals of order one; parameters 10 % off the file's values."""
    rng = np.random.default_rng(seed)
    values = {}
    for name, argument in robot.arguments.items():
        if name.startswith("par_"):
            values[name] = symbolic_values(robot.model, name) * rng.uniform(0.9, 1.1, argument.symbol.numel())
        else:
            values[name] = rng.uniform(-2, 2, argument.symbol.numel())
    return values


def assert_compiled_equals_symbolic(folder: Path, robot: RobotExpressions, requested: Sequence[str] = ()) -> None:
    instance, library = td.load(folder), Library(folder / f"lib{robot.model.name}.so")
    functions = robot.selected(requested)
    assert library.functions == functions
    taken = {argument for name in functions for argument in robot.signature(name)}
    for seed in range(3):
        values = arguments_of(robot, seed)
        for name in taken - {"par_REG"}:
            getattr(instance, f"set_{name}")(values[name])
        for name in functions:
            expected = evaluate(robot, name, values)
            compiled = library.evaluate(name, **{a: values[a] for a in robot.signature(name)})
            assert_close(compiled, expected, RELATIVE)
            if name not in CONVERSIONS:
                assert_close(getattr(instance, f"get_{name}")(), expected, RELATIVE)


@pytest.mark.xdist_group("panda")
def test_compiled_panda_is_the_symbolic_one(panda_folder: Path) -> None:
    assert_compiled_equals_symbolic(panda_folder, RobotExpressions(load_robot("panda")))


@pytest.mark.xdist_group("sea2")
def test_compiled_elastic_arm_is_the_symbolic_one(sea2_folder: Path) -> None:
    assert_compiled_equals_symbolic(sea2_folder, RobotExpressions(load_robot("sea2")))


def test_compiled_robot_with_every_parameter_symbolic_is_the_symbolic_one() -> None:
    model = random_robot(4, 3, dh=True)
    for group in ("par_DYN", "par_DHtable", "par_gravity", "par_world2L0", "par_Ln2EE"):
        model = model.with_symbolic(group, True)
    folder = td.build(model, functions=["all"])
    assert_compiled_equals_symbolic(folder, RobotExpressions(model), ["all"])


def test_loops_of_a_large_robot_are_the_straight_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("thunder_dynamics.model.STRAIGHT_PAIRS", 4)
    model = random_robot(11, 5, tree=True, dh=True)
    assert [link.parent for link in model.links] != list(range(-1, 4))
    for group in ("par_DYN", "par_DHtable", "par_gravity", "par_world2L0", "par_Ln2EE"):
        model = model.with_symbolic(group, True)
    folder = td.build(model, folder=tmp_path)
    assert "thunder_project" in (folder / "random_robot_gen.c").read_text()
    assert_compiled_equals_symbolic(folder, RobotExpressions(model))


def test_loops_of_joints_with_several_velocities_are_the_straight_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("thunder_dynamics.model.STRAIGHT_PAIRS", 3)
    model = general_robot(6, 5)
    folder = td.build(model, folder=tmp_path)
    assert "thunder_project" in (folder / "random_robot_gen.c").read_text()
    assert_compiled_equals_symbolic(folder, RobotExpressions(model))


@pytest.mark.parametrize("kind", [JointKind.REVOLUTE, JointKind.PRISMATIC])
def test_loops_without_the_components_that_no_screw_has_are_the_straight_code(
    kind: JointKind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Parallel axes: turning about them moves nothing along them, and sliding along them turns nothing."""
    monkeypatch.setattr("thunder_dynamics.model.STRAIGHT_PAIRS", 3)
    rng, placement = np.random.default_rng(4), Pose(np.eye(3), np.array([0.3, 0.0, 0.1]))
    joints = [Joint(f"joint{i}", kind, placement) for i in range(3)]
    links = [Link(f"link{i}", i - 1, joint, random_inertia(rng)) for i, joint in enumerate(joints)]
    model = RobotModel("random_robot", tuple(links))
    assert_compiled_equals_symbolic(td.build(model, folder=tmp_path), RobotExpressions(model))


@pytest.mark.slow
def test_sixty_joints_compile_and_give_pinocchios_numbers(tmp_path: Path) -> None:
    model = random_robot(5, 60, tree=True)
    library = Library(td.build(model, folder=tmp_path) / "librandom_robot.so")
    state, peer = random_state(model, 3), pinocchio_model(model)
    data = peer.createData()
    q, dq, ddq = state["q"], state["dq"], state["ddq"]
    expected_M = pin.crba(peer, data, q)
    torque = pin.rnea(peer, data, q, dq, ddq)
    M, C, G = (library.evaluate(name, **{a: state[a] for a in ("q", "dq")[: 1 + (name == "C")]}) for name in "MCG")
    assert_close(M, np.triu(expected_M) + np.triu(expected_M, 1).T, PEER)
    assert_close(M @ ddq + C @ dq + G.ravel(), torque, PEER)
    assert_close(library.evaluate("M_dot", q=q, dq=dq), C + C.T, PEER)
    assert_close(library.evaluate("Y", q=q, dq=dq, ddq=ddq) @ model.pi, torque, PEER)
    reference = M @ state["ddq_r"] + C @ state["dq_r"] + G.ravel()
    assert_close(
        library.evaluate("Yr", **{a: state[a] for a in ("q", "dq", "dq_r", "ddq_r")}) @ model.pi, reference, PEER
    )
    pin.computeJointJacobians(peer, data, q)
    for i in (1, 31, 60):
        J = pin.getJointJacobian(peer, data, i, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        assert_close(library.evaluate(f"J_{i}", q=q), J, PEER)
        assert_close(library.evaluate(f"T_0_{i}", q=q), data.oMi[i].homogeneous, PEER)


def test_compiled_robot_with_a_free_joint_is_the_symbolic_one(tmp_path: Path) -> None:
    """Arguments of nq and of nv values; it starts from a configuration that there is, and passes its own test."""
    model = general_robot(3, 2)
    assert (model.nq, model.nv) == (8, 7)
    folder, robot = td.build(model), RobotExpressions(model)
    at_rest = {"q": model.neutral}
    np.testing.assert_allclose(td.load(folder).get_T_0_2(), evaluate(robot, "T_0_2", at_rest), rtol=0, atol=1e-14)
    assert_compiled_equals_symbolic(folder, robot)
    assert_the_package_passes_its_test_with_cmake(folder, tmp_path)


@pytest.mark.xdist_group("panda")
def test_the_compiled_law_is_the_symbolic_one(panda_folder: Path) -> None:
    from laws import packed

    from thunder_controllers.host import Controller
    from thunder_controllers.laws.cartesian_backstepping import cartesian_backstepping

    robot = RobotExpressions(load_robot("panda"))
    law = cartesian_backstepping(robot, {})
    described = Library(panda_folder / "libpanda.so").law("cartesian_backstepping")
    for kind in ("reference", "state", "gains", "telemetry"):
        for ours, theirs in zip(getattr(law, kind), getattr(described, kind), strict=True):
            assert (ours.name, ours.unit, ours.description) == (theirs.name, theirs.unit, theirs.description)
            for values in ("default", "lower", "upper"):
                compiled = getattr(theirs, "defaults" if values == "default" else values)
                np.testing.assert_array_equal(compiled.ravel(order="F"), getattr(ours, values).ravel(order="F"))
    assert packed(law.gains).size == sum(entry.size for entry in described.gains) and Controller is not None


# --- the class -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["compiled", "casadi", "C++"])
def sea2(request: pytest.FixtureRequest) -> Any:
    if request.param == "casadi":
        return td.robot(load_robot("sea2"), backend="casadi")
    if request.param == "C++":
        return request.getfixturevalue("sea2_cpp")
    return td.load(request.getfixturevalue("sea2_folder"))


pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sea2")]


def test_parameters_start_at_the_files_values(sea2: Any) -> None:
    model = load_robot("sea2")
    for group in model.symbolic:
        np.testing.assert_array_equal(getattr(sea2, f"get_{group}")(), symbolic_values(model, group))
    np.testing.assert_allclose(sea2.get_par_REG(), symbolic_values(model, "par_REG"), rtol=1e-15)


@pytest.mark.parametrize("setter", ["set_q", "set_x", "set_par_DYN", "set_par_REG"])
@pytest.mark.parametrize("value", [[], [1.0] * 5, [[1.0, 2.0]], [np.nan, 1, 1, 1], [np.inf, 0, 0, 0]])
def test_setters_refuse_wrong_values_and_keep_the_state(sea2: Any, setter: str, value: list[float]) -> None:
    sea2.set_q([0.3, 0.4])
    sea2.set_x([0.1])
    before = (sea2.get_M(), sea2.get_G(), sea2.get_k(), sea2.get_par_DYN())
    size = {"set_q": 2, "set_x": 1, "set_par_DYN": 4, "set_par_REG": 4}[setter]
    value = value[:size] if np.ndim(value) == 1 and not np.isfinite(value).all() else value
    with pytest.raises(
        TypeError if np.ndim(value) == 2 and not isinstance(sea2, Robot) else ValueError,
        match=rf"{setter}: .*; valid: ({size}|finite numbers)|2 dimensions; valid: one dimension|incompatible",
    ):
        getattr(sea2, setter)(value)
    for old, new in zip(before, (sea2.get_M(), sea2.get_G(), sea2.get_k(), sea2.get_par_DYN()), strict=True):
        np.testing.assert_array_equal(new, old)


def test_a_zero_mass_has_no_dyn_form(sea2: Any) -> None:
    before = sea2.get_par_DYN()
    with pytest.raises(ValueError, match="set_par_REG: a mass is zero; valid: masses that are not zero"):
        sea2.set_par_REG([0.0, 0.1, 0.0, 0.01])
    np.testing.assert_array_equal(sea2.get_par_DYN(), before)


def test_set_arguments_sets_four_at_once_or_raises(sea2: Any) -> None:
    state = random_state(load_robot("sea2"), 3)
    sea2.setArguments(state["q"], state["dq"], state["dq_r"], state["ddq_r"])
    expected = sea2.get_M() @ state["ddq_r"] + sea2.get_C() @ state["dq_r"] + sea2.get_G()
    assert_close(sea2.get_Yr() @ load_robot("sea2").pi, expected, RELATIVE)
    with pytest.raises(ValueError, match="set_dq_r: 3 values; valid: 2"):
        sea2.setArguments(state["q"], state["dq"], np.zeros(3), state["ddq_r"])


def test_values_given_and_taken_are_copies(sea2: Any) -> None:
    given = np.array([0.3, 0.4])
    sea2.setArguments(given, given, given, given)
    before = sea2.get_M()
    given[:] = 0.0
    sea2.get_M()[:] = 0.0
    sea2.get_par_DYN()[:] = 0.0
    np.testing.assert_array_equal(sea2.get_M(), before)


@pytest.mark.parametrize("sea2", ["compiled", "casadi"], indirect=True)
def test_a_copy_is_another_robot_with_the_same_values(sea2: Any) -> None:
    sea2.setArguments([0.3, 0.4], [0.1, 0.2], [0.5, 0.6], [0.7, 0.8])
    sea2.set_par_DYN([2.0, 0.1, 0.05, 0.02])
    for other in (copy.copy(sea2), copy.deepcopy(sea2)):
        np.testing.assert_array_equal(other.get_Yr(), sea2.get_Yr())
        np.testing.assert_array_equal(other.get_par_DYN(), sea2.get_par_DYN())
        other.set_q([0.0, 0.0])
        assert (other.get_M() != sea2.get_M()).any()


def test_par_reg_is_another_view_of_par_dyn(sea2: Any) -> None:
    sea2.set_par_DYN([2.0, 0.1, 0.05, 0.02])
    reg = sea2.get_par_REG()
    np.testing.assert_allclose(reg, [2.0, 0.2, 0.1, 0.02 + 2.0 * (0.1**2 + 0.05**2)], rtol=1e-14)
    sea2.set_par_REG(reg)
    np.testing.assert_allclose(sea2.get_par_DYN(), [2.0, 0.1, 0.05, 0.02], rtol=1e-13)


# --- files of parameters -------------------------------------------------------------------------------------------


def test_parameters_survive_a_file_bit_for_bit(sea2: Any, sea2_folder: Path, tmp_path: Path) -> None:
    values = {"par_DYN": [1.1, 1 / 3, -1e-300, 5e-324], "par_K": [np.nextafter(120, 121)], "par_gravity": [0.1 + 0.2]}
    for group, value in values.items():
        getattr(sea2, f"set_{group}")(value)
    sea2.save_conf(str(tmp_path / "conf.yaml"))
    other = td.load(sea2_folder)
    other.load_conf(str(tmp_path / "conf.yaml"))
    for group in load_robot("sea2").symbolic:
        np.testing.assert_array_equal(getattr(other, f"get_{group}")(), getattr(sea2, f"get_{group}")())
    assert os.listdir(tmp_path) == ["conf.yaml"]


SAVES_IN_GERMAN = """
import locale, sys
from pathlib import Path
import numpy as np
from cpp_robot import cpp_robot
locale.setlocale(locale.LC_ALL, "")
assert locale.localeconv()["decimal_point"] == ","
folder, cache, to, *values = sys.argv[1:]
arm, other = (cpp_robot(Path(folder), "sea2", Path(cache)) for _ in range(2))
arm.set_par_DYN([float(value) for value in values])
arm.save_conf(f"{to}/conf.yaml")
arm.save_par_REG(f"{to}/reg.yaml")
arm.save_par_DYN(f"{to}/dyn.yaml")
other.load_conf(f"{to}/conf.yaml")
assert np.array_equal(other.get_par_DYN(), arm.get_par_DYN())
np.testing.assert_allclose(other.load_par_REG(f"{to}/reg.yaml"), arm.get_par_REG(), rtol=1e-15)
"""


def test_files_are_the_same_in_every_language(
    sea2_folder: Path, sea2_cpp: Any, build_cache: Path, tmp_path: Path
) -> None:
    """Where the process writes 4,97, as one that shows windows in German does, a file has 4.97."""
    (tmp_path / "locale").mkdir()
    environment = {**german_environment(tmp_path / "locale"), "PYTHONPATH": os.pathsep.join(sys.path)}
    values = [4.75, 1 / 3, -1e-300, 5e-324]
    for name in ("english", "german"):
        (tmp_path / name).mkdir()
    places = map(str, (sea2_folder, build_cache / "cpp", tmp_path / "german"))
    command = [sys.executable, "-c", SAVES_IN_GERMAN, *places, *map(str, values)]
    subprocess.run(command, env=environment, check=True, timeout=600)
    sea2_cpp.set_par_DYN(values)
    sea2_cpp.save_conf(str(tmp_path / "english/conf.yaml"))
    sea2_cpp.save_par_REG(str(tmp_path / "english/reg.yaml"))
    sea2_cpp.save_par_DYN(str(tmp_path / "english/dyn.yaml"))
    for name in ("conf", "reg", "dyn"):
        english, german = ((tmp_path / f"{language}/{name}.yaml").read_text() for language in ("english", "german"))
        assert "4.75" in german
        assert english == german


def test_the_generated_file_holds_the_defaults(sea2: Any, sea2_folder: Path) -> None:
    before = sea2.get_par_DYN()
    sea2.set_par_DYN([9.0, 0.0, 0.0, 0.0])
    sea2.load_conf(str(sea2_folder / "sea2_conf.yaml"))
    np.testing.assert_array_equal(sea2.get_par_DYN(), before)


def test_groups_that_a_file_leaves_out_keep_their_values(sea2: Any, tmp_path: Path) -> None:
    (tmp_path / "conf.yaml").write_text("# only the stiffness\n\n par_K : [ +7 ]  # N·m/rad\r\n")
    sea2.set_par_Mm([0.7])
    sea2.load_conf(str(tmp_path / "conf.yaml"))
    assert sea2.get_par_K().tolist() == [7.0] and sea2.get_par_Mm().tolist() == [0.7]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("par_K", "'par_K' is no 'group: .values.'"),
        ("robot: panda", "parameters of robot 'panda'; valid: sea2"),
        (
            "par_X: [1]",
            "no group 'par_X'; valid: robot, par_Ln2EE, par_gravity, par_DYN, par_Dl, par_K, par_Dm",
        ),
        ("par_Mm: [0.1]", "group 'par_Mm' stands twice"),
        ("par_K: 7", "'7' is no list; valid: .number, number, ...."),
        ("par_K: [7", "'.7' is no list"),
        ("par_K: []", "'' is no finite number"),
        ("par_K: [a]", "'a' is no finite number"),
        ("par_K: [4,97]", "2 values in 'par_K'; valid: 1"),
        ("par_K: [1 2]", "'1 2' is no finite number"),
        ("par_K: [+-1]", "'.-1' is no finite number"),
        ("par_K: [1e999]", "'1e999' is no finite number"),
        ("par_K: [nan]", "'nan' is no finite number"),
        ("par_K: [1, 2]", "2 values in 'par_K'; valid: 1"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_set(sea2: Any, tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "conf.yaml"
    file.write_text(f"robot: sea2\npar_Mm: [0.7]\n{line}\n")
    before = sea2.get_par_Mm()
    is_yaml = isinstance(sea2, Robot)  # whose parser has words of its own
    with pytest.raises(RuntimeError, match=r"conf\.yaml:[34]: " if is_yaml else rf"conf\.yaml:3: {message}"):
        sea2.load_conf(str(file))
    np.testing.assert_array_equal(sea2.get_par_Mm(), before)


def test_files_that_cannot_be_read_or_written_are_named(sea2: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="none.yaml: .*cannot be read|no file .*none.yaml; valid: "):
        sea2.load_conf(str(tmp_path / "none.yaml"))
    with pytest.raises(RuntimeError, match="conf.yaml: cannot be written"):
        sea2.save_conf(str(tmp_path / "no" / "conf.yaml"))


def test_what_is_no_file_is_not_waited_for_and_a_link_is_replaced(sea2: Any, tmp_path: Path) -> None:
    file, aim, pipe = tmp_path / "conf.yaml", tmp_path / "aim.yaml", tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with watched(), pytest.raises(RuntimeError, match="cannot be read"):
            sea2.load_conf(str(path))
    with watched(), pytest.raises(RuntimeError, match="cannot be written"):
        sea2.save_conf(str(pipe))
    aim.write_text("kept")
    file.symlink_to(aim)
    sea2.save_conf(str(file))
    assert aim.read_text() == "kept" and not file.is_symlink()
    file.chmod(0o604)
    sea2.save_conf(str(file))
    assert file.stat().st_mode & 0o777 == 0o604
    sea2.load_conf(str(file))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aim.yaml", "conf.yaml", "pipe.yaml"]


def test_matrices_keep_two_dimensions_and_vectors_one_on_a_robot_of_one_joint(tmp_path: Path) -> None:
    model = random_robot(3, 1, dh=True).with_symbolic("par_DYN", True)
    folder = td.build(model, folder=tmp_path)
    robot = td.load(folder)
    expected = {"M": (1, 1), "C": (1, 1), "M_dot": (1, 1), "J_ee": (6, 1), "Yr": (1, 10), "T_0_1": (4, 4), "G": (1,)}
    for name, shape in expected.items():
        assert getattr(robot, f"get_{name}")().shape == shape
        assert f"Shape {shape}." in getattr(robot, f"get_{name}").__doc__
    assert robot.get_par_DYN().shape == robot.get_par_REG().shape == (10,)


# --- the other files -------------------------------------------------------------------------------------------------


def test_the_readme_lists_every_function_and_group(sea2_folder: Path) -> None:
    text = (sea2_folder / "README.md").read_text()
    model = load_robot("sea2")
    for name in RobotExpressions(model).functions:
        assert f"| `get_{name}` |" in text or name in CONVERSIONS
    for group in model.symbolic:
        assert f"| `{group}` |" in text


@pytest.mark.xdist_group("panda")
def test_the_readme_describes_the_laws(panda_folder: Path) -> None:
    text = (panda_folder / "README.md").read_text()
    assert "## Law `cartesian_backstepping`" in text
    assert "| gains | `K_d` | 7×1 | N·m·s/rad |" in text


def test_the_package_names_no_path_of_this_machine(sea2_folder: Path) -> None:
    places = {str(ROOT), str(Path.home()), sys.prefix, str(sea2_folder.parent)} - {"/", "/root"}
    for file in (path for path in sea2_folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        assert not [place for place in places if place.encode() in content], file.name


def test_the_package_builds_and_passes_its_test_with_cmake(sea2_folder: Path, tmp_path: Path) -> None:
    assert_the_package_passes_its_test_with_cmake(sea2_folder, tmp_path)


def assert_the_package_passes_its_test_with_cmake(folder: Path, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    prefix = Path(str(metadata.distribution("cmeel-eigen").locate_file("cmeel.prefix")))
    if not (prefix / "share" / "eigen3" / "cmake" / "Eigen3Config.cmake").is_file():
        pytest.skip("Eigen has no CMake configuration")
    source = tmp_path / "source"
    shutil.copytree(folder, source)
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", str(source), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["cmake", "--build", str(build)],
        ["ctest", "--test-dir", str(build), "--output-on-failure"],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
    assert "1 tests passed" in result.stdout or "100% tests passed" in result.stdout


@pytest.mark.parametrize("name", ["out", "m", "test"])
def test_names_that_c_or_cmake_use_themselves_are_fine_for_robots(tmp_path: Path, name: str) -> None:
    model = dataclasses.replace(load_robot("planar3r"), name=name)
    folder = td.build(model, folder=tmp_path)
    assert Library(folder / f"lib{name}.so").robot == name
    prefix = Path(str(metadata.distribution("cmeel-eigen").locate_file("cmeel.prefix")))
    if shutil.which("cmake") is None or not (prefix / "share" / "eigen3" / "cmake" / "Eigen3Config.cmake").is_file():
        pytest.skip("cmake or Eigen's CMake configuration is not installed; the rest was checked")
    command = ["cmake", "-S", str(folder), "-B", str(tmp_path / "build"), f"-DCMAKE_PREFIX_PATH={prefix}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
