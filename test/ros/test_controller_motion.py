"""Motions of the controller: exact derivatives, continuity with what went before, rest at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from thunder_controllers.ros.controller_motion import JointStop, PoseStop, go_to_pose
from thunder_controllers.trajectories import ACCELERATION, POSITION, ROTATION, TWIST, PathLimits

DT = 1e-3
LIMITS = PathLimits()


def sample(twist: Any = (0.0,) * 6, acceleration: Any = (0.0,) * 6) -> np.ndarray:
    row = np.zeros(24)
    row[POSITION] = 0.4, -0.1, 0.5
    row[ROTATION] = Rotation.from_euler("xyz", [3.0, 0.2, -0.4]).as_matrix().T.ravel()
    row[TWIST], row[ACCELERATION] = twist, acceleration
    return row


MOVING = sample((0.2, -0.1, 0.05, 0.3, -0.5, 0.8), (0.5, 0.2, -0.3, 1.0, 0.4, -2.0))


def run(motion: Any, dt: float = DT) -> np.ndarray:
    """All samples of a motion, and a few after its end."""
    rows = []
    while not motion.is_finished:
        rows.append(motion.advance(dt).copy())
    return np.array(rows + [motion.advance(dt).copy() for _ in range(3)])


def rotations(rows: np.ndarray) -> np.ndarray:
    return rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)


def assert_is_consistent(rows: np.ndarray, rate_scale: float) -> None:
    """Central differences of pose and twist give twist and acceleration, to O(dt²) of the next derivatives.

    `rate_scale` bounds the third derivatives [m/s³, rad/s³]; the error of a central difference is dt²/6 times that, and
    of one over a corner of the piecewise linear acceleration dt/4 times the jump of the jerk.
    """
    velocity = (rows[2:, POSITION] - rows[:-2, POSITION]) / (2 * DT)
    R = rotations(rows)
    turn = Rotation.from_matrix(np.matmul(R[2:], R[:-2].transpose(0, 2, 1))).as_rotvec() / (2 * DT)
    acceleration = (rows[2:, TWIST] - rows[:-2, TWIST]) / (2 * DT)
    assert np.abs(velocity - rows[1:-1, 12:15]).max() < DT**2 * rate_scale
    assert np.abs(turn - rows[1:-1, 15:18]).max() < DT**2 * rate_scale
    assert np.abs(acceleration - rows[1:-1, ACCELERATION]).max() < 0.5 * DT * rate_scale
    assert np.allclose(np.matmul(R, R.transpose(0, 2, 1)), np.eye(3), rtol=0, atol=1e-12)


def test_a_stop_is_consistent_and_continuous_with_the_motion_before() -> None:
    rows = run(PoseStop(MOVING, LIMITS))
    all_rows = np.vstack([MOVING, rows])
    assert_is_consistent(all_rows, 100.0)
    # A millisecond changes velocity and acceleration by their rates, no more.
    assert np.abs(rows[0, TWIST] - MOVING[TWIST]).max() < 4.0 * DT
    assert np.abs(rows[0, ACCELERATION] - MOVING[ACCELERATION]).max() < 100.0 * DT


def test_a_stop_ends_at_rest_and_stays() -> None:
    rows = run(PoseStop(MOVING, LIMITS))
    assert np.abs(rows[-4:, TWIST.start :]).max() == 0.0
    assert np.array_equal(rows[-1], rows[-2])


def test_a_stop_without_acceleration_keeps_the_bound_of_deceleration() -> None:
    rows = run(PoseStop(sample((0.25, 0.0, 0.0, 0.0, 0.0, 0.0)), LIMITS))
    assert np.abs(rows[:, 18:21]).max() <= LIMITS.linear[1] * (1 + 1e-12)


def test_a_stop_does_not_depend_on_the_step() -> None:
    coarse, fine = run(PoseStop(MOVING, LIMITS), 2e-3)[-1], run(PoseStop(MOVING, LIMITS), 5e-4)[-1]
    assert np.allclose(coarse[POSITION], fine[POSITION], rtol=0, atol=1e-12)
    # The orientation is integrated at second order: (2 ms)² of about 10 rad/s³ over 1 s.
    assert np.allclose(coarse[ROTATION], fine[ROTATION], rtol=0, atol=4e-5)


def test_joints_stop_continuously_within_their_acceleration() -> None:
    start = np.concatenate(([0.1, -0.2], [1.0, -0.3], [0.0, 0.0]))
    rows = run(JointStop(start, 4.0))
    q, qd, qdd = rows[:, :2], rows[:, 2:4], rows[:, 4:]
    assert np.abs((q[2:] - q[:-2]) / (2 * DT) - qd[1:-1]).max() < 1e-4  # dt²/6 · 40 rad/s³, and the end
    assert np.abs((qd[2:] - qd[:-2]) / (2 * DT) - qdd[1:-1]).max() < 0.05  # dt · 40 rad/s³
    assert np.abs(qdd).max() <= 4.0 * (1 + 1e-12)
    assert np.abs(rows[-1, 2:]).max() == 0.0


GOAL = np.array([0.5, 0.1, 0.4]), Rotation.from_euler("xyz", [2.8, 0.0, 0.3]).as_matrix()


@pytest.mark.parametrize("start", [sample(), MOVING], ids=["from rest", "moving"])
def test_a_way_to_a_pose_ends_there_at_rest(start: np.ndarray) -> None:
    rows = run(go_to_pose(start, *GOAL, LIMITS))
    assert np.allclose(rows[-1, POSITION], GOAL[0], rtol=0, atol=1e-12)
    assert np.allclose(rotations(rows)[-1], GOAL[1], rtol=0, atol=1e-12)
    assert np.abs(rows[-1, TWIST.start :]).max() < 1e-9
    assert_is_consistent(np.vstack([start, rows]), 100.0)


def test_a_way_to_the_pose_in_effect_is_a_rest() -> None:
    start = sample()
    rows = run(go_to_pose(start, start[POSITION], start[ROTATION].reshape(3, 3).T, LIMITS))
    assert np.allclose(rows, start, rtol=0, atol=1e-12)
