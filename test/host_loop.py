"""A controller of the pendulum and its clock; the arm is wherever the test says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Controller, Guard, Library, Options

STEP = 1e-3
START = np.array([0.1, 0.2])
REST = np.zeros(2)

ANYWHERE = 1e3
"""Noise of positions under which a joint may be anywhere [rad or m]."""


class Loop:
    """Active at START, at rest; the adaptive law knows the masses.

    No reading is doubted: positions jump and velocities move nothing, as a test says.
    """

    def __init__(
        self, library: Library, law: str = "joint_adaptive", held_effort: object = None, **options: object
    ) -> None:
        known = {"pi_hat": [1.2, 0.8]} if law == "joint_adaptive" else {}
        self.controller = Controller()
        self.controller.configure(
            library, law=law, initial_state=known, options=Options(**{"position_noise": ANYWHERE, **options})
        )
        self.controller.activate(START, held_effort=held_effort)
        self.t = 0.0
        self.effort = np.full(2, np.nan)

    def update(
        self, q: NDArray[np.float64] = START, qd: NDArray[np.float64] = REST, dt: float = STEP, advance: float = STEP
    ) -> Guard:
        self.t += advance
        return Guard(self.controller.update(self.t, q, qd, dt, self.effort))

    def updates(self, count: int, *arguments: object, **named: object) -> list[Guard]:
        return [self.update(*arguments, **named) for _ in range(count)]

    def ask(self, position: float) -> None:
        """Ask for both joints to be at this position."""
        self.controller.set_reference([position, position, 0, 0, 0, 0])
