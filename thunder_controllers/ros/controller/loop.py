"""The control loop: one command for each joint_states, in a thread of its own, past the executor.

What one step costs beside the host's own microseconds is the conversion of messages, and the interpreter lock when the
executor's thread holds it; see docs of `HotSubscription` for why the executor is not asked. The session keeps its
threads apart by itself. The loop's lock is for what is the loop's: activation and a forced end must not fall into a
step, as they use its arrays and its command message, and two threads count refused references.
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
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from thunder_controllers.host import ControlSession, Guard
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.controller.loop_monitor import LoopMonitor
from thunder_controllers.ros.controller.measurement import JointStateReader, Verdict
from thunder_dynamics.errors import LawError, ThunderError

WATCH_PERIOD = 0.01
"""How often the thread wakes without a message [s]: period of the ramp when joint_states have stopped."""

STOP_SILENCE = 0.02
"""While stopping, the ramp goes on by itself after this long without joint_states [s]."""

SWITCH_INTERVAL = 0.0002
"""How long the executor's thread may keep the interpreter from the loop [s]; Python's default of 5 ms is five steps."""

_RUNAWAY = int(Guard.RUNAWAY)


@dataclass
class LoopPorts:
    """What the loop reads and writes; `follow` lets the session follow a reference message, or refuses it."""

    states: HotSubscription[JointState]
    references: HotSubscription[Any]
    follow: Callable[[Any], None]
    commands: Publisher


@dataclass(frozen=True)
class LoopTimes:
    """Nominal period, the longest period of a ramp's step, and the wall-clock limit without usable joint_states [s]."""

    nominal: float
    longest: float
    watchdog: float


class ControlLoop:
    """Runs a session on messages; starts inactive.

    Args:
        session: Whose updating thread the loop's thread is.
        reader: Of joint_states.
        ports: Messages in and out.
        times: Periods and limits.
        on_refused: Called with the reason when a reference is refused, also in the loop's thread; must return soon.
    """

    def __init__(
        self,
        session: ControlSession,
        reader: JointStateReader,
        ports: LoopPorts,
        times: LoopTimes,
        on_refused: Callable[[ThunderError], None],
    ) -> None:
        self.monitor = LoopMonitor()
        self.has_failed = False
        """Whether the thread ended by an error of ours; the effort was ramped down then."""
        self.has_run_away = False
        """Whether the host has stopped the arm, since activation, because it was far too fast for too long."""
        self._session, self._reader, self._ports, self._times = session, reader, ports, times
        self._on_refused = on_refused
        self._message = Float64MultiArray(data=array.array("d", bytes(8 * len(reader.q))))
        self._effort = np.frombuffer(self._message.data)  # the host writes into the message itself
        self._usable_at = self._commanded_at = -np.inf
        self._is_ending = False
        self._lock = threading.Lock()
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

    @property
    def silence(self) -> str:
        """Why the last measurement is too old, empty if it is not."""
        age = self.state_age
        if age <= self._times.watchdog:
            return ""
        return f"no usable joint_states for {age:.2f} s: the effort is the safe one"

    def activate(self, zero_start: bool, max_error: float) -> None:
        """Activate the session at the last measurement and send the first command.

        A simulation in lock-step waits for that command.

        Args:
            zero_start: Start from effort zero, not from the safe one.
            max_error: How far a streamed reference may be from the robot, see `ReferenceDistance` [rad or m].

        Raises:
            LawError: if there is no fresh measurement, or the host refuses.
        """
        with self._lock:
            age = self.state_age
            if age > self._times.watchdog:
                seen = (
                    f"the last usable joint_states came {age:.3g} s ago" if np.isfinite(age) else "no joint_states yet"
                )
                if self._reader.missing:
                    seen += f" (they lack {', '.join(self._reader.missing)})"
                raise LawError(seen, where="activate", valid=f"joint_states younger than {self._times.watchdog:g} s")
            held = np.zeros_like(self._reader.q) if zero_start else None
            self._session.activate(self._reader.q, self._reader.qd, held, max_error)
            self.has_run_away = False
            self._stopped.clear()
            self._send(self._times.nominal)

    def stop(self, limit: float) -> bool:
        """Stop and wait for the ramp's end, at most `limit` seconds; whether it ended in time."""
        self._session.begin_stop()
        if not self._session.is_commanding:
            return True
        in_time = self._stopped.wait(limit)
        with self._lock:
            if self._session.is_commanding:
                self._session.deactivate()
        return in_time

    def refuse(self, error: ThunderError) -> None:
        """Count a refused reference and tell of it."""
        with self._lock:
            self.monitor.refuse(str(error))
        self._on_refused(error)

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
            with self._lock:
                self._on_state(*taken)
        with self._lock:
            self._watch()

    def _on_state(self, message: JointState, received_ns: int) -> None:
        """Use one joint_states; `received_ns` is when the middleware had it, on the wall clock."""
        reader, session = self._reader, self._session
        verdict = reader.read(message)
        is_commanding = session.is_commanding
        if verdict is not Verdict.GOOD:
            self.monitor.verdicts[verdict] += 1
            if verdict is Verdict.DUPLICATE or verdict is Verdict.OVERTAKEN:
                return
            if verdict is Verdict.WRONG_NAMES or verdict is Verdict.WRONG_SIZE:
                if is_commanding:
                    self._send(self._times.nominal)  # with the old stamp, which the host takes as stale
                return
            if verdict is Verdict.CLOCK_RESTARTED and is_commanding:
                session.hold_reference()
        self._usable_at = time.monotonic()
        self.monitor.record_arrival(received_ns)
        if is_commanding:
            self._send(reader.dt)
            self.monitor.record_latency(time.time_ns() - received_ns)
        else:
            session.measure(reader.stamp_ns, reader.time, reader.q, reader.qd)

    def _send(self, dt: float) -> None:
        reader, session = self._reader, self._session
        guards = session.update(reader.stamp_ns, reader.time, reader.q, reader.qd, dt, self._effort)
        self._ports.commands.publish(self._message)
        self._commanded_at = time.monotonic()
        if guards & _RUNAWAY:
            self.has_run_away = True
        if session.advance_stop():
            self._stopped.set()

    def _watch(self) -> None:
        """Ramp where joint_states have stopped coming, at the rate of this thread's wake-ups."""
        now, session = time.monotonic(), self._session
        since_command = now - self._commanded_at
        if since_command < 0.5 * WATCH_PERIOD or not session.is_commanding:
            return
        if now - self._usable_at > (STOP_SILENCE if session.is_stopping else self._times.watchdog):
            self.monitor.silent_ramps += 1
            self._send(min(since_command, self._times.longest))

    def _ramp_down(self) -> None:
        """Last resort of a thread that ends by an error: ramp without any message, for a second at most."""
        session = self._session
        session.begin_stop()
        with self._lock:
            for _ in range(round(1.0 / WATCH_PERIOD)):
                if not session.is_commanding:
                    return
                time.sleep(WATCH_PERIOD)
                self._send(min(WATCH_PERIOD, self._times.longest))
            session.deactivate()

    def _take_references(self) -> None:
        while (message := self._ports.references.take()) is not None:
            try:
                self._ports.follow(message)
            except ThunderError as error:
                self.refuse(error)
