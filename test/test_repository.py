"""What continuous integration and editors read is valid, and says the same as the rest of the repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from parts import PARTS

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
WORKFLOW = ROOT / ".github/workflows/ci.yml"


def tool(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which(name, path=str(BIN))
    if program is None:
        pytest.skip(f"{name} is not installed: pip install '.[test]'")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, check=False)


def test_the_workflow_keeps_the_schema() -> None:
    result = tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_workflow_names_what_exists() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    text = "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    named = [name.removeprefix("src/thunder_controllers/") for name in re.findall(r"(?:src/|\.ci/)[\w./-]+", text)]
    assert {".ci/run", "docker/requirements.txt"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_continuous_integration_runs_every_target() -> None:
    """`make test` runs those of lint; help, set-up and cleaning do nothing that could rot unseen."""
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    rest = set(phony[1].split()) - {"help", "setup", "lint", "lint-files", "clean", "clean-venv"}
    script = (ROOT / ".ci/run").read_text()
    assert rest == {"test", *re.findall(r"^timed \d+ ([\w-]+)", script, re.MULTILINE)}
    assert re.search(r"^make test$", script, re.MULTILINE)


def test_the_parts_of_test_all_are_those_of_the_tests_and_of_continuous_integration() -> None:
    made = re.search(r"addprefix test-,(.*)\)", (ROOT / "Makefile").read_text())
    run = re.search(r"^for part in (.*); do$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert made is not None and run is not None
    assert set(made[1].split()) == set(run[1].split()) == set(PARTS)
    assert all((ROOT / "test" / name.partition("::")[0]).is_file() for names in PARTS.values() for name in names)


def test_the_hooks_of_pre_commit_are_valid_and_pinned() -> None:
    file = ROOT / ".pre-commit-config.yaml"
    result = tool("pre-commit", "validate-config", str(file))
    assert result.returncode == 0, result.stdout + result.stderr
    repositories = [entry for entry in yaml.safe_load(file.read_text())["repos"] if entry["repo"] != "local"]
    assert all(re.fullmatch(r"v\d+\.\d+\.\d+", entry["rev"]) for entry in repositories)
