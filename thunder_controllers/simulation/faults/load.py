"""Loads of the joints that depend on the motion: pushes from outside, and the torque of an incipient block."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.simulation.faults.wrench import Motion, Push

CORRECTIONS = 30
"""At most; one is exact but where dry friction of other joints, contacts or joint limits answer the block."""

TOLERANCE = 1e-9
"""Of the acceleration of a blocked joint, relative to its size before [rad/s² or m/s²]."""


class Mechanics(Protocol):
    """What a plant says about the state at which it evaluates its dynamics; joints in its order."""

    @property
    def time(self) -> float:
        """[s]."""
        ...

    @property
    def qd(self) -> FloatArray:
        """Joint velocities, shape (n,)."""
        ...

    def acceleration(self, load: FloatArray) -> FloatArray:
        """q̈ under the efforts of the motors and `load`, shape (n,) each."""
        ...

    def inverse_inertia(self) -> FloatArray:
        """M⁻¹, shape (n, n)."""
        ...

    def motion_of(self, link: str) -> Motion:
        """Motion of the frame of a link."""
        ...

    def effort_of(self, link: str, wrench: FloatArray) -> FloatArray:
        """Jᵀ w of a wrench [force; torque] at the origin of a link's frame, world axes, shape (n,)."""
        ...


def compute_push(mechanics: Mechanics, pushes: Sequence[Push]) -> FloatArray:
    """Compute Σ Jᵀ w of what pushes from outside, shape (n,)."""
    total = np.zeros_like(mechanics.qd)
    for push in pushes:
        total += mechanics.effort_of(push.link, push.wrench(mechanics.time, partial(mechanics.motion_of, push.link)))
    return total


def compute_load(
    mechanics: Mechanics, pushes: Sequence[Push], blocked: NDArray[np.intp], rate: FloatArray
) -> FloatArray:
    """Compute the load of all joints, shape (n,): of what pushes links, and −τ_f of the blocked joints.

    M q̈ + c + g = τ − τ_f with q̈_i = −λ_i q̇_i gives τ_f,i = (h_iᵀ(τ − c − g) + λ_i q̇_i) / h_ii for one blocked joint,
    h_i the i-th column of M⁻¹: by what its acceleration is too much, over h_ii. For several, the h_ij of the blocked
    joints are a matrix. What else answers (dry friction, contacts, joint limits) makes it Broyden's iteration.

    Args:
        mechanics: At the state at which the plant evaluates its dynamics.
        pushes: Those in force.
        blocked: Joints that are blocked.
        rate: λ of each of them [1/s].
    """
    load = compute_push(mechanics, pushes)
    if not blocked.size:
        return load
    inertia = np.linalg.inv(mechanics.inverse_inertia()[np.ix_(blocked, blocked)])
    wanted = -rate * mechanics.qd[blocked]
    excess = mechanics.acceleration(load)[blocked] - wanted
    tolerance = TOLERANCE * (1.0 + np.abs(excess).max())
    for _ in range(CORRECTIONS):
        step = -inertia @ excess
        load[blocked] += step
        before, excess = excess, mechanics.acceleration(load)[blocked] - wanted
        if np.abs(excess).max() <= tolerance:
            break
        answer = inertia @ (excess - before)  # Broyden's update: the inertia that would have been right
        inertia += np.outer(step - answer, step @ inertia) / (step @ answer)
    return load
