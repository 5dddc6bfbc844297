"""Estimates of link inertias as a law's state holds them, and their form about the centre of mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Law, Library
from thunder_dynamics.inertia import N_PARAMETERS, parallel_axis

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
    entry = next((entry for entry in law.state if entry.name == ESTIMATE), None)
    if entry is None or entry.size % N_PARAMETERS:
        return ()
    count = entry.size // N_PARAMETERS
    named = tuple(name.strip() for name in entry.description.rpartition(" of ")[2].rstrip(". ").split(","))
    if len(named) == count and set(named) <= set(library.link_names):
        return named
    return tuple(f"body_{k + 1}" for k in range(count))


def split_estimate(links: Sequence[str], values: FloatArray) -> tuple[LinkEstimate, ...]:
    """Divide a flat estimate, shape (10·k,), into its links."""
    blocks = np.array(values, dtype=float).reshape(-1, N_PARAMETERS)
    return tuple(LinkEstimate(link, block) for link, block in zip(links, blocks, strict=True))


def about_com(pi: FloatArray) -> FloatArray:
    """Convert REG parameters to [m, c, I about the CoM], shape (10,).

    An estimate on its way may have a mass near zero, where there is no centre of mass: then c = 0 and I stays about
    the frame origin.
    """
    mass = float(pi[0])
    dyn = np.array(pi, dtype=float)
    if abs(mass) < SMALLEST_MASS:
        dyn[1:4] = 0.0
        return dyn
    dyn[1:4] = pi[1:4] / mass
    dyn[4:] -= np.array(parallel_axis(mass, dyn[1:4]), dtype=float)
    return dyn


SMALLEST_MASS = 1e-6
"""Below this an estimate has no centre of mass [kg]."""
