"""References that are sums of sinusoids: figures, and motions that show the inertial parameters of a robot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, model_validator
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import Finite, FloatArray, Joints, NonNegative, Positive, Vector3
from thunder_controllers.references.trajectories import (
    RATES,
    Numbers,
    Pose,
    Seed,
    Trajectory,
    check_sizes,
    spread,
)
from thunder_dynamics.spatial import rotation_from_ypr

Axes = Finite | Vector3
NonNegativeAxes = NonNegative | tuple[NonNegative, NonNegative, NonNegative]
Count = Annotated[int, Field(strict=True, ge=1, le=100)]
Values = tuple[FloatArray, FloatArray, FloatArray]
"""Numbers and their first two derivatives, shape (N, n) each."""


def common_period(frequency: ArrayLike) -> float | None:
    """Compute the smallest common period [s] of sinusoids of the given frequencies [Hz]; None if all are zero.

    Frequencies are taken as the decimal numbers they are written as, so that 0.1 and 0.4 Hz have 10 s in common.
    """
    fractions = [Fraction(repr(abs(float(f)))) for f in np.ravel(frequency) if f != 0.0]
    if not fractions:
        return None
    denominator = math.lcm(*(f.denominator for f in fractions))
    numerator = math.gcd(*(int(f * denominator) for f in fractions))
    return denominator / numerator


@dataclass(frozen=True, eq=False)
class Waves:
    """x_i(t) = Σₖ A_ik sin(2πf_ik t + φ_ik): amplitude, frequency [Hz] and phase [rad] of shape (n, K) each."""

    amplitude: FloatArray
    frequency: FloatArray
    phase: FloatArray

    @classmethod
    def single(cls, n: int, amplitude: Axes | Numbers, frequency: Axes | Numbers, phase: Axes | Numbers) -> Waves:
        """One sinusoid for each of n numbers."""
        return cls(*(spread(value, n)[:, None] for value in (amplitude, frequency, phase)))

    @classmethod
    def random(cls, amplitude: FloatArray, frequency: float, harmonics: int, seed: int) -> Waves:
        """x_i = A_i / H · Σₖ sin(2πkft + φᵢₖ) / k for k = 1 … N, with H = Σₖ 1/k: |x_i| ≤ A_i in the worst case.

        Fourier excitation as in Swevers et al., "Optimal robot excitation and identification" (1997), without the
        optimisation: the phases are random.
        """
        shape = (len(amplitude), harmonics)
        order = np.arange(1, harmonics + 1)
        phase = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, shape)
        return cls(
            np.outer(amplitude, 1.0 / order / (1.0 / order).sum()), np.tile(frequency * order, (shape[0], 1)), phase
        )

    @property
    def moving(self) -> FloatArray:
        """Frequencies of those that move [Hz]."""
        return np.asarray(self.frequency[self.amplitude != 0.0])

    @property
    def largest_rate(self) -> FloatArray:
        """Bound of |ẋ|, reached if all phases agree, shape (n,)."""
        return np.asarray(2.0 * np.pi * np.abs(self.amplitude * self.frequency).sum(axis=1))

    def __call__(self, t: FloatArray) -> Values:
        """Values and two derivatives at times `t`, shape (N,) [s]; shape (N, n) each."""
        omega = 2.0 * np.pi * self.frequency
        angle = np.multiply.outer(t, omega) + self.phase
        sine, cosine = self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)
        return sine.sum(axis=2), (omega * cosine).sum(axis=2), -(omega**2 * sine).sum(axis=2)

    def further_rates(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Third and fourth derivatives at times `t`, (N, n) each."""
        omega = 2.0 * np.pi * self.frequency
        angle = np.multiply.outer(t, omega) + self.phase
        jerk, snap = (omega**3 * self.amplitude * np.cos(angle)), (omega**4 * self.amplitude * np.sin(angle))
        return -jerk.sum(axis=2), snap.sum(axis=2)


def moving_pose(place: Vector3, rotation: FloatArray, line: Values, angles: Values) -> FloatArray:
    """Rows of 24 of p₀ + x and R Rz(ψ) Ry(θ) Rx(φ): three numbers each; each angle turns about its moved axis."""
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
    return np.hstack([place + line[0], columns, line[1], omega, line[2], omega_dot])


class Lissajous(Trajectory):
    """p_d = centre + A sin(2πft + phase) of each axis; the orientation swings alike about `ypr`, constant without."""

    type: Literal["lissajous"] = "lissajous"
    centre: Vector3 = Field(description="[m]")
    amplitude: Axes = Field(description="A [m]")
    frequency: NonNegativeAxes = Field(description="f [Hz]")
    phase: Axes = Field(default=0.0, description="[rad]")
    ypr: Vector3 = Field(default=(0.0, 0.0, 0.0), description="[rad]")
    swing: Axes = Field(default=0.0, description="of yaw, pitch, roll [rad]")
    swing_frequency: NonNegativeAxes = Field(default=0.0, description="[Hz]")
    swing_phase: Axes = Field(default=0.0, description="[rad]")

    @cached_property
    def _waves(self) -> tuple[Waves, Waves]:
        swing = Waves.single(3, self.swing, self.swing_frequency, self.swing_phase)
        return Waves.single(3, self.amplitude, self.frequency, self.phase), swing

    @property
    def period(self) -> float | None:
        """Common period of all that moves [s]."""
        return common_period(np.concatenate([waves.moving for waves in self._waves]))

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24."""
        line, swing = self._waves
        return moving_pose(self.centre, np.array(rotation_from_ypr(*self.ypr)), line(t), swing(t))


class _Joints(Trajectory):
    """q_d = centre + x(t), x a sum of sinusoids for each joint."""

    centre: Joints = Field(description="[rad or m]")
    amplitude: Numbers = Field(description="[rad or m]")

    @cached_property
    def _waves(self) -> Waves:
        raise NotImplementedError

    @property
    def period(self) -> float | None:
        """Common period of the joints that move [s]."""
        return common_period(self._waves.moving)

    @property
    def largest_velocity(self) -> FloatArray:
        """Bound of |q̇_d|, shape (n,) [rad/s or m/s]."""
        return self._waves.largest_rate

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n."""
        offset, velocity, acceleration = self._waves(t)
        return np.hstack([self.centre + offset, velocity, acceleration])

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """Compute `jerk` and `snap` at times `t`, (N, n) each."""
        return dict(zip(RATES, self._waves.further_rates(t), strict=True))


class JointLissajous(_Joints):
    """q_d = centre + amplitude sin(2πft + phase) of each joint."""

    type: Literal["joint_lissajous"] = "joint_lissajous"
    frequency: Numbers = Field(description="f [Hz]")
    phase: Numbers = Field(default=0.0, description="[rad]")

    @model_validator(mode="after")
    def _has_numbers_of_each_joint(self) -> JointLissajous:
        check_sizes(self, len(self.centre), "amplitude", "frequency", "phase")
        return self

    @cached_property
    def _waves(self) -> Waves:
        return Waves.single(len(self.centre), self.amplitude, self.frequency, self.phase)


class _Random(Trajectory):
    """Sums of sinusoids of random phases, see `Waves.random`."""

    frequency: Positive = Field(default=0.1, description="of the slowest sinusoid [Hz]")
    harmonics: Count = Field(default=3, description="sinusoids in each sum")
    seed: Seed = Field(default=0, description="of the phases")

    @property
    def period(self) -> float | None:
        """Of the slowest sinusoid [s]."""
        return 1.0 / self.frequency

    def _random(self, amplitude: FloatArray) -> Waves:
        return Waves.random(amplitude, self.frequency, self.harmonics, self.seed)


class Excitation(Pose, _Random):
    """About a pose, each direction a sum of sinusoids of random phases within its amplitude."""

    type: Literal["excitation"] = "excitation"
    linear: NonNegativeAxes = Field(description="amplitudes [m]")
    angular: NonNegativeAxes = Field(description="amplitudes of yaw, pitch, roll [rad]")

    @cached_property
    def _waves(self) -> Waves:
        return self._random(np.concatenate([spread(self.linear, 3), spread(self.angular, 3)]))

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24."""
        line, turn = zip(*((values[:, :3], values[:, 3:]) for values in self._waves(t)), strict=True)
        return moving_pose(self.position, self.rotation, line, turn)


class JointExcitation(_Random, _Joints):
    """q_d = centre + x(t), each joint a sum of sinusoids of random phases, |x| ≤ amplitude."""

    type: Literal["joint_excitation"] = "joint_excitation"

    @model_validator(mode="after")
    def _has_numbers_of_each_joint(self) -> JointExcitation:
        check_sizes(self, len(self.centre), "amplitude")
        return self

    @cached_property
    def _waves(self) -> Waves:
        return self._random(spread(self.amplitude, len(self.centre)))
