"""References: twist and acceleration are derivatives of the pose, motions start and end at rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.references.trajectories import (
    ACCELERATION,
    CARTESIAN_SIZE,
    POSITION,
    ROTATION,
    TWIST,
    Hold,
    JointLissajous,
    JointPath,
    JointPolynomial,
    JointSteps,
    Lissajous,
    PoseSteps,
    PoseToPose,
    Reference,
    common_period,
)
from thunder_dynamics.errors import DimensionError, ScenarioError

FloatArray = NDArray[np.float64]

R_A = Rotation.from_euler("zyx", [0.3, -0.8, 2.0]).as_matrix()
R_B = Rotation.from_euler("zyx", [-1.0, 0.4, 0.5]).as_matrix()
DEMO = Lissajous([0.4, 0.0, 0.5], [0.10, 0.15, 0.10], [0.2, 0.1, 0.4], [0.0, np.pi / 2, 0.0], R_A)
SWING = Lissajous([0.4, 0.0, 0.5], 0.1, 0.2, 0.0, R_A, [0.5, 0.4, 0.3], [0.1, 0.2, 0.3], [0.0, 0.5, 1.0])
JOINT_WAVE = JointLissajous([0.0, -0.5, 1.0], [0.3, 0.0, 0.5], [0.5, 3.0, 0.25], [0.0, 0.0, 1.0])


def _poses() -> PoseToPose:
    return PoseToPose([[0.4, 0.0, 0.5], [0.5, 0.2, 0.4], [0.5, 0.2, 0.4]], [R_A, R_B, R_A], dwell=0.1)


def _joint_path() -> JointPath:
    return JointPath([[0.0, 0.0], [1.0, -0.2], [0.5, 0.7]], velocity=[1.0, 2.0], dwell=0.2)


REFERENCES: dict[str, Callable[[], Reference]] = {
    "lissajous": lambda: DEMO,
    "swing": lambda: SWING,
    "poses": _poses,
    "hold": lambda: Hold([0.1, 0.2, 0.3], R_B),
    "joint_lissajous": lambda: JOINT_WAVE,
    "joint_path": _joint_path,
    "joint_polynomial": lambda: JointPolynomial([0.0, -0.5], [0.3, 1.0], 0.8),
}

STEP = 1e-4
TOLERANCE = 5e-6
"""Central differences of width 1e-4 err by h²/6 times the third derivative, at most 60 1/s³ where it exists: 1e-7.

Where the jerk jumps, the difference of the velocity is off by up to jerk·h/2 = 40·1e-4/2 = 2e-3, that of the position
by jerk·h²/6, which is below the tolerance."""


def _matrices(rows: FloatArray) -> FloatArray:
    return rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)


def _times(reference: Reference) -> FloatArray:
    return np.linspace(0.0137, getattr(reference, "duration", reference.period or 1.0) * 0.99, 301)


@pytest.mark.parametrize("kind", ["lissajous", "swing", "poses", "hold"])
def test_twist_is_the_derivative_of_the_pose(kind: str) -> None:
    reference = REFERENCES[kind]()
    t = _times(reference)
    before, now, after = (reference.sample(t + k * STEP) for k in (-1, 0, 1))
    velocity = (after[:, POSITION] - before[:, POSITION]) / (2 * STEP)
    turn = Rotation.from_matrix(_matrices(after) @ _matrices(before).transpose(0, 2, 1)).as_rotvec() / (2 * STEP)
    np.testing.assert_allclose(now[:, TWIST], np.hstack([velocity, turn]), atol=TOLERANCE)


@pytest.mark.parametrize("kind", ["lissajous", "swing", "poses", "hold"])
def test_acceleration_is_the_derivative_of_the_twist(kind: str) -> None:
    reference = REFERENCES[kind]()
    t = _times(reference)
    before, now, after = (reference.sample(t + k * STEP) for k in (-1, 0, 1))
    numeric = (after[:, TWIST] - before[:, TWIST]) / (2 * STEP)
    jerk_jump = 2e-3 if kind == "poses" else TOLERANCE
    np.testing.assert_allclose(now[:, ACCELERATION], numeric, atol=jerk_jump)


@pytest.mark.parametrize("kind", ["joint_lissajous", "joint_path", "joint_polynomial"])
def test_joint_velocity_and_acceleration_are_derivatives(kind: str) -> None:
    reference = REFERENCES[kind]()
    t = _times(reference)
    before, now, after = (np.split(reference.sample(t + k * STEP), 3, axis=1) for k in (-1, 0, 1))
    np.testing.assert_allclose(now[1], (after[0] - before[0]) / (2 * STEP), atol=TOLERANCE)
    jerk_jump = 2e-3 if kind == "joint_path" else 2e-5
    np.testing.assert_allclose(now[2], (after[1] - before[1]) / (2 * STEP), atol=jerk_jump)


def test_demo_path_is_the_documented_one() -> None:
    t = np.array([0.0, 1.3, 7.7])
    expected = np.stack(
        [
            0.4 + 0.10 * np.sin(2 * np.pi * 0.2 * t),
            0.15 * np.cos(2 * np.pi * 0.1 * t),
            0.5 + 0.1 * np.sin(2 * np.pi * 0.4 * t),
        ],
        axis=1,
    )
    np.testing.assert_allclose(DEMO.sample(t)[:, POSITION], expected, atol=1e-15)
    assert DEMO.period == 10.0


def test_the_orientation_swings_about_its_mean_and_not_at_all_by_default() -> None:
    (turned,) = _matrices(SWING.sample(np.array([1.3])))
    angles = np.array([0.5, 0.4, 0.3]) * np.sin(2 * np.pi * np.array([0.1, 0.2, 0.3]) * 1.3 + [0.0, 0.5, 1.0])
    np.testing.assert_allclose(turned, R_A @ Rotation.from_euler("ZYX", angles).as_matrix(), atol=1e-14)
    np.testing.assert_array_equal(_matrices(DEMO.sample(np.array([0.0, 1.3]))), [R_A, R_A])


def test_a_periodic_reference_repeats_after_its_period() -> None:
    t = np.linspace(0.0, 3.0, 50)
    for reference in (DEMO, SWING, JOINT_WAVE):
        assert reference.period is not None
        np.testing.assert_allclose(reference.sample(t + reference.period), reference.sample(t), atol=1e-12)


@pytest.mark.parametrize(("degree", "zero"), [(1, 0), (3, 1), (5, 2)])
def test_polynomials_go_from_start_to_end_and_rest_outside(degree: int, zero: int) -> None:
    """With so many derivatives zero at the start."""
    start, end, time = np.array([0.2, -1.0]), np.array([1.0, 2.0]), 0.5
    reference = JointPolynomial(start, end, time, degree)
    rows = reference.sample(np.array([-1.0, 0.0, 0.5 * time, time, time + 1.0])).reshape(5, 3, 2)
    np.testing.assert_allclose(rows[:, 0], [start, start, 0.5 * (start + end), end, end], atol=1e-15)
    np.testing.assert_array_equal(rows[[0, 3, 4], 1:], 0.0)
    np.testing.assert_array_equal(rows[1, 1 : 1 + zero], 0.0)
    with pytest.raises(DimensionError, match="degree 2"):
        JointPolynomial(start, end, time, 2)


def test_common_period_takes_frequencies_as_decimals() -> None:
    assert common_period([0.2, 0.1, 0.4]) == 10.0
    assert common_period([0.3, 0.0]) == pytest.approx(1 / 0.3, rel=1e-15)
    assert common_period([0.0]) is None


@pytest.mark.parametrize("build", [_poses, _joint_path])
def test_paths_start_and_end_at_rest_and_stay_there(build: Callable[[], PoseToPose | JointPath]) -> None:
    reference = build()
    rows = reference.sample(np.array([-1.0, 0.0, reference.duration, reference.duration + 5.0]))
    moving = rows[:, TWIST.start :] if rows.shape[1] == CARTESIAN_SIZE else rows[:, 2:]
    np.testing.assert_allclose(moving, 0.0, atol=1e-12)  # the end is a sum of durations: rounding times the jerk
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-12)
    np.testing.assert_allclose(rows[2], rows[3], atol=1e-12)


def test_path_passes_every_pose_and_keeps_its_bounds() -> None:
    linear, angular = (0.1, 0.5, 5.0), (0.3, 1.0, 10.0)
    path = PoseToPose([[0, 0, 0], [0.3, 0, 0]], [R_A, R_B], linear, angular)
    rows = path.sample(np.linspace(0.0, path.duration, 2001))
    np.testing.assert_allclose(_matrices(rows)[0], R_A, atol=1e-12)
    np.testing.assert_allclose(_matrices(rows)[-1], R_B, atol=1e-7)
    np.testing.assert_allclose(rows[-1, POSITION], [0.3, 0, 0], atol=1e-8)
    for part, bounds in ((slice(0, 3), linear), (slice(3, 6), angular)):
        assert np.linalg.norm(rows[:, TWIST][:, part], axis=1).max() <= bounds[0] * (1 + 1e-9)
        assert np.linalg.norm(rows[:, ACCELERATION][:, part], axis=1).max() <= bounds[1] * (1 + 1e-9)


def test_path_acceleration_is_continuous() -> None:
    path = _poses()
    t = np.arange(0.0, path.duration, 1e-3)
    jump = np.abs(np.diff(path.sample(t)[:, ACCELERATION], axis=0)).max()
    assert jump <= 40.0 * 1e-3 * 1.01  # the angular jerk bound over one step


def test_steps_jump_at_their_times_and_rest_between() -> None:
    t = np.array([0.0, 0.999, 1.0, 7.0])
    poses = PoseSteps([0.0, 1.0], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], [R_A, R_B]).sample(t)
    np.testing.assert_array_equal(poses[:, POSITION], [[0.1, 0.2, 0.3]] * 2 + [[0.4, 0.5, 0.6]] * 2)
    np.testing.assert_array_equal(_matrices(poses), [R_A, R_A, R_B, R_B])
    joints = JointSteps([0.0, 1.0], [[0.1, 0.2], [0.3, 0.4]]).sample(t)
    np.testing.assert_array_equal(joints[:, :2], [[0.1, 0.2]] * 2 + [[0.3, 0.4]] * 2)
    assert not poses[:, TWIST.start :].any() and not joints[:, 2:].any()


def test_rotations_stay_orthonormal() -> None:
    path = _poses()
    R = _matrices(path.sample(np.linspace(0.0, path.duration, 200)))
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.broadcast_to(np.eye(3), R.shape), atol=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Lissajous([0, 0], 0.1, 0.1), "centre has shape"),
        (lambda: Lissajous([0, 0, np.nan], 0.1, 0.1), "finite"),
        (lambda: Hold([0, 0, 0], 2 * np.eye(3)), "not a rotation matrix"),
        (lambda: Hold([0, 0, 0], np.diag([1.0, 1.0, -1.0])), "not a rotation matrix"),
        (lambda: PoseToPose([[0, 0, 0]]), "K ≥ 2"),
        (lambda: PoseToPose([[0, 0, 0], [1, 0, 0]], [R_A]), "1 rotations for 2 positions"),
        (lambda: JointPath([0.0, 1.0]), "positions have shape"),
        (lambda: PoseSteps([0.0, 0.0], [[0, 0, 0], [1, 0, 0]], [R_A, R_A]), "0 and rising"),
        (lambda: PoseSteps([0.0], [[0, 0]], [R_A]), "position has shape"),
        (lambda: JointSteps([0.5], [[0.0, 1.0]]), "0 and rising"),
        (lambda: JointSteps([0.0, 1.0], [[0.0, 1.0], [0.0]]), "positions has shape"),
    ],
)
def test_wrong_shapes_are_named(build: object, message: str) -> None:
    with pytest.raises(DimensionError, match=message):
        build()  # type: ignore[operator]


def test_impossible_time_laws_are_errors() -> None:
    with pytest.raises(ScenarioError, match="two poses in a row are the same"):
        PoseToPose([[0, 0, 0], [0, 0, 0]])
    with pytest.raises(ScenarioError, match="velocity bound"):
        JointPath([[0.0], [1.0]], velocity=0.0)
    with pytest.raises(ScenarioError, match="dwell -1"):
        JointPath([[0.0], [1.0]], dwell=-1.0)
