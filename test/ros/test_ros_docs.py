"""Commands in the documentation name launch files, arguments, nodes, services and parameters that exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from documentation import all_commands

from thunder_controllers.ros.interfaces import NODES
from thunder_controllers.ros.tools.launch_arguments import read_arguments
from thunder_controllers.ros.tools.launcher import complete

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}
COMMANDS = all_commands()
STARTS = [(name, line) for name, line in COMMANDS if re.match(r"(ros2 launch thunder_controllers|thunder ros) ", line)]


def _service_names() -> set[str]:
    own = {f"/{node.name}{service.name[1:]}" for node in NODES.values() for service in node.services}
    return own | {"/action_server/error_recovery"}


def test_there_are_commands_to_check() -> None:
    assert len(STARTS) >= 8
    assert any("service call" in line for _, line in COMMANDS)


@pytest.mark.parametrize(("page", "line"), STARTS)
def test_launch_commands_name_a_system_and_its_arguments(page: str, line: str) -> None:
    is_ours = "thunder ros" in line
    name, *rest = shlex.split(line.partition("ros " if is_ours else "thunder_controllers ")[2])
    words = [word for word in rest if ":=" in word]
    table = read_arguments(name.removesuffix(".launch.py"))
    if is_ours:
        complete(name, words)  # raises with what is wrong
    for argument, _, value in (word.partition(":=") for word in words):
        assert argument in table
        assert not table[argument].choices or value in table[argument].choices, f"{argument}:={value}"


def test_services_that_are_called_exist() -> None:
    called = {line.split()[3] for _, line in COMMANDS if line.startswith("ros2 service call /")}
    assert called
    assert called <= _service_names()


def test_nodes_whose_parameters_are_set_or_shown_exist() -> None:
    named = {line.split()[3] for _, line in COMMANDS if re.match(r"ros2 (param|lifecycle) \w+ /", line)}
    assert named
    assert named <= {f"/{name}" for name in NODES}


def test_parameters_in_back_quotes_with_a_prefix_exist() -> None:
    known = {parameter.name for node in NODES.values() for parameter in node.parameters}
    for name, text in TEXTS.items():
        for word in re.findall(r"`((?:fault|payload|path)\.[\w.]+)(?:…)?`", text):
            assert any(parameter == word or parameter.startswith(word.rstrip(".") + ".") for parameter in known), (
                f"{name}: {word}"
            )


def test_executables_that_are_named_are_installed_ones() -> None:
    scripts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name, line in COMMANDS:
        for executable in re.findall(r"(?:^|bin/)(thunder\w*) ", line):
            assert re.search(rf"^{executable} = ", scripts, re.MULTILINE), f"{name}: {line}"


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        target for text in TEXTS.values() for target in re.findall(r"(?:`|^    )make ([\w-]+)", text, re.MULTILINE)
    }
    assert named <= targets


def test_the_python_that_is_shown_runs(domain: int) -> None:
    (code,) = re.findall(r"```python\n(from geometry_msgs.*?)```", TEXTS["ros2.md"], re.DOTALL)
    done = subprocess.run([sys.executable, "-c", code], env=os.environ, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
