"""Accelerations within bounds, against linear programs and optimality conditions written apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from thunder_controllers.redundancy.acceleration_bounds import (
    clip_pseudo_inverse,
    fastest_stop,
    saturate_in_null_space,
    scale_to_bounds,
    solve_within_bounds,
)
from thunder_dynamics.errors import DimensionError

FloatArray = NDArray[np.float64]
Problem = tuple[FloatArray, FloatArray, FloatArray]

TOL = 1e-7
"""Relative; the two solvers stop at some 1e-9, and the task is divided by the least singular value."""

EDGE = 1e-5
"""Problems this near to the edge of feasibility are left out: there it is a matter of rounding."""


def _largest_factor(J: FloatArray, r: FloatArray, U: FloatArray) -> float:
    """The factor that the bounds allow, unbounded: 1 / min t such that J u = r, |u_i| ≤ t U_i, by another program."""
    n = J.shape[1]
    above, below = (np.column_stack((sign * np.eye(n), -U)) for sign in (1.0, -1.0))
    program = scipy.optimize.linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.vstack((above, below)),
        b_ub=np.zeros(2 * n),
        A_eq=np.column_stack((J, np.zeros(len(r)))),
        b_eq=r,
        bounds=[(None, None)] * n + [(0.0, None)],
        method="highs-ds",
    )
    return float(1.0 / program.x[-1]) if program.status == 0 else 0.0


@st.composite
def problems(draw: st.DrawFn, rows: tuple[int, int] = (1, 4), spare: tuple[int, int] = (1, 3)) -> Problem:
    """Tasks of which about half can be done, with bounds that differ by up to a hundred."""
    m = draw(st.integers(*rows))
    n = m + draw(st.integers(*spare))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    J, U = rng.normal(size=(m, n)), 10.0 ** rng.uniform(-1.0, 1.0, n)
    assume(np.linalg.svd(J, compute_uv=False)[-1] > 1e-2)
    r = rng.normal(size=m)
    return J, r * _largest_factor(J, r, U) * draw(st.floats(0.05, 1.6)), U


def _assert_does(problem: Problem, u: FloatArray, factor: float = 1.0) -> None:
    J, r, U = problem
    assert (np.abs(u) <= U).all()
    np.testing.assert_allclose(J @ u, factor * r, rtol=0, atol=TOL * (np.abs(J) @ U).max())


@given(problems())
@settings(max_examples=30, deadline=None)
def test_what_can_be_done_is_done_and_nothing_else_is_claimed(problem: Problem) -> None:
    factor = _largest_factor(*problem)
    assume(abs(factor - 1.0) > EDGE)
    u = solve_within_bounds(*problem)
    assert (u is not None) == (factor > 1.0)
    if u is not None:
        _assert_does(problem, u)


@pytest.mark.slow
@given(problems())
@settings(max_examples=30, deadline=None)
def test_the_answer_has_the_least_norm(problem: Problem) -> None:
    """u = Jᵀλ − μ with μ_i ≥ 0 at upper bounds, ≤ 0 at lower ones, and zero in between, is necessary and sufficient."""
    J, _, U = problem
    u = solve_within_bounds(*problem)
    assume(u is not None)
    at = np.abs(u) >= U * (1.0 - 1e-9)
    system = np.hstack((J.T, -np.diag(np.sign(u))[:, at]))
    free = np.full(len(J), np.inf)
    bounds = (np.concatenate((-free, np.zeros(at.sum()))), np.full(system.shape[1], np.inf))
    multipliers = scipy.optimize.lsq_linear(system, u, bounds, method="bvls", tol=1e-14)
    np.testing.assert_allclose(multipliers.fun, 0.0, atol=TOL * U.max())


@given(problems())
@settings(max_examples=30, deadline=None)
def test_without_saturation_it_is_the_pseudo_inverse(problem: Problem) -> None:
    J, r, U = problem
    plain = np.linalg.pinv(J) @ r
    wide = 1.01 * np.maximum(U, np.abs(plain))
    for solve in (solve_within_bounds, saturate_in_null_space, clip_pseudo_inverse):
        np.testing.assert_allclose(solve(J, r, wide), plain, rtol=1e-9, atol=1e-12)
    assert scale_to_bounds(J, r, wide).factor == 1.0


@pytest.mark.slow
@given(problems())
@settings(max_examples=30, deadline=None)
def test_the_scale_is_the_largest_that_the_bounds_allow(problem: Problem) -> None:
    u, factor = scale_to_bounds(*problem)
    assert factor == pytest.approx(min(1.0, _largest_factor(*problem)), rel=TOL)
    _assert_does(problem, u, factor)


@pytest.mark.slow
@given(problems())
@settings(max_examples=30, deadline=None)
def test_greedy_saturation_does_the_task_where_it_finds_an_answer(problem: Problem) -> None:
    u = saturate_in_null_space(*problem)
    if u is not None:
        _assert_does(problem, u)
        assert np.linalg.norm(u) >= np.linalg.norm(solve_within_bounds(*problem)) * (1.0 - TOL)


def test_greedy_saturation_gives_up_tasks_that_can_be_done() -> None:
    """A few in a hundred, where the bounds differ and little room is left: two violations at once prove nothing."""
    rng, given_up = np.random.default_rng(1), 0
    for _ in range(200):
        J, r, U = rng.normal(size=(3, 5)), rng.normal(size=3), 10.0 ** rng.uniform(-1.0, 1.0, 5)
        r *= 0.95 * _largest_factor(J, r, U)
        assert solve_within_bounds(J, r, U) is not None
        given_up += saturate_in_null_space(J, r, U) is None
    assert 4 <= given_up <= 40


def test_the_largest_ratio_is_pinned_not_the_largest_value() -> None:
    """u = J⁺ r = (2, 3): only the first is beyond its bound of 1; pinned, it leaves 4 to the second, which may."""
    J, r, U = np.array([[1.0, 1.5]]), np.array([6.5]), np.array([1.0, 4.0])
    np.testing.assert_allclose(np.linalg.pinv(J) @ r, [2.0, 3.0])
    np.testing.assert_allclose(saturate_in_null_space(J, r, U), [1.0, 5.5 / 1.5])


@pytest.mark.parametrize("solve", [solve_within_bounds, saturate_in_null_space])
def test_a_singular_arm_does_what_is_in_its_range_only(solve: Any) -> None:
    J = np.array([[0.0, 0.0, 0.0], [3.0, 2.0, 1.0]])
    assert solve(J, [1e-3, 0.0], [1.0, 1.0, 1.0]) is None
    np.testing.assert_allclose(J @ solve(J, [0.0, 5.5], [1.0, 1.0, 1.0]), [0.0, 5.5], atol=1e-9)
    assert solve(J, [0.0, 6.5], [1.0, 1.0, 1.0]) is None
    u, factor = scale_to_bounds(J, [1e-3, 1.0], [1.0, 1.0, 1.0])
    assert factor == 0.0 and not u.any()
    assert scale_to_bounds(J, [0.0, 12.0], [1.0, 1.0, 1.0]).factor == pytest.approx(0.5)


def test_nothing_to_do_takes_no_acceleration() -> None:
    J, U = np.array([[1.0, 2.0, 3.0]]), np.ones(3)
    assert scale_to_bounds(J, [0.0], U).factor == 1.0
    for solve in (solve_within_bounds, saturate_in_null_space, clip_pseudo_inverse):
        assert not solve(J, [0.0], U).any()


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(1, 50)), min_size=1, max_size=7),
    st.floats(5e-3, 5e-2),
)
@settings(max_examples=30, deadline=None)
def test_the_fastest_stop_ends_in_the_least_time_and_does_not_chatter(
    joints: list[tuple[float, float]], dt: float
) -> None:
    qd, U = np.array(joints).T
    least = np.abs(qd) / U
    for step in range(int(np.ceil(least.max() / dt)) + 1):
        u = fastest_stop(qd, U, dt)
        assert (np.abs(u) <= U).all()
        moving = least > (step + 1) * dt * (1.0 + 1e-9)
        np.testing.assert_array_equal(u[moving], -np.copysign(U, qd)[moving])
        new = qd + dt * u
        assert (new * qd >= -1e-12).all()
        qd = np.where(np.abs(new) < 1e-12, 0.0, new)
    assert not qd.any() and not fastest_stop(qd, U, dt).any()


@pytest.mark.parametrize(
    ("J", "r", "U"),
    [
        ([1.0, 2.0], [1.0], [1.0, 1.0]),
        ([[1.0, 2.0]], [1.0, 2.0], [1.0, 1.0]),
        ([[1.0, 2.0]], [1.0], [1.0]),
        ([[1.0, np.nan]], [1.0], [1.0, 1.0]),
        ([[1.0, 2.0]], [np.inf], [1.0, 1.0]),
        ([[1.0, 2.0]], [1.0], [1.0, 0.0]),
    ],
)
def test_what_does_not_fit_is_refused(J: Any, r: Any, U: Any) -> None:
    for solve in (clip_pseudo_inverse, saturate_in_null_space, solve_within_bounds, scale_to_bounds):
        with pytest.raises(DimensionError, match=r"J u = r: J of shape .* valid: \(m, n\), \(m,\), \(n,\), finite"):
            solve(J, r, U)


@pytest.mark.parametrize(("qd", "U", "dt"), [([1.0], [1.0, 2.0], 0.1), ([np.nan], [1.0], 0.1), ([1.0], [1.0], 0.0)])
def test_a_stop_that_does_not_fit_is_refused(qd: Any, U: Any, dt: float) -> None:
    with pytest.raises(DimensionError, match="fastest_stop: q̇ of shape"):
        fastest_stop(qd, U, dt)
