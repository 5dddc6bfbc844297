"""The nodes that bring a controller up over ros2_control, as real processes over DDS.

controller_manager is not on PyPI: its `spawner` is a script here that writes down how it was called, what the files
say that it was given, and ends as it is told. What the real one makes of it is tested in test_launch.py.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from controller_robot import NODE, PARAMETERS, TestRobot, build_panda
from nodes import NodeProcess, Probe
from std_msgs.msg import String

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.library_message import LibraryMessage, format_library_message
from thunder_controllers.ros.common.qos import LATCHED

Start = Callable[..., NodeProcess]

SPAWNER = """#!{python}
import json, pathlib, sys, time
words = sys.argv[1:]
files = [words[k + 1] for k, word in enumerate(words) if word == "--param-file"]
record = {{"words": words, "files": {{file: pathlib.Path(file).read_text() for file in files}}}}
target = pathlib.Path({record!r})
target.with_suffix(".new").write_text(json.dumps(record))
target.with_suffix(".new").rename(target)
time.sleep({pause})
sys.exit({status})
"""

LIBRARY = LibraryMessage("panda", "/cache/panda", "/cache/panda/libpanda.so", "panda.yaml", "3f", "0.1.0", (), {})


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a spawner into an ament prefix; returns where it writes down its call."""

    def put(status: int = 0, pause: float = 0.0) -> Path:
        prefix = tmp_path / "prefix"
        record = tmp_path / "record.json"
        program = prefix / "lib/controller_manager/spawner"
        program.parent.mkdir(parents=True)
        program.write_text(SPAWNER.format(python=sys.executable, record=str(record), status=status, pause=pause))
        program.chmod(0o755)
        packages = prefix / "share/ament_index/resource_index/packages"
        packages.mkdir(parents=True)
        (packages / "controller_manager").touch()
        monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
        return record

    return put


@pytest.fixture
def start(domain: int, tmp_path: Path) -> Any:
    """Start nodes that end by themselves."""
    started: list[NodeProcess] = []

    def begin(executable: str, parameters: dict[str, Any], **options: Any) -> NodeProcess:
        started.append(NodeProcess(executable, parameters, tmp_path, **options))
        return started[-1]

    yield begin
    for node in started:
        node.kill()


@pytest.fixture
def announce(probe: Probe) -> Any:
    """Say on the latched topic, in a namespace, where a library is."""
    with ExitStack() as stack:

        def say(text: str, namespace: str = "") -> None:
            topic = f"{namespace}/{names.GENERATOR}/library"
            stack.enter_context(probe.advertising(String, topic, LATCHED)).publish(String(data=text))

        yield say


def test_the_plugin_gets_library_values_and_files_and_the_program_ends_well(
    start: Start, install: Any, announce: Any, tmp_path: Path
) -> None:
    record = install()
    gains = tmp_path / "gains.yaml"
    gains.write_text("/**/adaptive_controller: {ros__parameters: {gains.gamma: 0.5}}")
    values = "{type: thunder_controllers/AdaptiveController, law: slotine_li, joints: [a, b]}"
    node = start("bringup_plugin", {"values": values, "files": [str(gains)]}, namespace="/arm")
    announce(format_library_message(LIBRARY), "/arm")
    assert node.wait() == 0, node.output
    call = json.loads(record.read_text())
    words = call["words"]
    assert words[0] == "adaptive_controller"
    assert words[words.index("--controller-manager") + 1] == "controller_manager"
    assert "--inactive" not in words
    assert "__ns:=/arm" in words
    files = list(call["files"])
    assert files[0] == str(gains), "what the arguments say is stronger than any file"
    given = yaml.safe_load(call["files"][files[-1]])["/**/adaptive_controller"]["ros__parameters"]
    assert given == {**yaml.safe_load(values), "library": LIBRARY.library}
    assert not Path(files[-1]).exists(), "it is the program's own"
    assert "the controller is active" in node.output


def test_without_autostart_the_controller_is_configured_only(start: Start, install: Any, announce: Any) -> None:
    record = install()
    node = start("bringup_plugin", {"activate": False})
    announce(format_library_message(LIBRARY))
    assert node.wait() == 0, node.output
    assert "--inactive" in json.loads(record.read_text())["words"]


def test_a_library_may_be_given_in_the_files_instead(start: Start, install: Any) -> None:
    record = install()
    node = start("bringup_plugin", {"wait_for_library": False, "values": "{robot: panda}"})
    assert node.wait() == 0, node.output
    (text,) = json.loads(record.read_text())["files"].values()
    assert yaml.safe_load(text)["/**/adaptive_controller"]["ros__parameters"] == {"robot": "panda"}


def test_nothing_is_spawned_before_there_is_a_library(start: Start, install: Any) -> None:
    record = install()
    node = start("bringup_plugin", {"timeout": 1.0})
    assert node.wait() == 1
    assert "still waiting for a library after 1 s" in node.output
    assert not record.exists()


def test_the_failure_of_the_spawner_is_that_of_the_program(start: Start, install: Any) -> None:
    install(status=1)
    node = start("bringup_plugin", {"wait_for_library": False})
    assert node.wait() == 1
    assert "the spawner ended with status 1" in node.output


def test_a_missing_controller_manager_is_named(start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    node = start("bringup_plugin", {"wait_for_library": False})
    assert node.wait() == 1
    assert "ros-jazzy-controller-manager" in node.output


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"values": "[1, 2]"}, "values: '[1, 2]' is no mapping"),
        ({"values": "{a: "}, "values: no YAML"),
        ({"load": [1.0, 0.0]}, "load: [1.0, 0.0] is no load"),
        ({"load": [0.0, 0.0, 0.0, 0.1]}, "is no load; valid: mass above zero"),
    ],
)
def test_a_wrong_parameter_is_refused_at_once(parameters: dict[str, Any], message: str, start: Start) -> None:
    node = start("bringup_plugin", parameters)
    assert node.wait() == 1
    assert message in node.output


def test_what_is_announced_must_be_a_library(start: Start, install: Any, announce: Any) -> None:
    install()
    node = start("bringup_plugin", {})
    announce("{robot: panda}")
    assert node.wait() == 1
    assert "library message" in node.output


@pytest.mark.parametrize("end", [NodeProcess.stop, NodeProcess.kill])
def test_the_spawner_ends_with_the_program(
    end: Callable[[NodeProcess], None], start: Start, install: Any, probe: Probe
) -> None:
    record = install(pause=600.0)
    node = start("bringup_plugin", {"wait_for_library": False})
    probe.wait_until(record.exists, "spawner")
    end(node)
    probe.wait_until(lambda: not spawners(record.parent), "end of the spawner")


def spawners(folder: Path) -> list[int]:
    """Processes that run the spawner in a folder."""
    program = str(folder / "prefix/lib/controller_manager/spawner").encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                found += [int(entry.name)] if program in (entry / "cmdline").read_bytes() else []
            except OSError:
                continue
    return found


def test_a_load_needs_the_robots_messages_or_its_service(start: Start, install: Any) -> None:
    record = install()
    node = start("bringup_plugin", {"wait_for_library": False, "load": [0.5, 0.0, 0.0, 0.1], "timeout": 2.0})
    assert node.wait() == 1
    assert "franka_msgs" in node.output or "still waiting for the service service_server/set_load" in node.output
    assert not record.exists(), "a controller that moves would keep the robot from taking its load"


def test_a_robot_that_accepts_its_load_gets_its_controller(start: Start, install: Any, probe: Probe) -> None:
    messages = pytest.importorskip("franka_msgs.srv", reason="franka_msgs is not installed: it comes with franka_ros2")
    asked: list[Any] = []

    def answer(request: Any, response: Any) -> Any:
        asked.append(request)
        response.success = True
        return response

    service = probe.node.create_service(messages.SetLoad, "/service_server/set_load", answer)
    try:
        record = install()
        node = start("bringup_plugin", {"wait_for_library": False, "load": [0.5, 0.0, 0.01, 0.1]})
        assert node.wait() == 0, node.output
        assert record.exists()
        (request,) = asked
        assert request.mass == 0.5
        assert list(request.center_of_mass) == [0.0, 0.01, 0.1]
        assert list(request.load_inertia) == [0.0] * 9
    finally:
        probe.node.destroy_service(service)


def test_the_forward_controller_is_spawned_between_configuring_and_activating_the_node(
    start: Start, install: Any, probe: Probe
) -> None:
    record = install(pause=1.0)
    library = build_panda()
    controller = start("controller", {"library": str(library.path), **PARAMETERS}, name="adaptive_controller")
    probe.wait_for_process(controller)
    robot = TestRobot(probe, library)
    given = {"spawn": ["effort_controller"], "spawn_files": [], "spawn_words": ["--controller-ros-args=-p a:=b"]}
    node = start("bringup", {"wait_for_library": False, **given})
    probe.wait_until(record.exists, "spawner")
    assert probe.state(NODE) == "inactive", "a robot takes settings before it moves"
    words = json.loads(record.read_text())["words"]
    assert words[0] == "effort_controller"
    assert "--controller-ros-args=-p a:=b" in words

    def has_become_active() -> bool:
        robot.send()
        return probe.state(NODE) == "active"

    probe.wait_until(has_become_active, "active controller")
    assert node.wait() == 0, node.output
    controller.stop()
