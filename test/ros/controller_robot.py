"""A robot for the controller's tests: real joint_states out, real commands in, one after the other as in lock-step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, Transform, Twist
from nodes import NodeProcess, Probe
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from thunder_controllers.host import Library
from thunder_controllers.ros.common.qos import STREAM

Q = np.array([0.0, -0.3, 0.0, -2.0, 0.1, 1.8, 0.7])
"""A posture well inside the Panda's ranges, away from singularities."""

NODE = "/adaptive_controller"
PERIOD_NS = 1_000_000

PARAMETERS = {
    "watchdog_timeout": 5.0,  # the tests' steps take as long as the machine likes
    "publish_rate": 100.0,
    "diagnostics_rate": 20.0,
    # The robot of these tests stays where it is, whatever it is asked for.
    "approaches_jumps": False,
    "approach_patience": float("inf"),
}


def build_panda(law_options: dict[str, Any] | None = None, law: str = "cartesian_backstepping") -> Library:
    """The Panda with one law, the Cartesian one by default, from the cache if it is there."""
    from thunder_controllers.resources import share
    from thunder_dynamics import build, load_model

    model = load_model(share("config/robots/panda.yaml"))
    folder = build(model, laws=[(law, law_options or {})], python=False)
    return Library(Path(folder) / "libpanda.so")


class TestRobot:
    """Publishes joint_states with the stamps that a test wants, and takes the commands."""

    __test__ = False

    def __init__(self, probe: Probe, library: Library) -> None:
        self.probe, self.library = probe, library
        self.q, self.qd = Q.copy(), np.zeros(library.n_joints)
        self.names: Sequence[str] = library.joint_names
        self.stamp_ns = 1_000_000_000
        self.commands = probe.listen(Float64MultiArray, "effort_controller/commands", STREAM)
        self.states = probe.publisher(JointState, "joint_states", STREAM, subscribers=0)
        self._references: Any = None
        self.diagnostics = probe.listen(DiagnosticArray, "/diagnostics")

    def send(self, advance_ns: int = PERIOD_NS, **changes: Any) -> None:
        """Publish one joint_states; `changes` replace fields of the message."""
        self.stamp_ns += advance_ns
        fields = {"name": list(self.names), "position": self.q.tolist(), "velocity": self.qd.tolist(), **changes}
        message = JointState(**fields)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.stamp_ns, 10**9)
        self.states.publish(message)

    def step(self, advance_ns: int = PERIOD_NS, **changes: Any) -> np.ndarray:
        """Publish one joint_states and wait for its command."""
        count = len(self.commands)
        self.send(advance_ns, **changes)
        self.probe.wait_until(lambda: len(self.commands) > count, "command")
        return self.effort

    def steps(self, count: int) -> np.ndarray:
        """Efforts of several steps, shape (count, n)."""
        return np.array([self.step() for _ in range(count)])

    @property
    def effort(self) -> np.ndarray:
        """The last command."""
        return np.array(self.commands.latest.data)

    @property
    def gravity(self) -> np.ndarray:
        """Gravity torque here."""
        return np.asarray(self.library.evaluate("G", self.q))

    def activate(self, controller: NodeProcess) -> np.ndarray:
        """Configure, send a measurement, activate; returns the first command."""
        assert self.probe.transition(NODE, "configure"), controller.output
        self.connect()
        return self.start(controller)

    def connect(self) -> None:
        """Wait until the controller listens and is heard."""
        self.probe.wait_until(lambda: self.states.get_subscription_count() > 0, "subscription to joint_states")
        self.probe.wait_until(
            lambda: self.probe.node.count_publishers("effort_controller/commands") > 0, "publisher of commands"
        )

    def be_seen(self) -> None:
        """Send a measurement and wait until the controller has it: it then publishes the pose."""
        with self.probe.listening(PoseStamped, f"{NODE}/pose") as poses:
            self.probe.wait_until(lambda: self.probe.node.count_publishers(f"{NODE}/pose") > 0, "publisher of the pose")
            self.send()
            stamp = divmod(self.stamp_ns, 10**9)
            poses.wait(lambda pose: (pose.header.stamp.sec, pose.header.stamp.nanosec) == stamp)

    def start(self, controller: NodeProcess) -> np.ndarray:
        """Send a measurement, activate; returns the first command."""
        count = len(self.commands)
        self.be_seen()
        assert self.probe.transition(NODE, "activate"), controller.output
        self.probe.wait_until(lambda: len(self.commands) > count, "first command")
        return self.effort

    @property
    def pose(self) -> np.ndarray:
        """Pose of the end effector here, (4, 4)."""
        return np.asarray(self.library.evaluate("T_0_ee", self.q))

    def references(self) -> Any:
        """Publisher of streamed references, once the controller listens."""
        if self._references is None:
            self._references = self.probe.publisher(MultiDOFJointTrajectoryPoint, f"{NODE}/reference", STREAM)
        publisher = self._references
        self.probe.wait_until(lambda: publisher.get_subscription_count() > 0, "subscription to references")
        return publisher

    def report(self, accept: Any = lambda values: True) -> dict[str, str]:
        """Wait for a report of the controller whose values are accepted; `level` and `message` are among them."""

        def wanted(message: DiagnosticArray) -> bool:
            return message.status[0].name == NODE[1:] and accept(values_of(message))

        self.diagnostics.clear()
        return values_of(self.diagnostics.wait(wanted))


def values_of(message: DiagnosticArray) -> dict[str, str]:
    """Values of a report, with its level and message."""
    status = message.status[0]
    values = {pair.key: pair.value for pair in status.values}
    return {**values, "message": status.message, "level": str(int.from_bytes(status.level, "little"))}


@contextmanager
def running_controller(probe: Probe, folder: Path, **parameters: Any) -> Iterator[NodeProcess]:
    """A controller process for several tests; `reset` brings it back to unconfigured between them."""
    process = NodeProcess("controller", {**PARAMETERS, **parameters}, folder)
    try:
        probe.wait_for_process(process)
        yield process
        process.stop()
    finally:
        process.kill()


def reset(probe: Probe) -> None:
    """Bring the controller back to unconfigured."""
    if probe.state(NODE) == "active":
        assert probe.transition(NODE, "deactivate")
    if probe.state(NODE) == "inactive":
        assert probe.transition(NODE, "cleanup")
    assert probe.state(NODE) == "unconfigured"


def reference_message(T: np.ndarray, offset: Sequence[float] = (0.0, 0.0, 0.0)) -> MultiDOFJointTrajectoryPoint:
    """A streamed reference at rest at a pose, shifted by `offset` [m]."""
    transform = Transform()
    transform.translation.x, transform.translation.y, transform.translation.z = (T[:3, 3] + offset).tolist()
    rotation = transform.rotation
    rotation.x, rotation.y, rotation.z, rotation.w = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
    return MultiDOFJointTrajectoryPoint(transforms=[transform], velocities=[Twist()], accelerations=[Twist()])
