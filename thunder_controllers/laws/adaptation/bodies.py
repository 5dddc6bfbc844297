"""Estimates that are those of bodies which exist: their pseudo-inertias are positive definite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation.eigen import lacking, rotated_to_diagonal
from thunder_controllers.laws.adaptation.limit import TINY, Estimates
from thunder_controllers.laws.adaptation.pseudo_inertia import (
    factor,
    force_of_matrix,
    from_metric,
    in_metric,
    pseudo_inertia,
    reg_from_pseudo_inertia,
    smallest_pivot,
    solve_lower,
)
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

LEAST_PIVOT = 1e-10
"""Of P, mass first, with which a host activates [kg, kg·m²]: that of a gram within a third of a millimetre."""

GAMMA = 0.01
"""Default γ: a link of 1 kg then gains mass as fast as by gradient with Γ = 0.01, one of 0.1 kg as with Γ = 1."""

LEAST_MASS = 1e-12
"""Keeps quotients finite for links without mass [kg]."""

LEAST_SLOPE = 1e-30
"""Keeps quotients finite where nothing lacks."""


def nearest(x: SX, normal: SX, lack: SX, inverse: Callable[[SX], SX]) -> SX:
    """Nearest x in a metric J of the half-space aᵀδx ≥ b; `inverse` is J⁻¹ of a column."""
    towards = inverse(normal)
    return SX(x + towards * (lack * reciprocal(dot(normal, towards) + LEAST_SLOPE)))


class BodyEstimates(Estimates):
    """π̂ of links whose pseudo-inertias are P = RRᵀ.

    They cannot start from what is no body, such as a point mass: the telemetry `consistency`, of the least of all
    links, has bounds outside of which a host does not activate.

    Attributes:
        factors: R of every link, lower triangular (4, 4).
        telemetry: `consistency`.
    """

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
        P = [pseudo_inertia(pi) for pi in ca.vertsplit(self.value, N_PARAMETERS)]
        self.factors = [factor(matrix) for matrix in P]
        self.telemetry = {"consistency": ca.mmin(ca.vertcat(*(smallest_pivot(matrix) for matrix in P)))}

    def in_metric(self, rows: SX) -> SX:
        """Rows (m, 10 k) that act on π̂, in coordinates in which the metric of every P is that of numbers."""
        blocks = [
            ca.vertcat(*(in_metric(R, row.T).T for row in ca.vertsplit(block)))
            for R, block in zip(self.factors, ca.horzsplit(rows, N_PARAMETERS), strict=True)
        ]
        return ca.horzcat(*blocks)

    def drawn(self, pi: SX, Lambda: SX) -> SX:
        """π drawn towards its nominal value, link by link, until it is within the bounds and what a loop bears.

        What gives way is the inertia about the CoM, then the CoM, then the whole body: drawn along, the mass of a
        payload, which gravity shows, would be lost for an inertia that nothing shows. All this leads from a body to a
        body; clamped components could leave the set of them.
        """
        width = self.bearable(Lambda)
        links = zip(ca.vertsplit(pi, N_PARAMETERS), ca.vertsplit(width, N_PARAMETERS), strict=True)
        nominal = np.split(self.nominal, len(self.factors))
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
    unit = np.array(ca.DM(_inertia_of_mass(SX(np.append(1.0, com))))).ravel()
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
    h = pi[1:4]
    square = dot(h, h)
    products = [(square if p == q else 0.0) - h[p] * h[q] for p in range(3) for q in range(p, 3)]
    return SX(ca.vertcat(*products) * reciprocal(pi[0] + LEAST_MASS))


class ConsistentEstimates(BodyEstimates):
    """π̂ of links whose pseudo-inertias are P ⪰ ε P_0, P_0 the nominal ones, by projection in a metric.

    Whatever frame and units, P ⪰ ε P_0 are eigenvalues of R_0⁻¹ P R_0⁻ᵀ, P_0 = R_0R_0ᵀ. With Z of those that are less
    than ε, their eigenvectors times what they lack, tr(Z (R_0⁻¹ P R_0⁻ᵀ − ε 1)) ≥ 0 is a half-space with every such
    body in it, the true one too. Its nearest point in the metric J of a Lyapunov function is therefore nearer to the
    truth: V falls, and the motion along the border goes on. What is left, of second order in a step, is added in the
    metric of P_0: eigenvalues below ε are made ε, and more by what is left off the diagonal.

    Args:
        signals: As of BodyEstimates, and where the gain `least_body`, ε, is declared.

    Raises:
        LawError: if a nominal link is no body.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> None:
        super().__init__(robot, signals, links)
        self._nominal_factors = [self._nominal_factor(robot, i) for i in links]
        self._unit = [solve_lower(R, SX.eye(4)) for R in self._nominal_factors]
        self._least = signals.gain(
            "least_body",
            default=1e-3,
            bounds=(1e-6, 0.5),
            unit="1",
            doc="Share of the nominal body, in every direction of mass, that is in the estimated one at least.",
        )

    def root(self, signals: Signals) -> SX:
        """D (10 k, 10 k) with DDᵀ = Γ⁻¹: Γ is γ times the metric of natural adaptation at P_0; declares gain gamma."""
        gamma = signals.gain(
            "gamma",
            size=len(self._unit),
            default=GAMMA,
            bounds=(1e-6, 1e9),
            unit="N·m",
            doc="Γ of each adapted link in the metric of its nominal pseudo-inertia; larger is slower.",
        )
        blocks = []
        for R, scale in zip(self._nominal_factors, ca.vertsplit(gamma), strict=True):
            columns = (reg_from_pseudo_inertia(R @ from_metric(unit) @ R.T) for unit in ca.horzsplit(SX.eye(10)))
            blocks.append(ca.horzcat(*columns) * ca.sqrt(reciprocal(scale)))
        return SX(ca.diagcat(*blocks))

    @staticmethod
    def _nominal_factor(robot: RobotExpressions, i: int) -> SX:
        link = robot.model.links[i]
        P = pseudo_inertia(SX(link.inertia.pi))
        if float(ca.DM(smallest_pivot(P))) < LEAST_PIVOT:
            raise LawError(
                f"no body: the pseudo-inertia of {link.name} is not positive definite",
                where=f"robot {robot.model.name}",
                valid="a mass and an inertia about its centre in all three directions",
            )
        return factor(P)

    def projected(self, x: SX, inverse: Callable[[SX], SX]) -> SX:
        """x with P ⪰ ε P_0 of the π that it starts with.

        Args:
            x: (10 k + any,).
            inverse: J⁻¹ of a column of that size, J the metric.
        """
        normals, lack = [], SX(0)
        for K, pi in self._links(x):
            B, V = rotated_to_diagonal(K @ pseudo_inertia(pi) @ K.T)
            lacks, moved = ca.fmax(self._least - ca.diag(B), 0.0), V.T @ K
            normals.append(force_of_matrix(moved.T @ (ca.repmat(lacks, 1, 4) * moved)))
            lack += ca.sumsqr(lacks)
        x = nearest(x, ca.vertcat(*normals, SX.zeros(x.numel() - self.size)), lack, inverse)
        return ca.vertcat(*(pi + self._clip(K, pi) for K, pi in self._links(x)), x[self.size :])

    def _links(self, x: SX) -> list[tuple[SX, SX]]:
        """R_0⁻¹ and π of every link."""
        return list(zip(self._unit, ca.vertsplit(x[: self.size], N_PARAMETERS), strict=True))

    def _clip(self, K: SX, pi: SX) -> SX:
        """What π lacks of P ⪰ ε P_0."""
        lacks, V = lacking(K @ pseudo_inertia(pi) @ K.T, self._least)
        moved = solve_lower(K, V)
        return reg_from_pseudo_inertia(moved @ (ca.repmat(lacks, 1, 4) * moved.T))
