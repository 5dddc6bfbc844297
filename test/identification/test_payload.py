"""Payloads: the arithmetic against bodies, and the claimed deviations against what noise really does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import PINOCCHIO_ORDER, random_inertia

from thunder_controllers.host import Library
from thunder_controllers.identification.information import LENGTH, SCALE, SIGN_SPEED, columns_of, joint_terms, regressor
from thunder_controllers.identification.payload import FoundBody, Payload, find_payload
from thunder_controllers.references.sinusoids import JointExcitation
from thunder_dynamics.inertia import DYN_NAMES, Inertia

RATE = 200.0
CENTRE = (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8)
BODY = Inertia(1.0, np.array([0.03, -0.02, 0.157]), np.diag([0.002, 0.0018, 0.001]))
LAST = "panda_link7"


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**31))
def test_what_is_added_to_a_link_is_found_as_it_is(seed: int) -> None:
    """Estimate less nominal of a link with a body on it, against Pinocchio's composite body."""
    rng = np.random.default_rng(seed)
    link, body = random_inertia(rng), random_inertia(rng)

    def theirs(one: Inertia) -> pin.Inertia:
        return pin.Inertia(one.mass, one.com, one.inertia_com)

    whole = (theirs(link) + theirs(body)).toDynamicParameters()[PINOCCHIO_ORDER]
    found = FoundBody.of(whole - link.pi, 1e-12 * np.eye(10))
    np.testing.assert_allclose(found.dyn, body.dyn, rtol=1e-7, atol=1e-9)


def test_deviations_of_the_body_are_those_of_drawn_parameters() -> None:
    """The linear propagation from π to mass, CoM and inertia about it, against draws."""
    rng = np.random.default_rng(1)
    root = 1e-3 * rng.normal(size=(10, 10)) * SCALE[:, None]
    draws = BODY.pi + rng.normal(size=(4000, 10)) @ root.T
    spread = np.std([Inertia.from_pi(pi).dyn for pi in draws], axis=0)
    np.testing.assert_allclose(FoundBody.of(BODY.pi, root @ root.T).std, spread, rtol=0.06)


def test_a_body_too_light_to_be_seen_has_no_centre() -> None:
    found = FoundBody.of(np.array([1e-3, *[1e-4] * 9]), 1e-6 * np.eye(10))
    assert np.isnan(found.dyn[1:]).all() and found.trusted() == ("mass",)


def test_what_is_uncertain_beside_the_body_is_not_trusted() -> None:
    scale = np.array([1.0, *[LENGTH] * 3, *[LENGTH**2] * 6])
    vague = np.diag([*(1e-3 * scale[:9]), 0.2 * scale[9]]) ** 2
    assert FoundBody.of(Inertia(1.0, np.zeros(3), np.eye(3) * 1e-3).pi, vague).trusted() == DYN_NAMES[:9]


@pytest.fixture(scope="module")
def library(panda_folder: Path) -> Library:
    return Library(panda_folder / "libpanda.so")


def _record(library: Library, rng: np.random.Generator, amplitude: object = 0.8) -> tuple[np.ndarray, np.ndarray]:
    """Positions and efforts of ten seconds with the body on the last link, friction, rotors and noise."""
    t = np.arange(round(10 * RATE)) / RATE
    motion = JointExcitation(centre=CENTRE, amplitude=amplitude, harmonics=5, seed=4)
    q, qd, qdd = np.split(motion.sample(t), 3, axis=1)
    pi = np.array(library.pi)
    pi[columns_of(6)] += BODY.pi
    efforts = regressor(library, q, qd, qdd) @ pi + joint_terms(qd, np.tanh(qd / SIGN_SPEED), qdd) @ [0.5, 0.3, 0.1]
    held = np.vstack([0.5 * (efforts[1:] + efforts[:-1]), efforts[-1:]])  # as from each sample to the next
    return q + 1e-5 * rng.normal(size=q.shape), held * (1.0 + 0.05 * rng.normal(size=q.shape))


def _payload(library: Library, q: np.ndarray, effort: np.ndarray) -> Payload:
    found = find_payload(library, {LAST: np.asarray(library.pi)[columns_of(6)]}, q, effort, RATE)
    assert found is not None
    return found


def test_claimed_deviations_agree_with_the_spread_over_seeds(library: Library) -> None:
    found = [_payload(library, *_record(library, np.random.default_rng(seed))) for seed in range(20)]
    errors = np.array([one.fit.dyn - BODY.dyn for one in found])
    ratio = np.sqrt((errors**2).mean(axis=0)) / np.mean([one.fit.std for one in found], axis=0)
    assert (ratio > 0.4).all() and (ratio < 2.5).all(), ratio
    assert all(one.fit.trusted()[:4] == DYN_NAMES[:4] for one in found)
    assert np.abs(errors[:, 0]).max() < 0.01 and np.linalg.norm(errors[:, 1:4], axis=1).max() < 2e-3


def test_the_estimate_is_what_the_law_believes_and_not_the_record(library: Library) -> None:
    q, effort = _record(library, np.random.default_rng(0))
    believed = np.asarray(library.pi)[columns_of(6)] + 2.0 * BODY.pi
    found = find_payload(library, {LAST: believed}, q, effort, RATE)
    assert found is not None
    np.testing.assert_allclose(found.estimate.dyn, Inertia.from_pi(2.0 * BODY.pi).dyn, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.fit.dyn[0], BODY.mass, atol=0.01)


def test_joints_that_rest_tell_nothing(library: Library) -> None:
    """Where only the base turns, gravity is nowhere seen through a joint that moves: not even the mass is known."""
    found = _payload(library, *_record(library, np.random.default_rng(0), [0.8, 0, 0, 0, 0, 0, 0]))
    assert found.fit.trusted() == () and found.evidence.least_information < 1e-6


def test_no_record_is_no_payload(library: Library) -> None:
    q, effort = _record(library, np.random.default_rng(0))
    nominal = {LAST: np.asarray(library.pi)[columns_of(6)]}
    assert find_payload(library, {}, q, effort, RATE) is None
    assert find_payload(library, nominal, q[:100], effort[:100], RATE) is None
    q[5, 2] = np.nan
    assert find_payload(library, nominal, q, effort, RATE) is None
