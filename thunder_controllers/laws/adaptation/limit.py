"""Bounds on the speed of an adaptation, and on its estimates, in a loop that is sampled (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation.mask import chosen_of
from thunder_controllers.laws.parts.gains import NO_LEAST_INERTIA, adaptation_limit, least_inertia
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX
FloatArray = NDArray[np.float64]

PI_LOWER = np.array([0.0, -10.0, -10.0, -10.0, 0.0, -5.0, -5.0, 0.0, -5.0, 0.0])
PI_UPPER = np.array([20.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0])
"""Widest bounds of one link's estimate, REG order: a heavy tool at arm's length [kg, kg·m, kg·m²]."""

PI_UNITS = "kg, kg·m, kg·m²"

BEARABLE = 0.3
"""Feedback of velocity by a link's inertia that is estimated wrongly, over the true one of the arm and the rate.

A loop with a delay of two periods bears 0.62 in all (theory.md §5), of which K_d has 0.23 at 1 kHz by default. This is
at a corner of the bounds; diagonal changes, as a payload makes them, add a third of it to a half.
"""

BESIDE_OBSERVER = 0.06
"""The same of inertias in use where an observer feeds M̂ back, too.

A loop whose T_total is 4.6 ms bears 0.34 in all, and uses 0.23. With BEARABLE the rotor of a wrist that sticks went to
three times what it is.
"""

TINY = 1e-9
"""Keeps quotients finite."""


def bandwidth_beside(K_o: SX, Lambda: SX) -> SX:
    """Return the bandwidth that bounds inertias in use beside an observer [1/s]: M̂K_o feeds velocity back, as M̂Λ does.

    Args:
        K_o: Of the observer, of any size [1/s].
        Lambda: Bandwidths of the law's error, of any size [1/s].
    """
    return SX(BEARABLE / BESIDE_OBSERVER * (ca.mmax(Lambda) + ca.mmax(K_o)))


class AdaptationLimit:
    """Adaptation is an integral action of the gain YΓ⁻¹Yᵀ beside a damping K_d; with a delay it may not be too fast.

    Args:
        signals: Where the gain adaptation_limit is declared.
        default: Of that gain; None: what drives bear of which the robot file may be silent, `adaptation_limit`.
    """

    def __init__(self, signals: Signals, default: float | None = None) -> None:
        self._dt = signals.dt
        self._limit = signals.gain(
            "adaptation_limit",
            default=adaptation_limit(signals.robot) if default is None else default,
            bounds=(1e-6, 1e9),
            unit="1",
            doc="Adaptation slows down where YΓ⁻¹Yᵀ Δ/K_d would exceed this, Δ the period.",
        )

    def per_damping(self, K_d: SX, rows: int) -> SX:
        """Δ/K_d of each row of Y, (rows,), to weight Y² by before it is divided by Γ: few divisions, which are slow.

        Args:
            K_d: One for each row, or one for all.
            rows: Of Y.
        """
        return SX(SX.ones(rows) * (self._dt * reciprocal(K_d + TINY)))

    def share_kept(self, speed: SX) -> SX:
        """Share ≤ 1 of adaptation that keeps its Δ YΓ⁻¹Yᵀ/K_d, `speed`, within the limit, shape of speed."""
        return SX(ca.fmin(1.0, self._limit / (speed + TINY)))

    def moved(self, estimate: SX, Y: SX, rates: SX, s: SX, K_d: SX, force: SX | float = 0.0) -> SX:
        """Parameters of joints after an Euler step of Γ⁻¹(Yᵀ κ s + force), κ the share of each joint.

        Args:
            estimate: (m,).
            Y: Their regressor (n, m).
            rates: Diagonal of Γ⁻¹ (m,).
            s: q̇_r − q̇, (n,).
            K_d: The law's feedback on s, (n,).
            force: Beside Yᵀs, (m,).
        """
        speed = ca.sum2(Y * Y * ca.repmat(rates.T, s.numel(), 1))
        kept = self.share_kept(ca.densify(speed) * self.per_damping(K_d, s.numel()))
        return SX(estimate + self._dt * rates * (Y.T @ (kept * s) + force))


class Estimates:
    """π̂ of the adapted links, their bounds, and the box about the nominal values that a sampled loop bears.

    M̂Λ is a feedback of velocity, of which a sampled loop does not bear any amount: no entry Î_pq of an estimated
    inertia leaves its nominal value by more than BEARABLE √(a_p a_q)/(λ Δ), λ the largest entry of Λ, Δ the period and
    a the `least_inertia` about the link's axes.

    Γ_i = γ_i · diag(γ_m, γ_c 1₃, γ_I 1₆) per adapted link i.

    Args:
        signals: Where state `pi_hat` and the gains least_inertia, pi_lower, pi_upper and those of Γ are declared.
        links: Indices of the adapted links, in the order of the columns of Y.
        chosen: Which parameters adapt, (10 k,); the others stay.
        bounded: Whether there are bounds, pi_lower and pi_upper.

    Attributes:
        chosen: As given.
        value: Their symbols (10 k,), REG order.
        nominal: Of the robot file.
        bounds: Lower and upper, each (10 k,).
        telemetry: What to report of them.
        sure: How far the parameters are known to be away from the nominal ones (10 k,): so much farther they may go.
        beyond: What joints are known to turn beyond `least_inertia` about the links' axes, (3 k,) [kg·m²].
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        chosen: NDArray[np.bool_] | None = None,
        bounded: bool = True,
    ) -> None:
        self._signals, self._links, self.size = signals, len(links), N_PARAMETERS * len(links)
        self.chosen = np.ones(self.size, dtype=bool) if chosen is None else chosen
        self.telemetry: Mapping[str, SX] = {}
        self.sure, self.beyond = SX.zeros(self.size), SX.zeros(3 * len(links))
        widest = (PI_LOWER, PI_UPPER) if bounded else (np.full(N_PARAMETERS, -np.inf), np.full(N_PARAMETERS, np.inf))
        self.value, self.nominal, limits = declare_estimates(robot, signals, links, *widest)
        self._least_inertia = signals.gain(
            "least_inertia",
            size=3 * len(links),
            default=least_inertia(robot, tuple(links)),
            bounds=(0.0, NO_LEAST_INERTIA),
            unit="kg·m²",
            doc="Least inertia that a joint turns about each axis of the link: bounds the estimate by the rate.",
        )
        self.bounds = (SX(limits[0]), SX(limits[1]))
        if bounded:
            lower, upper = (
                signals.gain(
                    f"pi_{what}",
                    size=self.size,
                    default=default,
                    bounds=(-1e3, 1e3),
                    unit=PI_UNITS,
                    doc=f"{what.capitalize()} bounds of the estimates.",
                )
                for what, default in zip(("lower", "upper"), limits, strict=True)
            )
            self.bounds = lower, upper

    @cached_property
    def root(self) -> SX:
        """D (10 k, 10 k) with DDᵀ = Γ⁻¹, rows of what stays zero; declares the gains of Γ."""
        gamma = gamma_of_links(self._signals, self._links)
        mass, com, inertia = (weight_of(self._signals, what) for what in ("mass", "com", "inertia"))
        Gamma = ca.kron(gamma, ca.vertcat(mass, *3 * [com], *6 * [inertia]))
        return SX(ca.diag(self.chosen.astype(float) * ca.sqrt(reciprocal(Gamma))))

    def kept(self, pi: SX, Lambda: SX) -> SX:
        """π taken back to where the estimates may be in a loop of bandwidths Λ."""
        return self.borne(pi, Lambda)

    def borne(self, pi: SX, Lambda: SX) -> SX:
        """Return what a loop of bandwidths Λ bears of a π that may be estimated."""
        return self.clamped(pi, Lambda)

    def accepted(self, pi: SX) -> SX:
        """Return the next π̂, of π at the end of a step: what does not adapt stays."""
        return chosen_of(self.chosen, pi, self.value)

    def clamped(self, pi: SX, Lambda: SX) -> SX:
        """π within the bounds, and within what a loop with bandwidths Λ bears, component by component."""
        width = self.bearable(Lambda)
        lower, upper = ca.fmax(self.bounds[0], self.nominal - width), ca.fmin(self.bounds[1], self.nominal + width)
        return chosen_of(self.chosen, ca.fmin(ca.fmax(pi, lower), upper), pi)

    def bearable(self, Lambda: SX) -> SX:
        """Return the distance that the estimates may have from their nominal values, (10 k,); Λ of any size [1/s].

        What a loop does not bear is an inertia that is not there: `sure` is.
        """
        root = ca.sqrt((self._least_inertia + self.beyond) * (BEARABLE / (ca.mmax(Lambda) * self._signals.dt + TINY)))
        widths = []
        for a in ca.vertsplit(root, 3):
            widths += [ca.repmat(SX(ca.inf), 4), *(a[p] * a[q] for p in range(3) for q in range(p, 3))]
        return SX(ca.vertcat(*widths) + self.sure)


def declare_estimates(
    robot: RobotExpressions, signals: Signals, links: Sequence[int], lower: FloatArray, upper: FloatArray
) -> tuple[SX, FloatArray, tuple[FloatArray, FloatArray]]:
    """State `pi_hat` of some links, (10 k,), its nominal values, and its bounds, which are widened to these."""
    adapted = [robot.model.links[i] for i in links]
    nominal = np.concatenate([link.inertia.pi for link in adapted])
    bounds = np.minimum(np.tile(lower, len(links)), nominal), np.maximum(np.tile(upper, len(links)), nominal)
    value = signals.state(
        "pi_hat",
        size=nominal.size,
        default=nominal,
        bounds=bounds,
        unit=PI_UNITS,
        doc=f"Estimated inertial parameters, REG order, of {', '.join(link.name for link in adapted)}.",
        adapted=True,
    )
    return value, nominal, bounds


def gamma_of_links(signals: Signals, links: int, default: float = 1.0) -> SX:
    """Gain gamma, γ_i of each adapted link, (links,): V has γ_i times a number without unit, in every scheme."""
    doc = "Γ of each adapted link, times the weights or metric of the scheme; larger is slower."
    return signals.gain("gamma", size=links, default=default, bounds=(1e-6, 1e9), unit="N·m", doc=doc)


WEIGHTS = {
    "mass": ("1/kg²", "the mass"),
    "com": ("1/(kg·m)²", "the first moment"),
    "inertia": ("1/(kg·m²)²", "the inertia, or second moments"),
}
"""Unit of γ_m, γ_c and γ_I, and what of a link they weight."""


def weight_of(signals: Signals, what: str) -> SX:
    """Gain gamma_<what>, one of WEIGHTS: of Γ on some parameters of every link."""
    unit, on = WEIGHTS[what]
    return signals.gain(f"gamma_{what}", default=1.0, bounds=(1e-6, 1e9), unit=unit, doc=f"Weight of Γ on {on}.")
