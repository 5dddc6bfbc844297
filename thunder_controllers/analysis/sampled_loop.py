"""A rigid arm at rest in a sampled loop: its discrete-time state matrix with delay and a filter of the velocity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_dynamics.errors import LawError, MissingLibraryError, ModelError

try:
    from scipy.linalg import expm
except ModuleNotFoundError as error:
    raise MissingLibraryError("scipy") from error

FloatArray = NDArray[np.float64]

LONGEST_DELAY = 100.0
"""[periods] Each adds n states."""

LARGEST_CONDITION = 1e12
"""Condition number of a mass matrix; that of an arm is some 1e3 to 1e5."""

SHOWN = 1e-6
"""Part of a row of C Aᵏ outside the span of those before, of its length, that counts [1]; rounding leaves some 1e-9."""

DIFFERENCE = 1e-5
"""Step of the central differences of gravity [rad or m]."""


@dataclass(frozen=True)
class Timing:
    """When a loop measures, and when what it commands acts.

    Args:
        rate: Of the control [Hz]; an effort is constant for a period.
        delay: From measurement to effect [s]; any fraction of a period.
        lag: Time constant T of the drives [s]: what acts is τ with T dτ/dt = u − τ, u the effort a delay ago.
        velocity_filter: Cut-off of the first-order filter of the measured velocity [Hz]; infinite: none. It is sampled:
            w ← w + (1 − exp(−2π f / rate)) (q̇ − w).

    Raises:
        LawError: if a value is out of range.
    """

    rate: float = 1000.0
    delay: float = 0.0
    lag: float = 0.0
    velocity_filter: float = np.inf

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise LawError(f"{self.rate:g} Hz", where="rate", valid="a positive, finite one")
        if not 0.0 <= self.delay * self.rate <= LONGEST_DELAY:
            longest = LONGEST_DELAY / self.rate
            raise LawError(f"{self.delay:g} s", where="delay", valid=f"0 to {longest:g} s at {self.rate:g} Hz")
        if not 0.0 <= self.lag < np.inf:
            raise LawError(f"{self.lag:g} s", where="lag", valid="0 or a positive, finite time constant")
        if not self.velocity_filter > 0.0:
            raise LawError(f"{self.velocity_filter:g} Hz", where="velocity filter", valid="a positive cut-off")


class SampledArm:
    """M q̈ + (∂G/∂q) δq = δτ about q at rest, δτ held for a period, late and through the lag of the drives.

    Args:
        mass_matrix: M(q), shape (n, n).
        gravity_stiffness: ∂G/∂q, shape (n, n) [N·m/rad or N/m].
        timing: Of the loop.

    Raises:
        ModelError: if M(q) cannot be inverted.
    """

    def __init__(self, mass_matrix: FloatArray, gravity_stiffness: FloatArray, timing: Timing) -> None:
        period = 1.0 / timing.rate
        whole, fraction = divmod(timing.delay * timing.rate, 1.0)
        if fraction > 1.0 - 1e-9:  # 0.003 s at 1 kHz is three periods, not 2.9999999999999996
            whole, fraction = whole + 1.0, 0.0
        self._delay, late = int(whole), fraction * period
        self._n = n = len(mass_matrix)
        if not np.linalg.cond(mass_matrix) < LARGEST_CONDITION:
            raise ModelError("the mass matrix is singular", where="M(q)", valid="links with mass and inertia")
        inverse = np.linalg.inv(mass_matrix)
        zero = np.zeros((n, n))
        drift = np.block([[zero, np.eye(n)], [-inverse @ gravity_stiffness, zero]])
        effect = np.vstack([zero, inverse])
        if timing.lag > 0.0:  # the effort of the drives is a state between q̇ and what is commanded
            pole = np.eye(n) / timing.lag
            drift = np.block([[drift, effect], [np.zeros((n, 2 * n)), -pole]])
            effect = np.vstack([zero, zero, pole])
        self._size = size = len(drift)

        def over(time: float) -> tuple[FloatArray, FloatArray]:
            """Transition, and effect of a constant command."""
            both = expm(np.block([[drift, effect], [np.zeros((n, size + n))]]) * time)
            return both[:size, :size], both[:size, size:]

        self._transition = over(period)[0]
        after, self._newer = over(period - late)
        self._older = after @ over(late)[1]
        self._filter = 1.0 - np.exp(-2.0 * np.pi * timing.velocity_filter * period)

    def closed(self, position: FloatArray, velocity: FloatArray, effort: FloatArray, *states: FloatArray) -> FloatArray:
        """State matrix of the loop over one period, with the feedback that `RestingLaw` finds.

        The state is q, q̇, the efforts of drives with a lag, the filtered q̇, the efforts on their way, and what effort
        shows of the `states` of the law: their input, transition and output; none if left out.
        """
        n, kept = self._n, self._delay + 1
        inputs, transition, output = observable(*states) if states else np.zeros((3, 0, 0))
        size = self._size + (1 + kept) * n
        moving, rest, x = np.split(np.eye(size + len(transition)), [self._size, size])
        q, qd = moving[:n], moving[n : 2 * n]
        filtered, *efforts = np.split(rest, 1 + kept)
        measured = self._filter * qd + (1.0 - self._filter) * filtered
        newest = position @ q + velocity @ measured + effort @ efforts[0]
        moved_x = x
        if states:
            newest += output @ x
            moved_x = inputs @ np.vstack([q, measured, efforts[0]]) + transition @ x
        commanded = [newest, *efforts]
        moved = self._transition @ moving
        moved += self._newer @ commanded[self._delay] + self._older @ commanded[self._delay + 1]
        return np.vstack([moved, measured, *commanded[:kept], moved_x])


def observable(
    inputs: FloatArray, transition: FloatArray, output: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Reduce x⁺ = A x + B u, y = C x to what y shows: the span of the rows of C, C A, C A² … [Kalman 1963].

    The filters of an observer have a state for every parameter and joint, and joints show as many as there are joints.

    Args:
        inputs: B (m, k).
        transition: A (m, m).
        output: C (n, m).

    Returns:
        The three of a state of the least size.
    """
    basis, rows = np.zeros((0, len(transition))), output
    while len(rows):
        lengths = np.linalg.norm(rows, axis=1)
        rows = rows[lengths > 0.0] / lengths[lengths > 0.0, None]
        for _ in range(2):  # twice is enough for orthogonality
            rows = rows - (rows @ basis.T) @ basis
        _, sizes, right = np.linalg.svd(rows, full_matrices=False)
        rows = right[sizes > SHOWN]
        basis = np.vstack([basis, rows])
        rows = rows @ transition
    return basis @ inputs, basis @ transition @ basis.T, output @ basis.T


def arm_at(library: Library, q: FloatArray, timing: Timing) -> SampledArm:
    """The library's own arm about q, shape (n,), without friction; elastic joints are rigid, with their motors.

    Raises:
        NameNotFoundError: if the library lacks M(q) or G(q).
        ModelError: if M(q) cannot be inverted.
    """
    changes = DIFFERENCE * np.eye(len(q))
    columns = [library.evaluate("G", q + change) - library.evaluate("G", q - change) for change in changes]
    shape = (len(q), len(q))
    stiffness = np.reshape(columns, shape).T / (2.0 * DIFFERENCE)
    moved = "M_rigid" if "M_rigid" in library.functions else "M"
    return SampledArm(np.reshape(library.evaluate(moved, q), shape), stiffness, timing)
