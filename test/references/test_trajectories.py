"""Trajectories: velocity and acceleration are derivatives of the place, motions start and end at rest."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import checked
from thunder_controllers.references.sinusoids import JointExcitation, common_period
from thunder_controllers.references.trajectories import (
    ACCELERATION,
    CARTESIAN_SIZE,
    POSITION,
    ROTATION,
    TWIST,
    JointPolynomial,
    Pose,
    PoseToPose,
    Trajectory,
)
from thunder_controllers.simulation.reference_options import KINDS
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

A, B = (0.3, -0.8, 2.0), (-1.0, 0.4, 0.5)
R_A, R_B = (Rotation.from_euler("ZYX", ypr).as_matrix() for ypr in (A, B))
FIGURE = {"centre": [0.4, 0.0, 0.5], "amplitude": [0.10, 0.15, 0.10], "frequency": [0.2, 0.1, 0.4]}

EXAMPLES: dict[str, dict[str, Any]] = {
    "lissajous": FIGURE | {"phase": [0.0, np.pi / 2, 0.0], "ypr": A},
    "lissajous, swinging": FIGURE
    | {"ypr": A, "swing": [0.5, 0.4, 0.3], "swing_frequency": [0.1, 0.2, 0.3], "swing_phase": [0.0, 0.5, 1.0]},
    "hold": {"position": [0.1, 0.2, 0.3], "ypr": B},
    "poses": {
        "poses": [
            {"position": [0.4, 0.0, 0.5], "ypr": A},
            {"position": [0.5, 0.2, 0.4], "ypr": B},
            {"position": [0.5, 0.2, 0.4], "ypr": A},
        ],
        "dwell": 0.1,
    },
    "steps": {
        "steps": [
            {"time": 0.0, "position": [0.1, 0.2, 0.3], "ypr": A},
            {"time": 1.0, "position": [0.4, 0.5, 0.6], "ypr": B},
        ]
    },
    "excitation": {
        "position": [0.4, 0.1, 0.5],
        "ypr": B,
        "linear": [0.05, 0.1, 0.02],
        "angular": [0.3, 0.2, 0.4],
        "frequency": 0.2,
        "seed": 3,
    },
    "joint_lissajous": {
        "centre": [0.0, -0.5, 1.0],
        "amplitude": [0.3, 0.0, 0.5],
        "frequency": [0.5, 3.0, 0.25],
        "phase": [0.0, 0.0, 1.0],
    },
    "joint_path": {"positions": [[0.0, 0.0], [1.0, -0.2], [0.5, 0.7]], "velocity": [1.0, 2.0], "dwell": 0.2},
    "joint_steps": {"steps": [{"time": 0.0, "q": [0.1, 0.2]}, {"time": 1.0, "q": [0.3, 0.4]}]},
    "joint_polynomial": {"start": [0.0, -0.5], "end": [0.3, 1.0], "time": 0.8},
    "joint_polynomial, of degree 9": {"start": [0.0, -0.5], "end": [0.3, 1.0], "time": 0.8, "degree": 9},
    "joint_excitation": {
        "centre": [0.3, -1.0, 0.1],
        "amplitude": [0.5, 0.2, 0.0],
        "frequency": 0.2,
        "harmonics": 4,
        "seed": 3,
    },
}
ENDING = ("poses", "joint_path", "joint_polynomial", "joint_polynomial, of degree 9")
PERIODS = {"lissajous": 10.0, "lissajous, swinging": 10.0, "excitation": 5.0, "joint_excitation": 5.0}
PERIODS["joint_lissajous"] = 4.0

STEP = 1e-4
TOLERANCE = 5e-6
"""Central differences of width 1e-4 err by h²/6 times the third derivative, at most 60 1/s³ where it exists: 1e-7.

Where the jerk jumps, the difference of the velocity is off by up to jerk·h/2 = 40·1e-4/2 = 2e-3, that of the position
by jerk·h²/6, which is below the tolerance."""


def _make(name: str, **changes: Any) -> Trajectory:
    kind = KINDS[name.partition(",")[0]]
    made = checked(kind, EXAMPLES[name] | changes, "reference")
    assert isinstance(made, Trajectory)
    return made


def _matrices(rows: FloatArray) -> FloatArray:
    return rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)


def _parts(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Places, velocities and accelerations; of a place that turns its position alone."""
    if rows.shape[1] == CARTESIAN_SIZE:
        return rows[:, POSITION], rows[:, TWIST], rows[:, ACCELERATION]
    q, qd, qdd = np.split(rows, 3, axis=1)
    return q, qd, qdd


def test_every_trajectory_is_tried_here() -> None:
    kinds = {name for name, kind in KINDS.items() if issubclass(kind, Trajectory)}
    assert {name.partition(",")[0] for name in EXAMPLES} == kinds


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_written_of_one_is_what_it_is_made_of(name: str) -> None:
    trajectory = _make(name)
    written = trajectory.model_dump(exclude_defaults=True)
    again = KINDS[written["type"]].model_validate(written)
    assert isinstance(again, Trajectory)
    np.testing.assert_array_equal(again.sample(np.ones(1)), trajectory.sample(np.ones(1)))
    assert again == trajectory
    sent = pickle.loads(pickle.dumps(trajectory))  # to the processes of an experiment, after it was sampled
    np.testing.assert_array_equal(sent.sample(np.ones(1)), trajectory.sample(np.ones(1)))


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "steps" not in name])
def test_velocities_and_accelerations_are_derivatives(name: str) -> None:
    trajectory = _make(name)
    end = getattr(trajectory, "duration", trajectory.period or 1.0)
    t = np.linspace(0.0137, end * 0.99, 301)
    rows = [trajectory.sample(t + k * STEP) for k in (-1, 0, 1)]
    before, now, after = map(_parts, rows)
    velocity = (after[0] - before[0]) / (2 * STEP)
    if rows[0].shape[1] == CARTESIAN_SIZE:
        turn = Rotation.from_matrix(_matrices(rows[2]) @ _matrices(rows[0]).transpose(0, 2, 1)).as_rotvec()
        velocity = np.hstack([velocity, turn / (2 * STEP)])
    np.testing.assert_allclose(now[1], velocity, atol=TOLERANCE)
    jerk_jump = 2e-3 if name in ("poses", "joint_path") else 2e-5
    np.testing.assert_allclose(now[2], (after[1] - before[1]) / (2 * STEP), atol=jerk_jump)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.startswith("joint") and "steps" not in name])
def test_jerk_and_snap_are_derivatives_wherever_they_do_not_jump(name: str) -> None:
    """By central differences of the acceleration and the jerk; a jump of either is at a few of the times."""
    trajectory: Any = _make(name)
    end = getattr(trajectory, "duration", trajectory.period or 1.0)
    t = np.linspace(0.0137, end * 0.99, 301)
    before, now, after = (trajectory.further_rates(t + k * STEP) for k in (-1, 0, 1))
    accelerations = [_parts(trajectory.sample(t + k * STEP))[2] for k in (-1, 1)]
    scale = np.abs(now["snap"]).max() + np.abs(now["jerk"]).max()
    for rate, (low, high) in ((now["jerk"], accelerations), (now["snap"], (before["jerk"], after["jerk"]))):
        off = np.abs(rate - (high - low) / (2 * STEP)).max(axis=1)
        assert np.sum(off > 1e-5 * scale) <= (8 if name == "joint_path" else 0)  # seven phases of two ways
    beyond = trajectory.further_rates(np.array([end + 1.0]))
    if trajectory.period is None:
        assert not np.any(list(beyond.values()))


@pytest.mark.parametrize("degree", [1, 3, 5, 7, 9])
def test_polynomials_are_the_documented_ones(degree: Any) -> None:
    x = np.linspace(0.0, 1.0, 12)[:-1]
    known = {
        1: x,
        3: 3 * x**2 - 2 * x**3,
        5: 10 * x**3 - 15 * x**4 + 6 * x**5,
        7: 35 * x**4 - 84 * x**5 + 70 * x**6 - 20 * x**7,
        9: 126 * x**5 - 420 * x**6 + 540 * x**7 - 315 * x**8 + 70 * x**9,
    }
    rows = JointPolynomial(start=(0.0,), end=(1.0,), time=1.0, degree=degree).sample(x)
    np.testing.assert_allclose(rows[:, 0], known[degree], rtol=0, atol=1e-13)


def test_the_figure_is_the_documented_one() -> None:
    t = np.array([0.0, 1.3, 7.7])
    angle = 2 * np.pi * np.multiply.outer(t, FIGURE["frequency"]) + [0.0, np.pi / 2, 0.0]
    expected = FIGURE["centre"] + FIGURE["amplitude"] * np.sin(angle)
    rows = _make("lissajous").sample(t)
    np.testing.assert_allclose(rows[:, POSITION], expected, atol=1e-15)
    np.testing.assert_allclose(_matrices(rows), [R_A] * 3, atol=1e-14)


def test_the_orientation_swings_about_its_mean() -> None:
    (turned,) = _matrices(_make("lissajous, swinging").sample(np.array([1.3])))
    angles = np.array([0.5, 0.4, 0.3]) * np.sin(2 * np.pi * np.array([0.1, 0.2, 0.3]) * 1.3 + [0.0, 0.5, 1.0])
    np.testing.assert_allclose(turned, R_A @ Rotation.from_euler("ZYX", angles).as_matrix(), atol=1e-14)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_has_a_period_repeats_after_it(name: str) -> None:
    trajectory = _make(name)
    assert trajectory.period == PERIODS.get(name)
    if trajectory.period is not None:
        t = np.linspace(0.0, 3.0, 50)
        np.testing.assert_allclose(trajectory.sample(t + trajectory.period), trajectory.sample(t), atol=1e-9)


def test_common_period_takes_frequencies_as_decimals() -> None:
    assert common_period([0.2, 0.1, 0.4]) == 10.0
    assert common_period([0.3, 0.0]) == pytest.approx(1 / 0.3, rel=1e-15)
    assert common_period([0.0]) is None


@pytest.mark.parametrize(("degree", "zero"), [(1, 0), (3, 1), (5, 2), (7, 3), (9, 4)])
def test_polynomials_go_from_start_to_end_with_so_many_derivatives_zero(degree: Any, zero: int) -> None:
    start, end, time = (0.2, -1.0), (1.0, 2.0), 0.5
    trajectory = JointPolynomial(start=start, end=end, time=time, degree=degree)
    at = np.array([0.0, 0.5 * time, np.nextafter(time, 0.0)])
    rows = np.hstack([trajectory.sample(at), *trajectory.further_rates(at).values()]).reshape(3, 5, 2)
    np.testing.assert_allclose(rows[:, 0], [start, 0.5 * np.add(start, end), end], atol=3e-15)
    np.testing.assert_array_equal(rows[0, 1 : 1 + zero], 0.0)
    np.testing.assert_allclose(rows[2, 1 : 1 + zero], 0.0, atol=1e-8)
    assert zero == 4 or np.abs(rows[[0, 2], 1 + zero]).min() > 1.0


@pytest.mark.parametrize("name", ENDING)
def test_paths_start_and_end_at_rest_and_stay_there(name: str) -> None:
    trajectory: Any = _make(name)
    # The end is a sum of durations: rounding times the jerk.
    rows = trajectory.sample(np.array([-1.0, trajectory.duration + 1e-12, trajectory.duration + 5.0]))
    place, velocity, acceleration = _parts(rows)
    np.testing.assert_allclose(np.hstack([velocity, acceleration]), 0.0, atol=1e-10)
    np.testing.assert_allclose(place[0], _parts(trajectory.sample(np.zeros(1)))[0][0], atol=1e-12)
    np.testing.assert_allclose(place[1], place[2], atol=1e-12)


def test_a_path_passes_every_pose_keeps_its_bounds_and_its_acceleration_is_continuous() -> None:
    linear, angular = (0.1, 0.5, 5.0), (0.3, 1.0, 10.0)
    poses = (Pose(position=(0, 0, 0), ypr=A), Pose(position=(0.3, 0, 0), ypr=B))
    path = PoseToPose(poses=poses, linear=linear, angular=angular)
    t = np.linspace(0.0, path.duration, 4001)
    rows = path.sample(t)
    np.testing.assert_allclose(_matrices(rows)[[0, -1]], [R_A, R_B], atol=1e-7)
    np.testing.assert_allclose(rows[-1, POSITION], [0.3, 0, 0], atol=1e-8)
    np.testing.assert_allclose(_matrices(rows) @ _matrices(rows).transpose(0, 2, 1), [np.eye(3)] * len(t), atol=1e-12)
    for part, bounds in ((slice(0, 3), linear), (slice(3, 6), angular)):
        assert np.linalg.norm(rows[:, TWIST][:, part], axis=1).max() <= bounds[0] * (1 + 1e-9)
        assert np.linalg.norm(rows[:, ACCELERATION][:, part], axis=1).max() <= bounds[1] * (1 + 1e-9)
        jump = np.linalg.norm(np.diff(rows[:, ACCELERATION][:, part], axis=0), axis=1).max()
        assert jump <= bounds[2] * t[1] * (1 + 1e-6)


@pytest.mark.parametrize(("name", "size"), [("steps", 12), ("joint_steps", 2)])
def test_steps_jump_at_their_times_and_rest_between(name: str, size: int) -> None:
    rows = _make(name).sample(np.array([0.0, 0.999, 1.0, 7.0]))
    first, second = (rows[k, :size] for k in (0, 3))
    np.testing.assert_array_equal(rows[:, :size], [first, first, second, second])
    expected = ([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]) if name == "steps" else ([0.1, 0.2], [0.3, 0.4])
    np.testing.assert_array_equal([first[: len(expected[0])], second[: len(expected[1])]], expected)
    assert not rows[:, size:].any()


def test_poses_of_rotations_are_those_of_their_angles() -> None:
    (row,) = _make("hold", **Pose.keys([1, 2, 3], R_A)).sample(np.zeros(1))
    np.testing.assert_allclose(row[ROTATION].reshape(3, 3).T, R_A, atol=1e-14)
    np.testing.assert_array_equal(row[POSITION], [1, 2, 3])


def test_an_excitation_keeps_its_amplitudes_uses_them_and_its_seed_decides_the_phases() -> None:
    t = np.linspace(0.0, 5.0, 5001)
    offset = _make("excitation").sample(t)[:, POSITION] - [0.4, 0.1, 0.5]
    largest, amplitude = np.abs(offset).max(axis=0), np.array([0.05, 0.1, 0.02])
    assert (largest <= amplitude).all() and (largest >= 0.3 * amplitude).all()
    np.testing.assert_allclose(_matrices(_make("excitation", angular=0.0).sample(t[:9])), [R_B] * 9, atol=1e-14)
    same, other = (_make("excitation", seed=seed).sample(t)[:, POSITION] - [0.4, 0.1, 0.5] for seed in (3, 4))
    np.testing.assert_array_equal(same, offset)
    assert np.abs(other - offset).max() > 1e-3


def test_a_joint_excitation_keeps_its_amplitude_and_its_velocity() -> None:
    motion = _make("joint_excitation")
    assert isinstance(motion, JointExcitation)
    q, qd, _ = np.split(motion.sample(np.linspace(0.0, 5.0, 5001)), 3, axis=1)
    assert (np.abs(q - [0.3, -1.0, 0.1]) <= np.array([0.5, 0.2, 0.0]) + 1e-12).all()
    assert (np.abs(qd) <= motion.largest_velocity + 1e-12).all()


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("lissajous", {"centre": [0, 0]}, "reference.centre: only 2 values"),
        ("lissajous", {"centre": [0, 0, np.nan]}, "reference.centre.2: nan; valid: input should be a finite number"),
        ("lissajous", {"center": 0}, "unknown key 'center'; valid: .*centre"),
        ("poses", {"poses": [{"position": [0, 0, 0]}]}, "reference.poses: .*at least 2 items"),
        ("poses", {"poses": [{"position": [0, 0, 0]}] * 2}, "two places in a row are the same"),
        ("joint_path", {"positions": [[0.0, 1.0], [1.0]]}, r"positions of \[1, 2\] joints; valid: of the same"),
        ("joint_path", {"velocity": [1.0, 2.0, 3.0]}, "3 values of velocity; valid: one, or 2"),
        ("joint_path", {"jerk": 0.0}, "reference.jerk.*greater than 0"),
        ("joint_path", {"dwell": -1.0}, "reference.dwell: -1.0; valid: .*greater than or equal to 0"),
        ("joint_steps", {"steps": [{"time": 0.5, "q": [0.0]}]}, r"times \[0.5\]; valid: 0, then rising"),
        (
            "joint_steps",
            {"steps": [{"time": t, "q": [0.0]} for t in (0.0, 0.0)]},
            r"times \[0.0, 0.0\]; valid: 0, then",
        ),
        ("joint_steps", {"steps": [{"time": 0.0, "q": [1]}, {"time": 1.0, "q": [1, 2]}]}, "steps of different joints"),
        ("joint_polynomial", {"degree": 2}, "reference.degree: 2; valid: input should be 1, 3, 5, 7 or 9"),
        ("joint_lissajous", {"frequency": [1.0, 2.0]}, "2 values of frequency; valid: one, or 3"),
        ("joint_excitation", {"amplitude": [0.1] * 2}, "2 values of amplitude; valid: one, or 3"),
        ("excitation", {"harmonics": 0}, "reference.harmonics: 0; valid: .*greater than or equal to 1"),
        ("excitation", {"frequency": np.inf}, "reference.frequency: inf; valid: .*finite"),
    ],
)
def test_what_makes_no_motion_is_refused(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _make(name, **changes)
