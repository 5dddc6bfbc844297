"""From reference messages to samples, targets and timed points for the host.

Checked here is what only the message says: frames, names, sizes, quaternions. The host checks the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Transform, Twist
from numpy.typing import NDArray
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from thunder_controllers.host import TimedJoints, TimedPose
from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_dynamics.errors import ThunderError

FloatArray = NDArray[np.float64]

QUATERNION_TOLERANCE = 1e-3
"""A quaternion's norm may differ from one by this; it is then normalised."""


class ReferenceMessageError(ThunderError):
    """A reference message says something that cannot be followed; what was followed before stays."""


@dataclass(frozen=True)
class Frames:
    """Names of the frames that poses are given in, and of."""

    base: str
    ee: str


def fill_sample(message: MultiDOFJointTrajectoryPoint, row: FloatArray) -> None:
    """Write a streamed reference as a Cartesian sample, shape (24,); row is unchanged if it is refused.

    Raises:
        ReferenceMessageError: for more or less than one transform, more than one velocity or acceleration, numbers that
            are not finite, or a quaternion that is none.
    """
    counts = len(message.transforms), len(message.velocities), len(message.accelerations)
    if counts[0] != 1 or counts[1] > 1 or counts[2] > 1:
        raise ReferenceMessageError(
            f"{counts[0]} transforms, {counts[1]} velocities, {counts[2]} accelerations",
            where="reference",
            valid="one transform, at most one velocity and one acceleration",
        )
    position, quaternion = _transform(message.transforms[0], "reference")
    twist = _twist(message.velocities[0]) if counts[1] else np.zeros(6)
    rate = _twist(message.accelerations[0]) if counts[2] else np.zeros(6)
    if not (np.isfinite(twist).all() and np.isfinite(rate).all()):
        raise ReferenceMessageError("a velocity or acceleration is not finite", where="reference", valid="numbers")
    row[POSITION] = position
    write_rotation(quaternion, row)
    row[TWIST], row[ACCELERATION] = twist, rate


def fill_joint_sample(message: JointTrajectoryPoint, row: FloatArray) -> None:
    """Write a streamed reference as a joint sample, shape (3·n,); row is unchanged if it is refused.

    Raises:
        ReferenceMessageError: for another number of joints, or numbers that are not finite.
    """
    n = len(row) // 3
    sample = np.zeros(3 * n)
    for k, field in enumerate(("positions", "velocities", "accelerations")):
        values = np.asarray(getattr(message, field), dtype=float)
        if len(values) != n and (len(values) or k == 0):
            valid = f"{n}, in the order of the parameter joints" + (", or none" if k else "")
            raise ReferenceMessageError(f"{len(values)} {field}", where="joint_reference", valid=valid)
        if not np.isfinite(values).all():
            raise ReferenceMessageError(f"{field} are not finite", where="joint_reference", valid="numbers")
        sample[k * n : k * n + len(values)] = values
    row[:] = sample


def write_rotation(quaternion: FloatArray, row: FloatArray) -> None:
    """Write the rotation matrix of a unit quaternion (x, y, z, w) into a sample, column-major."""
    x, y, z, w = quaternion.tolist()
    row[ROTATION] = (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y + z * w),
        2.0 * (x * z - y * w),
        2.0 * (x * y - z * w),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z + x * w),
        2.0 * (x * z + y * w),
        2.0 * (y * z - x * w),
        1.0 - 2.0 * (x * x + y * y),
    )


def target_of(message: PoseStamped, frames: Frames) -> tuple[FloatArray, FloatArray]:
    """Read a target: position [m] and unit quaternion (x, y, z, w).

    Raises:
        ReferenceMessageError: for another frame, or a pose that is none.
    """
    _check_frame(message.header.frame_id, frames, "target_pose")
    return _pose(message.pose.position, message.pose.orientation, "target_pose")


def timed_poses(message: MultiDOFJointTrajectory, frames: Frames) -> list[TimedPose]:
    """Read a trajectory of poses.

    Raises:
        ReferenceMessageError: for another frame or joint, more or less than one transform or more than one velocity or
            acceleration in a point, or a pose that is none.
    """
    where = "trajectory"
    _check_frame(message.header.frame_id, frames, where)
    if list(message.joint_names) not in ([], [frames.ee]):
        what = f"joint_names {list(message.joint_names)}"
        raise ReferenceMessageError(what, where=where, valid=f"[{frames.ee}], or none")
    points = []
    for k, point in enumerate(message.points):
        here = f"{where}: points[{k}]"
        _check_counts(len(point.transforms), (1,), f"{here}.transforms")
        _check_counts(len(point.velocities), (0, 1), f"{here}.velocities")
        _check_counts(len(point.accelerations), (0, 1), f"{here}.accelerations")
        twists = [_twist(given[0]) if given else None for given in (point.velocities, point.accelerations)]
        points.append(TimedPose(_time(point), *_transform(point.transforms[0], here), *twists))
    return points


def timed_joints(message: JointTrajectory, joints: Sequence[str]) -> list[TimedJoints]:
    """Read a joint trajectory into the order of the robot; its joints may have any order.

    Raises:
        ReferenceMessageError: for missing or unknown joints, or another number of values.
    """
    where, n = "joint_trajectory", len(joints)
    if sorted(message.joint_names) != sorted(joints):
        raise ReferenceMessageError(f"joint_names {list(message.joint_names)}", where=where, valid=", ".join(joints))
    order = [list(message.joint_names).index(joint) for joint in joints]
    points = []
    for k, point in enumerate(message.points):
        rows: list[Any] = []
        for field, counts in (("positions", (n,)), ("velocities", (0, n)), ("accelerations", (0, n))):
            values = np.array(getattr(point, field), dtype=float)
            _check_counts(len(values), counts, f"{where}: points[{k}].{field}")
            rows.append(values[order] if len(values) else None)
        points.append(TimedJoints(_time(point), *rows))
    return points


def _time(point: Any) -> float:
    return float(point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec)


def _check_counts(count: int, valid: tuple[int, ...], where: str) -> None:
    if count not in valid:
        raise ReferenceMessageError(f"{count} values", where=where, valid=" or ".join(map(str, valid)))


def _check_frame(frame: str, frames: Frames, where: str) -> None:
    if frame != frames.base:
        raise ReferenceMessageError(f"frame_id '{frame}'", where=where, valid=f"'{frames.base}', parameter base_frame")


def _transform(transform: Transform, where: str) -> tuple[FloatArray, FloatArray]:
    return _pose(transform.translation, transform.rotation, where)


def _pose(position: Any, orientation: Any, where: str) -> tuple[FloatArray, FloatArray]:
    """Position and unit quaternion (x, y, z, w), checked."""
    p = np.array((position.x, position.y, position.z))
    q = np.array((orientation.x, orientation.y, orientation.z, orientation.w))
    norm = float(np.sqrt(q @ q))
    if not (np.isfinite(p).all() and np.isfinite(norm)):
        raise ReferenceMessageError("a position or orientation is not finite", where=where, valid="numbers")
    if abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise ReferenceMessageError(f"a quaternion of norm {norm:.4g}", where=where, valid="norm 1")
    return p, q / norm


def _twist(twist: Twist) -> FloatArray:
    linear, angular = twist.linear, twist.angular
    return np.array((linear.x, linear.y, linear.z, angular.x, angular.y, angular.z))
