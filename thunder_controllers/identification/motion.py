"""From what was recorded of a motion to states, efforts and the samples that can be used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.identification.information import SIGN_SPEED
from thunder_dynamics.errors import MissingLibraryError

try:
    from scipy.signal import butter, sosfiltfilt
except ModuleNotFoundError as error:
    raise MissingLibraryError("scipy") from error

FloatArray = NDArray[np.float64]

BANDWIDTH = 10.0
"""Of the motion that is looked at [Hz]: arms move slower, and noise of sensors and efforts is mostly faster."""

EDGE = 4
"""Samples at both ends that are not used: the filter has not settled there."""

SLOW = 0.1
"""Of a joint's largest speed: samples at less say nothing of it, as friction may do anything where a motion turns."""

AT_REST = 0.02
"""The same for a joint that hardly moves [rad/s or m/s]."""

LEAST_SAMPLES = 30
"""Two a period of the bandwidth."""


@dataclass(frozen=True)
class Record:
    """Positions and efforts at the same times, a period apart.

    Attributes:
        q: Measured positions (N, n) [rad or m].
        effort: (N, n) [N·m or N].
        rate: [Hz].
    """

    q: FloatArray
    effort: FloatArray
    rate: float

    @classmethod
    def of_held(cls, q: FloatArray, effort: FloatArray, rate: float) -> Record:
        """From efforts that act from each sample to the next, as commands do: at a sample, the mean of both sides."""
        return cls(q[1:], 0.5 * (effort[1:] + effort[:-1]), rate)

    @property
    def every(self) -> int:
        """Samples from one that is looked at to the next: two a period of the bandwidth."""
        return max(round(self.rate / (2.0 * BANDWIDTH)), 1)

    @property
    def settled(self) -> slice:
        """The samples where the filter has settled; every `every`-th of them is one of a `Motion`."""
        return slice(EDGE * self.every, len(self.q) - EDGE * self.every)

    @property
    def is_usable(self) -> bool:
        """Whether it is long enough, and all of it was measured."""
        finite = np.isfinite(self.q).all() and np.isfinite(self.effort).all()
        return bool(finite and len(self.q) >= LEAST_SAMPLES * self.every)


@dataclass(frozen=True)
class Motion:
    """Filtered states and efforts whose noise is nearly independent from sample to sample.

    Attributes:
        q: (N, n), as are the others.
        qd: [rad/s or m/s].
        qdd: [rad/s² or m/s²].
        effort: [N·m or N].
        sign: Smoothed sign of the velocity, which Coulomb friction follows, through the same filter as the effort.
        used: Where the joint is not slow: what its effort is there can be explained.
        period: From sample to sample [s].
    """

    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    effort: FloatArray
    sign: FloatArray
    used: NDArray[np.bool_]
    period: float

    @classmethod
    def of(cls, record: Record, slow: float = SLOW) -> Motion:
        """Pass positions and efforts through the same filter, without delay, and differentiate.

        Args:
            record: What was measured.
            slow: Share of a joint's largest speed, of which samples at less are not used.
        """
        rate, every = record.rate, record.every
        q, qd, qdd = smoothed_states(record)
        effort, sign = (_smoothed(values, rate) for values in (record.effort, np.tanh(qd / SIGN_SPEED)))
        inside = slice(record.settled.start, record.settled.stop, every)
        speed = np.abs(qd[inside])
        used = speed > np.fmax(slow * speed.max(axis=0), AT_REST)
        return cls(q[inside], qd[inside], qdd[inside], effort[inside], sign[inside], used, every / rate)

    def part(self, chosen: slice) -> Motion:
        """Some of the samples."""
        q, qd, qdd, effort, sign = (one[chosen] for one in (self.q, self.qd, self.qdd, self.effort, self.sign))
        return Motion(q, qd, qdd, effort, sign, self.used[chosen], self.period)


def smoothed_states(record: Record) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, q̇ and q̈ at every sample (N, n), filtered to `BANDWIDTH` without delay, and differentiated."""
    q = _smoothed(record.q, record.rate)
    qd = np.gradient(q, 1.0 / record.rate, axis=0)
    return q, qd, np.gradient(qd, 1.0 / record.rate, axis=0)


def _smoothed(values: FloatArray, rate: float) -> FloatArray:
    smooth = butter(4, min(BANDWIDTH, 0.4 * rate), fs=rate, output="sos")
    return np.asarray(sosfiltfilt(smooth, values, axis=0))
