"""Records of motions from files: traces of `thunder run`, CSV, and bags of ROS 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.archive import read_arrays
from thunder_controllers.bag import FILES, read_joint_states
from thunder_controllers.fields import order_of
from thunder_controllers.identification.motion import Fault, Record, RecordError
from thunder_controllers.references.circles import Circles, unwrap
from thunder_controllers.references.columns import read_columns
from thunder_dynamics.readers import exists

FloatArray = NDArray[np.float64]

LONGEST_GAP = 0.05
"""Between two samples [s]: what is in a longer one is not interpolated."""

MOST_UNEVEN = 100.0
"""Mean over median of the time between samples: interpolated, a record is so many times as long."""

BAGS = (*FILES, "")
"""Suffixes of bags; without one, the folder of a bag."""


TICKS = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}
"""In a second; stamps that step by more than `LONGEST_GAP` may be in these."""

SHORTEST_PERIOD = 1e-4
"""Of a record [s]: 10 kHz."""

MOST_REPEATED = 0.1
"""Share of samples with the stamp of the one before: more of them are stamps that are too coarse."""

LEAST_LEVELS = {"position": 250, "effort": 16}
"""Steps of a coarse reading over its range; positions are differentiated twice.

A step of a 250th of 1.6 rad makes accelerations of 10 Hz wrong by up to 1 rad/s², as large as they are.
"""

LEAST_RANGE = {"position": 0.02, "effort": 0.0}
"""Range that steps are looked for in [rad or m, N·m or N]: a joint that does not move has few readings."""

REPEATED = 4
"""Least mean number of samples with the same reading, where readings are taken for steps."""


def read_record(
    path: Path, joints: Sequence[str], topic: str = "/joint_states", circles: Circles | Literal[False] = False
) -> Record:
    """Read the record of a motion, joints on a circle unwrapped.

    - `.npz`: a trace of `thunder run`: what was measured, and the efforts that were commanded.
    - `.csv`: a header with `t` [s] and, for every joint, `<joint>.position` and `<joint>.effort`, in any order.
    - `.mcap`, `.db3` or the folder of a bag: sensor_msgs/JointState with positions and efforts, by their stamps.

    Samples that are not evenly spaced are interpolated at the median period.

    Args:
        path: Of the file.
        joints: Names of the joints, in the order of the result.
        topic: Of a bag.
        circles: Which joints are on a circle, (n,), `RobotModel.circles`; none by default.

    Raises:
        RecordError: saying what the file lacks.
    """
    if not exists(path):
        raise RecordError("no such file", where=str(path), valid="a trace (.npz), .csv, .mcap, .db3 or folder of a bag")
    if path.suffix == ".npz":
        return _read_trace(path, joints, circles)
    if path.suffix == ".csv":
        return _evenly(*_read_csv(path, joints), joints, circles, str(path))
    if path.suffix in BAGS:
        return _read_bag(path, joints, topic, circles)
    raise RecordError(f"suffix '{path.suffix}'", where=str(path), valid=".npz, .csv, .mcap, .db3, folder of a bag")


def _read_trace(path: Path, joints: Sequence[str], circles: Circles | Literal[False]) -> Record:
    arrays = read_arrays(path, ("t", "q_measured", "effort", "joint_names"), RecordError, "what thunder run writes")
    names, t, q, effort = (arrays[name] for name in ("joint_names", "t", "q_measured", "effort"))
    order = order_of([str(name) for name in names.ravel()], joints, f"{path}: joint_names", RecordError)
    shapes = [array.shape for array in (t, q, effort)]
    if shapes != [t.shape[:1], *[(*t.shape[:1], len(joints))] * 2] or any(x.dtype.kind != "f" for x in (t, q, effort)):
        found = f"t, q_measured and effort have the shapes {', '.join(map(str, shapes))}"
        raise RecordError(found, where=str(path), valid=f"numbers, (N,), (N, {len(joints)}) and (N, {len(joints)})")
    rate = _rate(t, str(path))
    q, effort = q[:, order], effort[:, order]
    _check_levels(q, effort, joints, str(path))
    return Record.of_held(unwrap(q, circles), effort, rate)


def _rate(t: FloatArray, where: str) -> float:
    """Samples over the time that they take [Hz]."""
    spent = t[-1] - t[0] if len(t) > 1 else 0.0
    rate = (len(t) - 1) / spent if spent > 0.0 else 0.0
    if not (np.isfinite(t).all() and 0.0 < rate < np.inf):
        raise RecordError(f"{len(t)} samples in {spent:g} s", where=where, valid="some seconds of motion")
    return float(rate)


def _read_csv(path: Path, joints: Sequence[str]) -> tuple[FloatArray, FloatArray, FloatArray]:
    names = [[f"{joint}.{what}" for joint in joints] for what in ("position", "effort")]
    columns = read_columns(path, RecordError, ["t", *names[0], *names[1]])
    q, effort = (np.column_stack([columns[name] for name in group]) for group in names)
    return columns["t"], q, effort


def _read_bag(path: Path, joints: Sequence[str], topic: str, circles: Circles | Literal[False]) -> Record:
    states = read_joint_states(path, joints, topic, RecordError)
    t, q, effort = np.split(states.rows, [1, 1 + len(joints)], axis=1)
    if not len(t):
        what = f"{states.apart} messages of some of the joints, and none with the stamp of another"
        raise RecordError(what, where=f"{path}: {topic}", valid="all joints at one stamp", fault=Fault.STAMPS)
    counts = {
        "of other joints were skipped": states.skipped,
        "of some of the joints were merged by their stamps": states.merged,
        "of some of the joints were left out: none has the stamp of the rest": states.apart,
    }
    notes = tuple(f"{count} messages {what}" for what, count in counts.items() if count)
    return replace(_evenly(t[:, 0] - t[:1, 0], q, effort, joints, circles, str(path)), notes=notes)


def _evenly(
    t: FloatArray,
    q: FloatArray,
    effort: FloatArray,
    joints: Sequence[str],
    circles: Circles | Literal[False],
    where: str,
) -> Record:
    """Interpolate at the median period; samples with the stamp of the one before are left out."""
    rate, steps = _rate(t, where), np.diff(t)
    _check_stamps(t, steps, (np.diff(q, axis=0) != 0.0).any(axis=1), where)
    _check_levels(q, effort, joints, where)
    new = np.concatenate([[True], steps > 0.0])
    t, q, effort = t[new], unwrap(q[new], circles), effort[new]
    period = float(np.median(np.diff(t)))
    if period * rate < 1.0 / MOST_UNEVEN:
        what = f"half of the samples are less than {period:.3g} s apart, on average they are {1.0 / rate:.3g} s"
        raise RecordError(what, where=where, valid="samples at one rate", fault=Fault.STAMPS)
    grid = np.arange(t[0], t[-1], period)
    q, effort = (np.array([np.interp(grid, t, column) for column in values.T]).T for values in (q, effort))
    return Record(q, effort, 1.0 / period)


def _check_stamps(t: FloatArray, steps: FloatArray, changed: NDArray[np.bool_], where: str) -> None:
    """Raise for stamps (N,), which are `steps` (N - 1,) apart, that are not those of a record at one rate in seconds.

    A stamp that repeats counts where the position `changed` (N - 1,).

    Raises:
        RecordError: for another unit, a clock that goes back, a gap, or stamps that repeat.
    """
    step = float(np.median(steps))
    for unit, ticks in TICKS.items():
        if step > LONGEST_GAP and SHORTEST_PERIOD <= step / ticks <= LONGEST_GAP:
            what = f"stamps step by {step:.4g} s: they are {unit}, {ticks / step:.4g} Hz"
            raise RecordError(what, where=where, valid="stamps in seconds", fault=Fault.UNIT)
    back, longest = int(np.argmin(steps)), int(np.argmax(steps))
    if steps[back] < 0.0:
        what = f"stamps go back by {-steps[back]:.3g} s after t = {t[back]:.6g} s"
        raise RecordError(what, where=where, valid="stamps in order", fault=Fault.STAMPS)
    repeated = float(((steps == 0.0) & changed).mean())
    if repeated > MOST_REPEATED:
        what = f"{repeated:.0%} of the samples have the stamp of the one before"
        raise RecordError(what, where=where, valid=f"at most {MOST_REPEATED:.0%}", fault=Fault.STAMPS)
    if steps[longest] > LONGEST_GAP:
        what = f"no sample for {steps[longest]:.3g} s after t = {t[longest]:.6g} s"
        raise RecordError(what, where=where, valid=f"{LONGEST_GAP:g} s", fault=Fault.STAMPS)


def _check_levels(q: FloatArray, effort: FloatArray, joints: Sequence[str], where: str) -> None:
    """Raise for positions or efforts (N, n) in steps that are coarse over their range.

    Raises:
        RecordError: naming the joint with the coarsest steps, and these.
    """
    for what, values in (("position", q), ("effort", effort)):
        found = [_levels(column, LEAST_RANGE[what]) for column in values.T]
        joint = min(range(len(joints)), key=lambda k: found[k])
        if found[joint] < LEAST_LEVELS[what]:
            text = f"the {what} of {joints[joint]} has steps of {np.ptp(values[:, joint]) / found[joint]:.3g}"
            valid = f"a resolution of a {LEAST_LEVELS[what]}th of its range, {np.ptp(values[:, joint]):.3g}"
            raise RecordError(text, where=where, valid=valid, fault=Fault.COARSE)


def _levels(values: FloatArray, least: float) -> float:
    """Range of readings (N,) over their least step; infinite without steps, or within the range `least`."""
    readings = np.unique(values[np.isfinite(values)])
    if len(readings) < 2 or np.ptp(readings) <= least or len(values) < REPEATED * len(readings):
        return np.inf
    return float(np.ptp(readings) / np.diff(readings).min())
