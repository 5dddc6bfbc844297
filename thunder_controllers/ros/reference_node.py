"""The reference: streams a motion to the controller, one reference for each joint_states."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, Transform, Twist, TwistStamped
from numpy.typing import NDArray
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from thunder_controllers.ros import names
from thunder_controllers.ros.hot_subscription import HotSubscription
from thunder_controllers.ros.parameters import DeclaredParameters
from thunder_controllers.ros.qos import MONITOR, STREAM
from thunder_controllers.ros.reference_motion import Motion, PoseValue, legs_of
from thunder_controllers.ros.reference_parameters import REFERENCE_PARAMETERS
from thunder_controllers.ros.runtime import run
from thunder_controllers.ros.simulation_faults import NANOSECONDS
from thunder_controllers.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_dynamics.errors import ScenarioError, ThunderError

FloatArray = NDArray[np.float64]

LOOK = 0.05
"""Longest wait for a message without a look at whether the node should end [s]."""

MAX_STEP = 0.05
"""The motion advances by at most this between two messages [s], so that a gap in time is no jump of it."""


class ReferenceNode(Node):
    """Node `thunder_reference`; see `names.NODES` for its topics, services and parameters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(names.REFERENCE, **options)
        self._settings = DeclaredParameters(self)
        self._settings.declare(REFERENCE_PARAMETERS)
        self._motion = Motion()
        self._lock = threading.Lock()
        self._pose: PoseValue | None = None
        controller = self._settings["controller"]
        self._writer = ReferenceWriter(self, f"{controller}/reference")
        self._states = HotSubscription(self, JointState, names.JOINT_STATES, STREAM)
        self.create_subscription(PoseStamped, f"{controller}/pose", self._on_pose, MONITOR)
        if self._settings["autostart"]:
            topic = f"{controller}/pose_error"  # an inactive controller has none
            self._activity = self.create_subscription(TwistStamped, topic, self._on_activity, MONITOR)
        for service, action, done in (
            ("~/start", self._start, "started"),
            ("~/stop", self._motion.stop, "coming to rest"),
            ("~/hold", self._motion.hold, "coming to rest, then holding"),
        ):
            self.create_service(Trigger, service, self._service(action, done))
        self._ending = False
        self._thread = threading.Thread(target=self._stream, name="reference_stream", daemon=True)
        self._thread.start()

    def destroy_node(self) -> None:
        """End the stream, then the node."""
        self._ending = True
        self._thread.join()
        super().destroy_node()

    def _service(
        self, action: Callable[[], None], done: str
    ) -> Callable[[Trigger.Request, Trigger.Response], Trigger.Response]:
        """Make a service of an action that raises when it cannot be done."""

        def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            try:
                with self._lock:
                    action()
            except ThunderError as error:
                response.success, response.message = False, str(error)
            else:
                response.success, response.message = True, done
            return response

        return answer

    def _start(self) -> None:
        pose = self._motion.held_pose or self._pose
        if pose is None:
            raise ScenarioError(
                "nobody says where the robot is",
                where=f"topic {self._settings['controller']}/pose",
                valid="a configured controller that receives joint_states",
            )
        self._motion.start(legs_of(self._settings, pose), self._settings["ramp_time"])
        self.get_logger().info(f"motion: {self._settings['type']}")

    def _on_pose(self, message: PoseStamped) -> None:
        frame = self._settings["frame_id"]
        if message.header.frame_id != frame:
            self.get_logger().warning(
                f"poses of the controller are in '{message.header.frame_id}', not in '{frame}': they are not used",
                throttle_duration_sec=5.0,
            )
            return
        self._pose = pose_value(message)

    def _on_activity(self, _: TwistStamped) -> None:
        """Start by itself, once."""
        if self._pose is not None:
            self.destroy_subscription(self._activity)
            with self._lock:
                self._start()

    def _stream(self) -> None:
        """Send one reference for each new state, in a thread of its own."""
        newest: int | None = None
        while not self._ending:
            if not self._states.wait(LOOK):
                continue
            while (message := self._states.take()) is not None:
                stamp = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
                step = 0 if newest is None else stamp - newest
                if step < 0 and -step <= MAX_STEP * NANOSECONDS:
                    continue  # overtaken by a newer one, for which there was a reference
                newest = stamp
                if step != 0:
                    self._send(min(max(step / NANOSECONDS, 0.0), MAX_STEP))

    def _send(self, dt: float) -> None:
        with self._lock:
            sample = self._motion.advance(dt)
        if sample is not None:
            self._writer.send(sample)


class ReferenceWriter:
    """Publishes Cartesian samples; allocates no message per sample.

    Args:
        node: Owns the publisher.
        topic: Of the references.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_publisher(MultiDOFJointTrajectoryPoint, topic, STREAM)
        self._transform, self._velocity, self._acceleration = Transform(), Twist(), Twist()
        self._message = MultiDOFJointTrajectoryPoint(
            transforms=[self._transform], velocities=[self._velocity], accelerations=[self._acceleration]
        )
        self._rotation = np.full(9, np.nan)

    def send(self, sample: FloatArray) -> None:
        """Publish a sample, shape (24,)."""
        _write(self._transform.translation, sample[POSITION])
        rotation = sample[ROTATION]
        if not np.array_equal(rotation, self._rotation):
            self._rotation = rotation.copy()
            quaternion = Rotation.from_matrix(rotation.reshape(3, 3).T).as_quat().tolist()
            target = self._transform.rotation
            target.x, target.y, target.z, target.w = quaternion
        for twist, values in ((self._velocity, sample[TWIST]), (self._acceleration, sample[ACCELERATION])):
            _write(twist.linear, values[:3])
            _write(twist.angular, values[3:])
        self._publisher.publish(self._message)


def _write(vector: Any, values: FloatArray) -> None:
    vector.x, vector.y, vector.z = values.tolist()


def pose_value(message: PoseStamped) -> PoseValue:
    """Pose of a message."""
    p, q = message.pose.position, message.pose.orientation
    return PoseValue(np.array([p.x, p.y, p.z]), Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix())


def main() -> None:
    """Run the node as a program."""
    sys.exit(run(ReferenceNode))


if __name__ == "__main__":
    main()
