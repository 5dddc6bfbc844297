"""Motions that show the inertial parameters of a robot: each direction, or joint, is a sum of sinusoids."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.references.trajectories import POSITION, Values, as_rotation, as_vector, moving_pose
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]


class FourierSums:
    """x_i(t) = A_i / H · Σₖ sin(2πkft + φᵢₖ) / k for k = 1 … N, with H = Σₖ 1/k: |x_i| ≤ A_i in the worst case.

    Fourier excitation as in Swevers et al., "Optimal robot excitation and identification" (1997), without the
    optimisation: the phases are random.

    Args:
        amplitude: A, shape (n,).
        frequency: f [Hz].
        harmonics: N.
        seed: Of the phases.

    Raises:
        ScenarioError: if frequency or harmonics is not positive.
    """

    def __init__(self, amplitude: FloatArray, frequency: float, harmonics: int, seed: int) -> None:
        if not (np.isfinite(frequency) and frequency > 0.0 and harmonics >= 1):
            what = f"frequency {frequency:g} Hz with {harmonics} harmonics"
            raise ScenarioError(what, where="excitation", valid="a positive frequency, at least one harmonic")
        order = np.arange(1, harmonics + 1)
        weights = 1.0 / order
        self._amplitude = np.outer(amplitude, weights / weights.sum())
        self._omega = 2.0 * np.pi * frequency * order
        self._phase = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, (len(amplitude), harmonics))
        self.period = 1.0 / frequency
        """[s]"""

    @property
    def largest_rate(self) -> FloatArray:
        """Bound of |ẋ|, reached if all phases agree, shape (n,)."""
        return np.asarray(np.abs(self._amplitude) @ self._omega)

    def __call__(self, t: FloatArray) -> Values:
        """Values and two derivatives at times `t`, shape (N,) [s]; shape (N, n) each."""
        angle = np.multiply.outer(t, np.broadcast_to(self._omega, self._phase.shape)) + self._phase
        sine, cosine = self._amplitude * np.sin(angle), self._amplitude * np.cos(angle)
        return sine.sum(-1), (cosine @ self._omega), -(sine @ self._omega**2)


class Excitation:
    """p_d = p₀ + x(t), R_d = R₀ Rz(a(t)) Ry(b(t)) Rx(c(t)), each of x, a, b, c one of `FourierSums`.

    Args:
        position: p₀ [m], world frame, shape (3,).
        rotation: R₀, shape (3, 3).
        linear: Amplitudes of x [m], shape (3,).
        angular: Amplitudes of a, b, c [rad], shape (3,).
        frequency: Base frequency [Hz].
        harmonics: Number of sinusoids in each sum.
        seed: Of the phases.

    Raises:
        DimensionError: if an array has another shape or is not finite.
        ScenarioError: if frequency or harmonics is not positive.
    """

    def __init__(
        self,
        position: ArrayLike,
        rotation: ArrayLike,
        linear: ArrayLike,
        angular: ArrayLike,
        frequency: float = 0.1,
        harmonics: int = 3,
        seed: int = 0,
    ) -> None:
        self._position = as_vector(position, 3, "position")
        self._rotation = as_rotation(rotation)
        amplitude = np.concatenate((as_vector(linear, 3, "linear"), as_vector(angular, 3, "angular")))
        self._sums = FourierSums(amplitude, frequency, harmonics, seed)
        self.period: float | None = self._sums.period

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24; see `trajectories`."""
        line, turn = zip(*((values[:, :3], values[:, 3:]) for values in self._sums(t)), strict=True)
        rows = moving_pose(self._rotation, line, turn)
        rows[:, POSITION] += self._position
        return rows


class JointExcitation:
    """q_d(t) = centre + x(t), each joint one of `FourierSums`.

    Args:
        centre: [rad] or [m], shape (n,).
        amplitude: Of x, never exceeded, shape (n,).
        frequency: Base frequency [Hz].
        harmonics: Number of sinusoids in each sum.
        seed: Of the phases.

    Raises:
        DimensionError: if an array has another shape or is not finite.
        ScenarioError: if frequency or harmonics is not positive.
    """

    def __init__(
        self, centre: ArrayLike, amplitude: ArrayLike, frequency: float = 0.1, harmonics: int = 3, seed: int = 0
    ) -> None:
        self._centre = as_vector(centre, np.size(centre), "centre")
        self._sums = FourierSums(as_vector(amplitude, np.size(centre), "amplitude"), frequency, harmonics, seed)
        self.period: float | None = self._sums.period

    @property
    def largest_velocity(self) -> FloatArray:
        """Bound of |q̇_d|, shape (n,) [rad/s] or [m/s]."""
        return self._sums.largest_rate

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n; see `trajectories`."""
        offset, velocity, acceleration = self._sums(t)
        return np.hstack([self._centre + offset, velocity, acceleration])
