"""`thunder ros`: what its arguments come to; its process comes up, converges, and ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from geometry_msgs.msg import PoseStamped
from nodes import STOP_TIMEOUT, Probe
from rclpy.qos import QoSProfile
from rclpy.time import Time
from sensor_msgs.msg import JointState

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR
from thunder_controllers.ros.interfaces import NODES
from thunder_controllers.ros.tools.launch_arguments import (
    DISCOVERY,
    ROBOTS,
    check_arguments,
    discovery_environment,
    read_arguments,
)
from thunder_controllers.ros.tools.launcher import NEED_A_DISTRIBUTION, arguments_of, complete, ros
from thunder_controllers.ros.tools.system import WRONG_LAST_LINK, files_of, parameters_of

ROOT = Path(__file__).parents[3]
LIMIT = 240.0
"""Wall time for the build and some seconds of motion on a loaded machine [s]."""

CONVERGED = 1e-3
"""Position error after the adaptation [m]; it starts above a centimetre, and ends below a tenth of a millimetre."""

Launch = Callable[..., subprocess.Popen[str]]


# --- arguments --------------------------------------------------------------------------------------------------------


def nodes(*words: str, system: str = "panda_adaptive") -> dict[str, dict[str, Any]]:
    return parameters_of(system, complete(system, words))


def test_the_default_is_an_arm_that_learns_and_moves_by_itself() -> None:
    given = nodes()
    assert set(given) == {names.GENERATOR, names.SIMULATION, names.CONTROLLER}
    controller = given[names.CONTROLLER]
    assert Path(controller["estimates_file"]) == resolve_file(WRONG_LAST_LINK)
    assert controller["bringup"] and controller["autostart"]
    assert not controller["gravity_compensated_by_robot"] and not given[names.SIMULATION]["gravity_compensation"]
    assert [file.stem for file in files_of("panda_adaptive", complete("panda_adaptive", []))] == ["panda"]


def test_arguments_reach_the_nodes_that_they_are_about(tmp_path: Path) -> None:
    gains, drives = tmp_path / "gains.yaml", tmp_path / "drives.yaml"
    gains.touch()
    drives.touch()
    law, links = "cartesian_backstepping:friction=adapted", "panda_link6+panda_link7"
    words = [f"law:={law}", f"adapted_links:={links}", "payload:=1.5", "model:=true"]
    words += [f"gains:={gains}", f"drives:={drives}"]
    words += ["reference:=none", "autostart:=false", "mode:=lockstep", "output:=/tmp/out"]
    given = nodes(*words)
    assert set(given) == {names.GENERATOR, names.SIMULATION, names.CONTROLLER, names.MODEL}
    generator, arm, controller = (given[name] for name in (names.GENERATOR, names.SIMULATION, names.CONTROLLER))
    assert (generator["laws"], generator["adapted_links"]) == ([law], ["panda_link6", "panda_link7"])
    assert (generator["output"], generator["drives"]) == ("/tmp/out", str(drives))
    assert (arm["payload.mass"], arm["payload.attached"], arm["mode"]) == (1.5, True, "lockstep")
    assert controller["law"] == "cartesian_backstepping" and not controller["bringup"]
    assert "estimates_file" not in controller, "they are for the law without options"
    files = files_of("panda_adaptive", complete("panda_adaptive", words))
    assert files[-2:] == [drives, gains], "the last file is the strongest"


@pytest.mark.parametrize(
    ("reference", "autostart", "figure", "streamed"),
    [
        ("auto", "auto", True, None),
        ("auto", "false", False, None),
        ("none", "auto", False, None),
        ("stream", "auto", False, "auto"),
        ("pose_to_pose", "auto", False, "pose_to_pose"),
    ],
)
def test_the_controller_makes_the_default_reference_itself(
    reference: str, autostart: str, figure: bool, streamed: str | None
) -> None:
    given = nodes(f"reference:={reference}", f"autostart:={autostart}")
    assert given[names.CONTROLLER]["autostart"] is figure
    assert given.get(names.REFERENCE, {}).get("type") == streamed


@pytest.mark.parametrize(
    ("given", "model", "control"),
    [
        ({"backend": "franka"}, ("", "fr3_link8"), {"robot": "fr3", "autostart": False}),
        ({"backend": "franka", "arm_id": "panda"}, ("panda.yaml", ""), {"robot": "panda", "autostart": False}),
        ({"backend": "gazebo"}, ("panda.yaml", ""), {"autostart": True}),
    ],
)
def test_what_runs_in_controller_manager_waits_for_its_library(
    given: dict[str, str], model: tuple[str, str], control: dict[str, Any]
) -> None:
    made = parameters_of("panda_adaptive", complete("panda_adaptive", []) | given | {"model": "true"})
    generator = made[names.GENERATOR]
    assert (Path(generator["robot"]).name, generator["ee_link"]) == model
    assert control.items() <= made[names.CONTROLLER].items() and "bringup" not in made[names.CONTROLLER]
    assert names.WAIT_FOR_LIBRARY in made and names.SIMULATION not in made
    assert ("estimates_file" in made[names.CONTROLLER]) is (given["backend"] == "gazebo")
    assert made[names.MODEL] == ({"use_sim_time": True} if given["backend"] == "gazebo" else {})


def test_any_robot_gives_its_names_to_library_and_simulation() -> None:
    robot = str(ROOT / "urdf/panda.urdf.xacro")
    given = nodes(f"robot:={robot}", "ee_link:=panda_flange", "base_link:=b", "name:=n", system="robot_adaptive")
    build = [given[names.GENERATOR][key] for key in ("robot", "name", "base_link", "ee_link")]
    assert build == [robot, "n", "b", "panda_flange"]
    assert [given[names.SIMULATION][key] for key in ("urdf", "ee_link")] == [robot, "panda_flange"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing:=1"], "no argument 'nothing'.*valid: estimates_file"),
        (["backend:=moon"], "backend:=moon"),
        (["mode:=slow"], "mode:=slow.*valid: realtime, lockstep"),
        (["payload"], "'payload' is no argument"),
        (["payload:=1", "payload:=2"], "'payload:=2'.*each once"),
        (
            ["payload:=1", "use_rqt:=true"],
            "ros2 launch thunder_controllers panda_adaptive.launch.py payload:=1 use_rqt",
        ),
    ],
)
def test_a_bad_argument_is_refused_with_what_would_be_valid(words: list[str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        complete("panda_adaptive", words)


ARM = {"backend": "franka", "robot_ip": "10.0.0.1"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"payload": "heavy"}, r"payload:=heavy.*zero or more \[kg\]"),
        ({"payload": "-1"}, r"payload:=-1.*zero or more"),
        ({"gains": "/no/such.yaml"}, "no such file"),
        ({"estimates_file": "/no/such.yaml"}, "no such file"),
        ({"robot": ""}, "robot:=FILE"),
        ({"backend": "gazebo", "mode": "lockstep"}, "lockstep.*backend:=mujoco"),
        ({"backend": "ros2_control", "controller": "node"}, "controller:=node: a choice no more; valid: the plugin"),
        ({"backend": "franka", "payload": "1"}, "payload is simulated only.*load:="),
        ({"backend": "franka", "load": "1+0+0+0"}, "load:=1.*valid: robot_ip"),
        ({**ARM, "load": "1+0+0"}, "load:=1.*4 or 10 numbers"),
        ({**ARM, "load": "-1+0+0+0"}, "load:=-1.*the first positive"),
        ({**ARM, "load": "nan+0+0+0"}, "load:=nan"),
        ({**ARM, "load": "1+0+0+x"}, "load:=1.*MASS"),
        ({**ARM, "load": "1+0+0+0+1+0+0+1+0+3"}, "load:=1.*sum of the other two"),
        ({**ARM, "arm_id": "panda"}, "does not drive a Panda.*valid: fr3"),
    ],
)
def test_what_no_launch_file_can_do_is_refused_with_what_would_be_valid(given: dict[str, str], message: str) -> None:
    defaults = {name: argument.default for name, argument in read_arguments("panda_adaptive").items()}
    check_arguments(defaults)
    with pytest.raises(Exception, match=message):
        check_arguments({**defaults, **given})


@pytest.mark.parametrize("name", ROBOTS)
def test_the_command_lists_the_arguments_of_a_system(name: str) -> None:
    result = CliRunner().invoke(ros, [name, "--show-args"])
    assert result.exit_code == 0
    assert re.findall(r"^  (\w+):=", result.output, re.MULTILINE) == list(arguments_of(name))
    for argument in read_arguments(name).values():
        assert argument.description.endswith((".", "…", "]."))
        assert not argument.choices or argument.default in argument.choices


def test_launch_arguments_name_what_there_is() -> None:
    (motion,) = (p for p in NODES[names.REFERENCE].parameters if p.name == "type")
    choices = read_arguments("panda_adaptive")["reference"].choices
    assert choices == ("auto", "none", "stream", *(name for name in motion.choices if name != "auto"))
    assert set(NEED_A_DISTRIBUTION) <= set(read_arguments("panda_adaptive"))
    systems = {path.name.partition(".")[0] for path in (ROOT / "launch").glob("*.launch.py")}
    assert systems - {"generator"} == set(ROBOTS)


@pytest.mark.parametrize(
    ("discovery", "environment", "expected"),
    [
        ("auto", {}, {DISCOVERY: "LOCALHOST"}),
        ("auto", {DISCOVERY: ""}, {DISCOVERY: "LOCALHOST"}),
        ("auto", {DISCOVERY: "SUBNET"}, {}),
        ("localhost", {DISCOVERY: "SUBNET"}, {DISCOVERY: "LOCALHOST"}),
        ("subnet", {DISCOVERY: "LOCALHOST"}, {DISCOVERY: "SUBNET"}),
    ],
)
def test_what_is_named_counts_and_then_what_the_user_has_set(
    discovery: str, environment: dict[str, str], expected: dict[str, str]
) -> None:
    assert discovery_environment(discovery, environment) == expected


# --- the process ------------------------------------------------------------------------------------------------------


@pytest.fixture
def launch(domain: int, tmp_path: Path) -> Iterator[Launch]:
    """Start `thunder ros panda_adaptive`, in lock-step unless told otherwise, with its output in a file."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, mode: str = "lockstep") -> subprocess.Popen[str]:
        code = "from thunder_dynamics.cli import main; main()"
        command = [sys.executable, "-c", code, "ros", "panda_adaptive", f"mode:={mode}", *words]
        with (tmp_path / "output").open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_it_comes_up_converges_and_ctrl_c_ends_it(launch: Launch, probe: Probe, tmp_path: Path) -> None:
    process = launch("--monitor", "namespace:=arm", "reference:=lissajous", "model:=true")
    errors = probe.listen(PoseStamped, "/arm/adaptive_controller/pose_error", MONITOR)

    def is_small(message: PoseStamped) -> bool:
        e = message.pose.position
        # not at the start, where the arm has not yet moved
        return message.header.stamp.sec >= 2 and (e.x**2 + e.y**2 + e.z**2) ** 0.5 < CONVERGED

    errors.wait(is_small, count=50, timeout=LIMIT)
    expected = [names.CONTROLLER, names.SIMULATION, names.MONITOR, names.REFERENCE, names.MODEL]
    assert {f"/arm/{name}" for name in expected} <= probe.node_names()
    process.send_signal(signal.SIGINT)
    status = process.wait(STOP_TIMEOUT)
    text = (tmp_path / "output").read_text()
    assert status == 0, text
    assert "Traceback" not in text and "[ERROR]" not in text and " Error]" not in text, text  # the latter is DDS's form
    assert re.search(r"summary of [\d.]+ s\n +position error: .* m\n +estimate of panda_link7: m \d\.\d+ kg", text), (
        text
    )


def test_a_duration_ends_it_with_success(launch: Launch, tmp_path: Path) -> None:
    assert launch("--duration", "1.5").wait(LIMIT) == 0
    assert "Traceback" not in (tmp_path / "output").read_text()


@contextmanager
def load() -> Iterator[None]:
    """Eight processes that do nothing else than run."""
    burn = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    try:
        yield
    finally:
        for process in burn:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_real_time_on_a_loaded_machine_gives_time_up_and_not_the_arm(launch: Launch, probe: Probe) -> None:
    process = launch("payload:=0.5", mode="realtime")
    errors = probe.listen(PoseStamped, "/adaptive_controller/pose_error", MONITOR)
    errors.wait(lambda message: message.header.stamp.sec >= 2, timeout=LIMIT)
    errors.clear()
    with load():
        errors.wait(lambda message: message.header.stamp.sec >= 5, timeout=LIMIT)
    found = [(e.x**2 + e.y**2 + e.z**2) ** 0.5 for e in (message.pose.position for message in list(errors.messages))]
    assert max(found) < CONVERGED
    process.send_signal(signal.SIGINT)
    assert process.wait(10.0 * STOP_TIMEOUT) == 0


@pytest.mark.slow
def test_lock_step_is_the_same_twice_on_a_loaded_machine(launch: Launch, probe: Probe) -> None:
    """Bit for bit from the first step on, whenever the controller was activated."""
    with load():
        first, second = (_motion(launch, probe) for _ in range(2))
    moving = {state: time for time, state in second.items() if state != second[min(second)]}
    shifts = {moving[state] - time for time, state in first.items() if state in moving}
    assert len(shifts) == 1, "no state is common, or one comes at different times"
    (shift,) = shifts
    common = [time for time in first if time + shift in second]  # others were lost on their way
    assert len(common) > 500
    assert [first[time] for time in common] == [second[time + shift] for time in common]


def _motion(launch: Launch, probe: Probe) -> dict[int, tuple[Any, ...]]:
    """States of the joints by their time [ns], of a run whose simulation the probe has found before half was over."""
    runs = (_states(launch, probe) for _ in range(5))
    return next(states for states in runs if len(states) > 1000)


def _states(launch: Launch, probe: Probe) -> dict[int, tuple[Any, ...]]:
    with probe.listening(JointState, "/joint_states", QoSProfile(depth=2000)) as joints:
        process = launch("payload:=0.5")
        joints.wait(lambda m: m.header.stamp.sec >= 2, timeout=LIMIT)
        process.send_signal(signal.SIGINT)
        assert process.wait(10.0 * STOP_TIMEOUT) == 0
        states = list(joints.messages)
    # later it is told to stop
    return {
        Time.from_msg(m.header.stamp).nanoseconds: (*m.position, *m.velocity, *m.effort)
        for m in states
        if m.header.stamp.sec < 2
    }


def test_who_is_found_is_decided_before_the_nodes_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    start = "thunder_controllers.ros.tools.launcher._run"
    monkeypatch.setattr(start, lambda *_: seen.append(os.environ.get(DISCOVERY)))
    monkeypatch.setenv(DISCOVERY, "")
    result = CliRunner().invoke(ros, ["panda_adaptive"])
    assert result.exit_code == 0 and seen == ["LOCALHOST"]
