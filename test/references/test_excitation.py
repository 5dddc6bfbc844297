"""The excitation motion: exact derivatives, amplitudes as asked for, and it does excite."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from thunder_controllers.references.excitation import Excitation, JointExcitation
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_dynamics.errors import DimensionError, ScenarioError

STEP = 1e-5
RTOL = 1e-7
"""Central differences at this step err by 1e-10·f''' and by rounding, 1e-16/1e-5."""

TIMES = np.linspace(0.0, 10.0, 101)
R0 = Rotation.from_euler("xyz", [3.0, 0.2, -0.4]).as_matrix()


def _excitation(**changes: object) -> Excitation:
    arguments: dict[str, object] = {"position": [0.4, 0.1, 0.5], "rotation": R0, "linear": [0.05, 0.1, 0.02]}
    return Excitation(**{**arguments, "angular": [0.3, 0.2, 0.4], **changes})  # type: ignore[arg-type]


def _rotations(rows: np.ndarray) -> np.ndarray:
    return rows[:, ROTATION].reshape(-1, 3, 3).transpose(0, 2, 1)


def test_twist_is_the_derivative_of_the_pose() -> None:
    motion = _excitation()
    before, rows, after = (motion.sample(TIMES + d) for d in (-STEP, 0.0, STEP))
    np.testing.assert_allclose(
        rows[:, TWIST][:, :3], (after[:, POSITION] - before[:, POSITION]) / (2 * STEP), atol=RTOL
    )
    turn = _rotations(after) @ _rotations(before).transpose(0, 2, 1)
    np.testing.assert_allclose(rows[:, TWIST][:, 3:], Rotation.from_matrix(turn).as_rotvec() / (2 * STEP), atol=RTOL)


def test_acceleration_is_the_derivative_of_the_twist() -> None:
    motion = _excitation()
    before, rows, after = (motion.sample(TIMES + d) for d in (-STEP, 0.0, STEP))
    np.testing.assert_allclose(rows[:, ACCELERATION], (after[:, TWIST] - before[:, TWIST]) / (2 * STEP), atol=RTOL)


def test_rotations_are_rotations_about_the_given_one() -> None:
    rotations = _rotations(_excitation(angular=[0.0, 0.0, 0.0]).sample(TIMES))
    np.testing.assert_allclose(rotations, np.broadcast_to(R0, rotations.shape), atol=1e-14)
    rotations = _rotations(_excitation().sample(TIMES))
    np.testing.assert_allclose(
        rotations @ rotations.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (101, 3, 3)), atol=1e-14
    )


def test_position_stays_within_the_amplitudes_and_repeats() -> None:
    motion = _excitation(frequency=0.2)
    offset = motion.sample(np.linspace(0, 5, 5001))[:, POSITION] - [0.4, 0.1, 0.5]
    assert (np.abs(offset).max(axis=0) <= [0.05, 0.1, 0.02]).all()
    assert (np.abs(offset).max(axis=0) >= 0.3 * np.array([0.05, 0.1, 0.02])).all()
    np.testing.assert_allclose(motion.sample(TIMES + motion.period), motion.sample(TIMES), atol=1e-12)


def test_the_seed_decides_the_phases() -> None:
    np.testing.assert_array_equal(_excitation(seed=3).sample(TIMES), _excitation(seed=3).sample(TIMES))
    assert np.abs(_excitation(seed=3).sample(TIMES) - _excitation(seed=4).sample(TIMES)).max() > 1e-3


@pytest.mark.parametrize("changes", [{"linear": [0.1]}, {"angular": [0.1, 0.2, np.nan]}, {"rotation": np.eye(2)}])
def test_wrong_shapes_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(DimensionError, match=next(iter(changes))):
        _excitation(**changes)


@pytest.mark.parametrize("changes", [{"frequency": 0.0}, {"frequency": np.inf}, {"harmonics": 0}])
def test_it_needs_a_frequency_and_a_harmonic(changes: dict[str, object]) -> None:
    with pytest.raises(ScenarioError, match="positive frequency"):
        _excitation(**changes)


def test_joint_excitation_has_exact_derivatives_and_keeps_its_amplitude_and_velocity() -> None:
    centre, amplitude = np.array([0.3, -1.0, 0.1]), np.array([0.5, 0.2, 0.0])
    motion = JointExcitation(centre, amplitude, 0.2, harmonics=4, seed=3)
    before, rows, after = (np.split(motion.sample(TIMES + d), 3, axis=1) for d in (-STEP, 0.0, STEP))
    np.testing.assert_allclose((after[0] - before[0]) / (2 * STEP), rows[1], rtol=RTOL, atol=1e-8)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * STEP), rows[2], rtol=RTOL, atol=1e-8)
    assert (np.abs(rows[0] - centre) <= amplitude + 1e-12).all()
    assert (np.abs(rows[1]) <= motion.largest_velocity + 1e-12).all()
    assert motion.period == 5.0
    np.testing.assert_allclose(motion.sample(TIMES + 5.0), np.hstack(rows), atol=1e-9)


def test_joint_excitation_refuses_amplitudes_of_another_size() -> None:
    with pytest.raises(DimensionError, match="amplitude"):
        JointExcitation([0.0, 0.0], [0.1])
