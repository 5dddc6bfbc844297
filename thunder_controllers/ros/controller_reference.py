"""Which reference the law follows: what is streamed, a motion of the controller's own, or the place it holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Controller
from thunder_controllers.ros.controller_motion import Motion

FloatArray = NDArray[np.float64]


class Source(Enum):
    """Where the reference comes from."""

    HOLD = "hold"
    STREAM = "stream"
    MOTION = "motion"
    STOPPING = "stopping after a lost stream"


class ReferenceSource:
    """Feeds the host's reference; to be called under the lock of the control loop.

    Args:
        host: Configured.
        timeout: A stream silent for longer is lost [s].
        stop_from: Plans the motion to rest from the sample in effect when a stream is lost.
    """

    def __init__(self, host: Controller, timeout: float, stop_from: Callable[[FloatArray], Motion]) -> None:
        self.source = Source.HOLD
        self.lost = 0
        """How often a stream was lost since configuration."""
        self._host = host
        self._timeout = timeout
        self._stop_from = stop_from
        self._motion: Motion | None = None
        self._age = 0.0
        self._wall = 0.0

    @property
    def current(self) -> FloatArray:
        """Sample in effect, as the last step used it."""
        return np.array(self._host.reference_vector)

    def stream(self, row: FloatArray) -> None:
        """Follow a streamed sample from the next step on; a motion of the controller's own ends here.

        Raises:
            LawError: if the host refuses it; what was followed before goes on.
        """
        self._host.set_reference(row)
        self.source, self._motion = Source.STREAM, None
        self._age, self._wall = 0.0, time.monotonic()

    def start(self, motion: Motion) -> None:
        """Follow a motion."""
        self._motion, self.source = motion, Source.MOTION

    def hold(self) -> None:
        """Hold the place where the next step finds the robot."""
        self._host.hold_reference()
        self.source, self._motion = Source.HOLD, None

    def prepare_activation(self) -> None:
        """Start from what is streamed if it still is, else from the place of the robot."""
        if self.source is not Source.STREAM or time.monotonic() - self._wall > self._timeout:
            self.hold()
        self._age = 0.0

    def step(self, dt: float) -> None:
        """Write the reference of a step that comes `dt` seconds after the one before."""
        if self.source is Source.STREAM:
            self._age += dt
            if self._age <= self._timeout:
                return
            self.lost += 1
            self._motion = self._stop_from(self.current)
            self.source = Source.STOPPING
        if self._motion is not None:
            self._host.set_reference(self._motion.advance(dt))
            if self._motion.is_finished:
                self._motion = None
                if self.source is Source.MOTION:
                    self.source = Source.HOLD
