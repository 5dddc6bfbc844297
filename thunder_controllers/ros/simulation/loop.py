"""The loop of the simulation: publish a state, wait for its time or for its command, advance.

In real time a step waits for its deadline and then applies the newest command that has come. In lock-step it waits for
one command and applies that: each state gets exactly one command, so a run does not depend on the speed of anything. A
stream of references that answers states, as the reference node's does, is waited for as well.
While the brakes hold the arm there is no command to wait for; states then go out at the real-time pace.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from thunder_controllers.ros.common.declarations import Values
from thunder_controllers.ros.common.hot_subscription import LOOK
from thunder_controllers.ros.simulation.ports import CommandPort, ReferenceGate, StatePublisher
from thunder_controllers.simulation.robot import SimulatedRobot

MOST_LATE = 2.0
"""A loop that is later than as many periods gives the time up instead of running after it.

Steps that follow one another without a pause would all use the command that was there for the first."""


@dataclass
class LoopCounters:
    """What the loop has seen since it started."""

    steps: int = 0
    late_steps: int = 0
    """Steps in real time that began more than one period late."""
    given_up: float = 0.0
    """Wall time that was given up because the loop could not keep up [s]."""
    steps_without_command: int = 0
    """Steps of a moving arm that used the command of an earlier state."""
    extra_commands: int = 0
    """Commands that came after the one for their step and were dropped, in lock-step."""
    brakes_engaged: int = 0
    """Times that the brakes stopped the arm because commands had ceased."""


class SimulationLoop(threading.Thread):
    """Runs the robot in a thread of its own until `end` is called or an error ends it.

    Args:
        robot: Moves; touch it from other threads only while holding `lock`.
        states: Where states go.
        commands: Where commands come from.
        gates: Watch the references, for lock-step.
        parameters: Of the simulation node, for its pace.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        states: StatePublisher,
        commands: CommandPort,
        gates: Sequence[ReferenceGate],
        parameters: Values,
    ) -> None:
        super().__init__(name="simulation_loop", daemon=True)
        self.lock = threading.Lock()
        self.counters = LoopCounters()
        self.realtime_factor: float = parameters["realtime_factor"]
        """Simulated per wall time, in real time; may be changed at any time."""
        self.error: Exception | None = None
        """Why the loop ended by itself."""
        self._robot, self._states, self._commands, self._gates = robot, states, commands, gates
        self._is_lockstep = parameters["mode"] == "lockstep"
        self._period = robot.options.period
        self._lockstep_timeout: float = parameters["lockstep_timeout"]
        self._command_timeout: float = parameters["command_timeout"]
        self._running = threading.Event()
        self._running.set()
        self._ending = False
        self._deadline = 0.0
        self._silent = 0.0

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
        self._ending = True
        self._running.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Step until told to end; an error is kept in `error`."""
        gc.collect()
        gc.freeze()  # what was made until now lives on: later collections need not look at it
        self._deadline = time.perf_counter()
        try:
            while not self._ending:
                self._step()
        except Exception as error:  # noqa: BLE001 # a defect too: the node must not live on without its arm
            self.error = error

    def _step(self) -> None:
        if not self._running.is_set():
            self._running.wait()
            self._deadline = time.perf_counter()
            return
        if self._is_lockstep:
            self.counters.extra_commands += self._commands.discard()
            for gate in self._gates:
                gate.clear()
        with self.lock:
            self._states.publish()
        if self._is_lockstep and not self._robot.is_held:
            self._await_command()
            for gate in self._gates:
                self._await_reference(gate)
        else:
            self._await_deadline()
        with self.lock:
            self._robot.advance()
        self.counters.steps += 1

    def _await_command(self) -> None:
        """Wait for one command; without one the brakes engage."""
        end = time.perf_counter() + self._lockstep_timeout
        while not self._ending:
            if self._take_one():
                return
            left = end - time.perf_counter()
            if left <= 0.0:
                self._brake()
                self._deadline = time.perf_counter()
                return
            self._commands.wait(min(left, LOOK))

    def _await_reference(self, gate: ReferenceGate) -> None:
        """Wait for the reference that answers this state, if states are being answered."""
        end = time.perf_counter() + self._lockstep_timeout
        while gate.expects and not self._ending:
            if gate.wait(LOOK) and gate.skip():
                return
            if time.perf_counter() > end:
                gate.expects = False

    def _await_deadline(self) -> None:
        """Wait until the step is over, taking the commands that come."""
        self._deadline += self._period / self.realtime_factor
        count = 0
        while not self._ending and (left := self._deadline - time.perf_counter()) > 0.0:
            if self._commands.wait(min(left, LOOK)):
                count += self._take_all()
                if self._is_lockstep and count:
                    return  # the arm is not held any more: from here on a command is a step
        count += self._take_all()
        self._note_lag()
        self._note_silence(count)

    def _take_one(self) -> bool:
        """Apply the oldest command that waits; whether one was accepted."""
        before = self._commands.accepted
        with self.lock:
            self._commands.take_one()
        return self._commands.accepted > before

    def _take_all(self) -> int:
        with self.lock:
            return self._commands.take_all()

    def _note_lag(self) -> None:
        lag = time.perf_counter() - self._deadline
        if lag > self._period / self.realtime_factor:
            self.counters.late_steps += 1
        if lag > MOST_LATE * self._period / self.realtime_factor:
            self.counters.given_up += lag
            self._deadline += lag

    def _note_silence(self, commands: int) -> None:
        """Engage the brakes after too long a time without command."""
        if commands or self._robot.is_held:
            self._silent = 0.0
            return
        self.counters.steps_without_command += 1
        self._silent += self._period
        if self._silent > self._command_timeout:
            self._brake()

    def _brake(self) -> None:
        with self.lock:
            if self._robot.engage_brakes():
                self.counters.brakes_engaged += 1
        self._silent = 0.0
