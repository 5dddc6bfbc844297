"""What the controller publishes beside its commands: estimates, errors, state, pose, all in standard messages."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import InertiaStamped, PoseStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from trajectory_msgs.msg import JointTrajectoryPoint

from thunder_controllers.host import Configuration, Snapshot, about_com, estimate_topics
from thunder_controllers.host.inertia_estimate import FRICTION, LinkEstimate, link_estimates
from thunder_controllers.ros.common.messages import (
    array_message,
    doubles,
    write_rotation,
    write_stamp,
    write_turn,
    write_vector,
)
from thunder_controllers.ros.common.qos import LATCHED, MONITOR

FloatArray = NDArray[np.float64]

EXTERNAL_TORQUE = "external_torque"
POSE_ERROR = "pose_error"
ORIENTATION_COSINE = "orientation_cosine"
PICKED_UP = "picked_up"
COEFFICIENTS = ("viscous", "coulomb")
"""What the state `friction_hat` holds, each of all joints."""
CHANGE, BODY = "change", 2.0
"""Telemetry of what has changed of the carried body, and its value once that is known to be another body."""


class ControllerOutputs:
    """Publishers of one configuration.

    Args:
        node: Owns them.
        configuration: Says what there is to publish.
        base_frame: Of poses and errors.
    """

    def __init__(self, node: Node, configuration: Configuration, base_frame: str) -> None:
        self._node, self._configuration, self._base_frame = node, configuration, base_frame
        self._publishers: list[Publisher] = []
        self._estimates = {
            link: self._publisher(InertiaStamped, f"~/{topic}")
            for link, topic in zip(configuration.links, estimate_topics(configuration.links), strict=True)
        }
        law, is_cartesian = configuration.law, configuration.is_cartesian
        telemetry = {entry.name: entry.size for entry in law.telemetry}
        has_error = is_cartesian and telemetry.get(POSE_ERROR) == 6
        self._error = self._publisher(PoseStamped, "~/pose_error") if has_error else None
        self._has_cosine = telemetry.get(ORIENTATION_COSINE) == 1
        self._joint_error = None if is_cartesian else self._publisher(JointState, "~/joint_error")
        has_pose = "T_0_ee" in configuration.library.functions
        self._pose = self._publisher(PoseStamped, "~/pose") if has_pose else None
        friction_size = len(COEFFICIENTS) * len(configuration.joints)
        has_friction = (FRICTION, friction_size) in [(entry.name, entry.size) for entry in law.state]
        friction_kind, self._write_friction = message_format("DynamicJointState", array_friction, control_friction)
        self._friction = self._publisher(friction_kind, "~/friction_estimates") if has_friction else None
        has_external = EXTERNAL_TORQUE in telemetry
        self._external = self._publisher(JointState, "~/external_torque") if has_external else None
        has_change = bool(configuration.carrying_link)
        self._picked_up = self._publisher(InertiaStamped, "~/picked_up", LATCHED) if has_change else None
        self._is_picked_up = False
        state_kind, self._write_state = message_format("JointTrajectoryControllerState", array_state, control_state)
        self._state = self._publisher(state_kind, "~/controller_state")

    def publish(self, snapshot: Snapshot) -> None:
        """Publish the measured pose and the estimates always, errors and state while active."""
        configuration, q = self._configuration, snapshot.q
        header = Header(frame_id=self._base_frame)
        write_stamp(header.stamp, snapshot.stamp)
        for estimate in link_estimates(configuration, snapshot):
            message = inertia_message(estimate, Header(stamp=header.stamp, frame_id=estimate.link))
            self._estimates[estimate.link].publish(message)
        if self._friction is not None:
            self._friction.publish(self._write_friction(configuration, snapshot, header))
        if self._pose is not None and np.isfinite(q).all():
            T = np.asarray(configuration.library.evaluate("T_0_ee", q))
            self._pose.publish(pose_message(T, header))
        if not snapshot.is_active:
            return
        if self._error is not None:
            cosine = snapshot.telemetry(ORIENTATION_COSINE).item() if self._has_cosine else None
            self._error.publish(error_message(snapshot.telemetry(POSE_ERROR), cosine, header))
        if self._joint_error is not None:
            self._joint_error.publish(joint_error_message(snapshot, configuration.joints, header))
        if self._external is not None:
            effort = doubles(np.ravel(snapshot.telemetry(EXTERNAL_TORQUE)))
            self._external.publish(JointState(header=header, name=list(configuration.joints), effort=effort))
        if self._picked_up is not None:
            self._publish_picked_up(self._picked_up, snapshot, header)
        self._state.publish(self._write_state(configuration, snapshot, header))

    def _publish_picked_up(self, publisher: Publisher, snapshot: Snapshot, header: Header) -> None:
        """Publish what was picked up once that is known; before the next body it is unknown again, for seconds."""
        was, self._is_picked_up = self._is_picked_up, bool(snapshot.telemetry(CHANGE) == BODY)
        if self._is_picked_up and not was:
            link = self._configuration.carrying_link
            body = LinkEstimate(link, np.ravel(snapshot.telemetry(PICKED_UP)))
            publisher.publish(inertia_message(body, Header(stamp=header.stamp, frame_id=link)))

    def close(self) -> None:
        """Destroy the publishers."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)

    def _publisher(self, kind: Any, topic: str, qos: QoSProfile = MONITOR) -> Publisher:
        publisher = self._node.create_publisher(kind, topic, qos)
        self._publishers.append(publisher)
        return publisher


def inertia_message(estimate: LinkEstimate, header: Header) -> InertiaStamped:
    """Write an estimate as m [kg], com [m] and inertia about the CoM [kg·m²], in the link's frame."""
    message = InertiaStamped(header=header)
    inertia = message.inertia
    values = about_com(estimate.pi).tolist()
    inertia.m, inertia.com.x, inertia.com.y, inertia.com.z = values[:4]
    inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz = values[4:]
    return message


def table_message(values: FloatArray, name: str, rows: Sequence[str], columns: Sequence[str]) -> Float64MultiArray:
    """Write a table, row by row; the labels are `name:row,row,…` and `joint:column,column,…`."""
    return array_message(values, f"{name}:{','.join(rows)}", f"joint:{','.join(columns)}")


def pose_message(T: FloatArray, header: Header) -> PoseStamped:
    """Write a homogeneous transform."""
    message = PoseStamped(header=header)
    write_vector(message.pose.position, T[:3, 3])
    write_rotation(message.pose.orientation, T[:3, :3])
    return message


def error_message(error: FloatArray, cosine: float | None, header: Header) -> PoseStamped:
    """Write a pose error, [m] and r sin θ, and cos θ where it is known, as the pose that leads to the reference."""
    message = PoseStamped(header=header)
    linear, sine = np.split(np.ravel(error), 2)
    write_vector(message.pose.position, linear)
    write_turn(message.pose.orientation, sine, cosine)
    return message


def joint_error_message(snapshot: Snapshot, joints: Sequence[str], header: Header) -> JointState:
    """Write the error of a joint law: q_d − q [rad or m] and q̇_d − q̇."""
    q_d, qd_d, _ = _joint_reference(snapshot)
    errors = {"position": doubles(q_d - snapshot.q), "velocity": doubles(qd_d - snapshot.qd)}
    return JointState(header=header, name=list(joints), **errors)


def array_friction(configuration: Configuration, snapshot: Snapshot, _: Header) -> Float64MultiArray:
    """Write the estimated friction as a table, coefficient by joint."""
    return table_message(_friction(snapshot), "coefficient", COEFFICIENTS, configuration.joints)


def control_friction(messages: Any, configuration: Configuration, snapshot: Snapshot, header: Header) -> Any:
    """Write the estimated friction as DynamicJointState of `messages`, control_msgs."""
    values = [
        messages.InterfaceValue(interface_names=list(COEFFICIENTS), values=of_joint.tolist())
        for of_joint in _friction(snapshot).T
    ]
    joints = list(configuration.joints)
    return messages.DynamicJointState(header=header, joint_names=joints, interface_values=values)


def _friction(snapshot: Snapshot) -> FloatArray:
    return snapshot.state(FRICTION).reshape(len(COEFFICIENTS), -1)


def array_state(configuration: Configuration, snapshot: Snapshot, header: Header) -> Float64MultiArray:
    """Write a step as a table: rows position, velocity, effort, and the reference of joint laws."""
    rows = {"position": snapshot.q, "velocity": snapshot.qd, "effort": snapshot.effort}
    if not configuration.is_cartesian:
        rows["reference_position"], rows["reference_velocity"], _ = _joint_reference(snapshot)
    return table_message(np.array(list(rows.values())), "quantity", list(rows), configuration.joints)


def control_state(messages: Any, configuration: Configuration, snapshot: Snapshot, header: Header) -> Any:
    """Write a step as JointTrajectoryControllerState of `messages`, control_msgs."""
    message = messages.JointTrajectoryControllerState(header=header, joint_names=list(configuration.joints))
    message.feedback = _point(snapshot.q, snapshot.qd)
    message.output = JointTrajectoryPoint(effort=snapshot.effort.tolist())
    if not configuration.is_cartesian:
        q, qd, qdd = _joint_reference(snapshot)
        message.reference = _point(q, qd, qdd.tolist())
        message.error = _point(q - snapshot.q, qd - snapshot.qd)
    return message


def _joint_reference(snapshot: Snapshot) -> list[FloatArray]:
    """Positions, velocities and accelerations; further entries come after them."""
    return np.split(snapshot.reference_vector[: 3 * len(snapshot.q)], 3)


def _point(q: FloatArray, qd: FloatArray, qdd: Sequence[float] = ()) -> JointTrajectoryPoint:
    return JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist(), accelerations=list(qdd))


Writer = Callable[[Configuration, Snapshot, Header], Any]


def message_format(name: str, write_array: Writer, write: Callable[..., Any]) -> tuple[Any, Writer]:
    """Choose the message class, `name` of control_msgs where that is installed, or an array, and what writes it."""
    try:
        messages = importlib.import_module("control_msgs.msg")
    except ImportError:
        return Float64MultiArray, write_array
    return getattr(messages, name), partial(write, messages)
