"""Joint motions of the reference node, without ROS: planned within the limits of the robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.references.excitation import JointExcitation
from thunder_controllers.references.motion import NEAR, Leg, through
from thunder_controllers.references.trajectories import JointLissajous, JointPath, Reference
from thunder_controllers.ros.common.declarations import Values
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

JOINT_FREQUENCIES = (0.1, 0.2, 0.15, 0.25)
"""Of joint_lissajous where none are given: neighbours move differently, all together repeat after 20 s [Hz]."""


@dataclass(frozen=True)
class JointSpace:
    """Where joints may be and how fast they may move; arrays have shape (n,), SI units, infinite where unlimited."""

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray

    def check(self, q: FloatArray, reach: FloatArray, where: str) -> None:
        """Make sure that q ± reach is within the limits.

        Raises:
            ScenarioError: naming the first joint that would leave them.
        """
        for k in np.flatnonzero((q - reach < self.lower - NEAR) | (q + reach > self.upper + NEAR)):
            valid = f"{self.lower[k]:.4g} to {self.upper[k]:.4g}"
            raise ScenarioError(f"{self.names[k]} at {q[k]:.4g} ± {reach[k]:.4g}", where=where, valid=valid)

    def check_velocity(self, largest: FloatArray, where: str) -> None:
        """Make sure that velocities are within the limits.

        Raises:
            ScenarioError: naming the first joint that would be too fast.
        """
        for k in np.flatnonzero(largest > self.velocity):
            what = f"{self.names[k]} would move at {largest[k]:.4g}"
            raise ScenarioError(what, where=where, valid=f"at most {self.velocity[k]:.4g}")


def joint_legs_of(kind: str, parameters: Values, start: FloatArray, space: JointSpace) -> list[Leg]:
    """Plan a joint motion from rest at `start`, shape (n,): the way to it, then the motion itself.

    Args:
        kind: Value of the parameter `type`, for a joint motion.
        parameters: Of the reference node.
        start: Where the joints are.
        space: Their limits.

    Raises:
        ThunderError: if the parameters make no motion within the limits.
    """
    velocity, acceleration, jerk = parameters["limits.joint"]

    def plan(points: list[FloatArray], dwell: float = 0.0) -> JointPath:
        return JointPath(points, np.minimum(velocity, space.velocity), acceleration, jerk, dwell)

    rest = Leg(JointLissajous(start, 0.0, 0.0), 1.0, 0.0)
    if kind == "joint_points":
        places = [start, *_points(parameters, space)]
        return through(places, lambda points: plan(points, parameters["joint_points.dwell"])) or [rest]
    if kind == "joint_hold":
        return through([start, _centre(parameters, start, space, np.zeros(len(start)))], plan) or [rest]
    path = _periodic(kind, parameters, start, space)
    return through([start, path.sample(np.zeros(1))[0, : len(start)]], plan, path)


def _periodic(kind: str, parameters: Values, start: FloatArray, space: JointSpace) -> Reference:
    amplitude = _per_joint(parameters, f"{kind}.amplitude", len(start))
    centre = _centre(parameters, start, space, np.abs(amplitude))
    if kind == "joint_excitation":
        values = (parameters[f"{kind}.{key}"] for key in ("frequency", "harmonics", "seed"))
        excitation = JointExcitation(centre, amplitude, *values)
        space.check_velocity(excitation.largest_velocity, kind)
        return excitation
    phase = _per_joint(parameters, f"{kind}.phase", len(start))
    frequency = np.resize(JOINT_FREQUENCIES, len(start))
    if parameters[f"{kind}.frequency"]:
        frequency = _per_joint(parameters, f"{kind}.frequency", len(start))
    space.check_velocity(2.0 * np.pi * np.abs(amplitude) * frequency, kind)
    return JointLissajous(centre, amplitude, frequency, phase)


def _centre(parameters: Values, start: FloatArray, space: JointSpace, reach: FloatArray) -> FloatArray:
    """Take the centre that is given; else where the joints are, moved as far from their limits as the motion needs."""
    given = np.array(parameters["joint_centre"], dtype=float)
    if given.size not in (0, len(start)):
        raise ScenarioError(f"{given.size} values", where="joint_centre", valid=f"{len(start)}, or none")
    centre = given if given.size else np.clip(start, space.lower + reach, np.maximum(space.lower, space.upper - reach))
    space.check(centre, reach, "joint_centre")
    return centre


def _points(parameters: Values, space: JointSpace) -> list[FloatArray]:
    n, where = len(space.names), "joint_points.positions"
    values = np.array(parameters[where], dtype=float)
    if not values.size or values.size % n:
        raise ScenarioError(f"{values.size} values", where=where, valid=f"{n} numbers for each point, at least one")
    points = values.reshape(-1, n)
    for k, point in enumerate(points):
        space.check(point, np.zeros(n), f"{where}: point {k}")
    return list(points)


def _per_joint(parameters: Values, name: str, n: int) -> FloatArray:
    """Values for each of n joints: fewer are repeated in turn."""
    values = np.array(parameters[name], dtype=float)
    if not 1 <= values.size <= n or not np.isfinite(values).all():
        raise ScenarioError(f"{values.size} values", where=name, valid=f"1 to {n} finite numbers")
    return np.resize(values, n)
