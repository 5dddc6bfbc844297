"""A clock of a motion that starts and stops smoothly, whatever the motion is."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.references.trajectories import ACCELERATION, TWIST
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]


class PathClock:
    """Time σ along a motion, its rate σ̇ between 0 (rest) and 1 (the motion as planned).

    A change of the rate takes `ramp_time` and follows 10u³ − 15u⁴ + 6u⁵, so σ̈ is continuous and zero at both ends.

    Args:
        ramp_time: Of a change from rest to full rate or back [s].
        rate: At the start, 0 or 1.

    Raises:
        ScenarioError: if the ramp time is not positive.
    """

    def __init__(self, ramp_time: float, rate: float = 0.0) -> None:
        if not (math.isfinite(ramp_time) and ramp_time > 0.0):
            raise ScenarioError(f"{ramp_time:g} s", where="ramp_time", valid="a positive time")
        self._ramp_time = ramp_time
        self._start, self._goal = rate, rate
        self._elapsed = ramp_time
        self.time = 0.0
        """σ [s]."""
        self.rate = rate
        """σ̇ [1]."""
        self.rate_change = 0.0
        """σ̈ [1/s]."""
        self._base = -rate * ramp_time

    @property
    def is_at_rest(self) -> bool:
        """Whether the rate is zero and stays so."""
        return self._goal == 0.0 and self._elapsed >= self._ramp_time

    def go_to(self, rate: float) -> None:
        """Change the rate to 0 or 1, smoothly from what it is.

        A ramp that is cut short by another one starts that from its own rate, with σ̈ going to zero at once.
        """
        if rate == self._goal:
            return
        self._start, self._goal, self._base, self._elapsed = self.rate, rate, self.time, 0.0

    def advance(self, dt: float) -> None:
        """Let `dt` seconds pass."""
        self._elapsed += dt
        u = min(1.0, self._elapsed / self._ramp_time)
        span = self._goal - self._start
        self.rate = self._start + span * u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        self.rate_change = span * 30.0 * u * u * (1.0 - u) ** 2 / self._ramp_time
        ramp = self._start * u + span * u**4 * (2.5 - 3.0 * u + u * u)
        self.time = self._base + self._ramp_time * ramp + self._goal * max(0.0, self._elapsed - self._ramp_time)

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
