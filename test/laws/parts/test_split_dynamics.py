"""What adapts at rest, and in motion."""

from __future__ import annotations

import numpy as np
import pytest
from evaluation import load_robot
from laws import step

from thunder_controllers.laws.parts.gate import REST_SPEED
from thunder_controllers.laws.parts.split_dynamics import OPTIONS, SplitDynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals

INERTIA = slice(4, 10)


@pytest.fixture(scope="module")
def law() -> Law:
    """The part alone, with the reference's velocity and acceleration as q̇_r and q̈_r."""
    signals = Signals(RobotExpressions(load_robot("panda")), ReferenceKind.JOINT)
    qd_r = signals.reference.qd
    options = Options("split", OPTIONS, {"adaptation": "gradient"})
    model = SplitDynamics(signals.robot, signals, qd_r, signals.reference.qdd, options, qd_r, 1.0, 1.0)
    next_state = model.step(qd_r - signals.qd)
    return signals.law("split", "Split dynamics alone.", effort=model.effort, next_state=next_state, telemetry={})


def _change(law: Law, speed: float, rng: np.random.Generator, rest_speed: float = REST_SPEED) -> np.ndarray:
    """Change of π̂ in a step with ‖q̇_r‖ = speed, and noise in q̇ and, through it, in q̈_r."""
    direction, noise = rng.standard_normal((2, 7))
    qd_r = speed * direction / np.linalg.norm(direction)
    reference = {"q": np.zeros(7), "qd": qd_r, "qdd": -10.0 * noise}
    before = np.array([1.0, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1])
    q = rng.uniform(-1.0, 1.0, 7)
    state = step(law, q, qd_r + noise, reference, {"pi_hat": before}, {"rest_speed": rest_speed})[1]
    return state["pi_hat"] - before


def test_below_the_rest_speed_noise_moves_nothing_but_what_gravity_shows(law: Law) -> None:
    for seed in range(20):
        change = _change(law, 0.999 * REST_SPEED, np.random.default_rng(seed))
        np.testing.assert_array_equal(change[INERTIA], 0.0)
        assert (np.abs(change[:4]) > 0.0).all()


def test_from_twice_the_rest_speed_on_everything_adapts_in_full(law: Law) -> None:
    for seed in range(20):
        gated, free = (_change(law, 2.0 * REST_SPEED, np.random.default_rng(seed), rest) for rest in (REST_SPEED, 1e-6))
        np.testing.assert_allclose(gated, free, rtol=1e-9)
        assert (np.abs(free) > 0.0).all()
