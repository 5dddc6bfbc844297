"""Accelerations within bounds as a graph, against the solver of least squares and linear programs."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest
from evaluation import evaluate, load_robot
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import step

from thunder_controllers.laws.cartesian_computed_torque import cartesian_computed_torque
from thunder_controllers.laws.parts.acceleration_bounds import accelerate_within
from thunder_controllers.laws.parts.redundancy import PseudoInverse
from thunder_controllers.redundancy.acceleration_bounds import scale_to_bounds
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law

FloatArray = np.ndarray
seeds = st.integers(0, 2**32 - 1)


@cache
def graph(n: int) -> ca.Function:
    J, r, preferred, U = ca.SX.sym("J", n - 1, n), ca.SX.sym("r", n - 1), ca.SX.sym("p", n), ca.SX.sym("U", n)
    found = accelerate_within(PseudoInverse(J, ca.SX(n - 1, n), ca.SX(0.0), ca.SX(0.0)), r, preferred, U)
    return ca.Function("within", [J, r, preferred, U], [found.u, found.share])


def within(
    J: FloatArray, r: FloatArray, U: FloatArray, preferred: float | FloatArray = 0.0
) -> tuple[FloatArray, float]:
    u, share = graph(len(U))(J, r, preferred, U)
    return np.asarray(u).ravel(), float(share)


def draw(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """J, some of whose joints take no part in the null space, and a task about as large as the bounds allow."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    J, U = rng.normal(size=(n - 1, n)), rng.uniform(1.0, 20.0, n)
    alone = rng.random(n - 1) < 0.2  # a row that one joint alone moves
    J[alone] = np.eye(n)[:-1][alone] * rng.uniform(0.5, 2.0, (alone.sum(), 1))
    return J, J @ (U * rng.uniform(-1.5, 1.5, n)), U


@settings(deadline=None)  # the first of each size builds its graph
@given(seeds)
def test_it_is_the_exact_solution_and_the_largest_share(seed: int) -> None:
    J, r, U = draw(seed)
    if np.linalg.cond(J) > 1e3:
        return  # the normal equations of both have the square of it
    (u, share), exact = within(J, r, U), scale_to_bounds(J, r, U)
    assert share == pytest.approx(exact.factor, abs=1e-6)
    size = np.abs(J) @ U
    np.testing.assert_allclose(J @ u, share * r, rtol=0, atol=1e-7 * size.max())
    assert (np.abs(u) <= U * (1 + 1e-7)).all()
    # where a share is all that can be done there is one point: how exactly depends on how the two bounds cross
    np.testing.assert_allclose(u, exact.u, rtol=0, atol=(1e-5 if share == 1.0 else 1e-3) * U.max())


@settings(deadline=None)  # the first of each size builds its graph
@given(seeds)
def test_what_is_preferred_counts_as_far_as_the_task_and_the_bounds_let_it(seed: int) -> None:
    J, r, U = draw(seed)
    if np.linalg.cond(J) > 1e3:
        return
    preferred = np.random.default_rng(seed).uniform(-2.0, 2.0, len(U)) * U
    (least, share), (u, same) = within(J, r, U), within(J, r, U, preferred)
    assert same == share
    assert (np.abs(u) <= U * (1 + 1e-7)).all()
    free = np.linalg.pinv(J) @ r + (np.eye(len(U)) - np.linalg.pinv(J) @ J) @ preferred
    if (np.abs(free) < U).all():
        np.testing.assert_allclose(u, free, rtol=0, atol=1e-6 * U.max())
    else:
        assert np.linalg.norm(u - free) <= np.linalg.norm(least - free) + 1e-6 * U.max() or share < 1.0


def test_without_a_task_nothing_moves() -> None:
    u, share = within(np.eye(3)[:2], np.zeros(2), np.ones(3))
    assert share == 1.0 and not u.any()


@pytest.fixture(scope="module")
def robot() -> RobotExpressions:
    return RobotExpressions(load_robot("panda"))


@pytest.fixture(scope="module")
def law(robot: RobotExpressions) -> Law:
    return cartesian_computed_torque(robot, {"redundancy": "acceleration_bounds"})


@pytest.mark.parametrize("pull", [0.05, 0.09])
def test_the_law_asks_no_joint_for_more_than_its_bound(robot: RobotExpressions, law: Law, pull: float) -> None:
    """q̈ from the effort, by the model; J⁺ alone exceeds the robot's bounds for both, only one of which is too much."""
    q, qd = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5]), np.full(7, 0.1)
    U = np.array([15, 7.5, 10, 12.5, 15, 20, 20])
    T = evaluate(robot, "T_0_ee", {"q": q})
    reference = {"position": T[:3, 3] + [pull, -pull, 0.0], "rotation": T[:3, :3]}
    state = {"q": q, "dq": qd}
    M, C, G = (evaluate(robot, name, state) for name in "MCG")

    def accelerations(chosen: Law, **gains: object) -> tuple[FloatArray, dict[str, FloatArray]]:
        effort, _, telemetry = step(chosen, q, qd, reference, gains=gains)
        return np.linalg.solve(M, effort - C @ qd - G.ravel()), telemetry

    bounded, telemetry = accelerations(law, acceleration_limit=U)
    wide, same = accelerations(law, acceleration_limit=1e5)
    usual, _ = accelerations(cartesian_computed_torque(robot, {}))
    np.testing.assert_allclose(wide, usual, rtol=0, atol=1e-8 * np.abs(usual).max())
    assert same["task_share"].item() == 1.0
    assert (np.abs(wide) > U).any()
    assert (np.abs(bounded) <= U * (1 + 1e-9)).all()
    assert (telemetry["task_share"].item() < 1.0) == (pull > 0.07)
    J = evaluate(robot, "J_ee", {"q": q})
    np.testing.assert_allclose(J @ bounded, telemetry["task_share"] * (J @ wide), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "options", "spare"),
    [("panda", {"task": "position"}, 4), ("ur5", {}, 0), ("planar3r", {"task": "position"}, 0)],
)
def test_other_arms_are_refused(name: str, options: dict[str, str], spare: int) -> None:
    message = f"acceleration_bounds with {spare} redundant degrees of freedom; valid: an arm of"
    with pytest.raises(LawError, match=message):
        cartesian_computed_torque(RobotExpressions(load_robot(name)), {**options, "redundancy": "acceleration_bounds"})
