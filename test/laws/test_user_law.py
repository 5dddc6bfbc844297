"""The law and the kinematic loop of examples/user_law: a user's package, found by entry points, compiled and run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from user_package import install

from thunder_controllers.host import BLOCKING_GUARDS, Controller, Library
from thunder_controllers.resources import share
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.readers import read_assembly

FloatArray = NDArray[np.float64]

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LAW = "spring_and_damper"
STEP = 1e-3
START = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("user_law", tmp_path_factory.mktemp("user_law"))


def call(command: list[str], site: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([*([str(site)] if site else []), *sys.path[:1], str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def library(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The Panda with the law, by the command that the example's page states."""
    output = tmp_path_factory.mktemp("generated")
    robot = str(share("config/robots/panda.yaml"))
    command = [sys.executable, "-m", "thunder_dynamics.cli", "gen", robot, "--law", LAW, "--out", str(output)]
    folder = call(command, site).stdout.strip()
    return Library(Path(folder) / "libpanda.so")


def test_the_law_is_known_only_where_its_package_is_installed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "thunder_dynamics.cli", "gen", str(share("config/robots/panda.yaml"))]
    result = subprocess.run([*command, "--law", LAW, "-o", str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 2 and LAW in result.stderr
    assert "cartesian_backstepping" in result.stderr  # the laws there are


def test_the_library_describes_the_law(library: Library) -> None:
    law = library.law(LAW)
    assert (law.reference_kind, law.state) == ("cartesian", ())
    assert [entry.name for entry in law.gains] == ["K", "D", "d"]
    assert law.gains[0].defaults.tolist() == [600.0] * 3 + [40.0] * 3


class Arm:
    """A Panda in MuJoCo under the law, holding START; a wrench may act on its end effector."""

    def __init__(self, library: Library, **gains: object) -> None:
        self.library, self.steps = library, 0
        self.plant = MujocoPlant(read_assembly(share("urdf/panda.urdf.xacro"), {}), library.joint_names, STEP)
        self.plant.reset(START)
        self.controller = Controller()
        self.controller.configure(library, law=LAW, gains=gains)
        self.controller.activate(START, None, self.plant.holding_effort())
        self.dofs = [self.plant.model.joint(name).dofadr[0] for name in library.joint_names]

    def run(self, seconds: float, wrench: FloatArray) -> FloatArray:
        """Displacement of the end effector [m] and sine of its rotation, world axes, shape (6,)."""
        effort = np.zeros(self.library.n_joints)
        for _ in range(round(seconds / STEP)):
            q, qd = self.plant.q, self.plant.qd
            self.steps += 1
            guards = self.controller.update(self.steps * STEP, q, qd, STEP, effort)
            assert not guards & BLOCKING_GUARDS  # the first instants of a push may reach the torque rate limit
            self.plant.data.qfrc_applied[self.dofs] = self.library.evaluate("J_ee", q).T @ wrench
            self.plant.step(effort)
        assert guards == 0
        return -self.controller.telemetry("pose_error")


@pytest.mark.parametrize("axis", range(6))
def test_a_push_displaces_the_arm_by_its_stiffness_and_no_more(library: Library, axis: int) -> None:
    """At rest K e = −f: 12 N against 400 N/m is 3 cm, on every axis of the world."""
    stiffness = np.array([400.0, 500.0, 600.0, 30.0, 40.0, 50.0])
    wrench = np.zeros(6)
    wrench[axis] = 12.0 if axis < 3 else 4.0
    arm = Arm(library, K=stiffness)
    displacement = arm.run(5.0, wrench)
    # What is left after five seconds of a loop whose slowest time constant is D/K = 0.15 s, and the null space's drift.
    np.testing.assert_allclose(displacement, wrench / stiffness, atol=2e-4)
    np.testing.assert_allclose(arm.run(5.0, np.zeros(6)), np.zeros(6), atol=2e-4)  # released, it comes back


def test_the_kinematic_loop_takes_a_planar_arm_along_its_path(site: Path, tmp_path: Path) -> None:
    """Of the plane that it is told, where `axis_angle` has three rows for an arm that moves along two axes."""
    robot = str(share("config/robots/planar3r.yaml"))
    scenario = {
        "name": "in_plane",
        "robot": robot,
        "plant": {"engine": "model", "urdf": robot, "velocity": "exact"},
        "law": {"options": {"kinematic_loop": "in_plane", "plane": "xz"}},
        "reference": {"type": "lissajous", "centre": [0.5, 5.0, 0.7], "amplitude": [0.1, 0.0, 0.1]}
        | {"frequency": [0.4, 0.1, 0.6], "phase": [0.0] * 3, "ypr": [0.0] * 3},
        "start": {"q": [0.3, 0.9, 0.6], "on_reference": False},
        "duration": 5,
        "runs": [{"name": "run"}],
    }
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(scenario))
    call([sys.executable, "-m", "thunder_dynamics.cli", "run", str(file), "--out", str(tmp_path / "out")], site)
    trace = Trace.load(tmp_path / "out/run.npz")
    error = np.abs(trace.telemetry[:, trace.telemetry_names == "pose_error"])
    assert error[0].max() > 0.1
    assert error[-2000:].max() < 3e-3  # held for a period, the effort is half a period late
