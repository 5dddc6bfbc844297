"""Gains that laws share."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals

FloatArray = NDArray[np.float64]

FASTEST = 230.0
"""Largest eigenvalue of M⁻¹K_d over poses that the default has [1/s].

At 1 kHz the sampled loop is stable up to about 620 1/s with a delay of 2 ms (theory.md §5); the rest is for Λ, for
inertia that is estimated wrongly, and for poses that were not looked at.
"""

LARGEST = 500.0
"""Upper bound of K_d [N·m·s/rad or N·s/m]."""

POSES = 300


def joint_damping_gain(robot: RobotExpressions, signals: Signals, default: FloatArray) -> ca.SX:
    """Declare K_d, the feedback on s per joint, shape (n,)."""
    return signals.gain(
        "K_d",
        size=robot.n,
        default=default,
        bounds=(0.0, LARGEST),
        unit="N·m·s/rad",
        doc="Feedback on s per joint; delay and sampling bound it.",
    )


def damping_by_inertia(robot: RobotExpressions) -> FloatArray:
    """K_d proportional to the least inertia that each joint alone moves, shape (n,).

    That is min 1/(M⁻¹)_ii over random poses in the joint ranges. No eigenvalue of M⁻¹K_d exceeds FASTEST there.
    """
    masses = [M for M, _ in _poses(robot)]
    apparent = np.min([1.0 / np.linalg.inv(M).diagonal() for M in masses], axis=0)
    fastest = max(_largest_eigenvalue(M, np.diag(apparent)) for M in masses)
    return _rounded(np.minimum(FASTEST / fastest * apparent, LARGEST))


def stiffness_by_inertia(robot: RobotExpressions, rows: int, most: float) -> FloatArray:
    """K_p on the rows of the task [N/m, N·m/rad], shape (rows,): `most`, or less where the arm is too light for it.

    Neither on the positions nor on the angles an eigenvalue of M⁻¹JᵀK_pJ exceeds (FASTEST/2)², which K_d damps well.
    """
    poses, stiffness = _poses(robot), []
    for part in (slice(first, first + 3) for first in range(0, rows, 3)):
        largest = max(_largest_eigenvalue(M, J[part].T @ J[part]) for M, J in poses)
        stiffness += 3 * [min(most, (FASTEST / 2) ** 2 / largest)]
    return _rounded(np.array(stiffness))


def damping_by_place(robot: RobotExpressions) -> FloatArray:
    """K_d that falls from 30 at the base to 2 at the last joint, geometrically, shape (n,).

    For arms whose distal joints move less inertia, rotors included; a delay of 2 ms may be too much for it.
    """
    return np.geomspace(30.0, 2.0, robot.n) if robot.n > 1 else np.array([10.0])


def _poses(robot: RobotExpressions) -> list[tuple[FloatArray, FloatArray]]:
    """M and J of the robot file at random poses."""
    numeric = RobotExpressions(replace(robot.model, symbolic={}))
    q, qdd = ca.SX.sym("q", robot.n), ca.SX.sym("qdd", robot.n)
    rest = ca.SX.zeros(robot.n)
    M = ca.jacobian(numeric.inverse_dynamics(q, rest, rest, qdd), qdd)
    function = ca.Function("poses", [q], [M, numeric.jacobian(q)])
    limits = [link.joint.limits for link in robot.model.links]
    lower = [limit.lower if np.isfinite(limit.lower) else -np.pi for limit in limits]
    upper = [limit.upper if np.isfinite(limit.upper) else np.pi for limit in limits]
    random = np.random.default_rng(0)
    values = [function(random.uniform(lower, upper)) for _ in range(POSES)]
    return [(np.array(M), np.array(J)) for M, J in values]


def _largest_eigenvalue(M: FloatArray, feedback: FloatArray) -> float:
    return float(np.linalg.eigvals(np.linalg.solve(M, feedback)).real.max())


def _rounded(values: FloatArray) -> FloatArray:
    """To three digits, which are the same on every machine."""
    return np.array([float(f"{value:.3g}") for value in values])
