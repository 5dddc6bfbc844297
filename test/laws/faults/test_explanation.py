"""Regression on errors of the model against the normal equations, solved by NumPy."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
import pytest

from thunder_controllers.laws.faults.explanation import Explanation, first_state, state_size

P, STEPS, WEIGHT = 4, 60, 7.0


@cache
def graph(lasting: float = 0.0) -> ca.Function:
    state, w, y = ca.SX.sym("state", state_size(P)), ca.SX.sym("w", P), ca.SX.sym("y")
    weight, forgotten = ca.SX.sym("weight"), ca.SX.sym("forgotten")
    one = Explanation.of(state, w)
    learned = one.learned(y, weight, forgotten, lasting)
    return ca.Function("explained", [state, w, y, weight, forgotten], [one.estimate, one.variance, learned])


def first() -> np.ndarray:
    return np.asarray(ca.evalf(first_state(P))).ravel()


def test_without_forgetting_it_is_least_squares_with_a_prior_of_one() -> None:
    rng = np.random.default_rng(1)
    rows, values, state = rng.normal(size=(STEPS, P)), rng.normal(size=STEPS), first()
    for w, y in zip(rows, values, strict=True):
        state = np.asarray(graph()(state, w, y, WEIGHT, 0.0)[2]).ravel()
    asked = rng.normal(size=P)
    estimate, variance, _ = graph()(state, asked, 0.0, 0.0, 0.0)
    information = np.eye(P) + WEIGHT * rows.T @ rows
    np.testing.assert_allclose(
        np.asarray(estimate).ravel(), np.linalg.solve(information, WEIGHT * rows.T @ values), rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(float(variance), asked @ np.linalg.solve(information, asked), rtol=1e-10)


def test_without_samples_what_was_learned_stays_and_its_certainty_goes() -> None:
    """Λ − 1 falls by 1 − ℓ a step; θ̂ is the same to rounding, however long nothing is learned."""
    rng = np.random.default_rng(2)
    state = first()
    for _ in range(STEPS):
        state = np.asarray(graph()(state, rng.normal(size=P), rng.normal(), WEIGHT, 0.0)[2]).ravel()
    asked = rng.normal(size=P)
    learned, sure, _ = graph()(state, asked, 0.0, 0.0, 0.0)
    before = float(sure)
    for _ in range(2000):
        _, sure, state = graph()(state, asked, 0.0, 0.0, 0.01)
        assert float(sure) >= before * (1.0 - 1e-9)
        before = float(sure)
    estimate, variance, _ = graph()(state, asked, 0.0, 0.0, 0.0)
    np.testing.assert_allclose(np.asarray(estimate).ravel(), np.asarray(learned).ravel(), rtol=0, atol=1e-8)
    np.testing.assert_allclose(float(variance), asked @ asked, rtol=1e-5)


def taught(state: np.ndarray, lasting: float, *rows: tuple[float, float]) -> np.ndarray:
    """The state after 100 rows of the first and the last error in turn, which make an effort of 2 in all; T is 20."""
    for k in range(100):
        first_one, last_one = rows[k % len(rows)]
        w = np.array([first_one, 0.0, 0.0, last_one])
        state = np.asarray(graph(lasting)(state, w, 2.0 * last_one, WEIGHT, 0.05)[2]).ravel()
    return state


def last(state: np.ndarray) -> tuple[float, float]:
    """Estimate and variance of the last error."""
    estimate, variance, _ = graph()(state, np.eye(P)[-1], 0.0, 0.0, 0.0)
    return float(np.asarray(estimate).ravel()[-1]), float(variance)


def test_an_error_that_lasts_is_not_known_before_it_is_told_from_one_that_walks() -> None:
    """Only their sum is seen, of the other 10 at most: a hundredth of the prior's information in T, here five times."""
    assert last(taught(first(), 1.0, (10.0, 1.0)))[1] > 0.9


@pytest.mark.parametrize("lasting", [0.0, 1.0])
def test_an_error_that_lasts_stays_known_while_others_walk(lasting: float) -> None:
    known = taught(first(), lasting, (10.0, 1.0), (10.0, -1.0))
    estimate, variance = last(known)
    assert estimate == pytest.approx(2.0, rel=0.02) and variance < 0.02
    assert (last(taught(known, lasting, (10.0, 0.0)))[1] < 0.02) == (lasting == 1.0)
