"""Motions that the host makes itself: continuous with what was before, exact, within limits, at rest at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from motion_run import (
    BOUNDS,
    DT,
    GOAL,
    LIMITS,
    MOVING,
    PLACE,
    POINTS,
    START,
    TURN,
    Run,
    assert_is_consistent,
    assert_is_continuous,
    assert_rests,
    cartesian,
    functions,
    joint,
    norms,
    rotations,
    sample,
)
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Figure, Guard, Library, MotionLimits, TimedJoints
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST

# --- coming to rest --------------------------------------------------------------------------------------------------

STOP_JERK = 200.0
"""Bounds 6|v₀|/T² + 4|a₀|/T of the stops here: T is 1.5 · 0.99 rad/s / 4 rad/s² = 0.37 s, |a₀| below 2.3 rad/s²."""


def test_a_stop_is_consistent_and_continuous_with_the_motion_before_and_ends_at_rest(library: Library) -> None:
    run = cartesian(library, MOVING)
    run.host.stop_motion()
    run.step()
    assert run.host.reference_source == "stopping"
    rows = run.finish()
    assert_rests(rows[-4])
    np.testing.assert_array_equal(rows[-1], rows[-4])
    assert_is_consistent(rows, STOP_JERK, 10 * STOP_JERK)
    assert_is_continuous(rows, STOP_JERK)


def test_a_stop_takes_the_time_that_the_acceleration_asks_for(library: Library) -> None:
    """At 0.2 m/s and 1 m/s² it takes 0.3 s and 3 cm: ∫ v₀(1 − 3u² + 2u³) dt = v₀ T/2; its peak is 1.5 v₀/T = 1 m/s²."""
    run = cartesian(library, sample((0.2, 0, 0, 0, 0, 0)))
    run.host.stop_motion()
    rows = run.steps(302)
    assert rows[299, 12] > 0.0
    assert_rests(rows[-1])
    assert rows[-1, 0] - PLACE[0] == pytest.approx(0.03, abs=1e-12)
    assert np.abs(rows[:, 18]).max() == pytest.approx(1.0, rel=1e-4)  # sampled within dt/2 of the peak


def test_a_stop_does_not_depend_on_the_step(library: Library) -> None:
    ends = []
    for dt in (4e-3, 1e-3):
        run = cartesian(library, MOVING)
        run.host.stop_motion()
        ends.append(run.finish(dt)[-1])
    assert np.allclose(ends[0][POSITION], ends[1][POSITION], rtol=0, atol=1e-12)
    # Fourth order: (4 ms)⁴ of about 100 rad/s⁵ over 0.4 s.
    assert np.allclose(ends[0][ROTATION], ends[1][ROTATION], rtol=0, atol=1e-8)


def test_joints_stop_continuously_within_their_acceleration(library: Library) -> None:
    run = joint(library, np.array([0.1, -0.2, 1.0, -0.3, 0.0, 0.0]))
    run.host.stop_motion()
    rows = run.finish()
    q, qd, qdd = rows[:, :2], rows[:, 2:4], rows[:, 4:]
    assert np.abs((q[2:] - q[:-2]) / (2 * DT) - qd[1:-1]).max() < 1e-4  # dt²/6 · 45 rad/s³, and the end
    assert np.abs((qd[2:] - qd[:-2]) / (2 * DT) - qdd[1:-1]).max() < 0.05  # dt · 45 rad/s³
    assert np.abs(qdd).max() <= LIMITS.joint_acceleration * (1 + 1e-12)
    assert not rows[-1, 2:].any()


FIGURE = Figure([0.15, 0.1], [0.5, 1.0], [0.0, 1.0], 0.3)
THROUGH = [TimedJoints(t, q) for t, q in ((0.3, [0.2, 0.5]), (0.6, [0.6, 0.1]), (1.2, [-0.2, -0.4]))]


@pytest.mark.parametrize("passed", [320, 420, 777])
@pytest.mark.parametrize("way", ["figure", "joint figure", "poses", "joints"])
def test_a_stop_stays_on_the_way_and_is_nowhere_faster(library: Library, way: str, passed: int) -> None:
    runs = []
    for _ in range(2):
        run = joint(library) if "joint" in way else cartesian(library)
        if "figure" in way:
            run.host.trace(FIGURE)
        else:
            run.host.follow(THROUGH if "joint" in way else POINTS)
        runs.append(run)
    whole, stopped = runs[0].steps(1500), runs[1]
    stopped.steps(passed)
    stopped.host.stop_motion()
    rows = stopped.finish()
    assert stopped.host.reference_source == "hold"
    size = 2 if "joint" in way else 3
    rate = slice(size, 2 * size) if "joint" in way else slice(12, 15)
    change = slice(2 * size, 3 * size) if "joint" in way else slice(18, 21)
    fastest = np.abs(whole[:, rate]).max()
    for row in rows:
        here = np.linalg.norm(whole[:, :size] - row[:size], axis=1) < 2 * DT * fastest
        assert here.any()
        assert np.linalg.norm(row[rate]) < np.linalg.norm(whole[here, rate], axis=1).max() + 0.02 * fastest
    assert np.abs((rows[2:, :size] - rows[:-2, :size]) / (2 * DT) - rows[1:-1, rate]).max() < 1e-3
    assert np.abs(np.diff(rows[:, change], axis=0)).max() < 1.0, "the acceleration, in a period: no step"
    assert not rows[-1, rate].any()


def test_a_stop_at_rest_is_a_hold(library: Library) -> None:
    run = cartesian(library)
    run.host.stop_motion()
    run.step()
    assert run.host.reference_source == "hold"
    np.testing.assert_array_equal(run.rows[-1], sample())


twists = st.tuples(*[st.floats(-0.3, 0.3)] * 3, *[st.floats(-1.5, 1.5)] * 3)
rates = st.tuples(*[st.floats(-1, 1)] * 3, *[st.floats(-4, 4)] * 3)


@functions
@given(twist=twists, rate=rates)
def test_any_motion_comes_to_rest_smoothly(library: Library, twist: Any, rate: Any) -> None:
    run = cartesian(library, sample(twist, rate))
    run.host.stop_motion()
    rows = run.finish()
    assert_rests(rows[-1])
    # |v̇| ≤ |a₀| + 4u(1 − u) a_max and |v| ≤ |v₀| + 4/27 |a₀| T, norms of the linear and the angular part.
    start = rows[:1]
    for part, (name, bounds) in enumerate(BOUNDS.items()):
        at_start = norms(start, TWIST)[part], norms(start, ACCELERATION)[part]
        assert norms(rows, ACCELERATION)[part] <= at_start[1] + bounds[1] * (1 + 1e-9), name
        assert norms(rows, TWIST)[part] <= at_start[0] + 4 / 27 * at_start[1] * len(rows) * DT * (1 + 1e-9), name
    # 6|v₀|/T² + 4|a₀|/T, T at least 0.1 s and 1.5|v₀|/a: at most 60 m/s³ + 4·6.9/0.1 (rad/s³).
    assert_is_continuous(rows, 700.0)


# --- to a pose -------------------------------------------------------------------------------------------------------


def go(run: Run, place: np.ndarray = GOAL[0], turn: Rotation = GOAL[1]) -> np.ndarray:
    run.host.move_to_pose(place, turn.as_quat())
    return run.finish()


@pytest.mark.parametrize("start", [sample(), MOVING], ids=["from rest", "moving"])
def test_a_way_to_a_pose_ends_there_at_rest(library: Library, start: np.ndarray) -> None:
    rows = go(cartesian(library, start))
    assert np.allclose(rows[-1, POSITION], GOAL[0], rtol=0, atol=1e-15)
    assert np.allclose(rotations(rows)[-1], GOAL[1].as_matrix(), rtol=0, atol=1e-15)
    assert_rests(rows[-1])
    assert_is_consistent(rows, STOP_JERK, 10 * STOP_JERK)
    assert_is_continuous(rows, STOP_JERK)


places = st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)).map(np.array)
orientations = st.tuples(*[st.floats(-1, 1)] * 4).map(np.array).filter(lambda q: np.linalg.norm(q) > 0.1)


@pytest.mark.slow
@functions
@given(place=places, quaternion=orientations)
def test_a_way_from_rest_keeps_every_limit_and_lasts_no_longer_than_needed(
    library: Library, place: np.ndarray, quaternion: np.ndarray
) -> None:
    rows = go(cartesian(library), place, Rotation.from_quat(quaternion))
    assert_rests(rows[-1])
    # A jerk of a motion of a few nanometres drowns in rounding.
    use = [0.0]
    for part, bounds in enumerate(BOUNDS.values()):
        jerk = norms(np.diff(rows, axis=0) / DT, ACCELERATION)[part]
        use += [norms(rows, TWIST)[part] / bounds[0], norms(rows, ACCELERATION)[part] / bounds[1], jerk / bounds[2]]
        assert jerk <= bounds[2] * (1 + 1e-6)
    assert max(use) <= 1 + 1e-6
    far = np.linalg.norm(place - PLACE) > 0.01
    assert not far or max(use) > 0.98  # one of the six bounds is what makes it last as long as it does


def test_the_way_is_a_straight_line_and_a_turn_about_one_axis(library: Library) -> None:
    rows = go(cartesian(library))
    moving = rows[np.linalg.norm(rows[:, 12:15], axis=1) > 1e-3]
    for block, direction in ((slice(12, 15), GOAL[0] - PLACE), (slice(15, 18), (GOAL[1] * TURN.inv()).as_rotvec())):
        unit = direction / np.linalg.norm(direction)
        assert np.allclose(moving[:, block], (moving[:, block] @ unit)[:, None] * unit, rtol=0, atol=1e-12)
    offsets = rows[:, POSITION] - PLACE
    assert np.abs(np.cross(offsets, GOAL[0] - PLACE)).max() < 1e-15


def test_half_a_turn_is_made(library: Library) -> None:
    turn = Rotation.from_rotvec([0.0, np.pi, 0.0]) * TURN
    rows = go(cartesian(library), PLACE, turn)
    assert np.allclose(rotations(rows)[-1], turn.as_matrix(), rtol=0, atol=1e-12)
    assert_is_consistent(rows, STOP_JERK, 10 * STOP_JERK)


def test_a_pose_out_of_all_reach_is_not_gone_to(library: Library) -> None:
    run = cartesian(library)
    run.host.move_to_pose([1e308, -1e308, 0.0], TURN.as_quat())
    run.step()
    assert run.host.reference_source == "hold"
    np.testing.assert_array_equal(run.rows[-1], sample())


def test_a_way_to_the_pose_in_effect_is_a_rest(library: Library) -> None:
    rows = go(cartesian(library), PLACE, TURN)
    assert np.allclose(rows, sample(), rtol=0, atol=1e-12)


def test_limits_of_the_user_are_kept(library: Library) -> None:
    run = cartesian(library)
    run.host.set_motion_limits(MotionLimits(linear_velocity=0.05, angular_velocity=10.0))
    rows = go(run, PLACE + [0.2, 0.0, 0.0], TURN)
    assert norms(rows, TWIST)[0] == pytest.approx(0.05, rel=1e-5)


# --- one motion after another ----------------------------------------------------------------------------------------


def ask(run: Run, kind: int) -> None:
    if kind == 0:
        run.host.stop_motion()
    elif kind == 1:
        run.host.move_to_pose(GOAL[0], GOAL[1].as_quat())
    elif kind == 2:
        run.host.move_to_pose(PLACE, TURN.as_quat())
    else:
        run.host.follow(POINTS)


@functions
@given(requests=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 700)), min_size=2, max_size=5))
def test_requests_at_any_time_keep_everything_continuous(library: Library, requests: list[tuple[int, int]]) -> None:
    run = cartesian(library)
    for kind, count in requests:
        ask(run, kind)
        run.steps(count)
    rows = run.finish()
    assert_rests(rows[-1])
    # Splines that turn back from a motion are the worst of it: jerks of some hundred rad/s³.
    assert_is_continuous(rows, 2000.0)
    assert_is_consistent(rows, 2000.0, 2e5)


def test_the_last_of_several_requests_wins(library: Library) -> None:
    run = cartesian(library)
    run.host.follow(POINTS)
    run.host.stop_motion()
    rows = go(run)
    assert np.allclose(rows[-1, POSITION], GOAL[0], rtol=0, atol=1e-15)


def test_a_streamed_reference_ends_a_motion(library: Library) -> None:
    run = cartesian(library, approaches_jumps=False)
    run.host.move_to_pose(GOAL[0], GOAL[1].as_quat())
    run.steps(100)
    assert run.host.reference_source == "motion"
    run.host.set_reference(MOVING)
    run.step()
    assert run.host.reference_source == "stream"
    np.testing.assert_array_equal(run.rows[-1], MOVING)


def test_a_hold_ends_a_motion_at_the_place_of_the_robot(library: Library) -> None:
    run = cartesian(library)
    run.host.follow(POINTS)
    run.steps(100)
    run.host.hold_reference()
    run.steps(2)
    assert run.host.reference_source == "hold"
    np.testing.assert_array_equal(run.rows[-1][POSITION], library.evaluate("T_0_ee", START)[:3, 3])
    assert_rests(run.rows[-1])


def test_one_entry_written_after_a_motion_leaves_the_others_where_it_ended(library: Library) -> None:
    run = cartesian(library)
    go(run)
    run.host.set_reference_entry("position", [0.1, 0.2, 0.3])
    run.step()
    assert run.rows[-1][POSITION].tolist() == [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(run.rows[-1][3:], run.rows[-2][3:])


def test_one_entry_written_before_a_motion_began_leaves_the_others_where_the_stream_was(library: Library) -> None:
    run = cartesian(library, MOVING)
    before = run.steps(50)[-1]
    run.host.stop_motion()
    run.host.set_reference_entry("position", [0.1, 0.2, 0.3])
    run.step()
    assert run.rows[-1][POSITION].tolist() == [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(run.rows[-1][ROTATION], before[ROTATION])


def test_activation_forgets_a_motion(library: Library) -> None:
    run = cartesian(library)
    run.host.follow(POINTS)
    run.steps(10)
    run.host.deactivate()
    run.host.activate(START)
    run.steps(3)
    assert run.host.reference_source == "hold"
    np.testing.assert_array_equal(run.rows[-1][POSITION], library.evaluate("T_0_ee", START)[:3, 3])


# --- a lost stream ---------------------------------------------------------------------------------------------------


def test_a_lost_stream_comes_to_rest_smoothly_and_is_held(library: Library) -> None:
    """At 0.1 m/s and 1 m/s² it takes 0.15 s and 7.5 mm; the timeout begins another stop, after 50 ms of that."""
    run = cartesian(library, sample((0.0, 0.1, 0, 0, 0, 0)), reference_timeout=0.0505, approaches_jumps=False)
    assert not any(run.step() & Guard.REFERENCE_STALE for _ in range(50))
    guards = [run.step() for _ in range(200)]
    assert all(guard & Guard.REFERENCE_STALE for guard in guards)
    assert run.host.reference_source == "stopping"
    assert 0.0075 < run.rows[-1][1] - PLACE[1] < 0.0085
    assert_rests(run.rows[-1])
    assert_is_continuous(np.array(run.rows), 30.0)  # 6 v₀/T² = 27 m/s³
    run.host.set_reference(MOVING)
    assert not run.step() & Guard.REFERENCE_STALE
    assert run.host.reference_source == "stream"


def test_a_motion_ends_the_stop_after_a_lost_stream(library: Library) -> None:
    run = cartesian(library, MOVING, reference_timeout=0.01)
    run.steps(100)
    assert run.host.reference_source == "stopping"
    rows = go(run)
    assert run.host.status.guards & Guard.REFERENCE_STALE == 0
    assert np.allclose(rows[-1, POSITION], GOAL[0], rtol=0, atol=1e-15)


def test_motions_do_not_grow_stale(library: Library) -> None:
    run = cartesian(library, reference_timeout=0.01)
    run.host.move_to_pose(GOAL[0], GOAL[1].as_quat())
    assert not any(run.step() & Guard.REFERENCE_STALE for _ in range(3000))
