"""A wrench from outside on a link: someone pushes, a rope pulls."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from thunder_controllers.fields import Finite, FloatArray, Vector3
from thunder_controllers.simulation.faults.fault import Fault

Point = tuple[Finite, Finite]


class Wrench(Fault):
    """`force` [N] at the origin of the frame of `link` and `torque` [N·m], world frame, by a factor of time.

    `profile` is a list of points [seconds since the start, factor]: linear between them, constant outside.
    """

    type: Literal["wrench"]
    link: str
    force: Vector3 = (0.0, 0.0, 0.0)
    torque: Vector3 = (0.0, 0.0, 0.0)
    profile: Annotated[tuple[Point, ...], Field(min_length=1)] = ((0.0, 1.0),)

    @model_validator(mode="after")
    def _goes_forward(self) -> Wrench:
        if any(after[0] <= before[0] for before, after in pairwise(self.profile)):
            raise ValueError("times of a profile that do not rise (valid: each after the one before)")
        return self

    @property
    def place(self) -> str:
        """Its link."""
        return self.link

    def at(self, time: float) -> FloatArray:
        """[force; torque] at `time` [s], shape (6,)."""
        times, factors = zip(*self.profile, strict=True)
        return np.array(self.force + self.torque) * float(np.interp(time - self.start, times, factors))
