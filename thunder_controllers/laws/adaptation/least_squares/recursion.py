"""Recursive least squares, a row a step, weighted by each joint's own noise, and changes of bodies (theory.md §8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_controllers.laws.adaptation.least_squares.momentum_rows import MomentumRows, Row, effort_limits
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot

SX = ca.SX

SETTLED = 8.0
"""Time since a change, in 1/ω: two filters in a row have forgotten all but (1 + 8) e⁻⁸ = 0.3 % of the time before."""

JUDGED = 60.0
"""Time since the activation, in 1/ω: before, variances are of less than two samples, and a large innovation says
nothing of a body, but may be of one. Everything is then forgotten: what an arm without it told would stay believed.
"""

CORRELATED = 4.0
"""Time, in 1/ω, in which white noise through two filters is worth one sample, the inverse of twice ω/8 Hz."""

AVERAGED, REMEMBERED = 0.08, 1.0
"""Time constants [s]: of a joint's squared innovation, which tells a change; of its variance, the weight, at most."""

LATEST, RISE = 0.1, 4.0
"""Share of the time since the activation over which a variance is averaged: the guess at first, which may be 2000 times
too much, and innovations from before anything was known are forgotten in two seconds. Of 0.05 to 0.15, alike for a
UR10, an xArm7 and a Panda. And by what rate it rises at most in the end [1/s]: a body is noticed before it is noise.
"""

CLIPPED = 0.68
"""A Gaussian value squared, counted as c variances at most, keeps 1 − e^(−0.68 c) of its mean, to 3 %."""

FIRST_NOISE, LEAST_NOISE = 2e-3, 2e-5
"""Standard deviation of a joint's residual over its effort limit: at first, and what no model is better than."""

OUTLIER = 9.0
"""Squared residuals beyond so many variances count as that: a body that has changed is not learnt as the old one. A
mean beyond that raises suspicion; of noise it is 5 at most in the first seconds.
"""

CONTACT = 2.0
"""Time within which another change says that the one before was a contact [s]: a body would have explained it."""

BELIEVED, AGAIN, NO_MORE = 0.3, 0.1, 0.5
"""Time constant [s] of squared innovations by what was told before a change, at most `change_threshold`; the share of
that below which it holds again, after 0.7 s of an arm that carries what it carried before; and above which it does not.
"""

GAIN, OFFSET = 0.02, 0.005
"""Default deviations: of a gain of drives [1], as effort constants of one type differ; of an offset, over the limit."""

GAIN_DOC = "Standard deviation of the gains of drives, or of sensors of effort, for the deviations of estimates."

BIASED, SIGNED = 3.0, 0.5
"""Mean innovation of a joint over its deviation that says that a body changes slowly [1]; time constant of it [s]."""

TRAPPED = 20.0
"""Time after which no kind of change explains what is seen: what was told before it is wrong, and is forgotten [s]."""

NONE, CHANGED, BODY, TOUCHED, LET_GO = 0.0, 1.0, 2.0, 3.0, 4.0
"""Values of the state `change`; of them CHANGED and TOUCHED are open."""


@dataclass(frozen=True)
class Innovation:
    """y − wᵀθ of a row, and the parts of its variance: of θ, of friction that holds a slow joint, of noise."""

    value: SX
    of_parameters: SX
    of_rest: SX
    of_noise: SX

    @property
    def variance(self) -> SX:
        """The sum of all parts."""
        return self.of_parameters + self.of_rest + self.of_noise


class RecursiveLeastSquares:
    """θ and its covariance C by rows y = wᵀθ + noise of `MomentumRows`, one joint's in a step, one after the other.

        K = C w/(wᵀC w + r),   θ⁺ = θ + K (y − wᵀθ),   C⁺ = C − K wᵀC,   r = (σ_i² + (F_C u)²) 4/(ω n Δ)

    Filtered noise stays the same for 4/ω; that all rows of that time say as much as one is in r. F_C u is the joint's
    Coulomb friction times the share u of time in which it was too slow for two numbers to say what friction is. σ_i² is
    the variance of its own residuals of late, (1 − u) times that while it moved and u times that while it was slow:
    where a robot compensates its friction by the velocity, a joint sticks though F_C is none. y − wᵀθ counts up to
    `OUTLIER` of its variance.

    Where the mean of (y − wᵀθ)² over its variance exceeds the gain `change_threshold`, the body that the end effector
    carries has changed: what is known of that link is forgotten at once, what is known of the joints is kept. Rows
    count again when the filters have forgotten the time before. Another change within `CONTACT` seconds says that no
    body explains the first one: something touches the arm. Then θ and C start again from those before the first one.
    They are taken back altogether once they explain the rows again in which an unknown body would show: the contact has
    passed, and nothing was learnt of it.

    A mean innovation of `BIASED` deviations, over `SIGNED`, says so, too: of a body that comes slowly none is large.

    C knows nothing of drives that give more or less than they are told, nor of offsets. D has what θ moves by for one
    deviation of each (Schmidt 1966): the covariance of θ is C + D Dᵀ.

    Until it is known what has changed, rows tell nothing of the joints, which something that touches the arm would
    spoil: these are considered as they were, with their covariance (Schmidt 1966). After `TRAPPED` all is forgotten.

    Before `JUDGED` noise is not known, and a mean innovation beyond `OUTLIER` may be of a body: everything is forgotten
    at `JUDGED`, with variances above the first guess, and again at every change until as long has passed.

    State and covariance are without units, over the deviations of the prior. θ is never projected.

    Args:
        signals: Where states and the gain change_threshold are declared.
        rows: Of the robot.
        omega: ω of their filters.
        start: Where θ starts, less the robot file's, over the deviations of the prior (p,).
        unknown: What of θ is unknown (p,); the rest is known exactly, and stays.
        body: Indices of what the body that is carried has; what is unknown of it is forgotten when it changes.
        scale: Deviations of the prior (p,).

    Attributes:
        z: θ less the robot file's, over `scale` (p,).
        covariance: C over `scale` (p, p).
        std: Standard deviations of z (p,).
        age: Since the last change [s]; negative before the first.
        change: NONE, CHANGED, BODY, TOUCHED or LET_GO.
        opened: Time in which a change was open, less the time in which none was, not negative [s].
        before, std_before: z and its deviations (p,) when the last change began.
        surprise: Mean squared innovation over its variance of each joint (n,).
        bias: Mean innovation over its deviation of each joint (n,).
        doubt, doubt_before: D of now, and when the last change began (p, 2 n).
        next_state: Of its states.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        rows: MomentumRows,
        omega: SX,
        start: SX,
        unknown: NDArray[np.bool_],
        body: Sequence[int],
        scale: np.ndarray,
    ) -> None:
        self._signals, self._omega, self._period = signals, omega, robot.n * signals.dt
        self._unknown, self._body = unknown, [i for i in body if unknown[i]]
        self._coulomb = slice(rows.size + robot.n, rows.size + 2 * robot.n)
        turn, dt = self._state("told_turn", 0.0, "1", "Index of the joint whose row is next."), signals.dt
        self._time = self._state("told_time", 0.0, "s", "Since the activation.")
        doc = "Whether a mean innovation was none of noise before that was known."
        suspected = self._state("suspected", 0.0, "1", doc)
        self._declare_knowledge(start)
        self._declare_change(robot.n)
        self._declare_doubt(robot, rows, start.numel())
        self._declare_noise(effort_limits(robot))
        row = rows.of(turn)
        told = self._innovation(robot, row, scale)
        settled = 1.0 - (self._age >= 0.0) * (self._age * omega < SETTLED)
        surprise = self._averaged(self.surprise, row, told.value**2 / told.variance, AVERAGED)
        doubt = self._doubt_after(row, scale, told)
        restored = self._open * (ca.mmax(doubt) < AGAIN * self._threshold)
        bias = self._averaged(self.bias, row, told.value / ca.sqrt(told.variance), SIGNED)
        drifts = ca.mmax(ca.fabs(bias)) > BIASED
        surprised = ca.fmax(ca.mmax(surprise) > self._threshold, drifts) * settled * (1.0 - restored)
        judged, at_once = self._time * omega > JUDGED, (self._time - dt) * omega <= JUDGED
        doubtful = suspected * (self._time * omega < 2.0 * JUDGED)
        trapped = self.opened > TRAPPED
        anew = ca.fmax(doubtful * judged * ca.fmax(at_once, surprised), trapped)
        changed = surprised * judged * (1.0 - anew)
        used = settled * (1.0 - changed) * (1.0 - restored)
        begun = changed * (1.0 - self._open)
        kept = self._packed(self._covariance_before)
        noise = self._noise_learnt(row, told, used)
        r = (told.of_rest + told.of_noise) * CORRELATED / (omega * self._period)
        K = (used / (told.of_parameters + r)) * self._Cw
        self._gained = K @ self._Cw.T
        others, learns = [i for i in range(self.z.numel()) if i not in self._body], 1.0 - self._open
        self._gained[others, others] *= learns
        K[others] *= learns
        self._K = SX(K)
        learnt = self._learnt(row, scale, told, used, changed, restored)
        self.next_state = {
            "told_turn": ca.if_else(turn + 1.0 < float(robot.n), turn + 1.0, 0.0),
            "told_time": self._time + dt,
            "suspected": ca.fmax(suspected, (1.0 - judged) * (ca.mmax(surprise) > OUTLIER)),
            **{name: ca.if_else(anew, ca.fmin(value, self._first_variance), value) for name, value in noise.items()},
            "surprise": ca.if_else(used * (1.0 - anew), surprise, 1.0),
            "bias": ca.if_else(used * (1.0 - anew), bias, 0.0),
            "doubt": ca.if_else(begun, self._threshold, doubt),
            "told_before": ca.if_else(begun, self.z, self.before),
            "covariance_before": ca.if_else(begun, self._packed(self.covariance), kept),
            **learnt,
            **self._doubts_after(row, scale, changed, restored, begun),
            "covariance": ca.if_else(anew, self._first_covariance, learnt["covariance"]),
            "forgotten_age": ca.if_else(changed + anew, 0.0, self._age + (self._age >= 0.0) * dt),
            "change": self._kind(changed, restored, ca.mmax(doubt) > NO_MORE * self._threshold) * (1.0 - trapped),
            "opened": (1.0 - trapped) * ca.fmax(self.opened + (2.0 * self._open - 1.0) * dt, 0.0),
        }

    def _state(self, name: str, default: ArrayLike, unit: str, doc: str, size: int = 1) -> SX:
        return self._signals.state(name, size=size, default=default, unit=unit, doc=doc)

    def _declare_knowledge(self, start: SX) -> None:
        size = start.numel()
        known = self._state("told", 0.0, "1", "θ less the robot file's, over the deviations of the prior.", size)
        self.z = SX(ca.if_else(self._time > 0.0, known, start))
        self._triangle = ca.Sparsity.lower(size)
        self.covariance = self._declare_covariance("covariance", "Lower triangle of C, columnwise.")
        self.std = self._deviations(self.covariance)

    def _declare_covariance(self, name: str, doc: str) -> SX:
        first = ca.project(ca.diag(ca.DM(self._unknown.astype(float))), self._triangle).nonzeros()
        self._first_covariance = SX(first)
        packed = self._state(name, first, "1", doc, len(first))
        return SX(ca.tril2symm(SX(self._triangle, packed)))

    def _packed(self, covariance: SX) -> SX:
        return SX(ca.project(covariance, self._triangle).nz[:])

    @staticmethod
    def _deviations(covariance: SX) -> SX:
        return SX(ca.sqrt(ca.fmax(ca.diag(covariance), 0.0)))

    def _declare_change(self, joints: int) -> None:
        self._threshold = self._signals.gain(
            "change_threshold",
            default=100.0,
            bounds=(1.0, 1e9),
            unit="1",
            doc="Mean squared innovation of a joint over its variance that says that another body is carried.",
        )
        doc = "Since something was last forgotten; negative if nothing was."
        self._age = self._state("forgotten_age", -1.0, "s", doc)
        doc = "0 none, 1 one of unknown kind, 2 another body is carried, 3 a contact, 4 one that has passed."
        self.change = self._state("change", NONE, "1", doc)
        self.age = SX(ca.if_else(self.change == NONE, -1.0, self._age))
        self._open = SX((self.change == CHANGED) + (self.change == TOUCHED))
        self.opened = self._state("opened", 0.0, "s", "Time in which a change was open, less the other.")
        self.before = self._state("told_before", 0.0, "1", "What was told before the change.", self.z.numel())
        self._covariance_before = self._declare_covariance("covariance_before", "Of told_before, as covariance.")
        self.std_before = self._deviations(self._covariance_before)
        doc = "Mean squared innovation of each joint by told_before over its variance."
        self._doubt = self._state("doubt", 0.0, "1", doc, joints)

    def _declare_noise(self, limits: np.ndarray) -> None:
        self._first_variance, doc = (FIRST_NOISE * limits) ** 2, "Of each joint's residual, while it moves."
        self._variance = self._state("residual_variance", self._first_variance, "(N·m)²|N²", doc, limits.size)
        doc = "The same, while the joint is too slow for two numbers to say what friction is."
        self._slow_variance = self._state("slow_variance", self._first_variance, "(N·m)²|N²", doc, limits.size)
        self._least_variance = (LEAST_NOISE * limits) ** 2
        doc = "Mean squared innovation of each joint over its variance."
        self.surprise = self._state("surprise", 1.0, "1", doc, limits.size)
        doc = "Mean innovation of each joint over its deviation."
        self.bias = self._state("bias", 0.0, "1", doc, limits.size)

    def _innovation(self, robot: RobotExpressions, row: Row, scale: np.ndarray) -> Innovation:
        w = scale * row.w
        self._Cw = self.covariance @ w
        coulomb = np.array([link.coulomb for link in robot.model.links]) + scale[self._coulomb] * self.z[self._coulomb]
        variance = (1.0 - row.unclear) * self._variance + row.unclear * self._slow_variance
        return Innovation(
            row.y - dot(w, self.z),
            ca.fmax(dot(w, self._Cw), 0.0),
            (row.unclear * dot(row.joint, coulomb)) ** 2,
            dot(row.joint, ca.fmax(variance, self._least_variance)),
        )

    def _noise_learnt(self, row: Row, told: Innovation, used: SX) -> dict[str, SX]:
        """A joint's variances, moved towards what of the residual nothing else explains, where that is little.

        C does not count before anything was forgotten: it has what rows weighed before the noise was known, and says
        too much.
        """
        others = told.of_rest + (self._age >= 0.0) * told.of_parameters
        left = ca.fmax(told.value**2 - others, 0.0)
        memory = ca.fmin(0.5 * CORRELATED / self._omega + LATEST * self._time, REMEMBERED)
        most = 1.0 + RISE * memory
        seen = ca.fmin(left, most * told.of_noise) / (1.0 - ca.exp(-CLIPPED * most))
        share = row.joint * used * ca.fmin(1.0, self._period / memory) * (others < told.of_noise)
        moving, slow = self._variance, self._slow_variance
        return {
            "residual_variance": moving + share * (1.0 - row.unclear) * (seen - moving),
            "slow_variance": slow + share * row.unclear * (seen - slow),
        }

    def _averaged(self, mean: SX, row: Row, value: SX, time: float) -> SX:
        """A mean of each joint, with that of this row moved towards the value."""
        return SX(mean + row.joint * ca.fmin(1.0, self._period / time) * (value - mean))

    def _doubt_after(self, row: Row, scale: np.ndarray, told: Innovation) -> SX:
        """Mean squared innovations by what was told before, after a row in which a body would show, if it is one."""
        w = scale * row.w
        rest = told.of_rest + told.of_noise
        variance = ca.fmax(dot(w, self._covariance_before @ w), 0.0) + rest
        shows = ca.sumsqr(w[self._body]) > self._threshold * rest
        after = self._averaged(self._doubt, row, (row.y - dot(w, self.before)) ** 2 / variance, BELIEVED)
        return SX(ca.fmin(ca.if_else(shows, after, self._doubt), self._threshold))

    def _declare_doubt(self, robot: RobotExpressions, rows: MomentumRows, size: int) -> None:
        joints, known, gain = robot.n, 1.0 - float(rows.has_offsets), 0.0 if rows.is_measured else GAIN
        self._gain_std = self._signals.gain(
            "drive_gain_std", size="joints", default=gain, bounds=(0.0, 1.0), unit="1", doc=GAIN_DOC
        )
        self._offset_std = known * self._signals.gain(
            "effort_offset_std",
            size="joints",
            default=OFFSET * effort_limits(robot),
            bounds=(0.0, 1e4),
            unit="N·m|N",
            doc="Standard deviation of effort offsets that do not adapt, for the deviations of estimates.",
        )
        doc = "What θ moves by for a deviation of each drive's gain, then of each offset that is not adapted; columns."
        self.doubt = ca.reshape(self._state("told_doubt", 0.0, "1", doc, size * 2 * joints), size, 2 * joints)
        doc = "The same of told_before."
        self.doubt_before = ca.reshape(self._state("doubt_before", 0.0, "1", doc, size * 2 * joints), size, 2 * joints)

    def _doubts_after(self, row: Row, scale: np.ndarray, changed: SX, restored: SX, begun: SX) -> dict[str, SX]:
        """Next columns D⁺ = (1 − K wᵀ) D + K hᵀ, h what a cause adds to the row's effort."""
        before = ca.vec(ca.if_else(begun, self.doubt, self.doubt_before))
        D, w = ca.if_else(restored + changed * self._open, self.doubt_before, self.doubt), scale * row.w
        kept = SX.ones(len(scale))
        kept[self._body] = 1.0 - changed
        h = ca.vertcat(-self._gain_std * row.effort * row.joint, self._offset_std * row.joint)
        return {
            "told_doubt": ca.vec(ca.repmat(kept, 1, D.shape[1]) * D + self._K @ (h.T - w.T @ D)),
            "doubt_before": before,
        }

    def _learnt(
        self, row: Row, scale: np.ndarray, told: Innovation, used: SX, changed: SX, restored: SX
    ) -> dict[str, SX]:
        """θ⁺ and C⁺: by a row that is used, or those before a contact, and without knowledge of what has changed."""
        back = restored + changed * self._open
        kept, unknown = SX.ones(*self.covariance.shape), SX(ca.DM.zeros(self.z.numel()))
        kept[self._body, :] = kept[:, self._body] = 1.0 - changed
        unknown[self._body] = changed
        C = kept * ca.if_else(back, self._covariance_before, self.covariance) + ca.diag(unknown) - self._gained
        most = ca.sqrt(OUTLIER * told.variance)
        return {
            "told": ca.if_else(back, self.before, self.z) + ca.fmin(ca.fmax(told.value, -most), most) * self._K,
            "covariance": self._packed(C),
        }

    def _kind(self, changed: SX, restored: SX, differs: SX) -> SX:
        """Next kind of change: of a body if what was told before does not hold after a while."""
        kind = ca.if_else(self._open * (self._age > CONTACT) * differs, BODY, self.change)
        another = ca.if_else(self._open, TOUCHED, CHANGED)
        return SX(ca.if_else(changed, another, ca.if_else(restored, LET_GO, kind)))
