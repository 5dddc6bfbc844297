"""One configuration of the controller: everything that exists from on_configure to on_cleanup."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode

from thunder_controllers.host import Configuration, Excitation, Figure, ReferenceReader, Snapshot, TrackingError
from thunder_controllers.ros.common.diagnostics import plain
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import STREAM
from thunder_controllers.ros.common.runtime import STEADY
from thunder_controllers.ros.controller.configuration import (
    GAIN_PREFIX,
    figure,
    gain_parameters,
    make_session,
    motion_limits,
)
from thunder_controllers.ros.controller.frames import TargetFrames, Tf
from thunder_controllers.ros.controller.inputs import (
    Input,
    position_inputs,
    stream_input,
    target_inputs,
    wrench_inputs,
)
from thunder_controllers.ros.controller.outputs import ControllerOutputs
from thunder_dynamics.errors import LawError, NameNotFoundError, ThunderError

FloatArray = NDArray[np.float64]

STOP_LIMIT = 1.5
"""Longest ramp to the safe effort before commanding ends all the same [s]."""

FIRST_MEASUREMENT = 1.0
"""Longest wait of an activation for the first measurement [s]."""

STREAM_PATIENCE = 1.0
"""Longest wait of a step in lock-step for a stream that has answered the last one [s]."""

WINDOW = 4096
"""Intervals kept between two reports: the newest of them."""


class Session:
    """The host's session, publishers and subscriptions of one configuration.

    `step` is called by the thread of the simulation, everything else by that of the executor. The host keeps the two
    apart; the lock is for what is this object's: arrays, the stream, and the end of all.

    Args:
        node: Owns the entities.
        parameters: Of the node; the gains are declared here.
        configuration: What to run.
        joints: Of the arm, in its own order.
        period: Between two steps [s].

    Attributes:
        configuration: The same.
        control: The host's session, which what needs nothing else is asked of.

    Raises:
        ThunderError: if it cannot be configured; nothing is left behind then.
    """

    def __init__(
        self,
        node: LifecycleNode,
        parameters: DeclaredParameters,
        configuration: Configuration,
        joints: Sequence[str],
        period: float,
    ) -> None:
        self.configuration = configuration
        self._node, self._parameters, self._period = node, parameters, period
        if missing := [joint for joint in configuration.joints if joint not in joints]:
            raise NameNotFoundError(f"the arm has no {', '.join(missing)}", where="joints", valid=", ".join(joints))
        self._order = np.array([joints.index(joint) for joint in configuration.joints])
        self._q, self._qd, self._effort, self._held = np.zeros((4, len(self._order)))
        self._command = np.zeros(len(joints))
        self._stamp = 0
        self._refused, self._last_refusal = 0, ""
        self._lost_streams = 0
        """Number of streams that were seen to end."""
        self._intervals: deque[float] = deque(maxlen=WINDOW)
        self._stepped_at = 0.0
        self._is_answered = self._is_closed = False
        """True while a stream answers the states; true once `close` was called."""
        self._lock = threading.Lock()
        self._measured, self._stopped = threading.Event(), threading.Event()
        self._closers: list[Callable[[], object]] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        node, parameters, configuration = self._node, self._parameters, self.configuration
        gains = gain_parameters(configuration)
        self._closers.append(lambda: parameters.undeclare(gains))
        parameters.declare(gains)
        self.control = make_session(configuration, parameters, self._period)
        for note in self.control.notes:
            node.get_logger().warning(note)
        self._excitation, self._tracking = Excitation(configuration), TrackingError(configuration)
        self._tracking_error_limit: float = parameters["tracking_error_limit"]
        self._outputs = ControllerOutputs(node, configuration, parameters["base_frame"])
        self._closers.append(self._outputs.close)
        base, ee, tool = (parameters[f"{name}_frame"] for name in ("base", "ee", "tool"))
        reader = ReferenceReader(configuration, base, tool or ee)  # joint_names name what the poses are of
        frames = None
        if configuration.is_cartesian:
            tf = Tf(node)
            self._closers.append(tf.close)
            frames = TargetFrames(base, ee, tool, tf.find)
        self._stream = stream_input(configuration, self.control, reader)
        self._references = HotSubscription(node, self._stream.kind, self._stream.topic, STREAM)
        self._closers.append(self._references.close)
        targets = target_inputs(self.control, reader, frames)
        measured = position_inputs(configuration, self.control, reader)
        for target in (*targets, *wrench_inputs(configuration, self.control, reader), *measured):
            self._subscribe(target)
        timer = node.create_timer(1.0 / parameters["publish_rate"], self._publish, clock=STEADY)
        self._closers.append(lambda: node.destroy_timer(timer))

    def _subscribe(self, target: Input) -> None:
        callback = lambda message: self._follow(target, message)  # noqa: E731
        subscription = self._node.create_subscription(target.kind, target.topic, callback, target.qos)
        self._closers.append(lambda: self._node.destroy_subscription(subscription))

    def close(self) -> None:
        """Stop at once and give everything back; call `stop` before, so that the effort is ramped down."""
        with self._lock:
            self._is_closed = True
        while self._closers:
            self._closers.pop()()

    # --- the thread of the simulation --------------------------------------------------------------------------------

    def step(
        self, stamp: int, q: FloatArray, qd: FloatArray, held: FloatArray, *, in_lockstep: bool
    ) -> FloatArray | None:
        """Take what the arm measures now, and answer with its efforts, None while nothing is commanded.

        A measurement with the stamp of the one before is an old one to the host.

        Args:
            stamp: Of the measurement [ns].
            q: Positions [rad or m]; these and all further arrays in the order of the arm.
            qd: Velocities [rad/s or m/s].
            held: Efforts that act [N·m or N].
            in_lockstep: Wait for a stream that has answered the last state.
        """
        with self._lock:
            if self._is_closed:
                return None
            self._take_references(in_lockstep)
            went_back, self._stamp = stamp < self._stamp, stamp
            for given, kept in ((q, self._q), (qd, self._qd), (held, self._held)):
                given.take(self._order, out=kept)
            control = self.control
            if not control.is_commanding:
                control.measure(stamp, 1e-9 * stamp, self._q, self._qd)
                self._measured.set()
                return None
            if went_back:
                control.hold_reference()
            control.update_periodically(stamp, self._q, self._qd, self._period, self._effort, 1e-9 * stamp)
            if control.advance_stop():
                self._stopped.set()
            now = time.perf_counter()
            self._intervals.append(now - self._stepped_at)
            self._stepped_at = now
            self._command[self._order] = self._effort
            return self._command

    def _take_references(self, in_lockstep: bool) -> None:
        if in_lockstep and self._is_answered:
            self._is_answered = self._references.wait(STREAM_PATIENCE)
        while (message := self._references.take()) is not None:
            self._is_answered = True
            self._follow(self._stream, message)

    # --- activation --------------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Start commanding at the last measurement.

        Raises:
            ThunderError: if there is none, or reference or law speak against it.
        """
        if not self._measured.wait(FIRST_MEASUREMENT):
            raise LawError("the arm has not been measured yet", where="activate", valid="a simulation that runs")
        parameters, control = self._parameters, self.control
        if parameters["zero_start"] and parameters["safe_start"]:
            raise LawError("is true beside zero_start", where="parameter safe_start", valid="one of them")
        control.freeze_adaptation(parameters["freeze_on_start"])
        with self._lock:
            held = self._held.copy()
            if parameters["zero_start"]:
                held[:] = 0.0
            elif parameters["safe_start"] or control.options.gravity_compensated_by_robot:
                held[:] = np.nan  # the safe effort; what is measured holds the arm; the robot adds its part to commands
            control.activate(self._q, self._qd, held, parameters["max_activation_error"])
            if parameters["autostart"]:
                self._autostart()  # before the first step, so that in lock-step one run is as the other
            self._stopped.clear()
            self._stepped_at = time.perf_counter()

    def stop(self) -> bool:
        """Ramp down and wait for the end, `STOP_LIMIT` at most; whether it came in time."""
        self.control.begin_stop()
        if not self.control.is_commanding:
            return True
        in_time = self._stopped.wait(STOP_LIMIT)
        with self._lock:
            if self.control.is_commanding:
                self.control.deactivate()
        return in_time

    # --- requests ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the figure of the parameters.

        Raises:
            ThunderError: if the joints cannot follow it, a stream is followed, or the controller is not active.
        """
        self.control.trace(self._figure)

    def _autostart(self) -> None:
        """Begin as much of the figure as the joints can follow."""
        try:
            share = self.control.trace_what_fits(self._figure)
        except ThunderError as error:
            self._refuse(error)
            return
        if share < 1.0:
            what = f"the joints cannot follow the whole figure: {share:g} of it is traced"
            self._node.get_logger().warning(what)

    @property
    def _figure(self) -> Figure:
        """The figure of the parameters, of the kind that the law follows."""
        return figure(self._parameters, self.configuration.is_cartesian)

    def change(self, values: Mapping[str, Any]) -> None:
        """Take over parameters that are about to be set: gains, all or none, and bounds of the motions from now on.

        Raises:
            ThunderError: for a value that the law or the host refuses.
        """
        gains = {name[len(GAIN_PREFIX) :]: value for name, value in values.items() if name.startswith(GAIN_PREFIX)}
        if gains:
            self.control.set_gains(gains)
        if any(name.startswith("path.") for name in values):
            self.control.set_motion_limits(motion_limits(self._parameters, values))

    def _follow(self, target: Input, message: Any) -> None:
        try:
            told = target.follow(message)
        except ThunderError as error:
            self._refuse(error)
            return
        if told:
            self._node.get_logger().info(told)

    def _refuse(self, error: ThunderError) -> None:
        """Count a refused reference and warn of it."""
        self._refused += 1
        self._last_refusal = plain(error)
        self._node.get_logger().warning(self._last_refusal, throttle_duration_sec=1.0)

    # --- reports -----------------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        """Publish estimates, errors, state and pose, once there is a measurement."""
        if self._measured.is_set():
            snapshot = self.control.snapshot()
            self._outputs.publish(snapshot)
            self._excitation.add(snapshot)
            self._tracking.add(snapshot)
            self._watch(snapshot)

    def _watch(self, snapshot: Snapshot) -> None:
        """Tell that a stream has ended."""
        if snapshot.lost_references > self._lost_streams:
            self._node.get_logger().warning("the stream of references has ended: the arm comes to rest, and is held")
        self._lost_streams = snapshot.lost_references

    def condition(self) -> dict[str, Any]:
        """Collect what a `HealthReporter` reports on, of the time since the last call."""
        return {
            "snapshot": self.control.snapshot(),
            "excitation": self._excitation.report(),
            "tracking_error": self._tracking.take(),
            "tracking_error_limit": self._tracking_error_limit,
            "counters": {"references refused": self._refused},
            "extra": {"last refused reference": self._last_refusal},
            "intervals": [self._intervals.popleft() for _ in range(len(self._intervals))],
        }
