"""What the launch files and `thunder ros` start: arguments, parameter files, the supervision of processes."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from thunder_controllers.ros.bringup.bringups import BRINGUPS, PANDA_ADAPTIVE
from thunder_controllers.ros.bringup.node_set import LaunchArgumentError, NodeDescription, parse_arguments
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.declarations import Kind, Parameter
from thunder_controllers.ros.common.parameters import reason_against
from thunder_controllers.ros.tools.launcher import ros
from thunder_controllers.ros.tools.processes import TOTAL_LIMIT, ProcessDescription, ProcessError, ProcessGroup

ROOT = Path(__file__).parents[3]
CONFIG = sorted((ROOT / "config/ros").glob("*.yaml"))
PYTHON = sys.executable
ESTIMATE = "gains."


def by_name(given: dict[str, str]) -> dict[str, NodeDescription]:
    return {node.name: node for node in PANDA_ADAPTIVE.node_set(given).nodes}


# --- arguments --------------------------------------------------------------------------------------------------------


def test_the_default_is_the_whole_graph_in_simulation() -> None:
    nodes = by_name({})
    assert set(nodes) == {names.GENERATOR, names.CONTROLLER, names.SIMULATION, names.REFERENCE, names.BRINGUP}
    assert nodes[names.CONTROLLER].parameters["gravity_compensated_by_robot"] is False
    assert nodes[names.SIMULATION].parameters["gravity_compensation"] is False
    assert not nodes[names.BRINGUP].required, "it ends once the controller is active"


def test_arguments_reach_the_nodes_that_they_are_about(tmp_path: Path) -> None:
    gains = tmp_path / "gains.yaml"
    gains.write_text("/**/adaptive_controller: {ros__parameters: {gains.gamma: 0.5}}")
    nodes = by_name(
        {
            "law": "cartesian_backstepping:friction=adapted",
            "adapted_links": "panda_link6+panda_link7",
            "payload": "1.5",
            "gains": str(gains),
            "reference": "none",
            "model": "true",
            "autostart": "false",
        }
    )
    assert set(nodes) == {names.GENERATOR, names.CONTROLLER, names.SIMULATION, names.MODEL}
    assert nodes[names.GENERATOR].parameters["laws"] == ["cartesian_backstepping:friction=adapted"]
    assert nodes[names.GENERATOR].parameters["adapted_links"] == ["panda_link6", "panda_link7"]
    assert nodes[names.CONTROLLER].parameters["law"] == "cartesian_backstepping"
    assert nodes[names.CONTROLLER].files[-1] == gains, "the last file is the strongest"
    assert nodes[names.SIMULATION].parameters["payload.mass"] == 1.5
    assert nodes[names.SIMULATION].parameters["payload.attached"] is True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing:=1"], "no argument 'nothing'.*valid: backend"),
        (["backend:=moon"], "backend:=moon.*valid: mujoco, ros2_control, gazebo, franka"),
        (["payload:=heavy"], r"payload:=heavy.*zero or more \[kg\]"),
        (["payload:=-1"], r"payload:=-1.*zero or more"),
        (["payload"], "'payload' is no argument.*NAME:=VALUE"),
        (["payload:=1", "payload:=2"], "given twice"),
        (["gains:=/no/such.yaml"], "no such file"),
        (["estimates_file:=/no/such.yaml"], "no such file"),
    ],
)
def test_a_bad_argument_is_refused_with_what_would_be_valid(words: list[str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        PANDA_ADAPTIVE.node_set(parse_arguments(words))


def test_any_robot_needs_a_description() -> None:
    with pytest.raises(LaunchArgumentError, match="robot:=FILE"):
        BRINGUPS["robot_adaptive"].node_set({})


@pytest.mark.parametrize("name", sorted(BRINGUPS))
def test_every_bringup_has_a_launch_file_and_every_launch_file_a_bringup(name: str) -> None:
    assert f'describe("{name}")' in (ROOT / f"launch/{name}.launch.py").read_text()
    assert {path.name.partition(".")[0] for path in (ROOT / "launch").glob("*.launch.py")} == set(BRINGUPS)


def test_the_command_lists_the_arguments_of_a_bringup() -> None:
    result = CliRunner().invoke(ros, ["panda_adaptive", "--show-args"])
    assert result.exit_code == 0
    assert {a.name for a in PANDA_ADAPTIVE.arguments} <= set(re.findall(r"^  (\w+):=", result.output, re.MULTILINE))


# --- files in config/ -------------------------------------------------------------------------------------------------


def declared(node: str) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in names.NODES[node].parameters}


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
    units = {(n, p.name): p.unit for n in names.NODES for p in names.NODES[n].parameters}
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
    published = {topic.name for topic in names.NODES[names.CONTROLLER].topics}
    assert {"~/pose_error", "~/estimates/<link>"} <= published
    assert all(re.match(rf"/{names.CONTROLLER}/(pose_error/|estimates/panda_link7/)", topic) for topic in topics)
    assert topics


# --- supervision ------------------------------------------------------------------------------------------------------


def python(code: str, **options: Any) -> ProcessDescription:
    return ProcessDescription(options.pop("name", "child"), (PYTHON, "-c", code), **options)


SLEEPER = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "open(sys.argv[1], 'w').close(); time.sleep(600)"
)


def run_group(descriptions: list[ProcessDescription], **options: Any) -> tuple[int, list[str]]:
    lines: list[str] = []
    status = ProcessGroup(descriptions, os.environ, lines.append).run(**options)
    return status, lines


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_end_of_a_required_process_ends_the_others(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    sleeper = python(f"import os; open({str(note)!r}, 'w').write(str(os.getpid())); {SLEEPER}")
    # it ends only when the other one has told its id
    waiter = python(
        f"import os, sys, time\nwhile not (os.path.exists({str(note)!r}) and open({str(note)!r}).read()):"
        " time.sleep(0.01)\nsys.exit(3)",
        name="waiter",
    )
    status, lines = run_group([sleeper, waiter])
    assert status == 1
    assert lines == ["waiter ended with status 3: ending the others"]
    assert not is_alive(int(note.read_text()))


def test_an_optional_process_may_end_well_but_not_badly() -> None:
    assert run_group([python(SLEEPER), python("", required=False)], duration=1.0)[0] == 0
    assert run_group([python(SLEEPER), python("raise SystemExit(1)", required=False)])[0] == 1


def test_a_process_that_does_not_end_is_killed_in_time(tmp_path: Path) -> None:
    note = tmp_path / "ready"
    group = ProcessGroup(
        [ProcessDescription("deaf", (PYTHON, "-c", STUBBORN, str(note)))], os.environ, lambda line: None
    )

    def wake() -> None:
        while not note.exists():
            time.sleep(0.01)
        wake.start = time.monotonic()  # type: ignore[attr-defined]
        group.wake()

    thread = threading.Thread(target=wake)
    thread.start()
    assert group.run() == 0
    thread.join()
    assert time.monotonic() - wake.start < TOTAL_LIMIT + 1.0  # type: ignore[attr-defined]


def test_some_processes_end_before_the_others(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import signal, sys, time\n"
        "def end(*_): time.sleep({pause}); open({log!r}, 'a').write({name!r}); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end); open({log!r}, 'a').write('+'); time.sleep(600)"
    )

    def child(name: str, pause: float, first: bool) -> ProcessDescription:
        return python(code.format(pause=pause, log=str(log), name=name), name=name, ends_first=first)

    group = ProcessGroup([child("robot", 0.0, False), child("controller", 0.3, True)], os.environ, lambda line: None)

    def wake() -> None:
        while not log.exists() or len(log.read_text()) < 2:
            time.sleep(0.01)
        group.wake()

    thread = threading.Thread(target=wake)
    thread.start()
    group.run()
    thread.join()
    assert log.read_text() == "++controllerrobot"


def test_children_end_with_a_launcher_that_was_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = f"import os; open({str(note)!r}, 'w').write(str(os.getpid())); {SLEEPER}"
    code = (
        "import os\nfrom thunder_controllers.ros.tools.processes import *\n"
        f"ProcessGroup([ProcessDescription('child', ({PYTHON!r}, '-c', {child!r}))], os.environ, print).run()"
    )
    launcher = os.posix_spawn(PYTHON, [PYTHON, "-c", code], os.environ)
    deadline = time.monotonic() + 20.0
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    pid = int(note.read_text())
    os.kill(launcher, signal.SIGKILL)
    os.waitpid(launcher, 0)
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(pid)


def test_a_program_that_cannot_be_started_is_named_and_the_others_end() -> None:
    with pytest.raises(ProcessError, match="/no/such/program: cannot be started"):
        run_group([python(SLEEPER), ProcessDescription("none", ("/no/such/program",))])
