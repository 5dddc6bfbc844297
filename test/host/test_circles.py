"""Joints on a circle: readings, streams and goals at any turn are the same to the host, on a line they are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_programs import compile_program, run
from hypothesis import given
from hypothesis import strategies as st
from motion_run import functions
from pendulum2 import compile_pendulum2

from thunder_controllers.host import Configuration, ControlSession, Guard, Library, Options, TimedJoints
from thunder_dynamics.errors import LawError

TURN = 2.0 * np.pi
DT = 1e-3
ELBOW = np.array([0.0, 1.0])
"""The joint of the pendulum that is on a circle."""

turns = st.integers(-3, 3)


@pytest.fixture(scope="module")
def circle(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The pendulum with its elbow on a circle."""
    return Library(compile_pendulum2(tmp_path_factory.mktemp("circle"), "ON_CIRCLE"))


class Loop:
    """A session of the joint law whose arm is wherever the test says."""

    def __init__(self, library: Library, q: Any, **options: Any) -> None:
        self.session = ControlSession(Configuration(library, law="joint_adaptive"), Options(**options))
        self.session.activate(np.array(q, float), np.zeros(2))
        self.effort, self.steps = np.zeros(2), 0

    def update(self, q: Any, qd: Any = (0.0, 0.0)) -> Guard:
        self.steps += 1
        stamp = round(1e9 * self.steps * DT)
        state = np.array(q, float), np.array(qd, float)
        return Guard(self.session.update(stamp, self.steps * DT, *state, DT, self.effort))

    @property
    def reference(self) -> np.ndarray:
        return self.session.snapshot().reference_vector[:2]

    def rest(self, q: Any, count: int) -> np.ndarray:
        """References of updates at one place, (count, 2)."""
        rows = []
        for _ in range(count):
            self.update(q)
            rows.append(self.reference)
        return np.array(rows)


def test_the_library_says_which_joints_are_on_a_circle(library: Library, circle: Library) -> None:
    assert library.joint_topology.tolist() == [0, 0]
    assert circle.joint_topology.tolist() == [0, 1]
    session = ControlSession(Configuration(circle, law="joint_adaptive"), Options())
    assert "no_position_limit" not in {note.code for note in session.notes}


@functions
@given(read=st.lists(turns, min_size=40, max_size=40), first=turns)
def test_a_reading_at_any_turn_gives_the_efforts_of_one_that_never_wraps(
    circle: Library, read: list[int], first: int
) -> None:
    """Through ±π at 1.5 rad/s, and the other way."""
    whole = Loop(circle, [0.1, 3.0])
    wrapped = Loop(circle, [0.1, 3.0 + first * TURN])
    for k, turn in enumerate([*read, *read]):
        velocity = 1.5 if k < len(read) else -1.5
        q = np.array([0.1, 3.0 + 1.5 * 0.02 * (k if k < len(read) else 2 * len(read) - k)])
        guards = whole.update(q, [0.0, velocity]), wrapped.update(q + ELBOW * turn * TURN, [0.0, velocity])
        assert guards[0] == guards[1]
        np.testing.assert_allclose(wrapped.effort, whole.effort, rtol=0.0, atol=1e-9)
        snapshot = wrapped.session.snapshot()
        np.testing.assert_allclose(snapshot.q - ELBOW * first * TURN, q, atol=1e-12)


def test_a_reading_that_does_not_wrap_is_taken_bit_for_bit(circle: Library) -> None:
    loop = Loop(circle, [0.1, 0.3])
    loop.update([0.1 + 1e-17, 0.30000000000000004])
    assert loop.session.snapshot().q.tolist() == [0.1 + 1e-17, 0.30000000000000004]


def test_a_revolute_joint_that_jumps_by_a_turn_is_where_it_says(library: Library) -> None:
    loop = Loop(library, [0.1, 0.3])
    loop.update([0.1, 0.3 + TURN])
    assert loop.session.snapshot().q[1] == 0.3 + TURN


@functions
@given(sent=st.lists(turns, min_size=30, max_size=30), rates=st.booleans())
def test_a_stream_at_any_turn_is_followed_as_one_that_never_wraps(
    circle: Library, sent: list[int], rates: bool
) -> None:
    whole, wrapped = Loop(circle, [0.1, 3.0]), Loop(circle, [0.1, 3.0])
    for k, turn in enumerate(sent):
        sample = np.array([0.1, 3.0 + 0.02 * k, 0.0, 1.0 * rates, 0.0, 0.0])
        whole.session.stream(sample)
        wrapped.session.stream(sample + np.array([0.0, turn * TURN, 0.0, 0.0, 0.0, 0.0]))
        for _ in range(10):
            assert whole.update([0.1, 3.0]) == wrapped.update([0.1, 3.0])
            np.testing.assert_allclose(wrapped.reference, whole.reference, rtol=0.0, atol=1e-9)


def test_a_stream_further_ahead_than_half_a_turn_goes_on_its_way(circle: Library) -> None:
    """It is unwrapped to its own last sample, not to where the slow reference has come."""
    loop = Loop(circle, [0.1, 0.0])
    for k in range(200):
        loop.session.stream(np.array([0.1, 0.05 * k, 0.0, 0.0, 0.0, 0.0]))
        loop.update([0.1, 0.0])
    rows = loop.rest([0.1, 0.0], 100)
    assert (np.diff(rows[:, 1]) > 0.0).all()


def test_a_stream_a_turn_away_is_near_at_activation(library: Library, circle: Library) -> None:
    sample = np.array([0.1, -1.0, 0.0, 0.0, 0.0, 0.0])
    session = ControlSession(Configuration(circle, law="joint_adaptive"), Options(approaches_jumps=False))
    session.stream(sample)
    session.activate(np.array([0.1, TURN - 1.0]), np.zeros(2), max_error=0.1)
    on_line = ControlSession(Configuration(library, law="joint_adaptive"), Options(approaches_jumps=False))
    on_line.stream(sample + np.array([0.0, 3.0, 0.0, 0.0, 0.0, 0.0]))
    with pytest.raises(LawError, match="the streamed reference is 2 away"):
        on_line.activate(np.array([0.1, 0.0]), np.zeros(2), max_error=0.1)


@functions
@given(
    knots=st.lists(st.tuples(st.floats(-1.5, 1.5), turns), min_size=1, max_size=6),
    first=turns,
    from_zero=st.booleans(),
    known=st.booleans(),
)
def test_points_at_any_turn_go_the_short_way(
    circle: Library, knots: list[tuple[float, int]], first: int, from_zero: bool, known: bool
) -> None:
    """Whether the start is known when they are asked for, or only when they begin."""
    place = np.array([0.1, 3.0 + first * TURN])
    goals = np.cumsum([place[1], *(way for way, _ in knots)])
    times = 4.0 * np.arange(1, len(goals))

    def ask(loop: Loop, shifts: list[int]) -> np.ndarray:
        if known:
            loop.update(place)
        start = [TimedJoints(0.0, place + ELBOW * (first + 1) * TURN * bool(any(shifts)))] * from_zero
        points = [
            TimedJoints(t, np.array([0.1, goal + k * TURN]))
            for t, goal, k in zip(times, goals[1:], shifts, strict=True)
        ]
        loop.session.follow([*start, *points])
        return loop.rest(place, 50)

    rows = ask(Loop(circle, place), [0] * len(knots))
    other = ask(Loop(circle, place), [turn for _, turn in knots])
    np.testing.assert_allclose(other, rows, rtol=0.0, atol=1e-9)


def test_a_goal_of_another_turn_ends_where_it_says_on_the_circle(circle: Library) -> None:
    loop = Loop(circle, [0.1, 3.0])
    loop.update([0.1, 3.0])
    loop.session.follow([TimedJoints(0.5, np.array([0.1, 3.2 - TURN]))])
    rows = loop.rest([0.1, 3.0], 600)
    assert rows[-1].tolist() == pytest.approx([0.1, 3.2], abs=1e-12)
    assert np.abs(rows[:, 1] - 3.1).max() < 0.11


def test_the_goal_of_a_joint_on_a_line_is_never_unwrapped(circle: Library) -> None:
    loop = Loop(circle, [0.1, 3.0])
    loop.update([0.1, 3.0])
    with pytest.raises(LawError, match="the position of shoulder is"):
        loop.session.follow([TimedJoints(9.0, np.array([0.1 + TURN, 3.0]))])


@pytest.mark.slow
def test_random_wraps_change_nothing_in_a_million_updates(tmp_path: Path, build_cache: Path) -> None:
    result = run(compile_program("host_circles", build_cache, "-O1"), compile_pendulum2(tmp_path, "ON_CIRCLE"))
    assert result.returncode == 0, result.stderr
