"""Who takes part: this machine only, unless the user or an argument says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from nodes import NodeProcess, Probe

from thunder_controllers.ros.tools.discovery import RANGE, discovery_environment

ROOT = Path(__file__).parents[3]
LIMIT = 60.0
"""For the start of a generator, which is then ended [s]."""


@pytest.mark.parametrize(
    ("discovery", "environment", "expected"),
    [
        ("auto", {}, {RANGE: "LOCALHOST"}),
        ("auto", {RANGE: ""}, {RANGE: "LOCALHOST"}),
        ("auto", {RANGE: "SUBNET"}, {}),
        ("localhost", {RANGE: "SUBNET"}, {RANGE: "LOCALHOST"}),
        ("subnet", {}, {RANGE: "SUBNET"}),
        ("subnet", {RANGE: "LOCALHOST"}, {RANGE: "SUBNET"}),
    ],
)
def test_what_is_named_counts_and_then_what_the_user_has_set(
    discovery: str, environment: dict[str, str], expected: dict[str, str]
) -> None:
    assert discovery_environment(discovery, environment) == expected


@pytest.mark.parametrize(
    ("words", "given", "expected"),
    [((), None, "LOCALHOST"), ((), "SUBNET", "SUBNET"), (("discovery:=subnet",), None, "SUBNET")],
)
def test_the_nodes_of_thunder_ros_get_it_before_they_start(
    words: tuple[str, ...], given: str | None, expected: str, domain: int
) -> None:
    """The monitor writes that it waits for a controller; its environment is that of all nodes."""
    environment = {name: value for name, value in os.environ.items() if name != RANGE}
    environment |= {RANGE: given} if given else {}
    code = "from thunder_controllers.ros.tools.launcher import ros; ros()"
    command = [sys.executable, "-c", code, "generator", "--monitor", "--duration", str(LIMIT), *words]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            while b"waiting for /adaptive_controller" not in (line := process.stdout.readline()):
                assert line, "it ended"
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            seen = [Path(f"/proc/{child}/environ").read_bytes().split(b"\0") for child in children]
        finally:
            process.terminate()
    assert len(seen) == 2
    assert all(f"{RANGE}={expected}".encode() in variables for variables in seen)


def test_participants_of_this_machine_find_each_other(
    domain: int, probe: Probe, start_node: Callable[..., NodeProcess]
) -> None:
    assert os.environ[RANGE] == "LOCALHOST"
    node = start_node("reference", {"type": "hold"})
    assert f"{RANGE}=LOCALHOST".encode() in Path(f"/proc/{node.process.pid}/environ").read_bytes().split(b"\0")
    assert probe.get_parameters(node.full_name, "type") == ["hold"]


@pytest.mark.parametrize("service", ["sim", "real"])
def test_containers_share_the_network_of_the_machine_and_keep_to_it(service: str) -> None:
    table = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"][service]
    assert table["environment"][RANGE] == f"${{{RANGE}:-LOCALHOST}}"
