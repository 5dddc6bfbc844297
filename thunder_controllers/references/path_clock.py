"""A clock of a motion that starts and stops smoothly, whatever the motion is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import StopShape
from thunder_controllers.references.trajectories import ACCELERATION, TWIST
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]


class PathClock:
    """Time σ along a motion, its rate σ̇ between 0 (rest) and 1 (the motion as planned).

    What the rate lacks in a change, which takes `ramp_time`, comes to rest as motions of the host do (`StopShape`): σ̈
    is continuous, also where another change begins meanwhile.

    Args:
        ramp_time: Of a change from rest to full rate or back [s].
        rate: At the start, 0 or 1.

    Raises:
        ScenarioError: if the ramp time is not positive.
    """

    def __init__(self, ramp_time: float, rate: float = 0.0) -> None:
        if not (math.isfinite(ramp_time) and ramp_time > 0.0):
            raise ScenarioError(f"{ramp_time:g} s", where="ramp_time", valid="a positive time")
        self._shape = StopShape(ramp_time)
        self.time = 0.0
        """σ [s]."""
        self.rate = rate
        """σ̇ [1]."""
        self.rate_change = 0.0
        """σ̈ [1/s]."""
        self._begin(rate)

    def _begin(self, goal: float) -> None:
        self._goal, self._elapsed = goal, 0.0
        self._start = self.time, self.rate - goal, self.rate_change

    @property
    def is_at_rest(self) -> bool:
        """Whether the rate is zero and stays so."""
        return self._goal == self.rate == self.rate_change == 0.0

    def go_to(self, rate: float) -> None:
        """Change the rate to 0 or 1, smoothly from what it is."""
        if rate != self._goal:
            self._begin(rate)

    def advance(self, dt: float) -> None:
        """Let `dt` seconds pass."""
        self._elapsed += dt
        time, missing, change = self._start
        way, rate, self.rate_change = self._shape.at(self._elapsed, missing, change)
        self.rate = self._goal + rate
        self.time = time + self._goal * self._elapsed + way

    def scale(self, sample: FloatArray, rates: slice = TWIST, changes: slice = ACCELERATION) -> FloatArray:
        """Turn a sample at σ into that of the motion on this clock: ξ σ̇ and ξ̇ σ̇² + ξ σ̈.

        Args:
            sample: Pose or joint positions, their rates ξ and ξ̇, as one row.
            rates: Where ξ is; in a Cartesian sample by default.
            changes: Where ξ̇ is.
        """
        scaled = sample.copy()
        scaled[changes] = sample[changes] * self.rate**2 + sample[rates] * self.rate_change
        scaled[rates] = sample[rates] * self.rate
        return scaled
