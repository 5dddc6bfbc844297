"""References of joints on a circle go the short way, whatever turns they are written with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunder_controllers.references.circles import nearest, unwrap
from thunder_controllers.references.table import JointTable, Sampled, table_of
from thunder_controllers.references.trajectories import JointPath, JointPolynomial

TURN = 2.0 * np.pi
CIRCLES = np.array([True, False])
T = np.linspace(0.0, 2.0, 101)
WHOLE = np.stack([3.0 + 2.0 * T**2, 0.1 * T], axis=1)
"""Crosses π, 3π and more, by less than half a turn from row to row."""


@given(st.lists(st.integers(-4, 4), min_size=101, max_size=101))
def test_rows_at_any_turn_become_those_that_never_wrap(turns: list[int]) -> None:
    rows = WHOLE + TURN * np.outer(turns, CIRCLES)
    np.testing.assert_allclose(unwrap(rows, CIRCLES, WHOLE[0]), WHOLE, atol=1e-9)
    np.testing.assert_allclose(nearest(rows, WHOLE, CIRCLES), WHOLE, atol=1e-9)
    np.testing.assert_array_equal(unwrap(rows, np.zeros(2, dtype=bool)), rows)


def test_rows_that_never_wrap_stay_bit_for_bit_and_those_that_were_not_measured_stay_so() -> None:
    np.testing.assert_array_equal(unwrap(WHOLE, CIRCLES), WHOLE)
    rows = WHOLE.copy()
    rows[50] = np.nan
    np.testing.assert_array_equal(unwrap(rows, CIRCLES), rows)


@pytest.mark.parametrize("given_rates", [False, True])
def test_a_table_of_wrapped_rows_is_that_of_the_motion(given_rates: bool) -> None:
    rates = np.stack([4.0 * T, 0.1 + 0.0 * T], axis=1), np.stack([4.0 + 0.0 * T, 0.0 * T], axis=1)
    derivatives = rates if given_rates else None
    rows = np.where(CIRCLES, np.remainder(WHOLE + np.pi, TURN) - np.pi, WHOLE)
    between = np.linspace(0.0, 2.0, 37)
    wanted = JointTable(T, WHOLE, derivatives).sample(between)
    np.testing.assert_allclose(JointTable(T, rows, derivatives, CIRCLES).sample(between), wanted, atol=1e-6)
    if not given_rates:
        np.testing.assert_allclose(table_of(T, rows, False, CIRCLES).sample(between), wanted, atol=1e-6)
        function = lambda t: np.array([np.remainder(3.0 + 2.0 * t**2 + np.pi, TURN) - np.pi, 0.1 * t])  # noqa: E731
        np.testing.assert_allclose(Sampled(function, False, CIRCLES).sample(T)[:, :2], WHOLE, atol=1e-9)


def test_paths_go_the_short_way_on_a_circle_and_the_long_one_on_a_line() -> None:
    path = JointPath(positions=((3.1, 0.0), (3.2 - TURN, TURN), (3.0 + TURN, TURN)))
    short = path.unwrapped(CIRCLES)
    np.testing.assert_allclose(short.positions, [(3.1, 0.0), (3.2, TURN), (3.0, TURN)], atol=1e-12)
    assert short.duration < path.duration and short.velocity == path.velocity
    end = JointPolynomial(start=(3.1, 0.0), end=(3.2 - TURN, TURN), time=1.0).unwrapped(CIRCLES)
    assert end.end == pytest.approx((3.2, TURN))
    assert path.unwrapped(np.zeros(2, dtype=bool)) is path
