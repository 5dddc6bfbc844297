"""Base parameters: how many, by Pinocchio's regressor; which, by hand; Y π = Y_b K π; compiled like other functions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from evaluation import evaluate, load_robot
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import dh_placement, pinocchio_model, random_robot, random_state

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_dynamics.algorithms.base_parameters import find_base_parameters, parameter_names
from thunder_dynamics.cli import main
from thunder_dynamics.errors import ExpressionError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import REG_NAMES
from thunder_dynamics.model import Joint, JointKind, Link, RobotModel

RELATIVE = 1e-12  # sums of some 70 terms; the null space is known to 1e-14
RANK = 1e-9  # singular values of what acts are above 1e-4, of what does not below 1e-13


def pinocchio_rank(model: RobotModel) -> int:
    theirs = pinocchio_model(model)
    data = theirs.createData()
    rng = np.random.default_rng(5)
    states = rng.uniform(-2, 2, (100, 3, model.n))
    W = np.vstack([pin.computeJointTorqueRegressor(theirs, data, *one).copy() for one in states])
    size = np.linalg.norm(W, axis=0)
    acts = size > RANK * size.max()
    values = np.linalg.svd(W[:, acts] / size[acts], compute_uv=False)
    return int((values > RANK * values[0]).sum())


def error_of(robot: RobotExpressions, seed: int) -> float:
    """|Y π − Y_b π_b| at a random state, over the largest effort."""
    state = random_state(robot.model, seed)
    effort = evaluate(robot, "Y", state) @ robot.model.pi
    reduced = evaluate(robot, "Yb", state) @ evaluate(robot, "pi_b", state).ravel()
    return float(np.abs(effort - reduced).max() / np.abs(effort).max())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("panda", 43), ("ur5", 36)])
def test_the_number_that_is_known_of_an_arm(name: str, count: int) -> None:
    robot = RobotExpressions(load_robot(name))
    base = robot.base_parameters
    assert len(base.kept) == count == pinocchio_rank(robot.model)
    assert base.gap > 1e9
    assert max(error_of(robot, seed) for seed in range(5)) < RELATIVE


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(1, 7), tree=st.booleans())
def test_efforts_of_random_robots_follow_from_them_alone(seed: int, n: int, tree: bool) -> None:
    robot = RobotExpressions(random_robot(seed, n, tree=tree))
    base = robot.base_parameters
    assert len(base.kept) == pinocchio_rank(robot.model)
    assert error_of(robot, seed % 1000) < RELATIVE
    np.testing.assert_array_equal(base.K[:, base.kept], np.eye(len(base.kept)))
    assert {*base.unobservable, *base.alone, *base.combined} == set(base.names)


def elbow(alpha: float = 0.0) -> RobotModel:
    """The planar elbow of theory.md §2, link frames at the joints, gravity along −y; `alpha` tilts the second axis."""
    rows = ((0.0, 0.0, 0.0, 0.0), (0.4, alpha, 0.0, 0.0))
    joints = [Joint(f"j{i}", JointKind.REVOLUTE, dh_placement(*row), dh=row) for i, row in enumerate(rows, 1)]
    links = tuple(Link(f"link{i}", i - 2, joint) for i, joint in enumerate(joints, 1))
    return RobotModel("elbow", links, gravity=(0.0, -9.81, 0.0))


def test_the_planar_elbow_as_by_hand() -> None:
    """Link 2 turns about a point of link 1 at a = 0.4: its mass acts as a point mass there, as no torque sees it."""
    base = RobotExpressions(elbow()).base_parameters
    assert base.texts() == (
        "link1.mcx + 0.4·link2.m",
        "link1.mcy",
        "link1.Izz + 0.16·link2.m",
        "link2.mcx",
        "link2.mcy",
        "link2.Izz",
    )
    assert base.alone == ("link1.mcy", "link2.mcx", "link2.mcy", "link2.Izz")
    assert base.combined == ("link1.mcx", "link1.Izz", "link2.m")
    plane = {"m", "mcx", "mcy", "Izz"}
    without = [f"link{i}.{name}" for i in (1, 2) for name in REG_NAMES if name not in plane]
    assert set(base.unobservable) == {"link1.m", *without}


def test_an_angle_that_a_file_has_rounded_counts_as_meant_with_a_larger_tolerance() -> None:
    model = elbow(3.6e-6)
    function, names = RobotExpressions(model).function("Y"), parameter_names(model.link_names)

    def Y(*state: np.ndarray) -> np.ndarray:
        return np.asarray(function(*state))

    assert len(find_base_parameters(Y, names, 2).kept) > 6
    assert len(find_base_parameters(Y, names, 2, tolerance=1e-4).kept) == 6


@pytest.mark.slow
def test_they_are_compiled_on_request_only(tmp_path: Path, build_cache: Path) -> None:
    file = Path(__file__).parents[2] / "config" / "robots" / "planar3r.yaml"
    names = ("Yb", "Kb", "pi_b")
    assert main(["gen", str(file), "-o", str(tmp_path), *(a for name in names for a in ("--function", name))]) is None
    compiled = Library(tmp_path / "planar3r_generatedFiles" / "libplanar3r.so")
    robot = RobotExpressions(td.load_model(file))
    assert {"Yb", "Kb", "pi_b"}.isdisjoint(robot.functions)
    assert set(compiled.functions) == {*robot.functions, *names}
    state = random_state(robot.model, 3)
    q, qd, qdd = (state[name] for name in ("q", "dq", "ddq"))
    Yb, pi_b = compiled.evaluate("Yb", q, qd, qdd), compiled.evaluate("pi_b")
    np.testing.assert_allclose(pi_b.ravel(), compiled.evaluate("Kb") @ compiled.pi, rtol=1e-14)
    np.testing.assert_allclose(Yb @ pi_b.ravel(), compiled.evaluate("Y", q, qd, qdd) @ compiled.pi, rtol=1e-12)


def test_symbolic_inertias_are_taken_and_symbolic_geometry_is_refused() -> None:
    model = load_robot("rpr")
    robot = RobotExpressions(replace(model, symbolic={}).with_symbolic("par_DYN", True))
    assert robot.signature("pi_b") == ("par_DYN",) and robot.signature("Yb") == ("q", "dq", "ddq")
    assert error_of(robot, 1) < RELATIVE
    for group in ("par_DHtable", "par_gravity"):
        with pytest.raises(ExpressionError, match=f"depend on {group}"):
            _ = RobotExpressions(model.with_symbolic(group, True)).base_parameters
