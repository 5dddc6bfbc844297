"""The controller: lifecycle, gains, references, activation. Its guards are in test_host_guards.py."""

from __future__ import annotations

import math
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from pendulum2 import compile_pendulum2, gravity
from session_loop import REST, START, STEP

from thunder_controllers.host import Controller, Guard, Library, OptionInfo, Options, option_list
from thunder_dynamics.errors import BuildError, DimensionError, LawError, NameNotFoundError


@pytest.fixture
def joint(library: Library) -> Controller:
    """The adaptive joint law, which knows the masses."""
    controller = Controller()
    controller.configure(library, law="joint_adaptive", initial_state={"pi_hat": [1.2, 0.8]})
    return controller


@pytest.fixture
def cartesian(library: Library) -> Controller:
    controller = Controller()
    controller.configure(library, law="cartesian_spring", options=Options(approaches_jumps=False))
    return controller


def update(controller: Controller, t: float, q: np.ndarray = START) -> tuple[Guard, np.ndarray]:
    effort = np.full(2, np.nan)
    return Guard(controller.update(t, q, REST, STEP, effort)), effort


def test_lifecycle_goes_from_unconfigured_to_active_and_back(library: Library) -> None:
    controller = Controller()
    assert controller.lifecycle == "unconfigured"
    controller.configure(library, law="joint_adaptive")
    assert controller.lifecycle == "inactive"
    controller.activate(START)
    assert controller.lifecycle == "active"
    controller.deactivate()
    assert controller.lifecycle == "inactive"


@pytest.mark.parametrize("method", ["hold_reference", "reset_state"])
def test_unconfigured_controller_refuses_writers(method: str) -> None:
    with pytest.raises(LawError, match=f"{method}: the controller is unconfigured; valid: configure first"):
        getattr(Controller(), method)()


def test_forbidden_transitions_are_refused(library: Library, joint: Controller) -> None:
    with pytest.raises(LawError, match="the controller is unconfigured"):
        Controller().activate(START)
    with pytest.raises(LawError, match="the controller is unconfigured"):
        Controller().update(0.0, START, REST, STEP, np.zeros(2))
    with pytest.raises(LawError, match="deactivate: the controller is inactive; valid: while active"):
        joint.deactivate()
    with pytest.raises(LawError, match="begin_stop: the controller is inactive; valid: while active"):
        joint.begin_stop()
    joint.activate(START)
    with pytest.raises(LawError, match="activate: the controller is active; valid: while inactive"):
        joint.activate(START)
    with pytest.raises(LawError, match="configure: the controller is active"):
        joint.configure(library, law="joint_adaptive")


def test_refused_configuration_keeps_the_former_one(library: Library, joint: Controller) -> None:
    with pytest.raises(NameNotFoundError, match="no law 'none'"):
        joint.configure(library, law="none")
    assert (joint.lifecycle, joint.law) == ("inactive", "joint_adaptive")


@pytest.mark.parametrize(
    ("gains", "error", "message"),
    [
        ({"K": 1.0}, NameNotFoundError, "joint_adaptive.gains: there is no entry 'K'; valid: Lambda, K_d, Gamma"),
        ({"K_d": -1.0}, LawError, "joint_adaptive.gains.K_d: element 0 is -1; valid: finite, in [0, 100] N·m·s/rad"),
        ({"K_d": [1.0, np.nan]}, LawError, "joint_adaptive.gains.K_d: element 1 is nan"),
        ({"K_d": [1.0, np.inf]}, LawError, "joint_adaptive.gains.K_d: element 1 is inf"),
        ({"K_d": [1.0, 2.0, 3.0]}, DimensionError, "K_d: got 3 values; valid: one value, or 2"),
        ({"Gamma": [1.0, 2.0]}, DimensionError, "Gamma: got 2 values; valid: one value"),
        ({"K_d": np.eye(2)}, DimensionError, "K_d: has the shape (2, 2); valid: (2,), or flat and column-major"),
        ({"K_d": "large"}, LawError, "K_d: is not numeric; valid: a number or an array of numbers"),
    ],
)
def test_bad_gains_are_refused(library: Library, gains: dict[str, object], error: type, message: str) -> None:
    with pytest.raises(error) as caught:
        Controller().configure(library, law="joint_adaptive", gains=gains)
    assert message in str(caught.value)


def test_bad_initial_state_is_refused(library: Library) -> None:
    with pytest.raises(LawError, match=r"initial_state\.pi_hat: element 0 is 11; valid: finite, in \[0, 10\] kg"):
        Controller().configure(library, law="joint_adaptive", initial_state={"pi_hat": 11.0})
    with pytest.raises(NameNotFoundError, match="no entry 'pi'; valid: pi_hat, s_filtered"):
        Controller().configure(library, law="joint_adaptive", initial_state={"pi": 1.0})


@pytest.mark.parametrize("option", [option for option in option_list() if option.unit], ids=lambda option: option.name)
def test_an_option_out_of_its_bounds_is_refused(option: OptionInfo) -> None:
    below = np.nextafter(option.lower, -np.inf) if option.includes_lower else option.lower
    beyond = [] if np.isinf(option.upper) else [math.nextafter(option.upper, math.inf)]
    for value in (np.nan, below, *beyond):
        given = value if isinstance(option.default, float) else [1.0, value]
        with pytest.raises(LawError, match=rf"options\.{option.name}: is .*; valid: (above|at least) .*\["):
            Options(**{option.name: given})


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("nominal_dt", 0.0, "options.nominal_dt: is 0; valid: above 0, finite [s]"),
        ("nominal_dt", np.inf, "options.nominal_dt: is inf"),
        ("measurement_timeout", 0.001, "is 0.001; valid: above nominal_dt, 0.001 [s]"),
        ("effort_limit", [1.0, 0.0], "options.effort_limit: is 0; valid: above 0, finite [N·m or N]"),
        ("effort_limit", [], "options.effort_limit: is no vector of numbers"),
        ("effort_limit", "high", "options.effort_limit: is no vector of numbers"),
    ],
)
def test_bad_options_are_refused(option: str, value: object, message: str) -> None:
    with pytest.raises(LawError) as caught:
        Options(**{option: value})
    assert message in str(caught.value)


def test_a_start_that_is_no_numbers_is_refused(joint: Controller) -> None:
    with pytest.raises(LawError, match="activate: q: is not numeric; valid: 2 numbers"):
        joint.activate("here")


def test_limits_need_one_value_per_joint(library: Library) -> None:
    with pytest.raises(DimensionError, match=r"options\.effort_limit: has 3 values; valid: 2, one per joint"):
        Controller().configure(library, law="joint_adaptive", options=Options(effort_limit=[1.0, 2.0, 3.0]))


def test_functions_that_the_host_needs_are_required(pendulum2_file: Path) -> None:
    folder = pendulum2_file.parent
    without_gravity = Library(compile_pendulum2(folder, "BREAK_NO_GRAVITY"))
    with pytest.raises(BuildError, match="the host needs the function G: there is no function 'G'"):
        Controller().configure(without_gravity, law="joint_adaptive")
    without_pose = Library(compile_pendulum2(folder, "BREAK_NO_POSE"))
    with pytest.raises(BuildError, match="the host needs the function T_0_ee"):
        Controller().configure(without_pose, law="cartesian_spring")
    without_jacobian = Library(compile_pendulum2(folder, "BREAK_NO_JACOBIAN"))
    with pytest.raises(BuildError, match="the host needs the function J_ee"):
        Controller().configure(without_jacobian, law="cartesian_spring")
    Controller().configure(without_pose, law="joint_adaptive")


def test_any_mapping_gives_gains(library: Library) -> None:
    controller = Controller()
    controller.configure(library, law="joint_adaptive", gains=MappingProxyType({"K_d": np.array([1.0, 2.0])}))
    assert controller.gain("K_d").tolist() == [1.0, 2.0]


def test_gains_change_while_active_and_scalars_broadcast(joint: Controller) -> None:
    joint.activate(START)
    joint.set_reference([0.102, 0.202, 0, 0, 0, 0])
    joint.set_gain("Lambda", 2.0)
    joint.set_gain("K_d", [1.0, 3.0])
    for k in range(500):  # the step is approached
        update(joint, 1e-3 * k)
    assert joint.gain("Lambda").tolist() == [2.0, 2.0]
    np.testing.assert_allclose(joint.telemetry("s"), [0.004, 0.004], rtol=1e-12)


def test_refused_gain_is_unchanged(joint: Controller) -> None:
    with pytest.raises(LawError, match="element 1 is 101"):
        joint.set_gain("K_d", [1.0, 101.0])
    assert joint.gain("K_d").tolist() == [4.0, 4.0]


def test_refused_reference_is_unchanged(joint: Controller) -> None:
    joint.activate(START)
    with pytest.raises(LawError, match=r"joint_adaptive\.reference\.qd: element 0 is nan"):
        joint.set_reference([0.1, 0.2, np.nan, 0, 0, 0])
    with pytest.raises(DimensionError, match=r"joint_adaptive\.reference: got 5 values; valid: 6"):
        joint.set_reference(np.zeros(5))
    with pytest.raises(NameNotFoundError, match="no entry 'position'; valid: q, qd, qdd"):
        joint.set_reference_entry("position", [0.0, 0.0])
    update(joint, 0.0)
    assert joint.reference_vector.tolist() == [0.1, 0.2, 0, 0, 0, 0]


@pytest.mark.parametrize("rotation", [np.zeros((3, 3)), np.diag([1.0, 1.0, -1.0]), 1.1 * np.eye(3)])
def test_reference_that_is_no_rotation_is_refused(cartesian: Controller, rotation: np.ndarray) -> None:
    with pytest.raises(LawError, match=r"cartesian_spring\.reference\.rotation: is no rotation"):
        cartesian.set_reference_entry("rotation", rotation)


def test_activation_without_reference_holds_the_pose(library: Library, cartesian: Controller) -> None:
    cartesian.activate(START)
    pose = library.evaluate("T_0_ee", START)
    np.testing.assert_array_equal(cartesian.reference("position"), pose[:3, 3])
    np.testing.assert_array_equal(cartesian.reference("rotation"), pose[:3, :3])
    assert not cartesian.reference("twist").any()
    guards, effort = update(cartesian, 0.0)
    assert guards == 0
    np.testing.assert_allclose(effort, gravity(START), rtol=1e-12)


def test_one_entry_of_the_reference_leaves_the_others_holding(library: Library, cartesian: Controller) -> None:
    cartesian.activate(START)
    cartesian.set_reference_entry("position", [0.2, 0.0, -0.8])
    update(cartesian, 0.0)
    assert cartesian.reference("position").tolist() == [0.2, 0.0, -0.8]
    np.testing.assert_array_equal(cartesian.reference("rotation"), library.evaluate("T_0_ee", START)[:3, :3])


def test_hold_takes_the_place_of_the_next_update(joint: Controller) -> None:
    joint.activate(START)
    joint.set_reference([0.3, 0.3, 1, 1, 1, 1])
    update(joint, 0.0)
    joint.hold_reference()
    update(joint, STEP, np.array([0.102, 0.202]))
    update(joint, 2 * STEP, np.array([0.103, 0.203]))
    assert joint.reference_vector.tolist() == [0.102, 0.202, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q": [np.nan, 0.0]}, "activate: q: element 0 is nan; valid: finite values"),
        ({"q": [0.0, 2.6]}, "activate: q: joint elbow is at 2.6, 0.1 above its limit; valid: [-2.5, 2.5], both"),
        ({"q": [0.0, 0.0], "qd": [0.0, np.inf]}, "activate: qd: element 1 is inf"),
        ({"q": [0.0, 0.0], "held_effort": [np.nan, 0.0]}, "activate: held_effort: element 0 is nan"),
        (
            {"q": [0.0, 0.0], "held_effort": [31.0, 0.0]},
            "shoulder needs an effort of 31, 1 above its limit; valid: [-30, 30]",
        ),
        ({"q": [0.0, 0.0], "qd": [1e308, 1e308]}, "a trial step gives values that are not finite"),
    ],
)
def test_activation_refuses_bad_starts(joint: Controller, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(LawError) as caught:
        joint.activate(**arguments)
    assert message in str(caught.value)
    assert joint.lifecycle == "inactive"


def test_activation_refuses_wrong_sizes(joint: Controller) -> None:
    with pytest.raises(DimensionError, match=r"activate: q: has the shape \(3,\); valid: \(2,\)"):
        joint.activate(np.zeros(3))


def test_activation_is_refused_where_telemetry_forbids_it(joint: Controller) -> None:
    joint.set_reference([1.5, 1.5, 0, 0, 0, 0])
    with pytest.raises(LawError, match=r"joint_adaptive\.telemetry\.position_error: element 0 is .*in \[0, 1\.5\] rad"):
        joint.activate(START)
    joint.set_reference([0.5, 0.5, 0, 0, 0, 0])
    joint.activate(START)
    assert joint.lifecycle == "active"


def test_trial_step_of_activation_leaves_no_trace(joint: Controller) -> None:
    joint.set_reference([0.5, 0.5, 0, 0, 0, 0])
    joint.activate(START)
    assert joint.state_vector.tolist() == [1.2, 0.8, 0, 0]
    assert joint.telemetry_vector.tolist() == [0, 0, 0]


def test_reactivation_keeps_estimates_and_restarts_the_rest(library: Library) -> None:
    controller = Controller()
    options = Options(effort_rate_limit=[1e6, 1e6])
    controller.configure(library, law="joint_adaptive", initial_state={"pi_hat": 2.0}, options=options)
    controller.activate(START)
    controller.set_reference([0.2, 0.3, 0, 0, 0, 0])
    for k in range(10):
        update(controller, k * STEP)
    estimate = controller.state("pi_hat")
    assert (estimate != 2.0).all() and controller.state("s_filtered").all()
    controller.deactivate()
    controller.activate(START)
    np.testing.assert_array_equal(controller.state("pi_hat"), estimate)
    assert not controller.state("s_filtered").any()
    np.testing.assert_array_equal(controller.reference("q"), START)
    controller.reset_state()
    update(controller, 1.0)
    # After one step from the initial state with s = 0 the estimate is exactly the initial one.
    assert controller.state("pi_hat").tolist() == [2.0, 2.0]


def test_update_refuses_arrays_it_would_have_to_convert(joint: Controller) -> None:
    joint.activate(START)
    with pytest.raises(TypeError):
        joint.update(0.0, [0.1, 0.2], REST, STEP, np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        joint.update(0.0, START.astype(np.float32), REST, STEP, np.zeros(2))
    with pytest.raises(DimensionError, match=r"update: effort: has the shape \(3,\); valid: \(2,\)"):
        joint.update(0.0, START, REST, STEP, np.zeros(3))
    with pytest.raises(LawError, match="update: effort: is read-only; valid: a writeable array"):
        joint.update(0.0, START, REST, STEP, read_only())


def read_only() -> np.ndarray:
    array = np.zeros(2)
    array.flags.writeable = False
    return array


def test_accessors_give_copies(joint: Controller) -> None:
    joint.state("pi_hat")[:] = 9.0
    assert joint.state("pi_hat").tolist() == [1.2, 0.8]
    with pytest.raises(NameNotFoundError, match="no entry 'x'; valid: s, position_error"):
        joint.telemetry("x")


def test_duration_of_updates_is_measured(joint: Controller) -> None:
    joint.activate(START)
    for k in range(100):
        update(joint, k * STEP)
    status = joint.status
    edges, counts = status.step_histogram
    assert status.updates == counts.sum() == 100
    assert 0 < joint.last_step_ns <= status.max_step_ns
    assert edges[np.flatnonzero(counts)[-1]] <= status.max_step_ns < edges[np.flatnonzero(counts)[-1] + 1]
    assert (np.diff(edges.astype(float)) > 0).all()
