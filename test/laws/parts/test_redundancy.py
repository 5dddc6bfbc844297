"""Damped pseudo-inverse: LDLᵀ factors, the exact derivative, and a damping that follows the singularities."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from evaluation import evaluate, load_robot, numeric
from hypothesis import given
from hypothesis import strategies as st
from laws import packed, step

from thunder_controllers.laws.parts.redundancy import (
    DAMPING_LAG,
    SMALLEST_PIVOT,
    PseudoInverse,
    SingularityDamping,
    factor_ldl,
)
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals

seeds = st.integers(0, 2**32 - 1)
ROWS, COLS = 3, 5

t = ca.SX.sym("t")
J0, J1, J2 = (ca.SX.sym(name, ROWS, COLS) for name in ("J0", "J1", "J2"))
J = J0 + J1 * ca.sin(t) + J2 * t**2
J_DOT = J1 * ca.cos(t) + 2 * J2 * t
c = ca.vertcat(ca.sin(t), ca.cos(2 * t), t)
c_dot = ca.vertcat(ca.cos(t), -2 * ca.sin(2 * t), 1)
d0, d1 = ca.SX.sym("d0"), ca.SX.sym("d1")
X, X_DOT = PseudoInverse(J, J_DOT, d0 + d1 * t, d1).apply(c, c_dot)
MOTION = ca.Function("motion", [t, J0, J1, J2, d0, d1], [X, X_DOT, J, c])


def motion(time: float, coefficients: list[np.ndarray], damping: float, rate: float = 0.0) -> list[np.ndarray]:
    return [np.asarray(v) for v in MOTION(time, *coefficients, damping, rate)]


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
    A, b = B @ B.T + 0.1 * np.eye(4), rng.normal(size=(4, 2))
    symbol = ca.SX.sym("A", 4, 4)
    factors = factor_ldl(symbol)
    L, d = numeric([symbol], factors.lower, A), numeric([symbol], factors.pivots, A).ravel()
    np.testing.assert_allclose(L @ np.diag(d) @ L.T, A, rtol=0, atol=1e-12)  # entries of order ten
    cholesky = np.linalg.cholesky(A)
    np.testing.assert_allclose(d, np.diag(cholesky) ** 2, rtol=1e-9)
    np.testing.assert_allclose(L, cholesky / np.diag(cholesky), rtol=0, atol=1e-9)
    np.testing.assert_allclose(numeric([symbol], factors.root, A), cholesky, rtol=0, atol=1e-9)
    solution = numeric([symbol], factors.solve(ca.SX(ca.DM(b))), A)
    np.testing.assert_allclose(A @ solution, b, rtol=0, atol=1e-11)
    trace = numeric([symbol], factors.inverse_trace(), A).item()
    assert trace == pytest.approx(np.trace(np.linalg.inv(A)), rel=1e-9)


def test_pivots_of_a_singular_matrix_are_kept_positive() -> None:
    symbol = ca.SX.sym("A", 2, 2)
    factors = factor_ldl(symbol)
    pivots = numeric([symbol], factors.pivots, np.ones((2, 2))).ravel()
    assert pivots.tolist() == [1.0, SMALLEST_PIVOT]
    assert np.isfinite(numeric([symbol], factors.solve(ca.SX([1.0, 2.0])), np.zeros((2, 2)))).all()


@given(seeds)
def test_without_damping_it_is_the_pseudo_inverse(seed: int) -> None:
    x, _, J_now, c_now = motion(0.2, coefficients(seed, 5.0), 0.0)
    # A = JJᵀ has a condition number of up to 1e5 here
    np.testing.assert_allclose(x, np.linalg.pinv(J_now) @ c_now, rtol=0, atol=1e-8 * max(1.0, np.abs(x).max()))


@given(seeds, st.floats(0.0, 0.02), st.floats(1e-4, 1.0))
def test_damped_it_is_bounded_and_that_of_least_squares(seed: int, depth: float, damping: float) -> None:
    x, x_dot, J_now, c_now = motion(0.0, coefficients(seed, depth), damping)
    assert np.isfinite(x_dot).all()
    # ‖Jᵀ(JJᵀ + λ²)⁻¹‖ ≤ 1/(2λ); ‖c‖ = 1 at t = 0
    assert np.linalg.norm(x) <= 1.0 / (2.0 * np.sqrt(damping)) * (1 + 1e-6)
    stacked = np.vstack([J_now, np.sqrt(damping) * np.eye(COLS)])
    expected = np.linalg.lstsq(stacked, np.vstack([c_now, np.zeros((COLS, 1))]), rcond=None)[0]
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-9 / damping)


@pytest.mark.parametrize(("depth", "damping", "rate"), [(3.0, 0.0, 0.0), (0.1, 0.01, 0.1), (0.03, 0.02, -0.05)])
@pytest.mark.parametrize("seed", range(4))
def test_its_derivative_is_the_slope_along_the_trajectory(seed: int, depth: float, damping: float, rate: float) -> None:
    values, h = coefficients(seed, depth), 1e-6
    ahead, behind = motion(0.2 + h, values, damping, rate), motion(0.2 - h, values, damping, rate)
    # rounding of 1e-16·cond/h is the larger part of the error of these central differences
    expected = (ahead[0] - behind[0]) / (2 * h)
    np.testing.assert_allclose(motion(0.2, values, damping, rate)[1], expected, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def law() -> Law:
    """The damping of a planar arm's position, alone."""
    robot = RobotExpressions(load_robot("planar3r"))
    signals = Signals(robot, ReferenceKind.JOINT)
    damping = SingularityDamping(signals, robot.jacobian(signals.q)[[0, 2], :])
    signals.describe_telemetry("posture", size=2, unit="1", doc="ν and its derivative.")
    telemetry = {**damping.telemetry, "posture": ca.vertcat(damping.posture, damping.posture_rate)}
    return signals.law("damping", "Damping.", ca.SX.zeros(3), {"damping": damping.next}, telemetry)


GAINS = {"singularity_threshold": 0.05, "damping_max": 0.05}


def first_damping(law: Law, q: np.ndarray) -> float:
    """Where the state starts at a posture."""
    assert law.initial is not None
    return float(law.initial(q, np.zeros(3), packed(law.gains, GAINS)))


@pytest.mark.parametrize("bend", [0.0, 0.1, 0.4, 2.0])
def test_the_damping_starts_where_the_distance_to_a_singularity_wants_it(law: Law, bend: float) -> None:
    q = np.array([0.3, bend, -bend])
    J = evaluate(RobotExpressions(load_robot("planar3r")), "J_ee", {"q": q})[[0, 2]]
    mu = 0.0 if bend == 0.0 else 1.0 / np.trace(np.linalg.inv(J @ J.T))
    first = first_damping(law, q)
    # the floor of the pivots, 1e-12, over the threshold
    assert first == pytest.approx(0.05 * max(1.0 - mu / 0.05, 0.0) ** 2, abs=1e-11)
    assert bend != 2.0 or first == 0.0


def test_it_follows_with_its_lag_and_the_posture_with_it(law: Law) -> None:
    q, dt, damping, reference = np.array([0.3, 0.1, -0.1]), 1e-3, 0.0, dict.fromkeys(("q", "qd", "qdd"), np.zeros(3))
    wanted = first_damping(law, q)
    for _ in range(int(5.0 * DAMPING_LAG / dt)):
        _, state, telemetry = step(law, q, np.zeros(3), reference, {"damping": damping}, GAINS, dt)
        posture, rate = telemetry["posture"]
        damping, before = state["damping"].item(), damping
        assert posture == pytest.approx((1.0 - before / 0.05) ** 4, rel=1e-12)
        slope = 4.0 * (1.0 - before / 0.05) ** 3 * (before - damping) / 0.05 / dt
        assert rate == pytest.approx(slope, rel=1e-9)
        assert before < damping < wanted
    # a lag of DAMPING_LAG + dt: (1 + 0.1)⁻⁵⁰ of the way is left
    assert wanted - damping == pytest.approx(wanted * (1.0 + dt / DAMPING_LAG) ** -50, rel=1e-9)
