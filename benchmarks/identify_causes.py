"""Wrong records of arms, by kind: how often `thunder identify` refuses each with the true cause and joint named first.

    python benchmarks/identify_causes.py [--seed 100] [--count 20] [--kinds late degrees] [--out results/causes.json]

Each record is a CSV file of an exciting motion of one of four arms, with other bodies than its file's, friction,
offsets, efforts up to 2 ms late, and noise of encoders and efforts. Efforts come from inverse dynamics, without a
closed loop. One thing is wrong in each. The record is read and fitted as `thunder identify` does it. The exit status is
1 if a kind is named first in less than nine of ten records, a lag is further off than 1 ms in more than one of ten, or
less than nine of ten right records are accepted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from program import write_results
from scipy.signal import butter, sosfilt, sosfiltfilt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from evaluation import load_robot
from robots import random_robot

from thunder_controllers.host import Library
from thunder_controllers.identification.information import regressor
from thunder_controllers.identification.motion import Fault, Record, RecordError
from thunder_controllers.identification.records import read_record
from thunder_controllers.identification.robot_fit import RobotFit, fit_robot
from thunder_controllers.references.sinusoids import JointExcitation
from thunder_dynamics.build import build

Array = NDArray[np.float64]
Random = np.random.Generator

CENTRES: dict[str, tuple[float, ...]] = {
    "panda": (0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8),
    "ur5": (0.2, -1.2, 1.5, -1.0, -1.4, 0.3),
    "planar3r": (0.4, 0.8, -0.6),
    "random": (0.3, 0.4, -0.5, 0.2, 0.6),
}
"""Postures about which the arms move [rad]."""

RANDOM_SEED, RANDOM_JOINTS = 7, 5
RATE, TIME = 250.0, 15.0
TOLD = 3.0
"""Standard deviation of efforts of a joint that tell its own lag, with noise of 1 % and 0.02 N·m [N·m]."""

WANTED = 0.9
"""Share of records whose cause is named first, and of right ones that are accepted."""

LAG = 1e-3
"""Largest error of a lag [s]."""


@cache
def library_of(arm: str) -> Library:
    """Compiled arm of that name."""
    return Library(build(random_robot(RANDOM_SEED, RANDOM_JOINTS) if arm == "random" else load_robot(arm)))


@dataclass
class Draw:
    """A record before it is written: stamps [s], positions and efforts (N, n), and its plant.

    Attributes:
        rng: Of this record.
        library: Of the arm.
        exact: Efforts of the plant without noise, on any stamps, as a function of the delay of each joint [s].
        lag: Delays of the efforts [s], (n,).
        wrong: Joints that are to be named.
    """

    rng: Random
    library: Library
    t: Array
    q: Array
    effort: Array
    noise: Array
    exact: Callable[[Array], Array]
    gravity: Array
    lag: Array
    wrong: tuple[int, ...] = ()

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.q.shape[1]

    def delayed(self, lag: Array) -> None:
        """Replace the efforts by ones that are so late."""
        self.lag, self.effort = lag, self.exact(lag) + self.noise


def draw(arm: str, seed: int, kind: str) -> Draw:
    """Record of a motion; `kind` seeds it too. A joint stands still where the kind says so."""
    rng, library = np.random.default_rng([seed, *arm.encode(), *kind.encode()]), library_of(arm)
    n = library.n_joints
    amplitude = np.full(n, 0.8)
    still = (int(rng.integers(n)),) if kind == "still" else ()
    amplitude[[*still]] = 0.0
    motion = {"centre": CENTRES[arm], "amplitude": tuple(amplitude.tolist()), "seed": int(rng.integers(1 << 30))}
    wave = JointExcitation(**motion, frequency=0.2, harmonics=5)
    pi = (np.reshape(library.pi, (n, -1)) * rng.uniform(0.7, 1.3, (n, 1))).ravel()
    viscous, coulomb, offset = rng.uniform(0.2, 0.6, n), rng.uniform(0.1, 0.4, n), rng.uniform(-0.3, 0.3, n)

    def efforts(t: Array) -> Array:
        q, qd, qdd = np.split(wave.sample(t), 3, axis=1)
        return regressor(library, q, qd, qdd) @ pi + viscous * qd + coulomb * np.tanh(qd / 0.01) + offset

    t = np.arange(round(TIME * RATE)) / RATE
    lag = np.full(n, rng.uniform(0.0, 2e-3))

    def exact(delay: Array) -> Array:
        return np.column_stack([efforts(t - one)[:, k] for k, one in enumerate(delay)])

    effort = exact(lag)
    q = wave.sample(t)[:, :n]
    noise = (0.02 + 0.01 * np.sqrt((effort**2).mean(axis=0))) * rng.normal(size=q.shape)
    rest = np.zeros_like(q)
    gravity = regressor(library, q, rest, rest) @ (pi.reshape(n, -1) * rng.uniform(0.95, 1.05, (n, 1))).ravel()
    return Draw(rng, library, t, q + 1e-5 * rng.normal(size=q.shape), effort + noise, noise, exact, gravity, lag, still)


def joint_of(one: Draw, choice: Array | None = None) -> int:
    """A joint by chance, which is to be named."""
    one.wrong = (int(one.rng.choice(np.arange(one.n) if choice is None else choice)),)
    return one.wrong[0]


def shown(one: Draw, std: Array, most: float, low: float, high: float) -> tuple[int, float]:
    """A joint by chance whose error the motion tells to `most`, or the best one, and an error of eight deviations."""
    joints = np.flatnonzero(std < most)
    k = joint_of(one, joints if len(joints) else np.argmin(std)[None])
    return k, max(one.rng.uniform(low, high), 8.0 * std[k]) * one.rng.choice([-1.0, 1.0])


def fit_of(one: Draw) -> RobotFit:
    """Fit of the record as it is."""
    return fit_robot(one.library, Record(one.q, one.effort, RATE), range(one.n))


def late(one: Draw) -> None:
    """All efforts 8 to 40 ms late."""
    one.delayed(np.full(one.n, one.rng.uniform(8e-3, 40e-3)))


def late_joint(one: Draw) -> None:
    """The efforts of one joint so late, one whose efforts change enough to tell."""
    lag, told = one.lag.copy(), np.flatnonzero(one.effort.std(axis=0) > TOLD)
    lag[joint_of(one, told)] = one.rng.uniform(8e-3, 40e-3)
    one.delayed(lag)


def effort_sign(one: Draw) -> None:
    """Efforts of one joint with the other sign."""
    one.effort[:, joint_of(one)] *= -1.0


def position_sign(one: Draw) -> None:
    """Positions of one joint with the other sign."""
    one.q[:, joint_of(one)] *= -1.0


def degrees(one: Draw) -> None:
    """Positions in degrees."""
    one.q *= np.rad2deg(1.0)


def millimetres(one: Draw) -> None:
    """Efforts in N·mm."""
    one.effort *= 1e3


def clock(one: Draw) -> None:
    """Stamps in milliseconds, or in nanoseconds."""
    one.t *= one.rng.choice([1e3, 1e9])


def coarse_positions(one: Draw) -> None:
    """Positions of all joints in steps of half a degree to two."""
    step = np.deg2rad(one.rng.uniform(0.5, 2.0))
    one.q = step * np.round(one.q / step)


def coarse_efforts(one: Draw) -> None:
    """Efforts of one joint in steps of an eighth of their range to half of it."""
    k = joint_of(one)
    step = np.ptp(one.effort[:, k]) * one.rng.uniform(0.125, 0.5)
    one.effort[:, k] = step * np.round(one.effort[:, k] / step)


def without_gravity(one: Draw) -> None:
    """The robot's own model, masses known to 5 %, holds the arm; efforts are without."""
    one.effort -= one.gravity


def filtered(one: Draw) -> None:
    """Efforts through a low-pass at 1 to 3 Hz: of order one or two, or of order one both ways."""
    form = int(one.rng.integers(3))
    low = butter(1 + form % 2, one.rng.uniform(1.0, 3.0), fs=RATE, output="sos")
    before = np.repeat(one.effort[:1], round(5 * RATE), axis=0)
    efforts = np.concatenate([before, one.effort])
    one.effort = (sosfiltfilt if form == 2 else sosfilt)(low, efforts, axis=0)[len(before) :]


def not_measured(one: Draw) -> None:
    """Some values are missing."""
    values = (one.q, one.effort)[one.rng.integers(2)]
    values[one.rng.integers(len(values), size=5), one.rng.integers(one.n)] = np.nan


def short(one: Draw) -> None:
    """Half a second to two."""
    keep = round(one.rng.uniform(0.5, 2.0) * RATE)
    one.t, one.q, one.effort = one.t[:keep], one.q[:keep], one.effort[:keep]


def exchanged(one: Draw) -> None:
    """Two joints, or their efforts alone, in each other's place."""
    order = np.arange(one.n)
    pair = one.rng.permutation(one.n)[:2]
    order[pair], one.wrong = order[pair[::-1]], tuple(pair.tolist())
    one.effort = one.effort[:, order]
    if one.rng.random() < 0.5:
        one.q = one.q[:, order]


def gains(one: Draw) -> None:
    """The drive of one joint gives 10 to 30 % more or less."""
    joint, error = shown(one, fit_of(one).diagnosis.gains.std, 0.04, 0.1, 0.3)
    one.effort[:, joint] *= 1.0 + error


def zeros(one: Draw) -> None:
    """The zero of one joint is 2 to 5° off."""
    joint, error = shown(one, fit_of(one).diagnosis.zeros.std, np.deg2rad(0.6), *np.deg2rad([2.0, 5.0]))
    one.q[:, joint] += error


def clipped(one: Draw) -> None:
    """Efforts of one joint end at 40 to 70 % of their range above the least."""
    k = joint_of(one)
    low, most = one.effort[:, k].min(), one.effort[:, k].max()
    one.effort[:, k] = np.fmin(one.effort[:, k], low + one.rng.uniform(0.4, 0.7) * (most - low))


def stamps(one: Draw) -> None:
    """A gap, a clock that jumps back, or stamps that repeat."""
    cut, which = int(one.rng.integers(500, len(one.t) - 500)), one.rng.integers(3)
    if which == 0:
        keep = np.r_[:cut, cut + round(one.rng.uniform(0.1, 1.0) * RATE) : len(one.t)]
        one.t, one.q, one.effort = one.t[keep], one.q[keep], one.effort[keep]
    elif which == 1:
        one.t[cut:] -= one.rng.uniform(0.1, 1.0)
    else:
        one.t = np.round(one.t, 2)


def right(one: Draw) -> None:
    """Nothing is wrong."""


KINDS: dict[str, tuple[Callable[[Draw], None], Fault | None]] = {
    "right": (right, None),
    "late": (late, Fault.LATE),
    "late_joint": (late_joint, Fault.LATE),
    "effort_sign": (effort_sign, Fault.SIGN),
    "position_sign": (position_sign, Fault.SIGN),
    "degrees": (degrees, Fault.UNIT),
    "millimetres": (millimetres, Fault.UNIT),
    "clock": (clock, Fault.UNIT),
    "coarse_positions": (coarse_positions, Fault.COARSE),
    "coarse_efforts": (coarse_efforts, Fault.COARSE),
    "without_gravity": (without_gravity, Fault.GRAVITY),
    "filtered": (filtered, Fault.FILTERED),
    "not_measured": (not_measured, Fault.NOT_MEASURED),
    "short": (short, Fault.SHORT),
    "still": (right, Fault.UNEXCITED),
    "exchanged": (exchanged, Fault.EXCHANGED),
    "gains": (gains, Fault.GAINS),
    "zeros": (zeros, Fault.ZEROS),
    "clipped": (clipped, Fault.CLIPPED),
    "stamps": (stamps, Fault.STAMPS),
}
"""By the name of each kind: what spoils a record, and the cause that is to be named first."""


def one_case(kind: str, seed: int) -> dict[str, Any]:
    """Spoil a record, and say which cause is named first."""
    arm = list(CENTRES)[seed % len(CENTRES)]
    one = draw(arm, seed, kind)
    spoil, wanted = KINDS[kind]
    spoil(one)
    names = one.library.joint_names
    result: dict[str, Any] = {"kind": kind, "seed": seed, "arm": arm, "wanted": wanted, "first": None, "said": ""}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.csv"
        head = ["t", *(f"{name}.{what}" for what in ("position", "effort") for name in names)]
        np.savetxt(file, np.column_stack([one.t, one.q, one.effort]), "%.9g", ",", header=",".join(head), comments="")
        try:
            found = fit_robot(one.library, read_record(file, names), range(one.n))
            result["lag"] = float(np.abs(found.lag.size - one.lag).max())
            found.check_sound(names)
        except RecordError as error:
            is_named = all(names[k] in str(error) for k in one.wrong)
            result |= {"first": error.fault if is_named else f"{error.fault} of others", "said": str(error)}
    return result


def show(results: list[dict[str, Any]]) -> bool:
    """Print the table; whether all holds."""
    holds = True
    print(f"{'kind':>18} {'records':>7} {'named first':>11} {'lag within 1 ms':>15}")
    for kind in dict.fromkeys(one["kind"] for one in results):
        rows = [one for one in results if one["kind"] == kind]
        named = float(np.mean([one["first"] == one["wanted"] for one in rows]))
        lags = [one["lag"] <= LAG for one in rows if "lag" in one and kind.startswith("late")]
        near = float(np.mean(lags)) if lags else 1.0
        print(f"{kind:>18} {len(rows):7d} {named:11.0%} " + (f"{near:15.0%}" if lags else ""))
        holds &= named >= WANTED and near >= WANTED
    for one in results:
        if one["first"] != one["wanted"]:
            print(f"{one['kind']} {one['seed']} {one['arm']}: {one['first']}: {one['said']}")
    return holds


def main() -> int:
    """Spoil records of all kinds, and show what is named; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = [one_case(kind, options.seed + k) for kind in options.kinds for k in range(options.count)]
    if options.out is not None:
        write_results(options.out, results)
    return 0 if show(results) else 1


if __name__ == "__main__":
    sys.exit(main())
