"""The loop of the simulation: measure, let the controller answer, wait for the time of the step, advance.

In real time a step waits for its deadline. In lock-step it waits for nothing while the controller answers, so that a
run is as fast as the machine and does not depend on it. While the brakes hold the arm there is nothing to wait for
either; states then go out at the real-time pace.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.ros.common.declarations import Values
from thunder_controllers.ros.simulation.sensors import Sensors
from thunder_controllers.simulation.robot import SimulatedRobot

FloatArray = NDArray[np.float64]

MOST_LATE = 2.0
"""A loop that is later than as many periods gives the time up instead of running after it."""

SWITCH_INTERVAL = 0.0002
"""How long the executor's thread may keep the interpreter from the loop [s]; Python's default of 5 ms is five steps."""


Control = Callable[..., FloatArray | None]
"""`AdaptiveController.step`."""


@dataclass
class LoopCounters:
    """What the loop has seen since it started."""

    steps: int = 0
    late_steps: int = 0
    """Steps in real time that began more than one period late."""
    given_up: float = 0.0
    """Wall time that was given up because the loop could not keep up [s]."""
    brakes_engaged: int = 0
    """Times that the brakes stopped the arm because commands had ceased."""


class SimulationLoop(threading.Thread):
    """Runs the robot in a thread of its own until `end` is called or an error ends it.

    Args:
        robot: Moves; touch it from other threads only while holding `lock`.
        sensors: Read it.
        parameters: Of the simulation node, for its pace.
    """

    def __init__(self, robot: SimulatedRobot, sensors: Sensors, parameters: Values) -> None:
        super().__init__(name="simulation_loop", daemon=True)
        self.lock = threading.Lock()
        self.counters = LoopCounters()
        self.realtime_factor: float = parameters["realtime_factor"]
        """Simulated per wall time, in real time; may be changed at any time."""
        self.error: Exception | None = None
        """Why the loop ended by itself."""
        self.control: Control = lambda *reading, in_lockstep: None
        """Answers what the sensors read with efforts; nobody does until it is set."""
        self._robot, self._sensors = robot, sensors
        self._is_lockstep = parameters["mode"] == "lockstep"
        self._running, self._ending = threading.Event(), threading.Event()
        self._running.set()
        self._deadline = 0.0

    @property
    def is_paused(self) -> bool:
        """Whether the simulated time stands still."""
        return not self._running.is_set()

    def pause(self, paused: bool) -> None:
        """Stop the simulated time, or let it go on."""
        if paused:
            self._running.clear()
        else:
            self._running.set()

    def end(self) -> None:
        """End the loop and wait for it."""
        self._ending.set()
        self._running.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Step until told to end; an error is kept in `error`."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        gc.collect()
        gc.freeze()  # what was made until now lives on: later collections need not look at it
        self._deadline = time.perf_counter()
        try:
            while not self._ending.is_set():
                self.step()
        except Exception as error:  # noqa: BLE001 # a defect too: the node must not live on without its arm
            self.error = error

    def step(self) -> None:
        """Make one step, or wait for the end of a pause."""
        if not self._running.is_set():
            self._running.wait()
            self._deadline = time.perf_counter()
            return
        robot, sensors = self._robot, self._sensors
        with self.lock:
            sensors.measure()
        effort = self.control(sensors.stamp, sensors.q, sensors.qd, sensors.effort, in_lockstep=self._is_lockstep)
        if effort is None or not self._is_lockstep:
            self._await_deadline()
        with self.lock:
            if effort is not None:
                robot.command(effort)
            elif robot.engage_brakes():
                self.counters.brakes_engaged += 1
            robot.advance()
        self.counters.steps += 1

    def _await_deadline(self) -> None:
        """Wait until the step is over; count it if it is over long since."""
        period = self._robot.options.period / self.realtime_factor
        self._deadline += period
        if (left := self._deadline - time.perf_counter()) > 0.0:
            self._ending.wait(left)
            return
        if -left > period:
            self.counters.late_steps += 1
        if -left > MOST_LATE * period:
            self.counters.given_up -= left
            self._deadline -= left
