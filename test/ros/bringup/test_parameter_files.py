"""The parameter files in config/: what they set is declared, valid, and explained with its unit."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import Kind, Parameter, plugin_parameters
from thunder_controllers.ros.common.parameters import reason_against
from thunder_controllers.ros.interfaces import NODES

ROOT = Path(__file__).parents[3]
CONFIG = sorted((ROOT / "config/ros").glob("*.yaml"))
CONTROL = sorted((ROOT / "config/ros2_control").glob("*.yaml"))
BACKENDS = [file for file in CONTROL if file.stem.startswith("panda_")]
ESTIMATE = "gains."
PLUGIN_TYPE = "thunder_controllers/AdaptiveController"
FRANKA_LIMITS = [87.0] * 4 + [12.0] * 3
"""Torque limits of a Franka's joints [N·m]."""

FRANKA_REFLEX = 1000.0
"""Torque rate at which a Franka stops [N·m/s]."""


def section(file: Path, node: str) -> dict[str, Any]:
    parameters: dict[str, Any] = yaml.safe_load(file.read_text())[f"/**/{node}"]["ros__parameters"]
    return parameters


def control(name: str) -> Path:
    return ROOT / f"config/ros2_control/{name}.yaml"


# --- files of the nodes -----------------------------------------------------------------------------------------------


def declared(node: str) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in NODES[node].parameters}


def flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def entries(file: Path) -> list[tuple[str, str, Any]]:
    """Node, parameter and value of everything that a parameter file sets."""
    found = []
    for key, section in yaml.safe_load(file.read_text()).items():
        found += [(key.removeprefix("/**/"), name, value) for name, value in flat(section["ros__parameters"])]
    return found


@pytest.mark.parametrize("file", CONFIG, ids=lambda file: file.stem)
def test_every_key_of_a_parameter_file_is_declared_and_its_value_valid(file: Path) -> None:
    for node, name, value in entries(file):
        if name.startswith(ESTIMATE):
            continue  # gains are declared from the metadata of the law
        parameter = declared(node)[name]
        python = {Kind.BOOL: bool, Kind.INTEGER: int, Kind.DOUBLE: float, Kind.STRING: str}.get(parameter.kind, list)
        assert type(value) is python, f"{name}: ROS takes an int for no double, and the other way round"
        assert reason_against(parameter, value) is None


@pytest.mark.parametrize("file", CONFIG, ids=lambda file: file.stem)
def test_every_key_of_a_parameter_file_has_a_comment_with_its_unit(file: Path) -> None:
    units = {(n, p.name): p.unit for n in NODES for p in NODES[n].parameters}
    lines = file.read_text().splitlines()
    for node, name, _ in entries(file):
        key = name.rpartition(".")[2] if name.startswith(ESTIMATE) else name
        (index,) = (k for k, line in enumerate(lines) if line.strip().startswith(f"{key}:"))
        comment = ""
        while lines[index - 1].lstrip().startswith("#"):
            index -= 1
            comment = lines[index].lstrip(" #") + " " + comment
        assert comment, f"{name} has no comment"
        unit = units.get((node, name), "")
        allowed = [f"[{text}]" for text in (unit, *unit.split(" or ")) if text]
        assert not unit or any(text in comment for text in allowed), f"{name}: no unit [{unit}] in '{comment}'"


def test_the_perspective_shows_topics_and_a_node_that_exist() -> None:
    text = (ROOT / "config/rqt/thunder.perspective").read_text()
    manager = json.loads(text)["groups"]["pluginmanager"]
    running = ast.literal_eval(manager["keys"]["running-plugins"]["repr"])
    assert running == {"rqt_plot/Plot": [1, 2], "rqt_reconfigure/Param": [1]}
    topics = re.findall(r"/adaptive_controller/[\w/]+", text)
    published = {topic.name for topic in NODES[names.CONTROLLER].topics}
    assert {"~/pose_error", "~/estimates/<link>"} <= published
    assert all(re.match(rf"/{names.CONTROLLER}/(pose_error/|estimates/panda_link7/)", topic) for topic in topics)
    assert topics


# --- files of controller_manager --------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", BACKENDS, ids=lambda file: file.stem)
def test_a_controller_manager_runs_at_1_khz_and_knows_the_types_of_its_controllers(file: Path) -> None:
    manager = section(file, "controller_manager")
    assert manager["update_rate"] == 1000
    assert manager["adaptive_controller"]["type"] == PLUGIN_TYPE
    assert manager["joint_state_broadcaster"]["type"] == "joint_state_broadcaster/JointStateBroadcaster"


@pytest.mark.parametrize("file", CONTROL, ids=lambda file: file.stem)
def test_parameters_of_the_plugin_are_ones_that_it_declares(file: Path) -> None:
    declared = {parameter.name.partition(".")[0]: parameter.kind for parameter in plugin_parameters()}
    values = section(file, "adaptive_controller")
    assert set(values) - {"gains", "type"} <= set(declared)
    for name, value in values.items():
        is_real = declared.get(name) in (Kind.DOUBLE, Kind.DOUBLES)
        assert not is_real or type(np.ravel(value).tolist()[0]) is float, f"{name}: ROS has no mixed"


def test_a_controller_manager_of_somebody_else_learns_the_type_from_the_section_of_the_controller() -> None:
    assert section(control("panda_franka"), "adaptive_controller")["type"] == PLUGIN_TYPE


def test_a_franka_gets_no_torque_that_it_would_refuse() -> None:
    values = section(control("panda_franka"), "adaptive_controller")
    assert values["effort_limit"] == FRANKA_LIMITS
    assert len(values["effort_rate_limit"]) == 7
    assert max(values["effort_rate_limit"]) < FRANKA_REFLEX
    assert values["zero_start"] is True
    assert values["gravity_compensated_by_robot"] is True
    assert 0.0 < values["max_activation_error"] <= 0.05, "a step of the reference is a reflex"
    assert values["freeze_on_start"] is True
    manager = section(control("panda_franka"), "controller_manager")
    assert manager["thread_priority"] < 99, "the kernel's own threads are at 99"
    assert manager["cpu_affinity"]
    assert manager["overruns"] == {"manage": False, "print_warnings": False}


def test_gazebo_starts_from_gravity_and_steps_by_its_own_step() -> None:
    values = section(control("panda_gazebo"), "adaptive_controller")
    assert values["safe_start"] is True, "the arm falls until the effort has come from zero to gravity"
    assert values["fixed_period"] is True, "/clock comes late"


def test_simulations_start_where_the_simulation_node_does() -> None:
    q = section(ROOT / "config/ros/panda.yaml", names.SIMULATION)["q_start"]
    (word,) = re.findall(r'"--q-start", "([^"]*)"', (ROOT / "launch/backends/ros2_control.launch.py").read_text())
    (default,) = re.findall(r'name="q_start" default="([^"]+)"', (ROOT / "urdf/panda.gazebo.urdf.xacro").read_text())
    for text in (word, default):
        assert np.array_equal([float(number) for number in text.split()], q)
