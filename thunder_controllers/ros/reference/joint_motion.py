"""Joint motions of the reference node, without ROS: planned within the limits of the robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Configuration
from thunder_controllers.references.excitation import JointExcitation
from thunder_controllers.references.trajectories import JointLissajous, JointPath, Reference
from thunder_controllers.ros.common.declarations import Values
from thunder_controllers.ros.reference.pose_motion import NEAR, Leg
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

    @staticmethod
    def of(robot: Configuration) -> JointSpace:
        """Limits that the robot's library states."""
        library = robot.library
        return JointSpace(robot.joints, library.position_lower, library.position_upper, library.velocity_limit)

    def check(self, q: FloatArray, reach: FloatArray, where: str) -> None:
        """Make sure that q ± reach is within the limits.

        Raises:
            ScenarioError: naming the first joint that would leave them.
        """
        valid = [f"{lower:.4g} to {upper:.4g}" for lower, upper in zip(self.lower, self.upper, strict=True)]
        found = [f"at {position:.4g} ± {distance:.4g}" for position, distance in zip(q, reach, strict=True)]
        self._refuse((q - reach < self.lower - NEAR) | (q + reach > self.upper + NEAR), found, where, valid)

    def check_velocity(self, largest: FloatArray, where: str) -> None:
        """Make sure that velocities are within the limits.

        Raises:
            ScenarioError: naming the first joint that would be too fast.
        """
        found = [f"would move at {value:.4g}" for value in largest]
        self._refuse(largest > self.velocity, found, where, [f"at most {value:.4g}" for value in self.velocity])

    def _refuse(self, wrong: NDArray[np.bool_], found: list[str], where: str, valid: list[str]) -> None:
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ScenarioError(f"{self.names[k]} {found[k]}", where=where, valid=valid[k])


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
    if kind == "joint_points":
        points = _points(parameters, space)
        return _through([start, *points], parameters, space, parameters["joint_points.dwell"]) or _rest(start)
    if kind == "joint_hold":
        return _through([start, _centre(parameters, start, space, np.zeros(len(start)))], parameters, space) or _rest(
            start
        )
    path = _periodic(kind, parameters, start, space)
    first = path.sample(np.zeros(1))[0, : len(start)]
    return [*_through([start, first], parameters, space), Leg(path, 0.0, None)]


def _periodic(kind: str, parameters: Values, start: FloatArray, space: JointSpace) -> Reference:
    amplitude = _per_joint(parameters, f"{kind}.amplitude", len(start))
    centre = _centre(parameters, start, space, np.abs(amplitude))
    if kind == "joint_excitation":
        values = {name: parameters[f"{kind}.{name}"] for name in ("frequency", "harmonics", "seed")}
        excitation = JointExcitation(centre, amplitude, **values)
        space.check_velocity(excitation.largest_velocity, kind)
        return excitation
    phase = _per_joint(parameters, f"{kind}.phase", len(start))
    given = parameters[f"{kind}.frequency"]
    frequency = (
        _per_joint(parameters, f"{kind}.frequency", len(start)) if given else np.resize(JOINT_FREQUENCIES, len(start))
    )
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


def _through(points: list[FloatArray], parameters: Values, space: JointSpace, dwell: float = 0.0) -> list[Leg]:
    """One leg through all points; none if there is no way to go."""
    way = points[:1]
    for point in points[1:]:
        if np.abs(point - way[-1]).max() > NEAR:
            way.append(point)
    if len(way) < 2:
        return []
    velocity, acceleration, jerk = parameters["limits.joint"]
    path = JointPath(way, np.minimum(velocity, space.velocity), acceleration, jerk, dwell)
    return [Leg(path, 1.0, path.duration)]


def _rest(q: FloatArray) -> list[Leg]:
    return [Leg(JointLissajous(q, 0.0, 0.0), 1.0, 0.0)]


def _per_joint(parameters: Values, name: str, n: int) -> FloatArray:
    """Values for each of n joints: fewer are repeated in turn."""
    values = np.array(parameters[name], dtype=float)
    if not 1 <= values.size <= n or not np.isfinite(values).all():
        raise ScenarioError(f"{values.size} values", where=name, valid=f"1 to {n} finite numbers")
    return np.resize(values, n)
