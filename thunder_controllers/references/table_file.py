"""References from CSV files: a header with names of columns, then numbers; docs/simulation.md lists the columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.references.table import JointTable, PoseTable
from thunder_dynamics.errors import DimensionError, ScenarioError, listed

FloatArray = NDArray[np.float64]

POSITION = ("x", "y", "z")
QUATERNION = ("qx", "qy", "qz", "qw")
ANGLES = ("yaw", "pitch", "roll")
TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
CHANGE = ("dvx", "dvy", "dvz", "dwx", "dwy", "dwz")


def read_table(path: Path, joints: Sequence[str], cartesian: bool) -> JointTable | PoseTable:
    """Read a reference of joints or of a pose.

    Args:
        path: The file.
        joints: Names of the robot's joints, in order.
        cartesian: Whether a pose is wanted.

    Raises:
        ScenarioError: if the file cannot be read, a column is missing or unknown, or a cell is no number.
        ThunderError: as the tables raise.
    """
    columns = _read(path)
    try:
        return _poses(columns, path) if cartesian else _joints(columns, joints, path)
    except (ScenarioError, DimensionError) as error:
        where = str(path) if error.where == "reference" else error.where
        raise ScenarioError(error.what, where=where, valid=error.valid) from error


def _read(path: Path) -> dict[str, FloatArray]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            head, *lines = csv.reader(file)
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "no text with a line of names"
        raise ScenarioError(f"cannot read it ({reason})", where=str(path), valid="a CSV file") from error
    names = [name.strip() for name in head]
    if len(set(names)) != len(names) or not any(lines):
        raise ScenarioError("no rows, or two columns of one name", where=str(path), valid="columns of their own")
    rows = [_numbers(cells, len(names), f"{path}:{line}") for line, cells in enumerate(lines, start=2) if cells]
    return dict(zip(names, np.array(rows).T, strict=True))


def _numbers(cells: Sequence[str], size: int, where: str) -> list[float]:
    if len(cells) != size:
        raise ScenarioError(f"{len(cells)} cells", where=where, valid=f"{size}, as line 1 has")
    try:
        return [float(cell) for cell in cells]
    except ValueError as error:
        raise ScenarioError(str(error), where=where, valid="numbers between commas") from error


def _joints(columns: dict[str, FloatArray], joints: Sequence[str], path: Path) -> JointTable:
    short = [[f"{kind}{k + 1}" for k in range(len(joints))] for kind in ("q", "qd", "qdd")]
    full = [[f"{joint}.{kind}" for joint in joints] for kind in ("position", "velocity", "acceleration")]
    names = short if "q1" in columns else full
    derived = names[1] + names[2]
    has_rates = any(name in columns for name in derived)
    _check(columns, ["t", *names[0], *(derived if has_rates else [])], derived, path)
    rates = (_stack(columns, names[1]), _stack(columns, names[2])) if has_rates else None
    return JointTable(columns["t"], _stack(columns, names[0]), rates)


def _poses(columns: dict[str, FloatArray], path: Path) -> PoseTable:
    derived = [*TWIST, *CHANGE]
    has_rates = any(name in columns for name in derived)
    turn = ANGLES if "yaw" in columns else QUATERNION
    _check(columns, ["t", *POSITION, *turn, *(derived if has_rates else [])], [*ANGLES, *derived], path)
    values = _stack(columns, turn)
    quaternion = Rotation.from_euler("ZYX", values).as_quat() if turn is ANGLES else values
    rates = (_stack(columns, TWIST), _stack(columns, CHANGE)) if has_rates else None
    return PoseTable(columns["t"], _stack(columns, POSITION), quaternion, rates)


def _check(columns: dict[str, FloatArray], wanted: Sequence[str], optional: Sequence[str], path: Path) -> None:
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise ScenarioError(f"no column {listed(missing)}", where=f"{path}:1", valid=", ".join(wanted))
    unknown = [name for name in columns if name not in wanted]
    if unknown:
        more = [name for name in optional if name not in wanted]
        valid = ", ".join(wanted) + (f"; also {', '.join(more)}" if more else "")
        raise ScenarioError(f"unknown column {listed(unknown)}", where=f"{path}:1", valid=valid)


def _stack(columns: dict[str, FloatArray], names: Sequence[str]) -> FloatArray:
    return np.column_stack([columns[name] for name in names])
