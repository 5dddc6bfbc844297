"""Rest-to-rest motions on straight lines, one after the other, each on the host's jerk-limited `TimeLaw`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import TimeLaw


class RestToRest:
    """Segments on which σ goes from 0 to 1, each starting and ending at rest, with a pause after each.

    Args:
        ways: Arrays with a row for each segment, of what `sample` is to give beside σ.
        lengths: Of each segment in as many measures as have bounds, as of a line and an angle, shape (K, m).
        bounds: Of velocity, acceleration and jerk, each of shape (m,), positive; all of them are kept.
        dwell: Pause [s], not negative.

    Raises:
        ValueError: if a segment has no length.
    """

    def __init__(
        self, ways: Sequence[FloatArray], lengths: FloatArray, bounds: Sequence[ArrayLike], dwell: float = 0.0
    ) -> None:
        if not lengths.any(axis=1).all():
            raise ValueError("two places in a row are the same (valid: places that differ)")
        self._ways, self._given = ways, (ways, lengths, bounds, dwell)
        rates = 1.0 / np.max(lengths[:, None, :] / np.asarray(bounds), axis=2)
        self._laws = [TimeLaw(*rate) for rate in rates]
        durations = np.array([law.duration + dwell for law in self._laws])
        self._starts = np.cumsum(durations) - durations
        self.duration = float(durations.sum() - dwell)

    def __reduce__(self) -> tuple[type[RestToRest], tuple[Any, ...]]:
        return RestToRest, self._given  # time laws of the host are no data, and runs are sent to other processes

    def sample(self, t: FloatArray) -> tuple[list[FloatArray], FloatArray, FloatArray, FloatArray, FloatArray]:
        """Sample at times `t`, shape (N,) [s].

        Returns:
            Rows of the ways, one for each time, σ and three derivatives (N, 1), constant outside the motion. The third
            jumps between phases.
        """
        index = np.clip(np.searchsorted(self._starts, t, side="right") - 1, 0, len(self._laws) - 1)
        values = np.empty((4, len(t), 1))
        for segment in np.unique(index):
            rows = index == segment
            law, time = self._laws[segment], t[rows] - self._starts[segment]
            values[:, rows, 0] = *law.sample(time).T, law.jerk(time)
        sigma, velocity, acceleration, jerk = values
        return [way[index] for way in self._ways], sigma, velocity, acceleration, jerk
