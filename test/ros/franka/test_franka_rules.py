"""When a Franka may run, what counts as contact, and what payload is handed over: values as a robot has them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Inertia as InertiaMessage

from thunder_controllers.ros.franka.payload import PayloadError, identified_payload
from thunder_controllers.ros.franka.rules import CompensatedBodies, ContactMonitor, mode_reason
from thunder_controllers.ros.franka.services import collision_request, load_request
from thunder_controllers.ros.franka.state import Body, FrankaState, Mode, state_from_message
from thunder_dynamics.errors import DimensionError
from thunder_dynamics.inertia import Inertia

MOVING = FrankaState(Mode.MOVE, (), (0.0,) * 7, False, Body(), Body())
LIMITS = {"torque": (15.0,) * 7, "release_ratio": 0.7, "release_time": 0.5}
LINK7 = Inertia(0.7355, [0.0105, -0.0043, 0.0616], np.diag([0.0125, 0.0100, 0.0048]))
TOOL = Inertia(1.2, [0.01, -0.02, 0.15], np.diag([0.004, 0.005, 0.003]))
"""A drill, in the frame of the last link."""
FLANGE = {"xyz": (0.0, 0.0, 0.107), "rpy": (0.0, 0.0, -math.pi / 4)}
BELIEVED = {"smallest_mass": 0.05, "largest_mass": 3.0, "largest_distance": 0.4}


def _torque(joint: int, value: float) -> FrankaState:
    torque = [0.0] * 7
    torque[joint] = value
    return replace(MOVING, external_torque=tuple(torque))


# --- mode and errors ------------------------------------------------------------------------------------------------


def test_only_the_mode_move_allows_torque_control() -> None:
    allowed = [mode for mode in Mode if mode_reason(replace(MOVING, mode=mode)) is None]
    assert allowed == [Mode.MOVE]


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.MOVE])
def test_a_refused_mode_is_named(mode: Mode) -> None:
    assert mode.text in str(mode_reason(replace(MOVING, mode=mode)))


def test_an_error_is_named_before_the_mode() -> None:
    reason = mode_reason(replace(MOVING, mode=Mode.REFLEX, errors=("joint_reflex", "power_limit_violation")))
    assert "joint_reflex, power_limit_violation" in str(reason)


# --- contact --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", range(7))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_contact_begins_above_the_threshold_of_any_joint(joint: int, sign: float) -> None:
    limits = tuple(10.0 + k for k in range(7))
    monitor = ContactMonitor(**{**LIMITS, "torque": limits})
    assert not monitor.update(0.0, _torque(joint, sign * limits[joint]))
    assert monitor.update(0.1, _torque(joint, sign * (limits[joint] + 0.1)))


def test_contact_lasts_while_the_torque_is_between_release_and_threshold() -> None:
    monitor = ContactMonitor(**LIMITS)
    monitor.update(0.0, _torque(1, 20.0))
    assert all(monitor.update(t, _torque(1, 12.0)) for t in np.arange(0.1, 10.0, 0.1))


def test_contact_ends_only_after_an_uninterrupted_calm() -> None:
    monitor = ContactMonitor(**LIMITS)
    monitor.update(0.0, _torque(1, 20.0))
    assert monitor.update(1.0, MOVING)
    assert monitor.update(1.4, _torque(1, 11.0)), "above 0.7 of 15 N·m the calm starts anew"
    assert monitor.update(1.6, MOVING)
    assert monitor.update(2.0, MOVING)
    assert not monitor.update(2.2, MOVING)
    assert not monitor.active


def test_the_robots_own_flag_is_contact() -> None:
    assert ContactMonitor(**LIMITS).update(0.0, replace(MOVING, flags=True))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_torque_that_is_no_number_is_contact(value: float) -> None:
    monitor = ContactMonitor(**LIMITS)
    assert monitor.update(0.0, _torque(3, value))
    assert monitor.update(1.0, _torque(3, value))


# --- what the robot compensates -------------------------------------------------------------------------------------

BODIES = CompensatedBodies(Body(0.5, (0.0, 0.0, 0.1)), Body(0.73, (-0.01, 0.0, 0.03)), 0.01, 0.001)
AGREEING = replace(MOVING, load=Body(0.5, (0.0, 0.0, 0.1)), end_effector=Body(0.73, (-0.01, 0.0, 0.03)))


def test_a_load_in_the_model_is_no_difference() -> None:
    assert BODIES.difference(AGREEING) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"load": Body()}, "a load of none"),
        ({"load": Body(0.52, (0.0, 0.0, 0.1))}, "a load of 0.52 kg"),
        ({"load": Body(0.5, (0.0, 0.0, 0.103))}, "a load of 0.5 kg"),
        ({"load": Body(math.nan, (0.0, 0.0, 0.1))}, "a load"),
        ({"load": Body(0.5, (0.0, math.nan, 0.1))}, "a load"),
        ({"end_effector": Body()}, "an end effector of none"),
    ],
)
def test_a_weight_that_the_model_lacks_is_named(change: dict[str, Body], word: str) -> None:
    assert word in str(BODIES.difference(replace(AGREEING, **change)))


def test_rounding_of_a_load_is_no_difference() -> None:
    assert BODIES.difference(replace(AGREEING, load=Body(0.5004, (0.0, 0.0, 0.0999)))) is None


# --- payload --------------------------------------------------------------------------------------------------------


def test_the_identified_payload_is_the_tool_in_the_flange_frame() -> None:
    payload = identified_payload((LINK7 + TOOL).pi, LINK7.pi, **FLANGE, **BELIEVED)
    c, s = math.cos(math.pi / 4), math.sin(math.pi / 4)
    rotation = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])  # of link axes in flange axes: Rz(+45°), written out
    # Rounding: sums of ten numbers of order one.
    assert payload.mass == pytest.approx(TOOL.mass, rel=1e-12)
    np.testing.assert_allclose(payload.com, rotation @ (TOOL.com - [0, 0, 0.107]), atol=1e-13)
    np.testing.assert_allclose(payload.inertia_com, rotation @ TOOL.inertia_com @ rotation.T, atol=1e-13)


@pytest.mark.parametrize(
    ("pi", "reason"),
    [
        (LINK7.pi, "a mass of 0 kg"),
        (LINK7.pi - TOOL.pi, "a mass of -1.2 kg"),
        ((LINK7 + Inertia(5.0, [0, 0, 0.1], 0.1 * np.eye(3))).pi, "a mass of 5 kg"),
        ((LINK7 + Inertia(1.0, [0, 0.6, 0.1], 0.1 * np.eye(3))).pi, "from the flange"),
        ((LINK7 + Inertia(1.0, [0, 0, 0.1], np.diag([0.1, 0.01, 0.01]))).pi, "triangle inequality"),
        ((LINK7 + Inertia(1.0, [0, 0, 0.1], -0.01 * np.eye(3))).pi, "negative principal moment"),
        (np.where(np.arange(10) == 7, np.nan, (LINK7 + TOOL).pi), "not finite"),
        (np.full(10, np.nan), "a mass of nan"),
    ],
)
def test_estimates_that_are_no_payload_are_refused(pi: np.ndarray, reason: str) -> None:
    with pytest.raises(PayloadError, match=reason):
        identified_payload(pi, LINK7.pi, **FLANGE, **BELIEVED)


def test_nominal_estimates_are_those_with_the_weight_of_the_model() -> None:
    heavier_about_com = Inertia(LINK7.mass, LINK7.com, 2.0 * LINK7.inertia_com)
    assert BODIES.is_nominal(heavier_about_com.pi, LINK7.pi), "inertia alone has no weight"
    assert not BODIES.is_nominal((LINK7 + TOOL).pi, LINK7.pi)
    assert not BODIES.is_nominal(np.full(10, np.nan), LINK7.pi)


# --- requests -------------------------------------------------------------------------------------------------------


def test_the_load_request_is_column_major() -> None:
    request = SimpleNamespace()
    load_request(request, TOOL)
    assert (request.mass, request.center_of_mass) == (1.2, [0.01, -0.02, 0.15])
    np.testing.assert_array_equal(np.reshape(request.load_inertia, (3, 3), order="F"), TOOL.inertia_com)


def test_the_collision_request_sets_every_threshold() -> None:
    request = SimpleNamespace()
    collision_request(request, range(1, 8), range(1, 7))
    sides = [f"{side}_{kind}_thresholds_{phase}" for side in ("lower", "upper") for phase in ("acceleration", "nominal")
             for kind in ("torque", "force")]  # fmt: skip
    assert sorted(vars(request)) == sorted(sides)
    assert {len(value) for name, value in vars(request).items() if "torque" in name} == {7}
    assert {len(value) for name, value in vars(request).items() if "force" in name} == {6}


@pytest.mark.parametrize("where", ["torque", "load", "end effector"])
def test_a_state_that_is_not_finite_is_refused(where: str) -> None:
    """Comparisons with NaN are false: it would be no contact and no load."""
    torque, load, end_effector = [0.0] * 7, InertiaMessage(), InertiaMessage()
    if where == "torque":
        torque[3] = math.nan
    elif where == "load":
        load.m = math.inf
    else:
        end_effector.com.y = math.nan
    message = SimpleNamespace(
        tau_ext_hat_filtered=SimpleNamespace(effort=torque),
        inertia_load=SimpleNamespace(inertia=load),
        inertia_ee=SimpleNamespace(inertia=end_effector),
    )
    with pytest.raises(DimensionError, match="not finite"):
        state_from_message(message)
