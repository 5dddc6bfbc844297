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
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def tool(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which(name, path=str(BIN))
    if program is None:
        pytest.skip(f"{name} is not installed: pip install '.[test]'")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=600, check=False)


def test_workflows_keep_the_schema() -> None:
    result = tool("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)
    assert result.returncode == 0, result.stdout + result.stderr


def test_workflows_name_what_exists() -> None:
    jobs = [job for file in WORKFLOWS for job in yaml.safe_load(file.read_text())["jobs"].values()]
    text = "\n".join(step.get("run", "") for job in jobs for step in job["steps"])
    named = [name.removeprefix("src/thunder_controllers/") for name in re.findall(r"(?:src/|\.ci/)[\w./-]+", text)]
    assert {".ci/run", ".ci/wheel-to-report", "docker/requirements.txt"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_scripts_of_continuous_integration_are_free_of_what_shellcheck_finds() -> None:
    result = tool("shellcheck", *sorted((ROOT / ".ci").iterdir()))
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_is_published_is_published_by_trust_and_only_of_a_tag() -> None:
    """No token is kept, and the job that may ask PyPI for one comes after the wheels were tried."""
    (file,) = (file for file in WORKFLOWS if file.stem == "wheels")
    jobs = yaml.safe_load(file.read_text())["jobs"]
    assert "secrets." not in file.read_text()
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert jobs["publish"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert set(jobs["publish"]["needs"]) == {"report", "sources"} and jobs["report"]["needs"] == "wheels"


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
