"""Adaptation schemes: what each keeps, the Lyapunov function of the natural one, and what prediction recovers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from adapting_arm import FEEDBACK, HOME, PAYLOAD, build_law, motion, plant, run, with_payload
from evaluation import load_robot
from hypothesis import given
from hypothesis import strategies as st
from laws import packed, step, unpacked
from robots import random_inertia, random_robot

from thunder_controllers.laws.adaptation import pseudo_inertia as graph
from thunder_controllers.laws.adaptation.bodies import LEAST_MOMENT
from thunder_controllers.laws.adaptation.eigen import is_above, lacking
from thunder_controllers.laws.parts.redundancy import SMALLEST_PIVOT
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia, pseudo_inertia
from thunder_dynamics.model import RobotModel

FloatArray = np.ndarray
SCHEMES = ("gradient", "projected", "consistent", "natural", "composite", "natural_composite")
EVERY = (*SCHEMES, "least_squares")
COMPOSITE = ("composite", "natural_composite")
CONSISTENT = ("consistent", "natural", "natural_composite", "least_squares")
STILL = {**dict.fromkeys(COMPOSITE, {"prediction_weight": 0.0}), "least_squares": {"follow_rate": 0.0}}
"""Gains with which only the tracking error adapts."""
BOUNDLESS = {"least_inertia": 1e6, "adaptation_limit": 1e9, "rest_speed": 0.0}
"""Gains with which natural adaptation meets no bound and no limit."""


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return load_robot("panda")


@pytest.fixture(scope="module")
def arm() -> RobotModel:
    """A random one of six joints."""
    return random_robot(3, 6)


MATRIX, LEAST = ca.SX.sym("matrix", 4, 4), ca.SX.sym("least")
LACKING = ca.Function("lacking", [MATRIX, LEAST], [*lacking(MATRIX, LEAST), is_above(MATRIX, LEAST)])
GAMMA_IS_ENERGY = ("gradient", "projected", "composite")
RISING = 1e-5
"""Of V at the start, that it may rise in a period, over which effort and estimates are constant."""
EAGER = ("gamma", "prediction_weight", "prediction_bandwidth")


@given(st.integers(0, 2**32 - 1))
def test_forces_on_pseudo_inertias_are_those_on_parameters(seed: int) -> None:
    """tr(P(π) 𝓛(b)) = πᵀb; and as P(π) = R X Rᵀ, that is the product of the coordinates of X and of b in the metric."""
    rng, first = np.random.default_rng(seed), [3, 0, 1, 2]
    pi, b, x = rng.normal(size=(3, 10))
    R = np.tril(rng.normal(size=(4, 4))) + 5.0 * np.eye(4)

    def number(function: Callable[..., ca.SX], *arguments: FloatArray) -> FloatArray:
        return np.array(ca.DM(function(*(ca.SX(ca.DM(one)) for one in arguments)))).squeeze()

    P, L, X = number(graph.pseudo_inertia, pi), number(graph.force_matrix, b), number(graph.from_metric, x)
    np.testing.assert_allclose(P, pseudo_inertia(pi)[np.ix_(first, first)], rtol=0, atol=1e-14)
    np.testing.assert_allclose(number(graph.reg_from_pseudo_inertia, P), pi, rtol=1e-12, atol=1e-13)
    assert np.trace(P @ L) == pytest.approx(pi @ b, abs=1e-12)
    np.testing.assert_allclose(number(graph.force_of_matrix, L), b, rtol=1e-12, atol=1e-13)
    assert np.linalg.norm(X) == pytest.approx(np.linalg.norm(x))
    moved = number(graph.reg_from_pseudo_inertia, R @ X @ R.T)
    assert number(graph.in_metric, R, b) @ x == pytest.approx(moved @ b, rel=1e-9, abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(-8.0, -1.5))
def test_what_lacks_of_a_body_leads_to_the_nearest_one(seed: int, size: float) -> None:
    """That of the eigenvalues, in the unit metric; a body lacks nothing at all."""
    rng = np.random.default_rng(seed)
    body, change = pseudo_inertia(random_inertia(rng).pi), 10.0**size * rng.normal(size=(4, 4))
    A = (body + change + change.T)[np.ix_([3, 0, 1, 2], [3, 0, 1, 2])]
    values, vectors = np.linalg.eigh(A)
    nearest, spread = vectors @ np.diag(np.maximum(values, LEAST_MOMENT)) @ vectors.T, np.ptp(values)
    lacks, V, above = (np.asarray(found) for found in LACKING(A, LEAST_MOMENT))
    found = A + V @ np.diag(lacks.ravel()) @ V.T
    np.testing.assert_allclose(V.T @ V, np.eye(4), rtol=0, atol=1e-14)
    np.testing.assert_allclose(found, nearest, rtol=0, atol=1e-6 * spread)
    assert np.linalg.eigvalsh(found)[0] > LEAST_MOMENT - 1e-14 * spread
    assert not lacks.any() or values[0] < LEAST_MOMENT + 1e-9 * spread
    rounding = 1e-14 * spread + 2.0 * SMALLEST_PIVOT
    assert above == (values[0] > LEAST_MOMENT) or abs(values[0] - LEAST_MOMENT) < rounding


def test_what_is_no_number_is_above_nothing() -> None:
    body = np.diag([2.0, 0.1, 0.2, 0.3])
    assert LACKING(body, LEAST_MOMENT)[2] == 1.0
    for row, column in itertools.combinations_with_replacement(range(4), 2):
        A = body.copy()
        A[row, column] = A[column, row] = np.nan
        assert LACKING(A, LEAST_MOMENT)[2] == 0.0


@pytest.mark.slow
def test_bodies_within_all_bounds_stay_to_the_last_bit(panda: RobotModel) -> None:
    """A step that nothing moves: what the projection gives. It draws others to where they stay, but for a rounding."""
    law, rng, rest = build_law(panda, "consistent"), np.random.default_rng(7), np.zeros(7)
    nominal, reference = panda.links[-1].inertia.pi, {"q": HOME, "qd": rest, "qdd": rest}
    stayed = moved = 0
    for _ in range(60):
        pi = nominal + nominal * 10.0 ** rng.uniform(-3.0, 1.0) * rng.normal(size=10)
        found = step(law, HOME, rest, reference, {"pi_hat": pi})[1]["pi_hat"]
        if np.array_equal(found, pi):
            stayed += 1
            assert np.linalg.eigvalsh(pseudo_inertia(pi))[0] > LEAST_MOMENT
        else:
            moved += 1
            again = step(law, HOME, rest, reference, {"pi_hat": found})[1]["pi_hat"]
            np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-9)  # what three sweeps leave
    assert min(stayed, moved) > 10


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", EVERY)
def test_gamma_is_an_energy_of_each_link(panda: RobotModel, scheme: str) -> None:
    links = ["panda_link6", "panda_link7"]
    (gamma,) = (gain for gain in build_law(panda, scheme, adapted_links=links).gains if gain.name == "gamma")
    assert (gamma.size, gamma.unit) == (2, "N·m")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", EVERY)
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


def information(state: dict[str, FloatArray]) -> FloatArray:
    """Ĵ, whole."""
    size = round((2 * state["information"].size + 0.25) ** 0.5 - 0.5)
    half = np.zeros((size, size))
    half[np.triu_indices(size)] = state["information"]
    return half + np.triu(half, 1).T


def mass_matrix(model: RobotModel) -> ca.Function:
    """M of q."""
    robot = RobotExpressions(model)
    return ca.Function("M", [robot.symbol("q")], [robot["M"]])


def wrongness(scheme: str, state: dict[str, FloatArray], true: FloatArray, gamma: float) -> float:
    """V less ½ sᵀM s, where all Γ but γ are one: true are π of the last link and, where it is adapted, friction."""
    estimate = np.concatenate([state["pi_hat"], state.get("friction_hat", [])])
    wrong = estimate - true
    if scheme == "composite":
        x = np.concatenate([gamma**0.5 * wrong[:10], wrong[10:]])
        return 0.5 * float(x @ information(state) @ x)
    others = 0.5 * float(wrong[10:] @ wrong[10:])
    if scheme in ("gradient", "projected"):
        return 0.5 * gamma * float(wrong[:10] @ wrong[:10]) + others
    if scheme == "consistent":
        return 0.5 * gamma * float((pseudo_inertia(wrong[:10]) ** 2).sum()) + others
    ratio = np.linalg.solve(pseudo_inertia(estimate[:10]), pseudo_inertia(true[:10]))
    return float(gamma * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - 4.0)) + others


@pytest.mark.slow
@pytest.mark.parametrize("friction", ["none", "adapted"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_lyapunov_function_of_a_scheme_falls(arm: RobotModel, scheme: str, friction: str) -> None:
    """V = ½ sᵀM s and ½ π̃ᵀΓπ̃, or ½ π̃ᵀJπ̃, or γ times the divergence of −log det P; friction in the same way."""
    true, gamma = with_payload(arm, PAYLOAD), 1.0 if scheme in GAMMA_IS_ENERGY else 0.1
    coefficients = (0.5, 0.3) if friction == "adapted" else (0.0, 0.0)
    pi, n = true.links[arm.ee_link].inertia.pi, arm.n
    expected = np.concatenate([pi, *(np.full(n, c) for c in coefficients)]) if friction == "adapted" else pi
    mass, found = mass_matrix(true), []

    def watch(q: FloatArray, qd: FloatArray, state: dict[str, FloatArray], telemetry: dict[str, FloatArray]) -> None:
        s = telemetry["s"]
        found.append(0.5 * s @ np.array(mass(q)) @ s + wrongness(scheme, state, expected, gamma))

    gains = {**BOUNDLESS, "gamma": gamma, "K_d": 5.0}
    gains |= {"gamma_viscous": 1.0, "gamma_coulomb": 1.0} if friction == "adapted" else {}
    law = build_law(arm, scheme, friction=friction)
    run(law, true, 0.5, gains, watch=watch, dt=1e-4, friction=coefficients)
    V = np.array(found)
    assert np.diff(V).max() < RISING * V[0]
    assert V[-1] < 0.95 * V[0]


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [None, ["m", "mcy", "mcz", "inertia"]])
def test_projection_on_bodies_makes_the_lyapunov_function_fall_along_their_border(
    panda: RobotModel, chosen: list[str] | None
) -> None:
    """Of estimates that are on the border in fifty steps at least, and go on; of all parameters, or where one stays."""
    payload = PAYLOAD if chosen is None else replace(PAYLOAD, com=PAYLOAD.com * [0, 1, 1])
    true, found, borders = with_payload(panda, payload), [], 0
    mass, pi, gains = mass_matrix(true), true.links[-1].inertia.pi, {**FEEDBACK, **BOUNDLESS, "gamma": 0.1}

    def watch(q: FloatArray, qd: FloatArray, state: dict[str, FloatArray], telemetry: dict[str, FloatArray]) -> None:
        nonlocal borders
        s = telemetry["s"]
        found.append(0.5 * s @ np.array(mass(q)) @ s + wrongness("consistent", state, pi, gains["gamma"]))
        borders += np.linalg.eigvalsh(pseudo_inertia(state["pi_hat"]))[0] < 1.001 * LEAST_MOMENT

    run(build_law(panda, "consistent", adapted_parameters=chosen), true, 0.5, gains, watch=watch, dt=1e-4)
    V = np.array(found)
    assert borders > 50
    assert np.diff(V).max() < RISING * V[0] and V[-1] < 0.3 * V[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "mass", "com", "share"),
    [
        ("consistent", 2e-3, 1e-3, None),
        ("composite", 5e-3, 1e-3, 0.1),
        ("natural_composite", 15e-3, 2e-3, 1.0),
        ("least_squares", 1e-3, 1e-4, 0.01),
    ],
)
def test_a_payload_is_found_and_by_prediction_friction_too(
    panda: RobotModel, scheme: str, mass: float, com: float, share: float | None
) -> None:
    """Which the robot file has none of."""
    true, rubs = with_payload(panda, PAYLOAD), share is not None
    law = build_law(panda, scheme, friction="adapted" if rubs else "none")
    state = run(law, true, 12.0, FEEDBACK, friction=(0.5, 0.3) if rubs else (0.0, 0.0))
    found = Inertia.from_pi(state["pi_hat"])
    assert abs(found.mass - true.links[-1].inertia.mass) < mass
    assert np.abs(found.com - true.links[-1].inertia.com).max() < com
    if rubs:
        np.testing.assert_allclose(state["friction_hat"], np.repeat([0.5, 0.3], 7), rtol=share)


@pytest.mark.slow
def test_friction_alone_adapts_with_known_links(panda: RobotModel) -> None:
    errors = []
    for friction in ("none", "adapted"):
        built, found = build_law(panda, "none", friction=friction), []
        state = run(
            built,
            panda,
            6.0,
            watch=lambda *at: found.append(np.abs(at[3]["joint_error"]).max()),  # noqa: B023
            friction=(0.5, 0.3),
        )
        assert list(state) == (["friction_hat"] if friction == "adapted" else [])
        errors.append(max(found[-2000:]))
    assert errors[1] < 0.1 * errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", COMPOSITE)
@pytest.mark.parametrize("dt", [1e-3, 2e-3, 4e-3])
def test_composite_adaptation_is_stable_with_any_gains(panda: RobotModel, scheme: str, dt: float) -> None:
    """Of the whole range of their bounds: the effort is predicted no worse than by the nominal parameters.

    On the reference, with the effort that it takes. Explicit Euler steps diverge at w = 100 and 1 kHz already.
    """
    law, true, rng = build_law(panda, scheme), with_payload(panda, PAYLOAD), np.random.default_rng(4)
    robot = RobotExpressions(true)
    q, qd, qdd = (robot.symbol(name) for name in ("q", "dq", "ddq"))
    Y = robot.slotine_li_regressor(q, qd, qd, qdd, [6])
    inverse = ca.Function("inverse", [q, qd, qdd], [robot.inverse_dynamics(q, qd, qd, qdd), Y])
    drawn, first = [gain for gain in law.gains if gain.name in EAGER], motion(0.0)
    for _ in range(15):
        bounds = [(gain.name, max(gain.lower.min(), 1e-6), gain.upper.max()) for gain in drawn]
        gains = {name: np.exp(rng.uniform(np.log(lower), np.log(upper))) for name, lower, upper in bounds}
        vector = packed(law.gains, gains | {"least_inertia": 1e6})
        x = np.asarray(law.initial(first["q"], first["qd"], vector)).ravel()
        errors, nominal, pi = [], [], true.links[-1].inertia.pi
        for k in range(60):
            now, (tau, Y_k) = motion(k * dt), inverse(*motion((k - 0.5) * dt).values())
            errors.append(np.abs(Y_k @ (unpacked(law.state, x)["pi_hat"] - pi)).max())
            nominal.append(np.abs(Y_k @ (panda.links[-1].inertia.pi - pi)).max())
            found = law.step(now["q"], now["qd"], tau, [], packed(law.reference, now), x, vector, dt)
            x = np.asarray(found[1]).ravel()
        assert max(errors) < 1.05 * max(nominal)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", EVERY)
def test_the_dead_zone_and_the_pull_to_the_nominal_values(panda: RobotModel, scheme: str) -> None:
    """What s leaves of the dead zone adapts as s; without any, estimates return as 1/(1 + Δσ), for any σ."""
    law, q, rest = build_law(panda, scheme, friction="adapted"), HOME, np.zeros(7)
    nominal, start = panda.links[-1].inertia.pi, with_payload(panda, PAYLOAD).links[-1].inertia.pi

    def change(s: float, **gains: float) -> FloatArray:
        reference = {"q": q, "qd": np.full(7, s), "qdd": rest}
        state = {"pi_hat": start, "friction_hat": np.full(14, 0.2)}
        given = {**BOUNDLESS, **gains, **STILL.get(scheme, {})}
        found = step(law, q, rest, reference, state, given)[1]
        return np.concatenate([found["pi_hat"] - start, found["friction_hat"] - 0.2])

    assert np.abs(change(0.01)[:10]).max() > 1e-9
    np.testing.assert_allclose(change(0.01, dead_zone=0.01), 0.0, atol=1e-15)
    np.testing.assert_allclose(change(0.01 + 1e-9, dead_zone=0.01), 0.0, atol=1e-9)
    for sigma in (1.0, 1e3):
        share = 1e-3 * sigma / (1.0 + 1e-3 * sigma)
        expected = share * np.concatenate([nominal - start, np.full(14, -0.2)])
        np.testing.assert_allclose(change(0.0, sigma_modification=sigma), expected, rtol=1e-9, atol=1e-14)


def test_composite_adaptation_of_many_links_is_refused(panda: RobotModel) -> None:
    with pytest.raises(LawError, match="composite adaptation of 7 links; valid: adapted_links of at most 2"):
        build_law(panda, "composite", adapted_links="all")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", EVERY)
def test_the_cartesian_law_takes_every_scheme_and_its_fixed_form_has_no_estimates(
    panda: RobotModel, scheme: str
) -> None:
    law = build_law(panda, scheme, "cartesian_backstepping", friction="adapted")
    assert {"pi_hat", "friction_hat"} <= {entry.name for entry in law.state}
    fixed = build_law(panda, "none", "cartesian_backstepping", disturbance="none")
    assert [entry.name for entry in fixed.state] == ["damping"]
