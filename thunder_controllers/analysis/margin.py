"""How far gains are from instability: eigenvalues of the sampled loop about poses at rest.

What is scaled is the feedback on s (`K_d`), which delay and sampling bound, or the gains that are named. The rest of
the step stays as it is, the velocity feedback M̂Λ of q̈_r included. Each factor is tried on the compiled law itself; the
largest stable one is bracketed by doubling or halving from 1, then bisected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.analysis.sampled_loop import Timing, arm_at
from thunder_controllers.host import Library, Options, RestingLaw
from thunder_dynamics.errors import LawError, NameNotFoundError, nearest

FloatArray = NDArray[np.float64]

STABLE = 1.0 + 1e-9
"""Largest spectral radius that counts as stable: motions that the law leaves free neither grow nor shrink."""

LARGEST_FACTOR = 1024.0
"""Factors beyond this, or below its inverse, are not looked for; the bounds of a gain may end sooner."""

PRECISION = 1e-3
"""Of a factor, relative."""

WANTED_MARGIN = 2.0
"""Of suggested gains: an arm half as heavy as its description, or a gain twice as large, is then just stable.

The classical gain margin of 6 dB. It covers what is not in the analysis: poses between those sampled, errors of the
inertia, a late step.
"""

LOWERING = 0.9
"""Factor by which suggested gains are lowered, one element at a time."""


@dataclass(frozen=True)
class Margins:
    """The loop about several poses; a margin is the largest stable factor, 0: none is, infinite: all that bounds allow.

    Attributes:
        poses: Where, shape (k, n) [rad or m].
        spectral_radii: Largest modulus of the eigenvalues over one period, shape (k,); stable below 1.
        damping: Least damping ratio of the modes, shape (k,); negative where one grows.
        pose_margins: Of all that is scaled, shape (k,).
        gains: What is scaled, as it is, by name, flat.
        element_margins: Of each element alone, at all poses, by gain, flat.
        suggested: The gains, lowered element by element until the margin is `WANTED_MARGIN`; None if that does not
            help, or a pose has no margin at all.
    """

    poses: FloatArray
    spectral_radii: FloatArray
    damping: FloatArray
    pose_margins: FloatArray
    gains: Mapping[str, FloatArray]
    element_margins: Mapping[str, FloatArray]
    suggested: Mapping[str, FloatArray] | None

    @property
    def is_stable(self) -> bool:
        """Whether nothing grows at any pose."""
        return bool((self.spectral_radii <= STABLE).all())

    @property
    def margin(self) -> float:
        """The least of all poses."""
        return float(self.pose_margins.min())


def find_margins(
    library: Library,
    law: str,
    gains: Mapping[str, ArrayLike],
    poses: FloatArray,
    timing: Timing,
    scaled: Sequence[str] = ("K_d",),
) -> Margins:
    """Compute the margins of a compiled law.

    Args:
        library: The compiled robot.
        law: Name of the law.
        gains: By name; others have their defaults.
        poses: Where, shape (k, n) [rad or m].
        timing: Of the loop.
        scaled: Names of the gains that are scaled, different ones.

    Raises:
        NameNotFoundError: if there is no such law or gain.
        LawError: if a gain is out of bounds, or a step at a pose is not finite.
        ModelError: if the mass matrix cannot be inverted at a pose.
    """
    loops = _Loops(library, law, gains, poses, timing, scaled)
    size, each = loops.values.size, range(len(poses))
    poles = [loops.poles(pose, np.ones(size)) for pose in each]
    margins = np.array([loops.largest([pose], np.ones(size, dtype=bool)) for pose in each])
    factors = _wanted_factors(loops) if margins.all() else None
    return Margins(
        poses.copy(),
        np.array([np.abs(found).max() for found in poles]),
        np.array([_damping(found) for found in poles]),
        margins,
        loops.by_name(loops.values),
        loops.by_name(np.array([loops.largest(each, one) for one in np.eye(size, dtype=bool)])),
        None if factors is None else loops.by_name(factors * loops.values),
    )


class _Loops:
    """The law and its arm, about each of several poses; `factors` scale the elements of the gains, flat."""

    def __init__(
        self,
        library: Library,
        law: str,
        gains: Mapping[str, ArrayLike],
        poses: FloatArray,
        timing: Timing,
        scaled: Sequence[str],
    ) -> None:
        if any(entry.name == "motor_position" for entry in library.law(law).measurements):
            raise LawError("a law that measures the motors of elastic joints", where=law, valid="laws for rigid joints")
        options = Options(nominal_dt=1.0 / timing.rate, measurement_timeout=2.0 / timing.rate)
        self._law = RestingLaw(library, law=law, gains=gains, options=options)
        self._names = scaled
        self._arms = [arm_at(library, q, timing) for q in poses]
        upper = {entry.name: np.ravel(entry.upper, order="F") for entry in library.law(law).gains}
        for name in scaled:
            if name not in upper:
                raise NameNotFoundError(f"no gain '{name}'", where=law, valid=nearest(name, upper))
        self.values = np.concatenate([self._law.gain(name) for name in scaled])
        self._upper = np.concatenate([upper[name] for name in scaled])
        self.poses = poses

    def by_name(self, values: FloatArray) -> dict[str, FloatArray]:
        """Values of all elements, by gain."""
        ends = np.cumsum([self._law.gain(name).size for name in self._names])
        return dict(zip(self._names, np.split(values, ends[:-1]), strict=True))

    def poles(self, pose: int, factors: FloatArray) -> NDArray[np.complex128]:
        """Eigenvalues over one period."""
        for name, values in self.by_name(np.minimum(factors * self.values, self._upper)).items():
            self._law.set_gain(name, values)
        return np.linalg.eigvals(self._arms[pose].closed(*self._law.feedback(self.poses[pose]))).astype(complex)

    def spectral_radius(self, pose: int, factors: FloatArray) -> float:
        """Growth over one period of what grows most."""
        return float(np.abs(self.poles(pose, factors)).max())

    def largest(self, poses: Sequence[int], scaled: NDArray[np.bool_]) -> float:
        """The largest factor of some elements that is stable at all of the poses; infinite where only bounds end it."""
        acting = scaled & (self.values > 0.0)
        most = float(np.min(self._upper[acting] / self.values[acting], initial=LARGEST_FACTOR))

        def is_stable(factor: float) -> bool:
            factors = np.where(scaled, factor, 1.0)
            return all(self.spectral_radius(pose, factors) <= STABLE for pose in poses)

        factor = largest_factor(is_stable, most)
        return np.inf if factor >= most else factor


def _wanted_factors(loops: _Loops) -> FloatArray | None:
    """Factors of the elements, up to 1, that leave the wanted margin at all poses; None: none are found.

    Step by step, what is lowered is the element that calms the most unstable pose most. So a light last joint does not
    lower the gain of the whole arm.
    """
    factors = np.ones(loops.values.size)
    tried = [(wide, pose) for wide in (WANTED_MARGIN, 1.0) for pose in range(len(loops.poses))]
    while (is_free := factors > 1.0 / LARGEST_FACTOR).any():
        radii = [loops.spectral_radius(pose, wide * factors) for wide, pose in tried]
        if max(radii) <= STABLE:
            return factors
        wide, pose = tried[int(np.argmax(radii))]
        lowered = np.where(np.eye(len(factors), dtype=bool), LOWERING * factors, factors)[is_free]
        factors = lowered[np.argmin([loops.spectral_radius(pose, wide * one) for one in lowered])]
    return None


def largest_factor(is_stable: Callable[[float], bool], most: float) -> float:
    """Find the largest stable factor next to 1, up to `most` ≥ 1 and within `PRECISION`; 0 if none is."""
    stable = 1.0
    if is_stable(stable):
        while stable < most and is_stable(min(2.0 * stable, most)):
            stable = min(2.0 * stable, most)
        if stable == most:
            return most
    else:
        while not is_stable(stable := 0.5 * stable):
            if stable < 1.0 / LARGEST_FACTOR:
                return 0.0
    unstable = min(2.0 * stable, most)
    while unstable > (1.0 + PRECISION) * stable:
        middle = float(np.sqrt(stable * unstable))
        stable, unstable = (middle, unstable) if is_stable(middle) else (stable, middle)
    return stable


def _damping(poles: NDArray[np.complex128]) -> float:
    """Least damping ratio; eigenvalues at 0 are delays, those at 1 motions that the law leaves free."""
    modes = poles[(np.abs(poles) > 1e-6) & (np.abs(poles - 1.0) > STABLE - 1.0)]
    exponents = np.log(modes)
    return float(np.min(-exponents.real / np.abs(exponents), initial=1.0))
