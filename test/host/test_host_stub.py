"""The types of what is compiled say what the modules have; those of the host are what `make stubs` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUB = Path("thunder_controllers/host/_host.pyi")


def run(*command: str | Path) -> None:
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_stub_is_what_the_generator_writes(tmp_path: Path) -> None:
    installed = "none/.installed-test"  # what the target depends on: this interpreter has it
    run("make", "stubs", "VENV=none", f"--old-file={installed}", f"RUN={sys.executable}", f"STUBS={tmp_path}")
    assert (ROOT / STUB).read_text() == (tmp_path / STUB).read_text(), "run `make stubs`"


@pytest.mark.slow
def test_the_stubs_agree_with_the_modules() -> None:
    modules = ("thunder_controllers.host._host", "thunder_dynamics.runtime._calls")
    command = (sys.executable, "-m", "mypy.stubtest", *modules, "--concise")
    run(*command, "--mypy-config-file", "pyproject.toml", "--allowlist", ROOT / "test/data/stubtest_allowlist.txt")
