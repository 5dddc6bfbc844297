"""A controller that runs, node or plugin, from a Python program: move, stream, estimates, gains."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, Pose, PoseStamped
from numpy.typing import ArrayLike, NDArray
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future
from scipy.spatial.transform import Rotation
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.references.trajectories import ACCELERATION, POSITION, ROTATION, TWIST
from thunder_controllers.ros.common import names
from thunder_controllers.ros.common.messages import write_rotation, write_vector
from thunder_controllers.ros.common.qos import MONITOR, REQUEST
from thunder_controllers.ros.controller.configuration import GAIN_PREFIX
from thunder_controllers.ros.reference.writers import PoseWriter
from thunder_dynamics.errors import DimensionError, ThunderError

FloatArray = NDArray[np.float64]

ESTIMATES = "estimates/"
REFUSED, WHY_REFUSED = "references refused", "last refused reference"
"""Keys of the controller's diagnostics."""


class ControllerError(ThunderError):
    """A controller does not answer, or refuses what it is asked for."""


@dataclass(frozen=True)
class Estimate:
    """What the controller takes a link to be.

    Attributes:
        mass: [kg].
        com: In the link's frame (3,) [m].
        inertia: About the CoM, symmetric (3, 3) [kg·m²].
    """

    mass: float
    com: FloatArray
    inertia: FloatArray

    @classmethod
    def of(cls, message: InertiaStamped) -> Estimate:
        """Read a message."""
        body = message.inertia
        rows = [[body.ixx, body.ixy, body.ixz], [body.ixy, body.iyy, body.iyz], [body.ixz, body.iyz, body.izz]]
        return cls(body.m, np.array([body.com.x, body.com.y, body.com.z]), np.array(rows))


class Arm:
    """An arm under a Cartesian controller that is active.

        with Arm() as arm:
            arm.set_gains(Lambda=[8.0] * 6)
            arm.move([0.45, 0.1, 0.4])
            print(arm.estimates["panda_link7"].mass)

    It has a context, a node and a thread of its own, and may be used beside other nodes of the process.

    Args:
        controller: Name of the controller, absolute or in the root namespace.
        timeout: For its answers [s].
        domain_id: Of DDS; that of ROS_DOMAIN_ID by default.
        name: Of this node.

    Raises:
        ControllerError: if no such controller says where its arm is.
    """

    def __init__(
        self,
        controller: str = names.CONTROLLER,
        *,
        timeout: float = 10.0,
        domain_id: int | None = None,
        name: str = "thunder_client",
    ) -> None:
        self._controller, self._timeout = f"/{controller.strip('/')}", timeout
        self._changed = threading.Condition()
        self._latest: dict[str, Any] = {}
        self._conditions: dict[str, str] = {}
        self._clients: dict[str, Any] = {}
        self._estimates: set[str] = set()
        self._context = rclpy.Context()
        rclpy.init(args=[], context=self._context, domain_id=domain_id)
        self._node = rclpy.create_node(name, context=self._context, use_global_arguments=False)
        self._targets = self._node.create_publisher(PoseStamped, self._named("target_pose"), REQUEST)
        self._stream = PoseWriter(self._node, self._named("reference"))
        self._node.create_subscription(PoseStamped, self._named("pose"), self._keep("pose"), MONITOR)
        self._node.create_subscription(DiagnosticArray, names.DIAGNOSTICS, self._on_diagnostics, MONITOR)
        self._parameters = AsyncParameterClient(self._node, self._controller)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)
        self._thread.start()
        try:
            self._wait(lambda: "pose" in self._latest, "pose", "a controller that is configured and sees its arm")
        except ControllerError:
            self.close()
            raise

    def __enter__(self) -> Arm:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End node and thread; the controller holds the last place of a stream, and finishes a motion."""
        self._executor.shutdown()
        self._thread.join(self._timeout)
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)

    # --- what the controller says ------------------------------------------------------------------------------

    @property
    def pose(self) -> FloatArray:
        """Measured pose of the end effector in the controller's base frame, (4, 4)."""
        pose: Pose = self._latest["pose"].pose
        p, q = pose.position, pose.orientation
        T = np.eye(4)
        T[:3, 3], T[:3, :3] = [p.x, p.y, p.z], Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
        return T

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """The newest estimate of each adapted link, by its topic's last part; the first call waits for them.

        Raises:
            ControllerError: if the controller publishes none.
        """
        prefix = self._named(ESTIMATES)
        kinds = self._node.get_topic_names_and_types()
        for topic in {topic for topic, _ in kinds if topic.startswith(prefix)} - self._estimates:
            self._estimates.add(topic)
            self._node.create_subscription(InertiaStamped, topic, self._keep(topic), MONITOR)
        topics = sorted(self._estimates)
        self._wait(lambda: topics and all(map(self._latest.get, topics)), ESTIMATES, "a law that adapts")
        return {topic.removeprefix(prefix): Estimate.of(self._latest[topic]) for topic in topics}

    @property
    def gains(self) -> Mapping[str, Any]:
        """Gains of the law by name: numbers, or lists of them.

        Raises:
            ControllerError: if the controller does not answer.
        """
        listed = self._answer(self._parameters.list_parameters([GAIN_PREFIX.rstrip(".")], 10), "list_parameters")
        found = self._answer(self._parameters.get_parameters(listed.result.names), "get_parameters")
        values = map(parameter_value_to_python, found.values)
        return {name.removeprefix(GAIN_PREFIX): value for name, value in zip(listed.result.names, values, strict=True)}

    # --- what it is asked for ----------------------------------------------------------------------------------

    def set_gains(self, **gains: float | ArrayLike) -> None:
        """Set gains, all or none.

        Raises:
            ControllerError: with the controller's reason if it refuses one.
        """
        values = {name: np.asarray(value, dtype=float).tolist() for name, value in gains.items()}
        given = [Parameter(f"{GAIN_PREFIX}{name}", value=value) for name, value in values.items()]
        said = self._answer(self._parameters.set_parameters_atomically(given), "set_parameters_atomically").result
        if not said.successful:
            raise ControllerError(said.reason, where=self._controller)

    def move(
        self, target: ArrayLike, *, position: float = 1e-3, angle: float = 5e-3, timeout: float | None = None
    ) -> None:
        """Move the end effector in a straight line to rest at a target, within the controller's limits, and wait.

        Of a controller without `tool_frame`: otherwise the target would be the tool's, and the pose is not.

        Args:
            target: Pose (4, 4), or position (3,) [m] with the orientation that is measured.
            position: How near the arm must come to it [m].
            angle: The same of the orientation [rad].
            timeout: For the way [s]; by default that of the answers, and a second for each centimetre.

        Raises:
            DimensionError: if the target has another shape.
            ControllerError: with the controller's reason if it refuses the target, or if the arm is late.
        """
        wanted = self._pose_of(target)
        self._wait(lambda: REFUSED in self._conditions, names.DIAGNOSTICS, "a controller that reports its condition")
        before = self._conditions[REFUSED]  # of a client that has heard nothing yet, an old refusal would look new
        message = PoseStamped(header=self._latest["pose"].header)
        message.header.stamp.sec = message.header.stamp.nanosec = 0
        write_vector(message.pose.position, wanted[:3, 3])
        write_rotation(message.pose.orientation, wanted[:3, :3])
        heard = self._targets.get_subscription_count
        self._wait(heard, "target_pose", "a Cartesian controller that is configured")
        self._targets.publish(message)

        def is_over() -> bool:
            return self._conditions[REFUSED] != before or self._is_near(wanted, position, angle)

        if timeout is None:
            timeout = self._timeout + 100.0 * float(np.linalg.norm(wanted[:3, 3] - self.pose[:3, 3]))
        self._wait(is_over, "pose", "the arm at its target", timeout)
        if not self._is_near(wanted, position, angle):
            raise ControllerError(self._conditions[WHY_REFUSED], where=self._named("target_pose"))

    def stream(self, target: ArrayLike, twist: ArrayLike | None = None) -> None:
        """Give the place where the end effector is to be now; call it at 20 Hz or more, and it is followed smoothly.

        Args:
            target: Pose (4, 4), or position (3,) [m] with the orientation that is measured.
            twist: Its velocity (6,) [m/s, rad/s], linear part first; zero by default.

        Raises:
            DimensionError: if an argument has another shape.
        """
        wanted, rates = self._pose_of(target), np.zeros(6) if twist is None else np.asarray(twist, dtype=float)
        if rates.shape != (6,):
            raise DimensionError(f"a twist of shape {rates.shape}", where="twist", valid="(6,)")
        sample = np.zeros(ACCELERATION.stop)
        sample[POSITION], sample[ROTATION], sample[TWIST] = wanted[:3, 3], wanted[:3, :3].T.ravel(), rates
        self._stream.send(sample, 0)

    def freeze(self, keeps: bool = True) -> None:
        """Keep the estimates constant, or let them adapt.

        Raises:
            ControllerError: if the controller refuses or does not answer.
        """
        self._call(SetBool, "freeze_adaptation", SetBool.Request(data=keeps))

    def save_estimates(self) -> Path:
        """Save what was learned, in the file that the controller answers with: the `estimates_file` of a next start.

        Raises:
            ControllerError: if the controller refuses or does not answer.
        """
        return Path(self._call(Trigger, "save_estimates", Trigger.Request()))

    def start(self) -> None:
        """Go along the figure of the controller's parameters; `ControllerError` as of `freeze`."""
        self._call(Trigger, "start", Trigger.Request())

    def stop(self) -> None:
        """Come to rest and hold that place; `ControllerError` as of `freeze`."""
        self._call(Trigger, "stop", Trigger.Request())

    # --- the way there -----------------------------------------------------------------------------------------

    def _named(self, topic: str) -> str:
        return topic if topic.startswith("/") else f"{self._controller}/{topic}"

    def _spin(self) -> None:
        try:
            self._executor.spin()
        except ExternalShutdownException:
            return

    def _keep(self, key: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            with self._changed:
                self._latest[key] = message
                self._changed.notify_all()

        return take

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == self._controller.lstrip("/"):
                with self._changed:
                    self._conditions = {pair.key: pair.value for pair in status.values}
                    self._changed.notify_all()

    def _wait(self, condition: Callable[[], Any], what: str, valid: str, timeout: float | None = None) -> None:
        limit = self._timeout if timeout is None else timeout
        with self._changed:
            if not self._changed.wait_for(lambda: bool(condition()), limit):
                raise ControllerError(f"nothing within {limit:.3g} s", where=self._named(what), valid=valid)

    def _answer(self, future: Future, service: str) -> Any:
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        if not done.wait(self._timeout):
            where = self._named(service)
            raise ControllerError(f"no answer within {self._timeout:g} s", where=where, valid="a controller that runs")
        return future.result()

    def _call(self, kind: Any, service: str, request: Any) -> str:
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, self._named(service))
        client = self._clients[service]
        if not client.wait_for_service(self._timeout):
            where = self._named(service)
            raise ControllerError(f"not there within {self._timeout:g} s", where=where, valid="a controller that runs")
        answer = self._answer(client.call_async(request), service)
        if not answer.success:
            raise ControllerError(answer.message, where=self._named(service))
        return str(answer.message)

    def _pose_of(self, target: ArrayLike) -> FloatArray:
        given = np.asarray(target, dtype=float)
        if given.shape == (4, 4):
            return given
        if given.shape != (3,):
            raise DimensionError(f"a target of shape {given.shape}", where="target", valid="(4, 4) or (3,)")
        T = self.pose
        T[:3, 3] = given
        return T

    def _is_near(self, wanted: FloatArray, position: float, angle: float) -> bool:
        pose = self.pose
        turn = Rotation.from_matrix(wanted[:3, :3].T @ pose[:3, :3]).magnitude()
        return bool(np.linalg.norm(wanted[:3, 3] - pose[:3, 3]) <= position and turn <= angle)
