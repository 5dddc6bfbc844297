"""C++ written for the established interface compiles against a generated class and gives the same numbers."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.codegen.toolchain import compiler, eigen_include

pytestmark = pytest.mark.slow

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
  par_REG = robot.get_par_REG();
  Eigen::MatrixXd Yr(NJ, N_PARAM_REG), myM(NJ, NJ), myC(NJ, NJ);
  Eigen::VectorXd myG(NJ);
  Yr = robot.get_Yr();
  myM = robot.get_M();
  myC = robot.get_C();
  myG = robot.get_G();
  const Eigen::VectorXd tau_dyn = myM * ddqr + myC * dqr + myG, tau_reg = Yr * par_REG;
  const std::string name = robot.robotName;
  std::cout << name << ' ' << robot.Dl_order << '\\n';
  for (int i = 0; i < NJ; i++) std::printf("%.17g %.17g\\n", tau_dyn(i), tau_reg(i));
}
"""


@pytest.mark.parametrize("is_symbolic", [False, True])
def test_a_program_in_the_established_style_runs(tmp_path: Path, is_symbolic: bool) -> None:
    model = load_robot("planar3r")
    if is_symbolic:
        model = model.with_symbolic("par_DYN", True)
    folder = td.build(model, folder=tmp_path, python=False)
    (tmp_path / "main.cpp").write_text(PROGRAM.replace("ROBOT", model.name))
    library, program = str(folder / f"lib{model.name}.so"), str(tmp_path / "main")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{folder}", f"-isystem{eigen_include()}"]
    command = [*compiler("c++"), *flags, str(tmp_path / "main.cpp"), library, "-o", program]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, shlex.join(command) + compiled.stderr
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run([program], capture_output=True, text=True, check=True, env=environment)
    first, *rows = done.stdout.splitlines()
    assert first == f"{model.name} {model.friction_order}"
    tau_dyn, tau_reg = np.array([row.split() for row in rows], dtype=float).T
    np.testing.assert_allclose(tau_reg, tau_dyn, rtol=1e-12, atol=1e-12)
    if not is_symbolic:
        described = Library(library)
        np.testing.assert_array_equal(described.evaluate("par_REG"), model.pi)
        i = np.arange(model.n)
        Yr = described.evaluate("Yr", 0.3 + i, 0.2 * i - 0.1, 0.5 - 0.3 * i, 1.0 + i)
        np.testing.assert_allclose(Yr @ model.pi, tau_reg, rtol=1e-12, atol=1e-12)
