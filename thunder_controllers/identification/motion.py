"""From what was recorded of a motion to states, efforts and the samples that can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.identification.information import SIGN_SPEED
from thunder_dynamics.errors import ThunderError

FloatArray = NDArray[np.float64]

BANDWIDTH = 10.0
"""Of the motion that is looked at [Hz]: arms move slower, and noise of sensors and efforts is mostly faster."""

EDGE = 8
"""Samples at both ends that are not used: the filter has not settled there.

Its slowest poles are at −24 ± 58i: of a jump of the acceleration at an end 1e-4 is left after these 0.4 s. The 1 % that
is left after 0.2 s was fifteen deviations of the last sample of a record with little noise.
"""

SLOW = 0.1
"""Of a joint's largest speed: samples at less say nothing of it, as friction may do anything where a motion turns."""

AT_REST = 0.02
"""The same for a joint that hardly moves [rad/s or m/s]."""

LEAST_SAMPLES = 30
"""Two a period of the bandwidth."""


class Fault(StrEnum):
    """Cause for which a record is refused: a code for programs, in any language of the message."""

    FILE = "file"
    STAMPS = "stamps"
    UNIT = "unit"
    COARSE = "coarse"
    NOT_MEASURED = "not_measured"
    SHORT = "short"
    UNEXCITED = "unexcited"
    LATE = "late"
    FILTERED = "filtered"
    CLIPPED = "clipped"
    SIGN = "sign"
    EXCHANGED = "exchanged"
    GRAVITY = "gravity"
    GAINS = "gains"
    ZEROS = "zeros"
    UNEXPLAINED = "unexplained"


class RecordError(ThunderError):
    """A record of a motion cannot be read, or is not one of that robot.

    Args:
        what: What is wrong, as `where` and `valid` of `ThunderError`.
        fault: Its cause.
    """

    def __init__(
        self, what: str, *, where: str | None = None, valid: str | None = None, fault: Fault = Fault.FILE
    ) -> None:
        super().__init__(what, where=where, valid=valid)
        self.fault = fault


class UnsoundError(RecordError):
    """A record does not say what is asked of it."""


@dataclass(frozen=True)
class Record:
    """Positions and efforts at the same times, a period apart.

    Attributes:
        q: Measured positions (N, n) [rad or m].
        effort: (N, n) [N·m or N].
        rate: [Hz].
        coupling: A: drives turn with A q, (n, n); joint by joint if None.
        bandwidth: Of the motion that is looked at [Hz].
        notes: Sentences on what was left out or merged when it was read.
    """

    q: FloatArray
    effort: FloatArray
    rate: float
    coupling: FloatArray | None = None
    bandwidth: float = BANDWIDTH
    notes: tuple[str, ...] = ()

    @classmethod
    def of_held(cls, q: FloatArray, effort: FloatArray, rate: float) -> Record:
        """From efforts that act from each sample to the next, as commands do: at a sample, the mean of both sides."""
        return cls(q[1:], 0.5 * (effort[1:] + effort[:-1]), rate)

    @property
    def every(self) -> int:
        """Samples from one that is looked at to the next: two a period of the bandwidth."""
        return max(round(self.rate / (2.0 * self.bandwidth)), 1)

    @property
    def drives(self) -> FloatArray:
        """A, the identity where each joint has a drive of its own."""
        return np.eye(self.q.shape[1]) if self.coupling is None else self.coupling

    @property
    def settled(self) -> slice:
        """The samples where the filter has settled; every `every`-th of them is one of a `Motion`."""
        return slice(EDGE * self.every, len(self.q) - EDGE * self.every)

    @property
    def flaw(self) -> UnsoundError | None:
        """Error of a record of which values are missing, or that is too short for the filter; None of a good one."""
        for what, values in (("position", self.q), ("effort", self.effort)):
            missing = ~np.isfinite(values)
            if missing.any():
                sample, joint = np.argwhere(missing)[0]
                text = f"the {what} of joint {joint + 1} is no number after {sample / self.rate:.4g} s"
                text += f", {missing.sum()} in all"
                return UnsoundError(text, valid="finite numbers", fault=Fault.NOT_MEASURED)
        if len(self.q) < (least := LEAST_SAMPLES * self.every):
            text = f"{len(self.q)} samples at {self.rate:g} Hz"
            return UnsoundError(text, valid=f"at least {least}; some seconds of motion", fault=Fault.SHORT)
        return None

    def earlier(self, lag: FloatArray) -> Record:
        """Return the record with efforts that were so late [s], (n,), at their times: τ(t + lag), by interpolation."""
        t = np.arange(len(self.q)) / self.rate
        effort = [np.interp(t + one, t, values) for one, values in zip(lag, self.effort.T, strict=True)]
        return replace(self, effort=np.column_stack(effort))


@dataclass(frozen=True)
class Motion:
    """Filtered states and efforts whose noise is nearly independent from sample to sample.

    Attributes:
        q: Of the joints (N, n), as are the others.
        qd: [rad/s or m/s].
        qdd: [rad/s² or m/s²].
        effort: Of the drives, A⁻ᵀτ [N·m or N].
        effort_rate: Its derivative: what a delay or lag of the drives takes from it, by its time.
        sign: Smoothed sign of A q̇, which Coulomb friction follows, through the same filter as the effort.
        used: Where the drive is not slow: what its effort is there can be explained.
        period: From sample to sample [s].
        drives: A of the record (n, n).
    """

    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    effort: FloatArray
    effort_rate: FloatArray
    sign: FloatArray
    used: NDArray[np.bool_]
    period: float
    drives: FloatArray

    @property
    def turning(self) -> tuple[FloatArray, FloatArray]:
        """Velocities and accelerations of the drives, A q̇ and A q̈."""
        return self.qd @ self.drives.T, self.qdd @ self.drives.T

    @classmethod
    def of(cls, record: Record, slow: float = SLOW) -> Motion:
        """Pass positions and efforts through the same filter, without delay, and differentiate.

        Args:
            record: What was measured.
            slow: Share of a joint's largest speed, of which samples at less are not used.
        """
        rate, every = record.rate, record.every
        q, qd, qdd = smoothed_states(record)
        turning, efforts = qd @ record.drives.T, record.effort @ np.linalg.inv(record.drives)
        effort, sign = (smoothed(values, rate, record.bandwidth) for values in (efforts, np.tanh(turning / SIGN_SPEED)))
        effort_rate = np.gradient(effort, 1.0 / rate, axis=0)
        inside = slice(record.settled.start, record.settled.stop, every)
        speed = np.abs(turning[inside])
        used = speed > np.fmax(slow * speed.max(axis=0), AT_REST)
        q, qd, qdd, effort, effort_rate, sign = (one[inside] for one in (q, qd, qdd, effort, effort_rate, sign))
        return cls(q, qd, qdd, effort, effort_rate, sign, used, every / rate, record.drives)

    def part(self, chosen: slice) -> Motion:
        """Some of the samples."""
        names = ("q", "qd", "qdd", "effort", "effort_rate", "sign", "used")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


def stribeck_columns(record: Record, speeds: Sequence[float]) -> FloatArray:
    """sign(q̇) exp(−(q̇/v)²) of drives at the samples of a `Motion`, through the same filter, for each v, (v, N, n).

    Friction that falls from F_s at rest to F_c adds (F_s − F_c) times it to Coulomb friction F_c [Armstrong-Hélouvry,
    Dupont, Canudas de Wit 1994].
    """
    qd = smoothed_states(record)[1] @ record.drives.T
    inside = slice(record.settled.start, record.settled.stop, record.every)
    sign = np.tanh(qd / SIGN_SPEED)
    return np.array(
        [smoothed(sign * np.exp(-((qd / speed) ** 2)), record.rate, record.bandwidth)[inside] for speed in speeds]
    )


def smoothed_states(record: Record) -> tuple[FloatArray, FloatArray, FloatArray]:
    """q, q̇ and q̈ at every sample (N, n), filtered to the record's bandwidth without delay, and differentiated."""
    q = smoothed(record.q, record.rate, record.bandwidth)
    qd = np.gradient(q, 1.0 / record.rate, axis=0)
    return q, qd, np.gradient(qd, 1.0 / record.rate, axis=0)


def smoothed(values: FloatArray, rate: float, bandwidth: float) -> FloatArray:
    """Values (N, …) through the same filter forwards and backwards, a Butterworth low-pass of order four each way."""
    from scipy.signal import butter, sosfiltfilt  # here: it takes 0.7 s, and every run imports this module

    smooth = butter(4, min(bandwidth, 0.4 * rate), fs=rate, output="sos")
    return np.asarray(sosfiltfilt(smooth, values, axis=0))
