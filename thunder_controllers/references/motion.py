"""A motion made of trajectories, that begins and ends at rest wherever it is stopped.

A place is what a sample begins with: position and rotation as in `trajectories`, shape (12,), or joint positions, shape
(n,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from thunder_controllers.fields import FloatArray
from thunder_controllers.host import StopShape
from thunder_controllers.references.trajectories import JointPath, PoseToPose, Reference
from thunder_dynamics.errors import ScenarioError

NEAR = 1e-9
"""Poses or joints closer than this are one [m, rad]: there is no way between them."""

STEP = 0.01
"""[s] between the samples of a preview, of a short motion."""

MOST_SAMPLES = 6000
"""Of a preview."""

LONGEST_PERIOD = 60.0
"""[s] of a path that never ends, that a preview shows."""

Kind = Literal["cartesian", "joint"]
"""Of a sample, see `trajectories`; the same words as `Law.reference_kind`."""


def on_clock(rows: FloatArray, kind: Kind, rate: ArrayLike, change: ArrayLike) -> FloatArray:
    """Turn samples at σ into those of the motion on a clock σ(t): ξ σ̇ and ξ̇ σ̇² + ξ σ̈, σ̇ and σ̈ of shape (N,)."""
    ends = [12, 18] if kind == "cartesian" else [rows.shape[1] // 3, 2 * rows.shape[1] // 3]
    place, first, second = np.split(rows, ends, axis=1)
    rates, changes = np.reshape(rate, (-1, 1)), np.reshape(change, (-1, 1))
    return np.hstack([place, first * rates, second * rates**2 + first * changes])


@dataclass(frozen=True)
class Journey:
    """From rest along a way that ends at rest, then along a path without end, whose clock starts from rest.

    What a clock lacks of its rate comes to rest as motions of the host do (`StopShape`), so σ̈ is continuous.
    """

    kind: Kind  #: Of the samples.
    way: Reference  #: At rest from its `duration` on; what has none ends at once.
    path: Reference | None  #: None: the journey ends with its way.
    ramp_time: float  #: In which the path's clock starts, and a journey that is stopped comes to rest [s].

    @property
    def ends(self) -> float:
        """When the way ends [s]."""
        return float(getattr(self.way, "duration", 0.0))

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,) from 0 on, as rows."""
        if self.path is None:
            return self.way.sample(t)
        late = np.fmax(t - self.ends, 0.0)
        missing, rate, change = np.transpose([StopShape(self.ramp_time).at(one, -1.0, 0.0) for one in late])
        rows = on_clock(self.path.sample(late + missing), self.kind, 1.0 + rate, change)
        early = t < self.ends
        if early.any():
            rows[early] = self.way.sample(t[early])
        return rows

    def preview(self) -> tuple[FloatArray, float]:
        """Samples of the whole journey, and the time between them [s]; of its path a period, or the first minute."""
        period = 0.0 if self.path is None else min(self.path.period or 0.0, LONGEST_PERIOD) + self.ramp_time
        length = self.ends + period
        step = max(STEP, length / MOST_SAMPLES)
        return self.sample(np.fmin(np.arange(0.0, length + step, step), length)), step


def way_through(
    places: Sequence[FloatArray], plan: Callable[[list[FloatArray]], PoseToPose | JointPath]
) -> PoseToPose | JointPath | None:
    """The way through all places, planned from rest to rest; None where all are the same."""
    way = [places[0]]
    for place in places[1:]:
        if np.abs(place - way[-1]).max() > NEAR:
            way.append(place)
    return plan(way) if len(way) > 1 else None


class Motion:
    """A journey as it goes, which may be stopped; call `advance` once per reference."""

    def __init__(self) -> None:
        self.state: Literal["silent", "moving", "stopping", "holding"] = "silent"
        self._then: Literal["silent", "holding"] = "silent"
        self._journey: Journey | None = None
        self._time, self._stopped = 0.0, 0.0
        self._sample: FloatArray | None = None

    @property
    def is_moving(self) -> bool:
        """Whether references change."""
        return self.state in ("moving", "stopping")

    @property
    def kind(self) -> Kind:
        """Of the samples."""
        return "cartesian" if self._journey is None else self._journey.kind

    def held(self, kind: Kind) -> FloatArray | None:
        """Copy of the place of this kind that is held, None while none is."""
        if self.state != "holding" or self.kind != kind or self._sample is None:
            return None
        return self._sample[: 12 if kind == "cartesian" else len(self._sample) // 3].copy()

    def start(self, journey: Journey) -> None:
        """Begin a journey at rest.

        Raises:
            ScenarioError: if one is under way.
        """
        if self.is_moving:
            raise ScenarioError("a motion is under way", where="start", valid="stop or hold it first")
        self._journey, self._time, self.state = journey, 0.0, "moving"

    def stop(self) -> None:
        """Come to rest, then send nothing."""
        self._end("silent")

    def hold(self) -> None:
        """Come to rest, then send that place for ever."""
        self._end("holding")

    def _end(self, then: Literal["silent", "holding"]) -> None:
        self._then = then
        if self.state == "moving":
            self.state, self._stopped = "stopping", self._time
        elif self.state == "holding":
            self.state = then

    def advance(self, dt: float) -> FloatArray | None:
        """Let `dt` seconds pass; the sample to send, shape (24,) or (3·n,), or None if there is nothing to send."""
        if self._journey is None or not self.is_moving:
            return self._sample if self.state == "holding" else None
        journey = self._journey
        self._time += dt
        time, rate, change = self._time, 1.0, 0.0
        if self.state == "stopping":
            way, rate, change = StopShape(journey.ramp_time).at(self._time - self._stopped, 1.0, 0.0)
            time = self._stopped + way
        self._sample = on_clock(journey.sample(np.array([time])), journey.kind, rate, change)[0]
        if self.state == "stopping" and rate == change == 0.0:
            self.state = self._then
        elif journey.path is None and time >= journey.ends:
            self.state = self._then if self.state == "stopping" else "holding"
        return self._sample
