"""From reference messages to samples and motions, with every check: frames, names, sizes, finite numbers, rotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Transform, Twist
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from thunder_controllers.ros.controller_motion import (
    JointSpline,
    Motion,
    PoseSpline,
    Spline,
    go_to_pose,
    quaternion_rates,
)
from thunder_controllers.trajectories import ACCELERATION, POSITION, ROTATION, TWIST, PathLimits
from thunder_dynamics.errors import ThunderError

FloatArray = NDArray[np.float64]

QUATERNION_TOLERANCE = 1e-3
"""A quaternion's norm may differ from one by this; it is then normalised."""

START_TOLERANCE = 0.01
"""A trajectory's point at time zero may be this far from the reference in effect [m, rad]."""

LARGEST_TURN = 2.0
"""Two orientations in a row of a trajectory may differ by this [rad]: beyond, the way between them is not clear."""


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


def motion_to_pose(message: PoseStamped, frames: Frames, start: FloatArray, limits: PathLimits) -> Motion:
    """Plan the way to a target pose from the sample in effect.

    Raises:
        ReferenceMessageError: for another frame, or a pose that is none.
    """
    _check_frame(message.header.frame_id, frames, "target_pose")
    pose = message.pose
    position, quaternion = _pose(pose.position, pose.orientation, "target_pose")
    return go_to_pose(start, position, Rotation.from_quat(quaternion).as_matrix(), limits)


def motion_along(message: MultiDOFJointTrajectory, frames: Frames, start: FloatArray) -> Motion:
    """Interpolate a trajectory of poses from the sample in effect, acceleration continuous.

    Raises:
        ReferenceMessageError: for another frame or joint, bad times, sizes or numbers, a start elsewhere, an end in
            motion, or orientations too far apart.
    """
    where = "trajectory"
    _check_frame(message.header.frame_id, frames, where)
    if list(message.joint_names) not in ([], [frames.ee]):
        what = f"joint_names {list(message.joint_names)}"
        raise ReferenceMessageError(what, where=where, valid=f"[{frames.ee}], or none")
    for k, point in enumerate(message.points):
        _check_counts([len(point.transforms)], 1, f"{where}: points[{k}]")
    times = _times(message.points, where)
    start_value, first = _pose_state(start)
    values = [start_value]
    for k, point in enumerate(message.points):
        position, quaternion = _transform(point.transforms[0], f"{where}: points[{k}]")
        values.append(np.concatenate((position, _nearest(quaternion, values[-1][3:], f"{where}: points[{k}]"))))
    _check_start(times, values[0], values[1], where)
    rates, curvatures = _pose_rates(message.points, values[1:], where)
    return PoseSpline(_spline(times, values, first, rates, curvatures))


def motion_of_joints(message: JointTrajectory, joints: Sequence[str], start: FloatArray) -> Motion:
    """Interpolate a joint trajectory from the sample in effect; its joints may have any order.

    Raises:
        ReferenceMessageError: for missing or unknown joints, bad times, sizes or numbers, a start elsewhere, or an
            end in motion.
    """
    where, n = "joint_trajectory", len(joints)
    if sorted(message.joint_names) != sorted(joints):
        raise ReferenceMessageError(f"joint_names {list(message.joint_names)}", where=where, valid=", ".join(joints))
    order = [list(message.joint_names).index(joint) for joint in joints]
    times = _times(message.points, where)
    columns = []
    for field, needed in (("positions", True), ("velocities", False), ("accelerations", False)):
        columns.append(_joint_rows(message.points, field, order, needed, where))
    q = start[:n]
    values = [q, *columns[0]]  # type: ignore[misc]  # positions are needed, so never None
    _check_start(times, q, values[1], where)
    first = start[n : 2 * n], start[2 * n :]
    return JointSpline(_spline(times, values, first, columns[1], columns[2]))


def _joint_rows(
    points: Sequence[Any], field: str, order: list[int], needed: bool, where: str
) -> list[FloatArray] | None:
    if not needed and not any(len(getattr(point, field)) for point in points):
        return None
    rows = []
    for k, point in enumerate(points):
        row = np.array(getattr(point, field), dtype=float)
        _check_counts([len(row)], len(order), f"{where}: points[{k}].{field}")
        if not np.isfinite(row).all():
            raise ReferenceMessageError("not finite", where=f"{where}: points[{k}].{field}", valid="numbers")
        rows.append(row[order])
    if field == "velocities" and np.abs(rows[-1]).max() > 0.0:
        raise ReferenceMessageError("the last point moves", where=where, valid="velocity zero at the end")
    return rows


def _pose_rates(
    points: Sequence[Any], values: list[FloatArray], where: str
) -> tuple[list[FloatArray] | None, list[FloatArray] | None]:
    """Rates and curvatures of [p; quaternion] where the points give velocities (and accelerations)."""
    if not any(len(point.velocities) for point in points):
        return None, None
    has_curvature = all(len(point.accelerations) == 1 for point in points)
    rates, curvatures = [], []
    for k, (point, value) in enumerate(zip(points, values, strict=True)):
        _check_counts([len(point.velocities)], 1, f"{where}: points[{k}].velocities")
        twist = _twist(point.velocities[0])
        rate = _twist(point.accelerations[0]) if has_curvature else np.zeros(6)
        if not (np.isfinite(twist).all() and np.isfinite(rate).all()):
            raise ReferenceMessageError("not finite", where=f"{where}: points[{k}]", valid="numbers")
        q_dot, q_ddot = quaternion_rates(value[3:], twist[3:], rate[3:])
        rates.append(np.concatenate((twist[:3], q_dot)))
        curvatures.append(np.concatenate((rate[:3], q_ddot)))
    if np.abs(rates[-1]).max() > 0.0:
        raise ReferenceMessageError("the last point moves", where=where, valid="velocity zero at the end")
    return rates, curvatures if has_curvature else None


def _spline(
    times: FloatArray,
    values: list[FloatArray],
    first: tuple[FloatArray, FloatArray],
    rates: list[FloatArray] | None,
    curvatures: list[FloatArray] | None,
) -> Spline:
    """Make the spline through the sample in effect at time zero and the points; a point at zero is left out."""
    skip = 1 if times[0] == 0.0 else 0
    points = np.array([values[0], *values[1 + skip :]])
    all_times = np.concatenate(([0.0], times[skip:]))

    def rows(given: list[FloatArray] | None, at_start: FloatArray) -> FloatArray | None:
        return None if given is None else np.array([at_start, *given[skip:]])

    return Spline(all_times, points, first, rows(rates, first[0]), rows(curvatures, first[1]))


def _pose_state(start: FloatArray) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """[p; quaternion] of a sample, and its first two derivatives."""
    quaternion = Rotation.from_matrix(start[ROTATION].reshape(3, 3).T).as_quat()
    q_dot, q_ddot = quaternion_rates(quaternion, start[15:18], start[21:24])
    value = np.concatenate((start[POSITION], quaternion))
    return value, (np.concatenate((start[12:15], q_dot)), np.concatenate((start[18:21], q_ddot)))


def _nearest(quaternion: FloatArray, before: FloatArray, where: str) -> FloatArray:
    """Of the two quaternions of an orientation, the one nearer to the one before."""
    cosine = float(quaternion @ before)
    if 2.0 * np.arccos(min(abs(cosine), 1.0)) > LARGEST_TURN:
        raise ReferenceMessageError("too large a turn since the point before", where=where, valid=f"{LARGEST_TURN} rad")
    return quaternion if cosine >= 0.0 else -quaternion


def _times(points: Sequence[Any], where: str) -> FloatArray:
    times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points], dtype=float)
    if not len(times) or times[-1] <= 0.0 or times[0] < 0.0 or not (np.diff(times) > 0.0).all():
        valid = "at least one point, times from zero or later, strictly increasing, the last one positive"
        raise ReferenceMessageError(f"time_from_start {times.tolist()}", where=where, valid=valid)
    return times


def _check_start(times: FloatArray, reference: FloatArray, first: FloatArray, where: str) -> None:
    distance = float(np.abs(first - reference).max())
    if times[0] == 0.0 and distance > START_TOLERANCE:
        valid = f"{START_TOLERANCE} from the reference in effect, or a later first time"
        raise ReferenceMessageError(f"the first point is {distance:.3g} away", where=where, valid=valid)


def _check_counts(counts: list[int], expected: int, where: str) -> None:
    if any(count != expected for count in counts):
        raise ReferenceMessageError(f"{counts[0]} values", where=where, valid=str(expected))


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
