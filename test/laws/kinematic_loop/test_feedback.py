"""What of q̇_r feeds the error of the pose back, by the loop itself, and what friction makes of it."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from evaluation import load_robot
from laws import step

from thunder_controllers.laws.cartesian_backstepping import cartesian_backstepping
from thunder_controllers.laws.kinematic_loop.axis_angle import AxisAngleLoop
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals
from thunder_dynamics.spatial import rot_axis

FloatArray = np.ndarray
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.5])


@cache
def robot() -> RobotExpressions:
    return RobotExpressions(load_robot("panda"))


@cache
def loop() -> Law:
    """The loop alone: q̇_r and its feedback."""
    signals = Signals(robot(), ReferenceKind.CARTESIAN)
    options = Options("law", AxisAngleLoop.OPTIONS, {})
    motion = AxisAngleLoop(robot(), signals, options, 230.0)
    for name in ("qd_r", "feedback"):
        signals.describe_telemetry(name, size=7, unit="rad/s", doc=f"{name} of the loop.")
    telemetry = {"qd_r": motion.qd_r, "feedback": motion.feedback, **motion.telemetry}
    return signals.law("loop", "A loop.", motion.effort, motion.next_state, telemetry)


@cache
def placed() -> ca.Function:
    """Rotation, position and Jacobian of the end effector."""
    q = ca.SX.sym("q", 7)
    return ca.Function("placed", [q], [*robot().numeric.pose(q), robot().numeric.jacobian(q)])


def reference(rng: np.random.Generator, q: FloatArray, away: float) -> dict[str, FloatArray]:
    """A pose beside that of a posture, moving."""
    R, p = (np.array(part) for part in placed()(q)[:2])
    axis = rng.normal(size=3)
    return {
        "position": p.ravel() + away * rng.uniform(-0.03, 0.03, 3),
        "rotation": rot_axis(tuple(axis / np.linalg.norm(axis)), 0.1 * away) @ R,
        "twist": rng.uniform(-0.1, 0.1, 6),
        "acceleration": np.zeros(6),
    }


def test_what_is_left_of_the_velocity_does_not_depend_on_the_bandwidth() -> None:
    """q̇_r − feedback is J⁺L⁻¹Lᵀξ_d and the null space's: the same for every Λ, while no joint's speed is limited."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = HOME + rng.uniform(-0.3, 0.3, 7)
        given = reference(rng, q, 1.0)
        slow, fast = (step(loop(), q, np.zeros(7), given, gains={"Lambda": Lambda})[2] for Lambda in (2.0, 4.0))
        np.testing.assert_allclose(fast["feedback"], 2.0 * slow["feedback"], rtol=1e-9, atol=1e-12)
        left = [found["qd_r"] - found["feedback"] for found in (slow, fast)]
        np.testing.assert_allclose(left[0], left[1], rtol=1e-9, atol=1e-12)


def test_without_an_error_nothing_is_fed_back() -> None:
    rng = np.random.default_rng(1)
    found = step(loop(), HOME, np.zeros(7), reference(rng, HOME, 0.0))[2]
    np.testing.assert_allclose(found["feedback"], 0.0, atol=1e-12)


def test_large_friction_is_no_steeper_in_the_error_than_the_loop_bears() -> None:
    """∂τ/∂e of F̂_C beyond that without friction, over a joint's K_d, at an error of nothing: STEEPEST/Δ at most.

    With the sign of q̇_r as a whole it would be F̂_C Λ/v_s.
    """
    chosen = cartesian_backstepping(robot(), {"friction": "adapted", "adaptation": "none"})
    gains = {entry.name: np.ravel(entry.default) for entry in chosen.gains}
    rng, small = np.random.default_rng(2), 1e-7
    resting = {**reference(rng, HOME, 0.0), "twist": np.zeros(6)}
    J = np.array(placed()(HOME)[2])
    slopes = []
    for coulomb in (0.0, 30.0):
        state = {"friction_hat": np.concatenate([np.zeros(7), np.full(7, coulomb)])}
        columns = []
        for axis in range(3):
            moved = {**resting, "position": resting["position"] + small * np.eye(3)[axis]}
            ends = [step(chosen, HOME, np.zeros(7), at, state, {"q_home": HOME}, 1e-3)[0] for at in (resting, moved)]
            columns.append((ends[1] - ends[0]) / small)
        slopes.append(np.array(columns).T)
    added = slopes[1] - slopes[0]
    to_joints = np.linalg.pinv(J)[:, :3]
    most = 0.1 * gains["K_d"] / 1e-3
    assert (np.abs(added) <= 1.01 * most[:, None] * np.abs(to_joints)).all()
    assert np.abs(added).max() > 0.0
