"""`thunder franka-server` in a process of its own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from types import TracebackType
from typing import Any

from thunder_controllers.franka.arm import HOME

LOOSE = ([100.0] * 7, [100.0] * 7, [100.0] * 6, [100.0] * 6)
"""Thresholds of contacts and collisions that no test reaches by chance [N·m], [N]."""

START = [sys.executable, "-c", "from thunder_controllers.franka.command import franka_server; franka_server()"]
ADDRESSES = (f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.{last}" for last in itertools.count(1))
"""Of this process alone, one for each server: libfranka knows one port."""


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

    def bring_home(self, robot: Any) -> None:
        """To HOME, with nothing set; a connection of any libfranka."""
        self.say("place " + " ".join(map(str, HOME)))
        self.say("push 0 0 0")
        robot.automatic_error_recovery()
        robot.set_load(0.0, [0.0] * 3, [0.0] * 9)
        robot.set_collision_behavior(*LOOSE)


def newest(robot: Any) -> Any:
    """A state that was sent after the last answer: the first one read may have been on its way before."""
    robot.read_once()
    return robot.read_once()
