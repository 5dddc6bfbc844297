"""The contract of a law: what its entries may say, exact time derivatives, how a law is closed."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, evaluate, load_robot, numeric
from laws import packed, slotine_li, step
from robots import random_state

from thunder_dynamics.entries import EntryFlag, make_entry
from thunder_dynamics.errors import LawError, NameNotFoundError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import ReferenceKind, Signals
from thunder_dynamics.spatial import rotation_from_ypr


@pytest.fixture(scope="module")
def robot() -> RobotExpressions:
    return RobotExpressions(load_robot("planar3r"))


@pytest.fixture
def joint(robot: RobotExpressions) -> Signals:
    return Signals(robot, ReferenceKind.JOINT)


@pytest.fixture
def cartesian(robot: RobotExpressions) -> Signals:
    return Signals(robot, ReferenceKind.CARTESIAN)


# --- entries -----------------------------------------------------------------------------------------------------


def test_defaults_and_bounds_take_the_shape_of_the_entry() -> None:
    entry = make_entry("K", (3, 1), "1", "Gain.", [1.0, 2.0, 3.0], (0.0, [4.0, 5.0, 6.0]))
    assert entry.default.tolist() == [[1.0], [2.0], [3.0]]
    assert entry.lower.tolist() == [[0.0]] * 3 and entry.upper.tolist() == [[4.0], [5.0], [6.0]]
    assert entry.size == 3 and entry.flags is EntryFlag.NONE
    with pytest.raises(ValueError, match="read-only"):
        entry.default[0] = 0.0


@pytest.mark.parametrize("name", ["", "2K", "K p", "K-p", "Λ", 'a"b', "_K", "K" * 64])
def test_entry_names_are_identifiers(name: str) -> None:
    with pytest.raises(LawError, match="signal entry .*: not an identifier; valid: a match of"):
        make_entry(name, (1, 1), "1", "Gain.")


@pytest.mark.parametrize(("unit", "doc"), [("", "Gain."), ("1", "")])
def test_entries_have_unit_and_description(unit: str, doc: str) -> None:
    with pytest.raises(LawError, match="signal entry 'K': no unit or no description; valid: both, with unit '1'"):
        make_entry("K", (1, 1), unit, doc)


@pytest.mark.parametrize(
    ("default", "bounds"),
    [
        (-1.0, (0.0, 1.0)),
        (2.0, (0.0, 1.0)),
        (np.nan, (0.0, 1.0)),
        (np.inf, (0.0, np.inf)),
        (0.5, (1.0, 0.0)),
        (0.5, (np.nan, 1.0)),
    ],
)
def test_defaults_are_finite_and_within_bounds(default: float, bounds: tuple[float, float]) -> None:
    with pytest.raises(LawError, match="signal entry 'K': the default .* is not within .*; valid: finite, lower ≤"):
        make_entry("K", (2, 1), "1", "Gain.", default, bounds)


def test_values_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(LawError, match=r"signal entry 'K': a value of shape \(3, 1\); valid: .* to \(2, 1\)"):
        make_entry("K", (2, 1), "1", "Gain.", [1.0, 2.0, 3.0])


@pytest.mark.parametrize("size", [0, -1])
def test_entries_have_at_least_one_value(joint: Signals, size: int) -> None:
    with pytest.raises(LawError, match="signal entry 'K'"):
        joint.gain("K", default=0.0, bounds=(0, 1), unit="1", doc="Gain.", size=size)


def test_names_are_unique_in_their_signal(joint: Signals) -> None:
    joint.gain("K", default=1.0, bounds=(0, 2), unit="1", doc="Gain.")
    joint.state("K", default=1.0, unit="1", doc="State of the same name.")
    with pytest.raises(LawError, match="two gains entries named 'K'; valid: unique names"):
        joint.gain("K", default=1.0, bounds=(0, 2), unit="1", doc="Gain.")
    joint.describe_telemetry("s", unit="1", doc="Value.")
    with pytest.raises(LawError, match="two telemetry entries named 's'; valid: unique names"):
        joint.describe_telemetry("s", unit="1", doc="Value.")


def test_activation_bounds_are_kept_with_their_flag(joint: Signals) -> None:
    joint.describe_telemetry("cosine", unit="1", doc="Cosine.", activation_bounds=(0.5, np.inf))
    joint.describe_telemetry("value", unit="1", doc="Value.")
    q = joint.q
    law = joint.law("l", "Law.", q, {}, {"cosine": q[0], "value": q[1]})
    assert [entry.flags for entry in law.telemetry] == [EntryFlag.ACTIVATION, EntryFlag.NONE]
    assert law.telemetry[0].lower.item() == 0.5


# --- time derivatives ----------------------------------------------------------------------------------------------

REST = np.zeros(3)
H = 1e-5
SLOPE = 1e-8  # central difference in double precision: h² ≈ 1e-10 of truncation, 1e-16/h = 1e-11 of rounding


def test_the_joint_derivative_is_the_slope_along_a_trajectory(joint: Signals) -> None:
    reference = joint.reference
    K = joint.gain("K", default=2.0, bounds=(0, 9), unit="1", doc="Gain.")
    expression = ca.sin(joint.q) * reference.q + K * reference.qd**2
    symbols = [joint.q, joint.qd, reference.q, reference.qd, reference.qdd, K]
    a, b, c, d = np.random.default_rng(0).normal(size=(4, 3))

    def values(t: float) -> list[object]:
        q, qd = a * np.sin(t), a * np.cos(t)
        return [q, qd, b + c * t + d * t**3, c + 3 * d * t**2, 6 * d * t, 2.0]

    exact = numeric(symbols, joint.time_derivative(expression), *values(0.4))
    slope = (numeric(symbols, expression, *values(0.4 + H)) - numeric(symbols, expression, *values(0.4 - H))) / (2 * H)
    assert_close(exact, slope, SLOPE)


def test_the_cartesian_derivative_turns_the_frame_and_moves_the_point(cartesian: Signals) -> None:
    reference = cartesian.reference
    expression = ca.vertcat(
        ca.vec(reference.rotation), ca.sin(cartesian.q), reference.position**2, reference.twist * reference.position[0]
    )
    symbols = [cartesian.q, cartesian.qd, *vars(reference).values()]
    rng = np.random.default_rng(1)
    axis, q0, q1, p0, v, a = rng.normal(size=3), *rng.normal(size=(5, 3))
    axis /= np.linalg.norm(axis)
    R0 = rotation_from_ypr(0.3, 0.4, 0.5)

    def turned(angle: float) -> np.ndarray:
        S = np.cross(np.eye(3), axis)
        return np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S

    def values(t: float) -> list[np.ndarray]:
        twist = np.concatenate([v + a * t, axis * 2 * t])
        return [q0 + q1 * t, q1, p0 + v * t + a * t**2 / 2, turned(t**2) @ R0, twist, np.concatenate([a, 2 * axis])]

    exact = numeric(symbols, cartesian.time_derivative(expression), *values(0.6))
    ahead, behind = (numeric(symbols, expression, *values(0.6 + sign * H)) for sign in (1, -1))
    assert_close(exact, (ahead - behind) / (2 * H), SLOPE)


def test_derivatives_that_nobody_knows_are_refused(joint: Signals, cartesian: Signals) -> None:
    cases = [
        (joint, joint.qd, "q̇"),
        (joint, joint.dt * joint.q, "dt"),
        (joint, joint.reference.qdd, "q̈_d"),
        (cartesian, cartesian.reference.acceleration, "ξ̇_d"),
    ]
    for signals, expression, label in cases:
        with pytest.raises(LawError, match=f"time_derivative of an expression of {label}; valid: expressions of q and"):
            signals.time_derivative(expression)


def test_gains_and_states_count_as_constant(joint: Signals) -> None:
    K = joint.gain("K", default=1.0, bounds=(0, 2), unit="1", doc="Gain.")
    x = joint.state("x", default=1.0, unit="1", doc="State.")
    assert joint.time_derivative(K * x).is_zero()


# --- what a law may be given ---------------------------------------------------------------------------------------


def test_known_quantities_have_their_size_unit_and_text(joint: Signals) -> None:
    assert joint.measurement("external_effort").shape == (3, 1)
    assert joint.measurement("wrench", default=[0, 0, -9.81, 0, 0, 0]).shape == (6, 1)
    law = joint.law("l", "Law.", joint.q, {}, {})
    assert [(e.name, e.unit, e.size) for e in law.measurements] == [
        ("external_effort", "N·m|N", 3),
        ("wrench", "N, N·m", 6),
    ]
    assert law.measurements[1].default[2].item() == -9.81
    with pytest.raises(LawError, match="signal entry 'motor_position': size 2; valid: 3, as it is known"):
        joint.measurement("motor_position", size=2)
    with pytest.raises(LawError, match="signal entry 'wrench': size 3; valid: 6"):
        joint.further_reference("wrench", size=3, default=0.0)


def test_other_measurements_describe_themselves(joint: Signals) -> None:
    assert joint.measurement("temperature", size=2, unit="K", doc="Of the drives.", default=290.0).shape == (2, 1)
    with pytest.raises(LawError, match="signal entry 'pressure': no unit or no description"):
        joint.measurement("pressure")
    with pytest.raises(LawError, match="two measurements entries named 'temperature'"):
        joint.measurement("temperature", unit="K", doc="Again.")


def test_further_references_come_after_the_standard_ones(cartesian: Signals) -> None:
    wrench = cartesian.further_reference("wrench", default=0.0)
    assert cartesian.reference.wrench is wrench
    law = cartesian.law("l", "Law.", cartesian.q + wrench[:3], {}, {})
    assert [e.name for e in law.reference] == ["position", "rotation", "twist", "acceleration", "wrench"]
    assert [bool(e.flags & EntryFlag.UNUSED) for e in law.reference] == [True] * 4 + [False]
    with pytest.raises(LawError, match="two reference entries named 'position'"):
        cartesian.further_reference("position", default=0.0, unit="m", doc="Again.")


def test_the_derivative_of_a_further_reference_is_the_one_given(joint: Signals) -> None:
    rate = joint.further_reference("y_rate", default=0.0, unit="1/s", doc="Rate.")
    y = joint.further_reference("y", default=0.0, unit="1", doc="Value.", derivative=rate)
    derivative = joint.time_derivative(y**2 * joint.q)
    value = numeric([joint.q, joint.qd, y, rate], derivative, [1, 2, 3], [4, 5, 6], 0.5, 7.0)
    assert_close(value, 2 * 0.5 * 7.0 * np.array([1, 2, 3]) + 0.25 * np.array([4, 5, 6]), 1e-14)
    unknown = [(rate, "'y_rate'"), (joint.measurement("external_effort"), "'external_effort'")]
    for expression, label in [*unknown, (joint.applied_effort, "the applied effort")]:
        with pytest.raises(LawError, match=f"time_derivative of an expression of {label}"):
            joint.time_derivative(expression)


def test_a_step_is_given_everything_in_one_order(joint: Signals) -> None:
    measured = joint.measurement("external_effort")
    force = joint.further_reference("force", size=3, default=0.0, unit="N", doc="Wanted.")
    law = joint.law("l", "Law.", 2 * joint.applied_effort + measured + force, {}, {})
    names = ["q", "qd", "applied_effort", "measurements", "reference", "state", "gains", "dt"]
    assert law.step.name_in() == names and law.initial is None
    given = {"external_effort": [10.0, 20.0, 30.0]}
    effort, _, _ = step(law, REST, REST, {"force": 100.0}, applied_effort=np.arange(3.0), measurements=given)
    assert effort.tolist() == [110.0, 122.0, 134.0]


def test_states_may_start_from_position_velocity_and_gains(joint: Signals) -> None:
    K = joint.gain("K", default=2.0, bounds=(0, 9), unit="1", doc="Gain.")
    x = joint.state("x", size=3, default=0.0, unit="1", doc="Started.", initial=K * joint.q + joint.qd)
    y = joint.state("y", size=2, default=[4.0, 5.0], unit="1", doc="Not started.")
    law = joint.law("l", "Law.", x, {"x": x, "y": y}, {})
    assert [e.flags for e in law.state] == [EntryFlag.INITIAL, EntryFlag.NONE]
    assert law.initial is not None and law.initial.name_in() == ["q", "qd", "gains"]
    first = np.asarray(law.initial([1.0, 2.0, 3.0], [10.0, 20.0, 30.0], 3.0)).ravel()
    assert first.tolist() == [13.0, 26.0, 39.0, 4.0, 5.0]


def test_states_start_from_nothing_else(joint: Signals) -> None:
    with pytest.raises(LawError, match="estimate 'e' starts from a measurement; valid: a default"):
        joint.state("e", default=0.0, unit="1", doc="Estimate.", adapted=True, initial=joint.q[0])
    x = joint.state("x", default=0.0, unit="1", doc="State.", initial=joint.reference.q[0])
    with pytest.raises(LawError, match="law l: the graph depends on an undeclared symbol"):
        joint.law("l", "Law.", joint.q, {"x": x}, {})
    short = Signals(joint.robot, ReferenceKind.JOINT)
    x = short.state("x", size=2, default=0.0, unit="1", doc="State.", initial=short.q)
    with pytest.raises(LawError, match="state 'x' has 3 values; valid: 2"):
        short.law("l", "Law.", short.q, {"x": x}, {})


# --- closing a law -------------------------------------------------------------------------------------------------


def test_outputs_that_are_missing_unknown_or_misshapen_are_refused(joint: Signals) -> None:
    x = joint.state("x", default=0.0, unit="1", doc="State.")
    joint.describe_telemetry("s", unit="1", doc="Value.", size=3)
    good = {"effort": joint.q, "next_state": {"x": x}, "telemetry": {"s": joint.q}}
    bad = [
        ({"effort": joint.q[:2]}, "effort has 2 values; valid: 3"),
        ({"next_state": {}}, r"state outputs \[\]; valid: exactly \['x'\]"),
        ({"next_state": {"x": x, "y": x}}, r"state outputs \['x', 'y'\]; valid: exactly \['x'\]"),
        ({"next_state": {"x": joint.q}}, "state 'x' has 3 values; valid: 1"),
        ({"telemetry": {}}, r"telemetry outputs \[\]; valid: exactly \['s'\]"),
        ({"telemetry": {"s": x}}, "telemetry 's' has 1 values; valid: 3"),
    ]
    for change, message in bad:
        with pytest.raises(LawError, match=message):
            joint.law("mine", "Law.", **{**good, **change})
    law = joint.law("mine", "Law.", **good)
    effort, state, telemetry = step(law, np.arange(3.0), np.zeros(3), {}, {"x": 4.0})
    assert effort.tolist() == telemetry["s"].tolist() == [0.0, 1.0, 2.0] and state["x"].tolist() == [4.0]


def test_a_symbol_that_nobody_declared_is_named(joint: Signals) -> None:
    with pytest.raises(LawError, match="law mine: the graph depends on an undeclared symbol: (.|\n)*stray"):
        joint.law("mine", "Law.", joint.q * ca.SX.sym("stray"), {}, {})


@pytest.mark.parametrize("name", ["", "my law", "2nd", 'a"b', "a-b", "law;", "int main"])
def test_the_name_of_a_law_is_an_identifier(joint: Signals, name: str) -> None:
    with pytest.raises(LawError, match="law name"):
        joint.law(name, "Law.", joint.q, {}, {})


def test_constant_and_sparse_outputs_are_dense(joint: Signals) -> None:
    joint.describe_telemetry("zero", unit="1", doc="Nothing.", size=2)
    law = joint.law("mine", "Law.", ca.SX(3, 1), {}, {"zero": ca.SX(2, 1)})
    assert [law.step.sparsity_out(k).is_dense() for k in range(3)] == [True] * 3
    assert law.step.size_out(1) == (0, 1)


def test_symbolic_parameter_groups_become_gains_of_the_files_values() -> None:
    model = load_robot("sea2")
    robot = RobotExpressions(model)
    signals = Signals(robot, ReferenceKind.JOINT)
    law = signals.law("gravity", "Gravity compensation.", robot["G"], {}, {})
    names = {entry.name: entry for entry in law.gains}
    assert set(names) == {"par_gravity", "par_DYN"}
    assert names["par_DYN"].default.ravel().tolist() == [1.1, 0.15, 0.0, 0.0085]
    state = random_state(model, 3)
    assert_close(step(law, state["q"], state["dq"], {})[0], evaluate(robot, "G", state).ravel(), 1e-14)
    half = step(law, state["q"], state["dq"], {}, gains={"par_gravity": -9.81 / 2})[0]
    assert_close(2 * half, evaluate(robot, "G", state).ravel(), 1e-14)


def test_signals_share_the_robots_own_symbols(robot: RobotExpressions, joint: Signals) -> None:
    assert joint.q is robot.symbol("q") and joint.qd is robot.symbol("dq")


# --- a law of a user's own -----------------------------------------------------------------------------------------


def test_a_law_of_ones_own_is_its_formula(robot: RobotExpressions) -> None:
    law = slotine_li(robot, {})
    assert law.reference_kind is ReferenceKind.JOINT and [e.name for e in law.reference] == ["q", "qd", "qdd"]
    model, state = robot.model, random_state(robot.model, 5)
    q_d, qd_d, qdd_d = np.random.default_rng(6).normal(size=(3, 3))
    pi_hat = 1.1 * model.pi
    effort, next_state, telemetry = step(
        law, state["q"], state["dq"], {"q": q_d, "qd": qd_d, "qdd": qdd_d}, {"pi_hat": pi_hat}, {"gamma": 4.0}, dt=1e-3
    )
    qd_r = qd_d + 5.0 * (q_d - state["q"])
    s = qd_r - state["dq"]
    Yr = evaluate(robot, "Yr", {**state, "dq_r": qd_r, "ddq_r": qdd_d + 5.0 * (qd_d - state["dq"])})
    assert_close(effort, Yr @ pi_hat + 10.0 * s, 1e-13)
    assert_close(telemetry["s"], s, 1e-13)
    bounds = {entry.name: entry.default.ravel() for entry in law.gains}
    expected = np.clip(pi_hat + 1e-3 / 4.0 * Yr.T @ s, bounds["pi_lower"], bounds["pi_upper"])
    assert_close(next_state["pi_hat"], expected, 1e-13)


def test_adapted_links_are_names_all_the_last_one_or_those_that_are_not_known(robot: RobotExpressions) -> None:
    select = robot.model.select_links
    assert select(None) == (2,)
    assert select("all") == select(["all"]) == (0, 1, 2)
    assert select("link2") == select(["link2"]) == (1,)
    assert select(["link3", "link1"]) == (2, 0)
    assert select(None, "link2") == select(None, ["link2"]) == (0, 2)
    for option, given in (("adapted_links", ([],)), ("known", (None, ["link1", "link1"]))):
        with pytest.raises(LawError, match=f"{option} .*; valid: different links among link1"):
            select(*given)
    with pytest.raises(LawError, match="both adapted_links and known; valid: one of them"):
        select("all", ["link1"])
    with pytest.raises(LawError, match="every link is known; valid: adaptation=none"):
        select(None, ["link1", "link2", "link3"])
    with pytest.raises(NameNotFoundError, match="planar3r: no link 'hand'; valid: link1, link2, link3"):
        select("hand")


def test_estimates_are_adapted_states_that_start_at_the_model(robot: RobotExpressions) -> None:
    (estimate,) = slotine_li(robot, {}).state
    assert estimate.flags is EntryFlag.ADAPTED
    np.testing.assert_array_equal(estimate.default.ravel(), robot.model.pi)
    assert packed((estimate,), None).size == 30
