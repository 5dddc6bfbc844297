"""Rotors in laws: those that are known are fed forward, those that adapt are found, and what a scheme adds is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from evaluation import load_robot
from laws import packed, step, unpacked

from thunder_controllers.host import Controller, Library, Options
from thunder_controllers.laws.adaptation.gradient import GradientAdaptation
from thunder_controllers.laws.parts import split_dynamics
from thunder_controllers.laws.parts.gains import damping_by_inertia, least_joint_inertia
from thunder_controllers.laws.parts.rotors import RotorAdaptation
from thunder_controllers.laws.slotine_li import slotine_li
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_dynamics.build import build
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import UNKNOWN_ROTOR
from thunder_dynamics.law import Law, ReferenceKind, Signals
from thunder_dynamics.law import Options as LawOptions
from thunder_dynamics.model import RobotModel

TRUE = np.array([0.2, 0.1, 0.05])
"""More than the inertia of the outer links themselves."""

PERIOD = 1e-3
FIXED = {"adaptation": "none"}


def arm(share: float | None = None) -> RobotModel:
    """The planar arm, with a share of its rotors known, or with unknown ones."""
    model = load_robot("planar3r")
    return (
        model if share is None else model.with_rotor_inertias(dict(zip(model.joint_names, share * TRUE, strict=True)))
    )


def law(model: RobotModel, **options: Any) -> Law:
    return slotine_li(RobotExpressions(model), {**FIXED, **options})


def some_step(
    a_law: Law, rotors: np.ndarray | None = None, against: np.ndarray | float = 0.0, **gains: Any
) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
    """Effort, and next state with s, of one step in motion; `against` is added to q̈_d."""
    rng = np.random.default_rng(1)
    q, qd = rng.uniform(-1, 1, (2, 3))
    reference = dict(zip(("q", "qd", "qdd"), q + rng.uniform(-0.1, 0.1, (3, 3)), strict=True))
    reference["qdd"] = reference["qdd"] + against
    state = {} if rotors is None else {"rotor_hat": rotors}
    effort, after, telemetry = step(a_law, q, qd, reference, state, gains, PERIOD)
    return effort, {**after, "s": telemetry["s"]}


def reference_acceleration() -> np.ndarray:
    """q̈_r of `some_step`: what a unit of rotor inertia adds to the effort."""
    adapting = law(arm(), rotors="adapted")
    return some_step(adapting, np.ones(3))[0] - some_step(adapting, np.zeros(3))[0]


def test_known_rotors_are_fed_forward_along_the_reference_acceleration() -> None:
    known, unknown = (some_step(law(arm(share)), K_d=1.0)[0] for share in (1.0, None))
    difference = known - unknown
    np.testing.assert_allclose(difference, TRUE * reference_acceleration(), rtol=1e-12)


def test_the_update_cancels_the_error_of_the_rotors_in_the_lyapunov_function() -> None:
    """γ Ĩᵀ Î̇ = Ĩᵀ diag(q̈_r) s."""
    effort, after = some_step(law(arm(), rotors="adapted"), TRUE, gamma_rotor=100.0)
    rate = (after["rotor_hat"] - TRUE) / PERIOD
    np.testing.assert_allclose(100.0 * rate, reference_acceleration() * after["s"], rtol=1e-9)


def test_estimates_stay_within_what_a_sampled_loop_bears() -> None:
    adapting = law(arm(0.5), rotors="adapted")
    _, after = some_step(adapting, np.full(3, 50.0))
    (inertia,) = (entry.default.ravel() for entry in adapting.gains if entry.name == "joint_inertia")
    (bandwidth,) = (entry.default.max() for entry in adapting.gains if entry.name == "Lambda")
    np.testing.assert_allclose(after["rotor_hat"], 0.5 * TRUE + 0.3 * inertia / (bandwidth * PERIOD), rtol=1e-6)
    s = some_step(adapting)[1]["s"]
    _, after = some_step(adapting, np.zeros(3), against=-1e3 * s, gamma_rotor=1e-6, adaptation_limit=1e9)
    np.testing.assert_array_equal(after["rotor_hat"], 0.0)


def test_rotors_and_links_share_what_a_sampled_loop_bears() -> None:
    """Half of `BEARABLE` each: a rotor and the last link about the same axis are one inertia to its joint."""
    model = arm(0.5)
    adapting = law(model, rotors="adapted", adaptation="projected")
    last = model.links[-1].inertia.pi
    gains = {entry.name: entry.default.ravel() for entry in adapting.gains}
    q, reference = np.zeros(3), dict.fromkeys(("q", "qd", "qdd"), np.zeros(3))
    state = {"rotor_hat": np.full(3, 50.0), "pi_hat": last + 4.0 * np.eye(10)[9]}
    after = step(adapting, q, q, reference, state, {"pi_upper": 1e3}, PERIOD)[1]
    half = 0.15 / (gains["Lambda"].max() * PERIOD)
    np.testing.assert_allclose(after["rotor_hat"], 0.5 * TRUE + half * gains["joint_inertia"], rtol=1e-6)
    np.testing.assert_allclose(after["pi_hat"][9], last[9] + half * gains["least_inertia"][2], rtol=1e-6)


def test_nothing_adapts_at_rest() -> None:
    """The noise of velocities alone would make every rotor grow, as it is in s and in q̈_r."""
    adapting = law(arm(0.5), rotors="adapted")
    q = np.full(3, 0.3)
    reference = {"q": q, "qd": np.zeros(3), "qdd": np.zeros(3)}
    _, after, _ = step(adapting, q, np.full(3, 1e-3), reference, {}, {}, PERIOD)
    np.testing.assert_array_equal(after["rotor_hat"], 0.5 * TRUE)


class Run:
    """The planar arm with its rotors on a sum of sinusoids under a compiled law."""

    def __init__(self, model: RobotModel, **options: Any) -> None:
        library = Library(build(model, [("slotine_li", {**FIXED, **options})]) / f"lib{model.name}.so")
        self.gains = {gain.name: np.ravel(gain.defaults) for gain in library.law("slotine_li").gains}
        self.host, self.plant = Controller(), ModelPlant(arm(1.0), model.joint_names, PERIOD)
        self.host.configure(library, law="slotine_li", options=Options(nominal_dt=PERIOD))
        self.time = 0.0
        start = self.reference()
        self.plant.reset(start[:3], start[3:6])
        self.host.set_reference(start)
        self.host.activate(start[:3], start[3:6], self.plant.holding_effort())

    def reference(self) -> np.ndarray:
        w = 2.0 * np.pi * np.outer([1.0, 1.1, 1.3], [0.2, 0.45, 0.7])
        angle = w * self.time + np.outer([0.0, 1.0, 2.0], [1.0, 2.0, 4.0])
        rows = 0.2 * np.sin(angle), 0.2 * w * np.cos(angle), -0.2 * w**2 * np.sin(angle)
        return np.concatenate([row.sum(axis=1) for row in rows])

    def go(self, seconds: float) -> None:
        q, qd, effort = np.zeros((3, 3))
        for _ in range(round(seconds / PERIOD)):
            self.host.set_reference(self.reference())
            self.plant.measure(q, qd)
            self.host.update(self.time, q, qd, PERIOD, effort)
            self.plant.step(effort)
            self.time += PERIOD


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, 0.5, 1.5])
def test_rotors_are_found_within_a_tenth(build_cache: Path, known: float | None) -> None:
    run = Run(arm(known), rotors="adapted")
    run.go(20.0)
    found = run.host.state("rotor_hat").ravel()
    np.testing.assert_allclose(found, TRUE, rtol=0.1)


@pytest.mark.parametrize("name", ["panda", "ur5", "planar3r"])
def test_a_loop_with_surely_known_rotors_is_not_faster(name: str) -> None:
    """K_d grows with rotors that are there: no eigenvalue of M⁻¹K_d does, over poses, for any K_d."""
    model, rng = load_robot(name), np.random.default_rng(3)
    robot = RobotExpressions(model)
    signals, n = Signals(robot, ReferenceKind.JOINT), model.n
    rotors = RotorAdaptation(robot, signals, ca.SX.zeros(n), ca.SX(1.0), np.ones(n, dtype=bool))
    least, M = least_joint_inertia(robot), robot.function("M")
    masses = [np.array(M(q)) for q in rng.uniform(-np.pi, np.pi, (100, n))]

    def fastest(K_d: np.ndarray, rotor: np.ndarray) -> float:
        return max(np.linalg.eigvals(np.linalg.solve(one + np.diag(rotor), np.diag(K_d))).real.max() for one in masses)

    for _ in range(5):
        K_d, more = damping_by_inertia(robot) * rng.uniform(0.3, 1.0, n), least * 10.0 ** rng.uniform(-2.0, 3.0, n)
        rotors.sure = ca.SX(rotors.nominal + more)
        grown = rotors.damping(ca.SX(K_d), K_d)
        (inertia,) = {str(one).rsplit("_", 1)[0] for one in ca.symvar(grown)}
        assert inertia == "joint_inertia"
        used = np.array(ca.evalf(ca.substitute(grown, ca.vertcat(*ca.symvar(grown)), least))).ravel()
        assert (used > K_d).all()
        assert (np.array(ca.evalf(rotors.damping(ca.SX(K_d), 2.0 * K_d))).ravel() == K_d).all(), "as it is given"
        assert fastest(used, more) <= 1.01 * fastest(K_d, np.zeros(n))  # gains have three digits


def test_an_observer_is_as_fast_as_what_is_known_of_each_rotor_lets_it_be() -> None:
    """Routh's bound by the guess, by what was told of a joint, and without doubt; two joints are not told."""
    robot = RobotExpressions(load_robot("ur5"))
    rotors = RotorAdaptation(robot, Signals(robot, ReferenceKind.JOINT), ca.SX.zeros(6), ca.SX(1.0), np.ones(6, bool))
    K_d, guess, wanted = damping_by_inertia(robot), UNKNOWN_ROTOR * robot.model.limits("effort"), 57.5
    sure, doubt = np.array([0.0, 0.4, 0.09, 0.0, 0.09, 0.05]), np.array([0.0, 0.0, 0.02, np.inf, 1e-3, np.inf])
    rotors.sure, rotors.most = ca.SX(sure), ca.SX(sure + doubt)
    K_o = np.array(ca.evalf(rotors.observer_bandwidth(ca.SX(wanted), ca.SX(K_d), ca.SX(10.0)))).ravel()
    left = np.maximum(np.minimum(guess, sure + doubt) - sure, 0.0)
    ratio = 10.0 * left / K_d
    routh = np.where(ratio > 1.0, 5.0 / np.maximum(ratio - 1.0, 1e-9), np.inf)
    np.testing.assert_allclose(K_o, np.minimum(wanted, routh))
    assert K_o[3] < 0.5 * wanted == 0.5 * K_o[0]


def test_what_an_observer_has_filtered_does_not_jump_where_its_bandwidth_does() -> None:
    """W⁺ = W + (1 − a)(y − W) with the same y for every a."""
    a_law, rng = law(arm(), disturbance="observed"), np.random.default_rng(2)
    q, qd = rng.uniform(-1.0, 1.0, (2, 3))
    at_rest = dict.fromkeys(("q", "qd", "qdd"), np.zeros(3))
    (size,) = (entry.size for entry in a_law.state if entry.name == "observer_filtered_regressor")
    state = {f"observer_{name}": rng.uniform(-1.0, 1.0, size) for name in ("filtered_regressor", "momentum")}
    slopes = []
    for K_o in (2.0, 57.0, 300.0):
        _, after, _ = step(a_law, q, qd, at_rest, state, {"observer_bandwidth": K_o}, PERIOD)
        moved = after["observer_filtered_regressor"] - state["observer_filtered_regressor"]
        slopes.append(moved / (1.0 - np.exp(-K_o * PERIOD)))
    np.testing.assert_allclose(slopes[1:], [slopes[0]] * 2, rtol=1e-9)  # 1 − a of 2 1/s has lost three digits


@pytest.mark.slow
def test_gains_follow_rotors_of_which_the_file_is_silent(build_cache: Path) -> None:
    """They outweigh the outer links: the soft and slow loop of the bare links becomes the one that the arm bears."""
    run = Run(arm(), adaptation="least_squares", rotors="adapted", disturbance="observed")
    K_d, K_o = run.gains["K_d"], run.gains["observer_bandwidth"]
    run.go(0.05)
    np.testing.assert_array_equal(run.host.telemetry("K_d_used").ravel(), K_d)
    run.go(20.0)
    grown = 1.0 + TRUE / least_joint_inertia(RobotExpressions(arm()))
    np.testing.assert_allclose(run.host.telemetry("K_d_used").ravel(), K_d * grown, rtol=0.1)
    np.testing.assert_allclose(run.host.telemetry("observer_bandwidth_used").ravel(), 3 * [K_o.item()], rtol=0.1)


@pytest.mark.slow
def test_the_observer_of_contacts_knows_the_rotors(build_cache: Path) -> None:
    seen = {}
    for share in (None, 1.0):
        run = Run(arm(share), contact="observe")
        run.go(1.0)
        torques = []
        for _ in range(200):
            run.go(PERIOD)
            torques.append(np.abs(run.host.telemetry("external_torque")).max())
        seen[share] = max(torques)
    assert seen[1.0] < 0.01 < 0.3 < seen[None]  # [N·m]; what is left is the hold of the effort over a step


class FeedingForward(GradientAdaptation):
    """A scheme that knows of something that takes three times the reference velocity and twice its derivative."""

    def feedforward(self, qd_r: ca.SX, qdd_r: ca.SX) -> ca.SX:
        return 3.0 * qd_r + 2.0 * qdd_r


def test_what_a_scheme_feeds_forward_is_in_the_effort() -> None:
    efforts = []
    for scheme in (GradientAdaptation, FeedingForward):
        signals = Signals(RobotExpressions(arm()), ReferenceKind.JOINT)
        qd_r = signals.reference.qd + 10.0 * (signals.reference.q - signals.q)
        options = LawOptions("split", split_dynamics.OPTIONS, {})
        options.parts["adaptation"] = scheme
        qdd_r, s = signals.time_derivative(qd_r), qd_r - signals.qd
        model = split_dynamics.SplitDynamics(
            signals.robot, signals, qd_r, qdd_r, options, qd_r - signals.reference.qd, 1.0, 10.0
        )
        signals.describe_telemetry("s", size=3, unit="rad/s", doc="s")
        built = signals.law("split", "Split dynamics.", model.effort, model.step(s), {"s": s})
        efforts.append(some_step(built)[0])
    rng = np.random.default_rng(1)
    q, qd = rng.uniform(-1, 1, (2, 3))
    e, e_dot, _ = rng.uniform(-0.1, 0.1, (3, 3))
    qd_r = q + e_dot + 10.0 * e  # the reference of some_step: its q̇_d is q + e_dot, Λ = 10
    np.testing.assert_allclose(efforts[1] - efforts[0], 3.0 * qd_r + 2.0 * reference_acceleration(), rtol=1e-9)


def test_the_observer_of_contacts_waits_for_rotors_that_adapt() -> None:
    built = law(arm(), rotors="adapted", contact="freeze")
    assert {"rotor_hat", "memory_filtered_effort"} <= {entry.name for entry in built.state}
    q, rest = np.array([0.3, -0.2, 0.4]), np.zeros(3)
    first = unpacked(built.state, np.asarray(built.initial(q, rest, packed(built.gains))).ravel())
    reference = {"q": q, "qd": rest, "qdd": np.ones(3)}
    pushed = {**first, "contact_left": 0.1}
    held, free = (step(built, q, rest, reference, state, {"rest_speed": 0.0})[1] for state in (pushed, first))
    np.testing.assert_array_equal(held["rotor_hat"], first["rotor_hat"])
    assert held["contact_left"] > 0.0 == free["contact_left"]
