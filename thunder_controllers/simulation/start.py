"""Where an arm starts: inverse kinematics on the library's own forward kinematics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from thunder_controllers.references.trajectories import POSITION, ROTATION, TWIST
from thunder_dynamics.errors import ScenarioError

if TYPE_CHECKING:
    from thunder_controllers.host import Library

FloatArray = NDArray[np.float64]

POSE_TOLERANCE = 1e-9
"""A solution must be this close to the pose [m, rad]."""


def solve_pose(library: Library, sample: FloatArray, guess: FloatArray, where: str) -> FloatArray:
    """Find joint positions within their limits whose end effector has the pose of a Cartesian sample, shape (n,).

    The residual is [p − p_d ; Log(R R_dᵀ)]; of the many solutions of a redundant arm, one near `guess` is found.

    Raises:
        ScenarioError: if `guess` is outside the joint limits, or no solution is found from there.
    """
    lower, upper = np.asarray(library.position_lower), np.asarray(library.position_upper)
    if not ((lower <= guess) & (guess <= upper)).all():
        joint = int(np.argmax((guess < lower) | (guess > upper)))
        raise ScenarioError(
            f"{library.joint_names[joint]} at {guess[joint]:g}",
            where=where,
            valid=f"{lower[joint]:g} to {upper[joint]:g}",
        )
    target = sample[ROTATION].reshape(3, 3)  # column-major, hence the transpose of R_d

    def residual(q: FloatArray) -> FloatArray:
        T = library.evaluate("T_0_ee", q)
        return np.concatenate((T[:3, 3] - sample[POSITION], Rotation.from_matrix(T[:3, :3] @ target).as_rotvec()))

    # The solver keeps strictly inside its bounds and refuses a start on one.
    inside = np.clip(guess, lower + 1e-6, upper - 1e-6)
    solution = least_squares(residual, inside, bounds=(lower, upper), jac="3-point", xtol=3e-16, ftol=3e-16, gtol=3e-16)
    error = float(np.abs(solution.fun).max())
    if error > POSE_TOLERANCE:
        what = f"the pose at the start cannot be reached (off by {error:.2g})"
        raise ScenarioError(what, where=where, valid="another reference, or another guess of q")
    return np.array(solution.x)


def velocity_of_twist(library: Library, q: FloatArray, sample: FloatArray) -> FloatArray:
    """Smallest joint velocity that gives the end effector the twist of a Cartesian sample: J⁺ ξ_d, shape (n,)."""
    return np.array(np.linalg.lstsq(library.evaluate("J_ee", q), sample[TWIST], rcond=None)[0])
