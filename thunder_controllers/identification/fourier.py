"""Motions of the joints from rest to rest, as Fourier series, and the poses along them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from thunder_controllers.host import Library
from thunder_controllers.references.trajectories import ACCELERATION, CARTESIAN_SIZE, POSITION, RATES, ROTATION, TWIST

FloatArray = NDArray[np.float64]


def rest_basis(t: FloatArray, harmonics: int, period: float) -> list[FloatArray]:
    """Compute the series that `JointFourier` is a sum of, and four derivatives, at times (N,), (N, 2 H − 2) each."""
    order = np.arange(1.0, harmonics + 1.0)
    omega = 2.0 * np.pi / period * order
    angle = np.multiply.outer(t, omega)
    sine, cosine = np.sin(angle), np.cos(angle)
    pairs = [
        (sine, cosine - 1.0),
        (omega * cosine, -omega * sine),
        (-(omega**2) * sine, -(omega**2) * cosine),
        (-(omega**3) * cosine, omega**3 * sine),
        (omega**4 * sine, omega**4 * cosine),
    ]
    rest = null_space(order[None]), null_space(order[None] ** 2)
    return [np.hstack([part @ Z for part, Z in zip(pair, rest, strict=True)]) for pair in pairs]


class JointFourier:
    """q(t) = q₀ + Σₖ aₖ sin(kωt) + bₖ (cos(kωt) − 1), Σ k aₖ = Σ k² bₖ = 0: once in a period 2π/ω at rest at q₀.

    Fourier series as in Swevers et al., "Optimal robot excitation and identification" (1997), less the two terms that
    would leave a velocity or an acceleration at the ends.

    Args:
        start: q₀ [rad or m], (n,).
        free: What is free of the coefficients, of `rest_basis`, (2 H − 2, n), H ≥ 2 the number of harmonics.
        period: [s].
    """

    def __init__(self, start: FloatArray, free: FloatArray, period: float) -> None:
        self._start, self._free, self._period = start, free, period

    @property
    def period(self) -> float | None:
        """[s]."""
        return self._period

    def derivatives(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, q̇ and q̈ at times `t` (N,) [s], (N, n) each."""
        value, rate, change, *_ = rest_basis(t, len(self._free) // 2 + 1, self._period)
        return self._start + value @ self._free, rate @ self._free, change @ self._free

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """Compute `jerk` and `snap` at times `t` (N,), (N, n) each."""
        *_, jerk, snap = rest_basis(t, len(self._free) // 2 + 1, self._period)
        return dict(zip(RATES, (jerk @ self._free, snap @ self._free), strict=True))

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n; see `references.trajectories`."""
        return np.hstack(self.derivatives(t))


class PoseOfJoints:
    """The pose of the end effector along a motion of the joints, by the library's kinematics.

    Args:
        library: Of the robot.
        joints: The motion.
    """

    def __init__(self, library: Library, joints: JointFourier) -> None:
        self._library, self._joints = library, joints

    @property
    def period(self) -> float | None:
        """[s]."""
        return self._joints.period

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24; see `references.trajectories`."""
        return pose_samples(self._library, *self._joints.derivatives(t))


def pose_samples(library: Library, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
    """Cartesian samples (N, 24) of joint motions (N, n): pose, twist J q̇ and acceleration J q̈ + J̇ q̇."""
    rows, evaluate = np.empty((len(q), CARTESIAN_SIZE)), library.evaluate
    for row, *state in zip(rows, q, qd, qdd, strict=True):
        T, J = evaluate("T_0_ee", state[0]), evaluate("J_ee", state[0])
        row[POSITION], row[ROTATION] = T[:3, 3], T[:3, :3].T.ravel()
        row[TWIST], row[ACCELERATION] = J @ state[1], J @ state[2] + evaluate("J_ee_dot", *state[:2]) @ state[1]
    return rows
