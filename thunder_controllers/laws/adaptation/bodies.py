"""Estimates that are those of bodies which exist: their pseudo-inertias are positive definite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation.eigen import lacking, rotated_to_diagonal
from thunder_controllers.laws.adaptation.limit import TINY, Estimates, gamma_of_links, weight_of
from thunder_controllers.laws.adaptation.pseudo_inertia import (
    force_of_matrix,
    from_metric,
    pseudo_inertia,
    reg_from_pseudo_inertia,
    smallest_pivot,
)
from thunder_controllers.laws.parts.redundancy import factor_ldl, solve_lower
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS, parallel_axis
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

LEAST_PIVOT = 1e-10
"""Of P, mass first, with which a host activates [kg, kg·m²]: that of a gram within a third of a millimetre."""

GAMMA = 0.01
"""Default γ: a link of 1 kg then gains mass as fast as by gradient with Γ = 0.01, one of 0.1 kg as with Γ = 1."""

LEAST_MOMENT = 1e-6
"""Least second moment of mass about any axis through the CoM [kg·m²]: that of ten grams within a centimetre."""

LEAST_MASS = 1e-12
"""Keeps quotients finite for links without mass [kg]."""

LEAST_SLOPE = 1e-30
"""Keeps quotients finite where nothing lacks."""


def nearest(x: SX, normal: SX, lack: SX, inverse: Callable[[SX], SX]) -> SX:
    """Nearest x in a metric J of the half-space aᵀδx ≥ b; `inverse` is J⁻¹ of a column."""
    towards = inverse(normal)
    return SX(x + towards * (lack * reciprocal(dot(normal, towards) + LEAST_SLOPE)))


class BodyEstimates(Estimates):
    """π̂ of links that are consistent: their pseudo-inertias are P ≻ 0, those of bodies that exist (theory.md §1).

    They cannot start from what is no body, such as a point mass: the telemetry `consistency`, of the least of all
    links, has bounds outside of which a host does not activate.

    Attributes:
        pseudo_inertias: P of every link, (4, 4).
    """

    separable = False

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> None:
        super().__init__(robot, signals, links)
        names = ", ".join(robot.model.links[i].name for i in links)
        signals.describe_telemetry(
            "consistency",
            unit="kg, kg·m²",
            doc=f"Smallest pivot of the pseudo-inertias that are estimated of {names}, mass first: of bodies it is "
            "positive, of point masses and rods it is not.",
            activation_bounds=(LEAST_PIVOT, ca.inf),
        )
        self.pseudo_inertias = [pseudo_inertia(pi) for pi in ca.vertsplit(self.value, N_PARAMETERS)]
        self.telemetry = {"consistency": ca.mmin(ca.vertcat(*map(smallest_pivot, self.pseudo_inertias)))}

    def kept(self, pi: SX, Lambda: SX) -> SX:
        """π drawn towards its nominal value, link by link, until it is within the bounds and what a loop bears.

        What gives way is the inertia about the CoM, then the CoM, then the whole body: drawn along, the mass of a
        payload, which gravity shows, would be lost for an inertia that nothing shows. All this leads from a body to a
        body; clamped components could leave the set of them.
        """
        width = self.bearable(Lambda)
        links = zip(ca.vertsplit(pi, N_PARAMETERS), ca.vertsplit(width, N_PARAMETERS), strict=True)
        nominal = np.split(self.nominal, self._links)
        pi = ca.vertcat(*(_turning_less(one, room[4:], of) for (one, room), of in zip(links, nominal, strict=True)))
        change = pi - self.nominal
        upper = ca.fmin(width, self.bounds[1] - self.nominal)
        lower = ca.fmin(width, self.nominal - self.bounds[0])
        return SX(self.nominal + ca.vertcat(*self._shares(change, lower, upper)) * change)

    @staticmethod
    def _shares(change: SX, lower: SX, upper: SX) -> list[SX]:
        """Of every link's changes, repeated for each of its parameters."""
        links = zip(*(ca.vertsplit(values, N_PARAMETERS) for values in (change, lower, upper)), strict=True)
        return [ca.repmat(_share_within(*link), N_PARAMETERS) for link in links]


def _share_within(change: SX, lower: SX, upper: SX) -> SX:
    """Largest share of a change that stays above −lower and below upper, at most 1; zero where there is no room."""
    room = ca.fmax(ca.if_else(change > 0.0, upper, lower), 0.0)
    return SX(1.0 / ca.fmax(1.0, ca.mmax(ca.fabs(change) / (room + TINY))))


def _turning_less(pi: SX, width: SX, nominal: NDArray[np.float64]) -> SX:
    """A link's π with its inertia within the width of the nominal one: that about the CoM gives way, then the CoM.

    Each goes towards its nominal value as far as it must; what the mass adds at the nominal CoM stays.
    """
    mass, com = pi[0], nominal[1:4] / (nominal[0] + LEAST_MASS)
    unit = np.array(parallel_axis(1.0, com))
    own = nominal[4:] - nominal[0] * unit
    before = _inertia_of_mass(pi)
    away = (mass - nominal[0]) * unit
    share = _share_within(before - mass * unit, width + away, width - away)
    h = mass * com + share * (pi[1:4] - mass * com)
    of_mass = _inertia_of_mass(ca.vertcat(mass, h))
    away = of_mass - nominal[0] * unit
    turning = pi[4:] - before - own
    share = _share_within(turning, width + away, width - away)
    return SX(ca.vertcat(mass, h, of_mass + own + share * turning))


def _inertia_of_mass(pi: SX) -> SX:
    """Of a point mass at the CoM about the origin, m S(c)ᵀS(c), (6,)."""
    return SX(ca.vertcat(*parallel_axis(reciprocal(pi[0] + LEAST_MASS), pi[1:4])))


Metric = tuple[list[SX], SX, float]
"""Of P, R of every link with RRᵀ its unit; ε, the least eigenvalue of P in it; and γ by default."""


def of_weights(robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> Metric:
    """E = diag(γ_m, γ_I 1₃)^-½ for every link: Γ is γ (γ_m δm² + 2 √(γ_m γ_I) ‖δh‖² + γ_I ‖δΣ‖²).

    ε E has LEAST_MOMENT for its second moments of mass.
    """
    mass, inertia = (weight_of(signals, what) for what in ("mass", "inertia"))
    root = ca.vertcat(ca.sqrt(ca.sqrt(mass)), ca.repmat(ca.sqrt(ca.sqrt(inertia)), 3))
    return [SX(ca.diag(reciprocal(root)))] * len(links), LEAST_MOMENT * ca.sqrt(inertia), 1.0


def of_nominal_bodies(robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> Metric:
    """P_0 of the robot file: Γ is γ times the metric of natural adaptation there, and P ⪰ ε P_0.

    Raises:
        LawError: if a nominal link is no body.
    """
    factors = []
    for link in (robot.model.links[i] for i in links):
        P = pseudo_inertia(SX(link.inertia.pi))
        if float(ca.DM(smallest_pivot(P))) < LEAST_PIVOT:
            raise LawError(
                f"no body: the pseudo-inertia of {link.name} is not positive definite",
                where=f"robot {robot.model.name}",
                valid="a mass and an inertia about its centre in all three directions",
            )
        factors.append(factor_ldl(P).root)
    least = signals.gain(
        "least_body",
        default=1e-3,
        bounds=(1e-6, 0.5),
        unit="1",
        doc="Share of the nominal body, in every direction of mass, that is in the estimated one at least.",
    )
    return factors, least, GAMMA


class ConsistentEstimates(BodyEstimates):
    """π̂ of links that are consistent, P ⪰ ε E, by projection in the metric that E = RRᵀ is the unit of.

    Whatever frame and units, P ⪰ ε E are eigenvalues of X = R⁻¹ P R⁻ᵀ, and Γ is γ ‖δX‖_F². In this metric the nearest
    body has the same eigenvectors and eigenvalues, but for those below ε, which become ε. It is nearer than π̂ to every
    body, the true one too: V falls by projection, and the motion along the border goes on.

    In another metric J of V, with Z of the eigenvalues that are less than ε, their eigenvectors times what they lack,
    tr(Z (X − ε 1)) ≥ 0 is a half-space with every such body in it. Its nearest point in J comes first; what is then
    left is of second order in a step.

    Args:
        signals: As of BodyEstimates, and where the gains of Γ and of the metric are declared.
        metric: `of_weights`, or `of_nominal_bodies`.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        metric: Callable[[RobotExpressions, Signals, Sequence[int]], Metric],
    ) -> None:
        super().__init__(robot, signals, links)
        self._factors, self._least, self._gamma = metric(robot, signals, links)
        self._unit = [solve_lower(R, SX.eye(4)) for R in self._factors]

    @cached_property
    def root(self) -> SX:
        """D (10 k, 10 k) with DDᵀ = Γ⁻¹; declares the gain gamma."""
        gamma, blocks = gamma_of_links(self._signals, self._links, self._gamma), []
        for R, scale in zip(self._factors, ca.vertsplit(gamma), strict=True):
            columns = (reg_from_pseudo_inertia(R @ from_metric(unit) @ R.T) for unit in ca.horzsplit(SX.eye(10)))
            blocks.append(ca.horzcat(*columns) * ca.sqrt(reciprocal(scale)))
        return SX(ca.diagcat(*blocks))

    def kept(self, pi: SX, Lambda: SX) -> SX:
        """Nearest π with P ⪰ ε E, then drawn towards its nominal value as `BodyEstimates.kept` has it."""
        links = zip(self._factors, self._unit, ca.vertsplit(pi, N_PARAMETERS), strict=True)
        return super().kept(ca.vertcat(*(one + self._lack(R, K, one) for R, K, one in links)), Lambda)

    def towards(self, x: SX, inverse: Callable[[SX], SX]) -> SX:
        """x in the half-space of Z, as `Estimates.towards` has it."""
        normals, lack = [], SX(0)
        for K, pi in zip(self._unit, ca.vertsplit(x[: self.size], N_PARAMETERS), strict=True):
            B, V = rotated_to_diagonal(K @ pseudo_inertia(pi) @ K.T)
            lacks, moved = ca.fmax(self._least - ca.diag(B), 0.0), V.T @ K
            normals.append(force_of_matrix(moved.T @ (ca.repmat(lacks, 1, 4) * moved)))
            lack += ca.sumsqr(lacks)
        return nearest(x, ca.vertcat(*normals, SX.zeros(x.numel() - self.size)), lack, inverse)

    def _lack(self, R: SX, K: SX, pi: SX) -> SX:
        """What π lacks of P ⪰ ε E, K = R⁻¹."""
        lacks, V = lacking(K @ pseudo_inertia(pi) @ K.T, self._least)
        moved = R @ V
        return reg_from_pseudo_inertia(moved @ (ca.repmat(lacks, 1, 4) * moved.T))
