"""`thunder ros`: the whole system comes up, converges, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from geometry_msgs.msg import TwistStamped
from nodes import STOP_TIMEOUT, Probe

from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.qos import MONITOR

LIMIT = 240.0
"""Wall time for the build and some seconds of motion on a loaded machine [s]."""

CONVERGED = 1e-3
"""Position error after the adaptation [m]; it starts above a centimetre, and ends below a tenth of a millimetre."""

NODES = {names.GENERATOR, names.CONTROLLER, names.SIMULATION}
Launch = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def launch(domain: int, tmp_path: Path) -> Iterator[Launch]:
    """Start `thunder ros panda_adaptive` in lock-step, with its output in a file."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        code = "from thunder_dynamics.cli import main; main()"
        command = [sys.executable, "-c", code, "ros", "panda_adaptive", "mode:=lockstep", *words]
        with (tmp_path / "output").open("w") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, text=True, start_new_session=True
            )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()  # its children end with it
            process.wait()


def descendants(pid: int) -> set[int]:
    """Processes that a process has started, and those that they have started."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    own = {int(word) for word in children.read_text().split()} if children.exists() else set()
    return own.union(*(descendants(child) for child in own))


def are_gone(pids: set[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize("processes", [(), ("--single-process",)], ids=["several processes", "one process"])
def test_the_system_comes_up_converges_and_ctrl_c_ends_all_of_it(
    processes: tuple[str, ...], launch: Launch, probe: Probe, tmp_path: Path
) -> None:
    process = launch("--monitor", "namespace:=arm", *processes)
    errors = probe.listen(TwistStamped, "/arm/adaptive_controller/pose_error", MONITOR)

    def is_small(message: TwistStamped) -> bool:
        e = message.twist.linear
        # not at the start, where the arm has not yet moved
        return message.header.stamp.sec >= 2 and (e.x**2 + e.y**2 + e.z**2) ** 0.5 < CONVERGED

    errors.wait(is_small, count=50, timeout=LIMIT)
    assert {f"/arm/{name}" for name in NODES} <= probe.node_names()
    children = descendants(process.pid)
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    status = process.wait(10.0 * STOP_TIMEOUT)
    text = (tmp_path / "output").read_text()
    assert time.monotonic() - start < STOP_TIMEOUT, text
    assert status == 0, text
    # Compilers that a build leaves behind are reaped by the system.
    probe.wait_until(lambda: are_gone(children), "end of all processes", LIMIT)
    assert "Traceback" not in text and "[ERROR]" not in text and " Error]" not in text, text  # the latter is DDS's form
    assert re.search(r"summary of [\d.]+ s\n +position error: .* m\n +estimate of panda_link7: m 0\.\d+ kg", text), text


def test_the_loss_of_a_node_ends_the_others(launch: Launch, probe: Probe, tmp_path: Path) -> None:
    process = launch()
    probe.wait_until(lambda: {f"/{name}" for name in NODES} <= probe.node_names(), "nodes", LIMIT)
    children = descendants(process.pid)
    (victim,) = (pid for pid in children if b"simulation.node" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(victim, signal.SIGKILL)
    assert process.wait(LIMIT) == 1
    text = (tmp_path / "output").read_text()
    assert f"{names.SIMULATION} ended with status -9: ending the others" in text
    # Compilers that a build leaves behind are reaped by the system.
    probe.wait_until(lambda: are_gone(children), "end of all processes", LIMIT)


def test_a_duration_ends_it_with_success(launch: Launch, tmp_path: Path) -> None:
    assert launch("--duration", "1.5").wait(LIMIT) == 0
    assert "Traceback" not in (tmp_path / "output").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("backend:=gazebo",), "only ros2 launch can do this"),
        (("use_rqt:=true",), "ros2 launch thunder_controllers panda_adaptive.launch.py mode:=lockstep use_rqt:=true"),
        (("nothing:=1",), "no argument 'nothing'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    words: tuple[str, ...], message: str, launch: Launch, tmp_path: Path
) -> None:
    assert launch(*words).wait(LIMIT) == 2
    lines = (tmp_path / "output").read_text().splitlines()
    assert len(lines) == 1
    assert message in lines[0]
