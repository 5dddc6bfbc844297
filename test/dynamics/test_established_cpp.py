"""C++ written for the established interface compiles against a generated class and gives the same numbers."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
import yaml
from evaluation import load_robot
from host_programs import eigen_include
from robots import random_inertia

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.codegen.cpp_class import established_names
from thunder_dynamics.codegen.package import Package
from thunder_dynamics.codegen.toolchain import compiler
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import DYN_NAMES
from thunder_dynamics.model import RobotModel

pytestmark = pytest.mark.slow

REG_KEYS = ("mass", "m_CoM_x", "m_CoM_y", "m_CoM_z", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")

PROGRAM = """
#include <cstdio>
#include <iostream>
#include <string>
#include "thunder_ROBOT.h"

int main() {
  thunder_ROBOT robot;
  const int NJ = robot.get_numJoints();
  const int N_PARAM_REG = robot.get_numParREG();
  if (NJ != robot.n_joints || robot.get_numParDYN() != robot.numParDYN || robot.ELASTIC != (robot.numElasticJoints > 0))
    return 1;
  Eigen::VectorXd q(NJ), dq(NJ), dqr(NJ), ddqr(NJ), par_REG(N_PARAM_REG);
  for (int i = 0; i < NJ; i++) {
    q(i) = 0.3 + i;
    dq(i) = 0.2 * i - 0.1;
    dqr(i) = 0.5 - 0.3 * i;
    ddqr(i) = 1.0 + i;
  }
  robot.setArguments(q, dq, 2 * dqr, 2 * ddqr);
  robot.set_dqr(dqr);
  robot.set_ddqr(ddqr);
  robot.set_ddq(ddqr);
  robot.set_d3q(q);
  robot.set_d4q(q);
  Eigen::VectorXd w(6);
  robot.set_w(w.setZero());
  const Eigen::MatrixXd T = robot.get_T_0() * robot.get_T_1() * robot.get_T_2(), J = robot.get_J_cm_1();
  if (!T.isApprox(robot.get_T_0_2(), 1e-12) || J.rows() != 6 || J.cols() != NJ) return 6;
  if (robot.get_C_dot().rows() != NJ || robot.get_G_dot().size() != NJ) return 7;
  par_REG = robot.get_par_REG();
  Eigen::MatrixXd Yr(NJ, N_PARAM_REG), myM(NJ, NJ), myC(NJ, NJ);
  Eigen::VectorXd myG(NJ);
  Yr = robot.get_Yr();
  myM = robot.get_M();
  myC = robot.get_C();
  myG = robot.get_G();
  const Eigen::VectorXd tau_dyn = myM * ddqr + myC * dqr + myG, tau_reg = Yr * par_REG;
  const int N_DL = NJ * robot.Dl_order, N_K = robot.numElasticJoints * robot.K_order;
  const Eigen::VectorXd par_DYN = robot.get_par_DYN(), par_Dl = robot.get_par_Dl(), par_K = robot.get_par_K();
  if (par_Dl.size() != N_DL || par_K.size() != N_K || robot.isElasticJoint[0] || robot.D_order)
    return 2;
  if (robot.get_par_world2L0().size() != 6 || robot.get_par_Ln2EE().size() != 6 || par_DYN.size() != 10 * NJ) return 3;
  if (robot.get_par_DHtable().size() != 4 * NJ || robot.get_par_gravity().size() != 3 || robot.Dm_order) return 4;
  robot.save_par_DYN("inertial_DYN.yaml");
  robot.save_par_REG("inertial_REG.yaml");
  if (robot.save_par("parameters.yaml") != 1) return 5;
  const std::string name = robot.robotName;
  std::cout << name << ' ' << robot.Dl_order << '\\n';
  for (int i = 0; i < NJ; i++) std::printf("%.17g %.17g\\n", tau_dyn(i), tau_reg(i));
}
"""

LOADER = """
#include <cstdio>
#include "thunder_ROBOT.h"

int main(int, char** files) {
  thunder_ROBOT robot;
  try {
    const Eigen::VectorXd par_REG = robot.load_par_REG(files[1]);
    if (par_REG != robot.get_par_REG()) return 1;
    for (const double value : par_REG) std::printf("%.17g\\n", value);
  } catch (const std::exception& error) {
    std::printf("%s\\n", error.what());
  }
}
"""


def run(program: str, model: RobotModel, folder: Path, *arguments: str) -> list[str]:
    """Compile a program against the package in a folder and run it beside it; its lines of output."""
    source, binary = folder.parent / "main.cpp", folder.parent / "main"
    source.write_text(program.replace("ROBOT", model.name))
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{folder}", f"-isystem{eigen_include()}"]
    command = [*compiler("c++"), *flags, str(source), str(folder / f"lib{model.name}.so"), "-o", str(binary)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, shlex.join(command) + compiled.stderr
    return started(folder, *arguments)


def started(folder: Path, *arguments: str) -> list[str]:
    """Output of the program that `run` has compiled."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    command = [str(folder.parent / "main"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=folder.parent)
    return done.stdout.splitlines()


@pytest.mark.parametrize("is_symbolic", [False, True])
def test_a_program_in_the_established_style_runs(tmp_path: Path, is_symbolic: bool) -> None:
    model = load_robot("planar3r")
    if is_symbolic:
        model = model.with_symbolic("par_DYN", True)
    folder = td.build(model, folder=tmp_path)
    library = str(folder / f"lib{model.name}.so")
    first, *rows = run(PROGRAM, model, folder)
    assert first == f"{model.name} {model.friction_order}"
    tau_dyn, tau_reg = np.array([row.split() for row in rows], dtype=float).T
    np.testing.assert_allclose(tau_reg, tau_dyn, rtol=1e-12, atol=1e-12)
    if not is_symbolic:
        described = Library(library)
        np.testing.assert_array_equal(described.evaluate("par_REG"), model.pi)
        i = np.arange(model.n)
        Yr = described.evaluate("Yr", 0.3 + i, 0.2 * i - 0.1, 0.5 - 0.3 * i, 1.0 + i)
        np.testing.assert_allclose(Yr @ model.pi, tau_reg, rtol=1e-12, atol=1e-12)
    for form, keys, values in (("DYN", DYN_NAMES, model.parameters("par_DYN")), ("REG", REG_KEYS, model.pi)):
        written = yaml.safe_load((tmp_path / f"inertial_{form}.yaml").read_text())["dynamics"]
        assert tuple(written) == model.link_names
        found = [written[link]["inertial"][key] for link in model.link_names for key in keys]
        np.testing.assert_allclose(found, values, rtol=1e-15, atol=1e-18)
    [answer] = started_loader(model, folder, tmp_path / "inertial_REG.yaml") if not is_symbolic else [""]
    assert ("the inertial parameters of planar3r are numbers" in answer) is not is_symbolic


def test_setters_have_the_established_names_of_references() -> None:
    package = Package(RobotExpressions(load_robot("sea2")))
    assert established_names(package) == {"dqr": "dq_r", "ddqr": "ddq_r", "ddxr": "ddx_r"}


def started_loader(model: RobotModel, folder: Path, file: Path) -> list[str]:
    return run(LOADER, model, folder, str(file))


def document(pi: np.ndarray, *, flow: bool) -> str:
    """A file of inertial parameters as the established generator writes it, its keys in another order."""
    links = {}
    for name, values in zip(("upper", "fore", "hand"), pi, strict=True):
        inertial = dict(reversed([*zip(REG_KEYS, values.tolist(), strict=True)]))
        links[name] = {"friction": {"Dl": [0.5, 0.1]}, "inertial": {**inertial, "symb": [1] * 10}}
    text = yaml.safe_dump({"dynamics": links}, default_flow_style=flow, sort_keys=False, width=60)
    return f"# Inertial parameters: {{mass}}, of the regressor\n{text}"


def test_parameters_are_loaded_from_the_established_files(tmp_path: Path) -> None:
    """A symbolic mass and inertia of the last link alone take what the file says; in block and in flow style."""
    mask = np.zeros(30, dtype=bool)
    mask[[20, 29]] = True
    model = load_robot("planar3r").with_symbolic("par_DYN", mask)
    folder = td.build(model, folder=tmp_path)
    pi = np.array([random_inertia(np.random.default_rng(k)).pi for k in range(3)])
    (tmp_path / "block.yaml").write_text(document(pi, flow=False))
    (tmp_path / "flow.yaml").write_text(document(pi, flow=True))
    block = run(LOADER, model, folder, str(tmp_path / "block.yaml"))
    assert [float(line) for line in block] == pytest.approx([pi[2, 0], pi[2, 9]], rel=1e-12)
    assert started(folder, str(tmp_path / "flow.yaml")) == block
    for old, new, message in (
        ("mass:", "weight:", "block.yaml:83: link 1 has no mass"),
        ("Izz:", "Izz: x", "no finite number"),
        ("m_CoM_x:", "CoM_x:", "'CoM_x' is of par_DYN; valid: m_CoM_x"),
        ("  inertial:", "  inert:", "of no link; valid: dynamics"),
        ("hand:", "hand: {inertial: }", "4 links; valid: 3"),
    ):
        text = (tmp_path / "block.yaml").read_text()
        assert old in text
        (tmp_path / "wrong").mkdir(exist_ok=True)
        (tmp_path / "wrong/block.yaml").write_text(text.replace(old, new))
        [answer] = started(folder, str(tmp_path / "wrong/block.yaml"))
        assert message in answer
    assert "cannot be read" in started(folder, str(tmp_path / "nothing.yaml"))[0]
