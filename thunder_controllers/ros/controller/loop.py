"""The control loop: one command for each joint_states, in a thread of its own, past the executor.

What one step costs beside the host's own microseconds is the conversion of messages, and the interpreter lock when the
executor's thread holds it; see docs of `HotSubscription` for why the executor is not asked. Everything that both
threads touch is behind `lock`, which neither holds while it publishes to monitors, logs or waits.
"""

from __future__ import annotations

import array
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from thunder_controllers.host import Controller, Guard
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.controller.loop_monitor import LoopMonitor
from thunder_controllers.ros.controller.measurement import JointStateReader, Verdict
from thunder_controllers.ros.controller.reference_feed import ReferenceFeed
from thunder_dynamics.errors import LawError, ThunderError

FloatArray = NDArray[np.float64]

WATCH_PERIOD = 0.01
"""How often the thread wakes without a message [s]: period of the ramp when joint_states have stopped."""

STOP_SILENCE = 0.02
"""While stopping, the ramp goes on by itself after this long without joint_states [s]."""

SWITCH_INTERVAL = 0.0002
"""How long the executor's thread may keep the interpreter from the loop [s]; Python's default of 5 ms is five steps."""

_RUNAWAY, _RAMPING = int(Guard.RUNAWAY), int(Guard.EFFORT_RATE_LIMITED)


@dataclass
class LoopPorts:
    """What the loop reads and writes; `fill` turns a reference message into a sample, or refuses it."""

    states: HotSubscription[JointState]
    references: HotSubscription[Any]
    fill: Callable[[Any, FloatArray], None]
    commands: Publisher


@dataclass(frozen=True)
class LoopTimes:
    """Nominal period, the longest period of a ramp's step, and the wall-clock limit without usable joint_states [s]."""

    nominal: float
    longest: float
    watchdog: float


class ControlLoop:
    """Runs a configured host on messages; starts inactive.

    Args:
        host: Configured.
        reader: Of joint_states.
        reference: Feeds the host.
        ports: Messages in and out.
        times: Periods and limits.
        on_refused: Called in the loop's thread with the reason when a streamed reference is refused; must return soon.
    """

    def __init__(
        self,
        host: Controller,
        reader: JointStateReader,
        reference: ReferenceFeed,
        ports: LoopPorts,
        times: LoopTimes,
        on_refused: Callable[[ThunderError], None],
    ) -> None:
        self.lock = threading.RLock()
        self.monitor = LoopMonitor()
        self.reference = reference
        self.reader = reader
        self.is_commanding = False
        self.has_failed = False
        """Whether the thread ended by an error of ours; the effort was ramped down then."""
        self.has_run_away = False
        """Whether the host has stopped the arm, since activation, because it was far too fast for too long."""
        self._host, self._ports, self._times = host, ports, times
        self._on_refused = on_refused
        self._message = Float64MultiArray(data=array.array("d", bytes(8 * len(reader.q))))
        self._effort = np.frombuffer(self._message.data)  # the host writes into the message itself
        self._row = np.zeros(len(host.reference_vector))
        self._usable_at = self._commanded_at = -np.inf
        self._is_ending = self._is_stopping = self._is_releasing = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="control_loop", daemon=True)

    def start(self) -> None:
        """Begin to read joint_states."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread.start()

    def close(self) -> None:
        """End the thread; no command is sent from here on."""
        self._is_ending = True
        if self._thread.is_alive():
            self._thread.join()

    @property
    def state_age(self) -> float:
        """Wall-clock time since the last usable joint_states [s]; infinite before the first."""
        return time.monotonic() - self._usable_at

    def activate(self) -> None:
        """Activate the host at the last measurement and send the first command.

        A simulation in lock-step waits for that command.

        Raises:
            LawError: if there is no fresh measurement, or the host refuses.
        """
        with self.lock:
            age = self.state_age
            if age > self._times.watchdog:
                seen = (
                    f"the last usable joint_states came {age:.3g} s ago" if np.isfinite(age) else "no joint_states yet"
                )
                if self.reader.missing:
                    seen += f" (they lack {', '.join(self.reader.missing)})"
                raise LawError(seen, where="activate", valid=f"joint_states younger than {self._times.watchdog:g} s")
            self.reference.prepare_activation()
            self._host.activate(self.reader.q, self.reader.qd)
            self._is_stopping = self.has_run_away = False
            self._stopped.clear()
            self.is_commanding = True
            self._send(self._times.nominal)

    def begin_stop(self) -> None:
        """Ramp the effort to the safe one, then stop commanding; returns at once."""
        with self.lock:
            if self.is_commanding and not self._is_stopping:
                self._host.begin_stop()
                self._is_stopping = True

    def stop(self, limit: float) -> bool:
        """Stop and wait for the ramp's end, at most `limit` seconds; whether it ended in time."""
        self.begin_stop()
        if not self.is_commanding:
            return True
        in_time = self._stopped.wait(limit)
        with self.lock:
            if self.is_commanding:
                self._finish()
        return in_time

    # --- in the loop's thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        is_clean = False
        try:
            while not self._is_ending:
                self._turn()
            is_clean = True
        finally:
            if not is_clean:
                self.has_failed = True
                self._ramp_down()

    def _turn(self) -> None:
        states = self._ports.states
        arrived = states.wait(WATCH_PERIOD)
        self._take_references()
        while arrived and (taken := states.take_received()) is not None:
            with self.lock:
                self._on_state(*taken)
        with self.lock:
            self._watch()

    def _on_state(self, message: JointState, received_ns: int) -> None:
        """Use one joint_states; `received_ns` is when the middleware had it, on the wall clock."""
        verdict = self.reader.read(message)
        if verdict is not Verdict.GOOD:
            self.monitor.count(verdict)
            if verdict is Verdict.DUPLICATE or verdict is Verdict.OVERTAKEN:
                return
            if verdict is Verdict.WRONG_NAMES or verdict is Verdict.WRONG_SIZE:
                if self.is_commanding:
                    self._ramp(self._times.nominal)
                return
            if verdict is Verdict.CLOCK_RESTARTED and self.is_commanding:
                self.reference.hold()
        self._usable_at = time.monotonic()
        self.monitor.record_arrival(received_ns)
        if self.is_commanding:
            self._send(self.reader.dt)
            self.monitor.record_latency(time.time_ns() - received_ns)

    def _ramp(self, dt: float) -> None:
        """Go towards the safe effort: the host sees the same stamp again, and takes it as stale."""
        self.monitor.ramps += 1
        self._send(dt)

    def _send(self, dt: float) -> None:
        guards = self._host.update(self.reader.time, self.reader.q, self.reader.qd, dt, self._effort)
        self._ports.commands.publish(self._message)
        self._commanded_at = time.monotonic()
        self.reference.observe(guards)
        if guards & _RUNAWAY:
            self.has_run_away = True
        if self._is_releasing and not guards & _RAMPING:
            self._finish()
        elif self._host.has_stopped:
            self._release()

    def _release(self) -> None:
        """Give up the damping of the stop: the last command may stay in force, and must hold the arm, not push it."""
        self._host.deactivate()
        self._is_releasing = True

    def _finish(self) -> None:
        if not self._is_releasing:
            self._host.deactivate()
        self.reference.hold()
        self.is_commanding = self._is_stopping = self._is_releasing = False
        self._stopped.set()

    def _watch(self) -> None:
        """Ramp where joint_states have stopped coming, at the rate of this thread's wake-ups."""
        if not self.is_commanding:
            return
        now = time.monotonic()
        silence = STOP_SILENCE if self._is_stopping else self._times.watchdog
        since_command = now - self._commanded_at
        if now - self._usable_at > silence and since_command >= 0.5 * WATCH_PERIOD:
            self.monitor.silent_ramps += 1
            self._ramp(min(since_command, self._times.longest))

    def _ramp_down(self) -> None:
        """Last resort of a thread that ends by an error: ramp without any message, for a second at most."""
        with self.lock:
            self.begin_stop()
            for _ in range(round(1.0 / WATCH_PERIOD)):
                if not self.is_commanding:
                    return
                time.sleep(WATCH_PERIOD)
                self._ramp(min(WATCH_PERIOD, self._times.longest))
            self._finish()

    def _take_references(self) -> None:
        while (message := self._ports.references.take()) is not None:
            try:
                self._ports.fill(message, self._row)
                with self.lock:
                    if not self._is_stopping:
                        self.reference.stream(self._row)
            except ThunderError as error:
                self.monitor.refuse(str(error))
                self._on_refused(error)
