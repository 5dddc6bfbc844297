"""What each law claims of its closed loop: the rate of its Lyapunov function, and exact error dynamics.

The function is evaluated from compiled M, C and J, outside of the law; the arm is the model's own, with its friction
where the law compensates that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from closed_loop import ClosedLoop, Instant, Reference, joint_motion, pose_motion
from evaluation import load_robot
from robots import random_robot
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Library
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.build import build, law_builders
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, ReferenceKind
from thunder_dynamics.model import RobotModel

pytestmark = pytest.mark.slow

FloatArray = np.ndarray
ARMS = ("panda", "ur5", "planar3r", "rpr", "random 3", "random 8")
POSES = {"panda": [0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5], "ur5": [0.3, -1.2, 1.5, -0.6, 1.3, 0.4]}


@cache
def arm(name: str) -> RobotModel:
    """An arm of a file, or a random one of six joints with friction."""
    if not name.startswith("random"):
        return load_robot(name, without_rotors=True)  # for what drives may have beside the file slows adaptation down
    model, rng = random_robot(int(name.split()[1]), 6), np.random.default_rng(1)
    links = [
        replace(link, friction=(float(a), float(b)), coulomb=float(c))
        for link, (a, b, c) in zip(model.links, rng.uniform(0.1, 1.0, (6, 3)), strict=True)
    ]
    return RobotModel(name.replace(" ", ""), tuple(links), model.base, model.ee, model.ee_link, gravity=model.gravity)


@cache
def library(name: str) -> Library:
    return Library(build(arm(name)) / f"lib{arm(name).name}.so")


@cache
def build_law(law: str, robot: str, **options: Any) -> Law:
    return law_builders()[law].load()(RobotExpressions(arm(robot)), options)


@pytest.fixture(autouse=True)
def _cache(build_cache: Path) -> None:
    """Libraries are built where the session says."""


# --- what is claimed -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """V and dV/dt of a law, as functions of the loop and an instant of it."""

    energy: Callable[[ClosedLoop, Instant], float]
    rate: Callable[[ClosedLoop, Instant], float]
    options: Mapping[str, Any] = field(default_factory=dict)
    gains: Mapping[str, object] = field(default_factory=dict)
    compensates_friction: bool = True


def _errors(now: Instant) -> tuple[FloatArray, FloatArray]:
    return now.reference["q"] - now.q, now.reference["qd"] - now.qd


def _viscous(loop: ClosedLoop, qd: FloatArray) -> FloatArray:
    """Diagonal of F_V, from the torque of friction at q̇ less its Coulomb part."""
    coulomb = np.array([link.coulomb for link in loop.model.links]) * np.tanh(qd / SMOOTHING_VELOCITY)
    return (loop.terms(0.0 * qd, qd)[3] - coulomb) / qd


def computed_torque_energy(loop: ClosedLoop, now: Instant) -> float:
    e, e_dot = _errors(now)
    return 0.5 * (e_dot @ e_dot + e @ (loop.gains["R_0"] * e))


def computed_torque_rate(loop: ClosedLoop, now: Instant) -> float:
    e_dot = _errors(now)[1]
    return -e_dot @ (loop.gains["R_1"] * e_dot)


def pd_plus_energy(loop: ClosedLoop, now: Instant) -> float:
    e, e_dot = _errors(now)
    return 0.5 * (e_dot @ loop.terms(now.q, now.qd)[0] @ e_dot + e @ (loop.gains["K_p"] * e))


def pd_plus_rate(loop: ClosedLoop, now: Instant) -> float:
    e_dot = _errors(now)[1]
    return -e_dot @ ((loop.gains["K_d"] + _viscous(loop, now.qd)) * e_dot)


def _weighted(loop: ClosedLoop, now: Instant) -> tuple[float, float]:
    """a = α/(1 + ‖e‖) and its rate."""
    e, e_dot = _errors(now)
    size, alpha = np.linalg.norm(e), loop.gains["alpha"].item()
    return alpha / (1.0 + size), -alpha * (e @ e_dot) / (size * (1.0 + size) ** 2)


def pd_plus_adaptive_energy(loop: ClosedLoop, now: Instant) -> float:
    e, e_dot = _errors(now)
    crossed = _weighted(loop, now)[0] * (e @ loop.terms(now.q, now.qd)[0] @ e_dot)
    return pd_plus_energy(loop, now) + crossed + _energy_of_estimates(loop, now)


def pd_plus_adaptive_rate(loop: ClosedLoop, now: Instant) -> float:
    e, e_dot = _errors(now)
    (M, C, *_), (a, a_dot) = loop.terms(now.q, now.qd), _weighted(loop, now)
    D = loop.gains["K_d"] + _viscous(loop, now.qd)
    along = e @ (loop.gains["K_p"] * e + D * e_dot - C.T @ e_dot)
    return -e_dot @ (D * e_dot - a * M @ e_dot) - a * along + a_dot * (e @ M @ e_dot)


def variable_inertia_energy(loop: ClosedLoop, now: Instant) -> float:
    e, e_dot = _errors(now)
    return 0.5 * (now.telemetry["inertia"].item() * e_dot @ e_dot + e @ (loop.gains["R_0"] * e))


def variable_inertia_rate(loop: ClosedLoop, now: Instant) -> float:
    e_dot = _errors(now)[1]
    C = loop.terms(now.q, now.qd)[1]
    damping = np.diag(loop.gains["R_1"] + _viscous(loop, now.qd)) + C - 0.5 * now.state_dot["beta"] * np.eye(loop.n)
    return -e_dot @ damping @ e_dot


def adaptive_energy(loop: ClosedLoop, now: Instant) -> float:
    s, M = now.telemetry["s"], loop.terms(now.q, now.qd)[0]
    return 0.5 * s @ M @ s + (_energy_of_estimates(loop, now) if "pi_hat" in now.state else 0.0)


def _energy_of_estimates(loop: ClosedLoop, now: Instant) -> float:
    wrong, gains = now.state["pi_hat"] - loop.model.pi, loop.gains
    per_link = np.concatenate([gains["gamma_mass"], *3 * [gains["gamma_com"]], *6 * [gains["gamma_inertia"]]])
    return float(0.5 * wrong @ (np.kron(gains["gamma"], per_link) * wrong))


def adaptive_rate(loop: ClosedLoop, now: Instant) -> float:
    s = now.telemetry["s"]
    return -s @ (loop.gains["K_d"] * s)


def gravity_compensation_energy(loop: ClosedLoop, now: Instant) -> float:
    return 0.5 * now.qd @ loop.terms(now.q, now.qd)[0] @ now.qd


def gravity_compensation_rate(loop: ClosedLoop, now: Instant) -> float:
    return -now.qd @ (loop.gains["K_d"] * now.qd)


def _twist_error(loop: ClosedLoop, now: Instant) -> FloatArray:
    return now.reference["twist"] - np.reshape(loop.library.evaluate("J_ee", now.q), (6, loop.n)) @ now.qd


def cartesian_computed_torque_energy(loop: ClosedLoop, now: Instant) -> float:
    e, e_dot, R_0 = now.telemetry["pose_error"], _twist_error(loop, now), loop.gains["R_0"]
    turning = 1.0 - now.telemetry["orientation_cosine"].item() + 0.5 * e_dot[3:] @ (e_dot[3:] / R_0[3:])
    return 0.5 * (e_dot[:3] @ e_dot[:3] + e[:3] @ (R_0[:3] * e[:3])) + turning


def cartesian_computed_torque_rate(loop: ClosedLoop, now: Instant) -> float:
    e_dot, R_0, R_1 = _twist_error(loop, now), loop.gains["R_0"], loop.gains["R_1"]
    return -e_dot[:3] @ (R_1[:3] * e_dot[:3]) - e_dot[3:] @ (R_1[3:] / R_0[3:] * e_dot[3:])


def cartesian_impedance_energy(loop: ClosedLoop, now: Instant) -> float:
    T, K = np.reshape(loop.library.evaluate("T_0_ee", now.q), (4, 4)), loop.gains["K"]
    e = now.reference["position"] - T[:3, 3]
    turn = Rotation.from_matrix(now.reference["rotation"].T @ T[:3, :3]).as_rotvec()  # axis in the desired frame
    angle = np.linalg.norm(turn)
    turning = (1.0 - np.cos(angle)) / angle**2 * turn @ (K[3:] * turn) if K.size == 6 else 0.0
    return 0.5 * (now.qd @ loop.terms(now.q, now.qd)[0] @ now.qd + e @ (K[:3] * e)) + turning + _held(loop, now)[0]


def cartesian_impedance_rate(loop: ClosedLoop, now: Instant) -> float:
    gains = loop.gains
    twist = _twist_error(loop, now)[: gains["D"].size]
    damped = twist @ (gains["D"] * twist) + gains["d"].item() * now.qd @ loop.terms(now.q, now.qd)[0] @ now.qd
    return _held(loop, now)[1] - damped


def _held(loop: ClosedLoop, now: Instant) -> tuple[float, float]:
    """Energy ½ k_σ² σᵀM σ of the hold of spare joints, and what the hold has of the rate; zero of an arm without."""
    if "k_sigma" not in loop.gains:
        return 0.0, 0.0
    M, k = loop.terms(now.q, now.qd)[0], loop.gains["k_sigma"].item()
    J = np.reshape(loop.library.evaluate("J_ee", now.q), (6, loop.n))[: loop.gains["K"].size]
    x = min(1.0 / np.trace(np.linalg.inv(J @ J.T)) / loop.gains["singularity_threshold"].item(), 1.0)
    share = x**2 * (3.0 - 2.0 * x)
    P = np.eye(loop.n) - np.linalg.solve(M, J.T) @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J)
    sigma, z, v = now.state["deflection"], now.state["spare_velocity"], P @ now.qd
    damped = 2.0 * k * share * v @ M @ v + share * k**3 * sigma @ M @ (sigma - P @ sigma)
    led = share * (2.0 * k * v @ M + k**2 * sigma @ M @ P) @ z
    return 0.5 * k**2 * sigma @ M @ sigma, led - damped


ADAPTIVE = (adaptive_energy, adaptive_rate)
HANGS = (cartesian_impedance_energy, cartesian_impedance_rate)
ALL = {"adapted_links": "all", "adaptation": "gradient"}
FIXED = {"adaptation": "none"}
FAR = {"position_error_limit": 10.0, "orientation_error_limit": 1.0, "singularity_threshold": 1e-9}
"""Gains with which nothing is shortened and no inverse damped."""

SLOW = {"gamma": 1e3, "least_inertia": 1e6}
"""Adaptation that meets no bound and no limit."""

CLAIMS = {
    "computed_torque": Claim(computed_torque_energy, computed_torque_rate),
    "pd_plus": Claim(pd_plus_energy, pd_plus_rate),
    "pd_plus adaptive": Claim(pd_plus_adaptive_energy, pd_plus_adaptive_rate, ALL, SLOW),
    "variable_inertia": Claim(variable_inertia_energy, variable_inertia_rate),
    "slotine_li": Claim(*ADAPTIVE, ALL, SLOW, compensates_friction=False),
    "slotine_li fixed": Claim(*ADAPTIVE, FIXED, compensates_friction=False),
    "gravity_compensation": Claim(gravity_compensation_energy, gravity_compensation_rate, compensates_friction=False),
    "cartesian_computed_torque": Claim(cartesian_computed_torque_energy, cartesian_computed_torque_rate, gains=FAR),
    "cartesian_impedance": Claim(*HANGS, compensates_friction=False),
    "cartesian_impedance of positions": Claim(*HANGS, {"task": "position"}, compensates_friction=False),
    "cartesian_impedance near a singularity": Claim(
        *HANGS, {"task": "position"}, {"singularity_threshold": 1.0}, compensates_friction=False
    ),
}
CASES = [
    (claim, robot)
    for claim in CLAIMS
    for robot in ARMS
    if arm(robot).n >= 6
    or not claim.startswith(("cartesian_computed", "cartesian_impedance of", "cartesian_impedance near"))
]


# --- the loop that is looked at --------------------------------------------------------------------------------------


def start_of(claim: str, robot: str, seed: int) -> tuple[ClosedLoop, FloatArray]:
    """A loop, and its x away from the reference, moving, with estimates that are wrong."""
    rng, n = np.random.default_rng(seed), arm(robot).n
    stated = CLAIMS[claim]
    law = build_law(claim.split()[0], robot, **stated.options)
    q = np.array(POSES.get(robot, rng.uniform(-1.0, 1.0, n)))
    reference = _reference(law, robot, q, rng)
    loop = ClosedLoop(arm(robot), library(robot), law, reference, stated.gains, stated.compensates_friction)
    adapts = any(entry.name == "pi_hat" for entry in law.state)
    wrong = {"pi_hat": arm(robot).pi * rng.uniform(0.7, 1.3, 10 * n)} if adapts else {}
    if any(entry.name == "deflection" for entry in law.state):
        wrong |= {"deflection": rng.uniform(-0.05, 0.05, n), "spare_velocity": rng.uniform(-0.3, 0.3, n)}
    return loop, loop.start(q + rng.uniform(-0.1, 0.1, n), rng.uniform(0.2, 0.8, n), wrong)


def _reference(law: Law, robot: str, q: FloatArray, rng: np.random.Generator) -> Reference:
    if law.reference_kind is ReferenceKind.JOINT:
        return joint_motion(rng, q)
    T = np.reshape(library(robot).evaluate("T_0_ee", q), (4, 4))
    held = law.name == "cartesian_impedance"
    return pose_motion(rng, T, angle=2.0 if held else 0.2, speed=0.0 if held else 1.0)


@pytest.mark.parametrize(("claim", "robot"), CASES)
def test_the_lyapunov_function_changes_at_the_rate_that_is_claimed(claim: str, robot: str) -> None:
    stated = CLAIMS[claim]
    for seed in range(3):
        loop, x = start_of(claim, robot, seed)
        expected = stated.rate(loop, loop.at(0.3, x))
        found = loop.slope(lambda now: stated.energy(loop, now), 0.3, x)  # noqa: B023
        # Rounding of V over h: 1e-16 / 1e-5; of the derivative of a state over INSTANT: 1e-16 / 1e-6.
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-8 * stated.energy(loop, loop.at(0.3, x)))


# --- exact error dynamics --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("robot", ARMS)
def test_computed_torque_makes_every_joint_the_same_linear_system(robot: str) -> None:
    """e(t) is that of ë + R_1 ė + R_0 e = 0, by its matrix exponential."""
    loop, x = start_of("computed_torque", robot, seed=2)
    times, found = loop.run(x, 0.1, 1e-3)
    errors = np.array([_errors(now) for now in found])  # (times, 2, n)
    R_0, R_1 = loop.gains["R_0"][0], loop.gains["R_1"][0]
    for t, error in zip(times, errors, strict=True):
        expected = expm(np.array([[0.0, 1.0], [-R_0, -R_1]]) * t) @ errors[0]
        np.testing.assert_allclose(error, expected, atol=1e-6 * np.abs(errors[0]).max())


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_cartesian_computed_torque_makes_the_position_a_linear_system(robot: str) -> None:
    loop, x = start_of("cartesian_computed_torque", robot, seed=2)
    times, found = loop.run(x, 0.1, 1e-3)
    errors = np.array([(now.telemetry["pose_error"][:3], _twist_error(loop, now)[:3]) for now in found])
    R_0, R_1 = loop.gains["R_0"][0], loop.gains["R_1"][0]
    expected = np.array([expm(np.array([[0.0, 1.0], [-R_0, -R_1]]) * t) @ errors[0] for t in times])
    np.testing.assert_allclose(errors, expected, atol=1e-6 * np.abs(errors[0]).max())


@pytest.mark.parametrize("robot", ARMS)
def test_variable_inertia_has_the_error_dynamics_of_its_inertia(robot: str) -> None:
    """β ë + (C + F_V + R_1) ė + R_0 e = 0 at once, at every β."""
    for seed, beta in enumerate((0.05, 0.7, 20.0)):
        loop, x = start_of("variable_inertia", robot, seed)
        loop = ClosedLoop(loop.model, loop.library, loop.law, loop.reference, {"beta_lower": 1e-9})
        x[-1] = beta
        now = loop.at(0.2, x)
        (e, e_dot), n = _errors(now), loop.n
        e_ddot = now.reference["qdd"] - loop.derivative(0.2, x)[n : 2 * n]
        C = loop.terms(now.q, now.qd)[1]
        damping = C @ e_dot + (_viscous(loop, now.qd) + loop.gains["R_1"]) * e_dot
        rest = beta * e_ddot + damping + loop.gains["R_0"] * e
        assert np.abs(rest).max() < 1e-8 * np.abs(damping).max() * max(1.0, beta)
