"""What a link carries: its estimated parameters less those of the robot file, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Library
from thunder_controllers.identification.information import (
    LENGTH,
    SCALE,
    columns_of,
    explain,
    fit_columns,
    joint_terms,
    regressor,
)
from thunder_controllers.identification.motion import Fault, Motion, Record, UnsoundError
from thunder_controllers.identification.robot_fit import (
    LARGEST_SURPRISE,
    find_base,
    motion_of,
    rms,
)
from thunder_dynamics.inertia import DYN_NAMES, N_PARAMETERS, Inertia

FloatArray = NDArray[np.float64]

EXPLAINED = 4
"""Numbers fitted per joint: its friction, rotor and delay."""

TRUSTED = 0.1
"""Largest standard deviation of what is trusted: mass over m, CoM over `LENGTH`, inertia over m and its square."""

LEAST_MASS = 0.1
"""m of a lighter body [kg]."""

SEEN = 3.0
"""Standard deviations of its mass that a body must weigh to have a centre."""

STEP = 1e-6
"""Of central differences, over `SCALE`."""


@dataclass(frozen=True)
class Evidence:
    """What a motion says of π of a link, with friction, rotors and delays of the joints unknown.

    Attributes:
        fit: π by least squares (10,), REG order; without any information, what was believed.
        covariance: Of that (10, 10), from the information and the noise that is left.
        least_information: Smallest eigenvalue of ∫WᵀW dt over `SCALE`, W the link's regressor less what friction and
            rotors can be instead [N²m²s/kg²].
        condition: Of W over `SCALE`.
    """

    fit: FloatArray
    covariance: FloatArray
    least_information: float
    condition: float


def gather(library: Library, estimates: Mapping[str, FloatArray], record: Record) -> dict[str, Evidence]:
    """Look at a motion of all joints, for what it says of each estimated link.

    What a joint's friction, rotor and delay explain is left out, so is a joint where it is slow, and rows are weighted
    by the noise of their joints.

    Args:
        library: Of the robot, for its regressor.
        estimates: π̂ of links by name, (10,): of a link's own that is no evidence, others are taken as they are, and
            those without estimate as the robot's π says.
        record: Of the motion.

    Returns:
        By link; nothing where the motion is too short, or not all of it was measured.
    """
    if not estimates or record.flaw:
        return {}
    motion = Motion.of(record)
    Y = regressor(library, motion.q, motion.qd, motion.qdd)
    columns = {name: columns_of(library.link_names.index(name)) for name in estimates}
    believed = np.array(library.pi)
    for name, pi in estimates.items():
        believed[columns[name]] = pi
    return {name: _of_link(motion, Y, believed, own) for name, own in columns.items()}


def _of_link(motion: Motion, Y: FloatArray, believed: FloatArray, own: slice) -> Evidence:
    """Of the link whose parameters are `own` of all."""
    believed = believed.copy()
    believed[own] = 0.0
    used = motion.used[:, :, None]
    rows = np.concatenate([Y[:, :, own] / SCALE, (motion.effort - Y @ believed)[:, :, None]], axis=2)
    B = np.concatenate([joint_terms(motion.qd, motion.sign, motion.qdd), motion.effort_rate[:, :, None]], axis=2)
    _, left = explain(used * rows, used * B)
    W = left[:, :, :-1]
    fit, _ = fit_columns(W, left[:, :, -1], motion.used, EXPLAINED)
    eigenvalues = np.linalg.eigvalsh(np.einsum("tjk,tjl->kl", W, W)) * motion.period
    least, most = max(eigenvalues[0], 0.0), eigenvalues[-1]
    condition = float(np.sqrt(most / least)) if least > 0.0 else np.inf
    return Evidence(fit.x / SCALE, fit.covariance / np.outer(SCALE, SCALE), float(least), condition)


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
        std = _deviations(np.eye(10), covariance)
        if abs(pi[0]) <= SEEN * std[0]:
            return cls(np.array([pi[0], *[np.nan] * 9]), np.array([std[0], *[np.nan] * 9]))
        steps = STEP * np.diag(SCALE)
        ends = [(Inertia.from_pi(pi + step).dyn - Inertia.from_pi(pi - step).dyn) for step in steps]
        jacobian = np.transpose(ends) / (2.0 * STEP * SCALE)
        return cls(Inertia.from_pi(pi).dyn, _deviations(jacobian, covariance))

    @classmethod
    def about_origin(cls, pi: FloatArray, covariance: FloatArray) -> FoundBody:
        """The same with the inertia about the origin of the link's frame, as estimates are shown."""
        m, jacobian = pi[0], np.eye(10)
        seen = abs(m) > SEEN * np.sqrt(covariance[0, 0])
        c = pi[1:4] / m if seen else np.full(3, np.nan)
        jacobian[1:4, 0], jacobian[1:4, 1:4] = (-c / m, np.eye(3) / m) if seen else (np.nan, np.nan)
        std = _deviations(jacobian, covariance)
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


def _deviations(jacobian: FloatArray, covariance: FloatArray) -> FloatArray:
    """√diag(J Σ Jᵀ), by the factor of Σ: by itself rounding makes variances negative where Σ has great ones too."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(np.linalg.norm(jacobian @ vectors * np.sqrt(np.fmax(values, 0.0)), axis=1))


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


@dataclass(frozen=True)
class Difference:
    """What an arm carries in one record and not in another.

    Attributes:
        body: In the frame of the last link.
        noise: Root mean square of what is left of each joint's effort, without and with it (2, n) [N·m or N].
        alone: The same if each record is fitted by parameters of its own.
    """

    body: FoundBody
    noise: FloatArray
    alone: FloatArray

    def check_sound(self, joint_names: Sequence[str]) -> None:
        """Raise unless a body explains all of the difference, and its mass is told.

        Raises:
            UnsoundError: saying of which joint it does not, or that no mass is told.
        """
        worse = (self.noise / self.alone).max(axis=0)
        joint = int(np.argmax(worse))
        if not worse[joint] <= LARGEST_SURPRISE:
            text = f"{joint_names[joint]}: one arm and a body leave {worse[joint]:.3g} times what two arms leave"
            valid = f"at most {LARGEST_SURPRISE:g}: both records of one arm, body at the last link"
            raise UnsoundError(text, valid=valid, fault=Fault.UNEXPLAINED)
        if DYN_NAMES[0] not in self.body.trusted():
            text = f"its mass is {self.body.dyn[0]:.3g} ± {self.body.std[0]:.2g} kg"
            valid = f"a deviation of at most {TRUSTED:g} of it: a longer or faster motion"
            raise UnsoundError(text, valid=valid, fault=Fault.UNEXCITED)


def payload_by_difference(library: Library, loaded: Record, without: Record, rotors: bool = False) -> Difference:
    """Fit both records at once: base parameters, friction and offsets that they share, and ten of a body in one.

    What the robot file says of the links does not count, so that links, gains and offsets that are wrong do not end up
    in the payload as they do for `find_payload`. The last link is the one that carries.

    Args:
        library: Of the robot.
        loaded: Of a motion with the body.
        without: Of one without it, which may be another one.
        rotors: Whether the inertia of rotors is fitted; if not, they are those of the robot file.

    Raises:
        UnsoundError: if a record is too short or not all of it was measured.
    """
    motions = [motion_of(library, record, rotors) for record in (without, loaded)]
    whole, base = find_base(library, rotors, loaded.drives)
    kept, last = list(base.kept), columns_of(library.n_joints - 1)
    wholes = [whole(one.q, one.qd, one.qdd, one.sign) for one in motions]
    columns = [np.concatenate([Y[:, :, kept], carries * Y[:, :, last]], axis=2) for carries, Y in enumerate(wholes)]
    effort, used = np.concatenate([one.effort for one in motions]), np.concatenate([one.used for one in motions])
    fit, _ = fit_columns(np.concatenate(columns), effort, used)
    alone = [fit_columns(Y[:, :, kept], one.effort, one.used)[0] for one, Y in zip(motions, wholes, strict=True)]
    return Difference(
        FoundBody.of(fit.x[-N_PARAMETERS:], fit.covariance[-N_PARAMETERS:, -N_PARAMETERS:]),
        np.array([rms(one.effort - W @ fit.x, one.used) for one, W in zip(motions, columns, strict=True)]),
        np.sqrt([one.variance for one in alone]),
    )


def named(dyn: FloatArray) -> dict[str, float | None]:
    """Numbers of a body by their names; null those that are not finite."""
    return dict(zip(DYN_NAMES, map(_finite, dyn), strict=True))


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
