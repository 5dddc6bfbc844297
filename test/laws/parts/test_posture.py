"""Spare joints are held: by torques that the end effector feels nothing of, at every pose, and not without end."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from closed_loop import ClosedLoop, Instant
from evaluation import assert_close, evaluate, load_robot
from laws import packed, step, unpacked
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Library
from thunder_dynamics.build import build, law_builders
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law

FloatArray = np.ndarray
Q = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])
SIGMA = np.linspace(-0.05, 0.08, 7)
ROWS = {"pose": 6, "position": 3}
LAWS = ("cartesian_impedance", "cartesian_computed_torque", "cartesian_backstepping")


@cache
def robot(name: str = "panda") -> RobotExpressions:
    return RobotExpressions(load_robot(name))


@cache
def law(name: str = "cartesian_impedance", arm: str = "panda", **options: Any) -> Law:
    led = {"redundancy": "none", "disturbance": "none"} if name == "cartesian_backstepping" else {}
    return law_builders()[name].load()(robot(arm), {**led, **options})


def at(q: FloatArray) -> dict[str, FloatArray]:
    T = evaluate(robot(), "T_0_ee", {"q": q})
    return {"position": T[:3, 3], "rotation": T[:3, :3]}


def matrices(q: FloatArray, rows: int) -> tuple[FloatArray, FloatArray]:
    return evaluate(robot(), "M", {"q": q}), evaluate(robot(), "J_ee", {"q": q})[:rows]


@pytest.mark.parametrize("task", ["pose", "position"])
@pytest.mark.parametrize("seed", range(5))
def test_the_end_effector_feels_nothing_of_the_hold(task: str, seed: int) -> None:
    """The torque is M N N⁺_M(k²σ + 2k(z − q̇)) with N a basis of the null space, and gives J q̈ nothing."""
    rng = np.random.default_rng(seed)
    q, qd, sigma, z = Q + rng.uniform(-0.3, 0.3, 7), *rng.uniform(-0.2, 0.2, (3, 7))
    state = {"deflection": sigma, "spare_velocity": z}
    held, free = (
        step(law(task=task), q, qd, at(Q), given, {"k_sigma": k})[0] for given, k in ((state, 20.0), (state, 0.0))
    )
    M, J = matrices(q, ROWS[task])
    N = np.linalg.svd(J)[2][ROWS[task] :].T
    wanted = 20.0**2 * sigma + 40.0 * (z - qd)
    assert_close(held - free, M @ N @ np.linalg.solve(N.T @ M @ N, N.T @ M @ wanted), 1e-9)
    acceleration = J @ np.linalg.solve(M, held - free)
    assert np.abs(acceleration).max() < 1e-9 * np.abs(np.linalg.solve(M, held - free)).max()


@pytest.mark.parametrize("name", LAWS)
def test_a_deflection_grows_with_spare_motion_alone(name: str) -> None:
    """From zero, by nothing of a motion that takes the end effector along, and by all of a spare one."""
    M, J = matrices(Q, 6)
    spare = np.linalg.svd(J)[2][6]
    weight = np.linalg.inv(M) if name == "cartesian_impedance" else np.eye(7)
    moving = weight @ J.T @ np.linalg.solve(J @ weight @ J.T, np.full(6, 0.1))
    gains = {} if name == "cartesian_backstepping" else {"k_n": 0.0}
    for qd, expected in ((moving, 0.0 * spare), (spare, -1e-3 * spare)):
        after = step(law(name), Q, qd, at(Q), gains=gains)[1]["deflection"]
        np.testing.assert_allclose(after, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_hold_takes_energy_from_the_spare_motion_of_the_adaptive_law(seed: int) -> None:
    """With s_0 of the null space d/dt ½ k²σᵀM σ = s_0ᵀτ_n − 2 k s_0ᵀM s_0 − k³ σᵀM(1 − P)σ."""
    rng, k, dt = np.random.default_rng(seed), 20.0, 1e-6
    qd, state = rng.uniform(-0.5, 0.5, 7), {"deflection": rng.uniform(-0.05, 0.05, 7)}
    named = law("cartesian_backstepping")
    held, after, telemetry = step(named, Q, qd, at(Q), state, {"k_sigma": k}, dt)
    torque, sigma = held - step(named, Q, qd, at(Q), state, {"k_sigma": 0.0})[0], state["deflection"]
    M, J = matrices(Q, 6)
    s = telemetry["s"] - np.linalg.pinv(J) @ J @ telemetry["s"]
    P = np.eye(7) - np.linalg.solve(M, J.T) @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J)
    M_dot = evaluate(robot(), "M_dot", {"q": Q, "dq": qd})
    rate = k**2 * (sigma @ M @ (after["deflection"] - sigma) / dt + 0.5 * sigma @ M_dot @ sigma)
    squares = 2.0 * k * s @ M @ P @ s, k**3 * sigma @ M @ (sigma - P @ sigma)
    assert min(squares) > 0.0
    assert rate == pytest.approx(s @ torque - sum(squares), rel=1e-7)


@pytest.mark.parametrize("name", LAWS)
def test_a_deflection_is_bounded_and_its_direction_kept(name: str) -> None:
    """It turns by M⁻¹Cσ besides: by less than a hundredth at 1 rad/s in 1 ms."""
    spare = np.linalg.svd(matrices(Q, 6)[1])[2][6]
    gains = {"deflection_limit": 0.2} | ({} if name == "cartesian_backstepping" else {"k_n": 0.0})
    after = step(law(name), Q, -spare, at(Q), {"deflection": 0.2 * spare}, gains)[1]["deflection"]
    assert np.linalg.norm(after) == pytest.approx(0.2, abs=1e-12)
    np.testing.assert_allclose(after, 0.2 * spare, atol=0.002)


@pytest.mark.parametrize(
    "q", [np.zeros(7), np.array([0.3, 0.0, 0.0, -1e-9, 0.0, 0.0, 0.0])], ids=["straight", "nearly"]
)
def test_at_a_singular_pose_the_law_is_finite_and_the_one_without(q: FloatArray) -> None:
    qd = np.linspace(-0.5, 0.5, 7)
    state = {"deflection": SIGMA, "spare_velocity": SIGMA}
    held, after, telemetry = step(law(), q, qd, at(Q), state)
    free = step(law(), q, qd, at(Q), state, {"k_sigma": 0.0})[0]
    assert telemetry["singularity"].item() < 1e-9
    np.testing.assert_allclose(held, free, atol=1e-9)
    # σ̇ turns with M alone
    rate = -np.linalg.solve(matrices(q, 6)[0], evaluate(robot(), "C", {"q": q, "dq": qd}) @ SIGMA)
    np.testing.assert_allclose((after["deflection"] - SIGMA) / 1e-3, rate, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("arm", "task", "is_held"),
    [("panda", "pose", True), ("panda", "position", True), ("ur5", "pose", False), ("ur5", "position", True)],
)
@pytest.mark.parametrize("name", LAWS)
def test_only_an_arm_with_joints_to_spare_has_a_hold(name: str, arm: str, task: str, is_held: bool) -> None:
    built = law(name, arm, task=task)
    assert ("k_sigma" in {gain.name for gain in built.gains}) == is_held
    assert ("deflection" in {state.name for state in built.state}) == is_held


def test_by_default_the_posture_of_the_activation_stays() -> None:
    assert "q_home" not in {gain.name for gain in law().gains}
    first = unpacked(law().state, np.asarray(law().initial(Q, np.zeros(7), packed(law().gains))).ravel())
    np.testing.assert_array_equal(first["q_home"], Q)
    np.testing.assert_array_equal(first["deflection"], np.zeros(7))
    assert "q_home" in {gain.name for gain in law(redundancy="posture").gains}


# --- in closed loop --------------------------------------------------------------------------------------------------


def spare_direction(q: FloatArray) -> FloatArray:
    """Unit vector of spare motion that lowers joint 1."""
    vector = np.linalg.svd(matrices(q, 6)[1])[2][6]
    return np.asarray(-np.sign(vector[0]) * vector)


def displaced(q: FloatArray, way: float) -> FloatArray:
    """Posture of the same pose, so far along the null space [rad]: small steps, each with its pose made good."""
    T_d = evaluate(robot(), "T_0_ee", {"q": q})
    for _ in range(50):
        q = q + way / 50.0 * spare_direction(q)
        for _ in range(3):
            T = evaluate(robot(), "T_0_ee", {"q": q})
            turn = Rotation.from_matrix(T_d[:3, :3] @ T[:3, :3].T).as_rotvec()
            q = q + np.linalg.pinv(matrices(q, 6)[1]) @ np.concatenate([T_d[:3, 3] - T[:3, 3], turn])
    return q


def coriolis_force(loop: ClosedLoop, now: Instant) -> float:
    """‖Λ(J̇q̇ − JM⁻¹C q̇)‖ of the positions [N]: all that moves the end effector while spare joints move."""
    M, C, *_ = loop.terms(now.q, now.qd)
    J = matrices(now.q, 6)[1]
    drift = evaluate(robot(), "J_ee_dot", {"q": now.q, "dq": now.qd}) @ now.qd - J @ np.linalg.solve(M, C @ now.qd)
    return float(np.linalg.norm(np.linalg.solve(J @ np.linalg.solve(M, J.T), drift)[:3]))


@pytest.mark.slow
def test_a_displaced_elbow_returns_and_the_end_effector_stays() -> None:
    """The hold gives the end effector no acceleration: only J̇q̇ − JM⁻¹Cq̇ moves it, against K.

    A mode of inertia Λ has the damping ratio (D + d Λ)/(2 √(K Λ)) ≥ √(d D/K) = 0.87, with which no force f moves it
    further than 1.01 max |f|/K; twice that leaves room for what turning adds. The energy of the deflection is a bound,
    too, ½ K e² ≤ ½ k_σ² σᵀM σ, as the arm is passive.
    """
    library = Library(build(load_robot("panda")) / "libpanda.so")
    rest = {**at(Q), "twist": np.zeros(6), "acceleration": np.zeros(6)}
    loop = ClosedLoop(load_robot("panda"), library, law(), lambda _: rest, has_friction=False)
    q = displaced(Q, 0.2)
    M, J = matrices(q, 6)
    sigma = Q - q - np.linalg.solve(M, J.T) @ np.linalg.solve(J @ np.linalg.solve(M, J.T), J @ (Q - q))
    found = loop.run(loop.start(q, np.zeros(7), {"q_home": Q, "deflection": sigma}), 1.0, 1e-3)[1]
    start, end = (np.abs(found[i].q - Q).max() for i in (0, -1))
    assert start > 0.1 and end < 0.1 * start
    moved = max(np.linalg.norm(now.telemetry["pose_error"][:3]) for now in found)
    K = loop.gains["K"][0]
    assert moved < 2.0 * max(coriolis_force(loop, now) for now in found) / K + 1e-6
    assert moved < np.sqrt(loop.gains["k_sigma"].item() ** 2 * sigma @ M @ sigma / K)
