"""The feedback of a compiled law about a pose at rest, by finite differences of its own step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.host import Controller, Entry, Guard, Library, Options
from thunder_dynamics.errors import LawError, NameNotFoundError, nearest

FloatArray = NDArray[np.float64]

DIFFERENCE = 1e-5
"""Of the central differences [rad or m, rad/s or m/s]: rounding of some 1e-9 N·m/rad, truncation of less."""

NO_LIMIT = 1e9
"""Efforts [N·m or N] and their rates [per s] that no law reaches: what the host would cut is not linear."""

POSTURE = "q_home"
"""Gain that says where a redundant arm tends to; the pose itself, so that the arm rests there."""


@dataclass(frozen=True)
class Feedback:
    """δτ = position δq + velocity δq̇ + effort δτ⁻, (n, n) each; τ⁻ is the effort of the step before.

    [N·m/rad, N·m·s/rad, 1, or their likes for sliding joints]
    """

    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


class RestingLaw:
    """A law that holds a pose: what its step does with small errors, all states at their initial values.

    Args:
        library: The compiled robot.
        law: Name of the law.
        gains: Of the law by name; others have their defaults.
        period: Of the control [s].

    Raises:
        ThunderError: as `Controller.configure` raises.
    """

    def __init__(self, library: Library, law: str, gains: Mapping[str, ArrayLike], period: float) -> None:
        self._library, self._n = library, library.n_joints
        self._period = period
        self._time = 0.0
        self._effort = np.zeros(self._n)
        self._gains = {entry.name: entry for entry in library.law(law).gains}
        self._controller = Controller()
        no_limit = np.full(self._n, NO_LIMIT)
        options = Options(
            nominal_dt=period,
            measurement_timeout=2.0 * period,
            effort_limit=no_limit,
            effort_rate_limit=no_limit / period,
            velocity_limit=np.full(self._n, np.inf),
            approach_patience=np.inf,
            accepts_unstable_gains=True,
        )
        self._controller.configure(library, law=law, gains=gains, options=options)

    def gain_entry(self, name: str) -> Entry:
        """Describe a gain. Raises NameNotFoundError, which lists the gains there are."""
        if name not in self._gains:
            raise NameNotFoundError(f"no gain '{name}'", where=self._controller.law, valid=nearest(name, self._gains))
        return self._gains[name]

    def gain(self, name: str) -> FloatArray:
        """Copy a gain, flat."""
        return np.array(self._controller.gain(name)).ravel(order="F")

    def set_gain(self, name: str, values: ArrayLike) -> None:
        """Change a gain, flat; raises as `Controller.set_gain` does."""
        self._controller.set_gain(name, values)

    def rest_at(self, q: FloatArray) -> None:
        """Hold another pose, shape (n,). Raises LawError where the law refuses to start."""
        if self._controller.lifecycle == "active":
            self._controller.deactivate()
        if POSTURE in self._gains:
            self._controller.set_gain(POSTURE, q)
        self._q = np.array(q)
        self._held = self._library.evaluate("G", q)
        self._controller.activate(q, held_effort=self._held)

    def feedback(self) -> Feedback:
        """Differentiate the step at the pose that is held, with the gains as they are now.

        Raises:
            LawError: if a guard of the host acts there: the effort is then not the law's.
        """
        rest = np.zeros(self._n)
        position, velocity, effort = np.empty((3, self._n, self._n))
        for joint, change in enumerate(DIFFERENCE * np.eye(self._n)):
            position[:, joint] = self._step(change, rest, rest) - self._step(-change, rest, rest)
            velocity[:, joint] = self._step(rest, change, rest) - self._step(rest, -change, rest)
            effort[:, joint] = self._step(rest, rest, change) - self._step(rest, rest, -change)
        return Feedback(*(slope / (2.0 * DIFFERENCE) for slope in (position, velocity, effort)))

    def _step(self, error: FloatArray, qd: FloatArray, applied: FloatArray) -> FloatArray:
        """Take the first step after an activation at rest, with `error` of q and `applied` more effort before it."""
        self._controller.deactivate()
        self._controller.reset_state()
        self._controller.activate(self._q, held_effort=self._held + applied)
        q = self._q + error
        self._time += self._period
        guards = Guard(self._controller.update(self._time, q, qd, self._period, self._effort))
        if guards:
            raise LawError(f"the host acts: {guards.name}", where=f"at rest at {np.round(self._q, 3).tolist()}")
        return self._effort.copy()
