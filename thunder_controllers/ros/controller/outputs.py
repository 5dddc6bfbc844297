"""What the controller publishes beside its commands: estimates, errors, state, pose, all in standard messages."""

from __future__ import annotations

import array
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped, PoseStamped, TwistStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.publisher import Publisher
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension, MultiArrayLayout
from trajectory_msgs.msg import JointTrajectoryPoint

from thunder_controllers.host import Controller, Status
from thunder_controllers.host.inertia_estimate import ESTIMATE, LinkEstimate, about_com, split_estimate
from thunder_controllers.ros.common.qos import MONITOR
from thunder_controllers.ros.controller.inputs import Frames
from thunder_controllers.ros.controller.measurement import NANOSECONDS
from thunder_controllers.ros.controller.setup import Robot

FloatArray = NDArray[np.float64]

FRICTION = "friction_hat"
POSE_ERROR = "pose_error"
COEFFICIENTS = "coefficient"


@dataclass(frozen=True)
class Snapshot:
    """Copies of what one step used and computed.

    Attributes:
        stamp_ns: Of the measurement [ns].
        time: The same since the first one [s].
        q: Position [rad or m].
        qd: Velocity.
        effort: Last command [N·m or N].
        state: Flat state of the law.
        telemetry: Flat telemetry of the law.
        reference: Flat reference in effect.
        status: Of the host.
    """

    stamp_ns: int
    time: float
    q: FloatArray
    qd: FloatArray
    effort: FloatArray
    state: dict[str, FloatArray]
    telemetry: dict[str, FloatArray]
    reference: FloatArray
    status: Status

    @staticmethod
    def of(host: Controller, robot: Robot, stamp_ns: int, time: float, q: FloatArray, qd: FloatArray) -> Snapshot:
        """Copy everything; to be called while no step runs."""
        return Snapshot(
            stamp_ns,
            time,
            q.copy(),
            qd.copy(),
            np.array(host.effort),
            {entry.name: host.state(entry.name) for entry in robot.law.state},
            {entry.name: host.telemetry(entry.name) for entry in robot.law.telemetry},
            np.array(host.reference_vector),
            host.status,
        )

    def estimates(self, robot: Robot) -> tuple[LinkEstimate, ...]:
        """Estimates of the adapted links; none if the law adapts none."""
        return split_estimate(robot.links, self.state[ESTIMATE]) if robot.links else ()


class ControllerOutputs:
    """Publishers of one configuration.

    Args:
        node: Owns them.
        robot: Says what there is to publish.
        frames: Names of the frames.
    """

    def __init__(self, node: Node, robot: Robot, frames: Frames) -> None:
        self._node, self._robot, self._frames = node, robot, frames
        self._publishers: list[Publisher] = []
        self._estimates = {link: self._publisher(InertiaStamped, f"~/estimates/{link}") for link in robot.links}
        states = {entry.name: entry for entry in robot.law.state}
        telemetry = {entry.name: entry.size for entry in robot.law.telemetry}
        has_error = robot.is_cartesian and telemetry.get(POSE_ERROR) == 6
        self._error = self._publisher(TwistStamped, "~/pose_error") if has_error else None
        self._joint_error = None if robot.is_cartesian else self._publisher(JointState, "~/joint_error")
        has_pose = "T_0_ee" in robot.library.functions
        self._pose = self._publisher(PoseStamped, "~/pose") if has_pose else None
        self._friction = self._publisher(Float64MultiArray, "~/friction_estimates") if FRICTION in states else None
        self._state = state_format(robot)
        self._state_publisher = self._publisher(self._state.kind, "~/controller_state")

    def publish(self, snapshot: Snapshot, is_active: bool) -> None:
        """Publish the measured pose and the estimates always, errors and state while active."""
        stamp = Time(sec=snapshot.stamp_ns // NANOSECONDS, nanosec=snapshot.stamp_ns % NANOSECONDS)
        header = Header(stamp=stamp, frame_id=self._frames.base)
        for estimate in snapshot.estimates(self._robot):
            message = inertia_message(estimate, Header(stamp=stamp, frame_id=estimate.link))
            self._estimates[estimate.link].publish(message)
        if self._friction is not None:
            self._friction.publish(friction_message(snapshot.state[FRICTION], self._robot.joints))
        if self._pose is not None and np.isfinite(snapshot.q).all():
            T = np.asarray(self._robot.library.evaluate("T_0_ee", snapshot.q))
            self._pose.publish(pose_message(T, header))
        if not is_active:
            return
        if self._error is not None:
            self._error.publish(error_message(snapshot.telemetry[POSE_ERROR], header))
        if self._joint_error is not None:
            self._joint_error.publish(joint_error_message(snapshot, self._robot.joints, header))
        self._state_publisher.publish(self._state.message(snapshot, header))

    def close(self) -> None:
        """Destroy the publishers."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)
        self._publishers.clear()

    def _publisher(self, kind: Any, topic: str) -> Publisher:
        publisher = self._node.create_publisher(kind, topic, MONITOR)
        self._publishers.append(publisher)
        return publisher


def inertia_message(estimate: LinkEstimate, header: Header) -> InertiaStamped:
    """Write an estimate as m [kg], com [m] and inertia about the CoM [kg·m²], in the link's frame."""
    message = InertiaStamped(header=header)
    inertia = message.inertia
    m, cx, cy, cz, ixx, ixy, ixz, iyy, iyz, izz = (float(value) for value in about_com(estimate.pi))
    inertia.m = m
    inertia.com.x, inertia.com.y, inertia.com.z = cx, cy, cz
    inertia.ixx, inertia.ixy, inertia.ixz = ixx, ixy, ixz
    inertia.iyy, inertia.iyz, inertia.izz = iyy, iyz, izz
    return message


def friction_message(values: FloatArray, joints: Sequence[str]) -> Float64MultiArray:
    """Write friction estimates, coefficient (viscous, Coulomb) by joint."""
    return table_message(np.ravel(values).reshape(-1, len(joints)), COEFFICIENTS, ("viscous", "coulomb"), joints)


def table_message(values: FloatArray, name: str, rows: Sequence[str], columns: Sequence[str]) -> Float64MultiArray:
    """Write a table, row by row; the labels are `name:row,row,…` and `joint:column,column,…`."""
    layout = MultiArrayLayout(
        dim=[
            MultiArrayDimension(label=f"{name}:{','.join(rows)}", size=values.shape[0], stride=values.size),
            MultiArrayDimension(label=f"joint:{','.join(columns)}", size=values.shape[1], stride=values.shape[1]),
        ]
    )
    return Float64MultiArray(layout=layout, data=array.array("d", np.ascontiguousarray(values, dtype=float).tobytes()))


def pose_message(T: FloatArray, header: Header) -> PoseStamped:
    """Write a homogeneous transform."""
    message = PoseStamped(header=header)
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = T[:3, 3].tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
    return message


def error_message(error: FloatArray, header: Header) -> TwistStamped:
    """Write a pose error: linear [m], angular r sin θ [1]."""
    message = TwistStamped(header=header)
    linear, angular = message.twist.linear, message.twist.angular
    linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = np.ravel(error).tolist()
    return message


def joint_error_message(snapshot: Snapshot, joints: Sequence[str], header: Header) -> JointState:
    """Write the error of a joint law: q_d − q [rad or m] and q̇_d − q̇."""
    q_d, qd_d, _ = np.split(snapshot.reference, 3)
    position, velocity = (array.array("d", e.tobytes()) for e in (q_d - snapshot.q, qd_d - snapshot.qd))
    return JointState(header=header, name=list(joints), position=position, velocity=velocity)


class ArrayState:
    """Controller state as a table: rows position, velocity, effort, and the reference of joint laws."""

    kind: Any = Float64MultiArray

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def message(self, snapshot: Snapshot, header: Header) -> Float64MultiArray:
        """Write a step."""
        rows = {"position": snapshot.q, "velocity": snapshot.qd, "effort": snapshot.effort}
        if not self._robot.is_cartesian:
            n = len(snapshot.q)
            rows["reference_position"], rows["reference_velocity"] = (
                snapshot.reference[:n],
                snapshot.reference[n : 2 * n],
            )
        return table_message(np.array(list(rows.values())), "quantity", list(rows), self._robot.joints)


class ControlMessageState:
    """Controller state as control_msgs/JointTrajectoryControllerState."""

    def __init__(self, robot: Robot, kind: Any) -> None:
        self._robot, self.kind = robot, kind

    def message(self, snapshot: Snapshot, header: Header) -> Any:
        """Write a step."""
        message = self.kind(header=header, joint_names=list(self._robot.joints))
        message.feedback = _point(snapshot.q, snapshot.qd)
        message.output = JointTrajectoryPoint(effort=snapshot.effort.tolist())
        if not self._robot.is_cartesian:
            n = len(snapshot.q)
            q, qd, qdd = (snapshot.reference[k * n : (k + 1) * n] for k in range(3))
            message.reference = _point(q, qd, qdd)
            message.error = _point(q - snapshot.q, qd - snapshot.qd)
        return message


def _point(q: FloatArray, qd: FloatArray, qdd: FloatArray | None = None) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist())
    if qdd is not None:
        point.accelerations = qdd.tolist()
    return point


def state_format(robot: Robot) -> ArrayState | ControlMessageState:
    """Choose control_msgs where it is installed."""
    try:
        messages = importlib.import_module("control_msgs.msg")
    except ImportError:
        return ArrayState(robot)
    return ControlMessageState(robot, messages.JointTrajectoryControllerState)
