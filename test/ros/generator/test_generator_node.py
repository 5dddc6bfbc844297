"""The generator: builds, reuses, announces and refuses; `--once` says by its exit status how it went."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nodes import STOP_TIMEOUT, NodeProcess, Probe
from std_msgs.msg import String
from std_srvs.srv import Trigger

from thunder_controllers.host import Library
from thunder_controllers.ros.common.library_message import load_announced, parse_library_message
from thunder_controllers.ros.common.qos import LATCHED, MONITOR
from thunder_controllers.ros.generator.node import build_once

ROOT = Path(__file__).parents[3]
PLANAR = "package://thunder_controllers/config/robots/planar3r.yaml"
NODE = "/thunder_generator"
LIBRARY = f"{NODE}/library"
BUILD_LIMIT = 180.0
"""Compiling takes seconds on an idle machine; this is for a loaded one [s]."""

StartNode = Callable[..., NodeProcess]

URDF = """<robot name="{name}"><link name="base"/><link name="arm"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="10"/></joint></robot>"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that all tests of this module share, and that no other run has filled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "generator_cache"))


def once(*parameters: str) -> int:
    """Exit status of `generator --once`, in this process: it starts the compiler in another one."""
    words = [word for parameter in parameters for word in ("-p", parameter)]
    return build_once(["generator", "--ros-args", *words])


def test_a_library_is_announced_to_whoever_comes_later(start_node: StartNode, probe: Probe) -> None:
    node = start_node("generator", {"robot": PLANAR, "laws": ["gravity_compensation"]})
    text = probe.listen(String, LIBRARY, LATCHED).wait(timeout=BUILD_LIMIT).data
    assert "/" not in text, "no path goes over the network"
    message = parse_library_message(text)
    late = parse_library_message(probe.listen(String, LIBRARY, LATCHED).wait().data)
    assert late == message
    library = load_announced(text, [])
    assert (message.robot, message.hash, message.laws) == (library.robot, library.hash, ("gravity_compensation",))
    response = probe.call(Trigger, f"{NODE}/build", timeout=BUILD_LIMIT)
    assert (response.success, response.message) == (True, library.path)
    node.wait_for_output("reused, nothing has changed")


def test_a_xacro_file_has_its_arguments_and_packages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part/hinge.xacro").write_text(
        URDF.format(name="part").replace('mass value="1"', 'mass value="$(arg m)"')
    )
    arm = '<robot name="hinged" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="m" default="1"/>{}</robot>'
    (tmp_path / "arm.xacro").write_text(arm.format('<xacro:include filename="$(find part)/hinge.xacro"/>'))
    given = [f"robot:={tmp_path / 'arm.xacro'}", "laws:=['gravity_compensation']", f"output:={tmp_path}"]
    assert once(*given, f"packages:=['part:={tmp_path / 'part'}']", "xacro_args:=['m:=2.5']") == 0
    library = Library(tmp_path / "hinged_generatedFiles/libhinged.so")
    assert library.pi[0] == 2.5
    assert once(*given) == 1 and "no package 'part'" in capsys.readouterr().err


def test_a_failed_build_leaves_the_node_alive_and_what_a_file_says_now_is_built(
    start_node: StartNode, probe: Probe, tmp_path: Path
) -> None:
    robot = tmp_path / "arm.yaml"
    robot.write_text("nothing")
    start_node("generator", {"robot": str(robot), "laws": ["gravity_compensation"]})
    library = probe.listen(String, LIBRARY, LATCHED)
    response = probe.call(Trigger, f"{NODE}/build", timeout=BUILD_LIMIT)
    assert not response.success
    assert str(robot) in response.message
    robot.write_text((ROOT / "config/robots/planar3r.yaml").read_text())
    assert probe.call(Trigger, f"{NODE}/build", timeout=BUILD_LIMIT).success
    assert parse_library_message(library.wait().data).robot == "arm"


def test_a_robot_description_is_built_when_no_file_is_named(start_node: StartNode, probe: Probe) -> None:
    start_node("generator", {"laws": ["gravity_compensation"]})
    library = probe.listen(String, LIBRARY, LATCHED)
    with probe.advertising(String, "/robot_description", LATCHED) as description:
        description.publish(String(data=URDF.format(name="hinged")))
        first = load_announced(library.wait(timeout=BUILD_LIMIT).data, [])
        assert (first.robot, first.joint_names) == ("hinged", ("hinge",))
        library.clear()
        description.publish(String(data=URDF.format(name="other")))
        assert parse_library_message(library.wait(timeout=BUILD_LIMIT).data).robot == "other"


def test_a_description_that_is_no_urdf_is_reported_and_the_next_one_built(start_node: StartNode, probe: Probe) -> None:
    node = start_node("generator", {"laws": ["gravity_compensation"]})
    library = probe.listen(String, LIBRARY, LATCHED)
    status = probe.listen(DiagnosticArray, "/diagnostics", MONITOR)
    with probe.advertising(String, "/robot_description", LATCHED) as description:
        description.publish(String(data="no xml at all"))
        node.wait_for_output("[ERROR]")
        status.wait(lambda m: m.status[0].name == NODE[1:] and m.status[0].level == DiagnosticStatus.ERROR)
        description.publish(String(data=URDF.format(name="hinged")))
        library.wait(timeout=BUILD_LIMIT)
        status.wait(lambda m: m.status[0].name == NODE[1:] and m.status[0].level == DiagnosticStatus.OK)


def test_ctrl_c_ends_a_build_and_its_compilers(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node("generator", {"robot": str(ROOT / "config/robots/panda.yaml"), "output": str(tmp_path)})
    node.wait_for_output("building")
    node.stop()
    assert f"{tmp_path}/libpanda" not in node.output, "the build had ended before it could be stopped"
    assert "ERROR" not in node.output


def test_signals_that_go_on_do_not_break_into_its_end(start_node: StartNode) -> None:
    """A terminal's Ctrl-C reaches a node twice, by itself and from `ros2 launch`: the second found Python ending."""
    node = start_node("generator", {"robot": PLANAR, "laws": ["gravity_compensation"]})
    node.wait_for_output("libplanar3r.so", BUILD_LIMIT)
    begin = Probe.now()
    while node.is_running:
        node.process.send_signal(signal.SIGINT)
        time.sleep(0.002)
        assert Probe.now() < begin + STOP_TIMEOUT, "it does not end"
    node.stopped = True
    assert node.wait() == 0
    node.assert_nothing_left()
    assert "Exception" not in node.output


def test_once_writes_the_library_and_says_success(tmp_path: Path) -> None:
    assert once(f"robot:={PLANAR}", f"output:={tmp_path}", "laws:=[slotine_li]", "name:=arm") == 0
    assert Library(tmp_path / "arm_generatedFiles/libarm.so").laws == ("slotine_li",)


def test_drives_are_in_the_library(tmp_path: Path) -> None:
    drives = tmp_path / "drives.yaml"
    drives.write_text("/**/drives: {ros__parameters: {joint2: {rotor: 0.3}}}")
    given = [f"robot:={PLANAR}", f"output:={tmp_path}", "laws:=[gravity_compensation]"]
    assert once(*given, f"drives:={drives}") == 0
    assert Library(tmp_path / "planar3r_generatedFiles/libplanar3r.so").rotor_inertia[1] == 0.3


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("drives:=/no/such.yaml", "/no/such.yaml: no such file"),
        ("robot:=/no/such.yaml", "/no/such.yaml: no such file"),
        ("robot:=package://thunder_controllers/none.yaml", "no such file"),
        ("robot:=package://no_such_package/a.yaml", "package"),
        ("laws:=[no_such_law]", "no law 'no_such_law'"),
        ("laws:=['slotine_li:x']", "'x' is no option; valid: NAME=VALUE"),
        ("adapted_links:=[no_such_link]", "no_such_link"),
        ("name:='1; rm'", "1; rm"),
        ("robot:=3", "parameter robot"),
        ("robot:=''", "no robot"),
    ],
)
def test_once_says_failure_and_the_reason(
    parameter: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = () if parameter.startswith("robot") else (f"robot:={PLANAR}",)
    laws = () if parameter.startswith("laws") else ("laws:=[slotine_li]",)
    assert once(*first, *laws, f"output:={tmp_path}", parameter) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("*_generatedFiles"))


def test_a_malformed_command_line_has_a_status_of_its_own() -> None:
    command = [sys.executable, "-m", "thunder_controllers.ros.generator.node", "--ros-args", "-p", "robot"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=os.environ)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
