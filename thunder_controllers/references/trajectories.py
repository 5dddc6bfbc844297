"""References sampled to arrays: what a host's reference input should be at each instant.

A Cartesian sample is one row of 24 numbers, of the end effector in the world frame, linear part first:
position p_d (3) [m], rotation R_d (3×3, column-major), twist ξ_d = [v; ω] (6) [m/s, rad/s] and its time derivative
ξ̇_d (6) [m/s², rad/s²]. A joint sample is one row of 3·n numbers: q_d, q̇_d, q̈_d. Both are the order of the
reference entries of the library's laws.

Every reference is exact: velocities and accelerations are derivatives of the pose in closed form, never differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.references.time_law import RestToRest
from thunder_dynamics.errors import DimensionError

FloatArray = NDArray[np.float64]

POSITION = slice(0, 3)
ROTATION = slice(3, 12)
TWIST = slice(12, 18)
ACCELERATION = slice(18, 24)
CARTESIAN_SIZE = 24
"""Length of a Cartesian sample."""


class Reference(Protocol):
    """What every reference offers."""

    @property
    def period(self) -> float | None:
        """Period [s], None if the reference never repeats or is constant."""
        ...

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,) [s], as rows, shape (N, 24) or (N, 3·n)."""
        ...


def _vector(value: ArrayLike, size: int, name: str) -> FloatArray:
    """Copy `value` as a read-only float vector of `size` numbers; a scalar fills it."""
    array = np.array(value, dtype=float)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,) or not np.isfinite(array).all():
        valid = f"finite, ({size},) or a scalar"
        raise DimensionError(f"{name} has shape {array.shape}", where="reference", valid=valid)
    array.setflags(write=False)
    return array


def _rotation(value: ArrayLike | None) -> FloatArray:
    """Copy a rotation matrix, the identity for None; check that it is one."""
    matrix = np.eye(3) if value is None else np.array(value, dtype=float)
    if matrix.shape != (3, 3) or not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-9) or np.linalg.det(matrix) < 0:
        raise DimensionError("not a rotation matrix", where="reference", valid="(3, 3), R Rᵀ = 1, det R = 1")
    matrix.setflags(write=False)
    return matrix


def common_period(frequency: ArrayLike) -> float | None:
    """Compute the smallest common period [s] of sinusoids of the given frequencies [Hz]; None if all are zero.

    Frequencies are taken as the decimal numbers they are written as, so that 0.1 and 0.4 Hz have 10 s in common.
    """
    fractions = [Fraction(repr(abs(float(f)))) for f in np.atleast_1d(np.asarray(frequency, dtype=float)) if f != 0.0]
    if not fractions:
        return None
    denominator = math.lcm(*(f.denominator for f in fractions))
    numerator = math.gcd(*(int(f * denominator) for f in fractions))
    return denominator / numerator


def _sinusoid(t: FloatArray, amplitude: FloatArray, frequency: FloatArray, phase: FloatArray) -> tuple[FloatArray, ...]:
    """Evaluate A sin(2πft + φ) and its first two derivatives, shape (N, size) each."""
    omega = 2.0 * np.pi * frequency
    angle = np.multiply.outer(t, omega) + phase
    sine, cosine = amplitude * np.sin(angle), amplitude * np.cos(angle)
    return sine, omega * cosine, -(omega**2) * sine


def _cartesian_rows(n: int, rotation: FloatArray) -> FloatArray:
    """Allocate N samples at rest with a constant rotation."""
    rows = np.zeros((n, CARTESIAN_SIZE))
    rows[:, ROTATION] = rotation.T.ravel()
    return rows


class Lissajous:
    """p_d(t) = centre + A sin(2πft + phase) per axis, constant orientation.

    Args:
        centre: [m], world frame, shape (3,).
        amplitude: A [m].
        frequency: f [Hz].
        phase: [rad]; π/2 turns the sine into a cosine.
        rotation: R_d, shape (3, 3); the identity by default.
    """

    def __init__(
        self,
        centre: ArrayLike,
        amplitude: ArrayLike,
        frequency: ArrayLike,
        phase: ArrayLike = 0.0,
        rotation: ArrayLike | None = None,
    ) -> None:
        self.centre = _vector(centre, 3, "centre")
        self.amplitude = _vector(amplitude, 3, "amplitude")
        self.frequency = _vector(frequency, 3, "frequency")
        self.phase = _vector(phase, 3, "phase")
        self.rotation = _rotation(rotation)

    @property
    def period(self) -> float | None:
        """Common period of the three axes that move [s]."""
        return common_period(self.frequency * (self.amplitude != 0.0))

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24."""
        rows = _cartesian_rows(len(t), self.rotation)
        offset, velocity, acceleration = _sinusoid(t, self.amplitude, self.frequency, self.phase)
        rows[:, POSITION] = self.centre + offset
        rows[:, TWIST.start : TWIST.start + 3] = velocity
        rows[:, ACCELERATION.start : ACCELERATION.start + 3] = acceleration
        return rows


class Hold:
    """A constant pose: position (3,) [m] and rotation (3, 3) in the world frame."""

    period: float | None = None

    def __init__(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        self.position = _vector(position, 3, "position")
        self.rotation = _rotation(rotation)

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24."""
        rows = _cartesian_rows(len(t), self.rotation)
        rows[:, POSITION] = self.position
        return rows


@dataclass(frozen=True)
class PathLimits:
    """Bounds of a time law along a Cartesian path, of the linear and the angular motion each.

    Units: m/s, m/s², m/s³ and rad/s, rad/s², rad/s³.
    """

    linear: tuple[float, float, float] = (0.25, 1.0, 10.0)
    angular: tuple[float, float, float] = (1.0, 4.0, 40.0)


class PoseToPose:
    """Rest to rest through a list of poses, on straight lines and geodesics of SO(3).

    Between two poses p(σ) = p₀ + σ(p₁ − p₀), R(σ) = R₀ Exp(σφ), φ = Log(R₀ᵀR₁), σ: 0 → 1 on a jerk-limited time law,
    so ξ = σ̇ [p₁ − p₀; R₀φ] and ξ̇ = σ̈ [p₁ − p₀; R₀φ] exactly, with ξ̇ continuous.

    Args:
        positions: Shape (K, 3) [m], K ≥ 2.
        rotations: K rotation matrices; identities by default.
        limits: Of the motion on each segment.
        dwell: Rest at every pose after the first [s].
    """

    period: float | None = None

    def __init__(
        self,
        positions: ArrayLike,
        rotations: Sequence[ArrayLike] | None = None,
        limits: PathLimits | None = None,
        dwell: float = 0.0,
    ) -> None:
        points = np.array(positions, dtype=float)
        if points.ndim != 2 or points.shape[0] < 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise DimensionError(f"positions have shape {points.shape}", where="reference", valid="finite, (K ≥ 2, 3)")
        matrices = [_rotation(None)] * len(points) if rotations is None else [_rotation(r) for r in rotations]
        if len(matrices) != len(points):
            raise DimensionError(
                f"{len(matrices)} rotations for {len(points)} positions", where="reference", valid="one each"
            )
        self._points, self._matrices = points, np.array(matrices)
        self._lines = np.diff(points, axis=0)
        relative = np.matmul(self._matrices[:-1].transpose(0, 2, 1), self._matrices[1:])
        self._angles = Rotation.from_matrix(relative).as_rotvec()
        lengths = np.linalg.norm([self._lines, self._angles], axis=2).T
        limits = limits or PathLimits()
        self._law = RestToRest(lengths, tuple(zip(limits.linear, limits.angular, strict=True)), dwell)

    @property
    def duration(self) -> float:
        """Time at which the last pose is reached [s]."""
        return self._law.duration

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24; at rest before the start and after the end."""
        index, sigma, sigma_dot, sigma_ddot = self._law.sample(t)
        rows = np.zeros((len(t), CARTESIAN_SIZE))
        rows[:, POSITION] = self._points[index] + sigma * self._lines[index]
        turn = Rotation.from_rotvec(sigma * self._angles[index]).as_matrix()
        rotation = np.matmul(self._matrices[index], turn)
        rows[:, ROTATION] = rotation.transpose(0, 2, 1).reshape(-1, 9)
        axis = np.einsum("nij,nj->ni", self._matrices[index], self._angles[index])
        direction = np.hstack([self._lines[index], axis])
        rows[:, TWIST] = sigma_dot * direction
        rows[:, ACCELERATION] = sigma_ddot * direction
        return rows


class JointLissajous:
    """q_d(t) = centre + A sin(2πft + phase) per joint, with exact derivatives.

    Args:
        centre: [rad] or [m], shape (n,).
        amplitude: A, a scalar or shape (n,).
        frequency: f [Hz].
        phase: [rad].
    """

    def __init__(self, centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike = 0.0) -> None:
        n = np.atleast_1d(np.asarray(centre)).size
        self.centre = _vector(centre, n, "centre")
        self.amplitude = _vector(amplitude, n, "amplitude")
        self.frequency = _vector(frequency, n, "frequency")
        self.phase = _vector(phase, n, "phase")

    @property
    def period(self) -> float | None:
        """Common period of the joints that move [s]."""
        return common_period(self.frequency * (self.amplitude != 0.0))

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n."""
        offset, velocity, acceleration = _sinusoid(t, self.amplitude, self.frequency, self.phase)
        return np.hstack([self.centre + offset, velocity, acceleration])


class JointPath:
    """Rest to rest through joint positions on straight lines of joint space, jerk-limited.

    Args:
        positions: Shape (K, n) [rad] or [m], K ≥ 2.
        velocity: Bound per joint, a scalar or shape (n,).
        acceleration: Bound per joint.
        jerk: Bound per joint.
        dwell: Rest at every position after the first [s].
    """

    period: float | None = None

    def __init__(
        self,
        positions: ArrayLike,
        velocity: ArrayLike = 1.0,
        acceleration: ArrayLike = 4.0,
        jerk: ArrayLike = 40.0,
        dwell: float = 0.0,
    ) -> None:
        points = np.array(positions, dtype=float)
        if points.ndim != 2 or points.shape[0] < 2 or not np.isfinite(points).all():
            raise DimensionError(f"positions have shape {points.shape}", where="reference", valid="finite, (K ≥ 2, n)")
        n = points.shape[1]
        named = (("velocity", velocity), ("acceleration", acceleration), ("jerk", jerk))
        self._points, self._lines = points, np.diff(points, axis=0)
        self._law = RestToRest(np.abs(self._lines), [_vector(value, n, name) for name, value in named], dwell)

    @property
    def duration(self) -> float:
        """Time at which the last position is reached [s]."""
        return self._law.duration

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n; at rest before the start and after the end."""
        index, sigma, sigma_dot, sigma_ddot = self._law.sample(t)
        line = self._lines[index]
        return np.hstack([self._points[index] + sigma * line, sigma_dot * line, sigma_ddot * line])
