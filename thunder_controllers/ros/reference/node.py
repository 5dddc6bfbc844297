"""The reference: streams a motion to the controller, one reference for each joint_states."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from thunder_controllers.host import Configuration, Library, Limits, Options
from thunder_controllers.references.circles import circles_of
from thunder_controllers.references.feasibility import check_reference
from thunder_controllers.references.motion import Journey, Kind, Motion
from thunder_controllers.references.trajectories import Pose
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.announced import on_library
from thunder_controllers.ros.common.declarations import node_parameters
from thunder_controllers.ros.common.diagnostics import note_failure, plain
from thunder_controllers.ros.common.hot_subscription import LOOK, HotSubscription
from thunder_controllers.ros.common.messages import NANOSECONDS, is_foreign, nanoseconds, read_joints
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.qos import MONITOR, STREAM
from thunder_controllers.ros.common.runtime import run
from thunder_controllers.ros.common.services import create_trigger
from thunder_controllers.ros.controller.configuration import load_configuration
from thunder_controllers.ros.reference.plans import JointSpace, plan_joints, plan_poses
from thunder_controllers.ros.reference.writers import JointWriter, PoseWriter
from thunder_dynamics.errors import ScenarioError, ThunderError

FloatArray = NDArray[np.float64]

MAX_STEP = 0.05
"""The motion advances by at most this between two messages [s], so that a gap in time is no jump of it."""

RECENT = 8
"""States kept to find the robot's among those of other joints, before it is known which are the robot's."""

QUATERNION_TOLERANCE = 1e-3
"""A quaternion's norm may differ from one by this; it is then normalised."""


class NotReadyError(ScenarioError):
    """What a motion starts from has not arrived yet."""


class ReferenceNode(Node):
    """Node `thunder_reference`; see `interfaces.yaml` for its topics, services and parameters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(names.REFERENCE, **options)
        self._settings = DeclaredParameters(self)
        self._settings.declare(node_parameters("reference", names.REFERENCE))
        self._motion = Motion()
        self._lock = threading.Lock()
        self._pose: FloatArray | None = None
        self._recent: deque[JointState] = deque(maxlen=RECENT)
        self._joints: tuple[str, ...] = ()
        self._announced: Library | None = None
        self._robot: Configuration | None = None
        controller = self._settings["controller"]
        self._writers: dict[Kind, PoseWriter | JointWriter] = {
            "cartesian": PoseWriter(self, f"{controller}/reference"),
            "joint": JointWriter(self, f"{controller}/joint_reference"),
        }
        self._states = HotSubscription(self, JointState, names.JOINT_STATES, STREAM)
        self.create_subscription(PoseStamped, f"{controller}/pose", self._on_pose, MONITOR)
        on_library(self, self._settings, self._announce)
        self._newest: int | None = None
        self._activity: list[Any] = []
        if self._settings["autostart"]:  # an inactive controller has no errors
            for kind, topic in ((PoseStamped, "pose_error"), (JointState, "joint_error")):
                subscription = self.create_subscription(kind, f"{controller}/{topic}", self._on_activity, MONITOR)
                self._activity.append(subscription)
        create_trigger(self, "~/start", lambda: self._locked(self._start), "started")
        create_trigger(self, "~/stop", lambda: self._locked(self._motion.stop), "coming to rest")
        create_trigger(self, "~/hold", lambda: self._locked(self._motion.hold), "coming to rest, then holding")
        self._ending = False
        self._thread = threading.Thread(target=self._stream, name="reference_stream", daemon=True)
        self._thread.start()

    def destroy_node(self) -> None:
        """End the stream, then the node."""
        self._ending = True
        self._thread.join()
        super().destroy_node()

    def _locked(self, action: Callable[[], None]) -> None:
        with self._lock:
            action()

    def _start(self) -> None:
        kind = self._settings["type"]
        if kind == "auto":
            kind = "lissajous" if self._known_robot().is_cartesian else "joint_lissajous"
        with suppress(ThunderError):  # a Cartesian motion can do without; it then follows whatever joints move
            self._joints = self._known_robot().joints
        if kind.startswith("joint_"):
            robot = self._known_robot()
            library = robot.library
            limits = library.position_lower, library.position_upper, library.velocity_limit
            space = JointSpace(robot.joints, *limits, circles_of(library))
            journey = plan_joints(kind, self._settings, self._start_joints(robot), space)
        else:
            journey = plan_poses(kind, self._settings, self._start_pose())
            self._check(journey)
        self._motion.start(journey)
        self.get_logger().info(f"motion: {kind}")

    def _check(self, journey: Journey) -> None:
        """Refuse a motion of poses that the robot cannot make; of a robot that nobody names, nothing can be said."""
        robot = self._robot
        if robot is None:
            self.get_logger().warning("reach and speeds of the motion are not checked: nobody says what the robot is")
        elif robot.is_cartesian:
            q, limits = self._measured_joints(robot), Limits(robot.library, Options())
            for note in check_reference(robot.library, robot.law, limits, *journey.preview(), q, "start"):
                self.get_logger().warning(plain(note))

    def _start_pose(self) -> FloatArray:
        held = self._motion.held("cartesian")
        place = self._pose if held is None else held
        if place is None:
            raise NotReadyError(
                "nobody says where the robot is",
                where=f"topic {self._settings['controller']}/pose",
                valid="a configured controller that receives joint_states",
            )
        return place

    def _start_joints(self, robot: Configuration) -> FloatArray:
        held = self._motion.held("joint")
        if held is not None:
            return held
        return self._measured_joints(robot)

    def _measured_joints(self, robot: Configuration) -> FloatArray:
        state = next((state for state in reversed(self._recent) if not is_foreign(state.name, robot.joints)), None)
        if state is None:
            raise NotReadyError("nobody says where the robot is", where="topic joint_states", valid="a robot")
        return read_joints(state, robot.joints)[0]

    def _known_robot(self) -> Configuration:
        if self._robot is None:
            if self._announced is None and not self._settings["library"]:
                raise NotReadyError(
                    "nobody says what the robot is",
                    where=f"topic {self._settings['library_topic']}",
                    valid="a generator that has built, or the parameter library",
                )
            self._robot = load_configuration(self._settings, self._announced)
        return self._robot

    def _announce(self, library: Library) -> None:
        with self._lock:
            self._announced, self._robot = library, None

    def _on_pose(self, message: PoseStamped) -> None:
        frame = self._settings["frame_id"]
        p, q = message.pose.position, message.pose.orientation
        position, quaternion = np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w])
        if message.header.frame_id != frame:
            self._warn(f"poses of the controller are in '{message.header.frame_id}', not in '{frame}'")
        elif not np.isfinite(position).all() or not abs(np.linalg.norm(quaternion) - 1.0) < QUATERNION_TOLERANCE:
            self._warn("a pose of the controller is not finite, or its quaternion not of norm 1")
        else:
            self._pose = Pose(**Pose.keys(position, Rotation.from_quat(quaternion).as_matrix())).at_rest[:12]

    def _warn(self, what: str) -> None:
        self.get_logger().warning(plain(f"{what}: it is not used"), throttle_duration_sec=5.0)

    def _on_activity(self, _: PoseStamped | JointState) -> None:
        """Start by itself, or say why that cannot be done, once."""
        try:
            self._locked(self._start)
        except NotReadyError:
            return
        except ThunderError as error:
            self.get_logger().error(f"not started: {plain(error)}")
        for subscription in self._activity:
            self.destroy_subscription(subscription)

    def _stream(self) -> None:
        """Send one reference for each new state, in a thread of its own."""
        while not self._ending:
            if not self._states.wait(LOOK):
                continue
            while not self._ending and (message := self._states.take()) is not None:  # they may come without a pause
                if self._joints and is_foreign(message.name, self._joints):
                    continue
                try:
                    self._follow(message)
                except Exception as error:  # noqa: BLE001 # a defect: the next state may do
                    note_failure(self, error)

    def _follow(self, message: JointState) -> None:
        stamp = nanoseconds(message.header.stamp)
        step = 0 if self._newest is None else stamp - self._newest
        if step < 0 and -step <= MAX_STEP * NANOSECONDS:
            return  # overtaken by a newer one, for which there was a reference
        self._newest = stamp
        self._recent.append(message)
        if step != 0:
            self._send(stamp, min(max(step / NANOSECONDS, 0.0), MAX_STEP))

    def _send(self, stamp: int, dt: float) -> None:
        with self._lock:
            sample = self._motion.advance(dt)
        if sample is not None:
            self._writers[self._motion.kind].send(sample, stamp)


def main() -> None:
    """Run the node as a program."""
    sys.exit(run(ReferenceNode, enclave="reference"))


if __name__ == "__main__":
    main()
