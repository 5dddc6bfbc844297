"""Bounds of speeds: exact where there is nothing to bound, never exceeded, differentiated exactly."""

from __future__ import annotations

import casadi as ca
import numpy as np
from evaluation import numeric
from hypothesis import given
from hypothesis import strategies as st

from thunder_controllers.laws.kinematic_loop.speed import EXACT_SHARE, limit_joints, limit_norm, saturate

seeds = st.integers(0, 2**32 - 1)
N = 5
v, v_dot, limit = (ca.SX.sym(name, N) for name in ("v", "v_dot", "limit"))
KEPT, KEPT_DOT = limit_joints(v, v_dot, limit)
LIMIT_JOINTS = ca.Function("limit_joints", [v, v_dot, limit], [KEPT, KEPT_DOT])


def joints(velocity: np.ndarray, rate: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept, kept_dot = LIMIT_JOINTS(velocity, rate, bound)
    return np.asarray(kept).ravel(), np.asarray(kept_dot).ravel()


@given(seeds, st.floats(-6.0, 6.0))
def test_no_joint_passes_its_limit_and_the_direction_stays(seed: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    velocity, bound = 10.0**power * rng.normal(size=N), rng.uniform(0.5, 3.0, N)
    kept, _ = joints(velocity, np.zeros(N), bound)
    assert (np.abs(kept) <= bound * (1 + 1e-12)).all()
    np.testing.assert_allclose(kept * np.linalg.norm(velocity), velocity * np.linalg.norm(kept), rtol=1e-9, atol=0)


@given(seeds, st.floats(0.0, EXACT_SHARE - 1e-9))
def test_slow_velocities_and_their_derivatives_are_left_as_they_are(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    bound, rate = rng.uniform(0.5, 3.0, N), rng.normal(size=N)
    ratio = rng.uniform(-1.0, 1.0, N)
    velocity = share * bound * ratio / max(np.sum(ratio**8) ** 0.125, 1e-3)
    kept, kept_dot = joints(velocity, rate, bound)
    assert kept.tolist() == velocity.tolist() and kept_dot.tolist() == rate.tolist()


@given(seeds, st.floats(0.1, 30.0))
def test_the_derivative_is_the_slope(seed: int, size: float) -> None:
    rng, h = np.random.default_rng(seed), 1e-6
    bound, rate, velocity = rng.uniform(0.5, 3.0, N), rng.normal(size=N), size * rng.normal(size=N)
    ahead, behind = (joints(velocity + sign * h * rate, rate, bound)[0] for sign in (1.0, -1.0))
    # truncation h² times third derivatives, of up to (1/0.3)³ where the factor bends; rounding 1e-16/h
    np.testing.assert_allclose(joints(velocity, rate, bound)[1], (ahead - behind) / (2 * h), rtol=0, atol=1e-6)


def test_the_bend_is_smooth() -> None:
    m = ca.SX.sym("m")
    phi, slope = saturate(m)
    np.testing.assert_allclose(numeric([m], ca.jacobian(phi, m) - slope, 0.9), 0.0, atol=1e-12)
    curvature = ca.jacobian(slope, m)
    below, above = (numeric([m], curvature, EXACT_SHARE + d).item() for d in (-1e-9, 1e-9))
    assert below == 0.0 and abs(above) < 1e-6
    assert 1.0 - 1e-12 < numeric([m], phi, 1e6).item() <= 1.0


@given(seeds, st.floats(-3.0, 3.0))
def test_a_vector_keeps_its_direction_and_the_bound_of_its_length(seed: int, power: float) -> None:
    rng = np.random.default_rng(seed)
    vector, symbol = 10.0**power * rng.normal(size=3), ca.SX.sym("w", 3)
    kept = numeric([symbol], limit_norm(symbol, ca.SX(2.0)), vector).ravel()
    assert np.linalg.norm(kept) <= 2.0 * (1 + 1e-12)
    np.testing.assert_allclose(kept * np.linalg.norm(vector), vector * np.linalg.norm(kept), rtol=1e-9, atol=0)
    if np.linalg.norm(vector) < 2.0 * EXACT_SHARE - 1e-6:
        np.testing.assert_allclose(kept, vector, rtol=1e-12)
