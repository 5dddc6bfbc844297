"""Rotations, frames and cross products: axioms, and one result for numbers and symbols."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from evaluation import numeric
from hypothesis import given
from hypothesis import strategies as st

from thunder_dynamics.spatial import (
    SNAP,
    cos_sin,
    cross,
    dot,
    homogeneous,
    is_symbolic,
    matrix,
    rot_axis,
    rot_x,
    rot_y,
    rot_z,
    rotation_from_ypr,
    skew,
    vector,
    vee,
    ypr_from_rotation,
)

angles = st.floats(-10.0, 10.0)
threes = st.tuples(*[st.floats(-3.0, 3.0)] * 3)
EXACT = 1e-14  # a few products of numbers below ten, rounded to 1.1e-16 each
ROTATIONS = [rot_x, rot_y, rot_z]


@pytest.mark.parametrize("rotation", ROTATIONS)
@given(a=angles, b=angles)
def test_rotations_about_one_axis_form_a_group(rotation: object, a: float, b: float) -> None:
    R = rotation(a)  # type: ignore[operator]
    np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=EXACT)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=EXACT)
    np.testing.assert_allclose(R @ rotation(b), rotation(a + b), rtol=0, atol=10 * SNAP)  # type: ignore[operator]
    np.testing.assert_allclose(rotation(-a), R.T, rtol=0, atol=10 * SNAP)  # type: ignore[operator]


@pytest.mark.parametrize(("rotation", "axis"), list(zip(ROTATIONS, np.eye(3), strict=True)))
def test_the_derivative_of_a_rotation_is_s_of_its_axis_times_it(rotation: object, axis: np.ndarray) -> None:
    angle, h = 0.7, 1e-6
    slope = (rotation(angle + h) - rotation(angle - h)) / (2 * h)  # type: ignore[operator]
    # central difference: h²/6 of truncation and 1e-16/h of rounding
    np.testing.assert_allclose(slope, skew(axis) @ rotation(angle), rtol=0, atol=1e-9)  # type: ignore[operator]


@given(threes.filter(lambda a: np.linalg.norm(a) > 0.1), angles)
def test_rodrigues_is_the_matrix_exponential(axis: tuple[float, ...], angle: float) -> None:
    unit = np.array(axis) / np.linalg.norm(axis)
    series, term = np.eye(3), np.eye(3)
    for k in range(1, 80):  # |angle| ≤ 10: the terms 10ᵏ/k! have died away long before
        term = term @ skew(unit) * (angle / k)
        series = series + term
    # the series cancels: its largest term is 10¹⁰/10! ≈ 3e3, rounded to 1e-16 of that
    np.testing.assert_allclose(rot_axis(tuple(unit), angle), series, rtol=0, atol=1e-10)


def test_an_axis_that_is_almost_a_coordinate_axis_is_not_taken_for_one() -> None:
    tilt = 1e-9  # too small to change the norm in double precision
    np.testing.assert_allclose(rot_axis((0.0, 1.0, tilt), 0.5)[1, 0], math.sin(0.5) * tilt, rtol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("k", range(3))
def test_rotation_about_a_coordinate_axis_is_the_elementary_one(k: int, sign: float) -> None:
    axis = tuple(sign * np.eye(3)[k])
    np.testing.assert_array_equal(rot_axis(axis, 0.4), ROTATIONS[k](sign * 0.4))
    q = ca.SX.sym("q")
    np.testing.assert_allclose(numeric([q], rot_axis(axis, q), 0.4), ROTATIONS[k](sign * 0.4), rtol=0, atol=EXACT)


@given(st.floats(-math.pi, math.pi), st.floats(-1.5, 1.5), st.floats(-math.pi, math.pi))
def test_yaw_pitch_roll_round_trip(yaw: float, pitch: float, roll: float) -> None:
    rotation = rotation_from_ypr(yaw, pitch, roll)
    np.testing.assert_allclose(rotation, rot_z(yaw) @ rot_y(pitch) @ rot_x(roll), rtol=0, atol=EXACT)
    back = rotation_from_ypr(*ypr_from_rotation(rotation))
    np.testing.assert_allclose(back, rotation, rtol=0, atol=10 * SNAP)


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2])
def test_at_the_pole_yaw_takes_what_roll_leaves_free(pitch: float) -> None:
    rotation = rotation_from_ypr(0.4, pitch, 0.9)
    yaw, found, roll = ypr_from_rotation(rotation)
    assert roll == 0.0 and found == pytest.approx(pitch, abs=EXACT)
    np.testing.assert_allclose(rotation_from_ypr(yaw, found, roll), rotation, rtol=0, atol=EXACT)


@pytest.mark.parametrize("quarter", range(-5, 6))
@pytest.mark.parametrize("error", [0.0, 4e-12, -4e-12])
def test_multiples_of_a_right_angle_snap_to_exact_numbers(quarter: int, error: float) -> None:
    expected = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    assert cos_sin(quarter * (math.pi / 2) + error) == expected


def test_angles_farther_away_do_not_snap() -> None:
    angle = math.pi / 2 + 2 * SNAP
    assert cos_sin(angle) == (math.cos(angle), math.sin(angle))


@pytest.mark.parametrize("offset", [0.3, -0.3, math.pi / 2, -math.pi / 2, math.pi])
def test_a_constant_that_is_added_to_an_angle_folds(offset: float) -> None:
    q = ca.SX.sym("q")
    for angle in (q + offset, offset + q, q - offset, offset - q, -q, -(q + offset), 2.0 * q - offset):
        found = ca.vertcat(*cos_sin(angle))
        (exact,) = numeric([q], ca.vertcat(ca.cos(angle), ca.sin(angle)), 0.7).T
        np.testing.assert_allclose(numeric([q], found, 0.7).T, [exact], rtol=0, atol=EXACT)
        assert "sin(q)" in str(found) or "sin(@" in str(found)  # and not of a sum
    quarter = abs(math.sin(2.0 * offset)) < EXACT
    assert ("*" not in str(cos_sin(q + offset))) == quarter


@given(threes, threes, threes)
def test_the_cross_product_is_skew_and_satisfies_jacobi(
    a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]
) -> None:
    np.testing.assert_allclose(cross(a, b), np.cross(a, b), rtol=0, atol=EXACT)
    np.testing.assert_allclose(skew(a) @ np.array(b), cross(a, b), rtol=0, atol=EXACT)
    np.testing.assert_array_equal(skew(a), -skew(a).T)
    np.testing.assert_array_equal(vee(skew(a)), a)
    jacobi = cross(a, cross(b, c)) + cross(b, cross(c, a)) + cross(c, cross(a, b))
    np.testing.assert_allclose(jacobi, 0.0, rtol=0, atol=1e-12)  # terms of up to 100
    assert dot(a, b) == pytest.approx(np.dot(a, b), abs=1e-12)


def test_vee_takes_the_skew_part_of_any_matrix() -> None:
    A = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(skew(vee(A)), 0.5 * (A - A.T), rtol=0, atol=EXACT)


def test_homogeneous_stacks_rotation_and_translation() -> None:
    R, p = rotation_from_ypr(0.1, 0.2, 0.3), np.array([1.0, 2.0, 3.0])
    T = homogeneous(R, p)
    np.testing.assert_array_equal(T, np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]))


def test_symbols_give_what_numbers_give() -> None:
    s = ca.SX.sym("s", 6)
    values = np.array([0.3, -0.4, 0.5, 1.1, 1.2, -1.3])
    a, b = s[:3], s[3:]
    cases = [
        (cross(a, b), np.cross(values[:3], values[3:])),
        (dot(a, b), values[:3] @ values[3:]),
        (skew(a) @ b, np.cross(values[:3], values[3:])),
        (rotation_from_ypr(s[0], s[1], s[2]), rotation_from_ypr(*values[:3])),
        (rot_axis((0.6, 0.0, 0.8), s[0]), rot_axis((0.6, 0.0, 0.8), values[0])),
        (vector([s[0], 2.0]), np.array([values[0], 2.0])),
        (matrix([[s[0], 1.0], [0.0, s[1]]]), np.array([[values[0], 1.0], [0.0, values[1]]])),
    ]
    for expression, expected in cases:
        assert is_symbolic(expression) and not is_symbolic(expected)
        np.testing.assert_allclose(numeric([s], expression, values).squeeze(), expected, rtol=0, atol=EXACT)
