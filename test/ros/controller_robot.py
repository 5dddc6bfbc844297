"""An arm for the controller's tests: the real node in the test's process, stepped by the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Transform, Twist
from nodes import Probe
from rclpy.parameter import Parameter
from scipy.spatial.transform import Rotation
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from thunder_controllers.host import Library
from thunder_controllers.ros.common.qos import STREAM
from thunder_controllers.ros.controller.node import AdaptiveController

Q = np.array([0.0, -0.3, 0.0, -2.0, 0.1, 1.8, 0.7])
"""A posture well inside the Panda's ranges, away from singularities."""

LINK = "panda_link7"
TRUE_MASS = 0.735522
"""Of the last link [kg], config/robots/panda.yaml."""

SIMULATED_PANDA = {
    "urdf": str(Path(__file__).parents[2] / "urdf/panda.urdf.xacro"),
    "q_start": [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0],
    "mode": "lockstep",
    "bringup": True,
    "freeze_on_start": True,
}
"""Parameters of the simulation node: an arm that is controlled, and waits for that."""

NODE = "/adaptive_controller"
PERIOD_NS = 1_000_000

PARAMETERS = {
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
    return Library(build(model, laws=[(law, law_options or {})]) / "libpanda.so")


class TestRobot:
    """Stays where the test puts it. The node spins in the thread of the probe; steps are the test's own.

    Args:
        probe: Talks to the node.
        library: Of the arm, whose joints it has in the same order unless others are given.
        joints: Names in the order of the arm.
        parameters: Of the node, beside PARAMETERS and the library.
    """

    __test__ = False

    def __init__(self, probe: Probe, library: Library, joints: Sequence[str] = (), /, **parameters: Any) -> None:
        self.probe, self.library = probe, library
        given = {**PARAMETERS, "library": library.path, **parameters}
        self.node = AdaptiveController(
            joints or library.joint_names,
            PERIOD_NS * 1e-9,
            context=probe.context,
            parameter_overrides=[Parameter(name, value=value) for name, value in given.items()],
            use_global_arguments=False,
        )
        probe.executor.add_node(self.node)
        n = len(joints) or library.n_joints
        self.q, self.qd, self.held = Q[:n].copy(), np.zeros(n), np.zeros(n)
        self.stamp_ns = 1_000_000_000
        self.efforts: list[np.ndarray] = []
        """All that were commanded."""
        self._references: Any = None
        self.diagnostics = probe.listen(DiagnosticArray, "/diagnostics")

    def close(self) -> None:
        """End the node."""
        self.reset()
        self.probe.in_own_thread(self.probe.executor.remove_node, self.node)
        self.node.destroy_node()

    def step(self, advance_ns: int = PERIOD_NS) -> np.ndarray:
        """Show the arm to the controller; the effort in force."""
        self.stamp_ns += advance_ns
        effort = self.node.step(self.stamp_ns, self.q, self.qd, self.held, in_lockstep=False)
        if effort is not None:
            self.efforts.append(effort.copy())
        return self.effort

    def steps(self, count: int) -> np.ndarray:
        """Efforts of several steps, shape (count, n)."""
        return np.array([self.step() for _ in range(count)])

    @contextmanager
    def running(self) -> Iterator[None]:
        """Step in a thread, for what waits for that."""
        end = threading.Event()

        def run() -> None:
            while not end.wait(1e-4):
                self.step()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()

    @property
    def effort(self) -> np.ndarray:
        """The last command; NaN before the first."""
        return self.efforts[-1] if self.efforts else np.full(len(self.q), np.nan)

    @property
    def gravity(self) -> np.ndarray:
        """Gravity torque here."""
        return np.asarray(self.library.evaluate("G", self.q))

    @property
    def pose(self) -> np.ndarray:
        """Pose of the end effector here, (4, 4)."""
        return np.asarray(self.library.evaluate("T_0_ee", self.q))

    @property
    def state(self) -> str:
        """Of the lifecycle."""
        return self.probe.state(NODE)

    def transition(self, label: str) -> bool:
        """Drive a transition, while the simulation goes on where it has to; whether it succeeded."""
        if label != "deactivate":
            return self.probe.transition(NODE, label)
        with self.running():
            return self.probe.transition(NODE, label)

    def activate(self) -> np.ndarray:
        """Configure unless that is done, measure, activate; returns the first command."""
        if self.state == "unconfigured":
            assert self.transition("configure"), self.report()["message"]
        self.held = self.gravity
        self.step()
        assert self.transition("activate"), self.report()["message"]
        return self.step()

    def reset(self) -> None:
        """Bring the controller back to unconfigured."""
        if self.state == "active":
            assert self.transition("deactivate")
        if self.state == "inactive":
            assert self.transition("cleanup")
        assert self.state == "unconfigured"
        self.efforts.clear()
        self.qd[:] = 0.0

    def set(self, **values: Any) -> None:
        """Set parameters, `gains__gamma` for gains.gamma."""
        results = self.probe.set_parameters(NODE, {name.replace("__", "."): value for name, value in values.items()})
        assert all(result.successful for result in results), results

    def references(self) -> Any:
        """Publisher of streamed references, once the controller listens."""
        if self._references is None:
            self._references = self.probe.publisher(MultiDOFJointTrajectoryPoint, f"{NODE}/reference", STREAM)
        publisher = self._references
        self.probe.wait_until(lambda: publisher.get_subscription_count() > 0, "subscription to references")
        return publisher

    def push(self, offset: Sequence[float] = (0.05, 0.0, 0.05), steps: int = 40) -> None:
        """Stream a pose some centimetres away, so that the law pushes the arm, which does not move."""
        publisher = self.references()
        publisher.publish(reference_message(self.pose, offset))
        self.probe.wait_until(lambda: (self.step(), self.report()["reference"] == "stream")[1], "the stream")
        for _ in range(steps):
            publisher.publish(reference_message(self.pose, offset))
            self.step()

    @property
    def pushes(self) -> bool:
        """Whether the effort is far from what holds the arm."""
        return bool(np.abs(self.effort - self.gravity).max() > 5.0)

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


def reference_message(T: np.ndarray, offset: Sequence[float] = (0.0, 0.0, 0.0)) -> MultiDOFJointTrajectoryPoint:
    """A streamed reference at rest at a pose, shifted by `offset` [m]."""
    transform = Transform()
    transform.translation.x, transform.translation.y, transform.translation.z = (T[:3, 3] + offset).tolist()
    rotation = transform.rotation
    rotation.x, rotation.y, rotation.z, rotation.w = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
    return MultiDOFJointTrajectoryPoint(transforms=[transform], velocities=[Twist()], accelerations=[Twist()])
