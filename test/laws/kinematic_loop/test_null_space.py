"""What the spare degrees of freedom are for: nothing, a posture, or room to the joint limits."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, evaluate, load_robot
from laws import step

from thunder_controllers.laws.cartesian_backstepping import cartesian_backstepping
from thunder_controllers.laws.kinematic_loop.null_space import OPTION, null_space_velocity
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals
from thunder_dynamics.readers import load_model

FloatArray = np.ndarray
GEN3 = Path(__file__).parents[2] / "data/gen3.urdf"
LOWER = np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])
UPPER = np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
NEAR = np.array([0.1, -1.6, 0.2, -2.0, 2.7, 1.6, 0.5])
"""Joints 2 and 5 within their margins, one at either end."""


@cache
def robot() -> RobotExpressions:
    return RobotExpressions(load_robot("panda"))


@cache
def loop(redundancy: str) -> Law:
    options = {"redundancy": redundancy, "adaptation": "none", "disturbance": "none"}
    return cartesian_backstepping(robot(), options)


@cache
def velocity() -> Law:
    """z of the limits and its derivative, alone."""
    signals = Signals(robot(), ReferenceKind.JOINT)
    z, z_dot = null_space_velocity(robot(), signals, Options("law", (OPTION,), {"redundancy": "joint_limits"}))
    signals.describe_telemetry("z", size=14, unit="rad/s", doc="z, then its derivative.")
    return signals.law("limits", "Limits.", 0.0 * z, {}, {"z": ca.vertcat(z, z_dot)})


def z_at(q: FloatArray, qd: FloatArray | float = 0.0, **gains: object) -> tuple[FloatArray, FloatArray]:
    z = step(velocity(), q, np.zeros(7) + qd, {}, gains=gains)[2]["z"]
    return z[:7], z[7:]


def test_it_is_zero_inside_and_leads_away_from_limits_within_its_bound() -> None:
    margin, rng = 0.15 * (UPPER - LOWER), np.random.default_rng(0)
    inside = rng.uniform(LOWER + margin, UPPER - margin)
    np.testing.assert_array_equal(z_at(inside, 1.0), np.zeros((2, 7)))
    speed = np.linspace(0.1, 0.7, 7)
    for beyond in (0.0, 0.3):
        np.testing.assert_allclose(z_at(LOWER - beyond, limit_speed=speed)[0], speed, rtol=1e-12)
        np.testing.assert_allclose(z_at(UPPER + beyond, limit_speed=speed)[0], -speed, rtol=1e-12)
    for q in rng.uniform(LOWER - 0.1, UPPER + 0.1, (20, 7)):
        z = z_at(q, limit_speed=speed)[0]
        assert (np.abs(z) <= speed).all()
        assert (z * (q - 0.5 * (LOWER + UPPER)) <= 0.0).all()


@pytest.mark.parametrize("seed", range(5))
def test_its_derivative_is_exact(seed: int) -> None:
    rng, h = np.random.default_rng(seed), 1e-5
    q, qd = rng.uniform(LOWER, UPPER), rng.uniform(-1.0, 1.0, 7)
    slope = (z_at(q + h * qd)[0] - z_at(q - h * qd)[0]) / (2 * h)
    np.testing.assert_allclose(z_at(q, qd)[1], slope, rtol=0, atol=1e-6)  # second derivatives jump at the margins


def test_the_posture_leads_home_the_short_way_round_a_circle() -> None:
    """Of the Gen3, however often its joints have turned, with the exact derivative; on a line they go the whole way."""
    arm = RobotExpressions(load_model(GEN3))
    signals = Signals(arm, ReferenceKind.JOINT)
    z, z_dot = null_space_velocity(arm, signals, Options("law", (OPTION,), {"redundancy": "posture"}))
    signals.describe_telemetry("z", size=14, unit="rad/s", doc="z, then its derivative.")
    law = signals.law("posture", "Posture.", 0.0 * z, {}, {"z": ca.vertcat(z, z_dot)})
    home, rng, h = np.linspace(-1.0, 1.0, 7), np.random.default_rng(0), 1e-5

    def at(q: FloatArray, qd: FloatArray) -> tuple[FloatArray, FloatArray]:
        both = step(law, q, qd, {}, gains={"k_n": 2.0, "q_home": home})[2]["z"]
        return both[:7], both[7:]

    turns = 2.0 * np.pi * np.where(arm.model.circles, [3, 0, -2, 0, 8, 0, 1], 0)
    for _ in range(5):
        q, qd = rng.uniform(-4.0, 4.0, 7), rng.uniform(-1.0, 1.0, 7)
        np.testing.assert_allclose(at(q + turns, qd), at(q, qd), atol=1e-9)
        slope = (at(q + h * qd, qd)[0] - at(q - h * qd, qd)[0]) / (2.0 * h)
        np.testing.assert_allclose(at(q, qd)[1], slope, atol=1e-8)
        way = np.where(arm.model.circles, np.sin(home - q), home - q)
        np.testing.assert_allclose(at(q, qd)[0], 2.0 * way, atol=1e-12)


def reference(q: FloatArray) -> dict[str, FloatArray]:
    T = evaluate(robot(), "T_0_ee", {"q": q})
    return {"position": T[:3, 3] + [0.01, 0.02, 0.0], "rotation": T[:3, :3], "twist": np.full(6, 0.05)}


def qd_r(redundancy: str, q: FloatArray) -> FloatArray:
    return step(loop(redundancy), q, np.zeros(7), reference(q), gains={"speed_limit": 1e3})[2]["qd_r"]


def test_near_limits_it_moves_the_null_space_alone_and_elsewhere_nothing() -> None:
    away = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])
    np.testing.assert_array_equal(qd_r("joint_limits", away), qd_r("none", away))
    J = evaluate(robot(), "J_ee", {"q": NEAR})
    free = qd_r("joint_limits", NEAR) - qd_r("none", NEAR)
    null = np.eye(7) - np.linalg.pinv(J) @ J
    assert_close(free, null @ z_at(NEAR)[0], 1e-9)
    assert np.linalg.norm(free) > 0.05


def test_without_any_the_reference_velocity_is_the_shortest() -> None:
    J = evaluate(robot(), "J_ee", {"q": NEAR})
    shortest = qd_r("none", NEAR)
    assert_close(np.linalg.pinv(J) @ J @ shortest, shortest, 1e-9)


@pytest.mark.parametrize("redundancy", ["posture", "joint_limits", "none"])
def test_the_effort_holds_the_exact_derivative(redundancy: str) -> None:
    """M q̈_r = τ − C q̇_r − G − K_d s − JᵀLᵀK_p e, of a reference at rest: its q̇_r changes by the motion of the arm."""
    law, qd, h = loop(redundancy), np.linspace(-0.4, 0.4, 7), 1e-5
    T = evaluate(robot(), "T_0_ee", {"q": NEAR})
    still = {"position": T[:3, 3] + [0.01, 0.02, 0.0], "rotation": T[:3, :3]}
    gains = {"K_p": 0.0, "K_d": 0.0, "speed_limit": 1e3} | ({} if redundancy == "posture" else {"k_sigma": 0.0})
    effort, _, telemetry = step(law, NEAR, qd, still, gains=gains)
    M, C, G = (evaluate(robot(), name, {"q": NEAR, "dq": qd}) for name in "MCG")
    qdd_r = np.linalg.solve(M, effort - C @ telemetry["qd_r"] - G.ravel())
    ahead, behind = (step(law, NEAR + t * qd, qd, still, gains={"speed_limit": 1e3})[2]["qd_r"] for t in (h, -h))
    assert_close(qdd_r, (ahead - behind) / (2 * h), 1e-6)


def test_limits_that_there_are_not_are_refused() -> None:
    planar = RobotExpressions(load_robot("planar3r"))
    with pytest.raises(LawError, match="planar3r has no joint limits; valid: redundancy=posture, none"):
        cartesian_backstepping(planar, {"redundancy": "joint_limits", "task": "position"})
