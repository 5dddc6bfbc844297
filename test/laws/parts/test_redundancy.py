"""Damped pseudo-inverse: LDLᵀ factors, the ramp of the damping, the exact derivative."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from evaluation import numeric
from hypothesis import given
from hypothesis import strategies as st

from thunder_controllers.laws.parts.redundancy import SMALLEST_PIVOT, PseudoInverse, factor_ldl, singularity_ramp

seeds = st.integers(0, 2**32 - 1)
ROWS, COLS = 3, 5
THRESHOLD, MAXIMUM = 0.05, 0.02

t = ca.SX.sym("t")
J0, J1, J2 = (ca.SX.sym(name, ROWS, COLS) for name in ("J0", "J1", "J2"))
J = J0 + J1 * ca.sin(t) + J2 * t**2
J_DOT = J1 * ca.cos(t) + 2 * J2 * t
c = ca.vertcat(ca.sin(t), ca.cos(2 * t), t)
c_dot = ca.vertcat(ca.cos(t), -2 * ca.sin(2 * t), 1)
INVERSE = PseudoInverse(J, J_DOT, ca.SX(THRESHOLD), ca.SX(MAXIMUM))
X, X_DOT = INVERSE.apply(c, c_dot)
MOTION = ca.Function(
    "motion", [t, J0, J1, J2], [X, X_DOT, INVERSE.ramp.damping, INVERSE.ramp.damping_dot, INVERSE.ramp.distance, J, c]
)


def motion(time: float, coefficients: list[np.ndarray]) -> list[np.ndarray]:
    return [np.asarray(v) for v in MOTION(time, *coefficients)]


def coefficients(seed: int, depth: float) -> list[np.ndarray]:
    """A Jacobian whose last row tends to the first: the smaller `depth`, the closer to a singularity."""
    rng = np.random.default_rng(seed)
    Js = [rng.normal(size=(ROWS, COLS)), 0.1 * rng.normal(size=(ROWS, COLS)), 0.1 * rng.normal(size=(ROWS, COLS))]
    for k, matrix in enumerate(Js):
        matrix[2] = depth * matrix[2] / (1 if k == 0 else 2) + matrix[0]
    return Js


@given(seeds)
def test_ldl_factors_agree_with_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(4, 6))
    A, b = B @ B.T + 0.1 * np.eye(4), rng.normal(size=4)
    symbol = ca.SX.sym("A", 4, 4)
    factors = factor_ldl(symbol)
    L = numeric([symbol], ca.vertcat(*(ca.horzcat(*row) for row in factors.lower)), A) + np.eye(4)
    d = numeric([symbol], ca.vertcat(*factors.pivots), A).ravel()
    np.testing.assert_allclose(L @ np.diag(d) @ L.T, A, rtol=0, atol=1e-12)  # entries of order ten
    cholesky = np.linalg.cholesky(A)
    np.testing.assert_allclose(d, np.diag(cholesky) ** 2, rtol=1e-9)
    np.testing.assert_allclose(L, cholesky / np.diag(cholesky), rtol=0, atol=1e-9)
    solution = numeric([symbol], factors.solve(ca.SX(ca.DM(b))), A).ravel()
    np.testing.assert_allclose(A @ solution, b, rtol=0, atol=1e-11)
    transposed = numeric([symbol], factors.solve_transposed([ca.SX(v) for v in b]), A).ravel()
    np.testing.assert_allclose(L.T @ transposed, b, rtol=0, atol=1e-11)


def test_pivots_of_a_singular_matrix_are_kept_positive() -> None:
    symbol = ca.SX.sym("A", 2, 2)
    factors = factor_ldl(symbol)
    pivots = numeric([symbol], ca.vertcat(*factors.pivots), np.ones((2, 2))).ravel()
    assert pivots.tolist() == [1.0, SMALLEST_PIVOT]
    assert np.isfinite(numeric([symbol], factors.solve(ca.SX([1.0, 2.0])), np.zeros((2, 2)))).all()


@given(seeds)
def test_away_from_singularities_it_is_the_pseudo_inverse_without_damping(seed: int) -> None:
    values = coefficients(seed, 5.0)
    x, _, damping, rate, pivot, J_now, c_now = motion(0.2, values)
    if pivot.item() <= THRESHOLD:  # a random matrix that happens to lie in the ramp
        assert damping.item() > 0.0 or pivot.item() == THRESHOLD
        return
    assert damping.item() == 0.0 and rate.item() == 0.0
    # A = JJᵀ has a condition number of up to 1e4 here
    np.testing.assert_allclose(x, np.linalg.pinv(J_now) @ c_now, rtol=0, atol=1e-9 * max(1.0, np.abs(x).max()))


@pytest.mark.parametrize("depth", [3.0, 0.1, 0.06, 0.03])
@pytest.mark.parametrize("seed", range(4))
def test_its_derivative_is_the_slope_along_the_trajectory(seed: int, depth: float) -> None:
    values, h = coefficients(seed, depth), 1e-6
    _, x_dot, damping, damping_dot, pivot, _, _ = motion(0.2, values)
    assert (damping.item() > 0.0) == (pivot.item() < THRESHOLD)
    ahead, behind = motion(0.2 + h, values), motion(0.2 - h, values)
    # rounding of 1e-16·cond/h is the larger part of the error of these central differences
    np.testing.assert_allclose(x_dot, (ahead[0] - behind[0]) / (2 * h), rtol=1e-5, atol=1e-5)
    assert damping_dot.item() == pytest.approx(((ahead[2] - behind[2]) / (2 * h)).item(), rel=1e-5, abs=1e-8)


def test_the_cases_above_lie_on_both_sides_of_the_ramp() -> None:
    dampings = {depth: [motion(0.2, coefficients(s, depth))[2].item() for s in range(4)] for depth in (3.0, 0.03)}
    assert max(dampings[3.0]) == 0.0 < min(dampings[0.03])


def test_the_damping_grows_smoothly_to_its_maximum() -> None:
    A, threshold = ca.SX.sym("A", 2, 2), 0.3
    J_any = ca.SX.eye(2)
    ramp = singularity_ramp(J_any, J_any, A, ca.SX(threshold), ca.SX(2.0))
    depths = np.linspace(0.0, 1.0, 101)
    damping = np.array([numeric([A], ramp.damping, np.diag([1.0, d])).item() for d in depths])
    distance = depths / (1.0 + depths)  # 1/(1 + 1/depth)
    expected = 2.0 * np.clip(1 - distance / threshold, 0, None) ** 2
    np.testing.assert_allclose(damping, expected, rtol=0, atol=2e-11)  # 4e-12/threshold: the floor of the pivots
    assert damping[0] == pytest.approx(2.0) and not damping[distance >= threshold].any()


@given(seeds, st.floats(0.0, 0.02))
def test_close_to_a_singularity_the_result_stays_bounded(seed: int, depth: float) -> None:
    values = coefficients(seed, depth)
    x, x_dot, damping, *_ = motion(0.0, values)
    assert np.isfinite(x).all() and np.isfinite(x_dot).all()
    # ‖Jᵀ(JJᵀ + λ²)⁻¹‖ ≤ 1/(2λ); ‖c‖ = 1 at t = 0
    assert np.linalg.norm(x) <= 1.0 / (2.0 * np.sqrt(damping.item())) * (1 + 1e-6)
