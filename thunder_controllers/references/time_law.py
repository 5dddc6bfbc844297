"""Jerk-limited rest-to-rest time laws, chained: the scalar or joint motion under references (Ruckig underneath).

Acceleration is continuous and piecewise linear (Berscheid, Kröger, "Jerk-limited Real-time Trajectory Generation with
Arbitrary Target States", 2021).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import ruckig
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]


def joint_rest_to_rest(
    start: ArrayLike, end: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike
) -> ruckig.Trajectory:
    """Plan the fastest synchronised motion from `start` to `end`, at rest at both, within the bounds, shape (n,) each.

    Raises:
        ScenarioError: if a bound is not positive and finite.
    """
    size = np.size(start)
    request = ruckig.InputParameter(size)
    request.current_position = np.ravel(start).tolist()
    request.target_position = np.ravel(end).tolist()
    for name, bound in (("velocity", velocity), ("acceleration", acceleration), ("jerk", jerk)):
        values = np.ravel(bound)
        if not (np.isfinite(values).all() and (values > 0.0).all()):
            raise ScenarioError(f"{name} bound {values.tolist()}", where="reference", valid="positive and finite")
        setattr(request, f"max_{name}", values.tolist())
    trajectory = ruckig.Trajectory(size)
    result = ruckig.Ruckig(size).calculate(request, trajectory)
    if result != ruckig.Result.Working:
        raise ScenarioError(f"no time law found ({result})", where="reference", valid="other positions or bounds")
    return trajectory


def unit_rest_to_rest(velocity: float, acceleration: float, jerk: float) -> ruckig.Trajectory:
    """Plan a scalar σ from 0 to 1, at rest at both, within the bounds [1/s, 1/s², 1/s³]."""
    return joint_rest_to_rest([0.0], [1.0], [velocity], [acceleration], [jerk])


class RestToRest:
    """Segments one after the other, each starting and ending at rest, with a pause after each.

    Args:
        segments: Planned motions of one and the same size.
        dwell: Pause [s], not negative.
    """

    def __init__(self, segments: Sequence[ruckig.Trajectory], dwell: float = 0.0) -> None:
        if not (np.isfinite(dwell) and dwell >= 0.0):
            raise ScenarioError(f"dwell {dwell:g} s", where="reference", valid="finite and not negative")
        self._segments = tuple(segments)
        lengths = [segment.duration + dwell for segment in self._segments]
        self._starts = np.concatenate(([0.0], np.cumsum(lengths)[:-1]))
        self.duration = float(np.sum(lengths) - dwell)

    def sample(self, t: FloatArray) -> tuple[NDArray[np.intp], FloatArray, FloatArray, FloatArray]:
        """Sample at times `t`, shape (N,) [s].

        Returns:
            Segment index (N,), position, velocity and acceleration (N, size), constant outside the motion.
        """
        index = np.clip(np.searchsorted(self._starts, t, side="right") - 1, 0, len(self._segments) - 1)
        size = self._segments[0].degrees_of_freedom
        values = np.empty((3, len(t), size))
        for row, (segment, time) in enumerate(zip(index, t - self._starts[index], strict=True)):
            trajectory = self._segments[segment]
            # Ruckig extrapolates a start or an end; both are at rest here, so clipping holds the pose.
            values[:, row] = trajectory.at_time(min(max(float(time), 0.0), trajectory.duration))
        return index, values[0], values[1], values[2]
