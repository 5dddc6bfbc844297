"""Between messages and arrays: stamps, poses, vectors, tables, joint states in the order of a robot."""

from __future__ import annotations

import array
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from thunder_controllers.fields import order_of
from thunder_dynamics.errors import DimensionError

FloatArray = NDArray[np.float64]

NANOSECONDS = 1_000_000_000


def nanoseconds(stamp: Any) -> int:
    """Read a stamp or a duration [ns]."""
    return int(stamp.sec * NANOSECONDS + stamp.nanosec)


def write_stamp(stamp: Any, time_ns: int) -> None:
    """Write a stamp or a duration [ns]."""
    stamp.sec, stamp.nanosec = divmod(time_ns, NANOSECONDS)


def write_vector(vector: Any, values: FloatArray) -> None:
    """Write three numbers to a point or vector."""
    vector.x, vector.y, vector.z = values.tolist()


def write_twist(twist: Any, values: FloatArray) -> None:
    """Write three linear and three angular numbers."""
    write_vector(twist.linear, values[:3])
    write_vector(twist.angular, values[3:])


def write_rotation(quaternion: Any, rotation: FloatArray) -> None:
    """Write a rotation matrix as a quaternion."""
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = Rotation.from_matrix(rotation).as_quat().tolist()


def write_turn(quaternion: Any, sine: FloatArray, cosine: float | None) -> None:
    """Write the rotation with that r sin θ and cos θ as a quaternion with w ≥ 0; without a cosine, one of 90° at most.

    At 180°, where r is unknown, it is one about x.
    """
    size = float(np.linalg.norm(sine))
    if cosine is None:
        cosine = math.sqrt(max(1.0 - size**2, 0.0))
    axis = sine / size if size > 0.0 else np.array([1.0, 0.0, 0.0])
    turn = Rotation.from_rotvec(math.atan2(size, cosine) * axis)
    quaternion.x, quaternion.y, quaternion.z, quaternion.w = turn.as_quat().tolist()


def doubles(values: FloatArray) -> array.array[float]:
    """Make what the field of a message takes without a copy of each number."""
    return array.array("d", np.ascontiguousarray(values, dtype=float).tobytes())


def array_message(values: FloatArray, *labels: str) -> Float64MultiArray:
    """Write an array row by row, with its shape in the layout: a label, a size and a stride for each dimension."""
    message = Float64MultiArray(data=doubles(values))
    for k, (size, label) in enumerate(zip(values.shape or (1,), labels, strict=False)):
        stride = int(np.prod(values.shape[k:]))
        message.layout.dim.append(MultiArrayDimension(label=label, size=size, stride=stride))
    return message


def is_foreign(names: Sequence[str], joints: Sequence[str]) -> bool:
    """Whether a message about joints called `names` tells of none of `joints`, as that of a gripper beside an arm."""
    return set(names).isdisjoint(joints)


def read_joints(message: JointState, joints: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return position [rad or m] and velocity [rad/s or m/s] of `joints`; velocities that are not given are zero.

    Raises:
        NameNotFoundError: if a joint is missing, or there twice.
        DimensionError: if names and values differ in number, or a value is not finite.
    """
    where, n = "joint_states", len(message.name)
    order = order_of(message.name, joints, where, others=True)
    taken = []
    for what, values in (("position", message.position), ("velocity", message.velocity or [0.0] * n)):
        if len(values) != n:
            raise DimensionError(f"{len(values)} values of {what}", where=where, valid=str(n))
        taken.append(np.array([values[place] for place in order], dtype=float))
        if not np.isfinite(taken[-1]).all():
            raise DimensionError(f"a {what} is not finite", where=where, valid="finite numbers")
    return taken[0], taken[1]
