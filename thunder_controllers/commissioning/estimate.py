"""Estimates from the record of a stage: delay, velocity filter, noise, rotors, friction, offsets, gains of drives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from thunder_controllers.commissioning.plan import CommissioningError, Known, Stage
from thunder_controllers.fields import FloatArray
from thunder_controllers.host import Library
from thunder_controllers.identification.information import UNKNOWN, correlation_time, regressor
from thunder_controllers.identification.motion import Motion, Record, smoothed

BANDWIDTH = 15.0
"""Bandwidth of the motion that is looked at [Hz]: above the fastest waves of twelve joints."""

SLOW = 0.45
"""Share of a joint's largest speed below which samples are left out: there friction may be anything."""

BESIDE = 3
"""Samples beside those that are left out too: the filter carries 0.1 s of what friction did there."""

GAIN_DOUBT = 0.1
"""Standard deviation of a drive's gain beforehand [1]: the effort constant of a drive is known to some 10 %."""

DELAYS = 5
"""Passes of Gauss and Newton for the delay, from none: the last change is some 1e-6 s."""

AGREEING = 0.999
"""Share of chances within which delays of joints are taken for one."""

COLUMNS = ("model", "rotor", "viscous", "coulomb", "offset", "delay")
"""Columns of the regression of an effort: torque of the bodies, q̈, q̇, its sign, one, and the effort's rate."""

TOLD_ENOUGH = 0.2
"""Deviation of friction over its size up to which the next stage feeds it forward."""

SURE = 2.0
"""Deviations below an estimate at which it is sure."""

LAGS = 10
"""Samples over which what is left of the effort may be correlated, with falling weight [Newey & West 1987]: 0.3 s."""

LEAST_SAMPLES = 2 * len(COLUMNS)
"""Fewest rows of a joint: with fewer its motion tells nothing."""

INTERVAL = 1.96
"""Deviations of an interval of 95 %."""

LARGEST_SHARE = 0.3
"""Residual over the effort beside gravity, root mean squares: beyond it something else moves the joint."""

ONE_SIDED = 0.2
"""Share of an amplitude: where the middle of a motion is further from its own, one side is blocked. Friction is not
one-sided, and offsets are known by then."""

THIRD_DIFFERENCE = np.sqrt(20.0)
"""Deviation of a third difference over that of white noise: 1² + 3² + 3² + 1² = 20."""

SHARPEST = 0.05
"""Least deviation of times, in periods: efforts are held and positions sampled, which the fits know on average."""

NO_FILTER = 0.4
"""Share of the rate [1]: a cut-off beyond this is none that matters, or cannot be told from none."""


@dataclass(frozen=True)
class Quantity:
    """Numbers of the joints (n,) with their standard deviations, and which of them the motion told.

    Attributes:
        is_rough: Which are not told, but well enough for gains.
    """

    value: FloatArray
    std: FloatArray
    is_told: NDArray[np.bool_]
    is_rough: NDArray[np.bool_]

    def known(self) -> FloatArray:
        """The values, NaN where they are unknown (n,)."""
        return np.where(self.is_told | self.is_rough, self.value, np.nan)


LEAST = {"delay": 2.5e-4, "velocity_lag": 2.5e-4, "gain": 0.03, "viscous": 0.05, "coulomb": 0.02, "offset": 0.02}
"""Deviation up to which a quantity is told whatever its size [s], [s], [1], and friction in shares of `scale`."""

RELATIVE = {"rotor": 0.05, "viscous": 0.2, "coulomb": 0.1, "offset": 0.1, "position_noise": 0.1, "velocity_noise": 0.1}
"""Deviation up to which a quantity is told, over its size: within two of them a rotor is right to 10 %."""

ROUGH = {"rotor": 0.2}
"""Deviation up to which gains follow a quantity, over its size: without any rotor they would be for the bare links."""


@dataclass(frozen=True)
class Findings:
    """Findings of a motion.

    Attributes:
        delay: From a command to its effect: dead time and lag of the drives [s].
        velocity_lag: Of the reported velocities [s].
        velocity_cutoff: Of a first-order filter with that lag [Hz], infinite without any (n,).
        by_differences: Whether velocities are rather differences of positions.
        position_noise: Standard deviation of a reading [rad or m].
        velocity_noise: The same of velocities, beyond what the filter makes of the motion [rad/s or m/s].
        rotor: Reflected inertia [kg·m² or kg].
        viscous: [N·m·s/rad or N·s/m].
        coulomb: [N·m or N].
        offset: [N·m or N].
        gain: Of the drives [1].
        residual: Root mean square of what is left of the efforts (n,) [N·m or N].
    """

    delay: Quantity
    velocity_lag: Quantity
    velocity_cutoff: FloatArray
    by_differences: bool
    position_noise: Quantity
    velocity_noise: Quantity
    rotor: Quantity
    viscous: Quantity
    coulomb: Quantity
    offset: Quantity
    gain: Quantity
    residual: FloatArray


@dataclass(frozen=True)
class StageRecord:
    """Readings q and q̇ and commanded efforts at every period of a stage, (N, n) each."""

    q: FloatArray
    qd: FloatArray
    effort: FloatArray

    @property
    def is_whole(self) -> bool:
        """Return whether all of it was measured."""
        return all(bool(np.isfinite(one).all()) for one in (self.q, self.qd, self.effort))


def estimate(library: Library, stage: Stage, record: StageRecord, *, gravity_compensated: bool = False) -> Findings:
    """Estimate what a stage tells.

    Joint by joint τ(t − T) = (1/g) [(M q̈ + C q̇ + G)_j + I_a q̈_j + F_v q̇_j + F_c sign(q̇_j) + o_j], linear but for T.
    Readings are noisy, so the columns of accelerations are projected on signals that are not: the waves of effort and
    the sweeps that were played (two-stage least squares). g has a prior of 1 ± `GAIN_DOUBT`: where no gravity and no
    coupling tells it, its doubt is that of rotor and friction too.

    Args:
        library: Of the robot; rotors that it knows are estimated like others.
        stage: What was played.
        record: What was measured meanwhile.
        gravity_compensated: The robot adds the gravity torque of its description to every command.

    Raises:
        CommissioningError: if not all of the record is finite.
    """
    if not record.is_whole:
        raise CommissioningError("readings that are not finite", where="record", valid="all of them measured")
    held = replace(Record.of_held(record.q, record.effort, stage.rate), bandwidth=BANDWIDTH)
    fits = _Fits(library, stage, held, gravity_compensated)
    x, P, noise = (np.array(part) for part in zip(*map(fits.joint, range(library.n_joints)), strict=True))
    x, P = _with_common_delay(x, P)
    scale = np.maximum(np.sqrt((fits.moving**2).mean(axis=0)), np.finfo(float).tiny)
    size = {"delay": x[:, COLUMNS.index("delay")], "gain": 1.0 / x[:, 0]}
    slope = {"delay": np.eye(len(COLUMNS))[COLUMNS.index("delay")] * np.ones_like(x)}
    slope["gain"] = -np.eye(len(COLUMNS))[0] / x[:, :1] ** 2
    for k, name in enumerate(COLUMNS[1:5], start=1):  # over the gain, as x₀ = 1/g
        size[name] = x[:, k] / x[:, 0]
        slope[name] = np.eye(len(COLUMNS))[k] / x[:, :1] - np.outer(x[:, k] / x[:, 0] ** 2, np.eye(len(COLUMNS))[0])
    std = {name: np.sqrt(np.einsum("ja,jab,jb->j", row, P, row)) for name, row in slope.items()}
    std["delay"] = np.fmax(std["delay"], SHARPEST / stage.rate)
    velocity = _velocity(record, stage.rate)
    size["velocity_lag"], std["velocity_lag"] = velocity.lag, velocity.std
    count = len(record.q)
    size["position_noise"], size["velocity_noise"] = _white(record.q), velocity.noise
    std |= {name: size[name] / np.sqrt(0.5 * count) for name in ("position_noise", "velocity_noise")}
    unit = {"viscous": scale / np.ptp(stage.sweep[1], axis=0), "coulomb": scale, "offset": scale}
    quantities = {}
    for name, value in size.items():
        allowed = np.fmax(LEAST.get(name, 0.0) * unit.get(name, 1.0), RELATIVE.get(name, 0.0) * np.abs(value))
        told, rough = std[name] <= allowed, std[name] <= ROUGH.get(name, 0.0) * np.abs(value)
        quantities[name] = Quantity(value, std[name], np.asarray(told), np.asarray(rough & ~told))
    return Findings(**quantities, velocity_cutoff=velocity.cutoff, by_differences=velocity.differs, residual=noise)


def _with_common_delay(x: FloatArray, P: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coefficients (n, 6) and covariances, given that all drives have one delay, unless they contradict that."""
    k = COLUMNS.index("delay")
    weights = 1.0 / P[:, k, k]
    mean, variance = weights @ x[:, k] / weights.sum(), 1.0 / weights.sum()
    if weights @ (x[:, k] - mean) ** 2 > chdtri(max(len(x) - 1, 1), 1.0 - AGREEING):
        return x, P
    follow = P[:, k] * weights[:, None]
    shrunk = np.einsum("j,ja,jb->jab", P[:, k, k] - variance, follow, follow)
    return x + follow * (mean - x[:, k])[:, None], P - shrunk


def sure(found: Findings, library: Library) -> Known:
    """Return what the next stage may build on: no more inertia than is sure, and friction that is told."""
    least = found.rotor.value - SURE * found.rotor.std - np.nan_to_num(library.rotor_inertia)
    quiet = found.coulomb.std < TOLD_ENOUGH * np.abs(found.coulomb.value)
    coulomb = np.where(quiet, np.fmax(found.coulomb.value, 0.0), 0.0)
    none = np.zeros(len(least))
    return Known(np.fmax(least, 0.0), coulomb, none, none, none > 0.0)


def check_sound(found: Findings, stage: Stage, record: StageRecord, library: Library) -> None:
    """Raise where what moved a joint was not its drive, as its description has it.

    Raises:
        CommissioningError: naming the joint, and what is left of its effort.
    """
    ends = np.array([[one.min(axis=0), one.max(axis=0)] for one in (stage.sweep[0], record.q)])
    middles = np.abs(np.diff(ends.mean(axis=1), axis=0)[0]) / (0.5 * np.ptp(stage.sweep[0], axis=0))
    if middles.max() > ONE_SIDED:
        joint = int(np.argmax(middles))
        what = f"it moved from {ends[1, 0, joint]:.4g} to {ends[1, 1, joint]:.4g}"
        valid = f"{ends[0, 0, joint]:.4g} to {ends[0, 1, joint]:.4g}: nothing that stops the arm on one side"
        raise CommissioningError(what, where=library.joint_names[joint], valid=valid)
    felt = np.std(record.effort, axis=0)
    if (wrong := found.residual > LARGEST_SHARE * felt).any():
        joint = int(np.argmax(found.residual / felt * wrong))
        raise CommissioningError(
            f"{found.residual[joint]:.3g} of {felt[joint]:.3g} N·m or N of its effort is not explained",
            where=library.joint_names[joint],
            valid="an arm that touches nothing and carries what its description says",
        )


class _Fits:
    """Regressions of the efforts of a stage, joint by joint."""

    def __init__(self, library: Library, stage: Stage, record: Record, gravity_compensated: bool) -> None:
        self._record = record
        motion = self._motion = Motion.of(record, SLOW)
        rest, pi = np.zeros_like(motion.qd), np.asarray(library.pi)
        Y = regressor(library, motion.q, motion.qd, motion.qdd)
        static = regressor(library, motion.q, rest, rest) @ pi
        self.moving = Y @ pi - static if gravity_compensated else Y @ pi
        self._static = np.zeros_like(static) if gravity_compensated else static
        inside = slice(record.settled.start, record.settled.stop, record.every)
        wave = smoothed(stage.wave[1:], stage.rate, BANDWIDTH)
        slow = stage.sweep[2, 1:]
        rate = np.gradient(wave, 1.0 / stage.rate, axis=0)
        self._played = np.concatenate([one[inside] for one in (wave, rate, slow)], axis=1)
        left_out = np.array([np.convolve(~one, np.ones(2 * BESIDE + 1), "same") for one in motion.used.T]).T
        self._used = left_out == 0.0
        self._times = np.arange(len(record.q)) / record.rate

    def joint(self, j: int) -> tuple[FloatArray, FloatArray, float]:
        """Coefficients (6,) of `COLUMNS`, over the gain but for the delay; their covariance; residual (rms)."""
        delay, used, motion = 0.0, self._used[:, j], self._motion
        if used.sum() < LEAST_SAMPLES:
            return np.eye(len(COLUMNS))[0], np.diag([GAIN_DOUBT**2, *[UNKNOWN**2] * (len(COLUMNS) - 1)]), np.nan
        one = np.ones(int(used.sum()))
        own = np.column_stack([motion.qd[used, j], motion.sign[used, j], one])
        Z = np.column_stack([self._static[used, j], own, self._played[used]])
        Z = Z / np.fmax(np.sqrt((Z**2).mean(axis=0)), np.finfo(float).tiny)
        basis = np.linalg.svd(Z, full_matrices=False)
        directions = basis[0][:, basis[1] > 1e-9 * basis[1][0]]
        for _ in range(DELAYS):
            effort, rate = self._late(j, delay)
            W = np.column_stack([self.moving[used, j], motion.qdd[used, j], own, rate[used]])
            projected = directions @ (directions.T @ W)
            y = effort[used]
            size = np.fmax(np.sqrt((projected**2).mean(axis=0)), np.finfo(float).tiny)
            scaled = projected / size
            information = scaled.T @ scaled
            inverse = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
            x = inverse @ (scaled.T @ y) / size
            delay += x[-1]
        moments = np.zeros((len(used), len(COLUMNS)))
        moments[used] = scaled * (y - W @ x)[:, None]
        freedom = max(len(y) - len(COLUMNS), 1)
        meat = moments.T @ moments
        for lag in range(1, LAGS + 1):
            pair = moments[lag:].T @ moments[:-lag]
            meat += (1.0 - lag / (LAGS + 1.0)) * (pair + pair.T)
        P = len(y) / freedom * inverse @ meat @ inverse / np.outer(size, size)
        residual = float(np.sqrt(((y - W @ x) ** 2).mean()))
        x[-1] = delay
        K = P[:, 0] / (P[0, 0] + GAIN_DOUBT**2)
        return x + K * (1.0 - x[0]), P - np.outer(K, P[0]), residual

    def _late(self, j: int, delay: float) -> tuple[FloatArray, FloatArray]:
        """Effort of a joint as it acts, `delay` late, and its rate, both through the filter."""
        from scipy.interpolate import CubicSpline  # here: it takes long to import

        effort = CubicSpline(self._times, self._record.effort[:, j])(self._times - delay)
        effort = smoothed(effort, self._record.rate, BANDWIDTH)
        inside = slice(self._record.settled.start, self._record.settled.stop, self._record.every)
        return effort[inside], np.gradient(effort, 1.0 / self._record.rate)[inside]


def _white(values: FloatArray) -> FloatArray:
    """Standard deviation of white noise of smooth motions (N, n), by third differences, (n,)."""
    return np.asarray(np.std(np.diff(values, 3, axis=0), axis=0) / THIRD_DIFFERENCE)


@dataclass(frozen=True)
class _Velocity:
    """Findings of the reported velocities: lags [s], cut-offs [Hz], noise, and whether they are differences."""

    lag: FloatArray
    std: FloatArray
    cutoff: FloatArray
    noise: FloatArray
    differs: bool


def _velocity(record: StageRecord, rate: float) -> _Velocity:
    """Fit a sampled first-order low-pass of differences of the positions, or of their true rates, to velocities."""
    pairs = list(zip(record.q.T, record.qd.T, strict=True))
    fits = [[_fit_filter(q, qd, rate, differs) for q, qd in pairs] for differs in (True, False)]
    errors = [sum(fit[2] for fit in each) for each in fits]
    differs = bool(errors[0] <= errors[1])
    cutoff, lag_std, _ = (np.array(part) for part in zip(*fits[0 if differs else 1], strict=True))
    a = -np.expm1(-2.0 * np.pi * cutoff / rate)
    lag = (1.0 / a - 1.0 + (0.5 if differs else 0.0)) / rate
    noise = _white(record.q) * rate * a * np.sqrt(2.0 / (2.0 - a)) if differs else _white(record.qd)
    none = cutoff >= NO_FILTER * rate
    return _Velocity(lag, lag_std, np.where(none, np.inf, cutoff), noise, differs)


def _fit_filter(q: FloatArray, qd: FloatArray, rate: float, differs: bool) -> tuple[float, float, float]:
    """Cut-off [Hz], deviation of the lag [s] and mean square error of one joint's velocity."""
    from scipy.optimize import minimize_scalar
    from scipy.signal import lfilter

    quotient = np.diff(q, prepend=q[0]) * rate if differs else np.gradient(q) * rate
    skip = round(0.3 * rate)
    wanted = smoothed(qd, rate, BANDWIDTH)[skip:-skip]

    def made(log_cutoff: float) -> FloatArray:
        a = -np.expm1(-2.0 * np.pi * np.exp(log_cutoff) / rate)
        return np.asarray(lfilter([a], [1.0, a - 1.0], quotient))

    def left(log_cutoff: float) -> FloatArray:
        return np.asarray(smoothed(made(log_cutoff), rate, BANDWIDTH)[skip:-skip] - wanted)

    best = minimize_scalar(
        lambda x: float((left(x) ** 2).mean()), bounds=(np.log(1.0), np.log(2.0 * rate)), method="bounded"
    ).x
    r = left(best)[:: max(round(rate / (2.0 * BANDWIDTH)), 1)]
    change = (left(best + 1e-3) - left(best - 1e-3))[:: max(round(rate / (2.0 * BANDWIDTH)), 1)] / 2e-3
    variance = (r**2).mean() * correlation_time(r[:, None])[0]
    cutoff = float(np.exp(best))
    lag_by_log = 1.0 / (2.0 * np.pi * cutoff)
    std = float(np.sqrt(variance / max((change**2).sum(), np.finfo(float).tiny)) * lag_by_log)
    return cutoff, max(std, SHARPEST / rate), float((r**2).mean())
