"""How fast an adaptation may be, and how far its estimates may go, in a loop that is sampled (theory.md §5)."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.parts.gains import NO_LEAST_INERTIA, adaptation_limit, least_inertia
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

PI_LOWER = np.array([0.0, -10.0, -10.0, -10.0, 0.0, -5.0, -5.0, 0.0, -5.0, 0.0])
PI_UPPER = np.array([20.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0])
"""Widest bounds of one link's estimate, REG order: a heavy tool at arm's length [kg, kg·m, kg·m²]."""

PI_UNITS = "kg, kg·m, kg·m²"

BEARABLE = 0.3
"""Feedback of velocity by a link's inertia that is estimated wrongly, over the true one of the arm and the rate.

A loop with a delay of two periods bears 0.62 in all (theory.md §5), of which K_d has 0.23 at 1 kHz by default. This is
at a corner of the bounds; diagonal changes, as a payload makes them, add a third of it to a half.
"""

TINY = 1e-9
"""Keeps quotients finite."""


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


class Estimates:
    """π̂ of the adapted links, their bounds, and the box about the nominal values that a sampled loop bears.

    M̂Λ is a feedback of velocity, of which a sampled loop does not bear any amount: no entry Î_pq of an estimated
    inertia leaves its nominal value by more than BEARABLE √(a_p a_q)/(λ Δ), λ the largest entry of Λ, Δ the period and
    a the `least_inertia` about the link's axes.

    Args:
        signals: Where state `pi_hat` and the gain least_inertia are declared.
        links: Indices of the adapted links, in the order of the columns of Y.
        bounded: Whether there are bounds at all: PI_LOWER and PI_UPPER.

    Attributes:
        value: Their symbols (10 k,), REG order.
        nominal: Of the robot file.
        bounds: Lower and upper, each (10 k,).
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int], bounded: bool = True) -> None:
        k, self.size = len(links), N_PARAMETERS * len(links)
        self.nominal: NDArray[np.float64] = np.concatenate([robot.model.links[i].inertia.pi for i in links])
        widest = (np.tile(PI_LOWER, k), np.tile(PI_UPPER, k)) if bounded else (-np.inf, np.inf)
        self._widest = np.minimum(widest[0], self.nominal), np.maximum(widest[1], self.nominal)
        self.bounds: tuple[SX, SX] = SX(self._widest[0]), SX(self._widest[1])
        names = ", ".join(robot.model.links[i].name for i in links)
        self.value = signals.state(
            "pi_hat",
            size=self.size,
            default=self.nominal,
            bounds=self._widest,
            unit=PI_UNITS,
            doc=f"Estimated inertial parameters, REG order, of {names}.",
            adapted=True,
        )
        self._signals = signals
        self._least_inertia = signals.gain(
            "least_inertia",
            size=3 * k,
            default=least_inertia(robot, links),
            bounds=(0.0, NO_LEAST_INERTIA),
            unit="kg·m²",
            doc="Least inertia that a joint turns about each axis of the link: bounds the estimate by the rate.",
        )

    def declare_bounds(self) -> None:
        """Declare the gains pi_lower and pi_upper, which are the bounds from then on."""

        def bound(what: str, default: NDArray[np.float64]) -> SX:
            doc = f"{what.capitalize()} bounds of the estimates."
            limits = (-1e3, 1e3)
            return self._signals.gain(
                f"pi_{what}", size=self.size, default=default, bounds=limits, unit=PI_UNITS, doc=doc
            )

        self.bounds = bound("lower", self._widest[0]), bound("upper", self._widest[1])

    def clamped(self, pi: SX, Lambda: SX) -> SX:
        """π within the bounds, and within what a loop with bandwidths Λ bears, component by component."""
        width = self.bearable(Lambda)
        lower, upper = ca.fmax(self.bounds[0], self.nominal - width), ca.fmin(self.bounds[1], self.nominal + width)
        return SX(ca.fmin(ca.fmax(pi, lower), upper))

    def bearable(self, Lambda: SX) -> SX:
        """How far the estimates may leave their nominal values, (10 k,); Λ of any size [1/s]."""
        root = ca.sqrt(self._least_inertia * (BEARABLE / (ca.mmax(Lambda) * self._signals.dt + TINY)))
        return ca.vertcat(*(self._width(link) for link in ca.vertsplit(root, 3)))

    @staticmethod
    def _width(root: SX) -> SX:
        """How far the entries of one link's π̂ may leave their nominal values, REG order: rootₚ root_q."""
        return ca.vertcat(ca.repmat(SX(ca.inf), 4), *(root[p] * root[q] for p in range(3) for q in range(p, 3)))


class DiagonalGain:
    """Γ_i = γ_i · diag(γ_m, γ_c 1₃, γ_I 1₆) per adapted link i: a larger Γ adapts more slowly.

    Args:
        signals: Where the gains gamma, gamma_mass, gamma_com and gamma_inertia are declared.
        links: How many links adapt.

    Attributes:
        inverse: Diagonal of Γ⁻¹ (10 k,).
    """

    def __init__(self, signals: Signals, links: int) -> None:
        gamma = gamma_of_links(signals, links)
        mass = gamma_of(signals, "mass", "N·m/kg²", "the mass")
        com = gamma_of(signals, "com", "N/(kg²·m)", "the first moment")
        inertia = gamma_of(signals, "inertia", "N/(kg²·m³)", "the inertia")
        per_link = ca.vertcat(mass, ca.repmat(com, 3), ca.repmat(inertia, 6))
        self.inverse = reciprocal(ca.kron(gamma, per_link))


def gamma_of_links(signals: Signals, links: int) -> SX:
    """Gain gamma, γ_i of each adapted link, (links,)."""
    return signals.gain("gamma", size=links, default=1.0, bounds=(1e-6, 1e9), unit="1", doc="Γ of each adapted link.")


def gamma_of(signals: Signals, what: str, unit: str, on: str) -> SX:
    """Gain gamma_<what>, the weight of Γ on some of the parameters of every link."""
    return signals.gain(f"gamma_{what}", default=1.0, bounds=(1e-6, 1e9), unit=unit, doc=f"Weight of Γ on {on}.")
