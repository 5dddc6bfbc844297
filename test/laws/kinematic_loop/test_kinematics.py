"""Adapted kinematics: the Lyapunov rates of the docstring, the filter between positions, and what is implausible.

The truth is a robot of its own, whose end effector or lengths are others than those of the law's robot file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, evaluate, load_robot
from laws import packed, step
from robots import dh_placement, random_robot

from thunder_controllers.laws.cartesian_backstepping import cartesian_backstepping
from thunder_dynamics.entries import Entry, EntryFlag
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import NEVER, Law, ReferenceKind, Signals
from thunder_dynamics.model import Frame, Pose, RobotModel
from thunder_dynamics.spatial import rot_axis, rotation_from_ypr, skew

SX = ca.SX
DT = 1e-6
FloatArray = np.ndarray
FREE = {"speed_limit": 1e3, "angular_speed_limit": 100.0, "position_error_limit": 10.0, "singularity_threshold": 1e-9}
"""Gains with which nothing is scaled and no inverse damped."""

SLOW = {"gamma": 1e3, "least_inertia": 1e6}
"""Adaptation of π̂ that meets no bound and no limit."""

SWIFT = {"Lambda": 4.0, "K_p": 50.0, "K_d": 20.0, "ee_bandwidth": 8.0, "gamma_length": 300.0, "length_bandwidth": 2.0}

ARMS = ("panda", "ur5", "random 3", "random 8")


@cache
def robot_of(name: str) -> RobotExpressions:
    """An arm of a file, or a random one of six joints: with prismatic ones, and with or without DH rows."""
    return RobotExpressions(random_robot(int(name.split()[1]), 6) if " " in name else load_robot(name))


@cache
def law_of(name: str, option: str) -> Law:
    options = {"kinematics": option, "adaptation": "projected", "disturbance": "none"}
    return cartesian_backstepping(robot_of(name), options)


def with_tool(model: RobotModel, kappa: FloatArray) -> RobotModel:
    """The end effector moved by κ, in its axes."""
    return replace(model, ee=Frame(tuple(model.ee.tr + rotation_from_ypr(*model.ee.ypr) @ kappa), model.ee.ypr))


def with_lengths(model: RobotModel, kappa: FloatArray) -> RobotModel:
    """Every length longer by its κ, as `kinematic_regressors.lengths` has them."""
    links, per_link = [], 2 if all(link.joint.dh for link in model.links) else 3
    for link, own in zip(model.links, np.reshape(kappa[:-3], (-1, per_link)), strict=True):
        joint = link.joint
        if per_link == 2:
            a, alpha, d, theta = joint.dh
            row = (a + own[0], alpha, d + own[1], theta)
            joint = replace(joint, placement=dh_placement(*row), dh=row)
        else:
            placement = joint.placement
            joint = replace(joint, placement=Pose(placement.rotation, tuple(placement.translation + own)))
        links.append(replace(link, joint=joint))
    return replace(model, links=tuple(links), ee=Frame(tuple(model.ee.tr + kappa[-3:]), model.ee.ypr))


CHANGED = {"tool": with_tool, "lengths": with_lengths}


def parts_of(entries: tuple[Entry, ...], values: SX) -> dict[str, SX]:
    """Entries of a flat vector, by name."""
    ends = np.cumsum([0, *(entry.size for entry in entries)])
    return {entry.name: values[int(ends[i]) : int(ends[i + 1])] for i, entry in enumerate(entries)}


@dataclass(frozen=True)
class Found:
    """V̇ along the closed loop, and values of what its claims are made of; `y` is E κ̃, `slip` is Y κ̃."""

    rate: float
    e: FloatArray
    s: FloatArray
    epsilon: FloatArray
    M: FloatArray
    J_hat: FloatArray
    L: FloatArray
    y: FloatArray
    slip: FloatArray


def lyapunov(name: str, option: str, seed: int, gains: Mapping[str, Any], *, exact: bool) -> Found:
    """dV/dt by automatic differentiation of the law's graph along the arm's motion, with k̂ and π̂ that are wrong.

    exact: p̂ is the true position at every q; else it is up to 1 cm off, and a position is measured now.
    """
    robot, law, rng = robot_of(name), law_of(name, option), np.random.default_rng(seed)
    n, model = robot.n, robot.model
    sizes = {entry.name: entry.size for entry in law.state}
    kappa, guess = rng.uniform(-0.05, 0.05, (2, sizes["length_error"]))
    true, guessed = (RobotExpressions(CHANGED[option](model, values)) for values in (kappa, guess))
    given: dict[str, Any] = {**{e.name: e.default.ravel() for e in law.gains}, **FREE, **SLOW, **gains}
    q, qd, R_d = SX.sym("q", n), SX.sym("qd", n), SX.sym("R_d", 3, 3)
    position, twist, acceleration = SX.sym("p_d", 3), SX.sym("xi", 6), SX.sym("xi_dot", 6)
    kappa_hat, pi_hat, offset = (SX.sym(key, sizes[key]) for key in ("length_error", "pi_hat", "ee_offset"))
    T_file, T = robot.function("T_0_ee")(q), true.function("T_0_ee")(q)
    known = T[:3, 3] - T_file[:3, 3] if exact else offset
    state = {"length_error": kappa_hat, "pi_hat": pi_hat, "ee_offset": known, "ee_residual": SX.zeros(3)}
    state |= {"ee_silence": SX(0), "ee_age": SX(1), "ee_refused": SX(0), "damping": SX(0)}
    effort, after, reported = law.step(
        q,
        qd,
        SX.zeros(n),
        ca.vertcat(T[:3, 3], 0.0),
        ca.vertcat(position, ca.vec(R_d), twist, acceleration),
        ca.vertcat(*(state[entry.name] for entry in law.state)),
        packed(law.gains, given),
        DT,
    )
    after, reported = parts_of(law.state, after), parts_of(law.telemetry, reported)
    M, C, G = (robot.function(key) for key in ("M", "C", "G"))
    qdd = ca.solve(M(q), effort - C(q, qd) @ qd - G(q))
    e, s, pi = reported["pose_error"], reported["s"], model.links[-1].inertia.pi
    epsilon = T[:3, 3] - T_file[:3, 3] - known
    K_p = np.broadcast_to(np.ravel(given["K_p"]), 6)
    per_link = [given["gamma_mass"], *3 * [given["gamma_com"]], *6 * [given["gamma_inertia"]]]
    gamma = given["gamma"] * np.ravel(per_link)
    V = ca.dot(e, K_p * e) + ca.dot(s, M(q) @ s) + given["gamma_length"] * ca.sumsqr(kappa_hat - kappa)
    V = 0.5 * (V + ca.dot(pi_hat - pi, gamma * (pi_hat - pi)) + ca.dot(epsilon, K_p[:3] * epsilon))
    pairs = [
        (q, qd),
        (qd, qdd),
        (position, twist[:3]),
        (R_d, SX(skew(twist[3:])) @ R_d),
        (twist, acceleration),
        (kappa_hat, (after["length_error"] - kappa_hat) / DT),
        (pi_hat, (after["pi_hat"] - pi_hat) / DT),
        (offset, (after["ee_offset"] - offset) / DT),
    ]
    x, x_dot = (ca.vertcat(*(ca.vec(pair[i]) for pair in pairs)) for i in (0, 1))
    evaluated = ca.Function("at", [x, acceleration], [ca.gradient(V, x), x_dot, e, s, epsilon, M(q)])
    place, speed = rng.uniform(-1.0, 1.0, n), rng.uniform(-0.6, 0.6, n)
    T_now = evaluate(true, "T_0_ee", {"q": place})
    T_nominal = evaluate(robot, "T_0_ee", {"q": place})
    wanted = rot_axis((0.6, 0.0, 0.8), 0.2) @ T_now[:3, :3]
    values = [place, speed, T_now[:3, 3] + rng.uniform(-0.03, 0.03, 3), wanted.ravel(order="F")]
    values += [rng.uniform(-0.3, 0.3, 6), guess, pi * rng.uniform(0.8, 1.2, 10)]
    values.append(T_now[:3, 3] - T_nominal[:3, 3] - rng.uniform(-0.01, 0.01, 3))
    gradient, rates, *rest = (
        np.asarray(value) for value in evaluated(np.concatenate(values), rng.uniform(-0.3, 0.3, 6))
    )
    J, J_hat = (evaluate(each, "J_ee", {"q": place}) for each in (true, guessed))
    y = T_now[:3, 3] - evaluate(guessed, "T_0_ee", {"q": place})[:3, 3]
    Q, L = wanted @ T_now[:3, :3].T, np.eye(6)
    L[3:, 3:] = 0.5 * (np.trace(Q) * np.eye(3) - Q.T)
    e, s, epsilon, M_now = rest
    rate = float(gradient.ravel() @ rates.ravel())
    return Found(rate, e.ravel(), s.ravel(), epsilon.ravel(), M_now, J_hat, L, y, (J - J_hat) @ speed)


def claimed(gains: Mapping[str, Any], at: Found, option: str, count: int) -> float:
    """What both claims share: −eᵀK_pΛe − sᵀK_d s − γβ κ̃ᵀEᵀ(p̂ − p(q, k̂))."""
    prediction = gains["gamma_length"] * gains["length_bandwidth"] * 3.0 / count
    fallen = gains["K_p"] * gains["Lambda"] * at.e @ at.e + gains["K_d"] * at.s @ at.s
    return -fallen - prediction * at.y @ (at.y - at.epsilon)


def remaining(gains: Mapping[str, Any], at: Found) -> float:
    """−sᵀM Ĵ⁺L⁻¹ΛL Y κ̃."""
    ahead = np.linalg.solve(at.L, gains["Lambda"] * at.L @ at.slip)
    return float(-at.s @ at.M @ np.linalg.pinv(at.J_hat) @ ahead)


CASES = [(name, option) for name in ARMS for option in CHANGED]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), CASES)
def test_with_the_exact_position_the_lyapunov_function_falls_but_for_the_term_that_is_stated(
    name: str, option: str
) -> None:
    (count,) = (entry.size for entry in law_of(name, option).state if entry.name == "length_error")
    for seed in range(3):
        at = lyapunov(name, option, seed, SWIFT, exact=True)
        expected = claimed(SWIFT, at, option, count) + remaining(SWIFT, at)
        # differences over DT of states of order one are good to 1e-16 / 1e-6; all else is exact to rounding
        assert at.rate == pytest.approx(expected, rel=1e-7, abs=1e-7)
        assert np.abs(at.slip[:3]).max() > 1e-3
        assert np.abs(at.slip[3:]).max() < 1e-12  # no length turns anything


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_it_falls_where_adaptation_by_the_prediction_dominates_that_term(name: str) -> None:
    """4 K_d γβ > ‖M Ĵ⁺L⁻¹ΛL ω‖², of a tool, which E = R keeps in sight at every pose."""
    eager = {**SWIFT, "Lambda": 1.0, "length_bandwidth": 20.0, "gamma_length": 3e4}
    held = 0
    for seed in range(6):
        at = lyapunov(name, "tool", seed, eager, exact=True)
        M_J = at.M @ np.linalg.pinv(at.J_hat)[:, :3]
        omega = np.linalg.norm(at.slip) / np.linalg.norm(at.y)  # Y κ̃ = ω × R κ̃
        if (
            4.0 * eager["K_d"] * eager["gamma_length"] * eager["length_bandwidth"]
            > (np.linalg.norm(M_J, 2) * omega) ** 2
        ):
            held += 1
            assert at.rate < 0.0
    assert held >= 3


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), CASES)
def test_with_the_filtered_position_nothing_of_the_lengths_is_left_in_the_error(name: str, option: str) -> None:
    """q̈_r is exact then. V̇ has ℓ(p − p̂) in ė, and of Y κ̃ what f and K_p(p − p̂) make of it."""
    (count,) = (entry.size for entry in law_of(name, option).state if entry.name == "length_error")
    bandwidth = -np.expm1(-SWIFT["ee_bandwidth"] * DT) / DT
    for seed in range(3):
        at = lyapunov(name, option, seed, {**SWIFT, "ee_speed": 10.0}, exact=False)
        K_p, slip = SWIFT["K_p"], at.slip[:3]
        expected = claimed(SWIFT, at, option, count) - K_p * bandwidth * at.e[:3] @ at.epsilon
        expected += K_p * slip @ at.e[:3] + K_p * at.epsilon @ (slip - bandwidth * at.epsilon)
        assert at.rate == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["tool", "lengths"])
@pytest.mark.parametrize("seed", range(3))
def test_with_the_lengths_of_the_file_and_the_exact_position_it_is_the_law_that_knows_them(
    option: str, seed: int
) -> None:
    robot, rng = robot_of("panda"), np.random.default_rng(seed)
    plain = cartesian_backstepping(robot, {"adaptation": "projected", "disturbance": "none"})
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5]) + rng.uniform(-0.2, 0.2, 7)
    qd = rng.uniform(-0.5, 0.5, 7)
    T = evaluate(robot, "T_0_ee", {"q": q})
    reference = {
        "position": T[:3, 3] + rng.uniform(-0.02, 0.02, 3),
        "rotation": rot_axis((0.0, 0.6, 0.8), 0.1) @ T[:3, :3],
    }
    reference |= {"twist": rng.uniform(-0.2, 0.2, 6), "acceleration": rng.uniform(-0.5, 0.5, 6)}
    state = {"pi_hat": robot.model.links[-1].inertia.pi * rng.uniform(0.9, 1.1, 10)}
    effort, after, told = step(plain, q, qd, reference, state)
    measured = {"ee_position": T[:3, 3], "ee_position_age": 0.0}
    # γ alone makes k̂ move, with the error of the pose: by 1e-9 m/s, which is in the derivative of J(k̂)
    at = {"ee_silence": 0.0, **state}
    still = {"gamma_length": 1e9}
    ours, next_state, reported = step(law_of("panda", option), q, qd, reference, at, still, measurements=measured)
    assert_close(ours, effort, 1e-9)
    assert_close(next_state["pi_hat"], after["pi_hat"], 1e-10)
    assert_close(reported["qd_r"], told["qd_r"], 1e-12)
    assert reported["ee_source"] == 1.0


# --- the filter ------------------------------------------------------------------------------------------------------


class Tracked:
    """A moving Panda whose tool is 5 cm off, seen by a sensor, and what the law's filter makes of that."""

    def __init__(self, std: float = 0.0, delay: float = 0.0, rate: float = 100.0, seed: int = 0) -> None:
        self.robot, self.law = robot_of("panda"), law_of("panda", "tool")
        self.rng, self.std, self.delay, self.every = np.random.default_rng(seed), std, delay, round(1e3 / rate)
        self.kappa = np.array([0.03, -0.02, 0.0346])
        self.T = self.robot.function("T_0_ee")
        self.state: dict[str, FloatArray] = {}
        self.k, self.sees, self.stray = 0, True, np.zeros(3)
        self.sample, self.age = np.zeros(3), NEVER
        self.errors: list[float] = []
        self.told: dict[str, FloatArray] = {}

    def q(self, t: float) -> tuple[FloatArray, FloatArray]:
        phase, speed = np.arange(7.0), np.linspace(0.5, 1.1, 7)
        start = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.8])
        return start + 0.3 * np.sin(speed * t + phase), 0.3 * speed * np.cos(speed * t + phase)

    def tip(self, t: float) -> FloatArray:
        T = np.asarray(self.T(self.q(t)[0]))
        return np.asarray(T[:3, 3] + T[:3, :3] @ self.kappa)

    def run(self, seconds: float, gains: Mapping[str, Any] | None = None) -> None:
        for _ in range(round(1e3 * seconds)):
            t = 1e-3 * self.k
            self.age += 1e-3
            if self.sees and self.k % self.every == 0 and t >= self.delay:
                self.sample = self.tip(t - self.delay) + self.std * self.rng.standard_normal(3) + self.stray
                self.age = self.delay
            q, qd = self.q(t)
            measured = {"ee_position": self.sample, "ee_position_age": min(self.age, NEVER)}
            # on its path, so that an error of the pose is one of p̂: e = p_d − p̂
            reference = {"position": self.tip(t), "rotation": np.asarray(self.T(q))[:3, :3]}
            known = dict(self.state)
            _, self.state, self.told = step(self.law, q, qd, reference, known, gains, measurements=measured)
            self.errors.append(float(np.linalg.norm(self.told["pose_error"][:3])))
            self.k += 1

    @property
    def length_error(self) -> float:
        return float(np.linalg.norm(self.state["length_error"] - self.kappa))


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.03])
def test_the_filter_finds_position_and_tool_without_noise(delay: float) -> None:
    """What a delay leaves is α² of half the acceleration, here 0.3 m/s² at most: 0.14 mm."""
    tracked = Tracked(delay=delay)
    tracked.run(10.0)
    assert max(tracked.errors[-1000:]) < 2e-5 + 0.5 * 0.35 * delay**2
    assert tracked.length_error < 2e-5 + 0.5 * 0.35 * delay**2


@pytest.mark.slow
def test_the_filter_averages_noise_by_its_bandwidth() -> None:
    """A sample pulls by 1 − e^{−ℓT}: what is left of σ is √((1 − e^{−ℓT})/(1 + e^{−ℓT})), 16 % for 5/s at 100 Hz."""
    tracked = Tracked(std=1e-3, seed=1)
    tracked.run(16.0)
    kept = np.exp(-5.0 * 0.01)
    expected = np.sqrt(3.0) * 1e-3 * np.sqrt((1.0 - kept) / (1.0 + kept))
    assert np.sqrt(np.mean(np.square(tracked.errors[6000:]))) == pytest.approx(
        expected, rel=0.35
    )  # of some 50 periods 1/ℓ
    assert tracked.length_error < 5e-4


@pytest.mark.slow
def test_without_positions_it_goes_on_by_forward_kinematics_and_says_so() -> None:
    tracked = Tracked()
    tracked.run(8.0)
    assert tracked.told["ee_source"] == 1.0
    tracked.sees = False
    tracked.run(0.2)  # twice the timeout
    found = tracked.state["length_error"].copy()
    tracked.run(3.0)
    assert tracked.told["ee_source"] == 0.0
    assert (tracked.state["length_error"] == found).all()  # kept, to the last digit
    assert max(tracked.errors[-3000:]) < 1e-4  # for k̂ is known by now
    tracked.sees = True
    tracked.run(0.05)
    assert tracked.told["ee_source"] == 1.0


@pytest.mark.slow
def test_implausible_positions_are_not_taken() -> None:
    tracked = Tracked()
    tracked.run(8.0)
    found = tracked.state["length_error"].copy()
    tracked.stray = np.array([0.3, 0.0, 0.0])
    tracked.run(2.0)
    assert tracked.told["ee_source"] == -1.0
    assert np.abs(tracked.state["length_error"] - found).max() < 1e-4  # what it learned until the timeout
    assert max(tracked.errors[-2000:]) < 1e-4
    tracked.stray = np.zeros(3)
    tracked.run(0.05)
    assert tracked.told["ee_source"] == 1.0


@pytest.mark.slow
def test_a_position_that_jumps_moves_the_estimate_no_faster_than_is_said() -> None:
    tracked = Tracked()
    tracked.run(6.0)
    tracked.stray = np.array([0.15, 0.0, 0.0])
    before = tracked.errors[-1]
    tracked.run(0.1, {"ee_speed": 0.05, "length_bandwidth": 0.0})
    assert tracked.errors[-1] - before == pytest.approx(0.05 * 0.1, rel=0.02)


@pytest.mark.slow
def test_it_starts_where_the_kept_lengths_have_it() -> None:
    """Activated again, the law has k̂ of before and no position yet."""
    tracked = Tracked()
    tracked.state = {"length_error": tracked.kappa}
    tracked.sees = False
    tracked.run(0.01)
    assert max(tracked.errors) < 1e-6


def test_lengths_stay_within_their_limit() -> None:
    tracked = Tracked()
    tracked.state = {"length_error": np.array([0.5, -0.5, 0.0])}
    tracked.run(0.02, {"length_limit": 0.02})
    assert np.abs(tracked.state["length_error"]).max() <= 0.02


# --- what is declared ------------------------------------------------------------------------------------------------


def test_signals_of_adapted_kinematics_are_declared() -> None:
    law = law_of("panda", "tool")
    assert [(e.name, e.size, e.flags) for e in law.measurements] == [
        ("ee_position", 3, EntryFlag.NONE),
        ("ee_position_age", 1, EntryFlag.AGE),
    ]
    (kappa,) = (entry for entry in law.state if entry.name == "length_error")
    assert kappa.flags is EntryFlag.ADAPTED and kappa.size == 3
    assert [e.name for e in law.telemetry if e.flags is EntryFlag.MEASURED] == ["ee_source"]
    (lengths,) = (entry for entry in law_of("ur5", "lengths").state if entry.name == "length_error")
    assert lengths.size == 15  # a and d of six links, and the offset of the end effector


def test_a_law_that_knows_its_kinematics_measures_no_position() -> None:
    law = cartesian_backstepping(robot_of("panda"), {"kinematics": "known", "disturbance": "none"})
    assert law.measurements == () and [entry.name for entry in law.state] == ["damping", "pi_hat"]


def test_an_unknown_value_of_the_option_is_refused() -> None:
    with pytest.raises(LawError, match=r"law cartesian_backstepping: kinematics 'tools'; valid: known, tool, lengths"):
        cartesian_backstepping(robot_of("panda"), {"kinematics": "tools"})


def test_two_kinds_of_bounds_of_telemetry_are_refused() -> None:
    signals = Signals(robot_of("ur5"), ReferenceKind.CARTESIAN)
    with pytest.raises(LawError, match="telemetry 'x' with two kinds of bounds; valid: one of them"):
        signals.describe_telemetry("x", unit="1", doc="x.", activation_bounds=(0, 1), measured_bounds=(0, 1))
