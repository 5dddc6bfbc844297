"""What the reference node sends, without ROS: a motion that begins and ends at rest, from where the robot is.

The poses are planned here, joint motions in `joint_motion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.references.excitation import Excitation
from thunder_controllers.references.path_clock import PathClock
from thunder_controllers.references.trajectories import (
    ACCELERATION,
    POSITION,
    ROTATION,
    TWIST,
    Hold,
    Lissajous,
    PathLimits,
    PoseToPose,
    Reference,
)
from thunder_controllers.ros.simulation.options import Parameters
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.spatial import rotation_from_ypr

FloatArray = NDArray[np.float64]

NEAR = 1e-9
"""Poses or joints closer than this are one [m, rad]: there is no way between them."""

Kind = Literal["cartesian", "joint"]
"""Of a sample, see `trajectories`; the same words as `Law.reference_kind`."""


@dataclass(frozen=True)
class PoseValue:
    """A pose in the world frame: position (3,) [m], rotation (3, 3)."""

    position: FloatArray
    rotation: FloatArray

    @staticmethod
    def of(sample: FloatArray) -> PoseValue:
        """Pose of a Cartesian sample."""
        return PoseValue(sample[POSITION].copy(), sample[ROTATION].reshape(3, 3).T.copy())


@dataclass(frozen=True)
class Leg:
    """Part of a motion: a path, how fast its clock goes at first, and when it ends [s on its clock; None: never]."""

    path: Reference
    rate: float
    duration: float | None


class Motion:
    """A sequence of legs on a clock that starts and stops smoothly; call `advance` once per reference."""

    def __init__(self) -> None:
        self.kind: Kind = "cartesian"
        """Of the samples."""
        self.state: Literal["silent", "moving", "stopping", "holding"] = "silent"
        self._then: Literal["silent", "holding"] = "silent"
        self._legs: list[Leg] = []
        self._clock = PathClock(1.0)
        self._ramp_time = 1.0
        self._sample: FloatArray | None = None

    @property
    def is_moving(self) -> bool:
        """Whether references change."""
        return self.state in ("moving", "stopping")

    def held(self, kind: Kind) -> FloatArray | None:
        """Copy of the sample of this kind that is held, None while none is."""
        holds = self.state == "holding" and self.kind == kind
        return self._sample.copy() if holds and self._sample is not None else None

    def start(self, legs: list[Leg], ramp_time: float, kind: Kind = "cartesian") -> None:
        """Begin a motion at rest.

        Args:
            legs: At least one.
            ramp_time: In which it starts and stops [s].
            kind: Of the samples of all legs.

        Raises:
            ScenarioError: if one is under way, or there are no legs.
        """
        if self.is_moving:
            raise ScenarioError("a motion is under way", where="start", valid="stop or hold it first")
        if not legs:
            raise ScenarioError("the motion has no legs", where="start", valid="at least one")
        self._legs, self._ramp_time, self.kind = list(legs), ramp_time, kind
        self.state = "moving"
        self._begin_leg()

    def _begin_leg(self) -> None:
        leg = self._legs[0]
        self._clock = PathClock(self._ramp_time, leg.rate)
        self._clock.go_to(1.0)

    def stop(self) -> None:
        """Come to rest, then send nothing."""
        self._end("silent")

    def hold(self) -> None:
        """Come to rest, then send that pose for ever."""
        self._end("holding")

    def _end(self, then: Literal["silent", "holding"]) -> None:
        self._then = then
        if self.is_moving:
            self.state = "stopping"
            self._clock.go_to(0.0)
        elif self.state == "holding":
            self.state = then

    def advance(self, dt: float) -> FloatArray | None:
        """Let `dt` seconds pass; the sample to send, shape (24,) or (3·n,), or None if there is nothing to send."""
        if self.state == "silent":
            return None
        if self.state == "holding":
            return self._sample
        self._clock.advance(dt)
        leg = self._legs[0]
        sample = leg.path.sample(np.array([self._clock.time]))[0]
        self._sample = self._clock.scale(sample, *self._rates(len(sample)))
        if self.state == "stopping" and self._clock.is_at_rest:
            self.state = self._then
        elif leg.duration is not None and self._clock.time >= leg.duration:
            self._next_leg()
        return self._sample

    def _rates(self, size: int) -> tuple[slice, slice]:
        """Where first and second derivatives are in a sample of `size` numbers."""
        n = size // 3
        return (TWIST, ACCELERATION) if self.kind == "cartesian" else (slice(n, 2 * n), slice(2 * n, size))

    def _next_leg(self) -> None:
        """Go on; a leg with an end ends at rest."""
        self._legs.pop(0)
        if not self._legs:
            self.state = "holding" if self.state == "moving" else self._then
        elif self.state == "moving":
            self._begin_leg()
        else:
            self.state = self._then


def legs_of(kind: str, parameters: Parameters, start: PoseValue) -> list[Leg]:
    """Plan a Cartesian motion from rest at `start`: the way to it, then the motion itself.

    Args:
        kind: Value of the parameter `type`, for a Cartesian motion.
        parameters: Of the reference node.
        start: Where the end effector is.

    Raises:
        ThunderError: if the parameters do not make a motion.
    """
    limits = PathLimits(tuple(parameters["limits.linear"]), tuple(parameters["limits.angular"]))
    if kind == "pose_to_pose":
        return _through([start, *_poses(parameters, start)], limits, parameters["pose_to_pose.dwell"])
    centre = _centre(parameters, start)
    if kind == "hold":
        return _through([start, centre], limits) or [Leg(Hold(start.position, start.rotation), 1.0, 0.0)]
    path = _periodic(kind, parameters, centre)
    return [*_through([start, PoseValue.of(path.sample(np.zeros(1))[0])], limits), Leg(path, 0.0, None)]


def _periodic(kind: str, parameters: Parameters, centre: PoseValue) -> Reference:
    if kind == "excitation":
        values = {name: parameters[f"excitation.{name}"] for name in ("frequency", "harmonics", "seed")}
        linear, angular = parameters["excitation.linear"], parameters["excitation.angular"]
        return Excitation(centre.position, centre.rotation, linear, angular, **values)
    amplitude, frequency, phase = (parameters[f"lissajous.{name}"] for name in ("amplitude", "frequency", "phase"))
    return Lissajous(centre.position, amplitude, frequency, phase, centre.rotation)


def _through(poses: list[PoseValue], limits: PathLimits, dwell: float = 0.0) -> list[Leg]:
    """One leg through all poses; none if there is no way to go."""
    way = poses[:1]
    for pose in poses[1:]:
        if max(np.abs(pose.position - way[-1].position).max(), np.abs(pose.rotation - way[-1].rotation).max()) > NEAR:
            way.append(pose)
    if len(way) < 2:
        return []
    path = PoseToPose([pose.position for pose in way], [pose.rotation for pose in way], limits, dwell)
    return [Leg(path, 1.0, path.duration)]


def _centre(parameters: Parameters, start: PoseValue) -> PoseValue:
    """Where the motion is: what is given, and the rest from where the robot is."""
    position, ypr = (_triples(parameters, name, 1) for name in ("centre", "ypr"))
    return PoseValue(
        position[0] if len(position) else start.position,
        rotation_from_ypr(*ypr[0]) if len(ypr) else start.rotation,
    )


def _poses(parameters: Parameters, start: PoseValue) -> list[PoseValue]:
    positions = _triples(parameters, "pose_to_pose.positions")
    angles = _triples(parameters, "pose_to_pose.ypr")
    if not len(positions):
        raise ScenarioError("no positions", where="pose_to_pose.positions", valid="three numbers for each pose")
    if len(angles) not in (0, len(positions)):
        raise ScenarioError(
            f"{len(angles)} orientations for {len(positions)} positions", where="pose_to_pose.ypr", valid="one each"
        )
    default = _centre(parameters, start).rotation
    rotations: list[Any] = [rotation_from_ypr(*ypr) for ypr in angles] or [default] * len(positions)
    return [PoseValue(position, np.array(rotation)) for position, rotation in zip(positions, rotations, strict=True)]


def _triples(parameters: Parameters, name: str, most: int | None = None) -> FloatArray:
    """Read rows of three finite numbers, shape (K, 3); K at most `most`."""
    values = np.array(parameters[name], dtype=float)
    if values.size % 3 or not np.isfinite(values).all() or (most is not None and values.size > 3 * most):
        valid = "three finite numbers, or none" if most == 1 else "three finite numbers each"
        raise ScenarioError(f"{values.size} values", where=name, valid=valid)
    return values.reshape(-1, 3)
