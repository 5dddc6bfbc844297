"""One configuration of the controller: everything that exists from on_configure to on_cleanup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from thunder_controllers.host import Configuration, Excitation, ReferenceReader, save_estimates
from thunder_controllers.host.inertia_estimate import LinkEstimate, link_estimates
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import REQUEST, STREAM
from thunder_controllers.ros.common.robot_guard import GuardContext, RobotGuard
from thunder_controllers.ros.controller.configuration import gain_parameters, make_session, motion_limits
from thunder_controllers.ros.controller.inputs import Input, stream_input, target_inputs
from thunder_controllers.ros.controller.loop import ControlLoop, LoopPorts, LoopTimes
from thunder_controllers.ros.controller.measurement import JointStateReader
from thunder_controllers.ros.controller.outputs import ControllerOutputs
from thunder_controllers.ros.controller.robot_guard import make_guard
from thunder_dynamics.errors import LawError, ThunderError

STOP_LIMIT = 1.5
"""How long the ramp to the safe effort may take before commanding ends all the same [s]."""


class Session:
    """The host's session, loop, publishers and subscriptions of one configuration.

    Args:
        node: Owns the entities.
        parameters: Of the node; the gains are declared here.
        configuration: What to run.

    Raises:
        ThunderError: if it cannot be configured; nothing is left behind then.
    """

    def __init__(self, node: LifecycleNode, parameters: DeclaredParameters, configuration: Configuration) -> None:
        self.configuration = configuration
        self._node, self._parameters = node, parameters
        self._frozen_by_request = False
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
        context = GuardContext(node, parameters, configuration.library, self.estimates)
        self._guard: RobotGuard = make_guard(parameters["robot_interface"], context)
        self._closers.append(self._guard.close)
        self._control = make_session(configuration, parameters, self._guard.gravity_compensated)
        self._excitation = Excitation(configuration)
        self._outputs = ControllerOutputs(node, configuration, parameters["base_frame"])
        self._closers.append(self._outputs.close)
        reader = ReferenceReader(configuration, parameters["base_frame"], parameters["ee_frame"])
        self._loop = self._make_loop(stream_input(configuration, self._control, reader))
        self._closers.append(self._loop.close)
        for target in target_inputs(configuration, self._control, reader):
            self._subscribe(target)
        self._loop.start()

    def _make_loop(self, stream: Input) -> ControlLoop:
        node, parameters, options = self._node, self._parameters, self._control.options
        states = HotSubscription(node, JointState, names.JOINT_STATES, STREAM)
        self._closers.append(states.close)
        references = HotSubscription(node, stream.kind, stream.topic, STREAM)
        self._closers.append(references.close)
        commands = node.create_publisher(Float64MultiArray, parameters["command_topic"], STREAM)
        self._closers.append(lambda: node.destroy_publisher(commands))
        return ControlLoop(
            self._control,
            JointStateReader(self.configuration.joints, options.nominal_dt, options.measurement_timeout),
            LoopPorts(states, references, stream.follow, commands),
            LoopTimes(options.nominal_dt, options.nominal_dt * options.max_dt_ratio, parameters["watchdog_timeout"]),
            self._warn,
        )

    def _subscribe(self, target: Input) -> None:
        def follow(message: Any) -> None:
            try:
                target.follow(message)
            except ThunderError as error:
                self._loop.refuse(error)

        subscription = self._node.create_subscription(target.kind, target.topic, follow, REQUEST)
        self._closers.append(lambda: self._node.destroy_subscription(subscription))

    def _warn(self, error: ThunderError) -> None:
        self._node.get_logger().warning(str(error), throttle_duration_sec=1.0)

    def close(self) -> None:
        """Stop at once and give everything back; call `stop` before, so that the effort is ramped down."""
        while self._closers:
            self._closers.pop()()

    # --- activation --------------------------------------------------------------------------------------------------

    @property
    def is_commanding(self) -> bool:
        """Whether efforts are sent."""
        return self._control.is_commanding

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

    def begin_stop(self) -> None:
        """Ramp down; returns at once."""
        self._control.begin_stop()

    def stop(self) -> bool:
        """Ramp down and wait for the end, `STOP_LIMIT` at most; whether it came in time."""
        in_time = self._loop.stop(STOP_LIMIT)
        self._guard.after_deactivation()
        return in_time

    @property
    def fault(self) -> str | None:
        """Why commanding must end now, None if it need not."""
        if self._loop.has_failed:
            return "the control loop has ended by an error"
        if self._loop.has_run_away:
            return "the arm ran away: joints beyond their velocity limits for longer than velocity_patience"
        return self._guard.fault

    # --- requests ----------------------------------------------------------------------------------------------------

    def freeze(self, freeze: bool) -> None:
        """Keep the estimates by request; contact keeps them as well."""
        self._frozen_by_request = freeze
        self.watch_contact()

    def watch_contact(self) -> None:
        """Freeze or adapt as request and contact say."""
        self._control.freeze_adaptation(self._frozen_by_request or self._guard.contact)

    def reset_estimates(self) -> None:
        """Back to the first estimates."""
        self._control.reset_estimates()

    def save_estimates(self, path: Path) -> None:
        """Write the estimates.

        Raises:
            LawError: if the file cannot be written.
        """
        save_estimates(path, self.configuration, self._control.snapshot())

    def estimates(self) -> tuple[LinkEstimate, ...]:
        """Estimates of the adapted links."""
        return link_estimates(self.configuration, self._control.snapshot())

    def set_gains(self, values: Mapping[str, Any]) -> None:
        """Change gains, all or none.

        Raises:
            ThunderError: with the reason.
        """
        self._control.set_gains(dict(values))

    def set_motion_limits(self, values: Mapping[str, Any]) -> None:
        """Bound the motions that begin from now on; parameters that `values` lacks are as they are.

        Raises:
            LawError: for a bound that is not positive and finite.
        """
        self._control.set_motion_limits(motion_limits(self._parameters, values))

    def stop_motion(self) -> None:
        """Come to rest and hold that place, whatever is followed now.

        Raises:
            LawError: if the controller is not active.
        """
        self._control.stop_motion()

    # --- reports -----------------------------------------------------------------------------------------------------

    def publish(self) -> None:
        """Publish estimates, errors, state and pose, once there is a measurement."""
        if np.isfinite(self._loop.state_age):
            snapshot = self._control.snapshot()
            self._outputs.publish(snapshot)
            self._excitation.add(snapshot)

    def condition(self) -> dict[str, Any]:
        """Collect what a `HealthReporter` reports on, of the time since the last call."""
        monitor = self._loop.monitor
        latencies, intervals = monitor.take_times()
        texts = {"joint_states age [s]": f"{self._loop.state_age:g}", "last refused reference": monitor.last_refusal}
        return {
            "snapshot": self._control.snapshot(),
            "excitation": self._excitation.report(),
            "silence": self._loop.silence,
            "counters": monitor.faults(),
            "extra": {**texts, **self._guard.diagnostics()},
            "latencies": latencies,
            "intervals": intervals,
        }
