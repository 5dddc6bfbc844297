"""The ros2_control plugin, as far as it can be checked without ROS 2: its file of estimates, its names, its build.

What needs ros2_control is in test_ros2_control_manager.py, and skipped where there is none.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from host_programs import ADDRESS, compile_program

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Library,
    Options,
    read_estimates,
    save_estimates,
)
from thunder_controllers.ros.common import qos
from thunder_controllers.ros.common.interface import Kind, Parameter
from thunder_controllers.ros.common.names import CONTROLLER
from thunder_controllers.ros.controller.parameters import PARAMETERS
from thunder_controllers.ros.interfaces import NODES

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "thunder_controllers" / "ros2_control" / "plugin"
TYPES = {
    Kind.BOOL: "bool",
    Kind.INTEGER: "int",
    Kind.DOUBLE: "double",
    Kind.STRING: "string",
    Kind.DOUBLES: "double_array",
    Kind.STRINGS: "string_array",
}

NODE_ONLY = {"library_topic", "library_timeout", "command_topic", "update_rate", "robot_interface", "watchdog_timeout"}
NODE_ONLY |= {"realtime_priority"}
"""Parameters that mean nothing in a plugin; update_rate is one that every controller has, and the manager has a
thread_priority."""

PLUGIN_ONLY = {"effort_limit", "effort_rate_limit", "velocity_limit", "zero_start", "max_activation_error"}


def source(name: str) -> str:
    return (PLUGIN / name).read_text(encoding="utf-8")


def sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(PLUGIN.glob("*.[ch]pp")))


# --- parameters ------------------------------------------------------------------------------------------------------


def flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, value in table.items():
        if "type" in value:
            yield prefix + name, value
        else:
            yield from flattened(value, f"{prefix}{name}.")


@pytest.fixture(scope="module")
def declared() -> dict[str, Mapping[str, Any]]:
    """The plugin's parameters by name."""
    (table,) = yaml.safe_load(source("parameters.yaml")).values()
    return dict(flattened(table))


NODE_PARAMETERS = {parameter.name: parameter for parameter in PARAMETERS}
SHARED = sorted(NODE_PARAMETERS.keys() - NODE_ONLY)


def test_the_plugin_has_the_parameters_of_the_node(declared: Mapping[str, Any]) -> None:
    assert declared.keys() - PLUGIN_ONLY == set(SHARED)


@pytest.mark.parametrize("name", SHARED)
def test_a_parameter_is_the_same_in_node_and_plugin(declared: Mapping[str, Any], name: str) -> None:
    ours, theirs = declared[name], NODE_PARAMETERS[name]
    default = list(theirs.default) if isinstance(theirs.default, tuple) else theirs.default
    assert (ours["type"], ours["default_value"]) == (TYPES[theirs.kind], default)
    assert bool(ours.get("read_only", False)) == theirs.read_only
    assert unit_of(ours) == theirs.unit
    assert rules_of(ours) == rules_for(theirs)


def unit_of(parameter: Mapping[str, Any]) -> str:
    found = re.search(r"\[([^]]*)\]$", parameter["description"])
    return found.group(1) if found else ""


def rules_of(parameter: Mapping[str, Any]) -> dict[str, Any]:
    rules = dict(parameter.get("validation", {}))
    rules.pop("not_empty<>", None)  # a frame without a name is nobody's wish, which the node does not check
    return rules


def rules_for(parameter: Parameter) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    is_number = parameter.kind in (Kind.DOUBLE, Kind.DOUBLES)
    if is_number and np.isfinite(parameter.lower) and np.isfinite(parameter.upper):
        rules["bounds<>"] = [parameter.lower, parameter.upper]
    if parameter.size is not None:
        rules["fixed_size<>"] = [parameter.size]
    if is_number and (parameter.positive or parameter.lower > 0.0):
        rules["thunder_controllers::positive"] = None  # refuses NaN as well, which is inside every range
    if parameter.name.startswith("path."):
        rules["thunder_controllers::finite"] = None  # the node hands them to the host at once, which refuses infinity
    return rules


@pytest.mark.parametrize("number", sorted(PLUGIN_ONLY))
def test_parameters_of_the_plugin_alone_say_what_they_mean(declared: Mapping[str, Any], number: str) -> None:
    parameter = declared[number]
    assert "Takes effect when the controller is" in parameter["description"]
    assert parameter["type"] == "bool" or (unit_of(parameter) and rules_of(parameter))


def test_every_parameter_is_used(declared: Mapping[str, Any]) -> None:
    code = sources()
    unused = [name for name in declared if not re.search(rf"(parameters|get_params\(\))\.{re.escape(name)}\b", code)]
    assert unused == []


def test_the_page_has_the_table_that_the_script_writes() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate_ros2_control.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr or "run: python docs/generate_ros2_control.py"


# --- names, quality of service ---------------------------------------------------------------------------------------


def test_topics_and_services_are_those_of_the_node() -> None:
    node = NODES[CONTROLLER]
    names = set(re.findall(r'"(~/[a-z_/]+)"', sources())) | {"/diagnostics"}
    expected = {topic.name for topic in node.topics} | {service.name for service in node.services}
    only_of_the_node = {"joint_states", "{library_topic}", "{command_topic}"}
    assert {name.replace("~/estimates/", "~/estimates/<link>") for name in names} == expected - only_of_the_node


def test_topics_have_the_type_and_quality_of_service_of_the_node() -> None:
    code = re.sub(r"\s+", " ", sources())
    for topic in NODES[CONTROLLER].topics:
        if not topic.name.startswith("~/"):
            continue
        message = topic.type.split(" or ")[0].rpartition("/")[2]
        name = re.escape(topic.name.replace("<link>", ""))
        quality = {"STREAM": "kStream", "REQUEST": "kRequest", "MONITOR": ""}[topic.qos]
        pattern = rf'<[\w:]*{message}>\(\s*(node, )?"{name}"[^;]*?{quality}'
        assert re.search(pattern, code), f"{topic.name}: {message}, {topic.qos}"


@pytest.mark.parametrize(
    ("constant", "profile"), [("kStream", qos.STREAM), ("kRequest", qos.REQUEST), ("kMonitor", qos.MONITOR)]
)
def test_profiles_are_those_of_the_node(constant: str, profile: Any) -> None:
    line = re.search(rf"{constant} = (.*);", sources())
    assert line is not None
    assert line.group(1) == f"rclcpp::QoS(rclcpp::KeepLast({profile.depth})).reliable().durability_volatile()"
    assert (profile.reliability.name, profile.durability.name) == ("RELIABLE", "VOLATILE")


def test_update_does_nothing_that_waits_or_allocates() -> None:
    """A reminder, not a proof: what update calls of its own is on this short list."""
    body = re.search(r"::update\(const rclcpp::Time.*?\n}", source("adaptive_controller.cpp"), re.DOTALL)
    assert body is not None
    calls = set(re.findall(r"(\w+)\(", body.group(0))) - {"update"}
    steps = {"session", "is_active", "read_states", "data", "nanoseconds", "seconds", "write_commands", "has_given_up"}
    assert calls == steps | {"lock", "owns_lock"}
    assert body.group(0).count("lock(") == 2 and "lock(in_use_, std::try_to_lock)" in body.group(0)


# --- registration and build ------------------------------------------------------------------------------------------


def test_the_description_names_the_exported_class() -> None:
    library = ElementTree.fromstring(source("plugin.xml"))
    (entry,) = library.findall("class")
    exported = re.search(r"PLUGINLIB_EXPORT_CLASS\(([\w:]+), ([\w:]+)\)", source("adaptive_controller.cpp"))
    assert exported is not None
    assert (entry.get("type"), entry.get("base_class_type")) == exported.groups()
    assert entry.get("name") == "thunder_controllers/AdaptiveController"
    assert f"add_library({library.get('path')} SHARED" in source("plugin.cmake")


def test_package_xml_names_what_cmake_looks_for() -> None:
    package = ElementTree.parse(ROOT / "package.xml").getroot()
    named = {element.text for element in package if str(element.tag).endswith("depend")}
    listed = re.search(r"set\(adaptive_controller_packages(.*?)\)", source("../CMakeLists.txt"), re.DOTALL)
    assert listed is not None
    assert set(listed.group(1).split()) <= named


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_without_ros_the_build_leaves_the_plugin_out_and_says_so(tmp_path: Path) -> None:
    hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("controller_interface", "ament_cmake")]
    options = ["-DTHUNDER_ROBOTS=", *hidden, f"-DPython3_EXECUTABLE={sys.executable}"]
    command = ["cmake", "-S", str(ROOT), "-B", str(tmp_path / "build"), *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "No controller_interface: the ros2_control plugin AdaptiveController is left out" in result.stdout


# --- file of estimates -----------------------------------------------------------------------------------------------

VALUES = np.array([0.73, 1 / 3, -1e-17, 0.045, 1e-5, 0.2, 0.3, 0.4, 5e-324, 0.6])


@pytest.fixture(scope="module")
def configuration(panda_folder: Path) -> Configuration:
    return Configuration(Library(panda_folder / "libpanda.so"))


@pytest.fixture
def saved(configuration: Configuration, tmp_path: Path) -> Path:
    """A file that the node has saved."""
    session = ControlSession(configuration, Options(), estimates={"pi_hat": VALUES})
    save_estimates(tmp_path / "node.yaml", configuration, session.snapshot())
    return tmp_path / "node.yaml"


class Program:
    """What the plugin reads of a file of estimates, and saves."""

    def __init__(self, path: Path, library: Path) -> None:
        self._command = [str(path), str(library), "cartesian_backstepping"]

    def copy(self, source: Path, target: Path) -> str | None:
        """Load and save; the reason if that is refused."""
        command = [*self._command, str(source), str(target)]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert result.returncode in (0, 1), result.stderr
        return result.stdout if result.returncode else None


@pytest.fixture(scope="module")
def program(panda_folder: Path, build_cache: Path) -> Program:
    if not Path("/usr/include/yaml-cpp/yaml.h").is_file():
        pytest.skip("yaml-cpp is not installed: libyaml-cpp-dev")
    path = compile_program("estimates_file", build_cache, *ADDRESS, f"-I{PLUGIN}", libraries=["yaml-cpp"])
    return Program(path, panda_folder / "libpanda.so")


def test_node_and_plugin_read_each_others_estimates_bit_for_bit(
    program: Program, configuration: Configuration, saved: Path, tmp_path: Path
) -> None:
    assert program.copy(saved, tmp_path / "plugin.yaml") is None
    read = read_estimates(yaml.safe_load((tmp_path / "plugin.yaml").read_text()), configuration, "plugin.yaml")
    assert np.array_equal(read["pi_hat"], VALUES)
    assert (tmp_path / "plugin.yaml").read_text() == saved.read_text()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"robot": "ur5"}, "robot is 'ur5'"),
        ({"robot": 7}, "robot is 7"),
        ({"law": None}, "law is ~"),
        ({"links": ["panda_link6"]}, "links is [panda_link6]"),
        ({"links": "panda_link7"}, "links is 'panda_link7'"),
        ({"links": [7]}, "links is a list of numbers"),
        ({"pi_hat": [1.0] * 9}, "9 values; valid: 10"),
        ({"pi_hat": [float("nan")] * 10}, "a value is not finite"),
        ({"pi_hat": ["1.0"] * 10}, "no list of numbers"),
        ({"pi_hat": [True] * 10}, "no list of numbers"),
        ({"pi_hat": [1.0, [1.0]]}, "no list of numbers"),
        ({"pi_hat": "heavy"}, "no list of numbers"),
        ({"pi_hat": {"m": 1.0}}, "no list of numbers"),
        ({"mass": 1.0}, "unknown key 'mass'"),
    ],
)
def test_a_file_of_something_else_is_refused(
    program: Program, saved: Path, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    saved.write_text(yaml.safe_dump({**yaml.safe_load(saved.read_text()), **change}))
    refused = program.copy(saved, tmp_path / "b.yaml")
    assert refused is not None and reason in refused
    assert not (tmp_path / "b.yaml").exists()


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "just words", "? [a]\n: b\n"])
def test_what_is_no_mapping_is_refused(program: Program, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert program.copy(tmp_path / "a.yaml", tmp_path / "b.yaml") is not None


def test_a_file_that_cannot_be_read_or_written_is_named(program: Program, saved: Path, tmp_path: Path) -> None:
    refused = program.copy(tmp_path / "none.yaml", tmp_path / "b.yaml")
    assert refused is not None and "cannot be read" in refused and "none.yaml" in refused
    refused = program.copy(saved, tmp_path / "absent" / "b.yaml")
    assert refused is not None and "cannot be written: No such file or directory" in refused
