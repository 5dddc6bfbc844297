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

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from thunder_controllers.host import Configuration, ControlSession
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.diagnostics import note_failure, plain
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import STREAM
from thunder_controllers.ros.controller.inputs import Input
from thunder_controllers.ros.controller.loop_monitor import LoopMonitor
from thunder_controllers.ros.controller.measurement import JointStateReader, Verdict
from thunder_dynamics.errors import LawError, ThunderError

WATCH_PERIOD = 0.01
"""How often the thread wakes without a message [s]: period of the ramp when joint_states have stopped."""

STOP_SILENCE = 0.02
"""While stopping, the ramp goes on by itself after this long without joint_states [s]."""

IGNORED = (Verdict.FOREIGN, Verdict.DUPLICATE, Verdict.OVERTAKEN)
"""Messages that change nothing."""

UNUSABLE = (Verdict.WRONG_NAMES, Verdict.WRONG_SIZE, Verdict.WRONG_STAMP)
"""Messages that are a step towards the safe effort."""

SWITCH_INTERVAL = 0.0002
"""How long the executor's thread may keep the interpreter from the loop [s]; Python's default of 5 ms is five steps."""


class ControlLoop:
    """Runs a session on messages; starts inactive.

    Args:
        node: Owns subscriptions and publisher.
        parameters: Of the node: command_topic and watchdog_timeout.
        configuration: Names the joints.
        session: Whose updating thread the loop's thread is.
        stream: Streamed references.
    """

    def __init__(
        self,
        node: Node,
        parameters: DeclaredParameters,
        configuration: Configuration,
        session: ControlSession,
        stream: Input,
    ) -> None:
        self.monitor = LoopMonitor()
        self.has_failed = False
        """Whether the thread ended by an error; the effort was ramped down then."""
        self.fault: str | None = None
        """Why the host has stopped the arm, since activation."""
        options = session.options
        self._node, self._session, self._follow = node, session, stream.follow
        self._reader = JointStateReader(configuration.joints, options.nominal_dt, options.measurement_timeout)
        self._nominal_dt, self._longest_dt = options.nominal_dt, options.nominal_dt * options.max_dt_ratio
        self._watchdog = parameters["watchdog_timeout"]
        self._commands = node.create_publisher(Float64MultiArray, parameters["command_topic"], STREAM)
        self._states: HotSubscription[JointState] = HotSubscription(node, JointState, names.JOINT_STATES, STREAM)
        self._references = HotSubscription(node, stream.kind, stream.topic, STREAM)
        self._message = Float64MultiArray(data=array.array("d", bytes(8 * len(configuration.joints))))
        self._effort = np.frombuffer(self._message.data)  # the host writes into the message itself
        self._usable_at = self._commanded_at = -np.inf
        self._measured = threading.Event()
        """Set by the first usable joint_states."""
        self._is_ending = False
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="control_loop", daemon=True)

    def start(self) -> None:
        """Begin to read joint_states."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread.start()

    def close(self) -> None:
        """End the thread, no command is sent from here on, and destroy subscriptions and publisher."""
        self._is_ending = True
        if self._thread.is_alive():
            self._thread.join()
        self._states.close()
        self._references.close()
        self._node.destroy_publisher(self._commands)

    @property
    def state_age(self) -> float:
        """Wall-clock time since the last usable joint_states [s]; infinite before the first."""
        return time.monotonic() - self._usable_at

    @property
    def silence(self) -> str:
        """Why the last measurement is too old, empty if it is not."""
        age = self.state_age
        return "" if age <= self._watchdog else f"no usable joint_states for {age:.2f} s: the effort is the safe one"

    def activate(self, zero_start: bool, max_error: float) -> None:
        """Activate the session at the last measurement and send the first command.

        A simulation in lock-step waits for that command. The first measurement is waited for, as long as one may be
        missing: the middleware takes its time to connect a topic.

        Args:
            zero_start: Start from effort zero, not from the effort that is measured, or was commanded last.
            max_error: How far a streamed reference may be from the robot [rad or m].

        Raises:
            LawError: if there is no fresh measurement, or the host refuses.
        """
        self._measured.wait(self._watchdog)
        with self._lock:
            age = self.state_age
            if age > self._watchdog:
                last = f"the last usable joint_states came {age:.3g} s ago"
                seen = last if np.isfinite(age) else "no joint_states yet"
                if self._reader.missing:
                    seen += f" (they lack {', '.join(self._reader.missing)})"
                raise LawError(seen, where="activate", valid=f"joint_states younger than {self._watchdog:g} s")
            held = self._reader.effort
            if zero_start:
                held = np.zeros_like(held)
            elif self._session.options.gravity_compensated_by_robot:
                held = np.full_like(held, np.nan)  # what is measured holds the arm; the robot adds its part to commands
            self._session.activate(self._reader.q, self._reader.qd, held, max_error)
            self._stopped.clear()
            self._send(self._nominal_dt)

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
        """Count a refused reference and warn of it."""
        with self._lock:
            self.monitor.refused_references += 1
            self.monitor.last_refusal = plain(error)
        self._node.get_logger().warning(plain(error), throttle_duration_sec=1.0)

    # --- in the loop's thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._is_ending:
                self._turn()
        except Exception as error:  # noqa: BLE001 # a defect: the arm must not keep the last effort
            self.has_failed = True
            note_failure(self._node, error)
            self._ramp_down()

    def _turn(self) -> None:
        arrived = self._states.wait(WATCH_PERIOD)
        self._take_references()
        while arrived and (taken := self._states.take_received()) is not None:
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
            if verdict in IGNORED:
                return
            if verdict in UNUSABLE:
                if is_commanding:
                    self._send(self._nominal_dt)  # with the old stamp, which the host takes as stale
                return
            if verdict is Verdict.CLOCK_RESTARTED and is_commanding:
                session.hold_reference()
        self._usable_at = time.monotonic()
        if not self._measured.is_set():
            self._measured.set()
        self.monitor.record_arrival(received_ns)
        if is_commanding:
            self._send(reader.dt)
            self.monitor.record_latency(time.time_ns() - received_ns)
        else:
            session.measure(reader.stamp_ns, reader.time, reader.q, reader.qd)

    def _send(self, dt: float) -> None:
        reader, session = self._reader, self._session
        session.update(reader.stamp_ns, reader.time, reader.q, reader.qd, dt, self._effort)
        self._commands.publish(self._message)
        self._commanded_at = time.monotonic()
        self.fault = session.fault
        if session.advance_stop():
            self._stopped.set()

    def _watch(self) -> None:
        """Ramp where joint_states have stopped coming, at the rate of this thread's wake-ups."""
        now, session = time.monotonic(), self._session
        since_command = now - self._commanded_at
        if since_command < 0.5 * WATCH_PERIOD or not session.is_commanding:
            return
        if now - self._usable_at > (STOP_SILENCE if session.is_stopping else self._watchdog):
            self.monitor.silent_ramps += 1
            self._send(min(since_command, self._longest_dt))

    def _ramp_down(self) -> None:
        """Last resort of a thread that ends by an error: ramp without any message, for a second at most."""
        session = self._session
        session.begin_stop()
        with self._lock:
            for _ in range(round(1.0 / WATCH_PERIOD)):
                if not session.is_commanding:
                    return
                time.sleep(WATCH_PERIOD)
                self._send(min(WATCH_PERIOD, self._longest_dt))
            session.deactivate()

    def _take_references(self) -> None:
        while (message := self._references.take()) is not None:
            try:
                self._follow(message)
            except ThunderError as error:
                self.refuse(error)
