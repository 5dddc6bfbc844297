"""Where an arm starts: inverse kinematics on the library's own forward kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_controllers.references.feasibility import random_postures
from thunder_controllers.references.trajectories import POSITION, ROTATION, TWIST
from thunder_dynamics.errors import ScenarioError

if TYPE_CHECKING:
    from thunder_controllers.host import Library


POSE_TOLERANCE = 1e-6
"""A solution must be this close to the pose [m, rad]; most are found to the last digit."""

RANDOM_GUESSES = 30
"""Tried after the given one. Of 200 random poses each, the hardest took 13 of them on a Panda and on a UR5."""

FREE_GUESSES = 5
"""Of these, tried without joint limits, to say which of them are in the way."""

EVALUATIONS = 100
"""Most per random guess: one that takes longer crawls along a joint limit."""


def solve_pose(library: Library, sample: FloatArray, guess: FloatArray, where: str) -> FloatArray:
    """Find joint positions within their limits whose end effector has the pose of a Cartesian sample, shape (n,).

    The residual is [p − p_d ; Log(R R_dᵀ)] in the world [m, rad]. Of the many solutions of a redundant arm, one near
    `guess` is found, unless the way from there ends at a joint limit; then random guesses follow, the same ones every
    time.

    Raises:
        ScenarioError: if `guess` is outside the joint limits, or no solution is found; with the distance that was left.
    """
    limits = np.asarray(library.position_lower), np.asarray(library.position_upper)
    check_limits(library.joint_names, guess, *limits, f"{where}.q")
    randoms = random_postures(*limits, RANDOM_GUESSES)
    nearest = np.full(6, np.inf)
    for start, evaluations in ((guess, None), *((random, EVALUATIONS) for random in randoms)):
        q, left = _descend(library, sample, start, evaluations, limits)
        if np.abs(left).max() <= POSE_TOLERANCE:
            return q
        nearest = min(nearest, left, key=np.linalg.norm)
    distance, angle = np.linalg.norm(nearest[:3]), np.linalg.norm(nearest[3:])
    what = f"the pose at the start cannot be reached (off by {distance:.2g} m and {angle:.2g} rad at best)"
    for start in (guess, *randoms[:FREE_GUESSES]):
        q, left = _descend(library, sample, start, EVALUATIONS, (np.full(len(q), -np.inf), np.full(len(q), np.inf)))
        if np.abs(left).max() <= POSE_TOLERANCE:
            what += f"; beyond joint limits it can, with {', '.join(beyond_limits(library.joint_names, q, *limits))}"
            break
    raise ScenarioError(what, where=where, valid="a pose within reach and joint limits")


def beyond_limits(joints: Sequence[str], q: FloatArray, lower: FloatArray, upper: FloatArray) -> list[str]:
    """Say which joints are beyond their position limits at q (n,), where, and what the limits are."""
    rows = zip(joints, q, lower, upper, strict=True)
    return [f"{name} at {at:.4g} ({low:.4g} to {high:.4g})" for name, at, low, high in rows if not low <= at <= high]


def check_limits(joints: Sequence[str], q: FloatArray, lower: FloatArray, upper: FloatArray, where: str) -> None:
    """Raise `ScenarioError` unless joint positions (n,) are within their limits."""
    found = beyond_limits(joints, q, lower, upper)
    if found:
        what = f"{', '.join(found)}: beyond joint limits"
        raise ScenarioError(what, where=where, valid="positions within these limits, thunder info shows all")


def _descend(
    library: Library,
    sample: FloatArray,
    start: FloatArray,
    evaluations: int | None,
    limits: tuple[FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Least-squares solution from one guess: positions, shape (n,), and what is left of the residual, shape (6,)."""
    lower, upper = limits

    def residual(q: FloatArray) -> FloatArray:
        T = library.evaluate("T_0_ee", q)
        turn = T[:3, :3] @ sample[ROTATION].reshape(3, 3)  # column-major, hence the transpose of R_d
        return np.concatenate([T[:3, 3] - sample[POSITION], Rotation.from_matrix(turn).as_rotvec()])

    # The solver keeps strictly inside its bounds and refuses a start on one.
    inside = np.clip(start, lower + 1e-6, upper - 1e-6)
    exact = dict.fromkeys(("xtol", "ftol", "gtol"), 3e-16)
    solution = least_squares(residual, inside, "3-point", bounds=(lower, upper), max_nfev=evaluations, **exact)
    return np.array(solution.x), np.array(solution.fun)


def velocity_of_twist(library: Library, q: FloatArray, sample: FloatArray) -> FloatArray:
    """Smallest joint velocity that gives the end effector the twist of a Cartesian sample: J⁺ ξ_d, shape (n,)."""
    return np.array(np.linalg.lstsq(library.evaluate("J_ee", q), sample[TWIST], rcond=None)[0])
