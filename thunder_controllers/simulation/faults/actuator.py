"""Faults between command and joint: what the motor makes of the effort that it was told."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from thunder_controllers.fields import Finite, FloatArray, NonNegative, Positive
from thunder_controllers.simulation.faults.fault import JointFault


class MotorFault(JointFault):
    """A fault that turns the effort of a motor into another."""

    room: ClassVar[str] = "actuator"

    @abstractmethod
    def act(self, effort: FloatArray, last: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Effort of its joints, from what is asked now and what acted last, shape (k,) [N·m or N]."""


class Loss(MotorFault):
    """The motor gives (1 − share) τ."""

    type: Literal["loss"]
    share: Annotated[float, Field(strict=True, ge=0.0, le=1.0)]

    def act(self, effort: FloatArray, last: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(1 − share) τ."""
        return (1.0 - self.share) * effort


class Bias(MotorFault):
    """The motor gives τ + `effort` [N·m or N]."""

    type: Literal["bias"]
    effort: Finite

    def act(self, effort: FloatArray, last: FloatArray, rng: np.random.Generator) -> FloatArray:
        """τ + bias."""
        return effort + self.effort


class Freeze(MotorFault):
    """The motor holds the last effort that it gave."""

    is_exclusive: ClassVar[bool] = True
    type: Literal["freeze"]

    def act(self, effort: FloatArray, last: FloatArray, rng: np.random.Generator) -> FloatArray:
        """The last effort."""
        return last


class Saturation(MotorFault):
    """The motor gives no more than ±`limit` [N·m or N]."""

    type: Literal["saturation"]
    limit: NonNegative

    def act(self, effort: FloatArray, last: FloatArray, rng: np.random.Generator) -> FloatArray:
        """τ, cut."""
        return np.clip(effort, -self.limit, self.limit)


class EffortNoise(MotorFault):
    """The motor gives τ and white noise of standard deviation `std` [N·m or N] + `share` |τ|, new at every step."""

    type: Literal["effort_noise"]
    std: NonNegative = 0.0
    share: NonNegative = 0.0

    def act(self, effort: FloatArray, last: FloatArray, rng: np.random.Generator) -> FloatArray:
        """τ + (std + share |τ|) w, w of the standard normal distribution."""
        return effort + (self.std + self.share * np.abs(effort)) * rng.standard_normal(len(effort))


class Block(JointFault):
    """An incipient block: q̈_i = −λ q̇_i whatever the efforts, λ = `rate` [1/s]; see `faults.load`."""

    room: ClassVar[str] = "actuator"
    is_exclusive: ClassVar[bool] = True
    type: Literal["block"]
    rate: Positive
