"""The law with adapted masses: scans, bounds, its fixed form, and the rate of its Lyapunov function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from closed_loop import joint_motion
from evaluation import assert_close, evaluate, load_robot
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import packed, step, unpacked
from robots import random_robot

from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.build import law_builders
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

FloatArray = np.ndarray
ARMS = ("panda", "planar3r", "point_masses5", "random")
FREE = {"adaptation_limit": 1e9, "mass_lower": 1e-3, "mass_upper": 1e3, "beta_lower": 1e-9}
"""Gains with which nothing is slowed down or bounded."""


@cache
def arm(name: str) -> RobotModel:
    return random_robot(8, 5) if name == "random" else load_robot(name)


@cache
def build_law(name: str, robot: str, **options: Any) -> Law:
    return law_builders()[name].load()(RobotExpressions(arm(robot)), options)


def adaptive(robot: str) -> Law:
    """The law with every link adapted."""
    return build_law("variable_inertia_adaptive", robot, adapted_links="all")


def believed(model: RobotModel, scale: FloatArray) -> RobotModel:
    """The model with other masses, alike distributed."""
    return replace(
        model,
        links=tuple(
            replace(link, inertia=Inertia.from_pi(share * link.inertia.pi))
            for link, share in zip(model.links, scale, strict=True)
        ),
    )


def terms(model: RobotModel, q: FloatArray, qd: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """M, C, G and F_V, a diagonal, without Coulomb friction."""
    robot = _expressions(model)
    M, C, G = (evaluate(robot, name, {"q": q, "dq": qd}) for name in ("M", "C", "G"))
    return M, C, G.ravel(), np.array([link.friction[0] if link.friction else 0.0 for link in model.links])


@cache
def _expressions(model: RobotModel) -> RobotExpressions:
    return RobotExpressions(model)


def scans(points: list[FloatArray], ages: list[float]) -> dict[str, Any]:
    return {"scan_q": np.concatenate(points), "scan_age": ages}


# --- scans -----------------------------------------------------------------------------------------------------------

NUMBERS = st.floats(-10.0, 10.0)


@settings(max_examples=60, deadline=None)
@given(
    c=st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=4, max_size=4),
    spacing=st.lists(st.floats(1e-3, 1e-2), min_size=3, max_size=3),
)
def test_the_acceleration_of_cubic_motions_is_exact(c: list[list[float]], spacing: list[float]) -> None:
    """Whatever the spacing. Rounding: 1e-16 times the largest position over the square of the spacing."""
    law, q, ages = adaptive("planar3r"), np.array(c), np.cumsum(spacing)
    past = [q[0] - t * q[1] + t**2 * q[2] - t**3 * q[3] for t in ages]
    reference = {"q": q[0], "qd": q[1], "qdd": np.zeros(3)}
    found = step(law, q[0], q[1], reference, scans(past, ages.tolist()))[2]["acceleration"]
    np.testing.assert_allclose(found, 2.0 * q[2], atol=1e-14 * 10.0 / 1e-3**2)


def test_the_acceleration_of_even_scans_is_that_of_the_cubic_formula() -> None:
    rng, delta = np.random.default_rng(0), 2e-3
    q = rng.uniform(-1.0, 1.0, (4, 3))
    reference = {"q": q[0], "qd": np.zeros(3), "qdd": np.zeros(3)}
    state = scans(list(q[1:]), [delta, 2 * delta, 3 * delta])
    found = step(adaptive("planar3r"), q[0], np.zeros(3), reference, state)[2]["acceleration"]
    assert_close(found, (2 * q[0] - 5 * q[1] + 4 * q[2] - q[3]) / delta**2, 1e-12)


@pytest.mark.parametrize(("dt", "steps"), [(1e-4, 20), (1e-3, 2), (1.5e-3, 1), (5e-3, 1)])
def test_masses_move_in_the_step_next_to_the_period_and_only_then(dt: float, steps: int) -> None:
    law, rng = adaptive("planar3r"), np.random.default_rng(1)
    q, qd, error = rng.uniform(-1.0, 1.0, (3, 3))
    state = unpacked(law.state, np.asarray(law.initial(q, qd, packed(law.gains))).ravel())
    moved = []
    for k in range(4 * steps):
        at = q + k * dt * qd
        after = step(law, at, qd, {"q": at + 0.1 * error, "qd": qd, "qdd": qd}, state, dt=dt)[1]
        moved.append(bool((after["pi_hat"] != state["pi_hat"]).any()))
        state = after
    assert moved == [k % steps == 0 for k in range(4 * steps)]
    assert state["elapsed"].item() == pytest.approx(4 * steps * dt)


# --- masses ----------------------------------------------------------------------------------------------------------


def moved_masses(state: Mapping[str, FloatArray], gains: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Estimates before and after one scan of a point-mass arm away from its reference."""
    law, rng = adaptive("point_masses5"), np.random.default_rng(2)
    q, qd, qdd, error = rng.uniform(-1.0, 1.0, (4, 5))
    ages = [2e-3, 4e-3, 6e-3]
    past = scans([q - t * qd + t**2 * qdd for t in ages], ages)
    state = {"pi_hat": arm("point_masses5").pi, "beta": 0.3, **past, **state}
    after = step(law, q, qd, {"q": q + 0.2 * error, "qd": qd, "qdd": qd}, state, gains)[1]
    return state["pi_hat"].reshape(5, 10), after["pi_hat"].reshape(5, 10)


@pytest.mark.parametrize("gamma", [50.0, 1e-6])
def test_masses_stay_within_their_bounds_and_shapes_are_kept(gamma: float) -> None:
    lower, upper = arm("point_masses5").pi[::10] * 0.9, arm("point_masses5").pi[::10] * 1.2
    before, after = moved_masses(
        {}, {"gamma": gamma, "mass_lower": lower, "mass_upper": upper, "adaptation_limit": 1e9}
    )
    assert (after[:, 0] != before[:, 0]).all()
    assert (lower <= after[:, 0]).all() and (after[:, 0] <= upper).all()
    on_bound = (after[:, 0] == lower) | (after[:, 0] == upper)
    assert on_bound.all() == (gamma < 1.0)
    np.testing.assert_allclose(after / after[:, :1], before / before[:, :1], rtol=1e-14)


def test_a_mass_on_its_bound_stays_while_it_is_pushed_outward_and_leaves_it_otherwise() -> None:
    _, after = moved_masses({}, FREE)
    mass = arm("point_masses5").pi[::10]
    grew = after[:, 0] > mass
    for held, bounds in ((grew, {"mass_upper": mass}), (~grew, {"mass_lower": mass})):
        _, bounded = moved_masses({}, {**FREE, **bounds})
        np.testing.assert_array_equal(bounded[held, 0], mass[held])
        np.testing.assert_array_equal(bounded[~held], after[~held])


def test_adaptation_begins_slowly() -> None:
    """At t = 0 σ = σ_0 + 1; long after, σ_0."""
    gains = {**FREE, "gamma": 1e6, "sigma_0": 0.01, "sigma_1": 2.0, "nu": 3.0}
    before, _ = moved_masses({}, gains)
    rates = {t: moved_masses({"elapsed": np.array([t])}, gains)[1] - before for t in (0.0, 0.5, 1e6)}
    assert_close(rates[0.5] / rates[0.0].max(), rates[0.0] / rates[0.0].max() * 1.01 / (0.01 + 1 / 1.25), 1e-6)
    assert_close(rates[1e6] / rates[0.0].max(), rates[0.0] / rates[0.0].max() * 101.0, 1e-6)


def test_what_is_too_eager_for_the_damping_is_slowed_down() -> None:
    """The step no longer grows with 1/Γ."""
    moves = [
        np.subtract(*reversed(moved_masses({}, {**FREE, "gamma": g, "adaptation_limit": 0.4}))) for g in (1e-5, 1e-6)
    ]
    assert_close(moves[1], moves[0], 1e-6)


@pytest.mark.parametrize("robot", ARMS)
def test_with_true_masses_it_is_the_fixed_law(robot: str) -> None:
    rng, n = np.random.default_rng(3), arm(robot).n
    for _ in range(3):
        q, qd, error, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, n))
        reference = {"q": q + 0.1 * error, "qd": qd_d, "qdd": qdd_d}
        found = step(adaptive(robot), q, qd, reference, {"beta": 0.3})
        expected = step(build_law("variable_inertia", robot), q, qd, reference, {"beta": 0.3})
        assert_close(found[0], expected[0], 1e-11)
        assert_close(found[1]["beta"], expected[1]["beta"], 1e-12)


def test_a_link_without_mass_is_refused() -> None:
    model = arm("planar3r")
    light = replace(model, links=(replace(model.links[0], inertia=Inertia.from_pi(np.zeros(10))), *model.links[1:]))
    with pytest.raises(LawError, match="has a mass of 0 kg; valid: adapted links with mass"):
        law_builders()["variable_inertia_adaptive"].load()(RobotExpressions(light), {"adapted_links": "all"})


# --- what is claimed of the closed loop ------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ARMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_lyapunov_function_changes_at_the_rate_that_is_claimed(robot: str, seed: int) -> None:
    """V = ½ β ėᵀė + ½ eᵀR_0 e + ½ σ θ̃ᵀΓθ̃ at one instant, at a σ that does not change, α = 0."""
    rng, model, law = np.random.default_rng(seed), arm(robot), adaptive(robot)
    n, delta, sigma, gamma = model.n, 1e-3, 0.3, 7.0
    q, qd, error, qd_d, qdd_d = rng.uniform(-1.0, 1.0, (5, n))
    scale = rng.uniform(0.7, 1.3, n)
    own = believed(model, scale)
    gains = {**FREE, "gamma": gamma, "alpha": 0.0, "sigma_0": sigma - 1e-6, "sigma_1": 1e6, "scan_period": delta}
    state = {"beta": 0.4, "pi_hat": own.pi, "elapsed": 1.0, **scans([q, q, q], [delta, 2 * delta, 3 * delta])}
    reference = {"q": q + 0.1 * error, "qd": qd_d, "qdd": qdd_d}

    effort = step(law, q, qd, reference, state, gains)[0]
    M, C, G, F_V = terms(model, q, qd)
    coulomb = np.array([link.coulomb for link in model.links])
    effort = effort - coulomb * np.tanh(qd / SMOOTHING_VELOCITY)
    qdd = np.linalg.solve(M, effort - C @ qd - G - F_V * qd)
    past = [q - t * qd + 0.5 * t**2 * qdd for t in (delta, 2 * delta, 3 * delta)]
    after = step(law, q, qd, reference, {**state, **scans(past, state["scan_age"])}, gains, dt=1e-6)[1]

    mass, true = own.pi[::10], model.pi[::10]
    mass_dot, beta_dot = (after["pi_hat"][::10] - mass) / delta, (after["beta"].item() - 0.4) / 1e-6
    e, e_dot, e_ddot = 0.1 * error, qd_d - qd, qdd_d - qdd
    R_0, R_1 = (unpacked(law.gains, packed(law.gains, gains))[name] for name in ("R_0", "R_1"))
    parts = [0.4 * e_dot @ e_ddot, 0.5 * beta_dot * e_dot @ e_dot, e @ (R_0 * e_dot)]
    parts.append(-sigma * gamma * (true - mass) @ mass_dot)
    C_hat = terms(own, q, qd)[1]
    expected = -e_dot @ ((np.diag(R_1 + F_V) + C_hat - 0.5 * beta_dot * np.eye(n)) @ e_dot)
    # β̇ by one step is good to 1e-6 of its relaxation; q̈ by differences to 1e-16/Δ² of the positions
    assert sum(parts) == pytest.approx(expected, abs=1e-5 * np.abs(parts).max())


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["planar3r", "random"])
def test_the_lyapunov_function_falls_from_step_to_step(robot: str) -> None:
    """With scans in every step of 0.1 ms, effort held in between; the masses come nearer to the true ones."""
    rng, model, law = np.random.default_rng(4), arm(robot), adaptive(robot)
    n, dt, gamma = model.n, 1e-4, 7.0
    wrong = believed(model, rng.uniform(0.8, 1.2, n)).pi
    gains = {**FREE, "gamma": gamma, "alpha": 0.0, "sigma_0": 0.05, "sigma_1": 1e3, "scan_period": dt, "mu_1": 0.0}
    vector = packed(law.gains, gains)
    R_0, motion = unpacked(law.gains, vector)["R_0"], joint_motion(rng, rng.uniform(-0.5, 0.5, n))
    q, qd = motion(0.0)["q"] + rng.uniform(-0.1, 0.1, n), motion(0.0)["qd"]
    first = unpacked(law.state, np.asarray(law.initial(q, qd, vector)).ravel())
    x, true, V = {**first, "pi_hat": wrong}, model.pi[::10], []

    def acceleration(q: FloatArray, qd: FloatArray, effort: FloatArray) -> FloatArray:
        M, C, G, F_V = terms(model, q, qd)
        coulomb = np.array([link.coulomb for link in model.links]) * np.tanh(qd / SMOOTHING_VELOCITY)
        return np.linalg.solve(M, effort - C @ qd - G - F_V * qd - coulomb)

    for k in range(1500):
        reference = motion(k * dt)
        sigma = 0.05 + 1.0 / (1.0 + 1e3 * x["elapsed"].item() ** 3)
        error, rate, missing = reference["q"] - q, reference["qd"] - qd, true - x["pi_hat"][::10]
        V.append(0.5 * (x["beta"].item() * rate @ rate + error @ (R_0 * error) + sigma * gamma * missing @ missing))
        effort, x, _ = step(law, q, qd, reference, x, gains, dt)
        middle = qd + 0.5 * dt * acceleration(q, qd, effort)
        q, qd = q + dt * middle, qd + dt * acceleration(q + 0.5 * dt * qd, middle, effort)
    assert np.diff(V).max() <= 1e-4 * V[0]
    assert V[-1] < 0.7 * V[0]
