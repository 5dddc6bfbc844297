"""Computed torque and PD+ with estimated links: error dynamics, what falls, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from evaluation import assert_close, evaluate, load_robot, robot_file
from laws import packed, step, unpacked
from robots import random_robot

from thunder_controllers import simulate
from thunder_controllers.laws.parts.gains import mean_inertia
from thunder_dynamics.build import law_builders
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia, pseudo_inertia
from thunder_dynamics.law import Law

pytestmark = pytest.mark.slow

LAWS = ("computed_torque", "pd_plus", "variable_inertia")
ARMS = ("panda", "planar3r", "random")
FREE = {"adaptation_limit": 1e9, "least_inertia": 1e6, "pi_lower": -1e3, "pi_upper": 1e3}
"""Gains with which nothing is slowed down or bounded."""


@cache
def robot(name: str) -> RobotExpressions:
    return RobotExpressions(random_robot(8, 5) if name == "random" else load_robot(name))


@cache
def build_law(name: str, arm: str, **options: Any) -> Law:
    return law_builders()[name].load()(robot(arm), options)


def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    q, qd, error, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, n))
    return q, qd, {"q": q + 0.1 * error, "qd": qd_d, "qdd": qdd_d}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("arm", ARMS)
def test_with_true_parameters_it_is_the_law_of_the_model(name: str, arm: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, qd, reference = sample(rng, robot(arm).n)
        state = {"beta": 0.3} if name == "variable_inertia" else {}
        found = step(build_law(name, arm, adaptation="consistent", adapted_links="all"), q, qd, reference, state)[0]
        assert_close(found, step(build_law(name, arm), q, qd, reference, state)[0], 1e-11)


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("seed", range(3))
def test_computed_torque_has_the_error_dynamics_and_the_lyapunov_function_that_it_claims(arm: str, seed: int) -> None:
    """ë + R_1 ė + R_0 e = M̂⁻¹Y(π − π̂), and V̇ at one instant, by bodies so near that no projection acts."""
    rng, r = np.random.default_rng(seed), robot(arm)
    law = build_law("computed_torque", arm, adaptation="consistent", adapted_links="all")
    model, n, delta, dt, gamma = r.model, r.n, 1e-3, 1e-6, 1e3
    q, qd, reference = sample(rng, n)
    scale = rng.uniform(0.8, 1.2, n)
    links = (replace(x, inertia=Inertia.from_pi(k * x.inertia.pi)) for x, k in zip(model.links, scale, strict=True))
    own = RobotExpressions(replace(model, links=tuple(links)))
    gains = {**FREE, "gamma": gamma, "scan_period": delta}
    ages = [delta, 2 * delta, 3 * delta]
    state = {"pi_hat": own.model.pi, "scan_q": np.tile(q, 3), "scan_age": ages}

    def terms(of: RobotExpressions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        M, C, G = (evaluate(of, name, {"q": q, "dq": qd}) for name in ("M", "C", "G"))
        return M, C, G.ravel()

    effort = step(law, q, qd, reference, state, gains)[0]
    M, C, G = terms(r)
    friction = evaluate(r, "dl", {"dq": qd}).ravel() if "dl" in r.functions else np.zeros(n)
    qdd = np.linalg.solve(M, effort - C @ qd - G - friction)
    e, e_dot, e_ddot = reference["q"] - q, reference["qd"] - qd, reference["qdd"] - qdd
    default = unpacked(law.gains, packed(law.gains, gains))
    R_0, R_1, alpha = default["R_0"], default["R_1"], default["alpha"].item()
    M_hat, C_hat, G_hat = terms(own)
    wrong = (M - M_hat) @ qdd + (C - C_hat) @ qd + G - G_hat
    left = e_ddot + R_1 * e_dot + R_0 * e
    # The friction of the law smooths the sign as the model does: what is left is rounding over the lightest joint.
    np.testing.assert_allclose(left, np.linalg.solve(M_hat, wrong), atol=1e-9 * np.abs(np.linalg.inv(M_hat)).max())

    past = [q - t * qd + 0.5 * t**2 * qdd for t in ages]
    after = step(law, q, qd, reference, {**state, "scan_q": np.concatenate(past)}, gains, dt=dt)[1]
    pi_dot = (after["pi_hat"] - state["pi_hat"]) / dt
    m, error = mean_inertia(r), e_dot + alpha * e
    per_link = (np.reshape(x, (n, 10)) for x in (model.pi - own.model.pi, pi_dot))
    # Γ in the metric of consistent: ½ γ ‖P(π̃)‖² of each link
    left_out = sum(gamma * np.sum(pseudo_inertia(w) * pseudo_inertia(d)) for w, d in zip(*per_link, strict=True))
    parts = [m * error @ (e_ddot + alpha * e_dot), m * e @ ((R_0 + alpha * (R_1 - alpha)) * e_dot)]
    parts.append(-left_out)
    expected = -m * (e_dot @ ((R_1 - alpha) * e_dot) + alpha * e @ (R_0 * e))
    # q̈ by differences is good to 1e-16/Δ² of the positions, π̂̇ to 1e-16/dt of π̂
    assert sum(parts) == pytest.approx(expected, abs=1e-5 * np.abs(parts).max())


@pytest.mark.parametrize("name", ["computed_torque", "variable_inertia"])
@pytest.mark.parametrize("arm", ["planar3r", "random"])  # of a Panda some links are on the border of bodies
def test_laws_that_invert_the_inertia_adapt_by_its_regressor(name: str, arm: str) -> None:
    """Γ π̂̇ = Wᵀ(ė + α e), W = m M̂⁻¹Y(q, q̇, q̈), m the mean inertia or β; Γ in the metric of consistent, γ‖P‖²."""
    rng, r = np.random.default_rng(5), robot(arm)
    law = build_law(name, arm, adaptation="consistent", adapted_links="all")
    (q, qd, reference), qdd = sample(rng, r.n), rng.uniform(-1.0, 1.0, r.n)
    ages, gamma, dt = [1e-3, 2e-3, 3e-3], 1e4, 1e-6
    past = [q - t * qd + 0.5 * t**2 * qdd for t in ages]
    state: dict[str, Any] = {"scan_q": np.concatenate(past), "scan_age": ages}
    state |= {"beta": 0.4} if name == "variable_inertia" else {}
    gains = {**FREE, "gamma": gamma} | ({"beta_lower": 1e-9} if "beta" in state else {})
    after = step(law, q, qd, reference, state, gains, dt=dt)[1]
    alpha = unpacked(law.gains, packed(law.gains))["alpha"].item()
    error = reference["qd"] - qd + alpha * (reference["q"] - q)
    Y, M = evaluate(r, "Y", {"q": q, "dq": qd, "ddq": qdd}), evaluate(r, "M", {"q": q})
    expected = state.get("beta", mean_inertia(r)) * Y.T @ np.linalg.solve(M, error)
    rates = ((after["pi_hat"] - r.model.pi) / dt).reshape(r.n, 10)
    forms = [(pseudo_inertia(unit), pseudo_inertia(rate)) for rate in rates for unit in np.eye(10)]
    found = np.array([gamma * np.sum(one * other) for one, other in forms])
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())  # π̂̇ to 1e-16/dt of π̂, times γ


def test_at_rest_the_noise_of_velocity_moves_nothing_that_gravity_does_not_show() -> None:
    """By 2 mrad/s about a rest, π̂̇ has the mean that it has without noise: Y is that of gravity alone."""
    law, rng = build_law("computed_torque", "planar3r", adaptation="consistent"), np.random.default_rng(4)
    q = np.array([0.3, 0.5, -0.4])
    reference = {"q": q + 0.01, "qd": np.zeros(3), "qdd": np.zeros(3)}
    start = unpacked(law.state, packed(law.state))["pi_hat"]

    def rate(qd: np.ndarray) -> np.ndarray:
        scans = {"scan_q": np.tile(q, 3) - 1e-3 * rng.normal(size=9)}
        return step(law, q, qd, reference, scans)[1]["pi_hat"] - start

    still, pair = rate(np.zeros(3)), 2e-3 * rng.normal(size=3)
    assert_close(0.5 * (rate(pair) + rate(-pair)), still, 1e-9)
    assert np.abs(still).max() > 0.0


@pytest.mark.parametrize("name", ["computed_torque", "variable_inertia"])
@pytest.mark.parametrize("scheme", ["gradient", "projected", "composite"])
def test_laws_that_invert_the_inertia_refuse_estimates_that_need_not_be_bodies(name: str, scheme: str) -> None:
    with pytest.raises(LawError, match=f"adaptation={scheme}, whose estimated mass matrix"):
        build_law(name, "planar3r", adaptation=scheme)


@pytest.mark.parametrize("name", LAWS)
def test_links_without_adaptation_are_refused(name: str) -> None:
    with pytest.raises(LawError, match=f"law {name}: links to adapt with adaptation=none"):
        build_law(name, "planar3r", adapted_links="all")


@cache
def followed(law: str, scheme: str, *, noise: bool) -> float:
    """Error of a Panda with an unknown kilogram on its flange, root mean square of all joints from 10 s on [rad]."""
    motion = {"centre": [0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5], "amplitude": [0.3] * 7}
    sensors = {"q_resolution": 1e-5, "qd_std": 2e-3} if noise else {}
    found = simulate(
        str(robot_file("panda")),
        law=law,
        options={"adaptation": scheme},
        reference={"type": "joint_lissajous", "frequency": [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5], **motion},
        plant={"engine": "model", "noise": sensors, "velocity": "exact", "torque_delay": 2e-3},
        duration=15.0,
        payload=1.0,
    )
    assert found.fault is None
    return float(np.sqrt((found.trace.error[found.trace.t > 10.0] ** 2).mean()))


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize(
    ("law", "scheme", "share"),
    [
        ("computed_torque", "natural", 0.05),
        ("computed_torque", "least_squares", 0.02),
        ("pd_plus", "natural", 0.05),
        ("pd_plus", "composite", 0.02),
    ],
)
def test_an_unknown_kilogram_is_found(law: str, scheme: str, share: float, noise: bool) -> None:
    """Four rows of the table of docs/results/schemes.md: the error is a share of that of the law of the model."""
    error = followed(law, scheme, noise=noise)
    assert error < share * followed(law, "none", noise=noise)
