"""Cause of what the fit of a record leaves: lags, wrong drive gains and encoder zeros, or one of `alternatives`.

Each adds columns to the regressor of the fit; what they explain beyond it speaks for the cause. Rotors and Stribeck
friction, which are no fault of the record, have columns of their own, so that neither is taken for a cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from thunder_controllers.identification.alternatives import (
    BETTER,
    FREE,
    Cause,
    Fitting,
    find_alternative,
)
from thunder_controllers.identification.information import LEAST_VARIANCE, correlation_time, fit_columns
from thunder_controllers.identification.motion import Fault, Motion, Record, UnsoundError

FloatArray = NDArray[np.float64]

CHANCE = 1e-4
"""Probability with which noise alone is taken for a cause: 4.5 deviations of one joint of seven.

In 50 records of five arms, by MuJoCo and the model, with nothing wrong the surest joint of each had up to 3.3.
"""

GROSS_CHANCE = 1e-2
"""The same where the error may be a gross one, 3.4 deviations: to miss it costs more than to record again.

Gains 5 % off of which a record tells little were 3.5 to 4.1 deviations in three of 100 records of those arms.
"""

SURE = 3.0
"""Standard deviations that a joint's own error must have to be named."""

GAIN = 0.02
"""Least error of a drive gain over those of the others [1]: torque constants of one type differ by as much."""

ZERO = np.deg2rad(0.4)
"""Least error of a joint's zero [rad], or as many metres: calibrations of arms are better than that."""

GROSS_GAIN, GROSS_ZERO = 0.05, np.deg2rad(1.0)
"""Error of a gain [1] and of a zero [rad or m] that no record is used with, whatever else it moves: that they may have
within `SURE` deviations counts."""

LAG = 5e-3
"""Largest lag of efforts that is taken out of a record [s]; one with a larger lag is refused."""

LEAST_LAG = 0.5e-3
"""Least lag that is told [s]: half a period of 1 kHz."""

APART = 2e-3
"""Least difference of a joint's own lag from that of the others [s]."""

LAG_PASSES, LONGEST_STEP = 4, 0.03
"""Steps of Gauss and Newton with the same unknowns, and the most that a lag changes in one [s]."""

STRIBECK_SPEEDS = tuple(0.02 * 1.5**k for k in range(9))
"""Among which that of each joint is found [rad/s or m/s], up to 0.5; next to each other they differ by little."""

STRIBECK = 0.1
"""Least F_s − F_c over F_c that is told from Coulomb friction."""

BLOCK = 1.0
"""Span [s] within which what a model lacks is alike, as arms that are identified move at up to half a hertz."""

STEP = 1e-5
"""Step of central differences in the position [rad or m]."""

NEGLIGIBLE = 1e-8
"""Share of the largest singular value below which a direction of unit columns is none."""

PASSES = 3
"""Rounds of fit and variance in turn."""


@dataclass(frozen=True, eq=False)
class Suspicion:
    """An error of each joint that would explain what the fit leaves, were it alone beside those that are found.

    Attributes:
        size: Error of each joint (n,).
        std: Its standard deviation (n,); large where the motion does not tell it.
        found: Whether it is beyond doubt (n,).
    """

    size: FloatArray
    std: FloatArray
    found: NDArray[np.bool_]

    @property
    def suspects(self) -> list[int]:
        """Joints whose error is found, the surest first."""
        return sorted(np.flatnonzero(self.found).tolist(), key=lambda k: -abs(self.size[k]) / self.std[k])

    def may_be(self, size: float) -> bool:
        """Whether an error that is found may be as large as that."""
        return bool((self.found & (np.abs(self.size) + SURE * self.std >= size)).any())

    @property
    def surest(self) -> float:
        """Standard deviations of the surest error that is found; 0 without any."""
        return float((self.found * np.abs(self.size) / self.std).max())

    def listed(self, joints: Sequence[str], text: Callable[[float, float], str]) -> str:
        """List the errors that are found, the surest first."""
        return ", ".join(f"{joints[k]} by {text(self.size[k], self.std[k])}" for k in self.suspects)

    @property
    def named(self) -> FloatArray:
        """The errors that are found, zero for all others, (n,)."""
        return np.where(self.found, self.size, 0.0)


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Errors that a record may have.

    Attributes:
        gains: Relative error of each drive gain over those of the joints where none is found: no motion shows a factor
            that all have in common.
        zeros: What each measured position is too large by [rad or m]; those of a vertical first joint and of the last
            one no motion shows.
        other: Another error that explains the record better than these; None if there is none.
        moved: How far the parameters of bodies move, over their norm, when gains and zeros are taken out of the record.
        doubt: Norm of the deviations that they then have, over the same.
    """

    gains: Suspicion
    zeros: Suspicion
    other: Cause | None
    moved: float
    doubt: float

    def is_harmful(self) -> bool:
        """Whether what is wrong is gross, or moves the parameters of bodies by more than they are known to."""
        is_gross = self.gains.may_be(GROSS_GAIN) or self.zeros.may_be(GROSS_ZERO)
        return self.other is not None or is_gross or self.moved > self.doubt

    def cause(self, joints: Sequence[str]) -> UnsoundError | None:
        """Return the error that says what is wrong, with the number and its deviation; None if nothing is."""
        if self.other is not None:
            return self.other.error(joints)
        causes = {
            Fault.GAINS: (
                self.gains,
                "drive gains differ",
                _percent,
                f"gains within {GAIN:.0%} of each other; check torque constants, or fit them too (--drive-gains)",
            ),
            Fault.ZEROS: (
                self.zeros,
                "encoder zeros are off",
                _degrees,
                f"within {np.rad2deg(ZERO):.1g}°; calibrate the zeros",
            ),
        }
        said = sorted(
            (fault for fault in causes if causes[fault][0].suspects), key=lambda fault: -causes[fault][0].surest
        )
        if not said:
            return None
        whats = (f"{causes[one][1]}: {causes[one][0].listed(joints, causes[one][2])}" for one in said)
        return UnsoundError("; ".join(whats), valid="; ".join(causes[one][3] for one in said), fault=said[0])


def _percent(size: float, std: float) -> str:
    return f"{100 * size:+.1f} ± {100 * std:.1f} %"


def _degrees(size: float, std: float) -> str:
    return f"{np.rad2deg(size):+.2f} ± {np.rad2deg(std):.2f}°"


def milliseconds(size: float, std: float) -> str:
    """Text of a time [s] with its standard deviation."""
    return f"{1e3 * size:.1f} ± {1e3 * std:.1f} ms"


@dataclass(frozen=True, eq=False)
class Looked:
    """A record without the lag of its efforts, and what else may be wrong with it.

    Attributes:
        record: Its efforts at their times, if a lag is the best explanation.
        motion: Of that.
        lag: How late the efforts of each joint are [s]; negative where they are early.
        other: What else explains the record best; a lag above `LAG` too.
    """

    record: Record
    motion: Motion
    lag: Suspicion
    other: Cause | None


def look(fitting: Fitting, record: Record, see: Callable[[Record], Motion], fitted: slice) -> Looked:
    """Find the lag of the efforts, or another error of the whole record that explains it better.

    Args:
        fitting: Of the robot.
        record: As it was measured.
        see: From a record to its motion.
        fitted: Samples of the motion that are fitted.
    """
    lag = _find_lag(fitting, record, see, fitted)
    earlier = record.earlier(lag.named) if lag.found.any() else record
    motion, mended = see(record), see(earlier)
    late = tuple(np.flatnonzero(np.abs(lag.named) > LAG).tolist())
    other = find_alternative(fitting, record if late else earlier, (motion if late else mended).part(fitted))
    if not late:
        return Looked(earlier, mended, lag, other)
    left, before = fitting.left(fitting.columns(mended.part(fitted)), mended.part(fitted)), motion.part(fitted)
    fit, _ = fit_columns(fitting.regressor(before), before.effort, before.used)
    *_, calibrated = _calibrate(fitting, before, fit.x, fit.variance)
    as_it_is = fitting.left(fitting.columns(before), before) - BETTER
    lefts = [fitting.left(fitting.columns(calibrated), calibrated), as_it_is, np.inf if other is None else other.left]
    if min(lefts) < left:
        return Looked(record, motion, replace(lag, found=np.zeros_like(lag.found)), other)
    is_common = np.ptp(lag.size) == 0.0
    said = ", ".join(f"{{}} by {milliseconds(lag.size[k], lag.std[k])}" for k in late)
    said = f"by {milliseconds(lag.size[0], lag.std[0])}" if is_common else said
    valid = f"efforts within {1e3 * LAG:g} ms of positions"
    return Looked(
        earlier, mended, lag, Cause(Fault.LATE, f"efforts are late: {said}", valid, late * (not is_common), left)
    )


def _find_lag(fitting: Fitting, record: Record, see: Callable[[Record], Motion], fitted: slice) -> Suspicion:
    """Find how late the efforts are, by Gauss and Newton: τ(t − T) = τ(t) − T τ̇(t).

    All joints have a lag in common at first; then those have their own, the surest first, that differ beyond doubt.
    """
    motion = see(record).part(fitted)
    n, known = motion.q.shape[1], fitting.columns(motion)
    lag, own, left = np.zeros(n), np.ones((n, 1)), list(range(n))
    limit = np.sqrt(chdtri(1, CHANCE / n))
    while True:
        for _ in range(LAG_PASSES):
            motion = see(record.earlier(lag)).part(fitted)
            late = -motion.effort_rate[:, :, None] * np.eye(n)
            z, y, _ = _beyond(known, late, motion, fitting.solve(known, motion)[0])
            step, std = _told(z @ own, y, motion)
            lag = lag + own @ np.clip(step, -LONGEST_STEP, LONGEST_STEP)
        apart = [[one[-1] for one in _told(np.column_stack([z @ own, z[:, k]]), y, motion)] for k in left]
        sure = [abs(size) / std if abs(size) > APART else 0.0 for size, std in apart]
        if len(left) < 2 or max(sure) < limit:
            break
        own = np.column_stack([own, np.eye(n)[:, left.pop(int(np.argmax(sure)))]])
    stds = np.sqrt(own**2 @ std**2)
    return Suspicion(lag, stds, np.abs(lag) > np.fmax(LEAST_LAG, limit * stds))


def _calibrate(
    fitting: Fitting, motion: Motion, x: FloatArray, variance: FloatArray
) -> tuple[Suspicion, Suspicion, Motion]:
    """Find wrong drive gains and encoder zeros beside a fit x (b,), and the motion without them."""
    n, regressor, columns = motion.q.shape[1], fitting.regressor, fitting.columns(motion)
    predicted = columns[:, :, : -2 * n] @ x
    slope = np.gradient(predicted, motion.period, axis=0)
    known = np.concatenate([columns, slope[:, :, None] * np.eye(n)], axis=2)
    moved = [
        (regressor(replace(motion, q=motion.q + h)) - regressor(replace(motion, q=motion.q - h))) @ x / (2.0 * STEP)
        for h in STEP * np.eye(n)
    ]
    causes = np.concatenate([predicted[:, :, None] * np.eye(n), -np.stack(moved, axis=2)], axis=2)
    least, gross = np.repeat([GAIN, ZERO], n), np.repeat([GROSS_GAIN, GROSS_ZERO], n)
    size, std, found = _fewest(known, causes, motion, variance, least, gross)
    gains, zeros = Suspicion(size[:n], std[:n], found[:n]), Suspicion(size[n:], std[n:], found[n:])
    return gains, zeros, replace(motion, q=motion.q - zeros.named, effort=motion.effort / (1.0 + gains.named))


def diagnose(fitting: Fitting, motion: Motion, x: FloatArray, variance: FloatArray, other: Cause | None) -> Diagnosis:
    """Look for the cause of what a fit leaves.

    Args:
        fitting: Of the robot.
        motion: That was fitted.
        x: What was found (b,).
        variance: Of what it leaves of each joint's effort (n,).
        other: What else explains the record, by `look`.
    """
    gains, zeros, mended = _calibrate(fitting, motion, x, variance)
    other_fit, _ = fit_columns(fitting.regressor(mended), mended.effort, motion.used)
    values = other_fit.x - x, np.sqrt(np.diag(other_fit.covariance)), x
    norms = [max(float(np.linalg.norm(one[fitting.bodies])), LEAST_VARIANCE) for one in values]
    is_any = gains.found.any() or zeros.found.any()
    if is_any and other is not None and other.fault is not Fault.LATE:
        other = other if other.left < fitting.left(fitting.columns(mended), mended) + FREE else None
    return Diagnosis(gains, zeros, other, is_any * norms[0] / norms[2], norms[1] / norms[2])


@dataclass(frozen=True, eq=False)
class Stribeck:
    """Friction that falls from F_s to F_c = Coulomb friction, by (F_s − F_c) exp(−(q̇/v_s)²).

    Attributes:
        size: F_s − F_c of each joint (n,) [N·m or N]; zero where the record does not tell it beyond doubt.
        std: Its standard deviation (n,).
        speed: v_s (n,) [rad/s or m/s].
    """

    size: FloatArray
    std: FloatArray
    speed: FloatArray


def find_stribeck(W: FloatArray, columns: FloatArray, motion: Motion, coulomb: FloatArray) -> Stribeck:
    """Find the joints whose friction falls with speed, each at that of `STRIBECK_SPEEDS` which explains most.

    Variable projection [Golub and Pereyra 1973]: for each speed all else is fitted too. F_s − F_c counts where it is
    positive and surer than noise makes it once in 1/`CHANCE` records, at any of the speeds. The lowest speed, which is
    that of the smoothed sign, says that something is wrong where the joint turns, as in MuJoCo, and the highest can
    hardly be told from viscous friction: neither counts.

    Args:
        W: Columns of the fit (N, n, b).
        columns: By `stribeck_columns`.
        motion: That is fitted, with the slow samples used.
        coulomb: Friction of each joint (n,).
    """
    n, last = motion.q.shape[1], len(columns) - 1
    fit, correlation = fit_columns(W, motion.effort, motion.used)
    Z = np.concatenate([one[:, :, None] * np.eye(n) for one in columns], axis=2)
    z, y, _ = _beyond(W, Z, motion, correlation * fit.variance)
    found = [_told(own, y, motion) for own in np.split(z, len(columns), axis=1)]
    sizes, stds = (np.array(one) for one in zip(*found, strict=True))
    best, every = np.argmax(np.where(sizes > 0.0, sizes / stds, 0.0), axis=0), np.arange(n)
    size, std = sizes[best, every], stds[best, every]
    limit = np.sqrt(chdtri(1, CHANCE / len(columns)))
    told = (size > limit * std) & (size > STRIBECK * coulomb) & (best > 0) & (best < last)
    return Stribeck(np.where(told, size, 0.0), std, np.asarray(STRIBECK_SPEEDS)[best])


def _fewest(
    W: FloatArray, Z: FloatArray, motion: Motion, variance: FloatArray, least: FloatArray, gross: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Explain by as few columns of Z as possible what W does not: one after the other, the surest first.

    Orthogonal matching pursuit [Pati, Rezaiifar, Krishnaprasad 1993]. A joint is taken for wrong where noise makes its
    error as sure as that, of all columns, once in 1/`CHANCE` records, or once in 1/`GROSS_CHANCE` if it may be gross.

    Returns:
        Coefficients (z,), their standard deviations (z,), and which are at least as large and beyond doubt.
    """
    n, count = motion.q.shape[1], Z.shape[2]
    for _ in range(PASSES):
        z, y, rank = _beyond(W, Z, motion, variance)
        residual = (y - z @ _told(z, y, motion)[0]).reshape(motion.used.shape) * np.sqrt(variance) * motion.used
        freedom = np.fmax(motion.used.sum(axis=0) - (rank + count) / n, 1.0)
        variance = np.fmax((residual**2).sum(axis=0) / freedom, LEAST_VARIANCE) * correlation_time(residual)
    (limit, gross_limit), chosen = np.sqrt(chdtri(1, np.array([CHANCE, GROSS_CHANCE]) / count)), list[int]()
    size, std = np.zeros(count), np.ones(count)
    while len(chosen) < count:
        for k in set(range(count)) - set(chosen):
            size[k], std[k] = (one[-1] for one in _told(z[:, [*chosen, k]], y, motion))
        may_be_gross = np.abs(size) + SURE * std >= gross
        sure = np.abs(size) / std / np.where(may_be_gross, gross_limit, limit)
        sure[chosen] = 0.0
        if sure.max() <= 1.0:
            break
        chosen.append(int(np.argmax(sure)))
        size[chosen], std[chosen] = _told(z[:, chosen], y, motion)
    found = np.isin(np.arange(count), chosen) & (np.abs(size) > np.fmax(least, SURE * std))
    return size, std, found


def _beyond(W: FloatArray, Z: FloatArray, motion: Motion, variance: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """What W does not explain of Z (N n, z) and of the efforts (N n,), weighted, and the rank of W."""
    weight = (motion.used / np.sqrt(variance))[:, :, None]
    rows = (weight * W).reshape(-1, W.shape[2])
    basis, values, _ = np.linalg.svd(rows / np.fmax(np.linalg.norm(rows, axis=0), NEGLIGIBLE), full_matrices=False)
    basis = basis[:, values > NEGLIGIBLE * values[0]]
    both = np.concatenate([Z, motion.effort[:, :, None]], axis=2)
    left = (weight * both).reshape(-1, both.shape[2])
    left -= basis @ (basis.T @ left)
    return left[:, :-1], left[:, -1], basis.shape[1]


def _told(z: FloatArray, y: FloatArray, motion: Motion) -> tuple[FloatArray, FloatArray]:
    """Fit y by z, with unit standard deviation of the coefficients beforehand.

    Returns:
        Those (z,), and their standard deviations (z,): the larger ones of those by the noise of samples that count as
        one, and by the scatter from block to block of what is left times z. What the model lacks is no noise, but moves
        with the arm [Newey and West 1987].
    """
    covariance = np.linalg.inv(z.T @ z + np.eye(z.shape[1]))
    size = covariance @ z.T @ y
    pulls = (z * (y - z @ size)[:, None]).reshape(*motion.used.shape, -1).sum(axis=1)
    blocks = np.add.reduceat(pulls, np.arange(0, len(pulls), max(round(BLOCK / motion.period), 1)))
    return size, np.sqrt(np.fmax(np.diag(covariance), ((blocks @ covariance) ** 2).sum(axis=0)))
