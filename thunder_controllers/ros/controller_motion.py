"""Motions that the controller makes itself: to rest, to a pose, along timed points. One sample per step.

A Cartesian sample has 24 numbers, a joint sample 3·n, as in `trajectories`. Each motion starts from the sample in
effect, so that pose, velocity and acceleration are continuous, and ends at rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BPoly, CubicSpline
from scipy.spatial.transform import Rotation

from thunder_controllers.trajectories import ACCELERATION, POSITION, ROTATION, TWIST, PathLimits, PoseToPose

FloatArray = NDArray[np.float64]

SHORTEST_STOP = 0.1
"""Even a slow motion takes this long to come to rest [s]: its acceleration has to end smoothly."""

AT_REST = 1e-9
"""Velocities and accelerations below this are none, SI units."""

SAME_POSE = 1e-9
"""Poses closer than this are one [m, rad]: there is no way between them."""


class Motion(Protocol):
    """One sample after the other."""

    @property
    def is_finished(self) -> bool:
        """Whether the last sample is at rest for good."""
        ...

    def advance(self, dt: float) -> FloatArray:
        """Let `dt` seconds pass; the new sample, valid until the next call."""
        ...


Weights = tuple[float, float]


def _velocity_shape(u: float, T: float) -> tuple[Weights, Weights, Weights]:
    """Cubic Hermite velocity from (v₀, a₀) to rest over T at u = t/T: its weights of v₀ and a₀, in position too.

    v = (1 − 3u² + 2u³) v₀ + T u(1 − u)² a₀; its derivative is the acceleration, its integral the way.
    """
    velocity = (1.0 - 3.0 * u**2 + 2.0 * u**3, T * u * (1.0 - u) ** 2)
    acceleration = ((6.0 * u**2 - 6.0 * u) / T, 1.0 - 4.0 * u + 3.0 * u**2)
    way = (T * (u - u**3 + 0.5 * u**4), T**2 * (0.5 * u**2 - 2.0 / 3.0 * u**3 + 0.25 * u**4))
    return way, velocity, acceleration


def _stop_time(velocity: FloatArray, bound: float) -> float:
    """The shortest T whose greatest deceleration, 1.5 |v₀|/T, keeps the bound."""
    return max(SHORTEST_STOP, 1.5 * float(np.linalg.norm(velocity)) / bound)


class PoseStop:
    """Bring a Cartesian motion to rest; velocity decays smoothly, acceleration is continuous.

    Args:
        start: Sample in effect, shape (24,).
        limits: Acceleration bounds, of the linear and the angular part.
    """

    def __init__(self, start: FloatArray, limits: PathLimits) -> None:
        self._row = np.array(start)
        self._start = np.array(start)
        times = _stop_time(start[12:15], limits.linear[1]), _stop_time(start[15:18], limits.angular[1])
        self._duration = max(times)
        self._time = 0.0
        self._rotation = Rotation.from_matrix(start[ROTATION].reshape(3, 3).T)

    @property
    def is_finished(self) -> bool:
        """Whether it rests."""
        return self._time >= self._duration

    def advance(self, dt: float) -> FloatArray:
        """Next sample; the orientation is integrated with the angular velocity in the middle of the step."""
        T = self._duration
        step = min(dt, T - self._time)
        twist, acceleration = self._start[TWIST], self._start[ACCELERATION]
        _, middle, _ = _velocity_shape((self._time + 0.5 * step) / T, T)
        turn = (middle[0] * twist[3:] + middle[1] * acceleration[3:]) * step
        self._rotation = Rotation.from_rotvec(turn) * self._rotation
        self._time += step
        way, velocity, rate = _velocity_shape(self._time / T, T)
        row = self._row
        row[POSITION] = self._start[POSITION] + way[0] * twist[:3] + way[1] * acceleration[:3]
        row[ROTATION] = self._rotation.as_matrix().T.ravel()
        row[TWIST] = velocity[0] * twist + velocity[1] * acceleration
        row[ACCELERATION] = rate[0] * twist + rate[1] * acceleration
        if self.is_finished:
            row[TWIST.start :] = 0.0
        return row


class JointStop:
    """Bring a joint motion to rest.

    Args:
        start: Sample in effect, shape (3·n,).
        acceleration: Bound [rad/s² or m/s²].
    """

    def __init__(self, start: FloatArray, acceleration: float) -> None:
        n = len(start) // 3
        self._parts = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
        self._start, self._row = np.array(start), np.array(start)
        self._duration = max(_stop_time(np.array([v]), acceleration) for v in start[self._parts[1]])
        self._time = 0.0

    @property
    def is_finished(self) -> bool:
        """Whether it rests."""
        return self._time >= self._duration

    def advance(self, dt: float) -> FloatArray:
        """Next sample."""
        self._time = min(self._time + dt, self._duration)
        q, qd, qdd = (self._start[part] for part in self._parts)
        weights = _velocity_shape(self._time / self._duration, self._duration)
        for part, (of_velocity, of_acceleration) in zip(self._parts, weights, strict=True):
            self._row[part] = of_velocity * qd + of_acceleration * qdd
        self._row[self._parts[0]] += q
        if self.is_finished:
            self._row[self._parts[1].start :] = 0.0
        return self._row


class Sampled:
    """A reference of `trajectories` with an end, sampled step by step."""

    def __init__(self, reference: PoseToPose) -> None:
        self._reference = reference
        self._time = np.zeros(1)

    @property
    def is_finished(self) -> bool:
        """Whether the end was reached."""
        return float(self._time[0]) >= self._reference.duration

    def advance(self, dt: float) -> FloatArray:
        """Next sample."""
        self._time[0] += dt
        row: FloatArray = self._reference.sample(self._time)[0]
        return row


class StopThen:
    """Come to rest, then begin a motion that is planned from there."""

    def __init__(self, stop: Motion, plan: Callable[[FloatArray], Motion | None]) -> None:
        self._current: Motion = stop
        self._plan: Callable[[FloatArray], Motion | None] | None = plan

    @property
    def is_finished(self) -> bool:
        """Whether the second motion is over."""
        return self._plan is None and self._current.is_finished

    def advance(self, dt: float) -> FloatArray:
        """Next sample."""
        row = self._current.advance(dt)
        if self._plan is not None and self._current.is_finished:
            following = self._plan(row)
            self._plan = None
            self._current = following if following is not None else self._current
        return row


def go_to_pose(start: FloatArray, position: FloatArray, rotation: FloatArray, limits: PathLimits) -> Motion:
    """Plan a motion from the sample in effect, shape (24,), to rest at a pose, on a jerk-limited time law."""

    def plan(row: FloatArray) -> Motion | None:
        matrix = row[ROTATION].reshape(3, 3).T
        turn = Rotation.from_matrix(matrix.T @ rotation).magnitude()
        if np.linalg.norm(position - row[POSITION]) < SAME_POSE and turn < SAME_POSE:
            return None
        return Sampled(PoseToPose([row[POSITION], position], [_orthonormal(matrix), rotation], limits))

    moves = np.abs(start[TWIST.start :]).max() > AT_REST
    if not moves:
        return plan(start) or PoseStop(start, limits)
    return StopThen(PoseStop(start, limits), plan)


def _orthonormal(matrix: FloatArray) -> FloatArray:
    """Remove what rounding has added to a rotation matrix."""
    return np.array(Rotation.from_matrix(matrix).as_matrix())


class Spline:
    """Vector-valued piecewise polynomial, twice continuously differentiable, from given rates to rest.

    Quintic Hermite pieces where velocities are given; else those of the clamped cubic spline through the points.
    Missing accelerations are those of that cubic spline too.

    Args:
        times: Increasing from 0, shape (K,) [s].
        values: Shape (K, m).
        first: Velocity and acceleration at the start, shape (m,) each.
        velocities: Shape (K, m), or None.
        accelerations: Shape (K, m), or None.
    """

    def __init__(
        self,
        times: FloatArray,
        values: FloatArray,
        first: tuple[FloatArray, FloatArray],
        velocities: FloatArray | None = None,
        accelerations: FloatArray | None = None,
    ) -> None:
        rest = np.zeros(values.shape[1])
        cubic = CubicSpline(times, values, bc_type=((1, first[0]), (1, rest)))
        rates = np.array(cubic(times, 1) if velocities is None else velocities)
        curvatures = np.array(cubic(times, 2) if accelerations is None else accelerations)
        rates[0], curvatures[0] = first
        rates[-1], curvatures[-1] = rest, rest
        self._poly = BPoly.from_derivatives(times, np.stack([values, rates, curvatures], axis=1))
        self._derivatives = self._poly.derivative(1), self._poly.derivative(2)
        self.duration = float(times[-1])

    def __call__(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, velocity and acceleration, constant after the end."""
        t = min(time, self.duration)
        return self._poly(t), self._derivatives[0](t), self._derivatives[1](t)


class JointSpline:
    """Timed joint positions; see `Spline`."""

    def __init__(self, spline: Spline) -> None:
        self._spline, self._time = spline, 0.0

    @property
    def is_finished(self) -> bool:
        """Whether the last point was reached."""
        return self._time >= self._spline.duration

    def advance(self, dt: float) -> FloatArray:
        """Next sample, shape (3·n,)."""
        self._time += dt
        return np.concatenate(self._spline(self._time))


class PoseSpline:
    """Timed poses: a `Spline` of [p; quaternion (x, y, z, w)], the quaternion normalised as it is used.

    With N = ‖q‖²: ω = 2 vec(q̇ q̄)/N and ω̇ = 2 vec(q̈ q̄)/N − ω Ṅ/N exactly, so ω̇ is as continuous as q̈.
    """

    def __init__(self, spline: Spline) -> None:
        self._spline, self._time = spline, 0.0
        self._row = np.zeros(24)

    @property
    def is_finished(self) -> bool:
        """Whether the last point was reached."""
        return self._time >= self._spline.duration

    def advance(self, dt: float) -> FloatArray:
        """Next sample, shape (24,)."""
        self._time += dt
        value, rate, curvature = self._spline(self._time)
        q, q_dot, q_ddot = value[3:], rate[3:], curvature[3:]
        norm = float(q @ q)
        omega = 2.0 / norm * _imaginary(q_dot, q)
        row = self._row
        row[POSITION] = value[:3]
        row[ROTATION] = Rotation.from_quat(q).as_matrix().T.ravel()
        row[12:15], row[15:18] = rate[:3], omega
        row[18:21] = curvature[:3]
        row[21:24] = 2.0 / norm * _imaginary(q_ddot, q) - omega * (2.0 * float(q @ q_dot) / norm)
        return row


def _imaginary(a: FloatArray, b: FloatArray) -> FloatArray:
    """vec(a b̄) of quaternions (x, y, z, w)."""
    return np.asarray(b[3] * a[:3] - a[3] * b[:3] - np.cross(a[:3], b[:3]))


def quaternion_rates(q: FloatArray, omega: ArrayLike, omega_dot: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """q̇ = ½ ω q and q̈ = ½ (ω̇ q + ω q̇) of a unit quaternion (x, y, z, w), ω and ω̇ in the world frame."""
    rate = 0.5 * _product(omega, q)
    return rate, 0.5 * (_product(omega_dot, q) + _product(omega, rate))


def _product(vector: ArrayLike, q: FloatArray) -> FloatArray:
    """(vector, 0) q as quaternions (x, y, z, w)."""
    v = np.asarray(vector, dtype=float)
    return np.append(q[3] * v + np.cross(v, q[:3]), -float(v @ q[:3]))
