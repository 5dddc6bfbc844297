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

from thunder_controllers.analysis.feedback import RestingLaw
from thunder_controllers.analysis.sampled_loop import Timing, arm_at
from thunder_controllers.host import Library, Options, feedback_margin, margin_poses
from thunder_dynamics.errors import LawError

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

INSIDE = 0.05
"""Share of a joint's range at either end where no pose is sampled: there the host's soft stops may act."""


@dataclass(frozen=True)
class PoseMargin:
    """The loop about one pose.

    Attributes:
        q: The pose, shape (n,) [rad or m].
        spectral_radius: Largest modulus of the eigenvalues over one period; stable below 1.
        damping: Least damping ratio of its modes; negative where one grows.
        margin: Largest stable factor of all that is scaled. 0: none is; infinite: all that the bounds allow.
        element_margins: The same of each element alone, by gain, flat.
    """

    q: FloatArray
    spectral_radius: float
    damping: float
    margin: float
    element_margins: Mapping[str, FloatArray]

    @property
    def is_stable(self) -> bool:
        """Whether nothing grows."""
        return self.spectral_radius <= STABLE


@dataclass(frozen=True)
class Margins:
    """The loop about several poses.

    Attributes:
        poses: Each by itself, at least one.
        gains: What is scaled, as it is, by name, flat.
        suggested: Lowered, element by element, until the margin is `WANTED_MARGIN` at all poses; None if that does not
            help, or a pose has no margin at all.
    """

    poses: tuple[PoseMargin, ...]
    gains: Mapping[str, FloatArray]
    suggested: Mapping[str, FloatArray] | None

    @property
    def is_stable(self) -> bool:
        """Whether nothing grows at any pose."""
        return all(pose.is_stable for pose in self.poses)

    @property
    def margin(self) -> float:
        """The least of all poses."""
        return min(pose.margin for pose in self.poses)

    @property
    def element_margins(self) -> dict[str, FloatArray]:
        """The least of all poses, of each element alone."""
        return {name: np.min([pose.element_margins[name] for pose in self.poses], axis=0) for name in self.gains}


def sample_poses(library: Library, count: int, seed: int | None) -> FloatArray:
    """Choose poses evenly within the joint limits, shape (count, n); a joint without limits turns by ±π.

    Without a seed they are those that the host looks at when it is configured; with one they are drawn at random.

    Raises:
        LawError: if `count` is not positive or `seed` is negative.
    """
    if count < 1 or (seed or 0) < 0:
        raise LawError(f"{count} poses, seed {seed}", where="poses", valid="at least one, and no negative seed")
    if seed is None:
        return margin_poses(library, count)
    lower = np.where(np.isfinite(library.position_lower), library.position_lower, -np.pi)
    upper = np.where(np.isfinite(library.position_upper), library.position_upper, np.pi)
    share = np.random.default_rng(seed).uniform(INSIDE, 1.0 - INSIDE, (count, library.n_joints))
    return np.array(lower + share * (upper - lower))


def fastest_pose(library: Library, law: str, gains: Mapping[str, ArrayLike], rate: float) -> FloatArray:
    """Where the host finds the fastest velocity feedback when it is configured, shape (1, n); (0, n) if nowhere.

    Raises:
        NameNotFoundError: if there is no such law or gain.
        LawError: if a gain is out of bounds.
    """
    options = Options(nominal_dt=1.0 / rate, measurement_timeout=2.0 / rate)
    found = feedback_margin(library, law=law, gains=gains, options=options)
    return np.reshape([] if found is None else found.q, (-1, library.n_joints))


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
        poses: Where, shape (count, n) [rad or m].
        timing: Of the loop.
        scaled: Names of the gains that are scaled, different ones.

    Raises:
        NameNotFoundError: if there is no such law or gain.
        LawError: if a gain is out of bounds, or the law does not hold a pose.
        ModelError: if the mass matrix cannot be inverted at a pose.
    """
    loops = _Loops(RestingLaw(library, law, gains, 1.0 / timing.rate), scaled, library, poses, timing)
    found = tuple(_pose_margin(loops, pose) for pose in range(len(poses)))
    factors = _wanted_factors(loops) if all(pose.margin > 0.0 for pose in found) else None
    suggested = None if factors is None else loops.by_name(factors * loops.values)
    return Margins(found, loops.by_name(loops.values), suggested)


class _Loops:
    """The law and its arm, about each of several poses; `factors` scale the elements of the gains, flat."""

    def __init__(
        self, law: RestingLaw, scaled: Sequence[str], library: Library, poses: FloatArray, timing: Timing
    ) -> None:
        self._law = law
        self._entries = [law.gain_entry(name) for name in scaled]
        self._upper = np.concatenate([np.ravel(entry.upper, order="F") for entry in self._entries])
        self._arms = [arm_at(library, q, timing) for q in poses]
        self.values = np.concatenate([law.gain(name) for name in scaled])
        self.poses = poses

    def by_name(self, values: FloatArray) -> dict[str, FloatArray]:
        """Values of all elements, by gain."""
        ends = np.cumsum([entry.size for entry in self._entries])
        return {entry.name: part for entry, part in zip(self._entries, np.split(values, ends[:-1]), strict=True)}

    def poles(self, pose: int, factors: FloatArray) -> NDArray[np.complex128]:
        """Eigenvalues over one period."""
        for name, values in self.by_name(np.minimum(factors * self.values, self._upper)).items():
            self._law.set_gain(name, values)
        self._law.rest_at(self.poses[pose])
        return np.linalg.eigvals(self._arms[pose].closed(self._law.feedback())).astype(complex)

    def spectral_radius(self, pose: int, factors: FloatArray) -> float:
        """Growth over one period of what grows most."""
        return float(np.abs(self.poles(pose, factors)).max())

    def largest(self, pose: int, scaled: NDArray[np.bool_]) -> float:
        """The largest stable factor of some elements; infinite where only their bounds end it."""
        acting = scaled & (self.values > 0.0)
        most = float(np.min(self._upper[acting] / self.values[acting], initial=LARGEST_FACTOR))
        factor = largest_factor(lambda f: self.spectral_radius(pose, np.where(scaled, f, 1.0)) <= STABLE, most)
        return np.inf if factor >= most else factor


def _pose_margin(loops: _Loops, pose: int) -> PoseMargin:
    size = loops.values.size
    poles = loops.poles(pose, np.ones(size))
    margin = loops.largest(pose, np.ones(size, dtype=bool))
    alone = loops.by_name(np.array([loops.largest(pose, one) for one in np.eye(size, dtype=bool)]))
    return PoseMargin(loops.poses[pose].copy(), float(np.abs(poles).max()), _damping(poles), margin, alone)


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
