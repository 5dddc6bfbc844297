"""Timed points that the host follows, and every request for a motion that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from motion_run import (
    DT,
    JOINT_MOVING,
    MOVING,
    PLACE,
    POINTS,
    START,
    TURN,
    assert_is_consistent,
    assert_is_continuous,
    assert_rests,
    cartesian,
    functions,
    joint,
    sample,
)
from scipy.interpolate import BPoly, CubicSpline
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Library, MotionLimits, TimedJoints, TimedPose
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_dynamics.errors import DimensionError, LawError

# --- along timed points ----------------------------------------------------------------------------------------------

TIMES = np.array([0.0, 0.5, 0.9, 2.0])
VALUES = np.array([[0.3, -0.1], [0.6, 0.2], [0.2, 0.4]])


def joint_points(qd: Any = (None,) * 3, qdd: Any = (None,) * 3) -> list[TimedJoints]:
    return [TimedJoints(*point) for point in zip(TIMES[1:], VALUES, qd, qdd, strict=True)]


def expected_spline(qd: Any = None, qdd: Any = None) -> BPoly:
    """SciPy's clamped cubic and quintic Hermite pieces, an implementation of others."""
    values = np.vstack([JOINT_MOVING[:2], VALUES])
    cubic = CubicSpline(TIMES, values, bc_type=((1, JOINT_MOVING[2:4]), (1, np.zeros(2))))
    first, second = cubic(TIMES, 1), cubic(TIMES, 2)
    first[1:] = first[1:] if qd is None else qd
    second[1:] = second[1:] if qdd is None else qdd
    first[0], second[0] = JOINT_MOVING[2:4], JOINT_MOVING[4:]
    first[-1] = second[-1] = 0.0
    return BPoly.from_derivatives(TIMES, np.stack([values, first, second], axis=1))


GIVEN = np.array([[0.5, -1.0], [0.2, 0.3], [0.0, 0.0]]), np.array([[1.0, 2.0], [-3.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("given", [(), GIVEN[:1], GIVEN], ids=["positions", "velocities", "accelerations"])
def test_timed_joints_follow_the_quintic_spline(library: Library, given: tuple[np.ndarray, ...]) -> None:
    run = joint(library, JOINT_MOVING)
    run.host.follow(joint_points(*given))
    rows = run.steps(2000)[1:]
    spline = expected_spline(*given)
    times = np.arange(1, 2001) * DT
    expected = np.hstack([spline(times, k) for k in range(3)])
    expected[-1, 2:] = 0.0
    # Sums of 2000 times of a millisecond: 1e-13 s, at rates of up to 100.
    assert np.allclose(rows, expected, rtol=0, atol=1e-9)
    run.steps(2)
    assert run.host.reference_source == "hold"


@functions
@given(
    steps=st.lists(st.integers(50, 1000), min_size=1, max_size=8),
    numbers=st.lists(st.floats(-1, 1), min_size=20, max_size=20),
)
def test_timed_joints_pass_their_points_with_continuous_acceleration(
    library: Library, steps: list[int], numbers: list[float]
) -> None:
    start, values = np.array(numbers[:4] + [0.5, -0.5]), np.array(numbers[4:20]).reshape(8, 2)
    run = joint(library, start)
    knots = np.cumsum(steps)
    run.host.follow([TimedJoints(DT * k, q) for k, q in zip(knots, values, strict=False)])
    rows = run.steps(int(knots[-1]) + 1)  # the sum of the periods may be a rounding short of the last time
    for k, q in zip(knots, values, strict=False):
        assert np.allclose(rows[k, :2], q, rtol=0, atol=1e-9)  # the clock's rounding at rates of at most 1e3
    assert not rows[-1, 2:].any()
    second = np.diff(rows[:, 2:4], axis=0) / DT
    size = np.abs(rows[:, 4:]).max()
    # A step of the acceleration lies within the quintics' greatest jerk: below 60 times the acceleration over 50 ms.
    assert np.abs(np.diff(rows[:, 4:], axis=0)).max() <= 60 * (size + 1) / 0.05 * DT
    assert np.abs(second - 0.5 * (rows[1:, 4:] + rows[:-1, 4:])).max() <= 60 * (size + 1) / 0.05 * DT


def with_rates(points: list[TimedPose], acceleration: bool) -> list[TimedPose]:
    twists = [np.array([0.05, 0.02, -0.01, 0.1, 0.0, -0.2]), np.zeros(6)]
    return [
        TimedPose(p.time, p.position, p.orientation, twist, 2.0 * twist if acceleration else None)
        for p, twist in zip(points, twists, strict=True)
    ]


POSES = {
    "poses": POINTS,
    "from zero": [TimedPose(0.0, PLACE + 0.005, TURN.as_quat()), *POINTS],
    "other hemisphere": [TimedPose(p.time, p.position, -p.orientation) for p in POINTS],
    "mixed hemispheres": [POINTS[0], TimedPose(POINTS[1].time, POINTS[1].position, -POINTS[1].orientation)],
    "velocities": with_rates(POINTS, False),
    "accelerations": with_rates(POINTS, True),
}


@pytest.mark.parametrize("case", POSES)
@pytest.mark.parametrize("start", [sample(), MOVING], ids=["from rest", "moving"])
def test_timed_poses_are_passed_with_continuous_acceleration(library: Library, case: str, start: np.ndarray) -> None:
    run = cartesian(library, start)
    run.host.follow(POSES[case])
    rows = run.finish()
    for point in POINTS:
        row = rows[round(point.time / DT)]
        assert np.allclose(row[POSITION], point.position, rtol=0, atol=1e-9)
        turn = Rotation.from_quat(point.orientation).as_matrix()
        assert np.allclose(row[ROTATION].reshape(3, 3).T, turn, rtol=0, atol=1e-9)
    assert_rests(rows[-1])
    assert_is_consistent(rows, 300.0, 1e4)
    assert_is_continuous(rows, 300.0)


def test_given_velocities_and_accelerations_are_taken_at_their_points(library: Library) -> None:
    run = cartesian(library)
    points = POSES["accelerations"]
    run.host.follow(points)
    rows = run.finish()
    row = rows[round(points[0].time / DT)]
    assert np.allclose(row[TWIST], points[0].twist, rtol=0, atol=1e-9)
    assert np.allclose(row[ACCELERATION], points[0].acceleration, rtol=0, atol=1e-9)


def test_a_start_that_turned_away_meanwhile_comes_to_rest(library: Library) -> None:
    """The turn is checked against the last sample; a hold before the next update puts the start elsewhere."""
    run = cartesian(library)
    run.host.hold_reference()
    far = Rotation.from_rotvec([0.0, 0.0, 2.5]) * Rotation.from_matrix(library.evaluate("T_0_ee", START)[:3, :3])
    run.host.follow([TimedPose(1.0, PLACE, far.as_quat())])
    run.steps(3)
    assert run.host.reference_source == "hold"
    np.testing.assert_array_equal(run.rows[-1][POSITION], library.evaluate("T_0_ee", START)[:3, 3])


def test_a_spline_through_no_orientation_comes_to_rest(library: Library) -> None:
    """Angular velocities that pull the quaternion's polynomial through zero: what remains finite is brought to rest."""
    run = cartesian(library)
    wild = [0.0, 0.0, 0.0, 0.0, 0.0, 60.0]
    points = [
        TimedPose(1.0, PLACE, TURN.as_quat(), wild),
        TimedPose(2.0, PLACE, TURN.as_quat(), [-value for value in wild]),
        TimedPose(3.0, PLACE, TURN.as_quat(), np.zeros(6)),
    ]
    run.host.follow(points)
    rows = run.finish()
    assert np.isfinite(rows).all()
    assert_rests(rows[-1])


# --- refusals --------------------------------------------------------------------------------------------------------

IDENTITY = (0.0, 0.0, 0.0, 1.0)
NAN = float("nan")
HERE = TURN.as_quat()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([TimedPose(1.0, PLACE, HERE), TimedPose(1.0, PLACE, HERE)], "strictly increasing"),
        ([TimedPose(0.0, PLACE, HERE)], "the last one positive"),
        ([TimedPose(-1.0, PLACE, HERE), TimedPose(1.0, PLACE, HERE)], "times from zero"),
        ([TimedPose(NAN, PLACE, HERE)], "times are nan"),
        ([TimedPose(0.0, PLACE + 0.02, HERE), TimedPose(1.0, PLACE, HERE)], "0.02 away; valid: 0.01"),
        ([TimedPose(1.0, PLACE, HERE, np.ones(6))], "the last point moves"),
        ([TimedPose(1.0, [NAN, 0, 0], HERE)], "points[0].position: is not finite"),
        ([TimedPose(1.0, PLACE, [NAN, 0, 0, 1])], "points[0].orientation: a quaternion of norm nan"),
        ([TimedPose(1.0, PLACE, [0.1, 0.1, 0, 1])], "a quaternion of norm 1.00995; valid: norm 1"),
        ([TimedPose(1.0, PLACE, HERE, [NAN] * 6)], "points[0].twist: is not finite"),
        ([TimedPose(1.0, PLACE, HERE, np.zeros(6)), TimedPose(2.0, PLACE, HERE)], "1 of 2 points have one"),
        ([TimedPose(1.0, PLACE, (TURN * Rotation.from_rotvec([2.5, 0, 0])).as_quat())], "too large a turn"),
    ],
)
def test_bad_timed_poses_are_refused_and_change_nothing(library: Library, points: list[Any], message: str) -> None:
    run = cartesian(library)
    with pytest.raises(LawError) as caught:
        run.host.follow(points)
    assert message in str(caught.value)
    run.step()
    assert run.host.reference_source == "stream"
    np.testing.assert_array_equal(run.rows[-1], sample())


@pytest.mark.parametrize(
    ("points", "error", "message"),
    [
        ([], LawError, "follow: no points"),
        ([TimedJoints(1.0, [0.1])], DimensionError, "points[0].q: has 1 values; valid: 2, one per joint"),
        ([TimedJoints(1.0, [NAN, 0.1])], LawError, "points[0].q: is not finite"),
        ([TimedJoints(1.0, [0.1, 0.1], [1.0, 0.0])], LawError, "the last point moves"),
        ([TimedJoints(1.0, [0.1, 0.1], [0.0])], DimensionError, "points[0].qd: has 1 values"),
        ([TimedPose(1.0, PLACE, IDENTITY)], LawError, "joint_adaptive follows joints; valid: a cartesian law"),
        ([TimedJoints(1.0, [0.1, 0.1]), TimedPose(2.0, PLACE, IDENTITY)], LawError, "a point of another kind"),
    ],
)
def test_bad_timed_joints_are_refused(library: Library, points: list[Any], error: type, message: str) -> None:
    with pytest.raises(error) as caught:
        joint(library).host.follow(points)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([NAN, 0.0, 0.0], IDENTITY), LawError, "cartesian_spring.reference.position: element 0 is nan"),
        ((PLACE, [0.0, 0.0, 0.0, 0.9]), LawError, "move_to_pose: orientation: a quaternion of norm 0.9; valid: norm 1"),
        ((PLACE, [0.0, 0.0, 1.0]), DimensionError, "move_to_pose: orientation: got 3 values; valid: 4"),
        (("here", IDENTITY), LawError, "move_to_pose: position: is no vector of numbers"),
    ],
)
def test_bad_targets_are_refused(library: Library, arguments: Any, error: type, message: str) -> None:
    with pytest.raises(error) as caught:
        cartesian(library).host.move_to_pose(*arguments)
    assert message in str(caught.value)


def test_joint_laws_refuse_targets_and_cartesian_laws_joints(library: Library) -> None:
    with pytest.raises(LawError, match="joint_adaptive follows joints; valid: a cartesian law"):
        joint(library).host.move_to_pose(PLACE, IDENTITY)
    with pytest.raises(LawError, match="cartesian_spring follows poses; valid: a joint law"):
        cartesian(library).host.follow([TimedJoints(1.0, [0.1, 0.1])])


def test_motions_are_refused_unless_active(library: Library) -> None:
    run = cartesian(library)
    run.host.deactivate()
    calls = [
        lambda: run.host.move_to_pose(PLACE, IDENTITY),
        lambda: run.host.follow(POINTS),
        lambda: run.host.stop_motion(),
    ]
    for call in calls:
        with pytest.raises(LawError, match="the controller is inactive; valid: while active"):
            call()


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), NAN])
@pytest.mark.parametrize("name", [name for name in dir(MotionLimits) if not name.startswith("_")])
def test_bad_limits_are_refused(name: str, value: float) -> None:
    with pytest.raises(LawError, match=rf"motion_limits\.{name}: is .*; valid: positive and finite"):
        MotionLimits(**{name: value})
