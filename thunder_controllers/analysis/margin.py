"""How far gains are from instability: eigenvalues of the sampled loop about poses at rest.

What is scaled is one gain, the feedback on s (`K_d`), which delay and sampling bound. The rest of the step stays as it
is, the velocity feedback M̂Λ of q̈_r included. Each factor is tried on the compiled law itself; the largest stable one is
bracketed by doubling or halving from 1, then bisected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.analysis.feedback import RestingLaw
from thunder_controllers.analysis.sampled_loop import Timing, arm_at
from thunder_controllers.host import Library
from thunder_dynamics.errors import LawError

FloatArray = NDArray[np.float64]

MARGINAL = 1e-9
"""Growth per period that counts as none: of a motion that the law leaves free."""

LARGEST_FACTOR = 1024.0
"""Factors beyond this, or below its inverse, are not looked for; the bounds of a gain may end sooner."""

PRECISION = 1e-3
"""Of a factor, relative."""

WANTED_MARGIN = 2.0
"""Of a suggested gain: an arm half as heavy as its description, or a gain twice as large, is then just stable.

The classical gain margin of 6 dB. It covers what is not in the analysis: poses between those sampled, errors of the
inertia, a late step.
"""

LIMITING = 1.05
"""An element of the gain limits where growing it alone by this takes the margin away."""

INSIDE = 0.05
"""Share of a joint's range at either end where no pose is sampled: there the host's soft stops may act."""


@dataclass(frozen=True)
class PoseMargin:
    """The loop about one pose.

    Attributes:
        q: The pose, shape (n,) [rad or m].
        spectral_radius: Largest modulus of the eigenvalues over one period; stable below 1.
        damping: Least damping ratio of its modes; negative where one grows.
        margin: Largest stable factor of the whole gain; 0: none is.
        joint_margins: The same of each of its elements alone, shape (size,).
    """

    q: FloatArray
    spectral_radius: float
    damping: float
    margin: float
    joint_margins: FloatArray

    @property
    def is_stable(self) -> bool:
        """Whether nothing grows."""
        return self.spectral_radius <= 1.0 + MARGINAL


@dataclass(frozen=True)
class Margins:
    """The loop about several poses.

    Attributes:
        poses: Each by itself, at least one.
        gain: As it is, flat.
        suggested: Lowered, per element and no further than needed, so that the margin is `WANTED_MARGIN` at all poses;
            None if lowering it does not do that.
    """

    poses: tuple[PoseMargin, ...]
    gain: FloatArray
    suggested: FloatArray | None

    @property
    def is_stable(self) -> bool:
        """Whether nothing grows at any pose."""
        return all(pose.is_stable for pose in self.poses)

    @property
    def margin(self) -> float:
        """The least of all poses."""
        return min(pose.margin for pose in self.poses)

    @property
    def joint_margins(self) -> FloatArray:
        """The least of all poses, per element of the gain."""
        return np.array(np.min([pose.joint_margins for pose in self.poses], axis=0))


def sample_poses(library: Library, count: int, seed: int) -> FloatArray:
    """Draw poses evenly within the joint limits, shape (count, n); a joint without limits turns by ±π.

    Raises:
        LawError: if `count` is not positive or `seed` is negative.
    """
    if count < 1 or seed < 0:
        raise LawError(f"{count} poses, seed {seed}", where="poses", valid="at least one, and no negative seed")
    lower = np.where(np.isfinite(library.position_lower), library.position_lower, -np.pi)
    upper = np.where(np.isfinite(library.position_upper), library.position_upper, np.pi)
    share = np.random.default_rng(seed).uniform(INSIDE, 1.0 - INSIDE, (count, library.n_joints))
    return np.array(lower + share * (upper - lower))


def find_margins(
    library: Library, law: str, gains: Mapping[str, ArrayLike], poses: FloatArray, timing: Timing, gain: str = "K_d"
) -> Margins:
    """Compute the margins of a compiled law.

    Args:
        library: The compiled robot.
        law: Name of the law.
        gains: By name; others have their defaults.
        poses: Where, shape (count, n) [rad or m].
        timing: Of the loop.
        gain: Name of the gain that is scaled.

    Raises:
        NameNotFoundError: if there is no such law or gain.
        LawError: if a gain is out of bounds, or the law does not hold a pose.
        ModelError: if the mass matrix cannot be inverted at a pose.
    """
    loops = _Loops(library, law, gains, gain, poses, timing)
    found = tuple(_pose_margin(loops, pose) for pose in range(len(poses)))
    factors = _wanted_factors(loops)
    return Margins(found, loops.gain, None if factors is None else factors * loops.gain)


class _Loops:
    """The law and its arm, about each of several poses; `factors` scale the elements of the gain."""

    def __init__(
        self,
        library: Library,
        law: str,
        gains: Mapping[str, ArrayLike],
        gain: str,
        poses: FloatArray,
        timing: Timing,
    ) -> None:
        self._law = RestingLaw(library, law, gains, 1.0 / timing.rate)
        self._name = gain
        self._upper = np.ravel(self._law.gain_entry(gain).upper, order="F")
        self._arms = [arm_at(library, q, timing) for q in poses]
        self.gain = self._law.gain(gain)
        self.poses = poses

    def poles(self, pose: int, factors: FloatArray) -> NDArray[np.complex128]:
        """Eigenvalues over one period."""
        self._law.set_gain(self._name, np.minimum(factors * self.gain, self._upper))
        self._law.rest_at(self.poses[pose])
        return np.linalg.eigvals(self._arms[pose].closed(self._law.feedback())).astype(complex)

    def is_stable(self, pose: int, factors: FloatArray) -> bool:
        """Whether nothing grows."""
        return bool(np.abs(self.poles(pose, factors)).max() <= 1.0 + MARGINAL)

    def largest(self, pose: int, scaled: NDArray[np.bool_]) -> float:
        """The largest stable factor of some elements of the gain; infinite where only its bounds end it."""
        acting = scaled & (self.gain > 0.0)
        most = float(np.min(self._upper[acting] / self.gain[acting], initial=LARGEST_FACTOR))
        factor = largest_factor(lambda f: self.is_stable(pose, np.where(scaled, f, 1.0)), most)
        return np.inf if factor >= most else factor


def _pose_margin(loops: _Loops, pose: int) -> PoseMargin:
    size = loops.gain.size
    poles = loops.poles(pose, np.ones(size))
    margin = loops.largest(pose, np.ones(size, dtype=bool))
    joint_margins = np.array([loops.largest(pose, one) for one in np.eye(size, dtype=bool)])
    return PoseMargin(loops.poses[pose].copy(), float(np.abs(poles).max()), _damping(poles), margin, joint_margins)


def _wanted_factors(loops: _Loops) -> FloatArray | None:
    """Factors of the elements, as large as possible up to 1, that leave the wanted margin; None: there are none.

    All are lowered together until they do; those that limit stay there, and the rest is tried anew. So a light last
    joint does not lower the gain of the whole arm.
    """
    every = range(len(loops.poses))

    def has_margin(factors: FloatArray) -> bool:
        return all(loops.is_stable(pose, f * factors) for f in (WANTED_MARGIN, 1.0) for pose in every)

    def level_of(is_free: NDArray[np.bool_], factors: FloatArray) -> float:
        return largest_factor(lambda level: has_margin(np.where(is_free, level, factors)), 1.0)

    factors = np.ones(loops.gain.size)
    is_free = factors > 0.0
    while not has_margin(factors):
        level = level_of(is_free, factors)
        if level == 0.0:
            return None
        lowered = np.where(is_free, level, factors)
        grown = np.where(np.eye(len(factors), dtype=bool), LIMITING * lowered, lowered)
        limits = is_free & [not has_margin(one) for one in grown]
        is_free &= ~limits if limits.any() else False
        factors = np.where(is_free, 1.0, lowered)
    return factors


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
    modes = poles[(np.abs(poles) > 1e-6) & (np.abs(poles - 1.0) > MARGINAL)]
    exponents = np.log(modes)
    return float(np.min(-exponents.real / np.abs(exponents), initial=1.0))
