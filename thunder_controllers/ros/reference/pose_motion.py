"""Poses that the reference node goes to and along, without ROS: planned from where the end effector is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.references.excitation import Excitation
from thunder_controllers.references.motion import POSE, Leg, through
from thunder_controllers.references.trajectories import POSITION, ROTATION, Hold, Lissajous, PoseToPose, Reference
from thunder_controllers.ros.common.declarations import Values
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.spatial import rotation_from_ypr

FloatArray = NDArray[np.float64]


def legs_of(kind: str, parameters: Values, start: FloatArray) -> list[Leg]:
    """Plan a Cartesian motion from rest at `start`: the way to it, then the motion itself.

    Args:
        kind: Value of the parameter `type`, for a Cartesian motion.
        parameters: Of the reference node.
        start: Pose of the end effector, shape (12,).

    Raises:
        ThunderError: if the parameters do not make a motion.
    """

    def plan(poses: list[FloatArray], dwell: float = 0.0) -> PoseToPose:
        positions, rotations = [pose[POSITION] for pose in poses], [_rotation(pose) for pose in poses]
        return PoseToPose(positions, rotations, parameters["limits.linear"], parameters["limits.angular"], dwell)

    if kind == "pose_to_pose":
        places = [start, *_poses(parameters, start)]
        return through(places, lambda poses: plan(poses, parameters["pose_to_pose.dwell"]))
    centre = _centre(parameters, start)
    if kind == "hold":
        return through([start, centre], plan) or [Leg(Hold(start[POSITION], _rotation(start)), 1.0, 0.0)]
    path = _periodic(kind, parameters, centre)
    return through([start, path.sample(np.zeros(1))[0, POSE]], plan, path)


def _rotation(pose: FloatArray) -> FloatArray:
    return pose[ROTATION].reshape(3, 3).T


def _periodic(kind: str, parameters: Values, centre: FloatArray) -> Reference:
    position, rotation = centre[POSITION], _rotation(centre)
    if kind == "excitation":
        keys = ("linear", "angular", "frequency", "harmonics", "seed")
        return Excitation(position, rotation, *(parameters[f"excitation.{key}"] for key in keys))
    amplitude, frequency, phase = (parameters[f"lissajous.{key}"] for key in ("amplitude", "frequency", "phase"))
    return Lissajous(position, amplitude, frequency, phase, rotation)


def pose(position: FloatArray, rotation: FloatArray) -> FloatArray:
    """Pose as a place, shape (12,), of a position (3,) [m] and a rotation (3, 3) in the world frame."""
    return np.concatenate([position, rotation.T.ravel()])


def _centre(parameters: Values, start: FloatArray) -> FloatArray:
    """Where the motion is: what is given, and the rest from where the robot is."""
    positions, angles = _triples(parameters, "centre", 1), _triples(parameters, "ypr", 1)
    rotation = np.array(rotation_from_ypr(*angles[0])) if len(angles) else _rotation(start)
    return pose(positions[0] if len(positions) else start[POSITION], rotation)


def _poses(parameters: Values, start: FloatArray) -> list[FloatArray]:
    positions = _triples(parameters, "pose_to_pose.positions")
    angles = _triples(parameters, "pose_to_pose.ypr")
    if not len(positions):
        raise ScenarioError("no positions", where="pose_to_pose.positions", valid="three numbers for each pose")
    if len(angles) not in (0, len(positions)):
        what = f"{len(angles)} orientations for {len(positions)} positions"
        raise ScenarioError(what, where="pose_to_pose.ypr", valid="one each")
    default = _rotation(_centre(parameters, start))
    rotations = [np.array(rotation_from_ypr(*ypr)) for ypr in angles] or [default] * len(positions)
    return [pose(*place) for place in zip(positions, rotations, strict=True)]


def _triples(parameters: Values, name: str, most: int | None = None) -> FloatArray:
    """Read rows of three finite numbers, shape (K, 3); K at most `most`."""
    values = np.array(parameters[name], dtype=float)
    if values.size % 3 or not np.isfinite(values).all() or (most is not None and values.size > 3 * most):
        valid = "three finite numbers, or none" if most == 1 else "three finite numbers each"
        raise ScenarioError(f"{values.size} values", where=name, valid=valid)
    return values.reshape(-1, 3)
