"""An arm that a controller with recursive least squares moves, and that picks a body up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from evaluation import load_robot
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_controllers.simulation.options import Payload
from thunder_controllers.simulation.plants.model import ModelPlant
from thunder_dynamics import build

STEP = 1e-3
START = np.array([0.3, -0.5, 0.4])
LINK = "link3"
BODY = Payload(link=LINK, mass=0.5, com=(0.1, 0.05, 0.0), inertia=(2e-3, 0.0, 0.0, 2e-3, 0.0, 2e-3))
MOTION = {"amplitude": [0.3, 0.3, 0.4], "frequency": [0.4, 0.5, 0.6]}
RAMP_TIME = 0.2

WARM, KNOWN = 3.5, 2.5
"""Until the noise is known, so that a change can be seen, and from a change until its kind is known [s]."""


def build_library(*links: str) -> Library:
    """The planar arm with its last link adapted, or others."""
    model = load_robot("planar3r")
    options = {"adaptation": "least_squares", **({"adapted_links": list(links)} if links else {})}
    folder = build(model, laws=[("slotine_li", options)])
    return Library(folder / "libplanar3r.so")


class PickingArm:
    """The planar arm, at START, at rest.

    Attributes:
        held: Effort that holds it there.
        q, qd: As they are measured now.
    """

    def __init__(self) -> None:
        model = load_robot("planar3r")
        self._plant = ModelPlant(model, [link.joint.name for link in model.links], STEP)
        self._plant.reset(START)
        self.held = self._plant.holding_effort()
        self.q, self.qd = START.copy(), np.zeros(len(START))

    def move(self, seconds: float, answer: Callable[[], NDArray[np.float64]]) -> None:
        """Move by the efforts that answer what is measured now."""
        for _ in range(round(seconds / STEP)):
            self._plant.step(answer())
            self._plant.measure(self.q, self.qd)

    def pick_up(self) -> None:
        self._plant.attach(BODY)

    def put_down(self) -> None:
        self._plant.detach()
