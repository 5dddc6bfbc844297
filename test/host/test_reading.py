"""What reference messages say, once unpacked: what it becomes, and the text that refuses each bad one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Configuration, Library, PosePoint, ReferenceReader, TimedJoints
from thunder_controllers.references.trajectories import POSITION, ROTATION
from thunder_dynamics.errors import LawError

NAN = float("nan")
TURN = Rotation.from_euler("xyz", [2.7, 0.1, -0.3])
PLACE = np.array([0.5, 0.0, 0.45])
POSE = (*PLACE, *TURN.as_quat())
VELOCITY, ACCELERATION = np.arange(1.0, 7.0), np.arange(-6.0, 0.0)


@pytest.fixture(scope="module")
def cartesian(library: Library) -> ReferenceReader:
    return ReferenceReader(Configuration(library, law="cartesian_spring"), "world", "ee")


@pytest.fixture(scope="module")
def joint(library: Library) -> ReferenceReader:
    return ReferenceReader(Configuration(library, law="joint_adaptive", joints=["a", "b"]), "world", "ee")


def test_a_streamed_pose_becomes_the_same_sample(cartesian: ReferenceReader) -> None:
    row = cartesian.sample(PosePoint(0.0, [POSE], [VELOCITY], [ACCELERATION]))
    np.testing.assert_array_equal(row[POSITION], PLACE)
    np.testing.assert_allclose(row[ROTATION].reshape(3, 3).T, TURN.as_matrix(), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(row[12:], np.concatenate((VELOCITY, ACCELERATION)))
    assert not cartesian.sample(PosePoint(0.0, [POSE]))[12:].any()


def test_a_quaternion_almost_of_norm_one_is_normalised(cartesian: ReferenceReader) -> None:
    row = cartesian.sample(PosePoint(0.0, [(*PLACE, *(1.0009 * TURN.as_quat()))]))
    np.testing.assert_allclose(row[ROTATION].reshape(3, 3).T, TURN.as_matrix(), rtol=0, atol=1e-15)
    with pytest.raises(LawError, match=r"reference: a quaternion of norm 1\.1; valid: norm 1"):
        cartesian.sample(PosePoint(0.0, [(*PLACE, *(1.1 * TURN.as_quat()))]))


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        (
            PosePoint(0.0, []),
            "reference: 0 transforms, 0 velocities, 0 accelerations; valid: one transform, at most one",
        ),
        (PosePoint(0.0, [POSE, POSE]), "2 transforms"),
        (PosePoint(0.0, [POSE], [VELOCITY, VELOCITY]), "2 velocities"),
        (PosePoint(0.0, [POSE], [[NAN] * 6]), "a velocity or acceleration is not finite; valid: numbers"),
        (PosePoint(0.0, [(NAN, *POSE[1:])]), "a position or orientation is not finite; valid: numbers"),
        (PosePoint(0.0, [(*POSE[:6], NAN)]), "a position or orientation is not finite"),
    ],
)
def test_a_bad_streamed_pose_is_refused(cartesian: ReferenceReader, point: PosePoint, reason: str) -> None:
    with pytest.raises(LawError, match=reason):
        cartesian.sample(point)


def test_streamed_joints_become_the_same_sample(joint: ReferenceReader) -> None:
    assert joint.sample(TimedJoints(0.0, [1.0, 2.0], [], [3.0, 4.0])).tolist() == [1.0, 2.0, 0.0, 0.0, 3.0, 4.0]
    assert joint.sample(TimedJoints(0.0, [1.0, 2.0], [-1.0, -2.0])).tolist() == [1.0, 2.0, -1.0, -2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        (TimedJoints(0.0, []), "joint_reference: 0 positions; valid: 2, in the order of the library's joints$"),
        (TimedJoints(0.0, [1.0, 2.0, 3.0]), "3 positions"),
        (TimedJoints(0.0, [1.0, 2.0], [1.0]), "1 velocities; valid: 2, .* or none"),
        (TimedJoints(0.0, [1.0, NAN]), "positions are not finite; valid: numbers"),
        (TimedJoints(0.0, [1.0, 2.0], [], [1.0, np.inf]), "accelerations are not finite"),
    ],
)
def test_bad_streamed_joints_are_refused(joint: ReferenceReader, point: TimedJoints, reason: str) -> None:
    with pytest.raises(LawError, match=reason):
        joint.sample(point)


def test_a_target_is_read_in_the_base_frame_only(cartesian: ReferenceReader) -> None:
    position, orientation = cartesian.target("world", POSE)
    np.testing.assert_array_equal(position, PLACE)
    np.testing.assert_allclose(orientation, TURN.as_quat(), rtol=0, atol=1e-15)
    with pytest.raises(LawError, match="target_pose: frame_id 'camera'; valid: 'world', parameter base_frame"):
        cartesian.target("camera", POSE)


def test_a_trajectory_becomes_timed_poses(cartesian: ReferenceReader) -> None:
    points = [PosePoint(1.0, [POSE], [VELOCITY], [ACCELERATION]), PosePoint(2.5, [POSE])]
    for names in ([], ["ee"]):
        first, second = cartesian.poses("world", names, points)
        assert (first.time, second.time) == (1.0, 2.5)
        np.testing.assert_array_equal(first.position, PLACE)
        np.testing.assert_allclose(first.orientation, TURN.as_quat(), rtol=0, atol=1e-15)
        np.testing.assert_array_equal(first.twist, VELOCITY)
        np.testing.assert_array_equal(first.acceleration, ACCELERATION)
        assert second.twist is None and second.acceleration is None


@pytest.mark.parametrize(
    ("frame", "names", "point", "reason"),
    [
        ("base", ["ee"], PosePoint(1.0, [POSE]), "trajectory: frame_id 'base'; valid: 'world'"),
        ("world", ["elbow"], PosePoint(1.0, [POSE]), "trajectory: joint_names elbow; valid: ee, or none"),
        ("world", [], PosePoint(1.0, []), r"trajectory: points\[0\].transforms: 0 values; valid: 1"),
        ("world", [], PosePoint(1.0, [POSE], [VELOCITY] * 2), r"points\[0\].velocities: 2 values; valid: 0 or 1"),
        ("world", [], PosePoint(1.0, [(NAN, *POSE[1:])]), r"points\[0\]: a position or orientation is not finite"),
    ],
)
def test_a_bad_trajectory_is_refused(
    cartesian: ReferenceReader, frame: str, names: list[str], point: PosePoint, reason: str
) -> None:
    with pytest.raises(LawError, match=reason):
        cartesian.poses(frame, names, [point])


@pytest.mark.parametrize(
    ("names", "point", "reason"),
    [
        (["a", "b"], ([0.5],), r"points\[0\].positions: 1 values; valid: 2"),
        (["a", "b"], ([0.5, 0.5], [], [1.0]), r"points\[0\].accelerations: 1 values; valid: 0 or 2"),
    ],
)
def test_a_bad_joint_trajectory_is_refused(
    joint: ReferenceReader, names: list[str], point: tuple[Any, ...], reason: str
) -> None:
    with pytest.raises(LawError, match=reason):
        joint.joints(names, [TimedJoints(1.0, *point)])
