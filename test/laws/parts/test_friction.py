"""Friction adaptation: its gate, and what holding still does to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
import yaml
from evaluation import ROOT, load_robot
from hypothesis import given
from hypothesis import strategies as st
from laws import step

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_controllers.laws.parts.friction import GATE_SPEED, STEEPEST, FrictionAdaptation
from thunder_controllers.simulation.experiment import run_once
from thunder_controllers.simulation.preparation import build_library, prepare
from thunder_controllers.simulation.scenario import load_scenario
from thunder_controllers.simulation.trace import Trace
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind, Signals

seeds = st.integers(0, 2**32 - 1)
LAMBDA = 10.0
"""Of the laws here [1/s]."""

HELD, SETTLED = 60.0, 10.0
"""Seconds of holding, and after which the payload's estimate has settled."""


@pytest.fixture(scope="module")
def law() -> Law:
    """Friction alone, q̇_r = q̇_d + Λ (q_d − q), K_d = 1 N·m·s/rad."""
    signals = Signals(RobotExpressions(load_robot("planar3r")), ReferenceKind.JOINT)
    feedback = LAMBDA * (signals.reference.q - signals.q)
    qd_r, K_d, every = signals.reference.qd + feedback, ca.DM.ones(3), np.ones(6, dtype=bool)
    friction = FrictionAdaptation(signals.robot, signals, qd_r, every, feedback, K_d, LAMBDA)
    next_state = friction.step(qd_r - signals.qd, K_d, AdaptationLimit(signals))
    return signals.law("friction", "Friction alone.", effort=friction.effort, next_state=next_state, telemetry={})


def _step(
    law: Law, qd_r: np.ndarray, qd: np.ndarray, phi: np.ndarray, e: np.ndarray | float = 0.0, **gains: float
) -> tuple[np.ndarray, np.ndarray]:
    """Effort, and φ̂ after a step, with an error e of the positions."""
    reference = {"q": np.zeros(3) + e, "qd": qd_r - LAMBDA * e, "qdd": np.zeros(3)}
    effort, after, _ = step(law, np.zeros(3), qd, reference, {"friction_hat": phi}, gains)
    return effort, after["friction_hat"]


@given(seeds)
def test_it_adapts_along_its_regressor_where_the_gate_is_open_and_stays_within_its_bounds(law: Law, seed: int) -> None:
    """The gate is x² (3 − 2x), x = v/v_g − 1 of the slower of |q̇_r| and q̇ in its direction, kept in [0, 1]."""
    rng = np.random.default_rng(seed)
    qd_r, qd = rng.uniform(-3.0, 3.0, (2, 3)) * GATE_SPEED
    qd = np.where(rng.random(3) < 0.7, np.copysign(qd, qd_r), qd)
    phi, gamma = np.concatenate([rng.uniform(0.0, 1e-6, 3), 1.0 + rng.uniform(0.0, 1.0, 3)]), rng.uniform(0.1, 10.0, 2)
    gains = {"gamma_viscous": gamma[0], "gamma_coulomb": gamma[1], "adaptation_limit": 1e9}
    effort, after = _step(law, qd_r, qd, phi, **gains)
    Y = np.array([qd_r, np.tanh(qd_r / SMOOTHING_VELOCITY)])
    np.testing.assert_allclose(effort, (Y * phi.reshape(2, 3)).sum(axis=0), rtol=1e-12)
    x = np.clip(np.minimum(np.abs(qd_r), np.sign(qd_r) * qd) / GATE_SPEED - 1.0, 0.0, 1.0)
    rate = (x**2 * (3.0 - 2.0 * x) * (qd_r - qd) * Y / gamma[:, None]).ravel()
    np.testing.assert_allclose(after, np.clip(phi + 1e-3 * rate, 0.0, 50.0), rtol=1e-9, atol=1e-15)


@given(seeds)
def test_it_feeds_no_more_stiffness_back_than_a_sampled_loop_bears(law: Law, seed: int) -> None:
    """∂τ_f/∂e is F̂_V Λ and, where the sign changes, F̂_C Λ/v_s, or STEEPEST K_d/Δ where that is less."""
    rng = np.random.default_rng(seed)
    phi, small = np.concatenate([np.zeros(3), 10.0 ** rng.uniform(-3.0, 1.5, 3)]), 1e-7 * rng.uniform(0.5, 1.0, 3)
    stiffness = _step(law, LAMBDA * small, np.zeros(3), phi, small)[0] / small
    np.testing.assert_allclose(stiffness, np.minimum(phi[3:] * LAMBDA / SMOOTHING_VELOCITY, STEEPEST / 1e-3), rtol=1e-6)


@given(seeds)
def test_it_cancels_its_error_in_the_lyapunov_function_whatever_it_feeds_back(law: Law, seed: int) -> None:
    """Γ φ̂̇ = Y_fᵀ s with the Y_f that is in τ = Y_f φ̂, where the gate is open; and all of F̂_C is in τ there."""
    rng = np.random.default_rng(seed)
    phi, e = np.concatenate([np.zeros(3), rng.uniform(0.1, 30.0, 3)]), rng.uniform(-1e-3, 1e-3, 3)
    qd_d = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.1, 1.0, 3)
    qd_r = qd_d + LAMBDA * e
    qd = qd_r * rng.uniform(0.9, 1.1, 3)
    effort, after = _step(law, qd_r, qd, phi, e, adaptation_limit=1e9)
    np.testing.assert_allclose(effort, np.sign(qd_d) * phi[3:], rtol=1e-3)
    np.testing.assert_allclose(0.02 * (after - phi)[3:] / 1e-3, effort / phi[3:] * (qd_r - qd), rtol=1e-6, atol=1e-9)


def test_joints_without_friction_come_to_rest_under_that_of_an_estimate_a_hundred_times_theirs(law: Law) -> None:
    """I ë = τ_f(φ̂) + K_d s, 2 ms late, with differenced velocities through 100 Hz; K_d is 230/s of I, as by default.

    With F̂_C Λ/v_s instead, which V bounds as little, the second and third joint are limit cycles.
    """
    phi, inertia, share = np.array([0.0, 0.0, 0.0, 0.05, 0.5, 5.0]), 1.0 / 230.0, 1.0 - np.exp(-0.2 * np.pi)
    q, qd, measured, late = np.full(3, 2e-3), np.zeros(3), np.zeros(3), [np.zeros(3)] * 2
    for _ in range(800):
        qd_r = -LAMBDA * q
        late.append(_step(law, qd_r, measured, phi, -q)[0] + qd_r - measured)
        qd = qd + 1e-3 * late.pop(0) / inertia
        q = q + 1e-3 * qd
        measured = measured + share * (qd - measured)
    np.testing.assert_allclose(q, 0.0, atol=2e-6)


def test_adaptation_is_no_faster_than_its_limit(law: Law) -> None:
    """φ̂̇ = κ Γ⁻¹ Yᵀs with Δ κ YΓ⁻¹Yᵀ/K_d at the limit, K_d = 1 N·m·s/rad here."""
    qd_r, phi = np.ones(3), np.ones(6)
    slow, eager = (
        _step(law, qd_r, qd_r + 0.01, phi, gamma_viscous=gamma, gamma_coulomb=gamma)[1] - phi for gamma in (1.0, 1e-6)
    )
    np.testing.assert_allclose(slow[3:] / -0.01, 1e-3, rtol=1e-9)
    np.testing.assert_allclose((eager[:3] + eager[3:]) / -0.01, 0.4, rtol=1e-9)


def _hold_and_move(tmp_path: Path, options: dict[str, Any]) -> Trace:
    """A Panda with friction holds a payload that it does not know, then follows the Lissajous path."""
    path = ROOT / "config/scenarios/panda_payload_noise.yaml"
    document = yaml.safe_load(path.read_text())
    plant = {"urdf": str(ROOT / "urdf/panda.urdf.xacro"), "friction": document["plant"]["friction"]}
    plant["payloads"] = [{**document["plant"]["payloads"][0], "time": 0}]
    law = {"options": {"adapted_links": ["panda_link7"], "disturbance": "none", **options}, "gains": {}}
    document |= {"robot": str(ROOT / "config/robots/panda.yaml"), "plant": plant, "law": law, "duration": 20}
    file = tmp_path / "holding.yaml"
    file.write_text(yaml.safe_dump({**document, "runs": [{"name": "hold"}]}))
    scenario = load_scenario(file)
    (run,) = scenario.runs
    setup = prepare(scenario, run, *build_library(scenario, run))
    still = setup.samples[:1].copy()
    still[:, 12:] = 0.0
    setup.samples = np.concatenate((np.repeat(still, round(HELD / setup.period), axis=0), setup.samples))
    return run_once(setup, run)[0]


@pytest.mark.slow
def test_holding_still_leaves_the_estimates_alone_and_the_motion_after_it_good(tmp_path: Path) -> None:
    plain, adapted = (_hold_and_move(tmp_path, options) for options in ({}, {"friction": "adapted"}))
    settled, moving = (np.searchsorted(adapted.t, time) for time in (SETTLED, HELD))
    friction = adapted.state[:, 1 : 1 + 2 * len(adapted.joint_names)]  # after the damping
    np.testing.assert_array_equal(friction[moving - 1], friction[settled])
    errors = [np.linalg.norm(trace.error[moving:], axis=1) for trace in (plain, adapted)]
    assert errors[1].max() < 2.0 * errors[0].max()
    late = [error[-5000:].mean() for error in errors]
    assert late[1] < 0.1 * late[0], "friction adaptation pays while moving"
