"""Runs motions of the host on the pendulum's laws, and says what every sequence of references must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Controller, Guard, Library, MotionLimits, Options, TimedPose
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST

START = np.array([0.1, 0.2])
REST = np.zeros(2)
DT = 1e-3
LIMITS = MotionLimits()
BOUNDS = {
    "linear": (LIMITS.linear_velocity, LIMITS.linear_acceleration, LIMITS.linear_jerk),
    "angular": (LIMITS.angular_velocity, LIMITS.angular_acceleration, LIMITS.angular_jerk),
}
PLACE = np.array([0.4, -0.1, 0.5])
TURN = Rotation.from_euler("xyz", [3.0, 0.2, -0.4])
GOAL = np.array([0.5, 0.1, 0.4]), Rotation.from_euler("xyz", [2.8, 0.0, 0.3])
VELOCITY = np.array([0.2, -0.1, 0.05, 0.3, -0.5, 0.8])
RATE = np.array([0.5, 0.2, -0.3, 1.0, 0.4, -2.0])

POINTS = [
    TimedPose(0.8, PLACE + [0.05, 0.1, -0.05], (Rotation.from_rotvec([0.2, 0.4, -0.3]) * TURN).as_quat()),
    TimedPose(1.7, PLACE + [0.1, 0.0, 0.05], (Rotation.from_rotvec([-0.3, 0.1, 0.3]) * TURN).as_quat()),
]

functions = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def sample(twist: Any = (0.0,) * 6, acceleration: Any = (0.0,) * 6) -> np.ndarray:
    """A Cartesian sample at PLACE and TURN."""
    row = np.zeros(24)
    row[POSITION], row[ROTATION] = PLACE, TURN.as_matrix().T.ravel()
    row[TWIST], row[ACCELERATION] = twist, acceleration
    return row


MOVING = sample(VELOCITY, RATE)
JOINT_MOVING = np.array([0.1, -0.2, 1.0, -0.3, 2.0, 1.0])


FREE: dict[str, Any] = {
    "rehearses_motions": False,
    "approaches_jumps": False,
    "approach_patience": np.inf,
    "velocity_limit": [np.inf] * 2,
}
"""Options of a run: references go where no pendulum can, and it stays where it is."""


class Run:
    """An active controller, its clock, and the references that its updates used."""

    def __init__(self, library: Library, law: str, start: np.ndarray | None = None, **options: Any) -> None:
        self.host = Controller()
        self.host.configure(library, law=law, options=Options(**FREE | options))
        self.host.activate(START)
        self.t = 0.0
        self.rows: list[np.ndarray] = []
        if start is not None:
            self.host.set_reference(start)
            self.step()

    def step(self, dt: float = DT) -> Guard:
        self.t += dt
        guards = Guard(self.host.update(self.t, START, REST, dt, np.zeros(2)))
        self.rows.append(self.host.reference_vector)
        return guards

    def steps(self, count: int, dt: float = DT) -> np.ndarray:
        """As many steps; their references as rows, with the one before them first."""
        for _ in range(count):
            self.step(dt)
        return np.array(self.rows[-count - 1 :])

    def finish(self, dt: float = DT) -> np.ndarray:
        """Steps to the end of the motion, and a few more; all references so far, as rows."""
        self.step(dt)
        while self.host.reference_source != "hold":
            self.step(dt)
            assert len(self.rows) < 60_000
        self.steps(3, dt)
        return np.array(self.rows)


def cartesian(library: Library, start: np.ndarray | None = None, **options: Any) -> Run:
    return Run(library, "cartesian_spring", sample() if start is None else start, **options)


def joint(library: Library, start: np.ndarray | None = None, **options: Any) -> Run:
    return Run(library, "joint_adaptive", start, **options)


def rotations(rows: np.ndarray) -> np.ndarray:
    return rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)


def assert_is_consistent(rows: np.ndarray, jerk: float, snap: float) -> None:
    """Central differences of pose and twist give twist and acceleration; rotations are orthonormal.

    The error of a central difference is dt²/6 times the bound of the third derivative (`jerk`, `snap` [SI]), and dt/4
    times a jump of the second (of the third, for the acceleration) where two motions meet.
    """
    R = rotations(rows)
    assert np.allclose(np.matmul(R, R.transpose(0, 2, 1)), np.eye(3), rtol=0, atol=1e-12)
    assert np.allclose(np.linalg.det(R), 1.0, rtol=0, atol=1e-12)
    velocity = (rows[2:, POSITION] - rows[:-2, POSITION]) / (2 * DT)
    turn = Rotation.from_matrix(np.matmul(R[2:], R[:-2].transpose(0, 2, 1))).as_rotvec() / (2 * DT)
    acceleration = (rows[2:, TWIST] - rows[:-2, TWIST]) / (2 * DT)
    assert np.abs(velocity - rows[1:-1, 12:15]).max() < DT**2 * jerk
    assert np.abs(turn - rows[1:-1, 15:18]).max() < DT**2 * jerk
    assert np.abs(acceleration - rows[1:-1, ACCELERATION]).max() < DT**2 / 6 * snap + 0.5 * DT * jerk


def assert_is_continuous(rows: np.ndarray, jerk: float) -> None:
    """No step of the acceleration is larger than a bounded jerk makes it."""
    assert np.abs(np.diff(rows[:, ACCELERATION], axis=0)).max() <= jerk * DT


def assert_rests(row: np.ndarray) -> None:
    assert not row[TWIST.start :].any()


def norms(rows: np.ndarray, block: slice) -> tuple[float, float]:
    """The greatest norm of the linear and of the angular part."""
    linear, angular = rows[:, block.start : block.start + 3], rows[:, block.start + 3 : block.stop]
    return float(np.linalg.norm(linear, axis=1).max()), float(np.linalg.norm(angular, axis=1).max())
