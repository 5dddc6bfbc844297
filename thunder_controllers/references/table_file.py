"""References from CSV files: a header of column names, then numbers; docs/reference/scenario.md has the columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_controllers.references.columns import read_columns
from thunder_controllers.references.table import JointTable, PoseTable
from thunder_controllers.references.trajectories import Follower, Reference, Stated
from thunder_dynamics.errors import DimensionError, ScenarioError, listed

POSITION = ("x", "y", "z")
QUATERNION = ("qx", "qy", "qz", "qw")
ANGLES = ("yaw", "pitch", "roll")
TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
CHANGE = ("dvx", "dvy", "dvz", "dwx", "dwy", "dwz")


class Csv(Stated):
    """Through the rows of a table, [below](#a-table)."""

    type: Literal["csv"] = "csv"
    file: str = Field(description="relative to the scenario")

    def build_for(self, follower: Follower) -> Reference:
        """Read the file, of joints or of a pose.

        Raises:
            ScenarioError: if the file cannot be read, a column is missing or unknown, or a cell is no number.
            ThunderError: as the tables raise.
        """
        path = follower.folder / self.file
        columns = read_columns(path, ScenarioError)
        try:
            return _poses(columns, path) if follower.cartesian else _joints(columns, follower, path)
        except (ScenarioError, DimensionError) as error:
            where = str(path) if error.where == "reference" else error.where
            raise ScenarioError(error.what, where=where, valid=error.valid) from error


def _joints(columns: dict[str, FloatArray], follower: Follower, path: Path) -> JointTable:
    joints = follower.library.joint_names
    short = [[f"{kind}{k + 1}" for k in range(len(joints))] for kind in ("q", "qd", "qdd")]
    full = [[f"{joint}.{kind}" for joint in joints] for kind in ("position", "velocity", "acceleration")]
    names = short if "q1" in columns else full
    derived = names[1] + names[2]
    has_rates = any(name in columns for name in derived)
    _check(columns, ["t", *names[0], *(derived if has_rates else [])], derived, path)
    rates = (_stack(columns, names[1]), _stack(columns, names[2])) if has_rates else None
    return JointTable(columns["t"], _stack(columns, names[0]), rates, follower.circles)


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
