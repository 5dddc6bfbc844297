"""The controller node: lifecycle, efforts, gains, estimates, targets, services."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from controller_robot import NODE, Q, TestRobot
from geometry_msgs.msg import InertiaStamped, PoseStamped
from nodes import Probe
from scipy.spatial.transform import Rotation
from std_srvs.srv import SetBool, Trigger

from thunder_controllers.host import Configuration, ControlSession, Library, Options, about_com, save_estimates

LINK = "panda_link7"

RATE_STEP = 1.0
"""Effort rate limit of the Panda times the period: 1000 N·m/s · 1 ms [N·m]."""

ROUNDING = 1e-9
"""A step of the effort is the difference of two numbers below 100: rounding is far below this [N·m]."""

DEFAULTS = {"law": "", "joints": [f"panda_joint{k}" for k in range(1, 8)], "freeze_on_start": False}


@pytest.fixture(scope="module")
def estimates_file(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where estimates are saved to and read from; at first it has the library's own."""
    path = tmp_path_factory.mktemp("estimates") / "estimates.yaml"
    configuration = Configuration(library)
    save_estimates(path, configuration, ControlSession(configuration, Options()).snapshot())
    return path


@pytest.fixture(scope="module")
def parameters(estimates_file: Path) -> dict[str, Any]:
    return dict.fromkeys(("estimates_file", "saved_estimates_file"), str(estimates_file))


def set_one(probe: Probe, name: str, value: Any) -> Any:
    return probe.set_parameters(NODE, {name: value})[0]


# --- lifecycle --------------------------------------------------------------------------------------------------------


def test_each_measurement_is_answered_and_the_arm_is_held_against_gravity(robot: TestRobot) -> None:
    first = robot.activate()
    assert np.abs(first - robot.gravity).max() <= RATE_STEP + ROUNDING  # the ramp starts at what holds it
    robot.steps(50)
    assert len(robot.efforts) == 51


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("law", "slotine_li_of_nobody", "slotine_li_of_nobody"),
        ("joints", ["a", "b"], "parameter joints: missing panda_joint1, "),
        ("joints", [f"ur5_joint{k}" for k in range(7)], "the arm has no ur5_joint0"),
    ],
)
def test_what_cannot_be_configured_fails_with_the_reason(robot: TestRobot, name: str, value: Any, reason: str) -> None:
    assert set_one(robot.probe, name, value).successful
    assert not robot.transition("configure")
    assert reason in robot.report(lambda values: values["message"].startswith("configure refused"))["message"]
    assert robot.state == "unconfigured"


def test_a_transition_that_is_not_possible_is_refused_and_the_node_lives(robot: TestRobot) -> None:
    assert not robot.transition("activate")
    assert not robot.transition("deactivate")
    assert robot.state == "unconfigured"


def test_activation_needs_a_measurement_and_waits_for_the_first(robot: TestRobot) -> None:
    assert robot.transition("configure")
    assert not robot.transition("activate")
    assert "has not been measured yet" in robot.report(lambda values: "activate" in values["message"])["message"]
    with robot.running():
        assert robot.transition("activate")


def test_a_place_outside_the_joint_range_forbids_activation(robot: TestRobot) -> None:
    assert robot.transition("configure")
    robot.q = Q + np.array([0.0, 0.0, 0.0, 2.5, 0.0, 0.0, 0.0])
    robot.step()
    assert not robot.transition("activate")
    robot.q = Q.copy()
    assert "activate refused: activate: q" in robot.report(lambda values: "refused" in values["message"])["message"]


def test_it_can_be_activated_and_configured_again_and_again(robot: TestRobot) -> None:
    for _ in range(2):
        for _ in range(2):
            assert np.isfinite(robot.activate()).all()
            assert robot.transition("deactivate")
        robot.reset()


def test_deactivation_ramps_the_effort_down_and_nothing_follows(robot: TestRobot) -> None:
    robot.activate()
    robot.push()
    assert robot.pushes
    count = len(robot.efforts)
    assert robot.transition("deactivate") and robot.state == "inactive"
    ramp = np.array(robot.efforts[count - 1 :])
    assert np.abs(np.diff(ramp, axis=0)).max() <= RATE_STEP + ROUNDING
    np.testing.assert_allclose(ramp[-1], robot.gravity, atol=ROUNDING)
    count = len(robot.efforts)
    robot.steps(3)
    assert len(robot.efforts) == count


@pytest.mark.parametrize("configured", [(), (5, 6, 1, 0, 4, 2, 3)])
def test_joints_in_the_order_of_the_arm_make_no_difference(
    robot: TestRobot, library: Library, probe: Probe, configured: tuple[int, ...]
) -> None:
    """Nor do those of the parameter `joints`."""
    robot.set(freeze_on_start=True)
    plain = np.array([robot.activate(), *robot.steps(20)])
    robot.reset()
    order = [3, 0, 6, 2, 5, 1, 4]
    names = ["finger", *(library.joint_names[k] for k in order)]
    node = robot.node
    given = [f"library:={library.path}", "freeze_on_start:=true"]
    given += [f"joints:=[{', '.join(library.joint_names[k] for k in configured)}]"] * bool(configured)
    arguments = ["--ros-args", "-r", "__node:=other", *chain.from_iterable(("-p", one) for one in given)]
    robot.node = type(node)(names, 1e-3, context=probe.context, cli_args=arguments, use_global_arguments=False)
    try:
        robot.node.trigger_configure()
        state = np.array([0.1, *Q[order]]), np.zeros(8), np.array([0.0, *robot.gravity[order]])
        robot.node.step(1, *state, in_lockstep=False)
        robot.node.trigger_activate()
        efforts = np.array([robot.node.step(k * 10**6, *state, in_lockstep=False).copy() for k in range(1, 22)])
    finally:
        robot.node.destroy_node()
        robot.node = node
    assert not efforts[:, 0].any()
    np.testing.assert_allclose(efforts[:, 1:], plain[:, order], atol=ROUNDING)


# --- gains ------------------------------------------------------------------------------------------------------------


def test_every_gain_is_a_parameter_with_bounds_unit_and_description(robot: TestRobot, library: Library) -> None:
    assert robot.transition("configure")
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
        ([1.0] * 3, "3 values; valid: 7"),
        ([float("nan")] * 7, "nan"),
        (3, "Wrong parameter type"),
    ],
)
def test_a_bad_gain_is_refused_with_the_reason(robot: TestRobot, value: Any, reason: str) -> None:
    assert robot.transition("configure")
    before = robot.probe.get_parameters(NODE, "gains.K_d")[0]
    result = set_one(robot.probe, "gains.K_d", value)
    assert not result.successful and reason in result.reason
    assert list(robot.probe.get_parameters(NODE, "gains.K_d")[0]) == list(before)


def test_a_gain_changed_while_active_changes_the_effort_within_the_rate_limit(robot: TestRobot) -> None:
    robot.activate()
    robot.push()
    before = robot.step()
    assert set_one(robot.probe, "gains.K_p", [2000.0] * 6).successful
    efforts = np.array([before, *robot.steps(30)])
    assert np.abs(np.diff(efforts, axis=0)).max() <= RATE_STEP + ROUNDING
    assert np.abs(efforts[-1] - before).max() > 5.0 * RATE_STEP


# --- estimates --------------------------------------------------------------------------------------------------------


def saved(robot: TestRobot, path: Path) -> dict[str, Any]:
    """What ~/save_estimates writes."""
    answer = robot.probe.call(Trigger, f"{NODE}/save_estimates")
    assert answer.success and answer.message == str(path)
    return dict(yaml.safe_load(path.read_text()))


def test_estimates_arrive_as_inertias_of_their_links(robot: TestRobot, library: Library) -> None:
    with robot.probe.listening(InertiaStamped, f"{NODE}/estimates/{LINK}") as estimates:
        robot.set(freeze_on_start=True)
        robot.activate()
        message = estimates.wait()
    inertia = message.inertia
    got = [inertia.m, inertia.com.x, inertia.com.y, inertia.com.z]
    got += [inertia.ixx, inertia.ixy, inertia.ixz, inertia.iyy, inertia.iyz, inertia.izz]
    assert message.header.frame_id == LINK
    np.testing.assert_allclose(got, about_com(library.pi[-10:]), rtol=0, atol=1e-12)


def test_freezing_keeps_the_estimates_and_is_reported(robot: TestRobot, estimates_file: Path) -> None:
    robot.activate()
    for freeze in (True, False):
        assert robot.probe.call(SetBool, f"{NODE}/freeze_adaptation", SetBool.Request(data=freeze)).success
        robot.step()
        assert robot.report(lambda v: "adaptation frozen" in v)["adaptation frozen"] == str(freeze)
        before = saved(robot, estimates_file)["pi_hat"]
        robot.qd[:] = 0.05
        robot.steps(50)
        robot.qd[:] = 0.0
        assert (saved(robot, estimates_file)["pi_hat"] == before) is freeze


def test_saved_estimates_are_where_the_next_start_begins_and_can_be_brought_back(
    robot: TestRobot, estimates_file: Path
) -> None:
    robot.activate()
    data = saved(robot, estimates_file)
    assert data["robot"] == "panda" and data["links"] == [LINK] and len(data["pi_hat"]) == 10
    data["pi_hat"][0] = 1.25
    estimates_file.write_text(yaml.safe_dump(data, default_flow_style=None, width=10**9))  # a list on its line
    robot.reset()
    robot.activate()
    robot.qd[:] = 0.05
    robot.steps(50)
    robot.qd[:] = 0.0
    assert saved(robot, estimates_file)["pi_hat"] != data["pi_hat"]
    assert robot.probe.call(SetBool, f"{NODE}/freeze_adaptation", SetBool.Request(data=True)).success
    assert robot.probe.call(Trigger, f"{NODE}/reset_estimates").success
    robot.step()
    np.testing.assert_allclose(saved(robot, estimates_file)["pi_hat"], data["pi_hat"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("service", ["reset_estimates", "save_estimates", "start", "stop"])
def test_services_say_that_nothing_is_configured(robot: TestRobot, service: str) -> None:
    answer = robot.probe.call(Trigger, f"{NODE}/{service}")
    assert not answer.success and "not configured" in answer.message


# --- targets ----------------------------------------------------------------------------------------------------------


def target(robot: TestRobot, frame: str = "world") -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = (robot.pose[:3, 3] + [0.0, 0.02, 0.0]).tolist()
    quaternion = Rotation.from_matrix(robot.pose[:3, :3]).as_quat().tolist()
    orientation.x, orientation.y, orientation.z, orientation.w = quaternion
    return message


@pytest.mark.parametrize("stops", [False, True])
def test_the_reference_moves_smoothly_to_a_target_pose_or_to_rest_before(robot: TestRobot, stops: bool) -> None:
    with robot.probe.listening(PoseStamped, f"{NODE}/pose_error") as errors:
        robot.activate()
        robot.steps(5)
        robot.probe.publisher(PoseStamped, f"{NODE}/target_pose").publish(target(robot))

        with robot.running():
            if stops:
                errors.wait(lambda message: message.pose.position.y >= 0.001)
                assert robot.probe.call(Trigger, f"{NODE}/stop").success
                robot.report(lambda values: values["reference"] == "hold")
                errors.wait_new(2)
            else:
                errors.wait(lambda message: message.pose.position.y >= 0.02 - 1e-9)
    ways = np.array([message.pose.position.y for message in errors.messages])
    assert (np.diff(ways) >= -1e-12).all()
    assert (0.001 < ways[-1] < 0.019) if stops else ways[-1] == pytest.approx(0.02, abs=1e-9)
    assert errors.messages[-1].header.frame_id == "world"


def test_a_target_in_another_frame_is_refused(robot: TestRobot) -> None:
    robot.activate()
    robot.probe.publisher(PoseStamped, f"{NODE}/target_pose").publish(target(robot, "camera"))
    values = robot.report(lambda values: int(values["references refused"]) >= 1)
    assert "frame_id 'camera'" in values["last refused reference"]


def test_the_diagnostics_say_how_fast_the_loop_is(robot: TestRobot) -> None:
    robot.activate()
    with robot.running():
        values = robot.report(lambda values: "jitter p99 [ms]" in values)
    assert float(values["loop rate [Hz]"]) > 0.0 and float(values["step time mean [us]"]) > 0.0
    assert "excitation rank" in values
