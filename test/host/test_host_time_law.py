"""Time laws: the host's own, equal to Ruckig's where Ruckig plans, and why Ruckig does not plan in the host."""

from __future__ import annotations

import numpy as np
import pytest
import ruckig
from hypothesis import given, settings
from hypothesis import strategies as st

from thunder_controllers.host import StopShape, TimeLaw
from thunder_dynamics.errors import LawError

functions = settings(max_examples=300, deadline=None)
bounds = st.tuples(*[st.floats(-3.0, 3.0)] * 3).map(lambda powers: tuple(10.0**power for power in powers))
extreme_bounds = st.tuples(*[st.floats(-50.0, 50.0)] * 3).map(lambda powers: tuple(10.0**power for power in powers))


def plan(values: dict[str, float]) -> tuple[ruckig.Result, ruckig.Trajectory]:
    """Ruckig's plan for one degree of freedom: to a position, or to a velocity where no position is given."""
    request, trajectory = ruckig.InputParameter(1), ruckig.Trajectory(1)
    for name, value in values.items():
        setattr(request, name, [value])
    if "target_position" not in values:
        request.control_interface = ruckig.ControlInterface.Velocity
    return ruckig.Ruckig(1).calculate(request, trajectory), trajectory


@functions
@given(bounds=bounds)
def test_a_time_law_is_the_one_of_ruckig(bounds: tuple[float, float, float]) -> None:
    law = TimeLaw(*bounds)
    named = dict(zip(("max_velocity", "max_acceleration", "max_jerk"), bounds, strict=True))
    result, expected = plan({"target_position": 1.0, **named})
    assert result == ruckig.Result.Working
    assert law.duration == pytest.approx(expected.duration, rel=1e-9)
    for t in np.linspace(0.0, 1.0, 29):
        found = law.sample([t * law.duration])[0]
        values = np.ravel(expected.at_time(t * expected.duration))
        # Times agree to 1e-9, so every number does to that times the next derivative and the duration.
        assert found[0] == pytest.approx(values[0], abs=2e-8)
        assert found[1] == pytest.approx(values[1], abs=2e-8 * max(1.0, bounds[1] * law.duration))
        assert found[2] == pytest.approx(values[2], abs=2e-8 * max(1.0, bounds[2] * law.duration))


@functions
@given(bounds=extreme_bounds)
def test_a_time_law_goes_from_rest_to_rest_within_any_bounds(bounds: tuple[float, float, float]) -> None:
    law = TimeLaw(*bounds)
    rows = law.sample(np.linspace(0.0, law.duration, 1001))
    np.testing.assert_array_equal(rows[0], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(rows[-1], [1.0, 0.0, 0.0])
    assert (np.diff(rows[:, 0]) >= -1e-15).all()
    middle = np.abs(np.diff(law.sample([law.duration / 2, np.nextafter(law.duration / 2, np.inf)])[:, 0]))
    assert middle < 1e-12  # the two halves meet
    assert rows[:, 1].max() <= bounds[0] * (1 + 1e-9)
    assert np.abs(rows[:, 2]).max() <= bounds[1] * (1 + 1e-9)
    assert np.abs(np.diff(rows[:, 2])).max() <= bounds[2] * law.duration / 1000 * (1 + 1e-6)


@functions
@given(bounds=bounds)
def test_the_jerk_is_the_slope_of_the_acceleration_between_the_phases(bounds: tuple[float, float, float]) -> None:
    law, ends = TimeLaw(*bounds), 12  # of times whose step has an end of a phase in it; seven phases
    t = np.linspace(0.0, law.duration, 1001)
    slope = np.diff(law.sample(t)[:, 2]) / np.diff(t)
    off = np.abs(slope - law.jerk(0.5 * (t[1:] + t[:-1]))) > 1e-6 * bounds[2]
    assert off.sum() <= ends
    np.testing.assert_array_equal(law.jerk([-1e-9, law.duration, law.duration + 1.0]), 0.0)
    assert law.jerk([0.0])[0] == bounds[2]


def test_a_time_law_rests_outside_its_duration() -> None:
    law = TimeLaw(1.0, 2.0, 3.0)
    np.testing.assert_array_equal(law.sample([-1.0, law.duration + 1.0]), [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("place", range(3))
def test_bad_bounds_are_refused(bad: float, place: int) -> None:
    values = [1.0, 1.0, 1.0]
    values[place] = bad
    with pytest.raises(LawError, match="TimeLaw: a bound is .*; valid: positive and finite"):
        TimeLaw(*values)


# --- why not Ruckig --------------------------------------------------------------------------------------------------


def test_a_stop_beyond_its_bounds_stays_near_where_ruckigs_runs_away() -> None:
    """0.25 m/s and, as a noisy stream may ask for, 20 m/s²; the bounds are those of `MotionLimits`."""
    state = {"current_velocity": 0.25, "current_acceleration": 20.0, "target_velocity": 0.0}
    result, expected = plan({**state, "max_velocity": 0.25, "max_acceleration": 1.0, "max_jerk": 10.0})
    assert result == ruckig.Result.Working
    assert expected.duration > 20.0 and expected.at_time(expected.duration)[0][0] > 200.0
    duration = 1.5 * 0.25 / 1.0
    way, *rates = StopShape(duration).at(duration, 0.25, 20.0)
    assert way < 0.3 and rates == [0.0, 0.0]
