"""Errors of a whole record, each judged by what a fit leaves of the efforts once the record is mended.

An error that no small step reaches, such as a sign, adds no column to a fit: the record is mended, and fitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.signal import butter, sosfilt, sosfilt_zi, sosfiltfilt

from thunder_controllers.identification.information import LEAST_VARIANCE
from thunder_controllers.identification.motion import Fault, Motion, Record, UnsoundError, smoothed

FloatArray = NDArray[np.float64]

Regressor = Callable[[Motion], FloatArray]
"""Independent columns Y_b of base parameters and terms of joints along a motion, (N, n, b)."""

BETTER = 0.2
"""Least drop of the mean log variance of the residual by which another record is the right one: a tenth of its size."""

FREE = 0.05
"""Drop that gains and zeros, which are fitted, must have over an error that is not."""

SMOOTHER = 0.5
"""Drop that a filter must have over `BETTER`: the efforts of a real arm may be smoother than its model's.

Without it a public record of a Panda counts as filtered at 4.4 Hz, by 0.6; records that are filtered at 1 to 3 Hz have
5 and more.
"""

NOTICED = 0.02
"""Least residual of a joint over its effort, root mean squares, that an error of the whole record leaves."""

LEAST_GRAVITY = 0.5
"""Share of the robot file's gravity below which efforts are without: no file's masses are as wrong."""

CUTOFFS, SLOW_ENOUGH = (0.3, 4.0), 0.9
"""Cutoffs of a low-pass that is looked for [Hz], and the share of the largest above which none is told from none."""

MOST_OF_RATE = 0.4
"""Cutoff of a filter over the rate of the samples that are fitted, at most."""

STRIBECK_SPEED = 0.05
"""Of friction that falls with speed [rad/s or m/s]: within the range of harmonic drives and gears."""

NEGATIVE = 3.0
"""Deviations below zero from which on a coefficient of friction counts as negative."""

LEAST_PLATEAU = 0.01
"""Share of samples at the same largest or least effort from which on it may be clipped."""

SAME = 1e-9
"""Efforts so near, over their range, are the same: interpolation between equal ones leaves that."""

REWEIGHTINGS, SETTLED = 60, 0.01
"""Passes of fit and variance in turn, at most, and the change of the log variance at which they end."""

RIDGE = 1e-13
"""Added to normal equations with columns of unit norm, over their trace: there may be columns without effect."""

STATE = ("q", "qd", "qdd", "sign")
"""Of a motion: what depends on positions, and has a column per joint."""


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong with a record.

    Attributes:
        fault: Its code.
        what: Sentence, with `{}` for the name of each joint.
        valid: What would be right.
        joints: Indices of the joints.
        left: Mean log variance of what the fit of the mended record leaves of the joints' efforts; none if it is sure.
    """

    fault: Fault
    what: str
    valid: str
    joints: tuple[int, ...] = ()
    left: float = -np.inf

    def error(self, joints: Sequence[str]) -> UnsoundError:
        """Error that names the joints."""
        return UnsoundError(self.what.format(*(joints[k] for k in self.joints)), valid=self.valid, fault=self.fault)


@dataclass(frozen=True)
class Fitting:
    """How records are fitted.

    Attributes:
        regressor: Columns of the fit.
        positive: Columns of coefficients of friction, which are not negative.
        nominal: Coefficients by the robot file of the first columns, which are those of bodies.
    """

    regressor: Regressor
    positive: tuple[int, ...]
    nominal: FloatArray

    @property
    def bodies(self) -> slice:
        """Columns of bodies."""
        return slice(0, len(self.nominal))

    def columns(self, motion: Motion) -> FloatArray:
        """Columns along a motion, then rotors and friction that falls with speed of each drive, (N, n, b + 2 n)."""
        speed, change = motion.turning
        own = (change, motion.sign * np.exp(-np.abs(speed) / STRIBECK_SPEED))
        return np.concatenate(
            [self.regressor(motion), *(one[:, :, None] * np.eye(speed.shape[1]) for one in own)], axis=2
        )

    def left(self, columns: FloatArray, motion: Motion) -> float:
        """Mean log variance of what `solve` leaves of the joints' efforts."""
        return float(np.log(self.solve(columns, motion)[0]).mean())

    def solve(self, columns: FloatArray, motion: Motion) -> tuple[FloatArray, FloatArray]:
        """Fit without friction that is negative, weighted by the variances that this leaves.

        The weights settle, which those of `weighted_fit` need not with columns that are nearly dependent.

        Returns:
            Variance of what is left of each joint's effort (n,), and the coefficients.
        """
        rows = np.concatenate([columns, motion.effort[:, :, None]], axis=2) * motion.used[:, :, None]
        rows = rows.transpose(1, 0, 2)
        size = np.fmax(np.linalg.norm(rows, axis=(0, 1)), LEAST_VARIANCE)
        size[-1] = 1.0
        squares = rows.transpose(0, 2, 1) @ rows / size / size[:, None]
        count, x = np.fmax(motion.used.sum(axis=0), 1), np.zeros(len(size))
        variance, kept = np.fmax(squares[:, -1, -1] / count, LEAST_VARIANCE), np.arange(len(size) - 1)
        for _ in range(2):
            for _ in range(REWEIGHTINGS):
                weighted = np.tensordot(1.0 / variance, squares, 1)
                information = weighted[np.ix_(kept, kept)]
                information += (RIDGE * np.trace(information) + LEAST_VARIANCE) * np.eye(len(kept))
                x[:], x[-1] = 0.0, -1.0
                x[kept] = np.linalg.solve(information, weighted[kept, -1])
                before, variance = variance, np.fmax(squares @ x @ x / count, LEAST_VARIANCE)
                if np.abs(np.log(variance / before)).max() < SETTLED:
                    break
            std = np.zeros(len(size))
            std[kept] = np.sqrt(np.abs(np.diag(np.linalg.inv(information))))
            negative = [k for k in self.positive if x[k] < -NEGATIVE * std[k]]
            if not negative:
                break
            kept = np.setdiff1d(kept, negative)
        return variance, x[:-1] / size[:-1]


def find_alternative(fitting: Fitting, record: Record, motion: Motion) -> Cause | None:
    """Find the error without which the record would be fitted best.

    Args:
        fitting: Of the robot.
        record: As it was measured.
        motion: Its part that is fitted.

    Returns:
        The error; None if as it is no more than noise is left, or without an error hardly less, by `BETTER`.
    """
    as_it_is = fitting.columns(motion)
    variance, _ = fitting.solve(as_it_is, motion)
    power = (motion.used * motion.effort**2).sum(axis=0) / np.fmax(motion.used.sum(axis=0), 1)
    if not (variance > NOTICED**2 * power).any():
        return None
    causes = [
        replace(cause, left=fitting.left(columns, mended))
        for mends in (_exchanges, _signs, _units, _clipped)
        for cause, columns, mended in mends(fitting, record, motion, as_it_is)
    ]
    causes += [*_filters(fitting, as_it_is, motion), *_without_gravity(fitting, motion, as_it_is)]
    best = min(causes, key=lambda cause: cause.left)
    return best if best.left < np.log(variance).mean() - BETTER else None


Mended = tuple[Cause, FloatArray, Motion]
"""What may be wrong, and the columns and the motion without it."""


def _exchanges(fitting: Fitting, record: Record, motion: Motion, as_it_is: FloatArray) -> Iterator[Mended]:
    """Two joints, or their efforts alone, in each other's place."""
    valid = "joints in the order of their names"
    for pair in combinations(range(motion.q.shape[1]), 2):
        order = np.arange(motion.q.shape[1])
        order[list(pair)] = pair[::-1]
        efforts = replace(motion, effort=motion.effort[:, order])
        whole = replace(
            efforts, used=motion.used[:, order], **{name: getattr(motion, name)[:, order] for name in STATE}
        )
        yield (
            Cause(Fault.EXCHANGED, "{} and {} are exchanged in the record", valid, pair),
            fitting.columns(whole),
            whole,
        )
        what = "the efforts of {} and {} are exchanged in the record"
        yield Cause(Fault.EXCHANGED, what, valid, pair), as_it_is, efforts


def _signs(fitting: Fitting, record: Record, motion: Motion, as_it_is: FloatArray) -> Iterator[Mended]:
    """Efforts of a joint, its positions, or both, with the other sign."""
    valid = "positions that grow about the robot file's axes, and efforts that are positive where they make them grow"
    for joint, turn in enumerate(1.0 - 2.0 * np.eye(motion.q.shape[1])):
        positions = replace(motion, **{name: turn * getattr(motion, name) for name in STATE})
        turned = fitting.columns(positions)
        for what, columns, one, effort in (
            ("efforts", as_it_is, motion, turn),
            ("positions", turned, positions, 1.0),
            ("positions and efforts", turned, positions, turn),
        ):
            cause = Cause(Fault.SIGN, f"the {what} of {{}} have the wrong sign", valid, (joint,))
            yield cause, columns, replace(one, effort=effort * motion.effort)


def _units(fitting: Fitting, record: Record, motion: Motion, as_it_is: FloatArray) -> Iterator[Mended]:
    """Positions in degrees."""
    radians = replace(motion, **{name: np.deg2rad(getattr(motion, name)) for name in STATE[:3]})
    yield Cause(Fault.UNIT, "positions are in degrees", "radians"), fitting.columns(radians), radians


def _without_gravity(fitting: Fitting, motion: Motion, as_it_is: FloatArray) -> Iterator[Cause]:
    """Efforts of a robot that holds itself by its own model, and reports the rest: gravity has columns of its own."""
    none, bodies = np.zeros_like(motion.q), fitting.bodies
    gravity = fitting.regressor(replace(motion, qd=none, qdd=none, sign=none))[:, :, bodies]
    columns = np.concatenate([as_it_is, gravity], axis=2)
    columns[:, :, bodies] -= gravity
    variance, x = fitting.solve(columns, motion)
    found, expected = (float(np.linalg.norm(gravity @ one)) for one in (x[as_it_is.shape[2] :], fitting.nominal))
    if found < LEAST_GRAVITY * expected:
        what = f"efforts are without gravity: they have {found / expected:.0%} of the robot file's"
        yield Cause(
            Fault.GRAVITY, what, "all that the joints give, gravity included", left=float(np.log(variance).mean())
        )


def _clipped(fitting: Fitting, record: Record, motion: Motion, as_it_is: FloatArray) -> Iterator[Mended]:
    """Efforts that end at a largest or least value, where the arm moves as if they did not."""
    for joint, effort in enumerate(record.effort.T):
        near = SAME * np.ptp(effort)
        for end, at_end in (
            (effort.max(), effort >= effort.max() - near),
            (effort.min(), effort <= effort.min() + near),
        ):
            if at_end.mean() < LEAST_PLATEAU or at_end.all():
                continue
            inside = slice(record.settled.start, record.settled.stop, record.every)
            clear = (
                smoothed(at_end.astype(float), record.rate, record.bandwidth)[inside][: len(motion.q)] < LEAST_PLATEAU
            )
            used = motion.used.copy()
            used[:, joint] &= clear
            what = f"the efforts of {{}} are clipped at {end:.4g} N·m or N, in {at_end.mean():.0%} of the record"
            cause = Cause(Fault.CLIPPED, what, "a slower motion, or a sensor with a larger range", (joint,))
            yield cause, as_it_is, replace(motion, used=used)


def _filters(fitting: Fitting, as_it_is: FloatArray, motion: Motion) -> Iterator[Cause]:
    """Efforts through a low-pass of order one or two, or of order one both ways: columns through the same."""
    for order, ways, what in ((1, 1, "of order one"), (2, 1, "of order two"), (1, 2, "both ways")):

        def left(log_cutoff: float, order: int = order, ways: int = ways) -> float:
            low = butter(order, np.exp(log_cutoff), fs=1.0 / motion.period, output="sos")
            if ways == 2:
                columns = sosfiltfilt(low, as_it_is, axis=0)
            else:
                start = sosfilt_zi(low)[:, :, None, None] * as_it_is[0]
                columns = sosfilt(low, as_it_is, axis=0, zi=start)[0]
            used = motion.used.copy()
            used[: round(1.0 / (np.exp(log_cutoff) * motion.period))] = False
            return fitting.left(columns, replace(motion, used=used))

        bounds = np.log(np.fmin(CUTOFFS, MOST_OF_RATE / motion.period))
        found = minimize_scalar(left, bounds=bounds, method="bounded", options={"xatol": 0.01, "maxiter": 15})
        if np.exp(found.x) > SLOW_ENOUGH * CUTOFFS[1]:
            continue
        text = f"efforts are low-passed {what} at {np.exp(found.x):.2g} Hz"
        valid = f"efforts filtered above {CUTOFFS[1]:g} Hz alone"
        yield Cause(Fault.FILTERED, text, valid, left=float(found.fun) + SMOOTHER)
