"""Figures of the host: sinusoids with exact derivatives, from rest, within what the joints can do, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from motion_run import DT, Run, assert_rests, functions, rotations
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Configuration, ControlSession, Figure, Library, Options
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, TWIST
from thunder_dynamics.errors import DimensionError, LawError

HOME = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0])
LISSAJOUS = Figure([0.1, 0.15, 0.1], [0.2, 0.1, 0.4])


def resting(library: Library, law: str = "cartesian_spring") -> Run:
    """An active controller that has held the place of the robot for one update."""
    run = Run(library, law)
    run.step()
    return run


def expected(figure: Figure, n: int, t: np.ndarray) -> np.ndarray:
    """The positions of n coordinates from their start at times after the ramp, by the definition; shape (N, n)."""
    count = max(n, *(len(values) for values in (figure.amplitude, figure.frequency, figure.phase)))
    A, f, phase = (np.resize(values, count) for values in (figure.amplitude, figure.frequency, figure.phase))
    sigma = t - 0.5 * figure.ramp_time  # the clock lost half of the ramp: ∫ (1 − 3u² + 2u³) T du = T/2
    terms = A * (np.sin(2 * np.pi * np.multiply.outer(sigma, f) + phase) - np.sin(phase))
    return np.stack([terms[:, k::n].sum(axis=1) for k in range(n)], axis=1)


def test_a_figure_is_the_sum_of_its_sinusoids_about_the_place_where_it_begins(library: Library) -> None:
    figure = Figure([0.1, 0.15, 0.1, 0.02, 0.0, -0.03], [0.2, 0.1, 0.4, 0.7, 1.0, 1.1], [0.0, 1.0, 2.0], 0.5)
    run = resting(library)
    run.host.trace(figure)
    rows = run.steps(4000)
    t = DT * np.arange(len(rows))
    after = t > figure.ramp_time
    np.testing.assert_allclose(rows[after, POSITION] - rows[0, POSITION], expected(figure, 3, t[after]), atol=1e-12)
    np.testing.assert_allclose(rotations(rows), np.broadcast_to(rotations(rows)[0], (len(rows), 3, 3)), atol=1e-12)
    assert run.host.reference_source == "motion", "it has no end"


def test_joints_move_alike_and_values_are_used_again_in_turn(library: Library) -> None:
    figure = Figure([0.3], [0.1, 0.2], [0.4], 1.0)
    run = resting(library, "joint_adaptive")
    start = run.rows[-1][:2]
    run.host.trace(figure)
    rows = run.steps(3000)
    t = DT * np.arange(len(rows))
    after = t > figure.ramp_time
    np.testing.assert_allclose(rows[after, :2] - start, expected(figure, 2, t[after]), rtol=0, atol=1e-12)


def test_without_frequencies_neighbours_move_differently(library: Library) -> None:
    runs = []
    for frequency in ([], [0.1, 0.2]):
        run = resting(library, "joint_adaptive")
        run.host.trace(Figure([0.3], frequency))
        runs.append(run.steps(2500))
    np.testing.assert_array_equal(*runs)


amplitudes = st.lists(st.floats(-0.3, 0.3), min_size=1, max_size=3)
frequencies = st.lists(st.floats(0.0, 2.0), min_size=1, max_size=3)
phases = st.lists(st.floats(-4.0, 4.0), min_size=1, max_size=3)


@functions
@given(amplitude=amplitudes, frequency=frequencies, phase=phases, ramp_time=st.floats(0.05, 1.0))
def test_derivatives_are_those_of_the_positions_and_no_step_is_asked(
    library: Library, amplitude: list[float], frequency: list[float], phase: list[float], ramp_time: float
) -> None:
    run = resting(library)
    run.host.trace(Figure(amplitude, frequency, phase, ramp_time))
    rows = run.steps(1200)
    p, v, a = rows[:, POSITION], rows[:, TWIST][:, :3], rows[:, ACCELERATION][:, :3]
    rate = 2 * np.pi * max(frequency)
    # |d³x/dt³| ≤ A (ω³ + 3 ω² σ̈ + ω dσ̈/dt), σ̈ ≤ 1.5/T, its rate ≤ 6/T²; the fourth by another factor ω + 6/T.
    jerk = max(map(abs, amplitude)) * rate * (rate**2 + 4.5 * rate / ramp_time + 6.0 / ramp_time**2) + 1e-9
    assert np.abs((p[2:] - p[:-2]) / (2 * DT) - v[1:-1]).max() <= DT**2 * jerk + 1e-11
    assert np.abs((v[2:] - v[:-2]) / (2 * DT) - a[1:-1]).max() <= DT * jerk + 1e-10
    assert np.abs(np.diff(a, axis=0)).max() <= 1.01 * DT * jerk, "also from the rest that it begins with"


@pytest.mark.parametrize(("law", "velocity", "acceleration"), [("cartesian_spring", 12, 18), ("joint_adaptive", 2, 4)])
def test_a_figure_is_begun_from_motion_and_comes_to_rest(
    library: Library, law: str, velocity: int, acceleration: int
) -> None:
    run = resting(library, law)
    run.host.trace(Figure([0.05, 0.1], [0.3], [1.0], 0.4))
    run.steps(2000)
    middle = run.rows[-1].copy()
    assert np.abs(middle[velocity:acceleration]).max() > 0.05
    run.host.trace(Figure([0.02], [0.5], [0.0], 0.4))  # another one, from the middle of this one
    run.steps(1500)
    assert np.abs(run.rows[-1] - middle)[: velocity if law == "joint_adaptive" else 3].max() < 0.1, "about where it was"
    run.host.stop_motion()
    rows = run.finish()
    jerk = np.abs(np.diff(rows[:, acceleration:], axis=0)).max() / DT
    assert jerk < 60.0, "6|v|/T² + 4|a|/T of a stop in 0.1 s from 0.1 m/s and 0.4 m/s² [m/s³]"
    assert not rows[-1, velocity:].any()


def test_the_last_request_wins_over_a_figure(library: Library) -> None:
    run = resting(library)
    place = run.rows[-1].copy()
    run.host.trace(LISSAJOUS)
    run.steps(1000)
    run.host.move_to_pose(place[POSITION], Rotation.from_matrix(rotations(place[None])[0]).as_quat())
    row = run.finish()[-1]
    np.testing.assert_allclose(row[POSITION], place[POSITION], atol=1e-12)
    assert_rests(row)


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (([0.1] * 4, [0.1]), DimensionError, "trace: amplitude: has 4 values.*1 to 3.*multiple of 3"),
        (([], [0.1]), DimensionError, "amplitude: has 0 values"),
        (([0.1], [0.1, 0.2, 0.3, 0.4]), DimensionError, "frequency: has 4 values"),
        (([0.1], [0.1], [0.0] * 5), DimensionError, "phase: has 5 values"),
        (([np.nan], [0.1]), LawError, "amplitude: is not finite"),
        (([0.1], [-0.1]), LawError, "frequency: is negative"),
        (([0.1], [0.1], [0.0], 0.0), LawError, "ramp_time: is 0.*positive"),
        (([0.1], [0.1], [0.0], np.inf), LawError, "ramp_time: is inf"),
    ],
)
def test_values_that_make_no_figure_are_refused(library: Library, values: Any, kind: Any, message: str) -> None:
    run = resting(library)
    with pytest.raises(kind, match=message):
        run.host.trace(Figure(*values))
    assert np.ptp(run.steps(10), axis=0).max() == 0.0, "the place is held"


def test_a_figure_needs_an_active_controller_and_no_stream(library: Library) -> None:
    session = ControlSession(Configuration(library, law="joint_adaptive"), Options())
    with pytest.raises(LawError, match="not active"):
        session.trace(Figure([0.1], [0.1]))
    session.activate(np.array([0.1, 0.2]), np.zeros(2))
    session.stream(np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.0]))
    with pytest.raises(LawError, match="a reference is being streamed"):
        session.trace(Figure([0.1], [0.1]))


class Rehearsed(Run):
    """The pendulum's joints within their limits: 2.5 rad, 4 and 5 rad/s."""

    def __init__(self, library: Library) -> None:
        super().__init__(library, "joint_adaptive", rehearses_motions=True, velocity_limit=None)
        self.step()


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        (Figure([2.6, 0.1], [0.1]), "the position of .* is .*valid: \\["),
        (Figure([0.1, 0.9], [1.0]), "the velocity of .* is "),
        (Figure([0.01, -2.9], [0.5, 0.0007]), "the position of "),  # of a period too long to be played to its end
        (Figure([1e-12, 0.3], [1e9, 0.1]), "the figure, of 1e\\+09 Hz, has not begun anew.*slower"),
        (Figure([1e-4, 1e-4], [250.0, 249.99]), "the figure, of 250 Hz, has not begun anew.*slower"),
    ],
)
def test_a_figure_that_the_joints_cannot_follow_is_refused_and_said_when(
    library: Library, figure: Figure, message: str
) -> None:
    run = Rehearsed(library)
    with pytest.raises(LawError, match=f"trace: after .* s {message}"):
        run.host.trace(figure)
    run.host.trace(Figure([0.3, 0.0], [0.1, 1e9]))  # what does not move is no reason


def test_the_default_figure_is_within_the_panda_and_a_larger_one_is_not(panda_folder: Path) -> None:
    session = ControlSession(Configuration(Library(panda_folder / "libpanda.so")), Options())
    session.activate(HOME, np.zeros(7))
    effort = np.zeros(7)
    session.update(0, DT, HOME, np.zeros(7), DT, effort)
    session.trace(LISSAJOUS)
    with pytest.raises(LawError, match="out of reach|the velocity of"):
        session.trace(Figure([0.9, 0.15, 0.1], LISSAJOUS.frequency))
    for k in range(2, 500):
        session.update(0, k * DT, HOME, np.zeros(7), DT, effort)
    assert session.snapshot().reference_source == "motion"


def test_of_a_figure_that_is_too_large_the_largest_part_is_traced(panda_folder: Path) -> None:
    """Twice that part is refused; what fits whole is traced whole; what never fits is refused as the whole is."""
    session = ControlSession(Configuration(Library(panda_folder / "libpanda.so")), Options())
    with pytest.raises(LawError, match="not active"):
        session.trace_what_fits(LISSAJOUS)
    session.activate(HOME, np.zeros(7))
    session.update(0, DT, HOME, np.zeros(7), DT, np.zeros(7))
    amplitude = np.array([0.9, 0.15, 0.1])
    assert session.trace_what_fits(LISSAJOUS) == 1.0
    share = session.trace_what_fits(Figure(amplitude, LISSAJOUS.frequency))
    assert share in (0.5, 0.25, 0.125)
    with pytest.raises(LawError, match="trace: after"):
        session.trace(Figure(2.0 * share * amplitude, LISSAJOUS.frequency))
    session.trace(Figure(share * amplitude, LISSAJOUS.frequency))
    with pytest.raises(LawError, match="trace: after") as whole:
        session.trace(Figure([50.0], LISSAJOUS.frequency))
    with pytest.raises(LawError) as parts:
        session.trace_what_fits(Figure([50.0], LISSAJOUS.frequency))
    assert str(parts.value) == str(whole.value)
