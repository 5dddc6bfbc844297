"""The reference node as a process: it follows joint_states, starts where the controller is, and comes to rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from controller_robot import Q, build_panda
from geometry_msgs.msg import PoseStamped
from nodes import Inbox, NodeProcess, Probe
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from thunder_controllers.ros.common.qos import MONITOR, STREAM
from thunder_controllers.ros.reference.node import ReferenceNode

StartNode = Callable[..., NodeProcess]
MakeNode = Callable[..., ReferenceNode]

NODE = "/thunder_reference"
REFERENCE = "/adaptive_controller/reference"
PERIOD_NS = 5_000_000
POSITION = (0.45, 0.05, 0.5)


class World:
    """Plays the robot and the controller: states when asked for, and where the end effector is."""

    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.states = probe.publisher(JointState, "/joint_states", STREAM)
        self.errors = probe.node.create_publisher(PoseStamped, "/adaptive_controller/pose_error", MONITOR)
        self.poses = probe.publisher(PoseStamped, "/adaptive_controller/pose", MONITOR)
        self.time_ns = 1_000_000_000

    def pose(self, frame: str = "world") -> None:
        message = PoseStamped()
        message.header.frame_id = frame
        message.pose.position.x, message.pose.position.y, message.pose.position.z = POSITION
        message.pose.orientation.x, message.pose.orientation.w = 1.0, 0.0
        self.poses.publish(message)

    def state(self, step: int = PERIOD_NS, **joints: list[Any]) -> None:
        self.time_ns += step
        message = JointState(**joints)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.time_ns, 10**9)
        self.states.publish(message)

    def trigger(self, service: str) -> Trigger.Response:
        return self.probe.call(Trigger, f"{NODE}/{service}")

    def start(self) -> None:
        """Start as soon as the pose has arrived."""
        self.pose()
        self.probe.wait_until(lambda: self.trigger("start").success, "start")

    def next_reference(self, references: Inbox, step: int = PERIOD_NS) -> MultiDOFJointTrajectoryPoint:
        """Send one state and wait for its reference."""
        count = len(references)
        self.state(step)
        self.probe.wait_until(lambda: len(references) > count, "reference for a state")
        assert len(references) == count + 1
        return references.latest


@pytest.fixture
def references(probe: Probe) -> Iterator[Inbox]:
    with probe.listening(MultiDOFJointTrajectoryPoint, REFERENCE, STREAM) as inbox:
        yield inbox


def _position(point: MultiDOFJointTrajectoryPoint) -> np.ndarray:
    p = point.transforms[0].translation
    return np.array([p.x, p.y, p.z])


def _velocity(point: MultiDOFJointTrajectoryPoint) -> np.ndarray:
    v = point.velocities[0].linear
    return np.array([v.x, v.y, v.z])


def test_a_motion_follows_the_states_from_where_the_controller_is(
    probe: Probe, make_node: MakeNode, references: Inbox
) -> None:
    make_node(ReferenceNode, {"ramp_time": 0.2})
    world = World(probe)
    assert "nobody says where the robot is" in world.trigger("start").message
    world.start()
    world.state()  # the first state tells the time only
    first = world.next_reference(references)
    assert divmod(world.time_ns, 10**9) == (first.time_from_start.sec, first.time_from_start.nanosec)
    np.testing.assert_allclose(_position(first), POSITION, atol=1e-4)
    rotation = first.transforms[0].rotation
    np.testing.assert_allclose(np.abs([rotation.x, rotation.w]), [1.0, 0.0], atol=1e-12)
    points = [first] + [world.next_reference(references) for _ in range(100)]
    positions, velocities = np.array([_position(p) for p in points]), np.array([_velocity(p) for p in points])
    assert np.abs(velocities).max() > 0.1
    step = np.diff(positions, axis=0) / (PERIOD_NS * 1e-9)
    np.testing.assert_allclose(step, 0.5 * (velocities[1:] + velocities[:-1]), atol=2e-3)  # trapezoid, dt² j / 12

    assert world.trigger("start").message.startswith("start: a motion is under way")
    assert world.trigger("hold").success
    held = [world.next_reference(references) for _ in range(60)]
    np.testing.assert_allclose(_position(held[-1]), _position(held[-2]), atol=1e-12)
    np.testing.assert_allclose(_velocity(held[-1]), np.zeros(3), atol=1e-12)
    assert world.trigger("stop").success
    world.state()
    probe.get_parameters(NODE, "type")
    assert len(references) == 161


def test_duplicated_and_overtaken_states_and_a_jump_of_the_clock_make_no_step(
    probe: Probe, make_node: MakeNode, references: Inbox
) -> None:
    make_node(ReferenceNode, {"ramp_time": 0.2})
    world = World(probe)
    world.start()
    world.state()
    for _ in range(60):
        last = world.next_reference(references)
    world.state(0)
    world.state(-PERIOD_NS)  # overtaken
    world.time_ns += PERIOD_NS
    after = world.next_reference(references)
    speed = np.linalg.norm(_velocity(after))
    assert np.linalg.norm(_position(after) - _position(last)) < 1.5 * speed * PERIOD_NS * 1e-9
    jumped = world.next_reference(references, 3_200_000_000)  # no period of the motion
    assert np.linalg.norm(_position(jumped) - _position(after)) < 0.06 * 0.5  # at most 50 ms at 0.5 m/s
    restarted = world.next_reference(references, -3 * 10**9)
    np.testing.assert_allclose(_position(restarted), _position(jumped), atol=1e-12)


def test_autostart_waits_for_a_pose_of_the_right_frame_and_for_an_active_controller(
    probe: Probe, start_node: StartNode, references: Inbox
) -> None:
    process = start_node("reference", {"autostart": True, "type": "hold"})
    world = World(probe)
    world.pose("elsewhere")
    process.wait_for_output("poses of the controller are in 'elsewhere', not in 'world'")
    world.state()
    world.pose()
    assert "motion" not in process.output
    probe.wait_until(lambda: (world.errors.publish(PoseStamped()), "motion: hold" in process.output)[1], "start")
    point = world.next_reference(references)
    np.testing.assert_allclose(_position(point), POSITION, atol=1e-12)


def test_a_motion_out_of_reach_is_refused_and_nothing_is_sent(
    probe: Probe, make_node: MakeNode, references: Inbox
) -> None:
    library = build_panda()
    far = {"type": "pose_to_pose", "library": library.path, "pose_to_pose.positions": [1.5, 0.0, 0.4]}
    make_node(ReferenceNode, far)
    world = World(probe)
    world.pose()
    world.state(name=list(library.joint_names), position=Q.tolist())
    refusal = "start: the reference is out of reach from t = "
    probe.wait_until(lambda: refusal in world.trigger("start").message, "refusal")
    assert probe.set_parameters(NODE, {"pose_to_pose.positions": [0.45, 0.0, 0.5]})[0].successful
    assert world.trigger("start").success and not len(references)


def test_parameters_of_the_next_motion_may_change(probe: Probe, make_node: MakeNode, references: Inbox) -> None:
    make_node(ReferenceNode, {"type": "hold"})
    world = World(probe)
    assert probe.set_parameters(NODE, {"type": "pose_to_pose"})[0].successful
    world.pose()
    probe.wait_until(
        lambda: "positions: 0 values" in world.trigger("start").message, "refusal of a motion without positions"
    )
    (result,) = probe.set_parameters(NODE, {"limits.linear": [0.0, 1.0, 1.0]})
    assert not result.successful and "limits.linear" in result.reason
    assert probe.set_parameters(NODE, {"pose_to_pose.positions": [0.45, 0.05, 0.501]})[0].successful
    assert world.trigger("start").success
    world.state()
    points = [world.next_reference(references) for _ in range(200)]
    np.testing.assert_allclose(_position(points[-1]), [0.45, 0.05, 0.501], atol=1e-9)
