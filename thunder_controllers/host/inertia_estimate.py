"""Estimates of link inertias as a law's state holds them, and their form about the centre of mass.

The host computes both (`thunder/host/law/estimates.hpp`), so that every controller publishes the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers import host
from thunder_controllers.host import SMALLEST_MASS, Law, Library
from thunder_dynamics.inertia import N_PARAMETERS

__all__ = ["ESTIMATE", "SMALLEST_MASS", "LinkEstimate", "about_com", "estimated_links", "split_estimate"]

FloatArray = NDArray[np.float64]

ESTIMATE = "pi_hat"
"""State entry of adaptive laws: inertial parameters of the adapted links, REG order, one link after the other."""


@dataclass(frozen=True)
class LinkEstimate:
    """Inertial parameters of a link.

    Attributes:
        link: Name.
        pi: [m, m·c, I about the frame origin], REG order, shape (10,).
    """

    link: str
    pi: FloatArray


def estimated_links(library: Library, law: Law) -> tuple[str, ...]:
    """Names of the links whose parameters the law estimates, in the order of its state; empty if it estimates none.

    The state entry's description ends with them. A law whose description does not gets body_1, body_2, ….
    """
    return host.estimated_links(library, law.name)


def split_estimate(links: Sequence[str], values: FloatArray) -> tuple[LinkEstimate, ...]:
    """Divide a flat estimate, shape (10·k,), into its links."""
    blocks = np.array(values, dtype=float).reshape(-1, N_PARAMETERS)
    return tuple(LinkEstimate(link, block) for link, block in zip(links, blocks, strict=True))


def about_com(pi: FloatArray) -> FloatArray:
    """Convert REG parameters to [m, c, I about the CoM], shape (10,).

    An estimate on its way may have a mass below `SMALLEST_MASS`, where there is no centre of mass: then c = 0 and I
    stays about the frame origin.
    """
    return host.about_com(pi)
