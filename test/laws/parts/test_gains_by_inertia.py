"""Default gains: what they promise about M⁻¹K_d holds at poses that they were not made from."""

from __future__ import annotations

import numpy as np
import pytest
from evaluation import evaluate, load_robot
from numpy.typing import NDArray
from scipy.optimize import differential_evolution

from thunder_controllers.host import Options, total_delay
from thunder_controllers.laws.parts.gains import (
    BANDWIDTH,
    DEAD_TIMES,
    FASTEST,
    FEEDBACK,
    LARGEST_ADAPTATION,
    PERIOD,
    adaptation_limit,
    damping_by_inertia,
    least_inertia,
    stiffness_by_inertia,
)
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import UNKNOWN_ROTOR

FloatArray = NDArray[np.float64]


def test_profiles_are_for_the_total_delay_of_the_host() -> None:
    for name, dead_time in DEAD_TIMES.items():
        assert FASTEST[name] == pytest.approx(FEEDBACK / total_delay(Options(dead_time=dead_time)), rel=0.005), name


@pytest.mark.parametrize("name", ["panda", "ur5", "planar3r", "rpr"])
def test_the_feedback_by_inertia_is_nowhere_faster_than_promised(name: str) -> None:
    """At random poses, and where an optimiser that knows nothing of the search finds the fastest."""
    robot = RobotExpressions(load_robot(name))
    damping = damping_by_inertia(robot)
    limits = [link.joint.limits for link in robot.model.links]
    bounds = [(max(limit.lower, -np.pi), min(limit.upper, np.pi)) for limit in limits]
    mass_matrix = robot.function("M")

    def share(q: FloatArray) -> float:
        M = np.array(mass_matrix(q))
        return float(np.linalg.eigvals(np.linalg.solve(M, np.diag(damping))).real.max()) / FASTEST["default"]

    random = np.random.default_rng(7)
    assert max(share(random.uniform(*np.transpose(bounds))) for _ in range(200)) <= 1.005  # K_d has three digits
    found = differential_evolution(lambda q: -share(q), bounds, maxiter=40, popsize=8, seed=1, polish=False)
    assert 0.98 < -found.fun <= 1.02
    assert (damping > 0.0).all()


def test_the_stiffness_is_less_where_the_arm_is_light() -> None:
    robots = (RobotExpressions(load_robot(name)) for name in ("panda", "ur5"))
    panda, ur5 = (stiffness_by_inertia(robot, 6, (50.0, 50.0), 57.5) for robot in robots)
    assert panda[:3].tolist() == [50.0] * 3 and (panda[3:] < 50.0).all()
    assert ur5[:3].tolist() == [50.0] * 3 and (ur5[3:] < 1.0).all()  # its wrist 3 has 1.3e-4 kg·m²


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_no_inertia_within_the_bounds_adds_more_velocity_feedback_than_promised(name: str) -> None:
    """M⁻¹JᵀδIJ at random corners of |δI_pq| ≤ √(a_p a_q), J of the last link in its own frame."""
    robot, random = RobotExpressions(load_robot(name)), np.random.default_rng(3)
    n, root = robot.n, np.sqrt(least_inertia(robot, (robot.n - 1,)))
    limits = [link.joint.limits for link in robot.model.links]
    lower, upper = ([max(limit.lower, -np.pi) for limit in limits], [min(limit.upper, np.pi) for limit in limits])
    largest = 0.0
    for _ in range(200):
        q = random.uniform(lower, upper)
        R, J = evaluate(robot, f"T_0_{n}", {"q": q})[:3, :3], evaluate(robot, f"J_{n}", {"q": q})[3:]
        signs = np.triu(random.choice([-1.0, 1.0], (3, 3)))
        signs = signs + np.triu(signs, 1).T
        body = R.T @ J
        added = body.T @ (signs * np.outer(root, root)) @ body
        largest = max(largest, np.linalg.eigvals(np.linalg.solve(evaluate(robot, "M", {"q": q}), added)).real.max())
    assert 0.2 < largest <= 1.005


def test_an_adaptation_at_its_limit_is_stable_with_the_rotors_that_a_file_leaves_out() -> None:
    """By the roots of I s³ + K_d s² + (K_d Λ + k) s + kΛ, k what the limit permits, for every joint of a UR5."""
    robot = RobotExpressions(load_robot("ur5"))
    K_d, limit = damping_by_inertia(robot), adaptation_limit(robot)
    rotors = UNKNOWN_ROTOR * np.array([link.joint.limits.effort for link in robot.model.links])

    def slowest(k: FloatArray) -> list[float]:
        polynomials = zip(rotors, K_d, K_d * BANDWIDTH + k, k * BANDWIDTH, strict=True)
        return [float(np.roots(coefficients).real.max()) for coefficients in polynomials]

    assert max(slowest(1.95 * limit * K_d / PERIOD)) < 0.0
    assert max(slowest(2.05 * limit * K_d / PERIOD)) > 0.0  # the margin is a factor of two
    assert max(slowest(LARGEST_ADAPTATION * K_d / PERIOD)) > 0.0


def test_an_adaptation_is_as_eager_as_the_loop_bears_where_rotors_are_known_or_do_not_matter() -> None:
    for name in ("panda", "planar3r", "rpr", "sea2"):
        assert adaptation_limit(RobotExpressions(load_robot(name))) == LARGEST_ADAPTATION
    assert adaptation_limit(RobotExpressions(load_robot("ur5", without_rotors=True))) == LARGEST_ADAPTATION
