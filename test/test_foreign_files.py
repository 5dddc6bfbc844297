"""Every reader of a file that anybody may have written refuses what is none, at once and in one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watchdog import watched

import thunder_dynamics as td
from thunder_controllers.analysis.gain_file import read_gains
from thunder_controllers.commands.experiment import _read as read_table
from thunder_controllers.experiments.study import load_study
from thunder_controllers.identification.records import read_record
from thunder_controllers.mesh import read_mesh
from thunder_controllers.references.columns import read_columns
from thunder_controllers.simulation.experiment import load_results
from thunder_controllers.simulation.scenario import load_scenario
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.errors import ScenarioError, ThunderError
from thunder_dynamics.storage.checksums import SUMS, read_verified


def results(path: Path) -> object:
    """What reads a folder is given that of the file."""
    return load_results(path.parent)


READERS: dict[str, Callable[[Path], Any]] = {
    "robot.yaml": td.load_model,
    "robot.urdf": td.load_model,
    "robot.xacro": td.load_model,
    "scenario.yaml": load_scenario,
    "study.yaml": load_study,
    "gains.yaml": read_gains,
    "table.json": read_table,
    "table.csv": lambda path: read_columns(path, ScenarioError),
    "record.npz": lambda path: read_record(path, ("a",)),
    "record.csv": lambda path: read_record(path, ("a",)),
    "record.mcap": lambda path: read_record(path, ("a",)),
    "record.db3": lambda path: read_record(path, ("a",)),
    "trace.npz": Trace.load,
    "metrics.json": results,
    "mesh.stl": lambda path: read_mesh(path, 100),
    "mesh.obj": lambda path: read_mesh(path, 100),
    SUMS: lambda path: read_verified(path.parent, "manifest.json"),
    "manifest.json": lambda path: read_verified(path.parent, path.name),
}
"""By the name of a file."""


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def endless(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)  # takes no space


def forbidden(path: Path) -> None:
    path.touch(0)


@pytest.mark.parametrize("make", [os.mkfifo, zeros, endless, Path.mkdir, forbidden, lambda path: None])
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_to_read_is_one_line(tmp_path: Path, name: str, make: Callable[[Path], object]) -> None:
    make(tmp_path / name)
    with watched(), pytest.raises(ThunderError) as caught:
        READERS[name](tmp_path / name)
    message = str(caught.value)
    assert str(tmp_path) in message and "\n" not in message and "valid: " in message
