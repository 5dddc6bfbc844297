"""Adaptation schemes: what each keeps, the Lyapunov function of the natural one, and what prediction recovers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from evaluation import load_robot
from laws import packed, step, unpacked
from robots import random_inertia

from thunder_dynamics.build import law_builders
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia, pseudo_inertia
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

FloatArray = np.ndarray
SCHEMES = ("gradient", "projected", "consistent", "natural", "composite", "consistent_composite", "natural_composite")
COMPOSITE = ("composite", "consistent_composite", "natural_composite")
CONSISTENT = ("natural", "consistent_composite", "natural_composite")
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])
BOUNDLESS = {"least_inertia": 1e6, "adaptation_limit": 1e9}
"""Gains with which natural adaptation meets no bound and no limit."""


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return load_robot("panda")


def build_law(model: RobotModel, scheme: str, name: str = "slotine_li", **options: object) -> Law:
    return law_builders()[name].load()(RobotExpressions(model), {"adaptation": scheme, **options})


def with_payload(model: RobotModel, payload: Inertia) -> RobotModel:
    last = model.links[-1]
    return replace(model, links=(*model.links[:-1], replace(last, inertia=last.inertia + payload)))


def plant(model: RobotModel) -> ca.Function:
    """(q, q̇, τ) → q̈ of the model, without friction."""
    robot, tau = RobotExpressions(model), ca.SX.sym("tau", model.n)
    q, qd, rest = robot.symbol("q"), robot.symbol("dq"), ca.SX.zeros(model.n)
    bias = robot.inverse_dynamics(q, qd, qd, rest)
    return ca.Function("plant", [q, qd, tau], [ca.solve(robot["M"], tau - bias), bias])


def motion(t: float) -> dict[str, FloatArray]:
    """Of all joints, fast enough to tell the parameters of the last link."""
    w, a = np.linspace(1.1, 4.3, 7), np.array([0.3, 0.3, 0.3, 0.3, 0.5, 0.5, 0.6])
    return {"q": HOME + a * (1 - np.cos(w * t)), "qd": a * w * np.sin(w * t), "qdd": a * w**2 * np.cos(w * t)}


def run(
    law: Law,
    model: RobotModel,
    duration: float,
    gains: dict[str, object] | None = None,
    state: dict[str, object] | None = None,
    watch: Callable[[FloatArray, FloatArray, dict[str, FloatArray], dict[str, FloatArray]], None] | None = None,
    dt: float = 1e-3,
) -> dict[str, FloatArray]:
    """Law and arm in steps of dt, the effort held over each, the arm by a midpoint rule; the last state."""
    function, vector = plant(model), packed(law.gains, gains)
    first = motion(0.0)
    q, qd = first["q"], first["qd"]
    x = packed(law.state, state)
    if law.initial is not None:
        found = unpacked(law.state, np.asarray(law.initial(q, qd, vector)).ravel())
        x = packed(law.state, {**found, **(state or {})})
    tau = np.asarray(function(q, qd, np.zeros(7))[1]).ravel()
    for k in range(round(duration / dt)):
        reference = packed(law.reference, motion(k * dt))
        before = unpacked(law.state, x)
        found = law.step(q, qd, tau, [], reference, x, vector, dt)
        tau, x, telemetry = (np.asarray(value).ravel() for value in found)
        if watch is not None:
            watch(q, qd, before, unpacked(law.telemetry, telemetry))
        middle = qd + 0.5 * dt * np.asarray(function(q, qd, tau)[0]).ravel()
        acceleration = np.asarray(function(q + 0.5 * dt * qd, middle, tau)[0]).ravel()
        q, qd = q + dt * middle, qd + dt * acceleration
    return unpacked(law.state, x)


K_D = [10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 2.0]
RISING = 1e-5
"""Of V at the start, that it may rise in a period, over which effort and estimates are constant."""
PAYLOAD = Inertia(1.0, np.array([0.03, -0.02, 0.15]), np.diag([2e-3, 3e-3, 1.5e-3]))


@pytest.mark.parametrize("scheme", CONSISTENT)
def test_estimates_are_of_bodies_from_any_start_with_any_gain(panda: RobotModel, scheme: str) -> None:
    """Far from the reference, with efforts that do not fit, a hundred bodies and γ down to its bound."""
    law, rng = build_law(panda, scheme), np.random.default_rng(0)
    for start in range(100):
        gains = {**BOUNDLESS, "gamma": 10.0 ** rng.uniform(-6.0, 0.0)} if start % 2 else {"gamma": 1e-6}
        state = {"pi_hat": random_inertia(rng).pi}
        for _ in range(20):
            q, error, qd, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, 7))
            reference = {"q": q + error, "qd": qd_d, "qdd": 10.0 * qdd_d}
            state = step(law, q, qd, reference, state, gains, applied_effort=rng.uniform(-50.0, 50.0, 7))[1]
            assert np.linalg.eigvalsh(pseudo_inertia(state["pi_hat"]))[0] > 0.0


def test_projection_is_the_gradient_until_a_bound(panda: RobotModel) -> None:
    """One step that moves every component by the same regressor: free, and with bounds that half of them meet."""
    rng = np.random.default_rng(3)
    q, error, qd, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, 7))
    reference, gains = {"q": q + error, "qd": qd_d, "qdd": qdd_d}, {"gamma": 1e-2, **BOUNDLESS}
    free, bounded = (build_law(panda, scheme) for scheme in ("gradient", "projected"))
    assert {gain.name for gain in bounded.gains} - {gain.name for gain in free.gains} == {"pi_lower", "pi_upper"}
    start = panda.links[-1].inertia.pi
    moved = step(free, q, qd, reference, gains=gains)[1]["pi_hat"]
    width = np.where(np.arange(10) % 2, np.inf, 0.5) * np.abs(moved - start) + 1e-9
    lower, upper = np.maximum(start - width, -1e3), np.minimum(start + width, 1e3)
    found = step(bounded, q, qd, reference, gains={**gains, "pi_lower": lower, "pi_upper": upper})[1]["pi_hat"]
    np.testing.assert_array_equal(found, np.clip(moved, lower, upper))
    assert (found[::2] != moved[::2]).all() and (found[1::2] == moved[1::2]).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_true_parameters_stay(panda: RobotModel, scheme: str) -> None:
    """Exactly where nothing differs from the reference; and while moving but for what a period does."""
    law, rest = build_law(panda, scheme), np.zeros(7)
    state = (
        {}
        if law.initial is None
        else unpacked(law.state, np.asarray(law.initial(HOME, rest, packed(law.gains))).ravel())
    )
    gravity = np.asarray(plant(panda)(HOME, rest, rest)[1]).ravel()
    reference = {"q": HOME, "qd": rest, "qdd": rest}
    for _ in range(5):
        state = step(law, HOME, rest, reference, state, applied_effort=gravity)[1]
    true = panda.links[-1].inertia
    np.testing.assert_allclose(state["pi_hat"], true.pi, rtol=1e-12, atol=1e-14)
    found = Inertia.from_pi(run(law, panda, 2.0)["pi_hat"])
    assert abs(found.mass - true.mass) < 1e-2 and np.abs(found.com - true.com).max() < 2e-3


def test_natural_adaptation_makes_its_lyapunov_function_fall(panda: RobotModel) -> None:
    """V = ½ sᵀM s + γ (tr P̂⁻¹P − log det P̂⁻¹P − 4): the divergence of −log det, of the true body from its estimate."""
    true, gamma, found = with_payload(panda, PAYLOAD), 0.1, []
    P = pseudo_inertia(true.links[-1].inertia.pi)
    robot = RobotExpressions(true)
    mass = ca.Function("M", [robot.symbol("q")], [robot["M"]])

    def watch(q: FloatArray, qd: FloatArray, state: dict[str, FloatArray], telemetry: dict[str, FloatArray]) -> None:
        ratio = np.linalg.solve(pseudo_inertia(state["pi_hat"]), P)
        divergence = np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 4.0
        s = telemetry["s"]
        found.append(0.5 * s @ np.array(mass(q)) @ s + gamma * divergence)

    run(build_law(panda, "natural"), true, 0.5, {**BOUNDLESS, "gamma": gamma, "K_d": 5.0}, watch=watch, dt=1e-4)
    V = np.array(found)
    assert np.diff(V).max() < RISING * V[0]
    assert V[-1] < 0.7 * V[0]


@pytest.mark.parametrize(
    ("scheme", "mass", "com"),
    [("composite", 2e-3, 5e-4), ("consistent_composite", 1e-3, 1e-4), ("natural_composite", 10e-3, 5e-3)],
)
def test_prediction_recovers_a_payload(panda: RobotModel, scheme: str, mass: float, com: float) -> None:
    true = with_payload(panda, PAYLOAD)
    found = Inertia.from_pi(run(build_law(panda, scheme), true, 12.0, {"K_d": K_D})["pi_hat"])
    assert abs(found.mass - true.links[-1].inertia.mass) < mass
    assert np.abs(found.com - true.links[-1].inertia.com).max() < com


def test_projection_on_bodies_makes_the_lyapunov_function_fall_along_their_border(panda: RobotModel) -> None:
    """V = ½ sᵀM s + ½ π̃ᵀJπ̃, of estimates that are on the border in every tenth step at least, and arrive."""
    true, found, borders = with_payload(panda, PAYLOAD), [], 0
    pi, nominal = true.links[-1].inertia.pi, np.linalg.cholesky(pseudo_inertia(panda.links[-1].inertia.pi))
    robot = RobotExpressions(true)
    mass = ca.Function("M", [robot.symbol("q")], [robot["M"]])

    def watch(q: FloatArray, qd: FloatArray, state: dict[str, FloatArray], telemetry: dict[str, FloatArray]) -> None:
        nonlocal borders
        wrong, s = state["pi_hat"] - pi, telemetry["s"]
        J = np.zeros((10, 10))
        J.T[np.triu_indices(10)] = state["information"]
        J = J + np.tril(J, -1).T
        found.append(0.5 * s @ np.array(mass(q)) @ s + 0.5 * wrong @ J @ wrong)
        relative = np.linalg.solve(nominal, np.linalg.solve(nominal, pseudo_inertia(state["pi_hat"])).T)
        borders += np.linalg.eigvalsh(relative)[0] < 1.001e-3

    run(build_law(panda, "consistent_composite"), true, 2.0, {"K_d": K_D, "least_inertia": 1e6}, watch=watch)
    V = np.array(found)
    assert borders > 200
    assert np.diff(V).max() < 1e-3 * V[0] and V[-1] < 2e-3 * V[0]


def test_a_consistent_scheme_needs_a_nominal_body(panda: RobotModel) -> None:
    last = replace(panda.links[-1], inertia=Inertia(1.0, np.array([0.03, 0.02, 0.1]), np.zeros((3, 3))))
    with pytest.raises(LawError, match="no body: the pseudo-inertia of panda_link7 is not positive definite"):
        build_law(replace(panda, links=(*panda.links[:-1], last)), "consistent_composite")


def test_composite_adaptation_is_stable_with_any_weight(panda: RobotModel) -> None:
    """Explicit Euler steps of it diverge at w = 100 already."""
    true = with_payload(panda, PAYLOAD)
    for scheme in COMPOSITE:
        eager = {"K_d": K_D, "prediction_weight": 1e4, "gamma": 1e-3}
        found = Inertia.from_pi(run(build_law(panda, scheme), true, 1.0, eager)["pi_hat"])
        assert found.mass == pytest.approx(true.links[-1].inertia.mass, abs=0.5)


def test_composite_adaptation_of_many_links_is_refused(panda: RobotModel) -> None:
    with pytest.raises(LawError, match="composite adaptation of 7 links; valid: adapted_links of at most 2"):
        build_law(panda, "composite", adapted_links="all")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_cartesian_law_takes_every_scheme_and_its_fixed_form_has_no_estimates(
    panda: RobotModel, scheme: str
) -> None:
    law = build_law(panda, scheme, "cartesian_backstepping", friction="adapted")
    assert {"pi_hat", "friction_hat"} <= {entry.name for entry in law.state}
    fixed = build_law(panda, "none", "cartesian_backstepping")
    assert [entry.name for entry in fixed.state] == ["damping"]
