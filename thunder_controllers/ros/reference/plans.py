"""Motions of the reference node, without ROS: planned from where the robot is, of joints within its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.fields import checked
from thunder_controllers.references.circles import Circles, unwrap
from thunder_controllers.references.motion import NEAR, Journey, way_through
from thunder_controllers.references.sinusoids import Excitation, JointExcitation, JointLissajous, Lissajous
from thunder_controllers.references.trajectories import (
    POSITION,
    ROTATION,
    Hold,
    JointPath,
    JointSteps,
    Pose,
    PoseToPose,
)
from thunder_controllers.ros.common.declarations import Values
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

JOINT_FREQUENCIES = (0.1, 0.2, 0.15, 0.25)
"""Of joint_lissajous where none are given: neighbours move differently, all together repeat after 20 s [Hz]."""

POSE_PATHS: Mapping[str, tuple[type[Lissajous | Excitation], tuple[str, ...]]] = {
    "lissajous": (Lissajous, ("amplitude", "frequency", "phase")),
    "excitation": (Excitation, ("linear", "angular", "frequency", "harmonics", "seed")),
}
"""Motions without end, by the parameter `type`: what they are, and their fields that are parameters of that group."""

JOINT_PATHS: Mapping[str, tuple[type[JointLissajous | JointExcitation], tuple[str, ...]]] = {
    "joint_lissajous": (JointLissajous, ("amplitude", "frequency", "phase")),
    "joint_excitation": (JointExcitation, ("amplitude", "frequency", "harmonics", "seed")),
}
"""The same of joints."""


@dataclass(frozen=True)
class JointSpace:
    """Where joints may be and how fast they may move; arrays have shape (n,), SI units, infinite where unlimited."""

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    velocity: FloatArray
    circles: Circles  #: Which joints are on a circle.

    def check(self, q: FloatArray, reach: ArrayLike, where: str) -> None:
        """Make sure that q ± reach is within the limits.

        Raises:
            ScenarioError: naming the first joint that would leave them.
        """
        reach = np.broadcast_to(reach, q.shape)
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


def plan_poses(kind: str, parameters: Values, start: FloatArray) -> Journey:
    """Plan a Cartesian motion from rest at `start`: the way to it, then the motion itself.

    Args:
        kind: Value of the parameter `type`, for a Cartesian motion.
        parameters: Of the reference node.
        start: Pose of the end effector as a place, shape (12,).

    Raises:
        ScenarioError: if the parameters do not make a motion.
    """
    here, path, dwell = pose_at(start), None, 0.0
    positions, angles = _rows(parameters, "centre", 3, 1), _rows(parameters, "ypr", 3, 1)
    position, ypr = positions[0] if len(positions) else here.position, angles[0] if len(angles) else here.ypr
    poses = [checked(Pose, {"position": position, "ypr": ypr}, kind)]
    if kind == "pose_to_pose":
        poses, dwell = _poses(parameters, poses[0]), parameters["pose_to_pose.dwell"]
    elif kind in POSE_PATHS:
        made, keys = POSE_PATHS[kind]
        place = {"position" if "position" in made.model_fields else "centre": position, "ypr": ypr}
        path = checked(made, place | {key: parameters[f"{kind}.{key}"] for key in keys}, kind)
        poses = [pose_at(path.sample(np.zeros(1))[0])]

    def plan(places: list[FloatArray]) -> PoseToPose:
        bounds = {name: parameters[f"limits.{name}"] for name in ("linear", "angular")}
        return checked(PoseToPose, {"poses": list(map(pose_at, places)), "dwell": dwell} | bounds, "limits")

    way = way_through([start, *(pose.at_rest[:12] for pose in poses)], plan)
    rest = Hold(position=here.position, ypr=here.ypr)
    return Journey("cartesian", way or rest, path, parameters["ramp_time"])


def pose_at(place: FloatArray) -> Pose:
    """The pose that a place, shape (12,), or a sample is at."""
    return Pose(**Pose.keys(place[POSITION], place[ROTATION].reshape(3, 3).T))


def _poses(parameters: Values, centre: Pose) -> list[Pose]:
    """Those to go to, turned as the centre where no orientations are given."""
    positions = _rows(parameters, "pose_to_pose.positions", 3, least=1)
    angles = _rows(parameters, "pose_to_pose.ypr", 3)
    if len(angles) not in (0, len(positions)):
        what = f"{len(angles)} orientations for {len(positions)} positions"
        raise ScenarioError(what, where="pose_to_pose.ypr", valid="one each")
    turns = angles if len(angles) else [centre.ypr] * len(positions)
    return [Pose.model_validate({"position": p, "ypr": ypr}) for p, ypr in zip(positions, turns, strict=True)]


def plan_joints(kind: str, parameters: Values, start: FloatArray, space: JointSpace) -> Journey:
    """Plan a joint motion from rest at `start`, shape (n,): the way to it, then the motion itself.

    Args:
        kind: Value of the parameter `type`, for a joint motion.
        parameters: Of the reference node.
        start: Where the joints are.
        space: Their limits.

    Raises:
        ScenarioError: if the parameters make no motion within the limits.
    """
    n, path, dwell = len(start), None, 0.0
    if kind == "joint_points":
        points, dwell = list(_rows(parameters, "joint_points.positions", n, least=1)), parameters["joint_points.dwell"]
        points = list(unwrap(points, space.circles, start))
        for k, point in enumerate(points):
            space.check(point, 0.0, f"joint_points.positions: point {k}")
    elif kind == "joint_hold":
        points = [_joint_centre(parameters, start, space, np.zeros(n))]
    else:
        made, keys = JOINT_PATHS[kind]
        values: dict[str, Any] = {key: parameters[f"{kind}.{key}"] for key in keys}
        if values["frequency"] == ():
            values["frequency"] = JOINT_FREQUENCIES[:n]
        values = {key: _in_turn(value, f"{kind}.{key}", n) for key, value in values.items()}
        values["centre"] = _joint_centre(parameters, start, space, np.abs(values["amplitude"]))
        path = checked(made, values, kind)
        space.check_velocity(path.largest_velocity, kind)
        points = [path.sample(np.zeros(1))[0, :n]]

    def plan(places: list[FloatArray]) -> JointPath:
        velocity, acceleration, jerk = parameters["limits.joint"]
        bounds = {"velocity": np.minimum(velocity, space.velocity), "acceleration": acceleration, "jerk": jerk}
        return checked(JointPath, {"positions": places, "dwell": dwell} | bounds, "limits.joint")

    rest = JointSteps.model_validate({"steps": [{"time": 0.0, "q": start}]})
    return Journey("joint", way_through([start, *points], plan) or rest, path, parameters["ramp_time"])


def _joint_centre(parameters: Values, start: FloatArray, space: JointSpace, reach: FloatArray) -> FloatArray:
    """Take the centre that is given; else where the joints are, moved as far from their limits as the motion needs."""
    given = _rows(parameters, "joint_centre", len(start), 1)
    centre = np.clip(start, space.lower + reach, np.maximum(space.lower, space.upper - reach))
    centre = unwrap(given, space.circles, start)[0] if len(given) else centre
    space.check(centre, reach, "joint_centre")
    return centre


def _rows(parameters: Values, name: str, size: int, most: int | None = None, least: int = 0) -> FloatArray:
    """Read rows of `size` finite numbers, at least and at most so many."""
    values = np.array(parameters[name], dtype=float)
    rows, rest = divmod(values.size, size)
    if rest or not np.isfinite(values).all() or rows < least or (most is not None and rows > most):
        valid = f"{size} finite numbers" + (", or none" if most == 1 else " each" + ", at least once" * least)
        raise ScenarioError(f"{values.size} values", where=name, valid=valid)
    return values.reshape(-1, size)


def _in_turn(value: Any, name: str, n: int) -> Any:
    """Values for each of n joints: fewer are repeated in turn; a number is left as it is."""
    if not isinstance(value, tuple):
        return value
    if not 1 <= len(value) <= n or not np.isfinite(value).all():
        raise ScenarioError(f"{len(value)} values", where=name, valid=f"1 to {n} finite numbers")
    return np.resize(value, n)
