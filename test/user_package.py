"""A package of examples/, as a user installs it: metadata included, so that its entry points are found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def install(name: str, folder: Path) -> Path:
    """Folder of installed packages, with that of an example in it and nothing else."""
    source = shutil.copytree(EXAMPLES / name, folder / "source")  # pip writes beside what it builds
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(folder / "site"), str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return folder / "site"
