"""The Cartesian law: exact q̈_r, the Lyapunov rate, the known/unknown split, bounds, options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from evaluation import assert_close, evaluate, load_robot
from laws import step

from thunder_controllers.laws.cartesian_backstepping import cartesian_backstepping
from thunder_dynamics.entries import EntryFlag
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law
from thunder_dynamics.spatial import rot_axis

DT = 1e-3
ALONE = {"disturbance": "none"}
"""What the docstring states, without an observer: test_disturbance.py has its part."""


@pytest.fixture(scope="module")
def robot() -> RobotExpressions:
    return RobotExpressions(load_robot("panda"))


@pytest.fixture(scope="module")
def law(robot: RobotExpressions) -> Law:
    return cartesian_backstepping(robot, ALONE)


@pytest.fixture(scope="module")
def clamped(robot: RobotExpressions) -> Law:
    """Its estimates are bounded component by component, and need not be those of a body."""
    return cartesian_backstepping(robot, {**ALONE, "adaptation": "projected"})


@pytest.fixture(scope="module")
def law_of_all(robot: RobotExpressions) -> Law:
    return cartesian_backstepping(robot, {**ALONE, "adapted_links": "all"})


class Motion:
    """A joint trajectory and, beside it, a moving reference frame a little off the end effector."""

    def __init__(self, robot: RobotExpressions, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.robot = robot
        self.q0 = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5]) + rng.uniform(-0.2, 0.2, 7)
        self.q1, self.q2 = rng.uniform(-0.8, 0.8, (2, 7))
        axis = rng.normal(size=3)
        self.axis = axis / np.linalg.norm(axis)
        T = self.pose(self.q0)
        self.R0 = rot_axis(tuple(np.roll(self.axis, 1)), 0.2) @ T[:3, :3]
        self.p0, self.v, self.a = T[:3, 3] + 0.03, *rng.uniform(-0.3, 0.3, (2, 3))

    def pose(self, q: np.ndarray) -> np.ndarray:
        return evaluate(self.robot, "T_0_ee", {"q": q})

    def state(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        return self.q0 + self.q1 * np.sin(t) + self.q2 * t**2, self.q1 * np.cos(t) + 2 * self.q2 * t

    def reference(self, t: float) -> dict[str, np.ndarray]:
        angle, rate, acceleration = 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t)
        return {
            "position": self.p0 + self.v * t + self.a * t**2 / 2,
            "rotation": rot_axis(tuple(self.axis), angle) @ self.R0,
            "twist": np.concatenate([self.v + self.a * t, rate * self.axis]),
            "acceleration": np.concatenate([self.a, acceleration * self.axis]),
        }


UNBOUNDED = {"speed_limit": 1e3, "angular_speed_limit": 100.0, "position_error_limit": 10.0}
"""Gains with which nothing is scaled."""


def qd_r_at(law: Law, motion: Motion, t: float) -> np.ndarray:
    return step(law, *motion.state(t), motion.reference(t))[2]["qd_r"]


def slope(law: Law, motion: Motion, t: float, h: float = 1e-4) -> np.ndarray:
    """Fourth-order central difference of q̇_r: truncation h⁴ = 1e-16 times fifth derivatives, rounding 1e-15/h."""
    f = {k: qd_r_at(law, motion, t + k * h) for k in (-2, -1, 1, 2)}
    return (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)


def masses(robot: RobotExpressions, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    state = {"q": q, "dq": qd}
    return evaluate(robot, "M", state), evaluate(robot, "C", state), evaluate(robot, "G", state).ravel()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("gains", [{}, {"singularity_threshold": 1.0, "damping_max": 0.01}], ids=["exact", "damped"])
def test_effort_holds_the_exact_derivative_of_the_reference_velocity(
    robot: RobotExpressions, law: Law, seed: int, gains: dict[str, float]
) -> None:
    """q̈_r is not handed out; it is what the effort contains: M q̈_r = τ − C q̇_r − G − K_d s − JᵀLᵀK_p e."""
    motion, t, state = Motion(robot, seed), 0.1, {"damping": 1e-3 if gains else 0.0}
    q, qd = motion.state(t)
    effort, after, telemetry = step(law, q, qd, motion.reference(t), state, {"K_p": 0.0, "K_d": 0.0, **gains})
    assert (telemetry["damping"].item() > 0.0) == bool(gains)
    M, C, G = masses(robot, q, qd)
    qdd_r = np.linalg.solve(M, effort - C @ telemetry["qd_r"] - G)

    def damped(time: float) -> np.ndarray:
        """With the damping as it changes from the step's on."""
        then = state["damping"] + (time - t) / DT * (after["damping"] - state["damping"])
        return step(law, *motion.state(time), motion.reference(time), {"damping": then}, gains)[2]["qd_r"]

    h = 1e-4
    f = {k: damped(t + k * h) for k in (-2, -1, 1, 2)}
    expected = (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)
    assert_close(qdd_r, expected, 1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("error", [0.0, 0.3])
def test_the_lyapunov_function_falls_at_the_rate_of_theory(
    robot: RobotExpressions, clamped: Law, seed: int, error: float
) -> None:
    """V̇ = −eᵀK_pΛe − sᵀK_d s, with V = ½eᵀK_pe + ½sᵀMs + ½π̃ᵀΓπ̃, the plant being M q̈ + C q̇ + G = τ."""
    motion, rng = Motion(robot, seed), np.random.default_rng(seed)
    q, qd = motion.state(0.0)
    reference = motion.reference(0.0)
    pi = robot.model.links[-1].inertia.pi
    pi_hat = pi * (1 + error * rng.uniform(0.1, 1.0, 10))
    Lambda, K_p, K_d = rng.uniform(2.0, 8.0, 6), rng.uniform(20.0, 80.0, 6), rng.uniform(2.0, 20.0, 7)
    gamma = np.concatenate([[2.0], np.full(3, 3.0), np.full(6, 5.0)])
    gains = {"Lambda": Lambda, "K_p": K_p, "K_d": K_d, "k_n": 0.0, **UNBOUNDED}
    gains |= {"gamma_mass": 2.0, "gamma_com": 3.0, "gamma_inertia": 5.0}
    effort, next_state, telemetry = step(clamped, q, qd, reference, {"pi_hat": pi_hat}, gains, DT)
    M, C, G = masses(robot, q, qd)
    J = evaluate(robot, "J_ee", {"q": q})
    R, e, s = motion.pose(q)[:3, :3], telemetry["pose_error"], telemetry["s"]
    Q = reference["rotation"] @ R.T
    L = np.eye(6)
    L[3:, 3:] = 0.5 * (np.trace(Q) * np.eye(3) - Q.T)
    qdd = np.linalg.solve(M, effort - C @ qd - G)
    qdd_r = slope(law_with(clamped, gains), motion, 0.0)
    e_dot = L.T @ reference["twist"] - L @ J @ qd
    pi_hat_dot = (next_state["pi_hat"] - pi_hat) / DT
    V_dot = e @ (K_p * e_dot) + s @ M @ (qdd_r - qdd) + s @ C @ s + (pi_hat - pi) @ (gamma * pi_hat_dot)
    expected = -e @ (K_p * Lambda * e) - s @ (K_d * s)
    # q̈_r by differences is good to 1e-10 of its size, π̂̇ by one step to 1e-16/DT
    assert V_dot == pytest.approx(expected, rel=1e-8)
    assert expected < 0.0


def law_with(law: Law, gains: dict[str, object]) -> Law:
    """A law with other gains than its defaults, for `slope`."""
    entries = []
    for entry in law.gains:
        value = np.asarray(gains.get(entry.name, entry.default), dtype=float)
        value = value[:, None] if value.ndim == 1 else value
        entries.append(replace(entry, default=np.broadcast_to(value, entry.shape)))
    return replace(law, gains=tuple(entries))


def test_adaptation_follows_the_regressor_of_the_adapted_links(
    robot: RobotExpressions, law: Law, law_of_all: Law
) -> None:
    motion = Motion(robot, 12)
    q, qd = motion.state(0.1)
    gamma = {"gamma": 1e3}  # slow enough to meet no bound
    last = step(law, q, qd, motion.reference(0.1), gains=gamma)[1]["pi_hat"] - robot.model.pi[60:]
    whole = step(law_of_all, q, qd, motion.reference(0.1), gains=gamma)[1]["pi_hat"] - robot.model.pi
    assert_close(whole[60:], last, 1e-9)  # differences of numbers of order one, themselves of order 1e-6
    assert np.abs(whole[:10]).max() > 0.0


def test_the_posture_does_not_move_the_end_effector(robot: RobotExpressions, law: Law) -> None:
    motion = Motion(robot, 14)
    q, qd = motion.state(0.0)
    still, moving = (
        step(law, q, qd, motion.reference(0.0), gains={"k_n": k_n, "q_home": np.linspace(-1, 1, 7), **UNBOUNDED})[2][
            "qd_r"
        ]
        for k_n in (0.0, 5.0)
    )
    J = evaluate(robot, "J_ee", {"q": q})
    assert np.linalg.norm(moving - still) > 0.1
    assert_close(J @ moving, J @ still, 1e-10)
    null = np.eye(7) - np.linalg.pinv(J) @ J
    assert_close(moving - still, null @ (5.0 * (np.linspace(-1, 1, 7) - q)), 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_velocity_keeps_the_speed_limits_and_its_direction(
    robot: RobotExpressions, law: Law, seed: int
) -> None:
    motion, limit = Motion(robot, seed), np.linspace(0.1, 0.4, 7)
    q, qd = motion.state(0.1)
    free, kept = (
        step(law, q, qd, motion.reference(0.1), gains={**UNBOUNDED, **gains})[2]["qd_r"].ravel()
        for gains in ({}, {"speed_limit": limit})
    )
    assert (np.abs(free) > limit).any() and (np.abs(kept) <= limit).all()
    assert_close(kept / np.linalg.norm(kept), free / np.linalg.norm(free), 1e-12)


def test_far_orientations_turn_the_end_effector_no_faster_than_asked_for(robot: RobotExpressions, law: Law) -> None:
    q, qd = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0]), np.zeros(7)
    T = evaluate(robot, "T_0_ee", {"q": q})
    gains = {**UNBOUNDED, "angular_speed_limit": 0.5, "orientation_error_limit": 1.2, "k_n": 0.0}
    for angle in (0.2, 1.0, 2.0, 3.0):
        rotation = rot_axis((0.6, 0.0, 0.8), angle) @ T[:3, :3]
        reference = {"position": T[:3, 3], "rotation": rotation, "twist": np.zeros(6), "acceleration": np.zeros(6)}
        telemetry = step(law, q, qd, reference, gains=gains)[2]
        turn = (evaluate(robot, "J_ee", {"q": q}) @ telemetry["qd_r"]).ravel()[3:]
        assert telemetry["orientation_cosine"] == pytest.approx(np.cos(angle))  # the true angle is reported
        assert 0.3 < np.linalg.norm(turn) <= 0.5
        assert_close(turn / np.linalg.norm(turn), np.array([0.6, 0.0, 0.8]), 1e-9)


def test_state_gains_and_telemetry_are_declared(law: Law, robot: RobotExpressions) -> None:
    assert [(e.name, e.size, e.flags) for e in law.state] == [
        ("damping", 1, EntryFlag.INITIAL),
        ("pi_hat", 10, EntryFlag.ADAPTED),
    ]
    assert {"Lambda", "K_p", "K_d", "k_n", "q_home", "gamma", "pi_lower", "pi_upper"} <= {e.name for e in law.gains}
    guarded = [e.name for e in law.telemetry if e.flags is EntryFlag.ACTIVATION]
    assert guarded == ["pose_error", "orientation_cosine", "consistency"]
    np.testing.assert_array_equal(law.state[1].default.ravel(), robot.model.pi[60:])


def test_a_non_finite_estimate_is_not_clamped_into_a_finite_one(law: Law, robot: RobotExpressions) -> None:
    motion = Motion(robot, 16)
    effort, _, _ = step(law, *motion.state(0.0), motion.reference(0.0), {"pi_hat": np.nan})
    assert np.isnan(effort).any()


# --- tasks and options -----------------------------------------------------------------------------------------------


def test_a_position_task_leaves_the_orientation_free() -> None:
    planar = RobotExpressions(load_robot("rpr"))
    law = cartesian_backstepping(planar, {"task": "position"})
    q, qd = np.array([0.2, 0.2, 0.4]), np.array([0.1, 0.05, -0.2])
    J, T = evaluate(planar, "J_ee", {"q": q})[:3], evaluate(planar, "T_0_ee", {"q": q})
    reference = {"position": T[:3, 3] + [0.01, -0.02, 0.0], "twist": [0.1, 0.2, 0.0, 5.0, 5.0, 5.0]}
    effort, _, telemetry = step(law, q, qd, reference, gains={"k_n": 0.0, "damping_max": 1e-9})
    assert np.isfinite(effort).all()
    expected = np.array([0.1, 0.2, 0.0]) + 10.0 * np.array([0.01, -0.02, 0.0])
    turned = step(law, q, qd, {**reference, "rotation": rot_axis((0.0, 0.0, 1.0), 2.0)}, gains={"k_n": 0.0})
    still = step(law, q, qd, reference, gains={"k_n": 0.0})
    np.testing.assert_array_equal(turned[0], still[0])
    # an arm in a horizontal plane: JJᵀ is singular in z, which damping of 1e-9 changes by 1e-9 over the other pivots
    assert_close((J @ telemetry["qd_r"])[:2], expected[:2], 1e-4)


def test_a_robot_with_too_few_joints_is_refused() -> None:
    with pytest.raises(LawError, match="a pose task needs 6 joints, planar3r has 3; valid: task=position"):
        cartesian_backstepping(RobotExpressions(load_robot("planar3r")), {})
    with pytest.raises(LawError, match="a position task needs 3 joints, sea2 has 2; valid: a robot of at least three"):
        cartesian_backstepping(RobotExpressions(load_robot("sea2")), {"task": "position"})


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
def test_the_estimated_inertia_is_bounded_by_the_rate(
    robot: RobotExpressions, law: Law, clamped: Law, dt: float
) -> None:
    """No entry is further from its nominal value than a sampled loop bears, 0.3 √(a_p a_q)/(λ Δ)."""
    motion, Lambda = Motion(robot, 18), np.array([5.0, 5.0, 5.0, 8.0, 8.0, 8.0])
    q, qd = motion.state(0.1)
    far = {"pi_hat": np.array([1.0, 0, 0, 0, 4, 4, 4, 4, 4, 4.0])}
    of_a_body, kept = (
        step(each, q, qd, motion.reference(0.1), far, {"Lambda": Lambda, "gamma": 1e9}, dt)[1]["pi_hat"]
        for each in (law, clamped)
    )
    (a,) = (entry.default.ravel() for entry in law.gains if entry.name == "least_inertia")
    assert a[2] == pytest.approx(0.00137, rel=0.02) and (a[:2] > 2.0 * a[2]).all()  # joint 7 turns about z alone
    widths = [0.3 * np.sqrt(a[p] * a[q]) / (8.0 * dt) for p in range(3) for q in range(p, 3)]
    nominal = robot.model.links[-1].inertia.pi
    assert_close(kept[4:], nominal[4:] + widths, 1e-6)
    assert_close(kept[:4], far["pi_hat"][:4], 1e-6)
    assert (np.abs(of_a_body[4:] - nominal[4:]) <= np.add(1e-8, widths)).all()
    assert of_a_body[0] == pytest.approx(1.0, abs=1e-6)  # the mass, which gravity shows, is not drawn along
