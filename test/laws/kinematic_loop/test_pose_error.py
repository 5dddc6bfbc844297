"""Orientation error: its definition by frame axes, its kinematics, and the clipping beyond the safe angle."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunder_controllers.laws.kinematic_loop.pose_error import clipped_norm, orientation_error
from thunder_dynamics.spatial import SNAP, rot_axis, rotation_from_ypr, skew

SAFE = np.deg2rad(60.0)
EXACT = 1e-13  # a few dozen operations on numbers of order one
R_SYMBOL, R_D_SYMBOL = ca.SX.sym("R", 3, 3), ca.SX.sym("R_d", 3, 3)
ERROR = orientation_error(R_SYMBOL, R_D_SYMBOL, SAFE)
FUNCTION = ca.Function("error", [R_SYMBOL, R_D_SYMBOL], [ERROR.e, ERROR.L])
INVERSE = ca.Function("inverse", [R_SYMBOL, R_D_SYMBOL], [ERROR.L, ERROR.L_inverse])

seeds = st.integers(0, 2**32 - 1)


def pair(seed: int, angle: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two frames that lie `angle` apart, and the axis from the actual to the desired one."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    R = rotation_from_ypr(*rng.uniform(-3, 3, 3))
    return R, rot_axis(tuple(axis), angle) @ R, axis


def error_at(R: np.ndarray, R_d: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    e, L = FUNCTION(R, R_d)
    return np.asarray(e).ravel(), np.asarray(L)


@given(seeds, st.floats(0.0, float(SAFE) - 1e-9))
def test_error_and_its_map_are_their_definitions_by_frame_axes(seed: int, angle: float) -> None:
    R, R_d, axis = pair(seed, angle)
    e, L = error_at(R, R_d)
    np.testing.assert_allclose(e, 0.5 * sum(np.cross(R[:, k], R_d[:, k]) for k in range(3)), rtol=0, atol=EXACT)
    np.testing.assert_allclose(L, -0.5 * sum(skew(R_d[:, k]) @ skew(R[:, k]) for k in range(3)), rtol=0, atol=EXACT)
    np.testing.assert_allclose(e, axis * np.sin(angle), rtol=0, atol=2 * SNAP)  # `pair` snaps the smallest angles to 0


@given(seeds, st.floats(0.0, 1.0))
def test_error_rate_is_l_transposed_omega_d_minus_l_omega(seed: int, angle: float) -> None:
    R, R_d, _ = pair(seed, angle)
    omega, omega_d = np.random.default_rng(seed + 1).normal(size=(2, 3))
    _, L = error_at(R, R_d)

    def moved(t: float) -> np.ndarray:
        turn = [rot_axis(tuple(w / np.linalg.norm(w)), t * np.linalg.norm(w)) for w in (omega, omega_d)]
        return error_at(turn[0] @ R, turn[1] @ R_d)[0]

    h = 1e-5
    slope = (moved(h) - moved(-h)) / (2 * h)
    # central difference: truncation h²/6 times third derivatives below 100, rounding 1e-16/h
    np.testing.assert_allclose(L.T @ omega_d - L @ omega, slope, rtol=0, atol=1e-8)


@given(seeds, st.floats(float(SAFE) + 1e-6, np.pi - 1e-3))
def test_beyond_the_safe_angle_the_error_is_that_of_the_safe_angle_about_the_same_axis(seed: int, angle: float) -> None:
    R, R_d, axis = pair(seed, angle)
    e, L = error_at(R, R_d)
    at_limit = error_at(R, rot_axis(tuple(axis), SAFE) @ R)
    # e is divided by sin θ ≥ 1e-3, which enlarges its rounding errors
    np.testing.assert_allclose(e, at_limit[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(L, at_limit[1], rtol=0, atol=1e-11)


@given(seeds, st.floats(0.0, np.pi))
def test_error_stays_bounded_and_its_map_invertible(seed: int, angle: float) -> None:
    e, L = error_at(*pair(seed, angle)[:2])
    assert np.isfinite(e).all() and np.linalg.norm(e) <= np.sin(SAFE) + EXACT
    # L of angle θ has singular values 1 (the axis), and |½(1 + e^{iθ})…| no smaller than cos θ ≥ cos 60°
    assert np.linalg.svd(L, compute_uv=False)[-1] >= np.cos(SAFE) - 1e-9


def test_exactly_opposite_frames_give_a_finite_vanishing_error() -> None:
    for axis in np.eye(3):
        e, L = error_at(np.eye(3), rot_axis(tuple(axis), np.pi))
        assert not e.any() and np.isfinite(L).all()


@given(seeds, st.floats(0.0, np.pi - 1e-3))
def test_the_inverse_is_that_of_l(seed: int, angle: float) -> None:
    L, inverse = (np.asarray(value) for value in INVERSE(*pair(seed, angle)[:2]))
    # entries of the inverse are at most 1/cos 60°; beyond that e is divided by sin θ ≥ 1e-3
    np.testing.assert_allclose(inverse @ L, np.eye(3), rtol=0, atol=1e-11)


@pytest.mark.parametrize("length", [0.0, 1e-9, 0.05, 0.0999, 0.1001, 3.0])
def test_a_clipped_vector_keeps_its_direction_and_is_no_longer_than_the_limit(length: float) -> None:
    e, limit = ca.SX.sym("e", 3), ca.SX.sym("limit")
    function = ca.Function("clip", [e, limit], [clipped_norm(e, limit)])
    vector = length * np.array([2.0, -1.0, 2.0]) / 3.0
    clipped = np.asarray(function(vector, 0.1)).ravel()
    np.testing.assert_allclose(clipped, vector * min(1.0, 0.1 / length if length else 1.0), rtol=1e-12, atol=1e-20)
