"""What a link carries: its estimated parameters less those of the robot file, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_controllers.identification.evidence import Evidence, gather
from thunder_controllers.identification.information import LENGTH, SCALE, columns_of
from thunder_controllers.identification.motion import Record
from thunder_dynamics.inertia import DYN_NAMES, Inertia

FloatArray = NDArray[np.float64]

TRUSTED = 0.1
"""Largest standard deviation of what is trusted: mass over m, CoM over `LENGTH`, inertia over m and its square."""

LEAST_MASS = 0.1
"""m of a lighter body [kg]."""

SEEN = 3.0
"""Standard deviations of its mass that a body must weigh to have a centre."""

STEP = 1e-6
"""Of central differences, over `SCALE`."""


@dataclass(frozen=True)
class FoundBody:
    """A body by its own parameters.

    Attributes:
        dyn: [m, cx, cy, cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz], inertia about its CoM, in the link's frame, (10,); all but
            the mass are NaN where it is too light to have a centre.
        std: Standard deviation of each (10,).
    """

    dyn: FloatArray
    std: FloatArray

    @classmethod
    def of(cls, pi: FloatArray, covariance: FloatArray) -> FoundBody:
        """Convert from the REG form, with its covariance (10, 10)."""
        std = np.sqrt(np.diag(covariance))
        if abs(pi[0]) <= SEEN * std[0]:
            return cls(np.array([pi[0], *[np.nan] * 9]), np.array([std[0], *[np.nan] * 9]))
        steps = STEP * np.diag(SCALE)
        ends = [(Inertia.from_pi(pi + step).dyn - Inertia.from_pi(pi - step).dyn) for step in steps]
        jacobian = np.transpose(ends) / (2.0 * STEP * SCALE)
        return cls(Inertia.from_pi(pi).dyn, np.sqrt(np.diag(jacobian @ covariance @ jacobian.T)))

    @classmethod
    def about_origin(cls, pi: FloatArray, covariance: FloatArray) -> FoundBody:
        """The same with the inertia about the origin of the link's frame, as estimates are shown."""
        m, jacobian = pi[0], np.eye(10)
        seen = abs(m) > SEEN * np.sqrt(covariance[0, 0])
        c = pi[1:4] / m if seen else np.full(3, np.nan)
        jacobian[1:4, 0], jacobian[1:4, 1:4] = (-c / m, np.eye(3) / m) if seen else (np.nan, np.nan)
        std = np.sqrt(np.diag(jacobian @ covariance @ jacobian.T))
        return cls(np.array([m, *c, *pi[4:]]), std)

    def trusted(self) -> tuple[str, ...]:
        """Names of those parameters whose standard deviation is small beside the body, as `TRUSTED` has it."""
        return self._small(self.std)

    def near(self, other: FoundBody) -> tuple[str, ...]:
        """Names of those parameters that differ from the other body's by as little."""
        return other._small(np.abs(self.dyn - other.dyn))

    def _small(self, deviations: FloatArray) -> tuple[str, ...]:
        mass = max(abs(self.dyn[0]), LEAST_MASS)
        scale = np.array([mass, *[LENGTH] * 3, *[mass * LENGTH**2] * 6])
        return tuple(name for name, one, s in zip(DYN_NAMES, deviations, scale, strict=True) if one <= TRUSTED * s)


@dataclass(frozen=True)
class Payload:
    """What a link carries beside what the robot file says of it.

    Attributes:
        link: Its name.
        estimate: By the law's last estimate, with the standard deviations that the motion allows.
        fit: By least squares on the record, with the same; where both differ by more than that, the estimate has not
            settled, or the law does not know something.
        evidence: What the motion said.
    """

    link: str
    estimate: FoundBody
    fit: FoundBody
    evidence: Evidence

    def document(self) -> dict[str, Any]:
        """For metrics.json: numbers are finite or null."""
        bodies = {"estimate": self.estimate.dyn, "fit": self.fit.dyn, "std": self.fit.std}
        return {
            "link": self.link,
            **{name: named(values) for name, values in bodies.items()},
            "trusted": list(self.fit.trusted()),
            "least_information": self.evidence.least_information,
            "condition": _finite(self.evidence.condition),
        }


def find_payload(
    library: Library, estimates: Mapping[str, FloatArray], q: FloatArray, effort: FloatArray, rate: float
) -> Payload | None:
    """Say what the last of the estimated links carries.

    Args:
        library: Of the robot; its π is the nominal one.
        estimates: π̂ of each adapted link at the end (10,); those of the others are taken as they are.
        q: Measured positions since the link carries that (N, n).
        effort: Applied (N, n) [N·m or N].
        rate: Of both [Hz].

    Returns:
        None without estimates, or where the record says nothing: see `gather`.
    """
    return payload_of(library, estimates, gather(library, estimates, Record.of_held(q, effort, rate)))


def payload_of(library: Library, estimates: Mapping[str, FloatArray], found: Mapping[str, Evidence]) -> Payload | None:
    """Say the same from what `gather` found for these estimates."""
    if not found:
        return None
    link = list(estimates)[-1]
    nominal = np.asarray(library.pi)[columns_of(library.link_names.index(link))]
    estimate, fit = (FoundBody.of(pi - nominal, found[link].covariance) for pi in (estimates[link], found[link].fit))
    return Payload(link, estimate, fit, found[link])


def named(dyn: FloatArray) -> dict[str, float | None]:
    """Numbers of a body by their names; null those that are not finite."""
    return dict(zip(DYN_NAMES, map(_finite, dyn), strict=True))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
