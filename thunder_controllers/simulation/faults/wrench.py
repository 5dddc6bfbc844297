"""What pushes a link from outside: a wrench by the clock, a surface that the link touches, a hand that guides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from thunder_controllers.fields import Finite, FloatArray, NonNegative, Positive, Vector3
from thunder_controllers.simulation.faults.fault import Fault

Point = tuple[Finite, Finite]

SLIDING = 0.02
"""Speed below which friction of a surface is less than Coulomb's [m/s]: it has no stiction."""


@dataclass(frozen=True)
class Motion:
    """Motion of the frame of a link, world axes: position (3,) [m], rotation (3, 3), twist (6,) [m/s, rad/s]."""

    position: FloatArray
    rotation: FloatArray
    twist: FloatArray


class Push(Fault):
    """Pushes `link` by a wrench that may depend on its motion."""

    link: str

    @property
    def place(self) -> str:
        """Its link."""
        return self.link

    def wrench(self, time: float, find_motion: Callable[[], Motion]) -> FloatArray:
        """[force; torque] at the origin of the frame of the link at `time` [s], world axes, shape (6,).

        Args:
            time: [s].
            find_motion: Returns the motion of the frame; it is called where the wrench depends on it.
        """
        raise NotImplementedError


class _Profile(Fault):
    """A factor of time: points [seconds since the start, factor], linear between them, constant outside."""

    profile: Annotated[tuple[Point, ...], Field(min_length=1)] = ((0.0, 1.0),)

    @model_validator(mode="after")
    def _goes_forward(self) -> _Profile:
        if any(after[0] <= before[0] for before, after in pairwise(self.profile)):
            raise ValueError("times of a profile that do not rise (valid: each after the one before)")
        return self

    def factor(self, time: float) -> float:
        """The factor at `time` [s]."""
        times, factors = zip(*self.profile, strict=True)
        return float(np.interp(time - self.start, times, factors))


class Wrench(_Profile, Push):
    """`force` [N] at the origin of the frame of `link` and `torque` [N·m], world frame, by a factor of time."""

    type: Literal["wrench"]
    force: Vector3 = (0.0, 0.0, 0.0)
    torque: Vector3 = (0.0, 0.0, 0.0)

    def wrench(self, time: float, find_motion: Callable[[], Motion]) -> FloatArray:
        """[force; torque] at `time` [s], shape (6,)."""
        return np.array(self.force + self.torque) * self.factor(time)


class _Touch(Push):
    """A force at `point` of the link, in the axes of its frame [m]."""

    point: Vector3 = (0.0, 0.0, 0.0)

    def force(self, time: float, position: FloatArray, velocity: FloatArray) -> FloatArray:
        """The force on the point at `time` [s], (3,) [N], of its position [m] and velocity [m/s], world axes."""
        raise NotImplementedError

    def wrench(self, time: float, find_motion: Callable[[], Motion]) -> FloatArray:
        """[force; torque] at the origin of the frame of the link at `time` [s], world axes, shape (6,)."""
        motion = find_motion()
        arm = motion.rotation @ np.array(self.point)
        velocity = motion.twist[:3] + np.cross(motion.twist[3:], arm)
        force = self.force(time, motion.position + arm, velocity)
        return np.concatenate([force, np.cross(arm, force)])


class Surface(_Touch):
    """A plane through `position` [m] that the point of the link cannot enter freely: a table, a wall.

    At a depth d ≥ 0 against the outward `normal` n the plane presses with N = max(0, k d − c nᵀv), and slows sliding by
    μ N, both on the point. There is no force where the plane is not touched.
    """

    type: Literal["surface"]
    position: Vector3
    normal: Vector3
    stiffness: Positive = 1e4  #: k [N/m].
    damping: NonNegative = 100.0  #: c [N·s/m].
    friction: NonNegative = 0.3  #: μ [1].

    @model_validator(mode="after")
    def _has_a_side(self) -> Surface:
        if not np.linalg.norm(self.normal):
            raise ValueError("a normal of no length (valid: the direction away from the surface)")
        return self

    def force(self, time: float, position: FloatArray, velocity: FloatArray) -> FloatArray:
        """The force on the point, (3,) [N]."""
        normal = np.array(self.normal) / np.linalg.norm(self.normal)
        depth = normal @ (np.array(self.position) - position)
        if depth <= 0.0:
            return np.zeros(3)
        speed = normal @ velocity
        pressed = max(0.0, self.stiffness * depth - self.damping * speed)
        sliding = velocity - speed * normal
        return np.asarray(pressed * (normal - self.friction * sliding / np.hypot(np.linalg.norm(sliding), SLIDING)))


class Hand(_Profile, _Touch):
    """A hand that moves the point of the link at `velocity` [m/s], world axes, times a factor of time.

    Its force is b (v_hand − v), `grip` b, and no more than `most`.
    """

    type: Literal["hand"]
    velocity: Vector3
    grip: Positive = 500.0  #: b [N·s/m].
    most: Positive = 80.0  #: [N].

    def force(self, time: float, position: FloatArray, velocity: FloatArray) -> FloatArray:
        """The force on the point, (3,) [N]."""
        force = self.grip * (self.factor(time) * np.array(self.velocity) - velocity)
        return np.asarray(force * min(1.0, self.most / max(float(np.linalg.norm(force)), 1e-9)))
