"""The ros2_control plugin, as far as it can be checked without ROS 2: its file of estimates, its names, its build.

What needs ros2_control is in test_ros2_control_manager.py, and skipped where there is none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from german import german_environment
from host_programs import ADDRESS, compile_program

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Library,
    Options,
    estimate_topics,
    read_estimates,
    save_estimates,
)
from thunder_controllers.ros.common import qos
from thunder_controllers.ros.common.declarations import plugin_parameters
from thunder_controllers.ros.common.names import CONTROLLER
from thunder_controllers.ros.controller.configuration import LIMITS, OPTIONS
from thunder_controllers.ros.interfaces import NODES

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "thunder_controllers" / "ros2_control" / "plugin"


def source(name: str) -> str:
    return (PLUGIN / name).read_text(encoding="utf-8")


def sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(PLUGIN.glob("*.[ch]pp")))


# --- parameters ------------------------------------------------------------------------------------------------------


def test_every_parameter_of_the_plugin_is_one_of_the_node_and_says_when_it_acts() -> None:
    names = {parameter.name for parameter in NODES[CONTROLLER].parameters}
    for parameter in plugin_parameters():
        assert parameter.name in names
        says = ("Takes effect when the controller is", "Used by ~/start")
        acts = parameter.read_only or any(text in parameter.description for text in says)
        assert acts or parameter.name.startswith("path."), parameter.name


def test_every_parameter_is_used() -> None:
    code = sources()
    declared = [parameter.name for parameter in plugin_parameters()]
    unused = [name for name in declared if not re.search(rf"(parameters|get_params\(\))\.{re.escape(name)}\b", code)]
    assert unused == []


def test_options_of_the_host_are_the_same_parameters_as_of_the_node() -> None:
    pairs = re.findall(r"options\.(\w+) = parameters\.(\w+);", source("parameters.cpp"))
    assert {option for option, _ in pairs} == {*OPTIONS, *LIMITS} and all(option == name for option, name in pairs)


# --- names, quality of service ---------------------------------------------------------------------------------------


def topics_in_words() -> str:
    """The sources with the name that the host gives to the topic of a link."""
    loop, call = "thunder::estimate_topics(configuration.links)", '"~/" + topic'
    assert sources().count(loop) == sources().count(call) == 1 and estimate_topics(["a-b"]) == ("estimates/a_b",)
    return sources().replace(call, '"~/estimates/"')


def test_topics_and_services_are_those_of_the_node() -> None:
    node = NODES[CONTROLLER]
    names = set(re.findall(r'"(~/[a-z_/]+)"', topics_in_words())) | {"/diagnostics"}
    expected = {topic.name for topic in node.topics} | {service.name for service in node.services}
    only_of_the_node = {"{library_topic}"}
    assert {name.replace("~/estimates/", "~/estimates/<link>") for name in names} == expected - only_of_the_node


def test_topics_have_the_type_and_quality_of_service_of_the_node() -> None:
    code = re.sub(r"\s+", " ", topics_in_words())
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
    packages = ("controller_interface", "hardware_interface", "ament_cmake")
    hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in packages]
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

    def copy(self, source: Path, target: Path, environment: Mapping[str, str] | None = None) -> str | None:
        """Load and save; the reason if that is refused."""
        command = [*self._command, str(source), str(target)]
        chosen = {**os.environ, "LC_ALL": "C"} if environment is None else environment
        result = subprocess.run(command, env=chosen, capture_output=True, text=True, check=False, timeout=60)
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


def test_estimates_are_read_saved_and_refused_alike_in_every_language(
    program: Program, saved: Path, tmp_path: Path
) -> None:
    german = german_environment(tmp_path)
    assert program.copy(saved, tmp_path / "plugin.yaml", german) is None
    assert (tmp_path / "plugin.yaml").read_text() == saved.read_text()
    saved.write_text(re.sub(r"0\.73", "-1234.5", saved.read_text()))
    refused = program.copy(saved, tmp_path / "plugin.yaml", german)
    assert refused is not None and "element 0 is -1234.5; valid" in refused


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
    os.mkfifo(tmp_path / "pipe.yaml")
    for special in (tmp_path / "pipe.yaml", Path("/dev/zero"), tmp_path):
        refused = program.copy(special, tmp_path / "b.yaml")
        assert refused is not None and "there is no regular file" in refused
    refused = program.copy(saved, tmp_path / "absent" / "b.yaml")
    assert refused is not None and "cannot be written: No such file or directory" in refused
