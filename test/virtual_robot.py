"""`thunder franka-server` in a process of its own, and libfranka's side of it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from types import TracebackType

import numpy as np
import pytest
from numpy.typing import NDArray

pylibfranka = pytest.importorskip("pylibfranka", reason="no wheel of pylibfranka for this machine")

START = [sys.executable, "-c", "from thunder_controllers.franka.command import franka_server; franka_server()"]
ADDRESSES = (f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.{last}" for last in itertools.count(1))
"""Of this process alone, one for each server: libfranka knows one port."""

STEP = 1e-3


class VirtualRobot:
    """A server with these options of the command, and somebody who stands beside it."""

    def __init__(self, *options: object) -> None:
        self.address = next(ADDRESSES)
        words = [*START, "--address", self.address, *map(str, options)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.heard: list[str] = []
        self.wait("waiting for a client")

    def __enter__(self) -> VirtualRobot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def wait(self, words: str) -> None:
        """Until the server says so."""
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            assert line, f"the server has ended: {self.heard[-5:]}"
            self.heard.append(line.strip())
            if words in line:
                return

    def say(self, words: str) -> None:
        """As its operator, until it has been done."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self.wait(f"operator: {words}")

    def connect(self) -> pylibfranka.Robot:
        return pylibfranka.Robot(self.address, pylibfranka.RealtimeConfig.kIgnore)


class Motion:
    """Torque control, from its start on; the state that is to be answered."""

    def __init__(self, robot: pylibfranka.Robot) -> None:
        self._control = robot.start_torque_control()
        self.time = 0.0
        self.read()

    def __enter__(self) -> Motion:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the motion if it runs: libfranka does so when its object goes."""
        del self._control

    def read(self) -> None:
        self.state, duration = self._control.readOnce()
        self.elapsed = duration.to_sec()
        self.time += self.elapsed

    def write(self, torque: NDArray[np.float64] | list[float], is_last: bool = False) -> None:
        command = pylibfranka.Torques(list(torque))
        command.motion_finished = is_last
        self._control.writeOnce(command)

    def run(self, seconds: float, torque: NDArray[np.float64] | list[float]) -> None:
        """Command the same torque."""
        for _ in range(round(seconds / STEP)):
            self.write(torque)
            self.read()

    def ramp(self, seconds: float, rate: NDArray[np.float64] | list[float]) -> None:
        """Command torques that grow from zero by a rate [N·m/s]."""
        for step in range(round(seconds / STEP)):
            self.write(np.array(rate) * step * STEP)
            self.read()

    def finish(self) -> None:
        self.write([0.0] * 7, is_last=True)
