"""The ros2_control plugin, as far as it can be checked without ROS 2: its file of estimates, its names, its build.

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

import numpy as np
import pytest
import yaml
from host_programs import ADDRESS, compile_program

from thunder_controllers.host import Library
from thunder_controllers.ros.common import qos
from thunder_controllers.ros.common.declarations import plugin_parameters
from thunder_controllers.ros.common.names import CONTROLLER
from thunder_controllers.ros.controller.estimates_file import EstimatesOwner, load_estimates, save_estimates
from thunder_controllers.ros.controller.health import NOT_A_FAULT
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
        acts = parameter.read_only or "Takes effect when the controller is" in parameter.description
        assert acts or parameter.name.startswith("path."), parameter.name


def test_every_parameter_is_used() -> None:
    code = sources()
    declared = [parameter.name for parameter in plugin_parameters()]
    unused = [name for name in declared if not re.search(rf"(parameters|get_params\(\))\.{re.escape(name)}\b", code)]
    assert unused == []


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
        pattern = rf'<[\w:]*{message}>\(\s*(\*?node|node), "{name}"[^;]*?{quality}'
        assert re.search(pattern, code), f"{topic.name}: {message}, {topic.qos}"


@pytest.mark.parametrize(
    ("constant", "profile"), [("kStream", qos.STREAM), ("kRequest", qos.REQUEST), ("kMonitor", qos.MONITOR)]
)
def test_profiles_are_those_of_the_node(constant: str, profile: Any) -> None:
    line = re.search(rf"{constant} = (.*);", source("qos.hpp"))
    assert line is not None
    assert line.group(1) == f"rclcpp::QoS(rclcpp::KeepLast({profile.depth})).reliable().durability_volatile()"
    assert (profile.reliability.name, profile.durability.name) == ("RELIABLE", "VOLATILE")


def test_the_same_guards_count_as_normal_operation() -> None:
    found = re.search(r"kNoFault =(.*?);", source("diagnostics.cpp"), re.DOTALL)
    assert found is not None
    names = {re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() for name in re.findall(r"thunder::k(\w+)", found.group(1))}
    assert names == {guard.name for guard in NOT_A_FAULT}


def test_update_does_nothing_that_waits_or_allocates() -> None:
    """A reminder, not a proof: what update calls of its own is on this short list."""
    body = re.search(r"::update\(const rclcpp::Time.*?\n}", source("adaptive_controller.cpp"), re.DOTALL)
    assert body is not None
    calls = set(re.findall(r"(\w+)\(", body.group(0))) - {"update"}
    steps = {"core", "read_states", "write_commands", "nanoseconds", "seconds", "publish", "has_given_up"}
    assert calls == steps | {"is_active", "lock", "owns_lock"}
    assert body.group(0).count("lock(") == 2 and "lock(in_use_, std::try_to_lock)" in body.group(0)


# --- registration and build ------------------------------------------------------------------------------------------


def test_the_description_names_the_exported_class() -> None:
    library = ElementTree.fromstring(source("plugin.xml"))
    (entry,) = library.findall("class")
    exported = re.search(r"PLUGINLIB_EXPORT_CLASS\(([\w:]+), ([\w:]+)\)", source("adaptive_controller.cpp"))
    assert exported is not None
    assert (entry.get("type"), entry.get("base_class_type")) == exported.groups()
    assert entry.get("name") == "thunder_controllers/AdaptiveController"
    assert f"add_library({library.get('path')} SHARED" in source("adaptive_controller.cmake")


def test_package_xml_names_what_cmake_looks_for() -> None:
    package = ElementTree.parse(ROOT / "package.xml").getroot()
    named = {element.text for element in package if str(element.tag).endswith("depend")}
    listed = re.search(r"set\(adaptive_controller_packages(.*?)\)", source("CMakeLists.txt"), re.DOTALL)
    assert listed is not None
    spelling = {"Eigen3": "eigen"}
    assert {spelling.get(name, name) for name in listed.group(1).split()} <= named


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_without_ros_the_build_leaves_the_plugin_out_and_says_so(tmp_path: Path) -> None:
    hidden = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("controller_interface", "ament_cmake")]
    options = ["-DTHUNDER_ROBOTS=", *hidden, f"-DPython3_EXECUTABLE={sys.executable}"]
    command = ["cmake", "-S", str(ROOT), "-B", str(tmp_path / "build"), *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "No controller_interface: the ros2_control plugin AdaptiveController is left out" in result.stdout


# --- file of estimates -----------------------------------------------------------------------------------------------

VALUES = {"pi_hat": np.array([0.73, 1 / 3, -1e-17, 0.045, 1e-5, 0.2, 3.0, 0.4, 5e-324, 0.6])}


@pytest.fixture(scope="module")
def owner(panda_folder: Path) -> EstimatesOwner:
    law = Library(panda_folder / "libpanda.so").law("cartesian_backstepping")
    return EstimatesOwner("panda", law, ("panda_link7",))


class Program:
    """The plugin's reader and writer of estimates."""

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
    path = compile_program(
        "estimates_file",
        build_cache,
        *ADDRESS,
        f"-I{PLUGIN}",
        sources=[PLUGIN / "estimates_file.cpp"],
        libraries=["yaml-cpp"],
    )
    return Program(path, panda_folder / "libpanda.so")


def test_node_and_plugin_read_each_others_estimates_bit_for_bit(
    program: Program, owner: EstimatesOwner, tmp_path: Path
) -> None:
    save_estimates(tmp_path / "node.yaml", owner, VALUES)
    assert program.copy(tmp_path / "node.yaml", tmp_path / "plugin.yaml") is None
    assert np.array_equal(load_estimates(tmp_path / "plugin.yaml", owner)["pi_hat"], VALUES["pi_hat"])
    assert program.copy(tmp_path / "plugin.yaml", tmp_path / "again.yaml") is None
    assert (tmp_path / "again.yaml").read_text() == (tmp_path / "plugin.yaml").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.yaml", "node.yaml", "plugin.yaml"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"robot": "ur5"}, "robot is 'ur5'"),
        ({"law": "other"}, "law is 'other'"),
        ({"links": ["panda_link6"]}, "links are panda_link6"),
        ({"links": "panda_link7"}, "links are none"),
        ({"pi_hat": [1.0] * 9}, "no list of that size"),
        ({"pi_hat": [float("nan")] * 10}, "a value is no finite number"),
        ({"pi_hat": ["1.0"] * 10}, "a value is no finite number"),
        ({"pi_hat": [True] * 10}, "a value is no finite number"),
        ({"pi_hat": "heavy"}, "no list of that size"),
        ({"mass": 1.0}, "unknown key 'mass'"),
    ],
)
def test_a_file_of_something_else_is_refused(
    program: Program, owner: EstimatesOwner, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    file = tmp_path / "a.yaml"
    save_estimates(file, owner, VALUES)
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **change}))
    refused = program.copy(file, tmp_path / "b.yaml")
    assert refused is not None and reason in refused
    assert not (tmp_path / "b.yaml").exists()


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "just words", "? [a]\n: b\n"])
def test_what_is_no_mapping_is_refused(program: Program, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    assert program.copy(tmp_path / "a.yaml", tmp_path / "b.yaml") is not None


def test_a_file_that_cannot_be_read_or_written_is_named(
    program: Program, owner: EstimatesOwner, tmp_path: Path
) -> None:
    refused = program.copy(tmp_path / "none.yaml", tmp_path / "b.yaml")
    assert refused is not None and "cannot be read" in refused and "none.yaml" in refused
    save_estimates(tmp_path / "a.yaml", owner, VALUES)
    refused = program.copy(tmp_path / "a.yaml", tmp_path / "absent" / "b.yaml")
    assert refused is not None and "cannot be written: No such file or directory" in refused
