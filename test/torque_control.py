"""libfranka's side of a virtual robot, protocol 10, by pylibfranka."""

from __future__ import annotations

import numpy as np
import pytest
from franka_session import STEP
from numpy.typing import NDArray
from virtual_robot import VirtualRobot

pylibfranka = pytest.importorskip("pylibfranka", reason="no wheel of pylibfranka for this machine")


def connect(virtual: VirtualRobot) -> pylibfranka.Robot:
    return pylibfranka.Robot(virtual.address, pylibfranka.RealtimeConfig.kIgnore)


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
