"""Where an arm starts: every pose that an arm has can be found, and none that it has not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Library
from thunder_controllers.references.trajectories import CARTESIAN_SIZE, POSITION, ROTATION
from thunder_controllers.simulation.start import POSE_TOLERANCE, solve_pose
from thunder_dynamics.build import build
from thunder_dynamics.errors import ScenarioError

pytestmark = pytest.mark.slow

HOME: dict[str, list[float]] = {"panda": [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0], "ur5": [0.0, -1.0, 1.0, -1.0, 1.0, 0.0]}

SHOULDER_AND_REACH = {"panda": (0.333, 0.858), "ur5": (0.089159, 0.984)}
"""Height of the shoulder and sum of the lengths from there to the flange [m], from the DH tables."""


@pytest.fixture(scope="module", params=HOME)
def library(request: pytest.FixtureRequest, build_cache: Path) -> Library:
    folder = build(load_robot(request.param), laws=["cartesian_backstepping"])
    return Library(folder / f"lib{request.param}.so")


def _sample(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    sample = np.zeros(CARTESIAN_SIZE)
    sample[POSITION], sample[ROTATION] = position, rotation.ravel(order="F")
    return sample


def _home(library: Library) -> np.ndarray:
    return np.array(HOME[library.robot])


def test_every_pose_that_the_arm_has_is_found(library: Library) -> None:
    rng = np.random.default_rng(7)
    for q_true in rng.uniform(library.position_lower, library.position_upper, (16, library.n_joints)):
        T_d = library.evaluate("T_0_ee", q_true)
        q = solve_pose(library, _sample(T_d[:3, 3], T_d[:3, :3]), _home(library), "start")
        assert ((library.position_lower <= q) & (q <= library.position_upper)).all()
        T = library.evaluate("T_0_ee", q)
        np.testing.assert_allclose(T[:3, 3], T_d[:3, 3], atol=POSE_TOLERANCE)
        assert Rotation.from_matrix(T[:3, :3] @ T_d[:3, :3].T).magnitude() < 2 * POSE_TOLERANCE


def test_a_pose_near_the_guess_is_found_near_it_and_exactly(library: Library) -> None:
    """The start of a run that was reached before is the one that is reached, to the last digits."""
    near = _home(library) + np.random.default_rng(3).uniform(-0.2, 0.2, library.n_joints)
    T_d = library.evaluate("T_0_ee", near)
    q = solve_pose(library, _sample(T_d[:3, 3], T_d[:3, :3]), _home(library), "start")
    np.testing.assert_allclose(library.evaluate("T_0_ee", q), T_d, atol=1e-14)
    assert np.abs(q - _home(library)).max() < 0.5


def test_a_pose_out_of_reach_is_refused_with_the_distance_that_is_left(library: Library) -> None:
    """From the shoulder, an arm reaches at most the sum of its links' lengths."""
    distance = 1.2
    shoulder, reach = SHOULDER_AND_REACH[library.robot]
    rotation = library.evaluate("T_0_ee", _home(library))[:3, :3]
    sample = _sample(np.array([0.6 * distance, 0.0, 0.8 * distance + shoulder]), rotation)
    with pytest.raises(ScenarioError, match="the pose at the start cannot be reached") as caught:
        solve_pose(library, sample, _home(library), "run a: start")
    left = float(re.findall(r"off by (\S+) m and", caught.value.what)[0])
    assert distance - reach <= left * 1.05 and left <= distance - 0.6 * reach
    assert caught.value.where == "run a: start" and caught.value.valid


def test_a_pose_that_a_joint_limit_forbids_names_joint_value_and_limit(build_cache: Path) -> None:
    """A stretched Panda that points below the horizon: only joint 2 can do that, and not so far."""
    panda = Library(build(load_robot("panda"), laws=["cartesian_backstepping"]) / "libpanda.so")
    T = panda.evaluate("T_0_ee", np.array([0.0, 2.4, 0.0, -0.1, 0.0, 1.8, 0.0]))
    with pytest.raises(ScenarioError, match="cannot be reached") as caught:
        solve_pose(panda, _sample(T[:3, 3], T[:3, :3]), np.array(HOME["panda"]), "start")
    assert re.search(r"beyond joint limits it can, with .*panda_joint2 at [12]\.\d+ \(-1.76", caught.value.what)
