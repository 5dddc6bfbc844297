"""`thunder doctor`: its table, its JSON and its exit status, of files and of this machine."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from command_line import Ended, thunder
from pendulum2 import compile_pendulum2

from thunder_controllers.doctor.command import CHECKS
from thunder_controllers.resources import share
from thunder_controllers.ros.tools.graph import Graph

FRANKA = share("config/ros2_control/panda_franka.yaml")
SIMULATED = ("--seconds", 0, "--backend", "mujoco")
"""What real time is like on this machine only warns there, and is not measured."""


def found(*words: object) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit status, and each check of the JSON, after what standard error says of waiting for another's compiler."""
    ended = thunder("doctor", *SIMULATED, "--json", *words)
    document = ended.output[ended.output.index("{") :]
    return ended.exit_code, {one["name"]: one for one in json.loads(document)["checks"]}


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_pendulum2(tmp_path_factory.mktemp("pendulum2"))


def test_without_anything_the_machine_is_looked_at() -> None:
    status, checks = found()
    assert status == 0 and list(checks) == [check.name for check in CHECKS]
    assert {one["state"] for one in checks.values()} <= {"ok", "warn", "not applicable"}
    assert checks["jitter"]["seen"] == "not measured (--seconds 0)"


def test_the_table_says_how_to_mend_what_fails(pendulum: Path, tmp_path: Path) -> None:
    ended = thunder("doctor", *SIMULATED, "--library", pendulum, "--parameters", FRANKA)
    assert ended.exit_code == 1
    assert re.search(
        r"^ gravity +gravity_compensated_by_robot of the controller +fail +true", ended.output, re.MULTILINE
    )
    assert "\ngravity: valid: what the backend does" in ended.output and "; mend: set gravity_comp" in ended.output
    assert re.search(r"^ parameters .* fail +no ", ended.output, re.MULTILINE)  # they are for a law of the Panda
    assert re.search(r"^Not ready: \d+ ok, \d+ warn, 2 fail, \d+ not applicable$", ended.output, re.MULTILINE)


def test_files_of_the_arm_are_compared() -> None:
    words = ("panda", "--description", share("urdf/panda.urdf.xacro"), "--load", "0.5+0+0+0.1", "--parameters", FRANKA)
    status, checks = found(*words, "--backend", "franka")
    assert {name: checks[name]["state"] for name in ("processor", "joint_names", "limits", "gravity")} == {
        "processor": "ok",
        "joint_names": "ok",
        "limits": "ok",
        "gravity": "ok",
    }
    assert status == 1 and checks["load"]["state"] == "fail" and checks["load"]["seen"].startswith("told 0.5 kg")


@pytest.mark.slow
def test_arguments_of_xacro_are_those_of_the_robot_that_takes_them() -> None:
    arm, urdf, argument = share("urdf/panda.urdf.xacro"), share("urdf/panda.urdf.xacro"), ("--xacro-arg", "prefix=a_")
    _, checks = found("panda", "--description", urdf, *argument)
    assert checks["joint_names"]["seen"].startswith("panda_joint1 where the arm has a_joint1")
    _, checks = found(arm, "--description", urdf, *argument)
    assert checks["joint_names"]["seen"].startswith("a_joint1 where the arm has panda_joint1")


def test_an_arm_that_answers_has_a_latency() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    _, checks = found("--address", f"127.0.0.1:{port}")
    assert re.fullmatch(r"\d+\.\d{3} ms of 100, median \d+\.\d{3} ms", checks["latency"]["seen"])


def test_without_ros_its_checks_do_not_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thunder_controllers.doctor.command.is_installed", lambda: False)
    _, checks = found("--ros")
    assert checks["rmw"]["state"] == "not applicable" and checks["rmw"]["seen"] == "no ROS: rclpy is not installed"


def test_nothing_loads_the_machine_beside_a_controller(monkeypatch: pytest.MonkeyPatch, pendulum: Path) -> None:
    graph = Graph("rmw_x", is_there=True, parameters={"gravity_compensated_by_robot": True}, rates=[1000.0])
    monkeypatch.setattr("thunder_controllers.doctor.command.is_installed", lambda: True)
    monkeypatch.setattr("thunder_controllers.doctor.command.listen", lambda *_: graph)
    monkeypatch.setattr("thunder_controllers.doctor.command.busy_cores", lambda *_: pytest.fail("loaded"))
    _, checks = found("--ros", "--seconds", 5, "--address", "127.0.0.1", "--backend", "franka", "--library", pendulum)
    assert {checks[name]["seen"] for name in ("jitter", "overruns", "clock_steps", "latency")} == {
        "not measured beside a controller: load would disturb it"
    }
    assert [checks[name]["state"] for name in ("gravity", "rmw", "running_rate")] == ["ok"] * 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--load", "1+2"], "--load: no load; valid: 4 or 10 numbers, the first positive: MASS+X+Y+Z"),
        (["--load", "a+0+0+0"], "--load: no load; valid: MASS+X+Y+Z"),
        (["--law", "slotine_li"], "laws are compiled with ROBOT; valid: ROBOT, and no --library"),
        (["--parameters", share("config/ros/panda.yaml"), "--controller", "other"], "nothing for other"),
        (["--address", "no.such.host.invalid"], "--address"),
        (["no_such_robot"], "no robot 'no_such_robot'"),
    ],
)
def test_what_cannot_be_done_is_an_error(words: list[object], message: str) -> None:
    ended: Ended = thunder("doctor", *SIMULATED, *words)
    assert ended.exit_code == 2 and message in ended.output
    assert ended.output.startswith("thunder: error: ") and ended.output.count("\n") == 1
