"""The reference node with joint motions: the law decides between poses and joints, the library gives the limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from controller_robot import Q, build_panda
from nodes import Inbox, NodeProcess, Probe
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

from thunder_controllers.host import Library
from thunder_controllers.ros.common.library_message import describe_folder, format_library_message
from thunder_controllers.ros.common.qos import LATCHED, MONITOR, STREAM
from thunder_controllers.ros.reference.node import ReferenceNode

StartNode = Callable[..., NodeProcess]
MakeNode = Callable[..., ReferenceNode]

NODE = "/thunder_reference"
CONTROLLER = "/adaptive_controller"
PERIOD_NS = 5_000_000


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda(law="slotine_li")


class World:
    """Plays the robot, its joints in another order than the library's."""

    def __init__(self, probe: Probe, library: Library) -> None:
        self.probe, self.names = probe, library.joint_names[::-1]
        self.states = probe.publisher(JointState, "/joint_states", STREAM)
        self.time_ns = 1_000_000_000

    def state(self) -> None:
        self.time_ns += PERIOD_NS
        message = JointState(name=list(self.names), position=Q[::-1].tolist())
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time_ns, 10**9)
        self.states.publish(message)

    def start(self) -> Trigger.Response:
        return self.probe.call(Trigger, f"{NODE}/start")

    def next_reference(self, references: Inbox) -> JointTrajectoryPoint:
        """Send one state and wait for its reference."""
        count = len(references)
        self.state()
        self.probe.wait_until(lambda: len(references) > count, "reference for a state")
        return references.latest


@pytest.fixture
def references(probe: Probe) -> Iterator[Inbox]:
    with probe.listening(JointTrajectoryPoint, f"{CONTROLLER}/joint_reference", STREAM) as inbox:
        yield inbox


def test_a_joint_motion_starts_where_the_joints_are_and_is_held_at_rest(
    probe: Probe, make_node: MakeNode, references: Inbox, library: Library
) -> None:
    make_node(ReferenceNode, {"type": "joint_lissajous", "library": library.path, "ramp_time": 0.2})
    world = World(probe, library)
    assert "nobody says where the robot is" in world.start().message
    world.state()
    probe.wait_until(lambda: world.start().success, "start")
    points = [world.next_reference(references) for _ in range(100)]
    q, qd = np.array([p.positions for p in points]), np.array([p.velocities for p in points])
    np.testing.assert_allclose(q[0], Q, atol=1e-4)
    assert (np.abs(qd).max(axis=0) > 0.1).all()
    # Trapezoid of the velocities: errs by dt² q⃛/12, with q⃛ below 100 rad/s³ in a ramp of 0.2 s.
    step = np.diff(q, axis=0) / (PERIOD_NS * 1e-9)
    np.testing.assert_allclose(step, 0.5 * (qd[1:] + qd[:-1]), atol=(PERIOD_NS * 1e-9) ** 2 * 100.0)
    assert probe.call(Trigger, f"{NODE}/hold").success
    held = [world.next_reference(references) for _ in range(60)]
    assert held[-1].positions == held[-2].positions
    np.testing.assert_allclose(held[-1].velocities, np.zeros(7), atol=1e-12)


def test_the_joint_states_of_a_gripper_advance_nothing(
    probe: Probe, make_node: MakeNode, references: Inbox, library: Library
) -> None:
    make_node(ReferenceNode, {"type": "joint_lissajous", "library": library.path, "ramp_time": 0.2})
    world = World(probe, library)
    finger = JointState(name=["finger"], position=[0.02])  # stamped by another clock
    world.state()
    world.states.publish(finger)
    probe.wait_until(lambda: world.start().success, "start")
    for k in range(50):
        world.states.publish(finger)
        point = world.next_reference(references)
        assert len(references) == k + 1
    assert 0.0 < np.abs(np.array(point.positions) - Q).max() < 0.1


def test_the_library_s_limits_are_kept(probe: Probe, make_node: MakeNode, library: Library) -> None:
    positions = [*Q.tolist(), *(library.position_upper + 0.1).tolist()]
    make_node(ReferenceNode, {"type": "joint_points", "library": library.path, "joint_points.positions": positions})
    world = World(probe, library)
    world.state()
    probe.wait_until(lambda: "joint_points.positions: point 1: " in world.start().message, "refusal")
    assert library.joint_names[0] in world.start().message


def test_auto_waits_for_the_library_and_follows_its_law(
    probe: Probe, start_node: StartNode, references: Inbox, library: Library
) -> None:
    process = start_node("reference", {"type": "auto", "autostart": True})
    world = World(probe, library)
    world.state()
    errors = probe.publisher(JointState, f"{CONTROLLER}/joint_error", MONITOR)
    errors.publish(JointState())
    assert "nobody says what the robot is" in world.start().message
    with probe.advertising(String, "/thunder_generator/library", LATCHED) as announced:
        announced.publish(String(data=format_library_message(describe_folder(Path(library.path).parent))))
        probe.wait_until(
            lambda: (errors.publish(JointState()), "motion: joint_lissajous" in process.output)[1], "start by itself"
        )
    np.testing.assert_allclose(world.next_reference(references).positions, Q, atol=1e-3)
