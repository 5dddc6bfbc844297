"""What the node knows of its reference beside the host: whether a stream was there before activation, or was lost."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Controller, Guard

FloatArray = NDArray[np.float64]

_LOST = int(Guard.REFERENCE_STALE)


class ReferenceFeed:
    """Feeds the host's reference; to be called under the lock of the control loop.

    Args:
        host: Configured.
        timeout: Before activation, a stream silent for longer on the wall clock is not followed [s].
    """

    def __init__(self, host: Controller, timeout: float) -> None:
        self.lost = 0
        """How often a stream was lost since configuration."""
        self._host = host
        self._timeout = timeout
        self._is_streamed = self._is_lost = False
        self._wall = 0.0

    @property
    def is_streamed(self) -> bool:
        """Whether a stream is followed, or would be after activation."""
        return self._is_streamed and not self._is_lost

    @property
    def source(self) -> str:
        """What the reference follows, in words."""
        if self.is_streamed:
            return "stream"
        if self._host.lifecycle != "active":
            return "hold"
        return "stopping after a lost stream" if self._is_lost else self._host.reference_source

    def stream(self, row: FloatArray) -> None:
        """Follow a streamed sample from the next step on; a motion of the controller's own ends there.

        Raises:
            LawError: if the host refuses it; what was followed before goes on.
        """
        self._host.set_reference(row)
        self._is_streamed, self._is_lost = True, False
        self._wall = time.monotonic()

    def move(self, begin: Callable[[Controller], None]) -> None:
        """Let the host begin a motion of its own.

        Raises:
            LawError: if the host refuses it; what was followed before goes on.
        """
        begin(self._host)
        self._is_streamed = self._is_lost = False

    def hold(self) -> None:
        """Hold the place where the next step finds the robot."""
        self._host.hold_reference()
        self._is_streamed = self._is_lost = False

    def prepare_activation(self) -> None:
        """Start from what is streamed if it still is, else from the place of the robot."""
        if not self.is_streamed or time.monotonic() - self._wall > self._timeout:
            self.hold()

    def observe(self, guards: int) -> None:
        """Notice in the guards of a step that the stream was lost."""
        if guards & _LOST and not self._is_lost:
            self._is_lost = True
            self.lost += 1
