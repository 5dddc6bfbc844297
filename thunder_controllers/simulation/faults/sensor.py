"""Faults between joint and controller: what is reported instead of what the sensors say."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from thunder_controllers.fields import FloatArray
from thunder_controllers.simulation.faults.fault import JointFault

Probability = Annotated[float, Field(strict=True, gt=0.0, le=1.0)]

MAX_LATE = 10_000
"""Samples that a reading may be late: what the simulation remembers."""


@dataclass(frozen=True)
class Sample:
    """Readings of all joints: q and q̇, shape (2, n), and how many steps old each joint's is, shape (n,)."""

    values: FloatArray
    age: NDArray[np.intp]


class SensorFault(JointFault):
    """A fault that reports another sample of a joint than the sensors' newest."""

    room: ClassVar[str] = "sensor"
    is_exclusive: ClassVar[bool] = True

    @abstractmethod
    def report(self, sensed: Sequence[Sample], last: Sample, rng: np.random.Generator) -> Sample | None:
        """The sample reported instead, of what was sensed so far, newest last, or reported last; None: the newest."""


class Dropout(SensorFault):
    """No reading: NaN, in a random share `probability` of the steps."""

    type: Literal["dropout"]
    probability: Probability = 1.0

    def report(self, sensed: Sequence[Sample], last: Sample, rng: np.random.Generator) -> Sample | None:
        """NaN."""
        lost = rng.random() < self.probability
        return Sample(np.full_like(last.values, np.nan), np.zeros_like(last.age)) if lost else None


class RepeatedSamples(SensorFault):
    """The reading reported last, once more, in a random share `probability` of the steps."""

    type: Literal["repeated_samples"]
    probability: Probability = 1.0

    def report(self, sensed: Sequence[Sample], last: Sample, rng: np.random.Generator) -> Sample | None:
        """The last one, a step older."""
        return Sample(last.values, last.age + 1) if rng.random() < self.probability else None


class LateSamples(SensorFault):
    """The reading of so many `steps` of the controller ago, or of the start."""

    type: Literal["late_samples"]
    steps: Annotated[int, Field(strict=True, ge=1, le=MAX_LATE)]

    def report(self, sensed: Sequence[Sample], last: Sample, rng: np.random.Generator) -> Sample | None:
        """That of long ago."""
        late = min(self.steps, len(sensed) - 1)
        return Sample(sensed[-1 - late].values, np.full_like(last.age, late))
