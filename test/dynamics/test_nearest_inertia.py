"""Bodies that can exist, and the nearest of those that cannot, by what makes a point of a convex set the nearest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import random_inertia

from thunder_dynamics.errors import InertiaError
from thunder_dynamics.inertia import LEAST_SHARE, Inertia, least_second_moment, nearest_consistent, pseudo_inertia
from thunder_dynamics.spatial import rotation_from_ypr


def impossible(seed: int) -> Inertia:
    """A body whose inertia about the CoM breaks the triangle inequality."""
    rng = np.random.default_rng(seed)
    body = random_inertia(rng)
    moments, axes = np.linalg.eigh(body.inertia_com)
    moments[2] = (moments[0] + moments[1]) * rng.uniform(1.01, 3.0)
    tensor = (axes * moments) @ axes.T
    return Inertia(body.mass, body.com, 0.5 * (tensor + tensor.T))


def metric(body: Inertia) -> np.ndarray:
    """Inverse of the pseudo-inertia of a ball of 0.1 m with the body's mass and centre."""
    ball = Inertia(body.mass, body.com, 2.0 * body.mass * 0.01 * np.eye(3))
    return np.linalg.inv(pseudo_inertia(ball.pi))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31))
def test_no_body_is_nearer(seed: int) -> None:
    """The angle at the nearest point of a convex set, to any other of it, is not acute: for 50 bodies."""
    rng, body = np.random.default_rng(seed), impossible(seed)
    near, S = nearest_consistent(body), metric(body)
    assert not body.is_consistent and least_second_moment(near) >= 0.99 * LEAST_SHARE
    away, size = pseudo_inertia(body.pi) - pseudo_inertia(near.pi), body.mass
    for _ in range(50):
        other = random_inertia(rng)
        other = other if rng.random() < 0.5 else Inertia(near.mass, near.com, other.inertia_com)
        to_other = pseudo_inertia(other.pi) - pseudo_inertia(near.pi)
        distances = np.sqrt([np.trace(S @ one @ S @ one) for one in (away, to_other)])
        assert np.trace(S @ away @ S @ to_other) <= 1e-4 * distances.prod()  # the floor: 1e-6 of a moment
    assert size == near.mass


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31))
def test_it_does_not_depend_on_the_frame(seed: int) -> None:
    rng, body = np.random.default_rng(seed), impossible(seed)
    pose = rotation_from_ypr(*rng.uniform(-3, 3, 3)), rng.normal(size=3)
    there, back = nearest_consistent(body.transformed(*pose)), nearest_consistent(body).transformed(*pose)
    np.testing.assert_allclose(there.dyn, back.dyn, rtol=1e-10, atol=1e-12)


def test_bodies_that_exist_stay_as_they_are() -> None:
    for seed in range(20):
        body = random_inertia(np.random.default_rng(seed))
        assert body.is_consistent
        np.testing.assert_allclose(nearest_consistent(body).dyn, body.dyn, rtol=1e-12, atol=1e-14)
    point = Inertia(1.0, np.array([0.1, 0.0, 0.0]))
    assert point.is_consistent and least_second_moment(point) == 0.0


def test_without_mass_nothing_is_near() -> None:
    assert not Inertia(-1.0).is_consistent
    with pytest.raises(InertiaError, match="no body is near one of -1 kg"):
        nearest_consistent(Inertia(-1.0))
