"""What others build on: the CMake package of a generated folder, CasADi files, the examples that use them."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from evaluation import ROOT, assert_close, evaluate, load_robot, robot_file
from robots import pinocchio_model, random_robot, random_state

import thunder_dynamics as td
from thunder_dynamics.cli import main
from thunder_dynamics.codegen import toolchain
from thunder_dynamics.expressions import RobotExpressions

EXAMPLE = ROOT / "examples/generated_robot"
RELATIVE = 1e-12


def run(*command: object) -> str:
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def torques(output: str) -> np.ndarray:
    return np.array([float(line) for line in output.split()])


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    """The torque of computed_torque.cpp, from Pinocchio."""
    model = pinocchio_model(load_robot("planar3r"))
    q, qd, qd_desired, qdd_desired = np.arange(1, 13).reshape(4, 3) / 10
    result: np.ndarray = pin.rnea(model, model.createData(), q, qd, qdd_desired + 20.0 * (qd_desired - qd))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("place", ["generated", "installed"])
def test_the_example_in_cpp_finds_the_package_and_runs(place: str, expected: np.ndarray, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    eigen = (f"-DPython3_EXECUTABLE={sys.executable}", "-DCMAKE_IGNORE_PATH=/usr/share/eigen3/cmake")  # not Debian's
    package = td.build(load_robot("planar3r"))
    if place == "installed":
        build, prefix = tmp_path / "package", tmp_path / "prefix"
        run("cmake", "-S", package, "-B", build, *eigen, f"-DCMAKE_INSTALL_PREFIX={prefix}")
        run("cmake", "--build", build, "--target", "thunder_planar3r", "test_thunder_planar3r")
        run("cmake", "--install", build)
        package = prefix
    build = tmp_path / "example"
    run("cmake", "-S", EXAMPLE, "-B", build, *eigen, f"-DCMAKE_PREFIX_PATH={package}")
    run("cmake", "--build", build)
    assert_close(torques(run(build / "computed_torque")), expected, RELATIVE)


@pytest.mark.slow
def test_the_example_in_python_runs(expected: np.ndarray) -> None:
    output = run(sys.executable, EXAMPLE / "computed_torque.py", robot_file("planar3r"))
    assert_close(torques(output), expected, RELATIVE)


def test_the_example_of_optimal_control_obeys_the_dynamics(monkeypatch: pytest.MonkeyPatch) -> None:
    script = EXAMPLE / "optimal_motion.py"
    assert len(script.read_text().partition("robot = ")[2].split("\n")) <= 20
    monkeypatch.setattr(sys, "argv", [str(script), str(robot_file("planar3r"))])
    names = runpy.run_path(str(script))
    q, qd, tau = (names["solution"].value(names[name]) for name in ("q", "qd", "tau"))
    np.testing.assert_allclose([q[:, 0], q[:, -1], qd[:, -1]], [[0.0] * 3, [1.0] * 3, [0.0] * 3], atol=1e-8)
    model = pinocchio_model(load_robot("planar3r"))
    data = model.createData()
    for k in range(tau.shape[1]):
        acceleration = pin.aba(model, data, q[:, k], qd[:, k], tau[:, k])
        np.testing.assert_allclose(qd[:, k + 1], qd[:, k] + names["DT"] * acceleration, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["opti", "acados"])
def test_the_example_of_predictive_control_moves_the_arm(
    solver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within its limits; with acados where that is installed."""
    if solver == "acados":
        pytest.importorskip("acados_template")
    script = EXAMPLE.parent / "mpc" / "mpc.py"
    monkeypatch.chdir(tmp_path)  # acados writes its solver there
    output = run(sys.executable, script, robot_file("planar3r"), solver)
    (found,) = re.findall(r"error (\S+) rad, effort (\S+) of its limit", output)
    assert float(found[0]) < 1e-3 and float(found[1]) <= 1.0


def test_every_function_is_saved_for_casadi(tmp_path: Path) -> None:
    model = random_robot(4, 3, dh=True).with_symbolic("par_DYN", True)
    robot, state = RobotExpressions(model), random_state(model, 1)
    files = td.save_functions(model, tmp_path / "saved")
    assert set(files) == set(robot.functions) and set(os.listdir(tmp_path / "saved")) == {
        f.name for f in files.values()
    }
    state["par_DYN"] = np.array(model.parameters("par_DYN"))
    for name, file in files.items():
        if name == "par_DYN_from_REG":
            continue
        function = ca.Function.load(str(file))
        assert function.name_in() == list(robot.signature(name))
        found = np.asarray(function.call([ca.DM(state[argument]) for argument in function.name_in()])[0])
        np.testing.assert_array_equal(found, evaluate(robot, name, state))


@pytest.mark.slow
def test_the_command_saves_functions_for_casadi(tmp_path: Path) -> None:
    folder = tmp_path / "functions"
    main(["gen", str(robot_file("planar3r")), "-o", str(tmp_path), "--casadi", str(folder)])
    assert ca.Function.load(str(folder / "planar3r_M.casadi")).size_out(0) == (3, 3)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(td.ThunderError, match="file: the output cannot be written"):
        td.save_functions(load_robot("planar3r"), tmp_path / "file")


def test_flags_of_the_processor_reach_who_includes_the_header() -> None:
    native, portable = (toolchain.compile_flags(is_portable) for is_portable in (False, True))
    assert toolchain.processor_flags(native) == ["-march=native"]
    assert toolchain.processor_flags(portable) == list(toolchain.PORTABLE)
