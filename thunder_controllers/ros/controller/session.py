"""One configuration of the controller: everything that exists from on_configure to on_cleanup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Excitation,
    Library,
    ReferenceReader,
    Snapshot,
    TrackingError,
)
from thunder_controllers.host.inertia_estimate import LinkEstimate, link_estimates
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import REQUEST
from thunder_controllers.ros.common.robot_guard import Estimates, RobotGuard
from thunder_controllers.ros.common.runtime import STEADY
from thunder_controllers.ros.controller.configuration import (
    GAIN_PREFIX,
    figure,
    gain_parameters,
    make_session,
    motion_limits,
)
from thunder_controllers.ros.controller.inputs import Input, stream_input, target_inputs, wrench_inputs
from thunder_controllers.ros.controller.loop import ControlLoop
from thunder_controllers.ros.controller.measurement import Verdict
from thunder_controllers.ros.controller.outputs import ControllerOutputs
from thunder_dynamics.errors import LawError, ThunderError

STOP_LIMIT = 1.5
"""How long the ramp to the safe effort may take before commanding ends all the same [s]."""


def make_guard(
    interface: str, node: Node, parameters: DeclaredParameters, library: Library, estimates: Estimates
) -> RobotGuard:
    """Make the guard of a robot interface, a value of the parameter robot_interface; the rest is what it may use.

    Raises:
        ThunderError: if what it needs is not installed.
    """
    if interface == "franka":
        from thunder_controllers.ros.franka.guard import FrankaGuard  # only here: its messages are optional

        return FrankaGuard(node, parameters, library, estimates)
    return RobotGuard()


class Session:
    """The host's session, loop, publishers and subscriptions of one configuration.

    Args:
        node: Owns the entities.
        parameters: Of the node; the gains are declared here.
        configuration: What to run.

    Attributes:
        configuration: The same.
        control: The host's session, which what needs nothing else is asked of.

    Raises:
        ThunderError: if it cannot be configured; nothing is left behind then.
    """

    control: ControlSession

    def __init__(self, node: LifecycleNode, parameters: DeclaredParameters, configuration: Configuration) -> None:
        self.configuration = configuration
        self._node, self._parameters = node, parameters
        self._frozen_by_request = False
        self._begun = self._lost_streams = 0
        """The last activation that was seen, and how many streams were seen to end."""
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
        interface = parameters["robot_interface"]
        self._guard = make_guard(interface, node, parameters, configuration.library, self._estimates)
        self._closers.append(self._guard.close)
        self.control = make_session(configuration, parameters, self._guard.gravity_compensated)
        for note in self.control.notes:
            node.get_logger().warning(note)
        self._excitation, self._tracking = Excitation(configuration), TrackingError(configuration)
        self._tracking_error_limit: float = parameters["tracking_error_limit"]
        self._outputs = ControllerOutputs(node, configuration, parameters["base_frame"])
        self._closers.append(self._outputs.close)
        reader = ReferenceReader(configuration, parameters["base_frame"], parameters["ee_frame"])
        stream = stream_input(configuration, self.control, reader)
        self._loop = ControlLoop(node, parameters, configuration, self.control, stream)
        self._closers.append(self._loop.close)
        for make in (target_inputs, wrench_inputs):
            for target in make(configuration, self.control, reader):
                self._subscribe(target)
        self._loop.start()
        timer = node.create_timer(1.0 / parameters["publish_rate"], self._publish, clock=STEADY)
        self._closers.append(lambda: node.destroy_timer(timer))

    def _estimates(self) -> tuple[LinkEstimate, ...]:
        return link_estimates(self.configuration, self.control.snapshot())

    def _subscribe(self, target: Input) -> None:
        def follow(message: Any) -> None:
            try:
                target.follow(message)
            except ThunderError as error:
                self._loop.refuse(error)

        subscription = self._node.create_subscription(target.kind, target.topic, follow, REQUEST)
        self._closers.append(lambda: self._node.destroy_subscription(subscription))

    def close(self) -> None:
        """Stop at once and give everything back; call `stop` before, so that the effort is ramped down."""
        while self._closers:
            self._closers.pop()()

    # --- activation --------------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Start commanding.

        Raises:
            ThunderError: if robot, measurement, reference or law speak against it.
        """
        if self._loop.has_failed:
            raise LawError(
                "the control loop has ended by an error", where="activate", valid="clean up, configure again"
            )
        self._guard.before_activation()
        reason = self._guard.check_activation()
        if reason is not None:
            raise LawError(reason, where="activate")
        self.freeze(self._parameters["freeze_on_start"])
        self._loop.activate(self._parameters["zero_start"], self._parameters["max_activation_error"])

    def stop(self) -> bool:
        """Ramp down and wait for the end, `STOP_LIMIT` at most; whether it came in time."""
        return self._loop.stop(STOP_LIMIT)

    @property
    def fault(self) -> str | None:
        """Why commanding must end now, None if it need not."""
        if self._loop.has_failed:
            return "the control loop has ended by an error"
        return self._loop.fault or self._guard.fault

    # --- requests ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin the figure of the parameters.

        Raises:
            ThunderError: if the joints cannot follow it, a stream is followed, or the controller is not active.
        """
        self.control.trace(figure(self._parameters, self.configuration.is_cartesian))

    def freeze(self, freeze: bool) -> None:
        """Keep the estimates by request; contact keeps them as well."""
        self._frozen_by_request = freeze
        self.watch_contact()

    def watch_contact(self) -> None:
        """Freeze or adapt as request and contact say."""
        self.control.freeze_adaptation(self._frozen_by_request or self._guard.contact)

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

    # --- reports -----------------------------------------------------------------------------------------------------

    def _publish(self) -> None:
        """Publish estimates, errors, state and pose, once there is a measurement."""
        if np.isfinite(self._loop.state_age):
            snapshot = self.control.snapshot()
            self._outputs.publish(snapshot)
            self._excitation.add(snapshot)
            self._tracking.add(snapshot)
            self._watch(snapshot)

    def _watch(self, snapshot: Snapshot) -> None:
        """Begin the figure in a new activation, where that is wanted; tell that a stream has ended."""
        if snapshot.lost_references > self._lost_streams:
            self._node.get_logger().warning("the stream of references has ended: the arm comes to rest, and is held")
        self._lost_streams = snapshot.lost_references
        if not snapshot.is_active or snapshot.activation == self._begun:
            return
        self._begun = snapshot.activation
        if self._parameters["autostart"]:
            try:
                self.start()
            except ThunderError as error:
                self._loop.refuse(error)

    def condition(self) -> dict[str, Any]:
        """Collect what a `HealthReporter` reports on, of the time since the last call."""
        monitor = self._loop.monitor
        latencies, intervals = monitor.take_times()
        texts = {
            "joint_states age [s]": f"{self._loop.state_age:g}",
            f"joint_states {Verdict.FOREIGN.value}": str(monitor.verdicts[Verdict.FOREIGN]),
            "last refused reference": monitor.last_refusal,
        }
        return {
            "snapshot": self.control.snapshot(),
            "excitation": self._excitation.report(),
            "tracking_error": self._tracking.take(),
            "tracking_error_limit": self._tracking_error_limit,
            "silence": self._loop.silence,
            "counters": monitor.faults(),
            "extra": {**texts, **self._guard.diagnostics()},
            "latencies": latencies,
            "intervals": intervals,
        }
