"""The ros2_control plugin, as far as it can be checked without ROS 2: its names, its build.

What needs ros2_control is in test_ros2_control_manager.py, and skipped where there is none.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

from thunder_controllers.host import estimate_topics, option_list
from thunder_controllers.ros.common import qos
from thunder_controllers.ros.common.declarations import plugin_parameters
from thunder_controllers.ros.common.names import CONTROLLER
from thunder_controllers.ros.interfaces import NODES

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "thunder_controllers" / "ros2_control" / "plugin"


def source(name: str) -> str:
    return (PLUGIN / name).read_text(encoding="utf-8")


def sources() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(PLUGIN.rglob("*.[ch]pp")))


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
    options = {option.name for option in option_list()}  # all are read in a loop
    declared = [parameter.name for parameter in plugin_parameters() if parameter.name not in options]
    for name, *parts in (name.split(".") for name in declared):
        assert re.search(rf"(parameters|get_params\(\))\.{name}\b", code), name
        assert all(re.search(rf"\w\.{part}\b", code) for part in parts), (name, parts)


def test_options_of_the_host_are_parameters_and_a_declaration_of_their_own_says_something_else() -> None:
    parameters = {parameter.name: parameter for parameter in plugin_parameters()}
    own = yaml.safe_load((PLUGIN / "parameters.yaml").read_text(encoding="utf-8"))["thunder_adaptive_controller"]
    for option in option_list():
        assert option.name not in own or parameters[option.name].default != option.default


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
        qualities = {
            "STREAM": "kStream",
            "REQUEST": "kRequest",
            "LATCHED": "kLatched",
            "SENSOR": "kSensor",
            "MONITOR": "",
        }
        quality = qualities[topic.qos]
        pattern = rf'<[\w:]*{message}>\(\s*(node, )?"{name}"[^;]*?{quality}'
        assert re.search(pattern, code), f"{topic.name}: {message}, {topic.qos}"


@pytest.mark.parametrize(
    ("constant", "profile"),
    [
        ("kStream", qos.STREAM),
        ("kRequest", qos.REQUEST),
        ("kMonitor", qos.MONITOR),
        ("kLatched", qos.LATCHED),
        ("kSensor", qos.SENSOR),
    ],
)
def test_profiles_are_those_of_the_node(constant: str, profile: Any) -> None:
    line = re.search(rf"{constant} = (.*);", sources())
    assert line is not None
    durability = {"VOLATILE": "durability_volatile", "TRANSIENT_LOCAL": "transient_local"}[profile.durability.name]
    reliability = profile.reliability.name.lower()
    assert line.group(1) == f"rclcpp::QoS(rclcpp::KeepLast({profile.depth})).{reliability}().{durability}()"


def test_update_does_nothing_that_waits_or_allocates() -> None:
    """A reminder, not a proof: what update calls of its own is on this short list."""
    body = re.search(
        r"::update_and_write_commands\(const rclcpp::Time.*?\n}", source("adaptive_controller.cpp"), re.DOTALL
    )
    assert body is not None
    calls = set(re.findall(r"(\w+)\(", body.group(0))) - {"update_and_write_commands"}
    steps = {"session", "is_active", "read_states", "data", "nanoseconds", "seconds", "write_commands", "has_given_up"}
    steps |= {"update", "is_in_chained_mode", "read", "try_stream", "show", "last"}
    assert calls == steps | {"lock", "owns_lock", "empty"}
    assert body.group(0).count("lock(") == 2 and "lock(in_use_, std::try_to_lock)" in body.group(0)


# --- registration and build ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "file", "build"),
    [
        ("AdaptiveController", "plugin/adaptive_controller.cpp", "plugin/plugin.cmake"),
        ("MujocoSystem", "mujoco_hardware/mujoco_system.cpp", "mujoco_hardware/CMakeLists.txt"),
    ],
)
def test_the_description_names_the_exported_class(name: str, file: str, build: str) -> None:
    folder = Path("..") / Path(file).parent
    library = ElementTree.fromstring(source(str(folder / "plugin.xml")))
    (entry,) = library.findall("class")
    exported = re.search(r"PLUGINLIB_EXPORT_CLASS\(([\w:]+), ([\w:]+)\)", source(f"../{file}"))
    assert exported is not None
    assert (entry.get("type"), entry.get("base_class_type")) == exported.groups()
    assert entry.get("name") == f"thunder_controllers/{name}"
    assert f"add_library({library.get('path')} SHARED" in source(f"../{build}")


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
