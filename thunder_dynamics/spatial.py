"""SO(3) and SE(3), written once for NumPy arrays and CasADi SX alike.

Vectors have three components; twists and wrenches are handled as their linear and angular halves, linear first.
S(a) b = a × b. Angles in rad. CasADi is not imported here: its types are recognised when its user has imported it.
Our own, because SciPy's `Rotation` takes no symbols.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

SNAP = 1e-11
"""Angles this close to a multiple of π/2 are that multiple: descriptions print π/2 with eleven digits or more."""


def is_symbolic(value: Any) -> bool:
    """Whether `value` is a CasADi SX object."""
    casadi = sys.modules.get("casadi")
    return casadi is not None and isinstance(value, casadi.SX)


def vector(elements: Sequence[Any]) -> Any:
    """Stack scalars: a float array of shape (k,), or an SX column if any of them is symbolic."""
    if any(is_symbolic(e) for e in elements):
        return sys.modules["casadi"].vertcat(*elements)
    return np.array([float(e) for e in elements])


def matrix(rows: Sequence[Sequence[Any]]) -> Any:
    """Arrange scalars in rows: a float array, or an SX matrix if any of them is symbolic."""
    if any(is_symbolic(e) for row in rows for e in row):
        casadi = sys.modules["casadi"]
        return casadi.vertcat(*(casadi.horzcat(*row) for row in rows))
    return np.array([[float(e) for e in row] for row in rows])


def cos_sin(angle: Any) -> tuple[Any, Any]:
    """Cosine and sine; exact 0 and ±1 for numeric angles within `SNAP` of a multiple of π/2.

    A constant that is added to a symbolic angle folds, and so does a sign: lanes compute sines of q itself fast.
    """
    if is_symbolic(angle):
        casadi = sys.modules["casadi"]
        if angle.is_op(casadi.OP_NEG):
            c, s = cos_sin(angle.dep(0))
            return c, -s
        parts = [angle.dep(k) for k in range(2)] if angle.is_op(casadi.OP_ADD) or angle.is_op(casadi.OP_SUB) else []
        if any(part.is_constant() for part in parts):
            sign = 1.0 if angle.is_op(casadi.OP_ADD) else -1.0
            (c, s), (c_1, s_1) = (cos_sin(float(part) if part.is_constant() else part) for part in parts)
            return c * c_1 - sign * s * s_1, s * c_1 + sign * c * s_1
        return casadi.cos(angle), casadi.sin(angle)
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * (math.pi / 2)) < SNAP:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarter % 4]
    return math.cos(angle), math.sin(angle)


def rot_x(angle: Any) -> Any:
    """Rotation about x, shape (3, 3)."""
    c, s = cos_sin(angle)
    return matrix([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rot_y(angle: Any) -> Any:
    """Rotation about y, shape (3, 3)."""
    c, s = cos_sin(angle)
    return matrix([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rot_z(angle: Any) -> Any:
    """Rotation about z, shape (3, 3)."""
    c, s = cos_sin(angle)
    return matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rot_axis(axis: Sequence[float], angle: Any) -> Any:
    """Rotation by `angle` about a constant unit vector (Rodrigues), shape (3, 3)."""
    for k, rotation in enumerate((rot_x, rot_y, rot_z)):
        if abs(axis[k]) == 1.0 and axis[k - 1] == axis[k - 2] == 0.0:
            return rotation(angle * axis[k] if is_symbolic(angle) else angle * float(axis[k]))
    c, s = cos_sin(angle)
    x, y, z = axis
    t = 1.0 - c
    return matrix(
        [
            [c + t * (x * x), t * (x * y) - s * z, t * (x * z) + s * y],
            [t * (x * y) + s * z, c + t * (y * y), t * (y * z) - s * x],
            [t * (x * z) - s * y, t * (y * z) + s * x, c + t * (z * z)],
        ]
    )


def rotation_from_ypr(yaw: Any, pitch: Any, roll: Any) -> Any:
    """R = Rz(yaw) Ry(pitch) Rx(roll), shape (3, 3)."""
    return rot_z(yaw) @ rot_y(pitch) @ rot_x(roll)


def rotation_from_quaternion(x: Any, y: Any, z: Any, w: Any) -> Any:
    """Rotation of a quaternion x, y, z, w of any length but zero, shape (3, 3)."""
    s = 2.0 * reciprocal(x * x + y * y + z * z + w * w)
    return matrix(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)],
        ]
    )


def ypr_from_rotation(rotation: Any) -> tuple[float, float, float]:
    """Yaw, pitch, roll of a numeric rotation; roll = 0 where pitch = ±π/2 leaves it free."""
    R = np.asarray(rotation, dtype=float)
    horizontal = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], horizontal)
    if horizontal < 1e-9:
        return math.atan2(-R[0, 1], R[1, 1]), pitch, 0.0
    return math.atan2(R[1, 0], R[0, 0]), pitch, math.atan2(R[2, 1], R[2, 2])


def cross(a: Any, b: Any) -> Any:
    """a × b of two 3-vectors."""
    if is_symbolic(a) and is_symbolic(b):
        return sys.modules["casadi"].cross(a, b)
    return vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def dot(a: Any, b: Any) -> Any:
    """aᵀ b of two vectors of equal length, summed from the left."""
    total = a[0] * b[0]
    for k in range(1, len(a) if not is_symbolic(a) else a.numel()):
        total = total + a[k] * b[k]
    return total


def reciprocal(x: Any) -> Any:
    """1/x, entry by entry, to be multiplied by: CasADi would turn every product with 1.0 / x into a slow division."""
    return 2.0 * (0.5 / x)


def skew(a: Any) -> Any:
    """S(a) with S(a) b = a × b, shape (3, 3)."""
    return matrix([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def vee(A: Any) -> Any:
    """The vector of the skew part: vee(S(a)) = a, for any 3×3 matrix A ↦ vee(½(A − Aᵀ))."""
    return vector([0.5 * (A[2, 1] - A[1, 2]), 0.5 * (A[0, 2] - A[2, 0]), 0.5 * (A[1, 0] - A[0, 1])])


def homogeneous(rotation: Any, translation: Any) -> Any:
    """T = [[R, p], [0, 1]], shape (4, 4)."""
    return matrix([[*(rotation[i, j] for j in range(3)), translation[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]])
