"""Inertial parameters: three forms of one body, merging and moving bodies, physical consistency."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from robots import PINOCCHIO_ORDER, random_inertia

from thunder_dynamics.errors import DimensionError, InertiaError, ModelError
from thunder_dynamics.inertia import (
    DYN_NAMES,
    REG_NAMES,
    Inertia,
    parallel_axis,
    pi_from_pseudo_inertia,
    pseudo_inertia,
    reg_from_dyn,
    six_from_symmetric,
    symmetric_from_six,
)
from thunder_dynamics.spatial import rotation_from_ypr, skew

seeds = st.integers(0, 2**32 - 1)
EXACT = 1e-13  # a dozen operations on numbers of order one, rounded to 1.1e-16 each


def body(seed: int) -> Inertia:
    return random_inertia(np.random.default_rng(seed))


def as_pinocchio(inertia: Inertia) -> pin.Inertia:
    return pin.Inertia(inertia.mass, inertia.com, inertia.inertia_com)


@given(seeds)
def test_dyn_to_pi_and_back_is_the_identity(seed: int) -> None:
    inertia = body(seed)
    back = Inertia.from_pi(inertia.pi)
    np.testing.assert_allclose(back.dyn, inertia.dyn, rtol=0, atol=EXACT)
    np.testing.assert_array_equal(Inertia.from_dyn(inertia.dyn).dyn, inertia.dyn)


@given(seeds)
def test_pi_to_pseudo_inertia_and_back_is_the_identity(seed: int) -> None:
    pi = np.random.default_rng(seed).normal(size=10)
    P = pseudo_inertia(pi)
    np.testing.assert_array_equal(P, P.T)
    np.testing.assert_allclose(pi_from_pseudo_inertia(P), pi, rtol=0, atol=EXACT)


@given(seeds)
def test_pseudo_inertia_of_a_body_with_volume_is_positive_definite(seed: int) -> None:
    assert np.linalg.eigvalsh(pseudo_inertia(body(seed).pi))[0] > 0.0


@given(seeds)
def test_pi_is_pinocchios_dynamic_parameters_reordered(seed: int) -> None:
    inertia = body(seed)
    theirs = as_pinocchio(inertia).toDynamicParameters()[PINOCCHIO_ORDER]
    np.testing.assert_allclose(inertia.pi, theirs, rtol=0, atol=EXACT)


@given(seeds, seeds)
def test_merging_two_bodies_agrees_with_pinocchio_and_adds_their_pi(seed: int, other: int) -> None:
    a, b = body(seed), body(other)
    merged = a + b
    expected = as_pinocchio(a) + as_pinocchio(b)
    np.testing.assert_allclose(merged.com, expected.lever, rtol=0, atol=EXACT)
    np.testing.assert_allclose(merged.inertia_com, expected.inertia, rtol=0, atol=EXACT)
    np.testing.assert_allclose(merged.pi, a.pi + b.pi, rtol=0, atol=EXACT)


@given(seeds)
def test_moving_a_body_agrees_with_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inertia, rotation, translation = random_inertia(rng), rotation_from_ypr(*rng.normal(size=3)), rng.normal(size=3)
    moved = inertia.transformed(rotation, translation)
    expected = pin.SE3(rotation, translation).act(as_pinocchio(inertia))
    assert moved.mass == inertia.mass
    np.testing.assert_allclose(moved.com, expected.lever, rtol=0, atol=EXACT)
    np.testing.assert_allclose(moved.inertia_com, expected.inertia, rtol=0, atol=EXACT)


@given(seeds)
def test_parallel_axis_is_m_s_transposed_s(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass, c = rng.uniform(0.1, 5.0), rng.normal(size=3)
    expected = mass * skew(c).T @ skew(c)
    np.testing.assert_allclose(np.array(symmetric_from_six(parallel_axis(mass, c))), expected, rtol=0, atol=EXACT)
    dyn = np.array([mass, *c, *rng.normal(size=6)])
    about_origin = np.array(symmetric_from_six(dyn[4:])) + expected
    np.testing.assert_allclose(reg_from_dyn(dyn)[4:], six_from_symmetric(about_origin), rtol=0, atol=EXACT)


def test_a_point_mass_has_only_its_parallel_axis_inertia() -> None:
    assert Inertia(2.0, np.array([0.0, 0.0, 0.5])).pi.tolist() == [2, 0, 0, 1, 0.5, 0, 0, 0.5, 0, 0]


def test_six_numbers_are_the_upper_triangle_row_by_row() -> None:
    assert symmetric_from_six(range(6)) == [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
    assert six_from_symmetric(symmetric_from_six(range(6))).tolist() == list(range(6))
    assert REG_NAMES[4:] == DYN_NAMES[4:] == ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def test_merging_with_nothing_changes_nothing() -> None:
    inertia = body(3)
    np.testing.assert_allclose((inertia + Inertia()).dyn, inertia.dyn, rtol=0, atol=EXACT)
    assert not (Inertia() + Inertia()).pi.any()
    assert not Inertia.from_pi(np.zeros(10)).dyn.any()


def test_arrays_are_read_only_copies() -> None:
    com = np.array([0.1, 0.2, 0.3])
    inertia = Inertia(1.0, com, np.eye(3))
    com[0] = 9.0
    assert inertia.com[0] == 0.1
    for array in (inertia.com, inertia.inertia_com):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        inertia.mass = 2.0  # type: ignore[misc]


def test_handed_out_parameters_do_not_reach_the_body() -> None:
    inertia = body(4)
    before = inertia.pi
    inertia.pi[:] = 0.0
    inertia.dyn[:] = 0.0
    np.testing.assert_array_equal(inertia.pi, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, np.zeros(2)), r"Inertia: com has shape \(2,\), inertia \(3, 3\); valid: \(3,\) and \(3, 3\)"),
        ((1.0, np.zeros(3), np.zeros(6)), r"Inertia: com has shape \(3,\), inertia \(6,\)"),
    ],
)
def test_wrong_shapes_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(DimensionError, match=message):
        Inertia(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "where"),
    [(Inertia.from_dyn, "Inertia.from_dyn"), (Inertia.from_pi, "Inertia.from_pi"), (pseudo_inertia, "pseudo_inertia")],
)
def test_ten_parameters_are_asked_for(call: object, where: str) -> None:
    with pytest.raises(DimensionError, match=rf"{where}: shape \(9,\); valid: \(10,\)"):
        call(np.zeros(9))  # type: ignore[operator]


def test_pseudo_inertia_must_be_four_by_four() -> None:
    with pytest.raises(DimensionError, match=r"pi_from_pseudo_inertia: shape \(3, 3\); valid: \(4, 4\)"):
        pi_from_pseudo_inertia(np.eye(3))


@pytest.mark.parametrize("position", ["mass", "com", "tensor"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(position: str, value: float) -> None:
    mass = value if position == "mass" else 1.0
    com = np.full(3, value if position == "com" else 0.0)
    tensor = np.diag([value] * 3) if position == "tensor" else np.eye(3)
    with pytest.raises(InertiaError, match="Inertia: a parameter is not finite; valid: finite numbers"):
        Inertia(mass, com, tensor)


def test_an_asymmetric_tensor_is_refused() -> None:
    with pytest.raises(InertiaError, match="Inertia: the inertia tensor is not symmetric; valid: I = Iᵀ"):
        Inertia(1.0, None, np.array([[1.0, 0.1, 0], [0, 1, 0], [0, 0, 1]]))  # type: ignore[arg-type]


def test_zero_mass_with_a_first_moment_has_no_centre_of_mass() -> None:
    pi = np.zeros(10)
    pi[1] = 0.1
    with pytest.raises(
        InertiaError, match="zero mass with other parameters non-zero has no centre of mass; valid: m > 0"
    ):
        Inertia.from_pi(pi)


@pytest.mark.parametrize(
    ("mass", "moments", "message"),
    [
        (-1.0, (1, 1, 1), r"link7: the mass is negative \(-1 kg\); valid: m ≥ 0"),
        (1.0, (-1e-3, 1, 1), r"link7: the inertia about the CoM has a negative principal moment \(-0.001 kg·m²\)"),
        (
            1.0,
            (1, 1, 2.1),
            "link7: the inertia about the CoM breaks the triangle inequality: principal moments 1, 1, 2.1",
        ),
    ],
)
def test_bodies_that_cannot_exist_are_named(mass: float, moments: tuple[float, ...], message: str) -> None:
    rotation = rotation_from_ypr(0.3, 0.4, 0.5)
    tensor = rotation @ np.diag(np.array(moments, dtype=float)) @ rotation.T
    with pytest.raises(InertiaError, match=message) as caught:
        Inertia(mass, np.zeros(3), 0.5 * (tensor + tensor.T)).check_consistent("link7")
    assert isinstance(caught.value, ModelError) and caught.value.where == "link7" and caught.value.valid


@given(seeds)
def test_bodies_that_exist_are_consistent(seed: int) -> None:
    body(seed).check_consistent("body")  # raises for any that is not
    assert body(seed).mass > 0.0


@given(seeds, st.floats(1e-6, 100.0), st.floats(0.0, 3.0))
def test_rounding_of_a_thin_body_is_granted_and_no_more(seed: int, mass: float, distance: float) -> None:
    """A thin rod's or a point's I about the CoM, computed from I about a far frame, has moments of either sign."""
    rng = np.random.default_rng(seed)
    com = distance * rng.normal(size=3)
    for rod in (np.zeros((3, 3)), np.diag([0.0, 1e-3, 1e-3])):
        shift = np.array(symmetric_from_six(parallel_axis(mass, com)))
        rounded = (mass * rod + shift) - shift
        Inertia(mass, com, rounded).check_consistent("rounded")
        bound = mass * 1e-12 * (1.0 + com @ com)  # a mass misplaced by 1 µm is none of it
        with pytest.raises(InertiaError):
            Inertia(mass, com, rounded - np.diag([bound, 0.0, 0.0])).check_consistent("rounded")


def test_a_flat_plate_and_a_point_are_just_consistent() -> None:
    for moments in ((1.0, 1.0, 2.0), (0.0, 0.0, 0.0), (0.0, 3.0, 3.0)):
        inertia = Inertia(1.0, np.zeros(3), np.diag(moments))
        inertia.check_consistent("plate")
        slightly_more = Inertia(1.0, np.zeros(3), np.diag(moments) + np.diag([0.0, 0.0, 1e-6]))
        with pytest.raises(InertiaError, match="triangle inequality"):
            slightly_more.check_consistent("plate")
