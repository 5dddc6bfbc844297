"""Which joint has a fault, which kind it is, since when, and how large: tests of hypotheses on the residuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.least_squares.momentum_rows import effort_limits
from thunder_controllers.laws.faults.kinds import Kind
from thunder_controllers.laws.faults.residual import CALM, TINY, FaultResidual
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot

SX = ca.SX

QUANTILE = 5.0
"""Of a normal distribution: one of 1.7 million samples lies beyond, of independent ones every 2/K_o one in 19 h."""

HOLD = 2.0
"""Time constants for which one joint alone is beyond its bound: then others show, too, if there are any."""

ODDS = float(np.log(100.0))
"""Difference of log-likelihoods beyond which one kind is taken, as a hundred times as likely as another."""

LEAST, LONGEST = 0.1, 0.35
"""From the isolation to its kind, at least and at most [s]: motions have no shape in less."""

UNLIKELY = 4.0
"""Standard deviations of a mean square or a mean that noise alone may make."""

REPORTED = {
    "fault_joint": ("1", "Joint that has a fault, from 1; 0 none."),
    "fault_kind": ("1", f"Kind of the fault: {', '.join(f'{kind.value} {kind.name.lower()}' for kind in Kind)}."),
    "fault_size": ("SI", "λ of a loss [1] or a block [1/s]; torque of a bias or freeze [N·m or N]."),
    "fault_onset": ("s", "When the fault began to act, since the activation."),
}
"""Telemetry, which are states, too: unit and text."""


class FaultIsolation:
    """Joint i has a fault where |y_i| > κ σ_i and Σ_{j≠i} y_j²/(σ_j² + σ_b² y_i²) < χ²_{n−1}(κ), for 2/K_o.

    y is what the model does not explain, r − wᵀθ̂ of `FaultResidual`, and χ²(κ) as unlikely as κ. With σ_b y_i, what
    the fault of joint i moves of the others is known no better than their bodies.

    That is "joint i alone" tested against "none" and "others, too": residuals of joints know nothing of each other's
    faults, and a push on a link is felt by all joints before it. With others beyond the bound the kind is `SEVERAL`,
    until none has been for T, in which what lasts is learned, and all are within 2σ. An isolation is taken back if
    others follow before its kind is told. A push that loads one joint alone, such as a torque about the last axis or a
    force on the first link, is the same as a fault of that joint to all that is measured; and a fault whose torque
    changes as slowly as T is none, nor is one that comes while there are several.

    Its kind is the one that explains best what follows. With y, x and o the fault's torque y_i, the effort that
    is asked for, and 1, through F² from the suspicion on, kinds are lines of one parameter, fitted by sums:

        loss  y = −λ x,    bias  y = b o,    freeze  y = c o − x,    block  q̇_i = −λ q_i + constant.

    A block explains velocities to their noise, more sharply than the others explain torques: it is taken where its line
    leaves no more than noise, and the joint has slowed by 1/e, or rests to the end; the others are not before it is
    refuted. Of these it is the one with the least Σ(…)²/σ², in which K_o Δ/2 of a step count as independent. A motor
    that gives nothing is a loss of 1 and a freeze at 0, which both are right. A frozen torque that friction holds is as
    a block, until the joint moves faster again, which none that is blocked does.

    A fault of joint i matters that moves the end effector by the gain `fault_tolerance`, e; it is seen where that takes
    a torque of more than κ σ_i. Telemetry `fault_visible` is e/(m_i κ σ_i), m the motion that a torque makes, at most
    1. Where it is less, as friction is not learned yet, and there is no fault, the kind that is told is `NOT_YET`.

    Args:
        signals: Where gains, states and telemetry are declared.
        moved: m_i = |R_0⁻¹ J M⁻¹ e_i| of a loop of accelerations, (n,) [m/(N·m) or m/N].

    Attributes:
        residual: Of the same signals.
        tolerance: e [m].
        is_joint: 1 for the isolated joint, else 0, (n,).
        kind: Code of `Kind`.
        size: As `Kind` says.
        unexplained: F[…] of y of the joint that is suspected or isolated, while its kind is not known, (n,).
        next_state: Of these states.
        telemetry: What to report.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, moved: SX) -> None:
        n, dt = robot.n, signals.dt
        joint, kind, size, onset = (
            signals.state(name, default=0.0, unit=unit, doc=doc) for name, (unit, doc) in REPORTED.items()
        )
        residual = self.residual = FaultResidual(robot, signals, joint > 0.0, kind == Kind.SEVERAL)
        candidate, suspected, isolated_for, speed, slowest = (
            signals.state(name, default=0.0, unit=unit, doc=doc)
            for name, unit, doc in (
                ("suspected_joint", "1", "Joint that may have a fault, from 1; 0 none."),
                ("suspected_time", "s", "For which it has been the same."),
                ("isolated_time", "s", "Since the isolation."),
                ("suspected_speed", "rad/s|m/s", "Velocity of that joint, through F."),
                ("slowest_speed", "rad/s|m/s", "The least size of it since it is taken for blocked."),
            )
        )
        quiet = signals.state("quiet_time", default=0.0, unit="s", doc="Since a joint was last beyond its bound.")
        calm = signals.state("calm_time", size=n, default=0.0, unit="s", doc="When each joint was last unsuspicious.")
        first = signals.state("suspected_start", size=6, default=0.0, unit="SI", doc="What was at the suspicion.")
        sums = signals.state("suspected_sums", size=11, default=0.0, unit="SI", doc="Sums that kinds are fitted by.")

        kappa = signals.gain(
            "fault_quantile", default=QUANTILE, bounds=(1.0, 100.0), unit="1", doc="κ: a residual beyond κ σ is none."
        )
        self.tolerance = signals.gain(
            "fault_tolerance",
            default=0.02,
            bounds=(1e-4, 10.0),
            unit="m",
            doc="Error of the position with which the task is not done any more.",
        )
        matters = ca.fmin(self.tolerance / ca.fmax(moved, TINY), effort_limits(robot))
        visible = residual.ready * ca.fmin(matters / (kappa * ca.fmax(residual.deviation, TINY)), 1.0)
        z = ca.fabs(residual.change) / ca.fmax(residual.deviation, TINY)
        worst, index = _largest(z)
        alarm = ca.logic_and(worst > kappa, residual.ready)
        # what the fault of one joint moves of the others is known no better than the bodies
        shared = residual.body_error * dot(residual.change, SX(np.arange(1, n + 1) == index))
        spread = ca.fmax(residual.deviation**2 + shared**2, TINY**2)
        most = _chi_squared(max(n - 1, 1), kappa)
        others = dot(residual.change**2 / spread, SX(np.arange(1, n + 1) != index)) > most
        free = joint == 0.0
        # what once was several stays so until what lasts of it is learned: of a push that goes one joint shows longest
        quiet_next = ca.if_else(alarm, 0.0, quiet + dt)
        shows = ca.logic_or(quiet_next < residual.memory, worst > CALM)
        was_several = ca.logic_and(kind == Kind.SEVERAL, shows)
        alone = ca.logic_not(ca.logic_or(others, was_several))
        single = ca.logic_and(alarm, alone)

        suspect = ca.if_else(free, ca.if_else(single, index, 0.0), candidate)
        is_new = suspect != candidate
        age = ca.if_else(is_new, 0.0, suspected + dt)
        is_found = ca.logic_and(ca.logic_and(free, suspect > 0.0), age >= HOLD / residual.bandwidth)
        self.is_joint = SX(np.arange(1, n + 1) == suspect)
        values = (residual.change, residual.once, residual.effort, residual.effort_once, signals.q, signals.qd)
        now = ca.vertcat(*(dot(self.is_joint, one) for one in values))
        before = ca.if_else(is_new, now, first)
        steps = age / dt + 1.0
        sums_next = ca.if_else(is_new, 0.0, sums) + self._products(now, before, steps)
        fits = _fit(sums_next, steps, dot(self.is_joint, residual.deviation), 0.5 * residual.bandwidth * dt)
        told = isolated_for + dt
        late = told > LONGEST
        noise = residual.velocity_noise**2
        fits_block = fits.block < steps * noise * (1.0 + UNLIKELY * ca.sqrt(2.0 / steps))
        rests = ca.logic_and(late, (fits.shift / steps + before[5]) ** 2 < UNLIKELY**2 * noise / steps)
        blocked = ca.logic_and(fits_block, ca.logic_or(fits.rate * age > 1.0, rests))
        sure = ca.logic_or(ca.logic_or(blocked, late), ca.logic_and(fits.sure, ca.logic_not(fits_block)))
        unknown = ca.logic_and(joint > 0.0, kind <= Kind.UNKNOWN)
        decides = ca.logic_and(ca.logic_and(unknown, told > LEAST), ca.logic_and(sure, ca.logic_not(others)))

        speed_next = ca.if_else(is_new, now[5], residual.decay * speed + (1.0 - residual.decay) * now[5])
        pace = ca.fabs(speed_next)
        slowest_next = ca.if_else(kind == Kind.BLOCK, ca.fmin(pace, slowest), pace)
        noisy = residual.velocity_noise * ca.sqrt(0.5 * residual.bandwidth * dt)
        moves = ca.logic_and(kind == Kind.BLOCK, pace > slowest_next + 2.0 * kappa * noisy)

        revoked = ca.logic_and(unknown, others)
        suspected_joint = self.is_joint
        joint_next = ca.if_else(is_found, suspect, ca.if_else(revoked, 0.0, joint))
        self.is_joint = self.is_joint * (joint_next > 0.0)
        several = ca.logic_or(ca.logic_or(ca.logic_and(alarm, others), was_several), revoked)
        none = ca.logic_or(free, revoked)
        waiting = ca.if_else(is_found, int(Kind.UNKNOWN), ca.if_else(none, several * int(Kind.SEVERAL), kind))
        waiting = ca.if_else(moves, int(Kind.FREEZE), waiting)
        self.kind = ca.if_else(decides, ca.if_else(blocked, int(Kind.BLOCK), fits.kind), waiting)
        self.unexplained = ca.if_else(self.kind <= Kind.UNKNOWN, suspected_joint * residual.once, 0.0)
        self.size = size
        for code, fitted in fits.sizes.items():
            follows = ca.logic_or(decides, free == 0.0) if code is not Kind.BLOCK else decides
            self.size = ca.if_else(ca.logic_and(self.kind == int(code), follows), fitted, self.size)
        began = dot(self.is_joint, calm)
        shown = (joint_next, self.kind, self.size, ca.if_else(is_found, began, onset))
        told_kind = ca.if_else(ca.logic_and(self.kind == 0.0, ca.mmin(visible) < 1.0), int(Kind.NOT_YET), self.kind)
        self.telemetry = dict(zip(REPORTED, shown, strict=True)) | residual.telemetry
        self.telemetry |= {"fault_kind": told_kind, "fault_visible": visible}
        doc = "Torque of a fault that matters over κ σ, at most 1: below 1 such a fault of the joint is not seen yet."
        signals.describe_telemetry("fault_visible", size=n, unit="1", doc=doc)
        for name, (unit, doc) in REPORTED.items():
            signals.describe_telemetry(name, unit=unit, doc=doc)
        self.next_state = residual.next_state | {
            **dict(zip(REPORTED, shown, strict=True)),
            "suspected_joint": suspect,
            "suspected_time": age,
            "suspected_speed": speed_next,
            "slowest_speed": slowest_next,
            "quiet_time": quiet_next,
            "isolated_time": ca.if_else(free, 0.0, told),
            "calm_time": ca.if_else(ca.logic_and(free, z < CALM), residual.time, calm),
            "suspected_start": before,
            "suspected_sums": sums_next,
        }

    def _products(self, now: SX, before: SX, steps: SX) -> SX:
        """What the sums grow by: y, x and o through filters that start at the suspicion, q and q̇ from there on."""
        left = self.residual.decay ** (steps - 1.0)
        drag = (1.0 - self.residual.decay) * (steps - 1.0)
        y = now[0] - left * (before[0] + drag * before[1])
        x = now[2] - left * (before[2] + drag * before[3])
        o = 1.0 - left * (1.0 + drag)
        v, w = now[4] - before[4], now[5] - before[5]
        return ca.vertcat(x * x, x * o, o * o, x * y, o * y, y * y, v * v, v * w, w * w, v, w)


@dataclass(frozen=True)
class _Fits:
    """Fits of all kinds.

    Attributes:
        kind: Of those that explain torques the best.
        sizes: Of all.
        sure: Whether it is a hundred times as likely as the next.
        block: Σ of squares of q̇ that the line of a block leaves, and its `rate` λ.
        shift: Σ of q̇ − q̇ at the suspicion.
    """

    kind: SX
    sizes: Mapping[Kind, SX]
    sure: SX
    block: SX
    rate: SX
    shift: SX


def _fit(sums: SX, steps: SX, deviation: SX, samples: SX) -> _Fits:
    """Fit lines to sums.

    Args:
        sums: Of x², x o, o², x y, o y, y², v², v w, w², v and w, v and w being changes of q and q̇.
        steps: How many there are.
        deviation: σ of y.
        samples: Independent ones in a step.
    """
    xx, xo, oo, xy, oy, yy, vv, vw, ww, v, w = ca.vertsplit(sums)
    loss = ca.fmin(ca.fmax(-xy / (xx + TINY), 0.0), 1.0)
    bias, frozen = oy / (oo + TINY), (oy + xo) / (oo + TINY)
    costs = (
        yy + 2.0 * loss * xy + loss**2 * xx,
        yy - bias * oy,
        yy + 2.0 * xy + xx - frozen * (oy + xo),
    )
    kind, least, second = SX(int(Kind.LOSS)), costs[0], SX(ca.inf)
    for code, cost in ((Kind.BIAS, costs[1]), (Kind.FREEZE, costs[2])):
        better = cost < least
        second = ca.if_else(better, least, ca.fmin(second, cost))
        kind, least = ca.if_else(better, int(code), kind), ca.fmin(cost, least)
    sure = 0.5 * samples * (second - least) > ODDS * (deviation**2 + TINY)
    vv, vw, ww = vv - v * v / steps, vw - v * w / steps, ww - w * w / steps
    rate = ca.fmax(-vw / (vv + TINY), 0.0)
    sizes = {Kind.LOSS: loss, Kind.BIAS: bias, Kind.FREEZE: frozen, Kind.BLOCK: rate}
    return _Fits(kind, sizes, sure, ww + 2.0 * rate * vw + rate**2 * vv, rate, w)


def _chi_squared(count: int, kappa: SX) -> SX:
    """What κ standard deviations are for the sum of squares of `count` normal variables [Wilson & Hilferty 1931]."""
    part = 2.0 / (9.0 * count)
    return SX(count * (1.0 - part + kappa * part**0.5) ** 3)


def _largest(values: SX) -> tuple[SX, SX]:
    """The largest of (n,) values and its place, from 1."""
    most, place = values[0], SX(1)
    for i in range(1, values.numel()):
        larger = values[i] > most
        most, place = ca.if_else(larger, values[i], most), ca.if_else(larger, i + 1, place)
    return most, place
