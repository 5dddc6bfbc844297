"""Whether the record of a motion is that of the robot: wrong drive gains, encoder zeros and joints in a wrong order.

Each cause adds columns to the regressor of the fit; what they explain beyond it speaks for the cause. Rotors, a delay
of the drives and Stribeck friction, which are no fault of the record, have columns of their own, so that none of them
is taken for a cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from thunder_controllers.identification.information import LEAST_VARIANCE, weighted_fit
from thunder_controllers.identification.motion import Motion

FloatArray = NDArray[np.float64]

Regressor = Callable[[Motion], FloatArray]
"""Independent columns Y_b of base parameters and terms of joints along a motion, (N, n, b)."""

CHANCE = 1e-4
"""Probability with which noise alone is taken for a cause."""

SURE = 3.0
"""Standard deviations that a joint's own error must have to be named."""

GAIN = 0.02
"""Least error of a drive gain over those of the others [1]: torque constants of one type differ by as much."""

ZERO = np.deg2rad(0.4)
"""Least error of a joint's zero [rad], or as many metres: calibrations of arms are better than that."""

BETTER = 0.2
"""Least drop of the mean log variance of the residual by which joints count as exchanged: a tenth of its size."""

STRIBECK_SPEED = 0.05
"""Of friction that falls with speed [rad/s or m/s]: within the range of harmonic drives and gears."""

HARM = 0.03
"""Share of the norm of the bodies' parameters by which a cause must move them to make a fit unsound.

Joint 6 of the public record of a Panda has a gain that is 9 % off (12 to 14 % in each half by itself), which moves
them by 1 %. Gains that are 8 % off in three joints move them by 13 %.
"""

STEP = 1e-5
"""Of central differences in the position [rad or m]."""

NEGLIGIBLE = 1e-8
"""Share of the largest singular value below which a direction of unit columns is none."""

UNKNOWN = 1e4
"""Standard deviation beforehand of parameters of which nothing is known."""

PASSES = 3
"""Of fit and variance in turn."""


@dataclass(frozen=True, eq=False)
class Suspicion:
    """An error of every joint that would explain what the fit leaves.

    Attributes:
        size: Error of each joint (n,).
        std: Its standard deviation (n,); large where the motion does not tell it.
        evidence: Drop of χ², to be compared with `limit`.
        harm: How far the parameters of bodies move, over their norm, when it is taken out of the record.
    """

    size: FloatArray
    std: FloatArray
    evidence: float
    harm: float = 0.0

    @property
    def limit(self) -> float:
        """Of the evidence: noise alone is above it once in 1/`CHANCE` records."""
        return float(chi2.isf(CHANCE, len(self.size)))

    def named(self, least: float) -> FloatArray:
        """Return the errors of the suspects, zero for all others, (n,)."""
        found = np.zeros(len(self.size))
        guilty = self.suspects(least)
        found[guilty] = self.size[guilty]
        return found

    def suspects(self, least: float) -> list[int]:
        """Return the joints whose error is at least as large and beyond doubt, the surest first; none without cause."""
        sure = np.abs(self.size) / self.std
        guilty = np.flatnonzero((np.abs(self.size) > least) & (sure > SURE))
        return sorted(guilty.tolist(), key=lambda k: -sure[k]) if self.evidence > self.limit else []


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What may be wrong with a record.

    Attributes:
        gains: Relative error of each drive gain, less the mean that the record weighs: no motion shows a common factor.
        zeros: What each measured position is too large by [rad or m]; those of a vertical first joint and of the last
            one no motion shows.
        exchanged: Two joints whose columns, or efforts alone, are in each other's place; None if none are.
    """

    gains: Suspicion
    zeros: Suspicion
    exchanged: tuple[int, int] | None

    def is_harmful(self) -> bool:
        """Whether what is wrong makes the fit unsound."""
        guilty = [one.harm for one, least in self._suspicions() if one.suspects(least)]
        return self.exchanged is not None or max(guilty, default=0.0) > HARM

    def _suspicions(self) -> tuple[tuple[Suspicion, float], ...]:
        return (self.gains, GAIN), (self.zeros, ZERO)

    def cause(self, joints: Sequence[str]) -> tuple[str, str] | None:
        """Say what is wrong, with the number and its deviation, and what would be valid; None if nothing is."""
        if self.exchanged is not None:
            first, second = (joints[k] for k in self.exchanged)
            return f"{first} and {second} are exchanged in the record", "joints in the order of their names"
        gain, zero = self.gains.suspects(GAIN), self.zeros.suspects(ZERO)
        if gain and (not zero or self.gains.evidence >= self.zeros.evidence):
            what = ", ".join(_percent(joints[k], self.gains.size[k], self.gains.std[k]) for k in gain)
            return f"drive gains differ: {what}", f"gains within {GAIN:.0%} of each other; check torque constants"
        if zero:
            what = ", ".join(_degrees(joints[k], self.zeros.size[k], self.zeros.std[k]) for k in zero)
            return f"encoder zeros are off: {what}", f"within {np.rad2deg(ZERO):.1g}°; calibrate the zeros"
        return None


def _percent(joint: str, size: float, std: float) -> str:
    return f"{joint} by {100 * size:+.1f} ± {100 * std:.1f} %"


def _degrees(joint: str, size: float, std: float) -> str:
    return f"{joint} by {np.rad2deg(size):+.2f} ± {np.rad2deg(std):.2f}°"


def diagnose(regressor: Regressor, motion: Motion, x: FloatArray, variance: FloatArray, bodies: int) -> Diagnosis:
    """Look for the cause of what a fit leaves.

    Args:
        regressor: The columns of the fit.
        motion: That was fitted.
        x: What was found (b,).
        variance: Of what it leaves of each joint's effort (n,).
        bodies: How many of x, the first ones, are of bodies.
    """
    W, n = regressor(motion), motion.q.shape[1]
    predicted = W @ x
    slope = np.gradient(predicted, motion.period, axis=0)
    stribeck = motion.sign * np.exp(-np.abs(motion.qd) / STRIBECK_SPEED)
    known = np.concatenate([W, *(one[:, :, None] * np.eye(n) for one in (motion.qdd, slope, stribeck))], axis=2)
    moved = [
        (regressor(replace(motion, q=motion.q + h)) - regressor(replace(motion, q=motion.q - h))) @ x / (2.0 * STEP)
        for h in STEP * np.eye(n)
    ]
    gains = _suspect(known, predicted[:, :, None] * np.eye(n), motion, variance, relative=True)
    zeros = _suspect(known, -np.stack(moved, axis=2), motion, variance)
    stronger, turned = 1.0 + gains.named(GAIN), replace(motion, q=motion.q - zeros.named(ZERO))
    gains = replace(gains, harm=_moved(x, W, motion.effort / stronger, motion, bodies))
    zeros = replace(zeros, harm=_moved(x, regressor(turned), motion.effort, motion, bodies))
    return Diagnosis(gains, zeros, _exchanged(regressor, motion, W))


def _moved(x: FloatArray, W: FloatArray, effort: FloatArray, motion: Motion, bodies: int) -> float:
    """How far the bodies' parameters of a fit of other columns or efforts are from those of x, over their norm."""
    used = motion.used
    other = weighted_fit(used[:, :, None] * W, used * effort, used.sum(axis=0), UNKNOWN).x
    return float(np.linalg.norm((other - x)[:bodies]) / np.linalg.norm(x[:bodies]))


def _suspect(W: FloatArray, Z: FloatArray, motion: Motion, variance: FloatArray, relative: bool = False) -> Suspicion:
    """Fit W and Z together, with unit standard deviation of Z's coefficients beforehand.

    With `relative` the mean, weighted by what the record says of each, is taken from them.
    """
    for _ in range(PASSES):
        weight = (motion.used / np.sqrt(variance))[:, :, None]
        rows = (weight * W).reshape(-1, W.shape[2])
        basis, values, _ = np.linalg.svd(rows / np.fmax(np.linalg.norm(rows, axis=0), NEGLIGIBLE), full_matrices=False)
        basis = basis[:, values > NEGLIGIBLE * values[0]]
        both = np.concatenate([Z, motion.effort[:, :, None]], axis=2)
        left = (weight * both).reshape(-1, both.shape[2])
        left -= basis @ (basis.T @ left)
        z, y = left[:, :-1], left[:, -1]
        information = z.T @ z
        covariance = np.linalg.inv(information + np.eye(z.shape[1]))
        size = covariance @ z.T @ y
        residual = (y - z @ size).reshape(motion.used.shape) * np.sqrt(variance) * motion.used
        freedom = np.fmax(motion.used.sum(axis=0) - (basis.shape[1] + len(size)) / motion.used.shape[1], 1.0)
        variance = np.fmax((residual**2).sum(axis=0) / freedom, LEAST_VARIANCE) * correlation_time(residual)
    evidence = float(y @ z @ size)
    if relative:
        shares = np.diag(information) / max(float(np.trace(information)), LEAST_VARIANCE)
        to_others = np.eye(len(size)) - shares
        size, covariance = to_others @ size, to_others @ covariance @ to_others.T
    return Suspicion(size, np.sqrt(np.diag(covariance)), evidence)


def _exchanged(regressor: Regressor, motion: Motion, W: FloatArray) -> tuple[int, int] | None:
    """Find the two joints without whose exchange, whole or of efforts alone, the record would be fitted better."""
    n = motion.q.shape[1]
    as_it_is, best, found = _left(W, motion), np.inf, None
    for pair in combinations(range(n), 2):
        order = np.arange(n)
        order[list(pair)] = pair[::-1]
        whole = replace(motion, **{name: getattr(motion, name)[:, order] for name in STATE})
        efforts = replace(motion, effort=motion.effort[:, order])
        for columns, other in ((regressor(whole), whole), (W, efforts)):
            if (left := _left(columns, other)) < best:
                best, found = left, pair
    return found if best < as_it_is - BETTER else None


STATE = ("q", "qd", "qdd", "effort", "sign", "used")
"""Of a motion: what has a column per joint."""


def _left(W: FloatArray, motion: Motion) -> float:
    """Mean log variance of what a fit leaves of the joints' efforts."""
    used = motion.used
    fit = weighted_fit(used[:, :, None] * W, used * motion.effort, used.sum(axis=0), UNKNOWN)
    return float(np.log(fit.variance).mean())


def correlation_time(residual: FloatArray) -> FloatArray:
    """Samples of a residual (N, n) that count as one of independent noise, 1 + 2 Σ ρ_k, at least one, (n,).

    The sum is over the lags before the first at which ρ_k is not above twice its deviation 1/√N [Bartlett 1946].
    Samples that are zero, as unused ones are, count as none.
    """
    times = np.ones(residual.shape[1])
    for joint, r in enumerate(residual.T):
        used = r != 0.0
        power = (r**2).sum() / max(used.sum(), 1)
        for lag in range(1, len(r) // 4):
            pairs = int((used[lag:] & used[:-lag]).sum())
            rho = float(r[lag:] @ r[:-lag]) / (pairs * power) if pairs and power > 0.0 else 0.0
            if rho <= 2.0 / np.sqrt(max(pairs, 1)):
                break
            times[joint] += 2.0 * rho
    return times
