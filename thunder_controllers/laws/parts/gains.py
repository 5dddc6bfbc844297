"""Gains that laws share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.model import JointKind, RobotModel

FloatArray = NDArray[np.float64]

FASTEST = {"default": 230.0, "stiff": 450.0, "topics": 150.0}
"""Profiles: largest eigenvalue of M⁻¹K_d over poses that the default has [1/s].

At 1 kHz the sampled loop is stable up to about 620 1/s with a delay of 2 ms (theory.md §5), 1000 with 1 ms and 450 with
3 ms. A half or less leaves room for Λ, for inertia that is estimated wrongly, and for poses that were not
looked at: `default` bears 2 ms, `stiff` 1 ms, and `topics` the 1 to 3 ms of a loop over ROS topics.
"""

LARGEST = 500.0
"""Upper bound of K_d [N·m·s/rad or N·s/m]."""

NO_LEAST_INERTIA = 1e6
"""For links that no revolute joint moves [kg·m²]."""

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


def fastest_of(profile: str) -> float:
    """Look up a profile's largest eigenvalue of M⁻¹K_d [1/s].

    Raises:
        LawError: if there is no such profile.
    """
    if profile not in FASTEST:
        raise LawError(f"profile '{profile}'", valid=", ".join(FASTEST))
    return FASTEST[profile]


def damping_by_inertia(robot: RobotExpressions, fastest: float = FASTEST["default"]) -> FloatArray:
    """K_d proportional to the least inertia that each joint alone moves, shape (n,).

    That is min 1/(M⁻¹)_ii over random poses in the joint ranges. No eigenvalue of M⁻¹K_d exceeds `fastest` there [1/s].
    """
    masses = [M for M, _ in _poses(robot)]
    apparent = np.min([1.0 / np.linalg.inv(M).diagonal() for M in masses], axis=0)
    scale = fastest / max(_largest_eigenvalue(M, np.diag(apparent)) for M in masses)
    return _rounded(np.minimum(scale * apparent, LARGEST))


def stiffness_by_inertia(robot: RobotExpressions, rows: int, most: float, fastest: float) -> FloatArray:
    """K_p on the rows of the task [N/m, N·m/rad], shape (rows,): `most`, or less where the arm is too light for it.

    Neither on the positions nor on the angles an eigenvalue of M⁻¹JᵀK_pJ exceeds (fastest/2)², which K_d damps well.
    """
    poses, stiffness = _poses(robot), []
    for part in (slice(first, first + 3) for first in range(0, rows, 3)):
        largest = max(_largest_eigenvalue(M, J[part].T @ J[part]) for M, J in poses)
        stiffness += 3 * [min(most, (fastest / 2) ** 2 / largest)]
    return _rounded(np.array(stiffness))


def least_inertia(robot: RobotExpressions, links: Sequence[int]) -> FloatArray:
    """Least inertia that a revolute joint alone turns, per link and axis of the link's frame, shape (3 k,) [kg·m²].

    For every link and axis that is min 1/(M⁻¹)_jj over random poses and over the joints j that can turn the link about
    the axis: those before its own about any, its own about its own.
    """
    apparent = np.min([1.0 / np.linalg.inv(M).diagonal() for M, _ in _poses(robot)], axis=0)
    return _rounded(np.concatenate([_least_about_axes(robot.model, link, apparent) for link in links]))


def _least_about_axes(model: RobotModel, link: int, apparent: FloatArray) -> FloatArray:
    joints = [model.links[j].joint for j in model.path(link)]
    turns = [joint.kind is JointKind.REVOLUTE for joint in joints]
    along = np.ones((len(joints), 3), dtype=bool)
    along[-1] = np.abs(joints[-1].axis) > 0.1
    reaches = along & np.array(turns)[:, None]
    return np.where(reaches, apparent[list(model.path(link))][:, None], NO_LEAST_INERTIA).min(axis=0)


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
