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
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.host import MotionLimits
from thunder_controllers.references.time_law import RestToRest
from thunder_dynamics.errors import DimensionError

FloatArray = NDArray[np.float64]

POSITION = slice(0, 3)
ROTATION = slice(3, 12)
TWIST = slice(12, 18)
ACCELERATION = slice(18, 24)
CARTESIAN_SIZE = 24
"""Length of a Cartesian sample."""

_HOST = MotionLimits()
LINEAR = (_HOST.linear_velocity, _HOST.linear_acceleration, _HOST.linear_jerk)
"""Bounds of straight motion where none are given, those of the host's motions [m/s, m/s², m/s³]."""

ANGULAR = (_HOST.angular_velocity, _HOST.angular_acceleration, _HOST.angular_jerk)
"""The same of turning [rad/s, rad/s², rad/s³]."""


class Reference(Protocol):
    """What every reference offers."""

    @property
    def period(self) -> float | None:
        """Period [s], None if the reference never repeats or is constant."""
        ...

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,) [s], as rows, shape (N, 24) or (N, 3·n)."""
        ...


def as_vector(value: ArrayLike, size: int, name: str) -> FloatArray:
    """Copy `value` as a read-only float vector of `size` numbers; a scalar fills it."""
    array = np.array(value, dtype=float)
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,) or not np.isfinite(array).all():
        valid = f"finite, ({size},) or a scalar"
        raise DimensionError(f"{name} has shape {array.shape}", where="reference", valid=valid)
    array.setflags(write=False)
    return array


def as_rotation(value: ArrayLike | None) -> FloatArray:
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


Values = tuple[FloatArray, FloatArray, FloatArray]
"""Numbers and their first two derivatives, shape (N, size) each."""


def moving_pose(rotation: FloatArray, position: Values, angles: Values) -> FloatArray:
    """Rows of 24 of p_d and R Rz(ψ) Ry(θ) Rx(φ): three numbers each; every angle turns about its axis, once moved."""
    angle, rate, change = (values[:, :, None] for values in angles)
    yaw = rotation @ Rotation.from_euler("Z", angle[:, 0]).as_matrix()
    turned = rotation @ Rotation.from_euler("ZYX", angle[:, :, 0]).as_matrix()
    z, y, x = yaw[:, :, 2], yaw[:, :, 1], turned[:, :, 0]
    first = rate[:, 0] * z
    second = first + rate[:, 1] * y
    omega_dot = change[:, 0] * z + change[:, 1] * y + change[:, 2] * x
    omega_dot += rate[:, 1] * np.cross(first, y) + rate[:, 2] * np.cross(second, x)
    omega = second + rate[:, 2] * x
    columns = turned.transpose(0, 2, 1).reshape(-1, 9)
    return np.hstack([position[0], columns, position[1], omega, position[2], omega_dot])


class _Sinusoids:
    """x(t) = centre + A sin(2πft + φ) of `size` numbers, with its first two derivatives."""

    def __init__(
        self, size: int, centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike
    ) -> None:
        self._centre, self._phase = as_vector(centre, size, "centre"), as_vector(phase, size, "phase")
        self._amplitude = as_vector(amplitude, size, "amplitude")
        self._frequency = as_vector(frequency, size, "frequency")

    @property
    def _moving(self) -> FloatArray:
        """Frequencies of the numbers that move [Hz], zero of the others."""
        return np.asarray(self._frequency * (self._amplitude != 0.0))

    @property
    def period(self) -> float | None:
        """Common period of the numbers that move [s]."""
        return common_period(self._moving)

    def _values(self, t: FloatArray) -> Values:
        """x, ẋ and ẍ at times `t`, shape (N,); shape (N, size) each."""
        omega = 2.0 * np.pi * self._frequency
        angle = np.multiply.outer(t, omega) + self._phase
        sine, cosine = self._amplitude * np.sin(angle), self._amplitude * np.cos(angle)
        return self._centre + sine, omega * cosine, -(omega**2) * sine


class Lissajous(_Sinusoids):
    """p_d(t) = centre + A sin(2πft + phase) per axis; R_d(t) = R Rz(ψ) Ry(θ) Rx(φ), its angles alike about zero.

    Args:
        centre: [m], world frame, shape (3,).
        amplitude: A [m].
        frequency: f [Hz].
        phase: [rad]; π/2 turns the sine into a cosine.
        rotation: R, shape (3, 3); the identity by default.
        swing: Amplitudes of ψ, θ, φ [rad]; without them the orientation is constant.
        swing_frequency: Their frequencies [Hz].
        swing_phase: Their phases [rad].
    """

    def __init__(
        self,
        centre: ArrayLike,
        amplitude: ArrayLike,
        frequency: ArrayLike,
        phase: ArrayLike = 0.0,
        rotation: ArrayLike | None = None,
        swing: ArrayLike = 0.0,
        swing_frequency: ArrayLike = 0.0,
        swing_phase: ArrayLike = 0.0,
    ) -> None:
        super().__init__(3, centre, amplitude, frequency, phase)
        self._rotation = as_rotation(rotation)
        self._swing = _Sinusoids(3, 0.0, swing, swing_frequency, swing_phase)

    @property
    def period(self) -> float | None:
        """Common period of all that moves [s]."""
        return common_period(np.append(self._moving, self._swing._moving))

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24."""
        return moving_pose(self._rotation, self._values(t), self._swing._values(t))


class Hold(Lissajous):
    """A constant pose: position (3,) [m] and rotation (3, 3) in the world frame."""

    def __init__(self, position: ArrayLike, rotation: ArrayLike | None = None) -> None:
        super().__init__(position, 0.0, 0.0, rotation=rotation)


class PoseToPose:
    """Rest to rest through a list of poses, on straight lines and geodesics of SO(3).

    Between two poses p(σ) = p₀ + σ(p₁ − p₀), R(σ) = R₀ Exp(σφ), φ = Log(R₀ᵀR₁), σ: 0 → 1 on a jerk-limited time law,
    so ξ = σ̇ [p₁ − p₀; R₀φ] and ξ̇ = σ̈ [p₁ − p₀; R₀φ] exactly, with ξ̇ continuous.

    Args:
        positions: Shape (K, 3) [m], K ≥ 2.
        rotations: K rotation matrices; identities by default.
        linear: Bounds of velocity, acceleration and jerk of the motion on each segment [m/s, m/s², m/s³].
        angular: The same of turning [rad/s, rad/s², rad/s³].
        dwell: Rest at every pose after the first [s].
    """

    period: float | None = None

    def __init__(
        self,
        positions: ArrayLike,
        rotations: Sequence[ArrayLike] | None = None,
        linear: Sequence[float] = LINEAR,
        angular: Sequence[float] = ANGULAR,
        dwell: float = 0.0,
    ) -> None:
        points = np.array(positions, dtype=float)
        if points.ndim != 2 or points.shape[0] < 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise DimensionError(f"positions have shape {points.shape}", where="reference", valid="finite, (K ≥ 2, 3)")
        matrices = [as_rotation(None)] * len(points) if rotations is None else [as_rotation(r) for r in rotations]
        if len(matrices) != len(points):
            raise DimensionError(
                f"{len(matrices)} rotations for {len(points)} positions", where="reference", valid="one each"
            )
        self._points, self._matrices = points, np.array(matrices)
        self._lines = np.diff(points, axis=0)
        relative = np.matmul(self._matrices[:-1].transpose(0, 2, 1), self._matrices[1:])
        self._angles = Rotation.from_matrix(relative).as_rotvec()
        lengths = np.linalg.norm([self._lines, self._angles], axis=2).T
        self._law = RestToRest(lengths, tuple(zip(linear, angular, strict=True)), dwell)

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


class _Steps:
    """Constant between times at which it jumps: rows of samples, shape (K, size), from times (K,) [s] on."""

    period: float | None = None

    def __init__(self, times: ArrayLike, rows: FloatArray) -> None:
        self._times, self._rows = np.array(times, dtype=float), rows
        if self._times.shape != (len(rows),) or self._times[0] != 0.0 or not (np.diff(self._times) > 0.0).all():
            raise DimensionError(f"times {self._times.tolist()}", where="reference", valid="one per step, 0 and rising")

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), from 0 on, as rows."""
        return np.array(self._rows[np.searchsorted(self._times, t, side="right") - 1])


class PoseSteps(_Steps):
    """Jumps from pose to pose: times (K,) [s], positions (K, 3) [m] and rotations (K, 3, 3), world frame.

    Raises:
        DimensionError: if times do not rise from 0, or an array has another shape or is not finite.
    """

    def __init__(self, times: ArrayLike, positions: ArrayLike, rotations: Sequence[ArrayLike]) -> None:
        poses = zip(np.asarray(positions), rotations, strict=True)
        rows = [Hold(as_vector(position, 3, "position"), rotation).sample(np.zeros(1)) for position, rotation in poses]
        super().__init__(times, np.concatenate(rows))


class JointSteps(_Steps):
    """Jumps from joint positions to others: times (K,) [s], positions (K, n) [rad or m].

    Raises:
        DimensionError: if times do not rise from 0, or positions differ in number or are not finite.
    """

    def __init__(self, times: ArrayLike, positions: Sequence[ArrayLike]) -> None:
        points = np.array([as_vector(point, np.size(positions[0]), "positions") for point in positions])
        super().__init__(times, np.hstack([points, np.zeros((len(points), 2 * points.shape[1]))]))


class JointLissajous(_Sinusoids):
    """q_d(t) = centre + A sin(2πft + phase) per joint, with exact derivatives.

    Args:
        centre: [rad] or [m], shape (n,).
        amplitude: A, a scalar or shape (n,).
        frequency: f [Hz].
        phase: [rad].
    """

    def __init__(self, centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike, phase: ArrayLike = 0.0) -> None:
        super().__init__(np.size(centre), centre, amplitude, frequency, phase)

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n."""
        return np.hstack(self._values(t))


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
        self._law = RestToRest(np.abs(self._lines), [as_vector(value, n, name) for name, value in named], dwell)

    @property
    def duration(self) -> float:
        """Time at which the last position is reached [s]."""
        return self._law.duration

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n; at rest before the start and after the end."""
        index, sigma, sigma_dot, sigma_ddot = self._law.sample(t)
        line = self._lines[index]
        return np.hstack([self._points[index] + sigma * line, sigma_dot * line, sigma_ddot * line])


class JointPolynomial:
    """From one place to another in a given time, q_d = start + σ(t/T)(end − start), every joint alike.

    σ(x) = x, 3x² − 2x³ or 10x³ − 15x⁴ + 6x⁵: the polynomial of its degree whose derivatives below (degree + 1)/2 are
    zero at both ends. Where the motion starts or ends with a velocity or an acceleration, q̇_d or q̈_d jumps.

    Args:
        start: [rad] or [m], shape (n,).
        end: Alike.
        duration: T [s].
        degree: 1, 3 or 5.
    """

    period: float | None = None

    def __init__(self, start: ArrayLike, end: ArrayLike, duration: float, degree: int = 3) -> None:
        coefficients = {1: (0, 1), 3: (0, 0, 3, -2), 5: (0, 0, 0, 10, -15, 6)}
        if degree not in coefficients:
            raise DimensionError(f"degree {degree}", where="reference", valid="1, 3 or 5")
        self._start = as_vector(start, np.size(start), "start")
        self._line = as_vector(end, np.size(start), "end") - self._start
        self._sigma = np.polynomial.Polynomial(coefficients[degree])
        self.duration = duration

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n; at rest before the start and after the end."""
        x = np.clip(t / self.duration, 0.0, 1.0)
        moves = (t >= 0.0) & (t < self.duration)
        rates = [moves * self._sigma.deriv(k)(x) / self.duration**k for k in (1, 2)]
        rows = [np.multiply.outer(rate, self._line) for rate in (self._sigma(x), *rates)]
        return np.hstack([self._start + rows[0], *rows[1:]])
