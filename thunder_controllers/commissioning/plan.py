"""Plan of the start-up motion: stages of sweeps and small waves of effort, each made of what is known by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from thunder_controllers.fields import FloatArray, PositivePerJoint, Strict, per_joint
from thunder_controllers.host import Library
from thunder_dynamics.errors import DimensionError, ThunderError

LAW = "pd_plus"
"""Law that plays the motion: M(q) q̈_d of its feed-forward carries the waves of effort."""

LATEST = 0.015
"""Total delay that the gains bear before it is known [s]: 6 ms of dead time, a velocity filter of 30 Hz, 1 kHz, half
as much again."""

FASTEST = 0.45 / LATEST
"""Largest eigenvalue of M⁻¹K_d [1/s] (theory.md §5)."""

BANDWIDTH = FASTEST / 4.0
"""K_p over K_d [1/s]: a quarter of the velocity loop, so that the position loop is damped above critical."""

LINES = np.array([3.5, 6.0, 10.0])
"""Frequencies of the waves of the first joint [Hz], of equal speeds. The phase of a delay grows with frequency, that of
friction falls: lines most of an octave apart tell both from inertia."""

SPACING = 0.25
"""From the lines of a joint to those of the next [Hz]: 10 s tell lines 0.1 Hz apart."""

WAVE_SPEED = 0.06
"""Of the waves, at most [rad/s or m/s]: below the speed of the sweeps, so that friction keeps its sign."""

SWEEP_SPEED = 0.2
"""Of sweeps, at most [rad/s or m/s]: above the speeds at which Stribeck friction falls, 0.01 to 0.1 rad/s."""

PERIOD = 2.4
"""Of the sweep of the first joint [s]; those of the next are a fourteenth longer each, lest all turn together."""

WAVE_SHARE, SWEEP_SHARE = 0.35, 0.3
"""Shares of the budget of effort; the rest is the feedback's."""

SWEEP, FEEL = 0.65, 0.35
"""Amplitudes of the sweeps over the reach: of the last stage, and of those before it."""

FEEL_TIME, RAMP = 3.0, 0.8
"""A stage before the last, and the part at both ends in which a sweep grows and fades [s]."""

ASTRAY, STILL = 0.7, 0.05
"""Shares of its sweep: a joint whose error is below the first has followed, one that moves less than the other stood
still."""

SLIPPING = 0.5
"""Friction of a joint that slips, over the effort under which it stood still: what breaks away may be twice as much."""

MOST_FRICTION = 0.25
"""Of the effort limit: a joint that more does not move is not reached by its effort."""

SMOOTH = 0.02
"""Speed over which the friction that is fed forward changes its sign [rad/s or m/s]."""

FED = 0.8
"""Share of the friction found so far that is fed forward: more than there is would push."""

MORE = 1.3
"""Factor of the waves from which another stage before the last is worth its time."""

MOST_STAGES = 9
"""Before the last one: friction grows by half an order in each, from that of a bare joint to `MOST_FRICTION`."""


class CommissioningError(ThunderError):
    """The start-up motion cannot be made, or was not what it was to be."""


class Budget(Strict):
    """Bounds of the start-up motion; of joints a number for all, or one each."""

    effort_share: Annotated[float, Field(strict=True, gt=0.0, le=0.2)] = 0.02  #: Of the effort limits, by inertia [1].
    reach: PositivePerJoint = 0.1  #: From the start to both sides [rad or m].
    duration: Annotated[float, Field(strict=True, ge=5.0, le=60.0)] = 10.0  #: Of the last stage [s].


@dataclass(frozen=True)
class Known:
    """What is known of the joints before a stage, (n,) each.

    Attributes:
        rotor: Inertia of rotors beyond the library's, no more than is sure [kg·m² or kg].
        coulomb: Friction [N·m or N].
        offset: [N·m or N].
        held: Effort under which the joint stood still, or half of that under which it slipped [N·m or N].
        has_moved: Whether it has followed a sweep.
    """

    rotor: FloatArray
    coulomb: FloatArray
    offset: FloatArray
    held: FloatArray
    has_moved: NDArray[np.bool_]

    @classmethod
    def nothing(cls, n: int) -> Known:
        """Before the first stage."""
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool))


@dataclass(frozen=True)
class Stage:
    """A part of the motion: reference and gains of `LAW`, at rest at both ends.

    Attributes:
        start: Where it begins and ends (n,) [rad or m].
        reach: How far joints may be from there (n,).
        sweep: q_d, q̇_d and q̈_d of the slow motion (3, N, n).
        wave: Effort of the fast one (N, n) [N·m or N].
        fed: Effort that is fed forward beside that of the model on the sweep, the wave included (N, n) [N·m or N].
        reference: Rows of q_d, q̇_d and q̈_d, (N, 3 n); q̈_d has all that is fed forward in it, through M(q)⁻¹.
        K_p: (n,).
        K_d: (n,).
        rate: [Hz].
        is_last: Whether it is the one to measure by.
    """

    start: FloatArray
    reach: FloatArray
    sweep: FloatArray
    wave: FloatArray
    fed: FloatArray
    reference: FloatArray
    K_p: FloatArray
    K_d: FloatArray
    rate: float
    is_last: bool

    def has_left(self, q: FloatArray) -> int | None:
        """Index of a joint that is out of its bound at positions (…, n), if one is."""
        beyond = np.abs(q - self.start).reshape(-1, len(self.start)).max(axis=0) - self.reach
        return int(np.argmax(beyond)) if (beyond > 0.0).any() else None


class Planner:
    """Makes stages for an arm at rest.

    Args:
        library: Of the robot, with `LAW`.
        start: Positions of the joints (n,) [rad or m].
        rate: Of the control [Hz].
        budget: Bounds of the motion.

    Raises:
        DimensionError: if the start has another size than the joints.
        CommissioningError: if a joint is too close to a limit of its position, or has no limit of its effort.
    """

    def __init__(self, library: Library, start: FloatArray, rate: float, budget: Budget) -> None:
        n, names = library.n_joints, library.joint_names
        if len(start) != n:
            raise DimensionError(f"{len(start)} values of q", where="start", valid=f"{n}")
        self._library, self._start, self._rate, self._budget = library, np.asarray(start, dtype=float), rate, budget
        self._reach = per_joint(budget.reach, names, "reach")
        self._limit = np.asarray(library.effort_limit)
        speed = np.where(np.isfinite(library.velocity_limit), library.velocity_limit, np.inf)
        self._speed = np.fmin(SWEEP_SPEED, 0.25 * speed)
        self._check(names)

    def _check(self, names: Sequence[str]) -> None:
        if not np.isfinite(self._limit).all():
            endless = names[int(np.argmin(np.isfinite(self._limit)))]
            raise CommissioningError("no limit of the effort", where=endless, valid="one in the robot file")
        low, high = (np.asarray(x) for x in (self._library.position_lower, self._library.position_upper))
        room = np.fmin(self._start - low, high - self._start)
        if (room < self._reach).any():
            joint = int(np.argmin(room - self._reach))
            what = f"{room[joint]:.3g} from a limit of its position at {self._start[joint]:.4g}"
            valid = f"{self._reach[joint]:g} at least: another start, or a smaller reach"
            raise CommissioningError(what, where=names[joint], valid=valid)

    def inertia(self, known: Known) -> FloatArray:
        """Least inertia that each joint alone moves at the start, 1/(M⁻¹)_jj with the rotors that are sure, (n,)."""
        return np.asarray(1.0 / np.diag(np.linalg.inv(self._mass(known))))

    def _mass(self, known: Known) -> FloatArray:
        return np.asarray(self._library.evaluate("M", self._start)) + np.diag(known.rotor)

    def gains(self, known: Known, *, is_last: bool) -> tuple[FloatArray, FloatArray]:
        """K_p and K_d, (n,) each.

        No eigenvalue of M⁻¹K_d is above `FASTEST`, but for joints that stood still under an effort F. When they slip
        their friction is F/2 at least, and a harmonic speed of amplitude v meets 4F/(2πv) of damping by it, the
        describing function: half as much K_d at the speed of the sweep is stable whatever the inertia. K_p is twice as
        much over K_d there, as a joint that sticks needs a stiffness more than damping.
        """
        J = self.inertia(known)
        K_d = J * FASTEST / np.abs(np.linalg.eigvals(np.linalg.solve(self._mass(known), np.diag(J)))).max()
        speed = np.prod(self._sweeps(known, is_last), axis=0)
        held = known.held / (np.pi * speed)
        return BANDWIDTH * np.fmax(K_d, 2.0 * held), np.fmax(K_d, held)

    def wave_effort(self, known: Known) -> FloatArray:
        """Largest effort of each joint's waves (n,), by the budget and by `WAVE_SPEED` of the inertia that is sure."""
        lines = self._lines(self._budget.duration)
        by_speed = WAVE_SPEED * self.inertia(known) * 2.0 * np.pi * lines.mean(axis=0)
        return np.asarray(np.fmin(WAVE_SHARE * self._budget.effort_share * self._limit, by_speed))

    def _lines(self, duration: float) -> FloatArray:
        """Frequencies of the waves [Hz], a whole number of periods in a stage, (lines, n)."""
        wanted = LINES[:, None] + SPACING * np.arange(len(self._start))
        return np.asarray(np.round(wanted * duration) / duration)

    def stage(self, known: Known, *, is_last: bool) -> Stage:
        """Make a stage of what is known."""
        duration = self._budget.duration if is_last else FEEL_TIME
        n, count = len(self._start), round(duration * self._rate)
        t = np.arange(count)[:, None] / self._rate
        x = np.clip(np.fmin(t, duration - t) / RAMP, 0.0, 1.0)
        grown = (x**3 * (10.0 - 15.0 * x + 6.0 * x**2), 30.0 * (x * (1.0 - x)) ** 2, 60.0 * x * (1 - x) * (1 - 2 * x))
        sign = np.where(t < 0.5 * duration, 1.0, -1.0) / RAMP
        w, wd, wdd = grown[0], grown[1] * sign, grown[2] / RAMP**2
        A, omega = self._sweeps(known, is_last)
        s, c = A * np.sin(omega * t), A * omega * np.cos(omega * t)
        q, qd = self._start + w * s, wd * s + w * c
        qdd = wdd * s + 2.0 * wd * c - w * omega**2 * s
        phases = np.random.default_rng(n).uniform(0.0, 2.0 * np.pi, (len(LINES), n))
        angle = 2.0 * np.pi * self._lines(duration) * t[:, :, None].transpose(0, 2, 1) + phases
        lines = self._lines(duration)
        wave = w * (lines / lines.sum(axis=0) * np.sin(angle)).sum(axis=1) * self.wave_effort(known)
        fed = wave + known.rotor * qdd + FED * known.coulomb * np.tanh(qd / SMOOTH) + known.offset
        M = np.asarray(self._library.batch("M", q))
        reference = np.hstack([q, qd, qdd + np.linalg.solve(M, fed[:, :, None])[:, :, 0]])
        K_p, K_d = self.gains(known, is_last=is_last)
        sweep = np.array([q, qd, qdd])
        return Stage(self._start, self._reach, sweep, wave, fed, reference, K_p, K_d, self._rate, is_last)

    def _sweeps(self, known: Known, is_last: bool) -> tuple[FloatArray, FloatArray]:
        """Amplitudes and angular frequencies (n,): A ω within the speed, J A ω² within its share of the budget."""
        A = (SWEEP if is_last else FEEL) * self._reach
        slowest = 2.0 * np.pi / (PERIOD * (1.0 + np.arange(len(A)) / 14.0))
        effort = SWEEP_SHARE * self._budget.effort_share * self._limit
        J = np.diag(self._mass(known))
        return A, np.fmin(np.fmin(slowest, self._speed / A), np.sqrt(effort / (J * A)))

    def learned(self, known: Known, stage: Stage, q: FloatArray, sure: Known) -> Known:
        """What is known after a stage.

        Friction of a joint that moves is no less than the mean effort along the sweep, where nothing better is told.
        Offsets are the mean effort of the feedback: as integral action does, they take what gains of drives make of
        gravity, too.

        Args:
            known: Before it.
            stage: What was played.
            q: Measured positions (N, n).
            sure: What its record tells.

        Raises:
            CommissioningError: if a joint does not move under `MOST_FRICTION` of its effort limit.
        """
        share = np.ptp(q, axis=0) / np.ptp(stage.sweep[0], axis=0)
        astray = np.abs(stage.sweep[0] - q).max(axis=0) / np.abs(stage.sweep[0] - stage.start).max(axis=0)
        moved = (astray < ASTRAY) & (share > STILL)
        effort, fast = stage.K_p * (stage.sweep[0] - q) + stage.fed, np.abs(stage.sweep[1])
        most = np.abs(effort).max(axis=0)
        fast = np.where(fast > 0.5 * fast.max(axis=0), np.sign(stage.sweep[1]), 0.0)
        along = np.fmax((fast * effort).sum(axis=0) / np.abs(fast).sum(axis=0), 0.0)
        if (unreached := (share < STILL) & (most > MOST_FRICTION * self._limit)).any():
            joint = int(np.argmax(unreached))
            raise CommissioningError(
                f"it stands still under {most[joint]:.3g} N·m or N beside gravity",
                where=self._library.joint_names[joint],
                valid="a drive that is on, without brake, whose effort reaches the joint",
            )
        slipping = np.fmax(known.held, np.where(share < STILL, most, SLIPPING * most))
        told = moved & (sure.coulomb > 0.0)
        return Known(
            rotor=np.where(moved, np.fmax(known.rotor, sure.rotor), known.rotor),
            coulomb=np.where(told, sure.coulomb, np.where(moved, along, SLIPPING * slipping)),
            offset=known.offset + np.where(share < STILL, 0.0, (stage.K_p * (stage.sweep[0] - q)).mean(axis=0)),
            held=np.where(moved, known.held, slipping),
            has_moved=known.has_moved | moved,
        )

    def is_ready(self, known: Known, before: Known) -> bool:
        """Whether the last stage is next: all joints move, and waves would grow little."""
        return bool(known.has_moved.all() and (self.wave_effort(known) < MORE * self.wave_effort(before)).all())
