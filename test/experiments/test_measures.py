"""What is measured of a trace, against traces and errors that are known."""

from __future__ import annotations

import numpy as np
import pytest
from traces import TRUE_BODY, make_trace

from thunder_controllers.experiments.measures import (
    POINTS,
    body_errors,
    final_estimates,
    is_consistent,
    rise_time,
    series,
)
from thunder_controllers.simulation.trace import Trace


def test_the_rise_is_over_when_nine_tenths_of_the_way_are_gone() -> None:
    t = np.linspace(0.0, 10.0, 10_001)
    norm = 0.1 + np.exp(-t)
    assert rise_time(t, norm, 1.0) == pytest.approx(np.log(10.0), abs=2e-2)  # the last second is not quite at rest
    norm[t > 6.0] += 0.4  # one that comes back has not risen for good
    assert rise_time(t, norm, 1.0) == pytest.approx(-np.log(0.5), abs=2.0)
    assert rise_time(t, t, 1.0) is None
    assert rise_time(np.arange(5.0), np.array([1.0, 0.5, 0.05, 0.0, 0.0]), 1.0) == 2.0


def test_errors_of_estimates_are_those_at_the_end() -> None:
    found = final_estimates(make_trace())
    assert found["mass_error"] == pytest.approx(np.exp(-9.99), rel=1e-9)
    assert found["inertia_error"] == 0.0 and 0.0 < found["com_error"] < 1e-3
    assert found["consistent"] == pytest.approx(1.0)
    nothing = Trace(**{**vars(make_trace()), "adapted_links": np.array([], dtype=np.str_)})
    assert final_estimates(nothing) == {}


def test_errors_of_bodies_are_of_mass_centre_and_the_largest_moment() -> None:
    truth, wrong = np.arange(10.0), np.zeros(10)
    wrong[[0, 1, 2, 5, 8]] = [-0.002, 0.003, -0.004, -0.006, 0.005]
    np.testing.assert_allclose(body_errors(truth[None] + wrong, truth[None]), [[2.0], [5.0], [6.0]])


def test_a_body_is_consistent_if_its_pseudo_inertia_is_positive() -> None:
    point = np.array([1.0, 0.1, 0.0, 0.0, *np.zeros(6)])
    flat = TRUE_BODY.pi.copy()
    flat[4] = 0.5  # more than the two other moments together
    assert is_consistent(np.array([[TRUE_BODY.pi], [point], [flat]])).tolist() == [[True], [False], [False]]


def test_a_series_keeps_peaks_or_the_last_of_each_block() -> None:
    values = np.zeros(10 * POINTS)
    values[5] = 1.0
    assert series(values, np.max)[:2] == [1.0, 0.0] and len(series(values)) == POINTS
    assert series(np.arange(6.0).reshape(3, 2)) == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
