"""Gains that laws share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.errors import LawError, nearest
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

DRIVE = 3e-3
"""Least inertia that a joint turns with its drive [kg·m²], which descriptions of robots leave out.

A UR5 has 1.3e-4 at its last wrist without. Bound by that, 200 random references to one with drives ended in 47
runaways; by this, in none.
"""

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
        raise LawError(f"profile '{profile}'", valid=nearest(str(profile), FASTEST))
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
    the axis: those before its own about any, its own about its own. It is DRIVE at least.
    """
    apparent = np.min([1.0 / np.linalg.inv(M).diagonal() for M, _ in _poses(robot)], axis=0)
    least = np.concatenate([_least_about_axes(robot.model, link, apparent) for link in links])
    return _rounded(np.maximum(least, DRIVE))


def _least_about_axes(model: RobotModel, link: int, apparent: FloatArray) -> FloatArray:
    joints = [model.links[j].joint for j in model.path(link)]
    turns = [joint.kind is JointKind.REVOLUTE for joint in joints]
    along = np.ones((len(joints), 3), dtype=bool)
    along[-1] = np.abs(joints[-1].axis) > 0.1
    reaches = along & np.array(turns)[:, None]
    least = np.where(reaches, apparent[list(model.path(link))][:, None], NO_LEAST_INERTIA)
    return np.asarray(least.min(axis=0))


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


def joint_impedance_gains(robot: RobotExpressions, signals: Signals) -> tuple[ca.SX, ca.SX]:
    """Declare K_p and K_d, stiffness and damping per joint, each (n,); by default K_d by inertia and K_p = 10 K_d."""
    K_d = damping_by_inertia(robot)
    K_p = signals.gain(
        "K_p",
        size=robot.n,
        default=10.0 * K_d,
        bounds=(0.0, 100.0 * LARGEST),
        unit="N·m/rad",
        doc="Stiffness on the position error, per joint.",
    )
    return K_p, signals.gain(
        "K_d",
        size=robot.n,
        default=K_d,
        bounds=(1e-6, LARGEST),
        unit="N·m·s/rad",
        doc="Damping of the position error, per joint; delay and sampling bound it.",
    )


def error_dynamics_gains(signals: Signals, size: int) -> tuple[ca.SX, ca.SX]:
    """Declare R_0 and R_1 of ë + R_1 ė + R_0 e = 0, each (size,): accelerations, whatever the robot's inertia."""
    R_0 = signals.gain(
        "R_0", size=size, default=100.0, bounds=(0.0, 1e5), unit="1/s²", doc="Acceleration per error, each by itself."
    )
    return R_0, signals.gain(
        "R_1", size=size, default=20.0, bounds=(0.0, 1e3), unit="1/s", doc="Acceleration per rate of the error."
    )


def mean_inertia(robot: RobotExpressions) -> float:
    """Mean of tr(M)/n over poses [kg·m²]: the one inertia that stands for all joints."""
    return float(np.mean([np.trace(M) / robot.n for M, _ in _poses(robot)]))


def task_damping_by_inertia(robot: RobotExpressions, rows: int, most: tuple[float, float]) -> FloatArray:
    """D on the rows of the task [N·s/m, N·m·s/rad], shape (rows,): `most`, or less where the arm is too light for it.

    Neither on the positions nor on the angles an eigenvalue of M⁻¹JᵀDJ exceeds half of the default profile's.
    """
    poses, damping = _poses(robot), []
    for first in range(0, rows, 3):
        part = slice(first, first + 3)
        largest = max(_largest_eigenvalue(M, J[part].T @ J[part]) for M, J in poses)
        damping += 3 * [min(most[first // 3], 0.5 * FASTEST["default"] / largest)]
    return _rounded(np.array(damping))
