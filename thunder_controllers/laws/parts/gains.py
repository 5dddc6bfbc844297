"""Gains that laws share."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals

FASTEST = 230.0
"""Largest eigenvalue of M⁻¹K_d over poses that the default has [1/s].

At 1 kHz the sampled loop is stable up to about 620 1/s with a delay of 2 ms (theory.md §5); the rest is for Λ, for
inertia that is estimated wrongly, and for poses that were not looked at.
"""

LARGEST = 500.0
"""Upper bound of K_d [N·m·s/rad or N·s/m]."""

POSES = 300


def joint_damping_gain(robot: RobotExpressions, signals: Signals, default: NDArray[np.float64]) -> ca.SX:
    """Declare K_d, the feedback on s per joint, shape (n,)."""
    return signals.gain(
        "K_d",
        size=robot.n,
        default=default,
        bounds=(0.0, LARGEST),
        unit="N·m·s/rad",
        doc="Feedback on s per joint; delay and sampling bound it.",
    )


def damping_by_inertia(robot: RobotExpressions) -> NDArray[np.float64]:
    """K_d proportional to the least inertia that each joint alone moves, shape (n,).

    That is min 1/(M⁻¹)_ii over random poses in the joint ranges. No eigenvalue of M⁻¹K_d exceeds FASTEST there.
    """
    masses = _masses(robot)
    apparent = np.min([1.0 / np.linalg.inv(M).diagonal() for M in masses], axis=0)
    fastest = max(np.linalg.eigvals(np.linalg.solve(M, np.diag(apparent))).real.max() for M in masses)
    damping = np.minimum(FASTEST / fastest * apparent, LARGEST)
    return np.array([float(f"{value:.3g}") for value in damping])  # what rounding leaves is the same on every machine


def damping_by_place(robot: RobotExpressions) -> NDArray[np.float64]:
    """K_d that falls from 30 at the base to 2 at the last joint, geometrically, shape (n,).

    For arms whose distal joints move less inertia, rotors included; a delay of 2 ms may be too much for it.
    """
    return np.geomspace(30.0, 2.0, robot.n) if robot.n > 1 else np.array([10.0])


def _masses(robot: RobotExpressions) -> list[NDArray[np.float64]]:
    """M of the robot file at random poses."""
    numeric = RobotExpressions(replace(robot.model, symbolic={}))
    q, qdd = ca.SX.sym("q", robot.n), ca.SX.sym("qdd", robot.n)
    rest = ca.SX.zeros(robot.n)
    mass_matrix = ca.Function("M", [q], [ca.jacobian(numeric.inverse_dynamics(q, rest, rest, qdd), qdd)])
    limits = [link.joint.limits for link in robot.model.links]
    lower = [limit.lower if np.isfinite(limit.lower) else -np.pi for limit in limits]
    upper = [limit.upper if np.isfinite(limit.upper) else np.pi for limit in limits]
    random = np.random.default_rng(0)
    return [np.array(mass_matrix(random.uniform(lower, upper))) for _ in range(POSES)]
