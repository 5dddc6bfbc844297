"""A session, the clock of its updates, and an arm that stays where it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Configuration, ControlSession, Guard, Options

STEP = 1e-3
START = np.array([0.1, 0.2])
REST = np.zeros(2)
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])
"""Of the Panda."""
TIMEOUT = 0.05


class SessionLoop:
    """A session with options of the host, at `start`; a stream is lost after TIMEOUT."""

    def __init__(self, configuration: Configuration, start: NDArray[np.float64] = START, **options: object) -> None:
        self.configuration = configuration
        options = {"reference_timeout": TIMEOUT, "rehearses_motions": False, **options}
        self.session = ControlSession(configuration, Options(**options))
        self.start, self.rest, self.effort = start, np.zeros(len(start)), np.zeros(len(start))
        self.t = 0.0

    def activate(self) -> None:
        self.session.activate(self.start, self.rest)

    def update(self, count: int = 1, q: NDArray[np.float64] | None = None, advance: float = STEP) -> Guard:
        guards = 0
        for _ in range(count):
            self.t += advance
            position = self.start if q is None else q
            guards = self.session.update(round(self.t * 1e9), self.t, position, self.rest, STEP, self.effort)
        return Guard(guards)

    @property
    def source(self) -> str:
        return self.session.snapshot().reference_source
