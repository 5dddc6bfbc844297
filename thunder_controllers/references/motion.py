"""A motion made of paths, that begins and ends at rest wherever it is stopped.

A place is what a sample begins with: position and rotation as in `trajectories`, shape (12,), or joint positions, shape
(n,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.references.path_clock import PathClock
from thunder_controllers.references.trajectories import ACCELERATION, TWIST, JointPath, PoseToPose, Reference
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

NEAR = 1e-9
"""Poses or joints closer than this are one [m, rad]: there is no way between them."""

POSE = slice(0, 12)
"""Where the pose is in a Cartesian sample."""

STEP = 0.01
"""[s] between the samples of a preview, of a short motion."""

MOST_SAMPLES = 6000
"""Of a preview."""

LONGEST_PERIOD = 60.0
"""[s] of a path that never ends, that a preview shows."""

Kind = Literal["cartesian", "joint"]
"""Of a sample, see `trajectories`; the same words as `Law.reference_kind`."""


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
        """Copy of the place of this kind that is held, None while none is."""
        if self.state != "holding" or self.kind != kind or self._sample is None:
            return None
        return self._sample[POSE if kind == "cartesian" else slice(len(self._sample) // 3)].copy()

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
        self._clock = PathClock(self._ramp_time, self._legs[0].rate)
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
        if not self.is_moving:
            return self._sample if self.state == "holding" else None
        self._clock.advance(dt)
        leg = self._legs[0]
        sample = leg.path.sample(np.array([self._clock.time]))[0]
        n = len(sample) // 3
        rates = (TWIST, ACCELERATION) if self.kind == "cartesian" else (slice(n, 2 * n), slice(2 * n, 3 * n))
        self._sample = self._clock.scale(sample, *rates)
        has_ended = leg.duration is not None and self._clock.time >= leg.duration  # at rest
        if self.state == "stopping" and (has_ended or self._clock.is_at_rest):
            self.state = self._then
        elif has_ended and len(self._legs) > 1:
            self._legs.pop(0)
            self._begin_leg()
        elif has_ended:
            self.state = "holding"
        return self._sample


def preview(legs: Sequence[Leg]) -> tuple[FloatArray, float]:
    """Samples of all legs one after the other, shape (N, 24) or (N, 3·n), and the time between them [s].

    Of a path that never ends it is a period, or the first minute; clocks go as fast as they ever do.
    """
    ends = [min(leg.path.period or 0.0, LONGEST_PERIOD) if leg.duration is None else leg.duration for leg in legs]
    step = max(STEP, sum(ends) / MOST_SAMPLES)
    times = [np.minimum(np.arange(0.0, end + step, step), end) for end in ends]
    return np.vstack([leg.path.sample(t) for leg, t in zip(legs, times, strict=True)]), step


def through(
    places: Sequence[FloatArray],
    plan: Callable[[list[FloatArray]], PoseToPose | JointPath],
    path: Reference | None = None,
) -> list[Leg]:
    """One leg through all places, planned from rest to rest, then a path that never ends; none where none is due."""
    way = [places[0]]
    for place in places[1:]:
        if np.abs(place - way[-1]).max() > NEAR:
            way.append(place)
    legs = [] if path is None else [Leg(path, 0.0, None)]
    if len(way) > 1:
        planned = plan(way)
        legs.insert(0, Leg(planned, 1.0, planned.duration))
    return legs
