"""Who takes part: this machine only, unless the user or an argument says otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from nodes import NodeProcess, Probe

from thunder_controllers.ros.tools.discovery import RANGE, discovery_environment

ROOT = Path(__file__).parents[3]


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
