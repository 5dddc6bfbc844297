"""The controller node over real DDS: lifecycle, commands, gains, estimates, targets, services."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from controller_robot import (
    NODE,
    TestRobot,
    build_panda,
    reference_message,
    reset,
    running_controller,
    values_of,
)
from geometry_msgs.msg import InertiaStamped, PoseStamped, TwistStamped
from nodes import NodeProcess, Probe
from scipy.spatial.transform import Rotation
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.host import Configuration, ControlSession, Library, Options, about_com, save_estimates

LINK = "panda_link7"

RATE_STEP = 1.0
"""Effort rate limit of the Panda times the period: 1000 N·m/s · 1 ms [N·m]."""

ROUNDING = 1e-9
"""A step of the effort is the difference of two numbers below 100: rounding is far below this [N·m]."""


@pytest.fixture(scope="module")
def library() -> Library:
    return build_panda()


@pytest.fixture(scope="module")
def estimates_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where estimates are saved to and read from; at the start of every test it has the library's own."""
    return tmp_path_factory.mktemp("estimates") / "estimates.yaml"


@pytest.fixture(scope="module")
def process(
    probe: Probe, library: Library, estimates_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NodeProcess]:
    folder = tmp_path_factory.mktemp("controller")
    given = dict.fromkeys(("estimates_file", "saved_estimates_file"), str(estimates_file)) | {"library": library.path}
    with running_controller(probe, folder, **given) as process:
        yield process


@pytest.fixture
def controller(process: NodeProcess, probe: Probe, library: Library, estimates_file: Path) -> Iterator[NodeProcess]:
    reset(probe)
    configuration = Configuration(library)
    save_estimates(estimates_file, configuration, ControlSession(configuration, Options()).snapshot())
    defaults = {"law": "", "joints": list(library.joint_names), "freeze_on_start": False}
    results = probe.set_parameters(NODE, defaults)
    assert all(result.successful for result in results), results
    yield process


@pytest.fixture
def robot(robot_of_module: TestRobot, controller: NodeProcess) -> TestRobot:
    return robot_of_module


def set_one(probe: Probe, name: str, value: Any) -> Any:
    return probe.set_parameters(NODE, {name: value})[0]


def test_the_first_commands_hold_the_arm_against_gravity(robot: TestRobot, controller: NodeProcess) -> None:
    first = robot.activate(controller)
    assert np.abs(first - robot.gravity).max() <= RATE_STEP + ROUNDING  # the ramp starts at the safe effort


def test_one_command_answers_each_measurement(robot: TestRobot, controller: NodeProcess) -> None:
    robot.activate(controller)
    robot.commands.clear()
    robot.steps(50)
    assert len(robot.commands) == 50


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("law", "slotine_li_of_nobody", "slotine_li_of_nobody"),
        ("joints", ["a", "b"], "7 different names"),
    ],
)
def test_what_cannot_be_configured_fails_with_the_reason(
    controller: NodeProcess, probe: Probe, name: str, value: Any, reason: str
) -> None:
    assert set_one(probe, name, value).successful
    before = len(controller.output)
    assert not probe.transition(NODE, "configure")
    controller.wait_for_output(reason)
    assert reason in controller.output[before:]
    assert probe.state(NODE) == "unconfigured"


def test_a_transition_that_is_not_possible_is_refused_and_the_node_lives(controller: NodeProcess, probe: Probe) -> None:
    assert not probe.transition(NODE, "activate")
    assert not probe.transition(NODE, "deactivate")
    assert probe.state(NODE) == "unconfigured"


def test_activation_without_joint_states_fails_with_the_reason(controller: NodeProcess, probe: Probe) -> None:
    assert probe.transition(NODE, "configure"), controller.output
    assert not probe.transition(NODE, "activate")
    controller.wait_for_output("no joint_states yet")
    assert probe.state(NODE) == "inactive"


def test_activation_waits_for_the_first_joint_states(robot: TestRobot, controller: NodeProcess) -> None:
    assert robot.probe.transition(NODE, "configure"), controller.output
    robot.connect()
    before = len(controller.output)
    late = threading.Timer(0.5, robot.send)
    late.start()
    assert robot.probe.transition(NODE, "activate"), controller.output
    late.join()
    assert "refused" not in controller.output[before:]


def test_it_can_be_activated_and_configured_again_and_again(robot: TestRobot, controller: NodeProcess) -> None:
    for _ in range(2):
        robot.activate(controller)
        for _ in range(2):
            assert np.isfinite(robot.step()).all()
            assert robot.probe.transition(NODE, "deactivate"), controller.output
            robot.start(controller)
        reset(robot.probe)


def push(robot: TestRobot) -> None:
    """Ask for a pose 5 cm away, so that the law pushes the arm, which does not move."""
    publisher = robot.references()
    for _ in range(40):
        publisher.publish(reference_message(robot.pose, (0.05, 0.0, 0.05)))
        robot.step()
    assert np.abs(robot.effort - robot.gravity).max() > 5.0 * RATE_STEP


def ramp_after(robot: TestRobot, stop: Any) -> np.ndarray:
    """Efforts from the last one before `stop` to the end of the ramp, which needs no joint_states."""
    push(robot)
    first = robot.effort
    robot.commands.clear()
    stop()
    robot.probe.wait_until(
        lambda: len(robot.commands) and np.abs(robot.effort - robot.gravity).max() < ROUNDING, "end of the ramp"
    )
    return np.array([first, *(message.data for message in robot.commands.messages)])


LONGEST_STEP = 0.01
"""Longest period that a ramp's step is scaled with: ten nominal periods [s]."""


def test_deactivation_ramps_the_effort_down(robot: TestRobot, controller: NodeProcess) -> None:
    robot.activate(controller)
    efforts = ramp_after(robot, lambda: robot.probe.transition(NODE, "deactivate"))
    # Without joint_states the ramp's steps last 10 ms, 10 N·m at most.
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_STEP * LONGEST_STEP / 1e-3 + ROUNDING
    assert robot.probe.state(NODE) == "inactive"


def test_no_command_follows_a_deactivation(robot: TestRobot, controller: NodeProcess) -> None:
    robot.activate(controller)
    assert robot.probe.transition(NODE, "deactivate")
    robot.commands.clear()
    robot.be_seen()  # the measurement has been used, and nothing was sent
    assert len(robot.commands) == 0


def test_every_gain_is_a_parameter_with_bounds_unit_and_description(
    robot: TestRobot, controller: NodeProcess, library: Library
) -> None:
    assert robot.probe.transition(NODE, "configure"), controller.output
    for entry in library.law("cartesian_backstepping").gains:
        (descriptor,) = robot.probe.describe_parameters(NODE, f"gains.{entry.name}")
        assert entry.description in descriptor.description and f"[{entry.unit}]" in descriptor.description
        if entry.size == 1:
            (bounds,) = descriptor.floating_point_range
            assert (bounds.from_value, bounds.to_value) == (entry.lower.item(), entry.upper.item())
        value = robot.probe.get_parameters(NODE, f"gains.{entry.name}")[0]
        assert np.allclose(value, entry.defaults.ravel(order="F"), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([1000.0] * 7, "at most 500"),
        ([-1.0] * 7, "at least 0"),
        ([1.0] * 3, "3 values; valid: 7"),
        ([float("nan")] * 7, "nan"),
        (3, "Wrong parameter type"),
    ],
)
def test_a_bad_gain_is_refused_with_the_reason(
    robot: TestRobot, controller: NodeProcess, value: Any, reason: str
) -> None:
    assert robot.probe.transition(NODE, "configure"), controller.output
    before = robot.probe.get_parameters(NODE, "gains.K_d")[0]
    result = set_one(robot.probe, "gains.K_d", value)
    assert not result.successful and reason in result.reason
    assert list(robot.probe.get_parameters(NODE, "gains.K_d")[0]) == list(before)


def test_the_law_s_own_bounds_of_an_element_are_kept(robot: TestRobot, controller: NodeProcess) -> None:
    """The mass of a link has a lower bound that other elements of pi_lower do not have."""
    assert robot.probe.transition(NODE, "configure"), controller.output
    assert not set_one(robot.probe, "gains.k_n", 51.0).successful
    assert set_one(robot.probe, "gains.k_n", 50.0).successful


def test_a_gain_changed_while_active_changes_the_effort_within_the_rate_limit(
    robot: TestRobot, controller: NodeProcess
) -> None:
    robot.activate(controller)
    push(robot)
    before = robot.step()
    assert set_one(robot.probe, "gains.K_p", [2000.0] * 6).successful
    efforts = np.array([before, *robot.steps(30)])
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_STEP + ROUNDING
    assert np.abs(efforts[-1] - before).max() > 5.0 * RATE_STEP


def test_estimates_arrive_as_inertias_of_their_links(
    robot: TestRobot, controller: NodeProcess, library: Library
) -> None:
    with robot.probe.listening(InertiaStamped, f"{NODE}/estimates/{LINK}") as estimates:
        robot.activate(controller)
        message = estimates.wait()
    expected = about_com(library.pi[-10:])
    inertia = message.inertia
    got = [inertia.m, inertia.com.x, inertia.com.y, inertia.com.z]
    got += [inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz]
    assert message.header.frame_id == LINK
    # The one law step of the activation may have moved the estimate by its rate times a millisecond.
    assert np.allclose(got, expected, rtol=0, atol=1e-3)


@pytest.mark.skipif(find_spec("control_msgs") is not None, reason="the state is a control_msgs one: test_control_msgs")
def test_errors_and_state_are_published_while_active(robot: TestRobot, controller: NodeProcess) -> None:
    with (
        robot.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors,
        robot.probe.listening(Float64MultiArray, f"{NODE}/controller_state") as states,
    ):
        robot.activate(controller)
        push(robot)
        error = errors.wait(lambda message: abs(message.twist.linear.x - 0.05) < 1e-9)
        state = states.wait()
    assert error.twist.linear.z == pytest.approx(0.05, abs=1e-9)
    assert error.header.frame_id == "world"
    assert [dim.label.partition(":")[0] for dim in state.layout.dim] == ["quantity", "joint"]
    assert np.allclose(np.reshape(state.data, (3, 7))[0], robot.q, rtol=0, atol=0)


def frozen(robot: TestRobot) -> bool:
    return robot.report(lambda v: "adaptation frozen" in v)["adaptation frozen"] == "True"


def test_freezing_keeps_the_estimates_and_is_reported(
    robot: TestRobot, controller: NodeProcess, estimates_file: Path
) -> None:
    robot.activate(controller)
    assert robot.probe.call(SetBool, f"{NODE}/freeze_adaptation", SetBool.Request(data=True)).success
    assert frozen(robot)
    before = saved(robot, estimates_file)
    push(robot)
    assert saved(robot, estimates_file)["pi_hat"] == before["pi_hat"]
    assert robot.probe.call(SetBool, f"{NODE}/freeze_adaptation", SetBool.Request(data=False)).success
    assert not frozen(robot)


def saved(robot: TestRobot, path: Path) -> dict[str, Any]:
    """What ~/save_estimates writes."""
    answer = robot.probe.call(Trigger, f"{NODE}/save_estimates")
    assert answer.success and answer.message == str(path)
    return dict(yaml.safe_load(path.read_text()))


def test_saved_estimates_are_where_the_next_start_begins(
    robot: TestRobot, controller: NodeProcess, estimates_file: Path
) -> None:
    robot.activate(controller)
    data = saved(robot, estimates_file)
    assert data["robot"] == "panda" and data["links"] == [LINK] and len(data["pi_hat"]) == 10
    data["pi_hat"][0] = 1.25
    estimates_file.write_text(yaml.safe_dump(data))
    reset(robot.probe)
    with robot.probe.listening(InertiaStamped, f"{NODE}/estimates/{LINK}") as estimates:
        set_one(robot.probe, "freeze_on_start", True)
        robot.activate(controller)
        assert estimates.wait().inertia.m == pytest.approx(1.25, abs=1e-12)


def test_resetting_brings_the_first_estimates_back(
    robot: TestRobot, controller: NodeProcess, estimates_file: Path
) -> None:
    robot.activate(controller)
    first = robot.library.pi[-10:].tolist()
    set_one(robot.probe, "gains.gamma", 1e-3)  # a small Γ adapts fast
    # Without the freezing by saturation, which the rate limit causes here.
    for k in range(200):
        robot.qd = np.full(7, 0.05 * np.sin(0.1 * k))
        robot.step()
    robot.qd = np.zeros(7)
    assert np.abs(np.subtract(saved(robot, estimates_file)["pi_hat"], first)).max() > 1e-6
    assert robot.probe.call(SetBool, f"{NODE}/freeze_adaptation", SetBool.Request(data=True)).success
    assert robot.probe.call(Trigger, f"{NODE}/reset_estimates").success
    robot.step()
    assert np.allclose(saved(robot, estimates_file)["pi_hat"], first, rtol=0, atol=1e-12)


@pytest.mark.parametrize("service", ["reset_estimates", "save_estimates", "start", "stop"])
def test_services_say_that_nothing_is_configured(controller: NodeProcess, probe: Probe, service: str) -> None:
    answer = probe.call(Trigger, f"{NODE}/{service}")
    assert not answer.success and "not configured" in answer.message


def target(robot: TestRobot, frame: str = "world") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = (robot.pose[:3, 3] + [0.0, 0.02, 0.0]).tolist()
    quaternion = Rotation.from_matrix(robot.pose[:3, :3]).as_quat().tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = quaternion
    return message


def test_the_reference_moves_smoothly_to_a_target_pose(robot: TestRobot, controller: NodeProcess) -> None:
    with robot.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors:
        robot.activate(controller)
        robot.steps(5)
        robot.probe.publisher(PoseStamped, f"{NODE}/target_pose").publish(target(robot))
        # 2 cm within 1 m/s² and 10 m/s³ takes 0.32 s.
        robot.probe.wait_until(lambda: (robot.send(), reaches(errors, 0.02))[1], "arrival of the reference")
    ways = np.array([message.twist.linear.y for message in errors.messages])
    assert (np.diff(ways) >= -1e-12).all() and ways.max() == pytest.approx(0.02, abs=1e-9)


def test_a_motion_can_be_stopped_on_its_way(robot: TestRobot, controller: NodeProcess) -> None:
    with robot.probe.listening(TwistStamped, f"{NODE}/pose_error") as errors:
        robot.activate(controller)
        robot.steps(5)
        robot.probe.publisher(PoseStamped, f"{NODE}/target_pose").publish(target(robot))
        robot.probe.wait_until(
            lambda: (robot.send(), bool(errors.messages) and errors.messages[-1].twist.linear.y > 0.001)[1], "a start"
        )
        assert robot.probe.call(Trigger, f"{NODE}/stop").success
        robot.diagnostics.clear()
        robot.probe.wait_until(lambda: (robot.send(), is_held(robot))[1], "rest")
        errors.clear()
        robot.probe.wait_until(lambda: (robot.send(), len(errors) >= 3)[1], "errors at rest")
        at_rest = errors.messages[-1].twist.linear.y
    ways = np.array([message.twist.linear.y for message in errors.messages])
    np.testing.assert_allclose(ways, at_rest, rtol=0, atol=1e-12)
    assert 0.001 < at_rest < 0.02


def is_held(robot: TestRobot) -> bool:
    return any(values_of(message).get("reference") == "hold" for message in robot.diagnostics.messages)


def reaches(errors: Any, way: float) -> bool:
    return bool(errors.messages) and abs(errors.messages[-1].twist.linear.y - way) < 1e-9


def test_a_target_in_another_frame_is_refused(robot: TestRobot, controller: NodeProcess) -> None:
    robot.activate(controller)
    robot.probe.publisher(PoseStamped, f"{NODE}/target_pose").publish(target(robot, "camera"))
    controller.wait_for_output("frame_id 'camera'")
    robot.report(lambda values: int(values["references refused"]) >= 1)


def test_the_diagnostics_say_how_fast_the_loop_is(robot: TestRobot, controller: NodeProcess) -> None:
    robot.activate(controller)
    robot.diagnostics.clear()  # the steps may all fall into one report, which must not be overlooked
    robot.steps(20)
    values = values_of(robot.diagnostics.wait(lambda message: "command latency p99 [ms]" in values_of(message)))
    for key in ("loop rate [Hz]", "jitter p99 [ms]", "step time mean [us]", "command latency p50 [ms]"):
        assert float(values[key]) > 0.0 or key.startswith("jitter")
    assert "excitation rank" in values


def test_ctrl_c_while_active_ramps_the_effort_down(
    probe: Probe, library: Library, process: NodeProcess, robot_of_module: TestRobot
) -> None:
    """The last test: it ends the module's process."""
    reset(probe)
    robot_of_module.activate(process)
    efforts = ramp_after(robot_of_module, lambda: os.kill(process.process.pid, signal.SIGINT))
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_STEP * LONGEST_STEP / 1e-3 + ROUNDING
    assert process.wait() == 0
    assert "Traceback" not in process.output
    process.stopped = True
