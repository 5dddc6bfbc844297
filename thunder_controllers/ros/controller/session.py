"""One configuration of the controller: everything that exists from on_configure to on_cleanup."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import (
    JointTrajectory,
    JointTrajectoryPoint,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

from thunder_controllers.host import Controller
from thunder_controllers.host.inertia_estimate import LinkEstimate
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.hot_subscription import HotSubscription
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import REQUEST, STREAM
from thunder_controllers.ros.common.robot_guard import GuardContext, RobotGuard
from thunder_controllers.ros.controller.estimates_file import save_estimates
from thunder_controllers.ros.controller.excitation import Excitation
from thunder_controllers.ros.controller.health import Health
from thunder_controllers.ros.controller.inputs import (
    Frames,
    ReferenceMessageError,
    fill_joint_sample,
    fill_sample,
    target_of,
    timed_joints,
    timed_poses,
)
from thunder_controllers.ros.controller.loop import ControlLoop, LoopPorts, LoopTimes
from thunder_controllers.ros.controller.measurement import JointStateReader
from thunder_controllers.ros.controller.outputs import ControllerOutputs, Snapshot
from thunder_controllers.ros.controller.reference_feed import ReferenceFeed
from thunder_controllers.ros.controller.robot_guard import make_guard
from thunder_controllers.ros.controller.setup import Robot, configure_host, motion_limits, set_gains
from thunder_dynamics.errors import LawError, ThunderError

FloatArray = NDArray[np.float64]

STOP_LIMIT = 1.5
"""How long the ramp to the safe effort may take before commanding ends all the same [s]."""


class Session:
    """Host, loop, publishers and subscriptions of one configuration.

    Args:
        node: Owns the entities.
        parameters: Of the node; the gains are declared here.
        robot: What to run.

    Raises:
        ThunderError: if it cannot be configured; nothing is left behind then.
    """

    def __init__(self, node: LifecycleNode, parameters: DeclaredParameters, robot: Robot) -> None:
        self.robot = robot
        self._node, self._parameters = node, parameters
        self._frozen_by_request = False
        self._targets: list[Any] = []
        self._host = Controller()
        self._closers: list[Callable[[], None]] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        node, parameters, robot = self._node, self._parameters, self.robot
        self._closers.append(lambda: parameters.undeclare(robot.gains))
        parameters.declare(robot.gains)
        self.guard: RobotGuard = make_guard(
            parameters["robot_interface"], GuardContext(node, parameters, robot.library, self.estimates)
        )
        self._closers.append(self.guard.close)
        configure_host(self._host, robot, parameters, self.guard.gravity_compensated)
        self._host.set_motion_limits(motion_limits(parameters))
        self._excitation = Excitation(robot.library, robot.links)
        self._last_sample: float | None = None
        self.frames = Frames(parameters["base_frame"], parameters["ee_frame"])
        self._outputs = ControllerOutputs(node, robot, self.frames)
        self._closers.append(self._outputs.close)
        self._loop = self._make_loop()
        self._closers.append(self._loop.close)
        self._subscribe_targets()
        self._loop.start()

    def _make_loop(self) -> ControlLoop:
        node, parameters = self._node, self._parameters
        nominal, timeout = 1.0 / parameters["update_rate"], parameters["measurement_timeout"]
        states = HotSubscription(node, JointState, names.JOINT_STATES, STREAM)
        self._closers.append(states.close)
        kind, topic, fill = self._stream_kind()
        references = HotSubscription(node, kind, topic, STREAM)
        self._closers.append(references.close)
        commands = node.create_publisher(Float64MultiArray, parameters["command_topic"], STREAM)
        self._closers.append(lambda: _ignore(node.destroy_publisher(commands)))
        longest = self._host.options.nominal_dt * self._host.options.max_dt_ratio
        return ControlLoop(
            self._host,
            JointStateReader(self.robot.joints, nominal, timeout),
            ReferenceFeed(self._host, parameters["reference_timeout"]),
            LoopPorts(states, references, fill, commands),
            LoopTimes(nominal, longest, parameters["watchdog_timeout"]),
            self._warn,
        )

    def _stream_kind(self) -> tuple[Any, str, Callable[[Any, FloatArray], None]]:
        """Message, topic and reader of the streamed references that the law takes."""
        if self.robot.is_cartesian:
            return MultiDOFJointTrajectoryPoint, "~/reference", fill_sample
        return JointTrajectoryPoint, "~/joint_reference", fill_joint_sample

    def _subscribe_targets(self) -> None:
        kinds: list[tuple[Any, str, Callable[[Any], None]]] = [
            (JointTrajectory, "~/joint_trajectory", self._on_joint_trajectory)
        ]
        if self.robot.is_cartesian:
            kinds = [
                (PoseStamped, "~/target_pose", self._on_target_pose),
                (MultiDOFJointTrajectory, "~/trajectory", self._on_trajectory),
            ]
        for kind, topic, callback in kinds:
            self._targets.append(self._node.create_subscription(kind, topic, callback, REQUEST))

    def close(self) -> None:
        """Stop at once and give everything back; call `stop` before, so that the effort is ramped down."""
        for subscription in self._targets:
            self._node.destroy_subscription(subscription)
        self._targets.clear()
        while self._closers:
            self._closers.pop()()

    # --- activation --------------------------------------------------------------------------------------------------

    @property
    def is_commanding(self) -> bool:
        """Whether efforts are sent."""
        return self._loop.is_commanding

    def activate(self) -> None:
        """Start commanding.

        Raises:
            ThunderError: if robot, measurement, reference or law speak against it.
        """
        if self._loop.has_failed:
            raise LawError(
                "the control loop has ended by an error", where="activate", valid="clean up, configure again"
            )
        self.guard.before_activation()
        reason = self.guard.check_activation()
        if reason is not None:
            raise LawError(reason, where="activate")
        self._excitation.restart()
        self._last_sample = None
        self.freeze(self._parameters["freeze_on_start"])
        self._loop.activate()

    def begin_stop(self) -> None:
        """Ramp down; returns at once."""
        self._loop.begin_stop()

    def stop(self) -> bool:
        """Ramp down and wait for the end, `STOP_LIMIT` at most; whether it came in time."""
        in_time = self._loop.stop(STOP_LIMIT)
        self.guard.after_deactivation()
        return in_time

    @property
    def fault(self) -> str | None:
        """Why commanding must end now, None if it need not."""
        if self._loop.has_failed:
            return "the control loop has ended by an error"
        if self._loop.has_run_away:
            return "the arm ran away: joints beyond their velocity limits for longer than velocity_patience"
        return self.guard.fault

    # --- estimates and gains -----------------------------------------------------------------------------------------

    def freeze(self, freeze: bool) -> None:
        """Keep the estimates by request; contact keeps them as well."""
        self._frozen_by_request = freeze
        self.watch_contact()

    def watch_contact(self) -> None:
        """Freeze or adapt as request and contact say."""
        with self._loop.lock:
            self._host.freeze_adaptation(self._frozen_by_request or self.guard.contact)

    def reset_estimates(self) -> None:
        """Back to the first estimates."""
        with self._loop.lock:
            self._host.reset_state()

    def save_estimates(self, path: Path) -> None:
        """Write the estimates.

        Raises:
            EstimatesFileError: if the law has none, or the file cannot be written.
        """
        with self._loop.lock:
            values = {name: self._host.state(name) for name in self.robot.owner.sizes}
        save_estimates(path, self.robot.owner, values)

    def estimates(self) -> tuple[LinkEstimate, ...]:
        """Estimates of the adapted links."""
        return self.snapshot().estimates(self.robot)

    def set_gains(self, values: Mapping[str, Any]) -> None:
        """Change gains, all or none.

        Raises:
            LawError: with the reason.
        """
        with self._loop.lock:
            set_gains(self._host, values)

    # --- references --------------------------------------------------------------------------------------------------

    def set_motion_limits(self, values: Mapping[str, Any]) -> None:
        """Bound the motions that begin from now on; parameters that `values` lacks are as they are.

        Raises:
            LawError: for a bound that is not positive and finite.
        """
        with self._loop.lock:
            self._host.set_motion_limits(motion_limits(self._parameters, values))

    def stop_motion(self) -> None:
        """Come to rest and hold that place, whatever is followed now.

        Raises:
            LawError: if the controller is not active.
        """
        loop = self._loop
        with loop.lock:
            if not loop.is_commanding:
                raise LawError("the controller is not active", where="stop", valid="activate it first")
            loop.reference.move(Controller.stop_motion)

    def _on_target_pose(self, message: PoseStamped) -> None:
        self._start(lambda host: host.move_to_pose(*target_of(message, self.frames)))

    def _on_trajectory(self, message: MultiDOFJointTrajectory) -> None:
        self._start(lambda host: host.follow(timed_poses(message, self.frames)))

    def _on_joint_trajectory(self, message: JointTrajectory) -> None:
        self._start(lambda host: host.follow(timed_joints(message, self.robot.joints)))

    def _start(self, begin: Callable[[Controller], None]) -> None:
        loop = self._loop
        try:
            with loop.lock:
                if not loop.is_commanding:
                    raise ReferenceMessageError("the controller is not active", valid="activate it first")
                if loop.reference.is_streamed:
                    raise ReferenceMessageError("a reference is being streamed", valid="stop the stream first")
                loop.reference.move(begin)
        except ThunderError as error:
            loop.monitor.refuse(str(error))
            self._warn(error)

    def _warn(self, error: ThunderError) -> None:
        self._node.get_logger().warning(str(error), throttle_duration_sec=1.0)

    # --- reports -----------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Copy what the last step used and computed."""
        loop = self._loop
        with loop.lock:
            reader = loop.reader
            return Snapshot.of(self._host, self.robot, reader.stamp_ns, reader.time, reader.q, reader.qd)

    def publish(self) -> None:
        """Publish estimates, errors, state and pose, once there is a measurement."""
        if not np.isfinite(self._loop.state_age):
            return
        snapshot = self.snapshot()
        is_active = self._loop.is_commanding
        self._outputs.publish(snapshot, is_active)
        if is_active and self._excitation.is_available:
            self._sample_excitation(snapshot)

    def _sample_excitation(self, snapshot: Snapshot) -> None:
        dt = 0.0 if self._last_sample is None else snapshot.time - self._last_sample
        self._last_sample = snapshot.time
        self._excitation.add(snapshot.q, snapshot.qd, snapshot.telemetry.get("qd_r", snapshot.qd), dt)

    def health(self, state: str, messages: tuple[str, ...]) -> Health:
        """Collect what the diagnostics say of the time since the last call."""
        loop = self._loop
        with loop.lock:
            latencies, intervals = loop.monitor.take_times()
            faults = {**loop.monitor.faults(), "reference lost": loop.reference.lost}
            status = self._host.status
        return Health(
            state=state,
            status=status,
            latencies=latencies,
            intervals=intervals,
            state_age=loop.state_age,
            state_limit=self._parameters["watchdog_timeout"],
            faults=faults,
            reference=loop.reference.source,
            excitation=self._excitation.report() if self._excitation.is_available else None,
            extra={"last refused reference": loop.monitor.last_refusal, **self.guard.diagnostics()},
            messages=messages,
        )


def _ignore(result: object) -> None:
    """Make a call with a result into one without."""
