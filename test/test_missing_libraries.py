"""Without the libraries of an extra, Python code is told which extra it wants, at the first call that needs one."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _without(library: str, folder: Path) -> dict[str, str]:
    """Environment of a Python whose only packages are those installed here, less one library."""
    for place in (
        one for one in map(Path, sys.path) if one.name in ("site-packages", "dist-packages") and one.is_dir()
    ):
        for entry in place.iterdir():
            if entry.name.partition("-")[0].partition(".")[0] != library and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry)
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "code"),
    [
        ("mujoco", "from thunder_controllers import simulate"),
        ("mujoco", "import thunder_controllers.simulation.scenario"),
        ("scipy", "from thunder_controllers import simulate"),
        ("scipy", "from thunder_controllers.references.trajectories import Hold"),
        ("scipy", "from thunder_controllers.analysis.margin import *"),
        ("scipy", "import thunder_controllers.identification.motion"),
        ("plotly", "from thunder_controllers.report.page import write_report"),
        ("matplotlib", "from thunder_controllers.experiments.experiment import load_experiment"),
    ],
)
def test_what_is_missing_names_its_extra(library: str, code: str, tmp_path: Path) -> None:
    importlib.metadata.requires("thunder-controllers")  # installed, or the extra could not be known
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code], env=_without(library, tmp_path), capture_output=True, text=True, check=False
    )
    expected = f"MissingLibraryError: {library} is not installed; valid: pip install 'thunder-controllers[sim]'"
    assert ended.stderr.splitlines()[-1].endswith(expected), ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("library", ["mujoco", "scipy"])
@pytest.mark.parametrize(
    "code",
    [
        "import thunder_dynamics as td, thunder_controllers.host; print(td.load_model('panda').n)",
        "import thunder_controllers.commands.check, thunder_controllers.commands.info; print(7)",
    ],
)
def test_what_needs_no_extra_runs_without(library: str, code: str, tmp_path: Path) -> None:
    environment = _without(library, tmp_path)
    ended = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.stdout.strip() == "7", ended.stderr
