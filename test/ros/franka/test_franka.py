"""The Franka guard on a real node, with the real franka_msgs over DDS, beside a node that answers as franka_ros2 does.

The other side is not franka_ros2: it publishes what a test says, and records what it is asked.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from nodes import TIMEOUT, Probe
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import thunder_dynamics as td
from thunder_controllers.host import Library
from thunder_controllers.host.inertia_estimate import LinkEstimate
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_controllers.ros.common.robot_guard import RobotGuard
from thunder_controllers.ros.controller.session import make_guard
from thunder_controllers.ros.franka.services import destroy_services
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.inertia import Inertia

ROOT = Path(__file__).resolve().parents[3]
NEEDS_MESSAGES = "franka_msgs is not installed: source a workspace with franka_ros2, branch jazzy"
TOOL = Inertia(1.2, [0.01, -0.02, 0.15], np.diag([0.004, 0.005, 0.003]))
"""In the frame of the last link."""


@pytest.fixture(scope="module")
def library() -> Library:
    model = td.load_model(ROOT / "config/robots/panda.yaml")
    folder = td.build(model, laws=[("cartesian_backstepping", {"adapted_links": ["panda_link7"]})])
    return Library(folder / "libpanda.so")


class Robot:
    """Says and answers what franka_ros2 does; `state` is the message, published at 100 Hz while `speaks`.

    Requests are answered with success, unless there is a `refusal`; once `silence` is done, if it is set.
    """

    def __init__(self, probe: Probe) -> None:
        from franka_msgs.msg import FrankaRobotState
        from franka_msgs.srv import SetFullCollisionBehavior, SetLoad

        self.state = FrankaRobotState(robot_mode=FrankaRobotState.ROBOT_MODE_IDLE)
        self.state.tau_ext_hat_filtered.effort = [0.0] * 7
        self.requests: list[Any] = []
        self.refusal = ""
        self.speaks = True
        self.silence: Future | None = None
        self._node = node = probe.node
        self._publisher = node.create_publisher(FrankaRobotState, "franka_robot_state_broadcaster/robot_state", 10)
        self._timer = node.create_timer(0.01, self._publish)
        group = ReentrantCallbackGroup()  # while one waits, the probe goes on
        offered = {
            "set_load": (SetLoad, self._set_load),
            "set_full_collision_behavior": (SetFullCollisionBehavior, self._answer),
        }
        self._services = [
            node.create_service(kind, f"service_server/{name}", callback, callback_group=group)
            for name, (kind, callback) in offered.items()
        ]

    def _publish(self) -> None:
        if self.speaks:
            self._publisher.publish(self.state)

    async def _answer(self, request: Any, response: Any) -> Any:
        self.requests.append(request)
        if self.silence is not None:
            await self.silence
        response.success, response.error = not self.refusal, self.refusal
        return response

    async def _set_load(self, request: Any, response: Any) -> Any:
        if not self.refusal:
            inertia = self.state.inertia_load.inertia
            inertia.m = request.mass
            inertia.com.x, inertia.com.y, inertia.com.z = (float(value) for value in request.center_of_mass)
        return await self._answer(request, response)

    def close(self) -> None:
        if self.silence is not None:
            self.silence.set_result(None)
        self._node.destroy_timer(self._timer)
        self._node.destroy_publisher(self._publisher)
        destroy_services(self._node, self._services, is_answering=self.silence is not None)


class Guarded:
    """A node with the guard, spinning in a thread of its own."""

    def __init__(self, domain: int, library: Library, **parameters: Any) -> None:
        self.context = rclpy.Context()
        rclpy.init(args=[], context=self.context, domain_id=domain)
        overrides = [rclpy.Parameter(f"franka.{name}", value=value) for name, value in parameters.items()]
        self.node = rclpy.create_node("adaptive_controller", context=self.context, parameter_overrides=overrides)
        self.pi = np.array(library.pi[-10:])
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        estimates = lambda: (LinkEstimate(library.link_names[-1], self.pi),)  # noqa: E731
        parameters = DeclaredParameters(self.node)
        self.guard: RobotGuard = make_guard("franka", self.node, parameters, library, estimates)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except ExternalShutdownException:
            return

    def stop_spinning(self) -> None:
        self.executor.shutdown()
        self._thread.join(TIMEOUT)

    def close(self) -> None:
        self.stop_spinning()
        self.guard.close()
        self.end()

    def end(self) -> None:
        self.stop_spinning()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)


@pytest.fixture
def robot(probe: Probe) -> Iterator[Robot]:
    pytest.importorskip("franka_msgs.msg", reason=NEEDS_MESSAGES, exc_type=ImportError)
    made = Robot(probe)
    yield made
    made.close()
    probe.wait_until(lambda: not [s for s in probe.node.services if "service_server" in s.srv_name], "end of the robot")


@pytest.fixture
def guarded(domain: int, library: Library, robot: Robot) -> Iterator[Guarded]:
    made = Guarded(domain, library)
    yield made
    made.close()


def _move(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    """Let the collision behaviour be set, then let the effort controller take the arm."""
    probe.wait_until(lambda: "idle" in str(guarded.guard.check_activation()), "state of the robot")
    probe.wait_until(lambda: guarded.guard.diagnostics()["franka collision behaviour"] == "set", "collision behaviour")
    robot.state.robot_mode = robot.state.ROBOT_MODE_MOVE
    probe.wait_until(lambda: guarded.guard.check_activation() is None, "permission to activate")


def test_absence_of_the_messages_is_one_clear_error(
    domain: int, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "franka_msgs.msg", None)  # what Python does for a module that is not there
    node_context = rclpy.Context()
    rclpy.init(args=[], context=node_context, domain_id=domain)
    node = rclpy.create_node("adaptive_controller", context=node_context)
    try:
        with pytest.raises(ThunderError, match="franka_msgs cannot be imported; valid: source a workspace"):
            make_guard("franka", node, DeclaredParameters(node), library, lambda: ())
        assert not node.has_parameter("franka.state_topic")
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=node_context)


def test_a_robot_that_says_nothing_is_not_activated(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    robot.speaks = False
    probe.wait_until(lambda: "no state on" in str(guarded.guard.check_activation()), "refusal")
    assert guarded.guard.contact, "nothing is learned from a robot that says nothing"


def test_collision_behaviour_is_set_while_idle_and_move_is_then_right(
    probe: Probe, robot: Robot, guarded: Guarded
) -> None:
    _move(probe, robot, guarded)
    (request,) = robot.requests
    assert list(request.upper_torque_thresholds_nominal) == [20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0]
    assert list(request.lower_force_thresholds_acceleration) == [20.0, 20.0, 20.0, 25.0, 25.0, 25.0]
    assert guarded.guard.fault is None
    assert not guarded.guard.contact
    assert guarded.guard.gravity_compensated is True


def test_without_collision_behaviour_there_is_no_activation(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    robot.refusal = "libfranka: set collision behavior command rejected"
    probe.wait_until(lambda: robot.requests, "request")
    robot.state.robot_mode = robot.state.ROBOT_MODE_MOVE
    probe.wait_until(lambda: robot.refusal in str(guarded.guard.check_activation()), "refusal with the robot's reason")


def test_a_robot_found_moving_must_idle_first(domain: int, library: Library, probe: Probe, robot: Robot) -> None:
    robot.state.robot_mode = robot.state.ROBOT_MODE_MOVE
    guarded = Guarded(domain, library)
    try:
        probe.wait_until(lambda: "not been seen idle" in str(guarded.guard.check_activation()), "refusal")
        assert robot.requests == []
    finally:
        guarded.close()


def test_a_reflex_is_a_fault_with_its_errors(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    _move(probe, robot, guarded)
    robot.state.robot_mode = robot.state.ROBOT_MODE_REFLEX
    robot.state.current_errors.cartesian_reflex = True
    probe.wait_until(lambda: "cartesian_reflex" in str(guarded.guard.fault), "fault")


def test_contact_and_silence_freeze_the_adaptation(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    _move(probe, robot, guarded)
    robot.state.tau_ext_hat_filtered.effort = [0.0, 0.0, 0.0, -14.0, 0.0, 0.0, 0.0]
    probe.wait_until(lambda: guarded.guard.contact, "contact")
    robot.state.tau_ext_hat_filtered.effort = [0.0] * 7
    probe.wait_until(lambda: not guarded.guard.contact, "end of contact")
    robot.state.collision_indicators.is_joint_contact = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    probe.wait_until(lambda: guarded.guard.contact, "contact")
    robot.state.collision_indicators.is_joint_contact = [0.0] * 7
    probe.wait_until(lambda: not guarded.guard.contact, "end of contact")
    robot.speaks = False
    probe.wait_until(lambda: guarded.guard.contact, "no learning in silence")


def test_a_load_set_by_others_freezes_the_adaptation(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    _move(probe, robot, guarded)
    robot.state.inertia_load.inertia.m = 0.8
    probe.wait_until(lambda: guarded.guard.contact, "no learning beside an unknown load")
    assert "0.8 kg" in guarded.guard.diagnostics()["franka adaptation held"]
    assert guarded.guard.check_activation() is None, "the robot may still be controlled"


def test_the_payload_is_handed_over_while_idle(probe: Probe, robot: Robot, guarded: Guarded, library: Library) -> None:
    probe.wait_until(lambda: robot.requests, "collision behaviour")
    guarded.pi = library.pi[-10:] + TOOL.pi
    answer = probe.call(Trigger, "adaptive_controller/hand_over_payload")
    assert answer.success, answer.message
    load = robot.requests[-1]
    # The flange lies 0.107 m along z of link 7; π is a difference of sums of order one.
    assert load.mass == pytest.approx(1.2, abs=1e-12)
    np.testing.assert_allclose(load.center_of_mass, TOOL.com - [0, 0, 0.107], atol=1e-12)
    np.testing.assert_allclose(np.reshape(load.load_inertia, (3, 3)), TOOL.inertia_com, atol=1e-12)
    robot.state.robot_mode = robot.state.ROBOT_MODE_MOVE
    probe.wait_until(lambda: "reset_estimates" in str(guarded.guard.check_activation()), "refusal of a doubled load")
    guarded.pi = np.array(library.pi[-10:])
    probe.wait_until(lambda: guarded.guard.check_activation() is None, "permission to activate")
    assert guarded.guard.contact, "the model does not contain the load"


def test_a_reset_payload_lets_the_law_learn_again(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    robot.state.inertia_load.inertia.m = 0.8
    probe.wait_until(lambda: "a load" in guarded.guard.diagnostics()["franka adaptation held"], "difference")
    assert probe.call(Trigger, "adaptive_controller/reset_payload").success
    probe.wait_until(lambda: not guarded.guard.contact, "learning")


def test_no_load_is_set_while_moving(probe: Probe, robot: Robot, guarded: Guarded, library: Library) -> None:
    _move(probe, robot, guarded)
    guarded.pi = library.pi[-10:] + TOOL.pi
    answer = probe.call(Trigger, "adaptive_controller/hand_over_payload")
    assert (answer.success, "only while idle" in answer.message) == (False, True)
    assert len(robot.requests) == 1


@pytest.mark.parametrize("factor", [0.0, -1.0])
def test_estimates_that_are_no_payload_are_not_handed_over(
    probe: Probe, robot: Robot, guarded: Guarded, library: Library, factor: float
) -> None:
    probe.wait_until(lambda: robot.requests, "collision behaviour")
    guarded.pi = library.pi[-10:] + factor * TOOL.pi
    answer = probe.call(Trigger, "adaptive_controller/hand_over_payload")
    assert (answer.success, "identified payload: a mass of" in answer.message) == (False, True)
    assert len(robot.requests) == 1


def test_a_refusal_of_the_robot_is_passed_on(probe: Probe, robot: Robot, guarded: Guarded) -> None:
    probe.wait_until(lambda: guarded.guard.diagnostics()["franka collision behaviour"] == "set", "collision behaviour")
    robot.refusal = "libfranka: command rejected"
    answer = probe.call(Trigger, "adaptive_controller/reset_payload")
    assert (answer.success, answer.message) == (False, "the robot refused: libfranka: command rejected")


def test_a_robot_that_does_not_answer_is_a_failure(domain: int, library: Library, probe: Probe, robot: Robot) -> None:
    guarded = Guarded(domain, library, service_timeout=0.2)
    try:
        set_up = lambda: guarded.guard.diagnostics()["franka collision behaviour"] == "set"  # noqa: E731
        probe.wait_until(set_up, "collision behaviour")
        robot.silence = Future()
        answer = probe.call(Trigger, "adaptive_controller/reset_payload")
        assert (answer.success, answer.message) == (False, "no answer from /service_server/set_load within 0.2 s")
    finally:
        guarded.close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("contact_torque", [1.0] * 6),
        ("contact_torque", [0.0] * 7),
        ("state_rate", 0.0),
        ("contact_release", 1.5),
        ("modelled_load.mass", -1.0),
        ("modelled_load.inertia", [1.0, 0.0, 0.0, 0.1, 0.0, 0.1]),
        ("flange.xyz", [0.0, 0.0]),
    ],
)
def test_bad_parameters_are_refused(domain: int, library: Library, robot: Robot, name: str, value: Any) -> None:
    with pytest.raises(ThunderError, match=name.split(".")[0]):
        Guarded(domain, library, **{name: value})


def test_cleaning_up_answers_a_request_that_is_under_way(
    domain: int, library: Library, probe: Probe, robot: Robot
) -> None:
    guarded = Guarded(domain, library)
    probe.wait_until(lambda: guarded.guard.diagnostics()["franka collision behaviour"] == "set", "collision behaviour")
    robot.silence = Future()

    def clean_up() -> None:
        if len(robot.requests) == 2:
            guarded.node.destroy_timer(timer)
            guarded.guard.close()

    timer = guarded.node.create_timer(0.01, clean_up, callback_group=ReentrantCallbackGroup())
    answer = probe.call(Trigger, "adaptive_controller/reset_payload")
    assert (answer.success, answer.message) == (False, "the node is being cleaned up")
    probe.wait_until(lambda: not [s for s in guarded.node.services if "payload" in s.srv_name], "end of the services")
    guarded.end()


def test_the_controller_node_runs_in_move_only_and_stops_by_itself(
    library: Library, probe: Probe, robot: Robot, start_node: Any
) -> None:
    plant = {"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "gravity_compensation": True, "ee_link": "panda_flange"}
    start_node("simulation", {**plant, "q_start": [0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]})
    node = start_node(
        "controller", {"library": library.path, "robot_interface": "franka", "measurement_timeout": 0.5}
    ).full_name
    assert probe.transition(node, "configure")
    probe.wait_until(lambda: robot.requests, "collision behaviour")
    assert not probe.transition(node, "activate"), "the robot is idle"
    robot.state.robot_mode = robot.state.ROBOT_MODE_MOVE
    probe.wait_until(lambda: probe.transition(node, "activate"), "activation")
    with probe.listening(Float64MultiArray, "effort_controller/commands") as commands:
        # The plant adds gravity by itself, so that holding still takes next to nothing.
        assert max(map(abs, commands.wait_new(200).data)) < 1.0
    robot.state.current_errors.joint_velocity_violation = True
    probe.wait_until(lambda: probe.state(node) == "inactive", "deactivation by itself")


def test_nothing_is_left_after_close(domain: int, library: Library, probe: Probe, robot: Robot) -> None:
    guarded = Guarded(domain, library)
    probe.wait_until(lambda: robot.requests, "collision behaviour")
    guarded.stop_spinning()
    guarded.guard.close()
    assert list(guarded.node.get_parameters_by_prefix("franka")) == []
    assert [service.srv_name for service in guarded.node.services if "payload" in service.srv_name] == []
    assert list(guarded.node.timers) == []
    guarded.end()
