"""A journey and its clock: smooth from rest and to rest, and samples scaled by the chain rule."""

from __future__ import annotations

import numpy as np
import pytest

from thunder_controllers.references.motion import Journey, Motion
from thunder_controllers.references.sinusoids import JointLissajous, Lissajous
from thunder_controllers.references.trajectories import (
    ACCELERATION,
    POSITION,
    TWIST,
    Hold,
    JointPath,
    JointStep,
    JointSteps,
    Reference,
)

DT = 1e-3
FIGURE = Lissajous(centre=(0.4, 0, 0.5), amplitude=0.1, frequency=(0.2, 0.3, 0.5))
HERE = JointSteps(steps=(JointStep(time=0.0, q=(0.0,)),))


class Clock:
    """A joint that is where its clock is."""

    period = None

    def sample(self, t: np.ndarray) -> np.ndarray:
        return np.column_stack([t, np.ones(len(t)), np.zeros(len(t))])


def _run(motion: Motion, steps: int) -> np.ndarray:
    rows = [motion.advance(DT) for _ in range(steps)]
    return np.array([row for row in rows if row is not None])


def _clock(path: Reference | None = None, way: Reference | None = None, ramp_time: float = 0.5) -> Motion:
    motion = Motion()
    motion.start(Journey("joint", way or HERE, path or Clock(), ramp_time))
    return motion


def test_a_start_and_a_stop_are_smooth() -> None:
    """Also a stop within the start."""
    for steps in (700, 300):
        motion = _clock()
        start = _run(motion, steps)
        motion.stop()
        rows = np.vstack([np.zeros(3), start, _run(motion, 700)])
        assert (rows[:, 1] >= 0.0).all() and (rows[:, 1] <= 1.0).all()
        assert start[-1, 1] == 1.0 or steps < 500
        assert (rows[-1, 1:] == 0.0).all() and motion.state == "silent"
        # Differences over 1 ms err by dt/2 times the next derivative: of the rate below 4 1/s, of its change 40 1/s².
        np.testing.assert_allclose(np.diff(rows[:, 0]) / DT, rows[1:, 1], atol=0.5 * DT * 4.0)
        np.testing.assert_allclose(np.diff(rows[:, 1]) / DT, rows[1:, 2], atol=0.5 * DT * 40.0)
        assert np.abs(np.diff(rows[:, 2])).max() < DT * 50.0


def test_half_of_a_ramp_is_lost() -> None:
    sample = _clock().advance(2.0)
    assert sample is not None and sample[0] == pytest.approx(2.0 - 0.25, abs=1e-12)


def test_a_way_comes_first_and_the_path_from_rest_after_it() -> None:
    way = JointPath(positions=((0.5,), (0.0,)))
    path = JointLissajous(centre=(0.0,), amplitude=0.2, frequency=0.5)
    motion = _clock(path, way)
    rows = _run(motion, round((way.duration + 2.0) / DT))
    first = round(way.duration / DT)
    np.testing.assert_allclose(rows[: first - 1], way.sample(np.arange(1, first) * DT), atol=1e-9)
    np.testing.assert_allclose(np.diff(rows[:, 0]) / DT, rows[1:, 1], atol=DT * 4.0)
    np.testing.assert_allclose(np.diff(rows[:, 1]) / DT, rows[1:, 2], atol=DT * 40.0)


def test_samples_are_derivatives_along_the_clock() -> None:
    rows = Journey("cartesian", Hold(position=FIGURE.centre), FIGURE, 1.0).sample(np.arange(1500) * DT)
    central = (rows[2:] - rows[:-2]) / (2 * DT)
    # Central differences err by dt²/6 times the third derivative, below 20 m/s³ here.
    np.testing.assert_allclose(central[:, POSITION], rows[1:-1, TWIST][:, :3], atol=DT**2 * 20)
    np.testing.assert_allclose(central[:, TWIST], rows[1:-1, ACCELERATION], atol=DT**2 * 200)
