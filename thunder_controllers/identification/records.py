"""Records of motions from files: traces of `thunder run`, CSV, and bags of ROS 2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.archive import read_arrays
from thunder_controllers.bag import FILES, read_joint_states
from thunder_controllers.fields import order_of
from thunder_controllers.identification.motion import Record
from thunder_controllers.references.circles import Circles, unwrap
from thunder_controllers.references.columns import read_columns
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.readers import exists

FloatArray = NDArray[np.float64]

LONGEST_GAP = 0.05
"""Between two samples [s]: what is in a longer one is not interpolated."""

MOST_UNEVEN = 100.0
"""Mean over median of the time between samples: interpolated, a record is so many times as long."""

BAGS = (*FILES, "")
"""Suffixes of bags; without one, the folder of a bag."""


class RecordError(ThunderError):
    """A record of a motion cannot be read, or is not one of that robot."""


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
        return _evenly(*_read_csv(path, joints), circles, str(path))
    if path.suffix in BAGS:
        return _evenly(*_read_bag(path, joints, topic), circles, str(path))
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
    return Record.of_held(unwrap(q[:, order], circles), effort[:, order], rate)


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


def _read_bag(path: Path, joints: Sequence[str], topic: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    rows = read_joint_states(path, joints, topic, RecordError)
    t, q, effort = np.split(rows, [1, 1 + len(joints)], axis=1)
    return t[:, 0] - t[:1, 0], q, effort


def _evenly(t: FloatArray, q: FloatArray, effort: FloatArray, circles: Circles | Literal[False], where: str) -> Record:
    """Interpolate at the median period; samples with the stamp of the one before are left out."""
    new = np.concatenate([[True], np.diff(t) > 0.0]) if len(t) else np.zeros(0, dtype=bool)
    t, q, effort = t[new], unwrap(q[new], circles), effort[new]
    rate = _rate(t, where)
    gaps = np.diff(t)
    if gaps.max() > LONGEST_GAP:
        place = int(np.argmax(gaps))
        raise RecordError(
            f"no sample for {gaps[place]:.3g} s after t = {t[place]:.6g} s", where=where, valid=f"{LONGEST_GAP:g} s"
        )
    period = float(np.median(gaps))
    if period * rate < 1.0 / MOST_UNEVEN:
        what = f"half of the samples are less than {period:.3g} s apart, on average they are {1.0 / rate:.3g} s"
        raise RecordError(what, where=where, valid="samples at one rate")
    grid = np.arange(t[0], t[-1], period)
    q, effort = (np.array([np.interp(grid, t, column) for column in values.T]).T for values in (q, effort))
    return Record(q, effort, 1.0 / period)
