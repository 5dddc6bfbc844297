"""The clock of a motion: smooth from rest to full rate and back, and samples scaled by the chain rule."""

from __future__ import annotations

import numpy as np
import pytest

from thunder_controllers.references.path_clock import PathClock
from thunder_controllers.references.sinusoids import Lissajous
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, TWIST
from thunder_dynamics.errors import ScenarioError

DT = 1e-3


def _run(clock: PathClock, steps: int) -> np.ndarray:
    """Time, rate and change of the rate after each step, shape (steps, 3)."""
    rows = []
    for _ in range(steps):
        clock.advance(DT)
        rows.append((clock.time, clock.rate, clock.rate_change))
    return np.array(rows)


def test_it_rests_until_told() -> None:
    clock = PathClock(1.0)
    assert clock.is_at_rest
    assert not _run(clock, 10).any()


def test_a_start_and_a_stop_are_smooth() -> None:
    clock = PathClock(0.5)
    clock.go_to(1.0)
    start = _run(clock, 700)
    clock.go_to(0.0)
    stop = _run(clock, 700)
    rows = np.vstack([np.zeros(3), start, stop])
    assert (rows[:, 1] >= 0.0).all() and (rows[:, 1] <= 1.0).all()
    assert start[-1, 1] == 1.0 and stop[-1, 1] == 0.0 and clock.is_at_rest
    # Differences over 1 ms err by dt/2 times the next derivative: of the rate below 4 1/s, of its change below 24 1/s².
    np.testing.assert_allclose(np.diff(rows[:, 0]) / DT, rows[1:, 1], atol=0.5 * DT * 4.0)
    np.testing.assert_allclose(np.diff(rows[:, 1]) / DT, rows[1:, 2], atol=0.5 * DT * 24.0)
    assert np.abs(np.diff(rows[:, 2])).max() < DT * 30.0


def test_time_is_exact_over_a_ramp() -> None:
    clock = PathClock(0.5)
    clock.go_to(1.0)
    clock.advance(2.0)
    assert clock.time == pytest.approx(2.0 - 0.25, abs=1e-12)  # half of the ramp is lost


def test_a_stop_within_the_start_keeps_time_and_rate_continuous() -> None:
    clock = PathClock(1.0)
    clock.go_to(1.0)
    before = _run(clock, 300)[-1]
    clock.go_to(0.0)
    after = _run(clock, 1)[-1]
    assert abs(after[2] - before[2]) < DT * 12.0
    assert abs(after[1] - before[1]) < 2e-3
    assert abs(after[0] - before[0] - DT * before[1]) < 2e-6
    _run(clock, 1000)
    assert clock.is_at_rest


def test_it_may_start_at_full_rate() -> None:
    clock = PathClock(1.0, rate=1.0)
    assert not clock.is_at_rest
    np.testing.assert_allclose(_run(clock, 100)[-1], [0.1, 1.0, 0.0], atol=1e-12)


def test_scaled_samples_are_derivatives_along_the_clock() -> None:
    path, clock = Lissajous(centre=(0.4, 0, 0.5), amplitude=0.1, frequency=(0.2, 0.3, 0.5)), PathClock(1.0)
    clock.go_to(1.0)
    rows = []
    for _ in range(1500):
        clock.advance(DT)
        rows.append(clock.scale(path.sample(np.array([clock.time]))[0]))
    rows = np.array(rows)
    central = (rows[2:] - rows[:-2]) / (2 * DT)
    # Central differences err by dt²/6 times the third derivative, below 20 m/s³ here.
    np.testing.assert_allclose(central[:, POSITION], rows[1:-1, TWIST][:, :3], atol=DT**2 * 20)
    np.testing.assert_allclose(central[:, TWIST], rows[1:-1, ACCELERATION], atol=DT**2 * 200)


@pytest.mark.parametrize("ramp", [0.0, -1.0, np.nan])
def test_it_needs_a_ramp_time(ramp: float) -> None:
    with pytest.raises(ScenarioError, match="ramp_time"):
        PathClock(ramp)
