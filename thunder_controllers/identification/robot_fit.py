"""What the record of a motion says of a whole robot: base parameters, bodies that can exist, friction and rotors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from thunder_controllers.host import Library
from thunder_controllers.identification.alternatives import Cause, Fitting
from thunder_controllers.identification.consistency import Divergence, consistent_fit
from thunder_controllers.identification.diagnosis import (
    STRIBECK_SPEEDS,
    Diagnosis,
    Stribeck,
    Suspicion,
    diagnose,
    find_stribeck,
    look,
)
from thunder_controllers.identification.information import (
    LEAST_VARIANCE,
    SIGN_SPEED,
    UNKNOWN,
    Fit,
    columns_of,
    fit_columns,
    joint_terms,
    regressor,
    rotor_effort,
)
from thunder_controllers.identification.motion import AT_REST, Fault, Motion, Record, UnsoundError, stribeck_columns
from thunder_dynamics.algorithms.base_parameters import BaseParameters, find_base_parameters, parameter_names
from thunder_dynamics.inertia import N_PARAMETERS, Inertia, nearest_consistent, parallel_axis, symmetric_from_six
from thunder_dynamics.model import RobotModel

FloatArray = NDArray[np.float64]

TERMS = ("viscous", "coulomb", "offset", "rotor")
"""Of each joint, in the order of the columns: the offset is a constant effort [N·m or N].

Coulomb friction that differs by direction is Coulomb friction and offset: k₊ = k + o forward, k₋ = k − o backward.
"""

GAIN_TOLD, GAIN_PASSES = 0.05, 4
"""Standard deviation up to which a drive's gain is told [1]; fits after each other until none is wrong."""

OFFSET = TERMS.index("offset")

ROTOR_TOLD = 0.2
"""Standard deviation of a rotor's inertia up to which it is told, as a share: 30 % wrong serves a controller."""

FRICTION = (".viscous", ".coulomb")
"""Endings of the names of coefficients that are not negative."""

ROWS = 5
"""Least number of efforts for each unknown: a shorter record tells noise."""

MEANT = 1e-4
"""Tolerance of base parameters: rounded angles of a description are what they are meant to be; noise hides the rest."""

SLOW = 0.2
"""Share of a joint's largest speed: friction of light joints in MuJoCo is whole from some 0.2 rad/s on, and samples at
less, which `motion.SLOW` keeps, would make it viscous.

Of eight shares from 0.02 to 0.4, judged by the geometric mean of the relative errors of viscous and Coulomb friction
and of base parameters, on 22 random records of a Panda, a UR5 and a planar arm, 12 of them by MuJoCo: the half that
chose has its least at 0.25, 2 % below 0.2; on the other half that is 5 % above it, and 0.15 is best, 10 % below. In
MuJoCo 0.1 is a third worse in both halves, by tanh a quarter or more better; 0.02 and 0.4 are worse overall.
"""

HELD_OUT = 0.25
"""Share of the record, its end, that is predicted and not fitted."""

LARGEST_CONDITION = 700.0
"""Of the regressor with columns of unit norm, rows weighted: a motion that excites all has some 100.

Of 200 random motions of five arms, those of up to 560 tell base parameters to 1 % in 120 s, two of 760 and 950 to 2 %,
and from 1900 on, where joints stand still or all are slow, they tell nothing: `thunder experiment identification`.
"""

LARGEST_SURPRISE, LEVEL = 1.5, 0.99
"""Residual of what was held out over what the fit claims, noise and deviations of parameters together, per joint; or
what that share of chances keeps to, where few independent samples are left."""

LARGEST_DOUBT = 0.1
"""Deviation of the base parameters over their norm: a record that tells less is no better than a data sheet."""

UNIT = 100.0
"""Least ratio of efforts over the robot file's that is one of units: no file is as wrong."""

LARGEST_SHARE = 0.3
"""Residual over the effort, root mean squares, per joint: beyond it something else moves the joint."""

NEVER_ZERO = 1e-3
"""Prior of a coefficient of friction or a rotor that the fit finds at none [SI]."""

LEAST_MASS = 1e-3
"""Of a link that is fitted as a body, at first [kg]."""

THIN = 1e-3
"""Least radius of gyration of one, at first [m]."""


@dataclass(frozen=True, eq=False)
class RobotFit:
    """What was found.

    Attributes:
        base: Base parameters of bodies, friction and rotors together.
        fit: Their values, in the order of `base.kept`, from the fitted part.
        nominal: The same of the robot file, rotors that it does not know zero.
        condition: Of the weighted regressor with columns of unit norm.
        links: Indices of those whose parameters were fitted as bodies; the others are the robot file's.
        bodies: π of these (links, 10), all of which can exist.
        bodies_std: Standard deviations, those of the prior where nothing is known.
        joints: Viscous and Coulomb friction, offset, and rotor inertia if asked for, of every joint (n, 3 or 4); all
            but the offset are not negative.
        joints_std: Standard deviations.
        correlation: Samples of the residual that count as one of independent noise, (n,); deviations reckon with it.
        stribeck: Friction that falls with speed.
        diagnosis: What may be wrong with the record.
        held_out: The part that was not fitted.
        predicted: Its efforts by the base parameters (N, n).
        claimed: Standard deviations of what is left then, of noise and base parameters together (N, n).
        predicted_by_bodies: By the bodies, friction and rotors (N, n).
        gains: Relative errors of the drives' gains that were taken out of the record first, (n,).
        lag: How late the efforts of each joint are; what is found was taken out of the record.
        still: Whether each joint hardly moves (n,).
    """

    base: BaseParameters
    fit: Fit
    nominal: FloatArray
    condition: float
    links: tuple[int, ...]
    bodies: FloatArray
    bodies_std: FloatArray
    joints: FloatArray
    joints_std: FloatArray
    correlation: FloatArray
    stribeck: Stribeck
    diagnosis: Diagnosis
    held_out: Motion
    predicted: FloatArray
    claimed: FloatArray
    predicted_by_bodies: FloatArray
    gains: FloatArray
    lag: Suspicion
    still: NDArray[np.bool_]

    @property
    def offsets(self) -> tuple[FloatArray, FloatArray]:
        """Constant efforts of the joints and their standard deviations, each (n,) [N·m or N]."""
        return self.joints[:, OFFSET], self.joints_std[:, OFFSET]

    @property
    def rotors(self) -> tuple[FloatArray, FloatArray] | None:
        """Rotor inertias and their standard deviations, each (n,); None if they were not asked for."""
        column = TERMS.index("rotor")
        return (self.joints[:, column], self.joints_std[:, column]) if self.joints.shape[1] > column else None

    @property
    def std(self) -> FloatArray:
        """Standard deviations of the base parameters."""
        return np.sqrt(np.diag(self.fit.covariance))

    @property
    def noise(self) -> FloatArray:
        """Root mean square of what the fit leaves of each joint's effort (n,) [N·m or N]."""
        return np.sqrt(self.fit.variance)

    def residual(self, predicted: FloatArray) -> FloatArray:
        """Root mean square of what a prediction leaves of the efforts that were held out, where joints move (n,)."""
        return rms(self.held_out.effort - predicted, self.held_out.used)

    @property
    def chi2(self) -> FloatArray:
        """Mean square of what the base parameters leave of the held-out efforts, over what is claimed of it (n,)."""
        return rms((self.held_out.effort - self.predicted) / self.claimed, self.held_out.used) ** 2

    @property
    def largest_surprise(self) -> FloatArray:
        """What the residual of each joint that was held out may be over what is claimed of it, (n,)."""
        independent = np.fmax(self.held_out.used.sum(axis=0) / self.correlation, 1.0)
        return np.asarray(np.fmax(LARGEST_SURPRISE, np.sqrt(chdtri(independent, 1.0 - LEVEL) / independent)))

    def check_sound(self, joint_names: Sequence[str]) -> None:
        """Raise unless the motion told enough and the fit predicts what was held out.

        Raises:
            UnsoundError: saying what is wrong, and of which joint.
        """
        cause = self.diagnosis.cause(joint_names) if self.diagnosis.is_harmful() else None
        if self.still.any() or (self.diagnosis.other is None and not self.condition <= LARGEST_CONDITION):
            what = f"the motion does not excite all base parameters: condition {self.condition:.3g}"
            what += f", by {', '.join(self._weakest())} first"
            what += "".join(f"; {joint_names[k]} stands still" for k in np.flatnonzero(self.still).tolist())
            valid = f"up to {LARGEST_CONDITION:g}, such as a joint_excitation has"
            raise UnsoundError(what, valid=valid, fault=Fault.UNEXCITED)
        if cause is not None:
            raise cause
        effort = rms(self.held_out.effort, self.held_out.used)
        limits = {
            "what was fitted": self.largest_surprise * rms(self.claimed, self.held_out.used),
            "the effort": LARGEST_SHARE * effort,
        }
        for predicted in (self.predicted, self.predicted_by_bodies):
            residual = self.residual(predicted)
            for what, limit in limits.items():
                joint = int(np.argmax(residual - limit))
                if not residual[joint] <= limit[joint]:
                    text = f"{joint_names[joint]}: the prediction is wrong by {residual[joint]:.3g} N·m or N"
                    valid = f"at most {limit[joint]:.3g}, by the size of {what}"
                    raise UnsoundError(text, valid=valid, fault=Fault.UNEXPLAINED)
        if not self.doubt <= LARGEST_DOUBT:
            text = f"base parameters are known to {self.doubt:.2g} of their norm, {', '.join(self._weakest())} worst"
            valid = f"at most {LARGEST_DOUBT:g}: a longer, faster motion, or less noise"
            raise UnsoundError(text, valid=valid, fault=Fault.UNEXCITED)

    @property
    def doubt(self) -> float:
        """Norm of the deviations of the base parameters of bodies over that of the parameters."""
        bodies = np.array(self.base.kept) < N_PARAMETERS * len(self.noise)
        return float(np.linalg.norm(self.std[bodies]) / np.linalg.norm(self.fit.x[bodies]))

    def _weakest(self) -> list[str]:
        """Names of the base parameters that are the most of the direction that the motion tells least."""
        size = np.sqrt(np.diag(self.fit.information) + UNKNOWN**-2)
        direction = np.abs(np.linalg.eigh(self.fit.information / np.outer(size, size))[1][:, 0])
        return [self.base.names[self.base.kept[k]] for k in np.argsort(-direction)[:2]]


def terms_of_file(model: RobotModel) -> FloatArray:
    """Viscous and Coulomb friction and offset of every joint of a robot file, (n, 3), in the order of `TERMS`."""
    links = model.links
    return np.array([[x.friction[0] if x.friction else 0.0, x.coulomb, x.effort_offset] for x in links])


def fit_with_gains(
    library: Library, record: Record, links: Sequence[int], rotors: bool = False, friction: FloatArray | None = None
) -> RobotFit:
    """Fit as `fit_robot` does, with the relative gains of the drives that the motion tells.

    Efforts are divided by one plus the gain's error where that is known to `GAIN_TOLD`, until no joint has one beyond
    doubt. The gains of all other joints stay: no motion shows a factor that all efforts have in common.

    Returns:
        The last fit; its `gains` are the errors that were taken out.
    """
    gains = np.zeros(library.n_joints)
    for _ in range(GAIN_PASSES):
        found = fit_robot(library, replace(record, effort=record.effort / (1.0 + gains)), links, rotors, friction)
        wrong, taken = found.diagnosis.gains, gains
        told = wrong.found & (wrong.std < GAIN_TOLD)
        if not told.any():
            break
        gains = (1.0 + gains) * (1.0 + np.where(told, wrong.size, 0.0)) - 1.0
    return replace(found, gains=taken)


def fit_robot(
    library: Library, record: Record, links: Sequence[int], rotors: bool = False, friction: FloatArray | None = None
) -> RobotFit:
    """Fit base parameters, and the bodies of some links, to the record of a motion.

    Base parameters by weighted least squares; bodies, friction and rotors by the same weights with the log-det
    divergence from the robot file's bodies, which decides where the motion does not.

    Args:
        library: Of the robot.
        record: Of the motion.
        links: Indices of the links that are fitted as bodies; all others are as the robot file has them.
        rotors: Whether the inertia of rotors is fitted; if not, they are those of the robot file.
        friction: Viscous and Coulomb friction and offset of the robot file (n, 3), to compare with; none by default.

    Raises:
        UnsoundError: by `motion_of`.
    """
    motion = motion_of(library, record, rotors)
    still = np.asarray(~motion.used.any(axis=0))
    count = len(TERMS) if rotors else len(TERMS) - 1
    cut = round((1.0 - HELD_OUT) * len(motion.q))
    whole, base = find_base(library, rotors, record.drives)
    Y, kept = whole(motion.q, motion.qd, motion.qdd, motion.sign), list(base.kept)
    if Y.shape[1] * cut < ROWS * len(kept):
        seconds = ROWS * len(kept) * len(record.q) / (record.rate * Y.shape[1] * cut)
        text = f"{Y.shape[1] * cut} efforts for {len(kept)} unknowns"
        raise UnsoundError(text, valid=f"a record of at least {seconds:.1f} s", fault=Fault.SHORT)
    nominal_terms = np.zeros((library.n_joints, count))
    if friction is not None:
        nominal_terms[:, : OFFSET + 1] = friction
    nominal_terms[:, OFFSET + 1 :] = rotor_effort(library, np.ones(library.n_joints))[:, None]
    nominal = np.concatenate([library.pi, nominal_terms.ravel()])
    fitting = Fitting(
        lambda one: whole(one.q, one.qd, one.qdd, one.sign)[:, :, kept],
        tuple(k for k, place in enumerate(kept) if base.names[place].endswith(FRICTION)),
        (base.K @ nominal)[: sum(k < len(library.pi) for k in kept)],
    )
    looked = look(fitting, record, lambda one: motion_of(library, one, rotors), slice(0, cut))
    motion = looked.motion
    motion, fit, correlation, stribeck = _fit_base(record, motion, Y[:, :, kept], base, cut)
    fitted, held_out = motion.part(slice(0, cut)), motion.part(slice(cut, None))
    size = np.sqrt(np.diag(fit.information) + UNKNOWN**-2)
    other = looked.other or _unit_of_efforts(motion.effort, Y @ nominal)
    Y, Y_later = np.split(Y, [cut])
    W_later = Y_later[:, :, kept]
    prior = np.full(Y.shape[2], NEVER_ZERO)
    prior[kept] = np.fmax(fit.x, NEVER_ZERO)
    x, _ = _fit_bodies(Y, fitted, fit.variance, nominal, prior, links)
    _, std = _fit_bodies(Y, fitted, correlation * fit.variance, nominal, prior, links)
    rows = [x[columns_of(link)] for link in links]
    return RobotFit(
        base=base,
        fit=fit,
        nominal=base.K @ nominal,
        condition=float(np.sqrt(np.linalg.cond(fit.information / np.outer(size, size)))),
        links=tuple(links),
        bodies=np.array(rows).reshape(-1, N_PARAMETERS),
        bodies_std=np.array([std[columns_of(link)] for link in links]).reshape(-1, N_PARAMETERS),
        joints=x[len(library.pi) :].reshape(library.n_joints, -1),
        joints_std=std[len(library.pi) :].reshape(library.n_joints, -1),
        correlation=correlation,
        stribeck=stribeck,
        diagnosis=diagnose(fitting, fitted, fit.x, fit.variance, other),
        held_out=held_out,
        predicted=W_later @ fit.x,
        claimed=np.sqrt(fit.variance + np.fmax(np.einsum("tjk,tjk->tj", W_later @ fit.covariance, W_later), 0.0)),
        predicted_by_bodies=Y_later @ x,
        gains=np.zeros(library.n_joints),
        lag=looked.lag,
        still=still,
    )


def _fit_base(
    record: Record, motion: Motion, W: FloatArray, base: BaseParameters, cut: int
) -> tuple[Motion, Fit, FloatArray, Stribeck]:
    """Fit columns W (N, n, b) of base parameters to the first `cut` samples, and Stribeck friction where it is told.

    Returns:
        The motion, with slow samples of joints with Stribeck friction, and without that in its efforts; base parameters
        and the samples that count as one; and that friction.
    """
    n, first = motion.q.shape[1], slice(0, cut)
    fit, correlation = fit_columns(W[first], motion.effort[first], motion.used[first])
    slow = replace(motion, used=np.abs(motion.turning[0]) > AT_REST)
    coulomb = [fit.x[base.kept.index(base.names.index(name))] for name in base.names if name.endswith(".coulomb")]
    columns = stribeck_columns(record, STRIBECK_SPEEDS)
    stribeck = find_stribeck(W[first], columns[:, first], slow.part(first), np.abs(coulomb))
    joints = np.flatnonzero(stribeck.size)
    if not len(joints):
        return motion, fit, correlation, stribeck
    places = [STRIBECK_SPEEDS.index(speed) for speed in stribeck.speed]
    own = np.stack([columns[place, :, joint] for joint, place in enumerate(places)], axis=1)
    Z = (own[:, :, None] * np.eye(n))[:, :, joints]
    motion = replace(motion, used=np.where(stribeck.size > 0.0, slow.used, motion.used))
    whole, correlation = fit_columns(np.concatenate([W, Z], axis=2)[first], motion.effort[first], motion.used[first])
    count, size, std = W.shape[2], stribeck.size.copy(), stribeck.std.copy()
    size[joints], std[joints] = whole.x[count:], np.sqrt(np.diag(whole.covariance)[count:])
    of_base = slice(0, count), slice(0, count)
    fit = Fit(whole.x[:count], whole.covariance[of_base], whole.information[of_base], whole.variance)
    return replace(motion, effort=motion.effort - own * size), fit, correlation, replace(stribeck, size=size, std=std)


def _unit_of_efforts(effort: FloatArray, nominal: FloatArray) -> Cause | None:
    """Cause of efforts (N, n) that are out of all proportion to those of the robot file."""
    ratio = float(np.linalg.norm(effort)) / max(float(np.linalg.norm(nominal)), LEAST_VARIANCE)
    what = f"efforts are {ratio:.3g} times those of the robot file, as in N·mm"
    return Cause(Fault.UNIT, what, "N·m, and N of sliding joints") if ratio > UNIT else None


def motion_of(library: Library, record: Record, rotors: bool) -> Motion:
    """States and efforts that are fitted, less what the robot file's rotors take if rotors are not.

    Raises:
        UnsoundError: if the record is too short or not all of it was measured.
    """
    if record.flaw:
        raise record.flaw
    motion = Motion.of(record, SLOW)
    return motion if rotors else replace(motion, effort=motion.effort - rotor_effort(library, motion.turning[1]))


def find_base(library: Library, rotors: bool, drives: FloatArray) -> tuple[Callable[..., FloatArray], BaseParameters]:
    """The regressor of bodies and terms of drives, (q, q̇, q̈, sign) -> (N, n, p), and the base parameters of these.

    Its rows are efforts of the drives, which turn with A q, A = `drives` (n, n).
    """
    count = len(TERMS) if rotors else len(TERMS) - 1
    whole = partial(_whole_regressor, library, count, drives)
    terms = [f"{joint}.{term}" for joint in library.joint_names for term in TERMS[:count]]
    names = (*parameter_names(library.link_names), *terms)
    return whole, find_base_parameters(
        lambda *state: whole(*np.array(state)[:, None])[0], names, library.n_joints, MEANT
    )


def _whole_regressor(
    library: Library,
    terms: int,
    drives: FloatArray,
    q: FloatArray,
    qd: FloatArray,
    qdd: FloatArray,
    sign: FloatArray | None = None,
) -> FloatArray:
    """A⁻ᵀY of bodies, then what the first of `TERMS` of each drive add to its effort (N, n, 10 n + terms n).

    `sign` is that of A q̇, smoothed, if no filter has changed it.
    """
    n, turning = library.n_joints, qd @ drives.T
    sign = np.tanh(turning / SIGN_SPEED) if sign is None else sign
    columns = np.insert(joint_terms(turning, sign, qdd @ drives.T), OFFSET, 1.0, axis=2)
    own = np.einsum("tjb,ji->tjib", columns[:, :, :terms], np.eye(n))
    bodies = np.linalg.inv(drives).T @ regressor(library, q, qd, qdd)
    return np.concatenate([bodies, own.reshape(len(q), n, -1)], axis=2)


def _fit_bodies(
    Y: FloatArray,
    motion: Motion,
    variance: FloatArray,
    nominal: FloatArray,
    prior: FloatArray,
    links: Sequence[int],
) -> tuple[FloatArray, FloatArray]:
    """All parameters and their standard deviations (p,): bodies of `links` and terms of joints fitted, others kept.

    `prior` is that of the terms of joints; that of the bodies is `nominal`.
    """
    n = motion.q.shape[1]
    bodies = [k for link in links for k in range(*columns_of(link).indices(len(nominal)))]
    terms = np.arange(N_PARAMETERS * n, len(nominal)).reshape(n, -1)
    positive, offsets = np.delete(terms, OFFSET, axis=1).ravel().tolist(), terms[:, OFFSET].tolist()
    free = [*bodies, *positive, *offsets]
    expected = np.concatenate([*(_solid(nominal[columns_of(link)]) for link in links), prior[positive]])
    known = nominal.copy()
    known[free] = 0.0
    weights, W = motion.used / variance, Y[:, :, free]
    information = np.einsum("tjk,tj,tjl->kl", W, weights, W, optimize=True)
    told = np.einsum("tjk,tj->k", W, weights * (motion.effort - Y @ known))
    x, covariance = _with_unbounded(information, told, Divergence(expected, len(links)))
    result, std = nominal.copy(), np.zeros(len(nominal))
    result[free], std[free] = x, np.sqrt(np.diag(covariance))
    return result, std


def _with_unbounded(A: FloatArray, b: FloatArray, prior: Divergence) -> tuple[FloatArray, FloatArray]:
    """Find the minimum of `consistent_fit` where numbers of any sign, such as offsets, follow those of the prior.

    They are eliminated: x₂ = A₂₂⁻¹ (b₂ − A₂₁ x₁), with A₂₂ + 1/`UNKNOWN`² for A₂₂.
    """
    m = len(prior.prior)
    spread = np.linalg.inv(A[m:, m:] + np.eye(len(b) - m) / UNKNOWN**2)
    follow = spread @ A[m:, :m]
    x, covariance = consistent_fit(A[:m, :m] - A[:m, m:] @ follow, b[:m] - A[:m, m:] @ spread @ b[m:], prior)
    unbounded = spread @ b[m:] - follow @ x
    spread += follow @ covariance @ follow.T
    both = np.block([[covariance, -covariance @ follow.T], [-follow @ covariance, spread]])
    return np.concatenate([x, unbounded]), both


def _solid(pi: FloatArray) -> FloatArray:
    """The nearest body with mass in three dimensions: a prior must have P ≻ 0, and links may be points or nothing."""
    mass = max(float(pi[0]), LEAST_MASS)
    com = pi[1:4] / mass
    tensor = symmetric_from_six(pi[4:] - np.array(parallel_axis(mass, com)))
    near = nearest_consistent(Inertia(mass, com, np.array(tensor)))
    return Inertia(mass, com, near.inertia_com + 2.0 * mass * THIN**2 * np.eye(3)).pi


def rms(values: FloatArray, used: NDArray[np.bool_]) -> FloatArray:
    """Root mean square of each column where it is used (n,)."""
    return np.asarray(np.sqrt((values**2 * used).sum(axis=0) / np.fmax(used.sum(axis=0), 1)))
