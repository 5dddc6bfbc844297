"""Estimates as a law's state holds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Configuration, Snapshot
from thunder_dynamics.inertia import N_PARAMETERS

FloatArray = NDArray[np.float64]

ESTIMATE = "pi_hat"
"""State entry of adaptive laws: inertial parameters of the adapted links, REG order, one link after the other."""

FRICTION = "friction_hat"
"""State entry of laws that adapt friction: viscous coefficient of every joint, then Coulomb friction of every joint."""

OFFSETS = "offset_hat"
"""State entry of laws that adapt effort offsets: that of every joint."""

ROTORS = "rotor_hat"
"""State entry of laws that adapt rotors: the reflected inertia of that of every joint."""


@dataclass(frozen=True)
class LinkEstimate:
    """Inertial parameters of a link.

    Attributes:
        link: Name.
        pi: [m, m·c, I about the frame origin], REG order, shape (10,).
    """

    link: str
    pi: FloatArray


def link_estimates(configuration: Configuration, snapshot: Snapshot) -> tuple[LinkEstimate, ...]:
    """Estimates of the adapted links at a step; none if the law adapts none."""
    if not configuration.links:
        return ()
    blocks = np.reshape(snapshot.state(ESTIMATE), (-1, N_PARAMETERS))
    return tuple(LinkEstimate(link, block) for link, block in zip(configuration.links, blocks, strict=True))
