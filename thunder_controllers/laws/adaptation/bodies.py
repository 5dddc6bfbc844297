"""Estimates that are those of bodies which exist: their pseudo-inertias are positive definite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from thunder_controllers.laws.adaptation.eigen import all_of, is_above, lacking, rotated_to_diagonal
from thunder_controllers.laws.adaptation.limit import TINY, Estimates, gamma_of_links, weight_of
from thunder_controllers.laws.adaptation.mask import chosen_of
from thunder_controllers.laws.adaptation.pseudo_inertia import (
    force_of_matrix,
    from_metric,
    pseudo_inertia,
    reg_from_pseudo_inertia,
    smallest_pivot,
)
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS, parallel_axis
from thunder_dynamics.inertia import pseudo_inertia as body_of
from thunder_dynamics.law import Signals
from thunder_dynamics.model import Link
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

CONSISTENCY = "consistency"
"""Telemetry of schemes whose estimates are bodies."""

LEAST_PIVOT = 1e-10
"""Least pivot of P, mass first, with which a host activates [kg, kg·m²]: a gram's within a third of a millimetre."""

LEAST_MOMENT = 1e-6
"""Least second moment of mass about any axis through the CoM [kg·m²]: that of ten grams within a centimetre."""

LEAST_MASS = 1e-12
"""Keeps quotients finite for links without mass [kg]."""

ROUNDS = 3
"""Number of projections in turn. Half-spaces give nearest points but for the second order of a step: the next one's."""

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

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(robot, signals, links, chosen)
        names = ", ".join(robot.model.links[i].name for i in links)
        signals.describe_telemetry(
            CONSISTENCY,
            unit="kg, kg·m²",
            doc=f"Smallest pivot of the pseudo-inertias that are estimated of {names}, mass first: of bodies it is "
            "positive, of point masses and rods it is not.",
            activation_bounds=(LEAST_PIVOT, ca.inf),
        )
        self.pseudo_inertias = [pseudo_inertia(pi) for pi in ca.vertsplit(self.value, N_PARAMETERS)]
        self.telemetry = {CONSISTENCY: ca.mmin(ca.vertcat(*map(smallest_pivot, self.pseudo_inertias)))}

    def borne(self, pi: SX, Lambda: SX) -> SX:
        """π of every link as it is where it `_fits`, else `_drawn`, which takes much more of a step."""
        width = self.bearable(Lambda)
        vectors = (pi, self._drawn(pi, width), width, *self.bounds)
        links = zip(*(ca.vertsplit(x, N_PARAMETERS) for x in vectors), np.split(self.nominal, self._links), strict=True)
        return SX(ca.vertcat(*(ca.if_else(_fits(one, *limits), one, drawn) for one, drawn, *limits in links)))

    def _drawn(self, pi: SX, width: SX) -> SX:
        """π drawn towards its nominal value, link by link, until it is within the bounds and what a loop bears.

        What gives way is the inertia about the CoM, then the CoM, then the whole body: drawn along, the mass of a
        payload, which gravity shows, would be lost for an inertia that nothing shows. All this leads from a body to a
        body; clamped components could leave the set of them.
        """
        links = zip(ca.vertsplit(pi, N_PARAMETERS), ca.vertsplit(width, N_PARAMETERS), strict=True)
        nominal = np.split(self.nominal, self._links)
        pi = ca.vertcat(*(_turning_less(one, room[4:], of) for (one, room), of in zip(links, nominal, strict=True)))
        change = pi - self.nominal
        upper = ca.fmin(width, self.bounds[1] - self.nominal)
        lower = ca.fmin(width, self.nominal - self.bounds[0])
        return SX(self.nominal + ca.vertcat(*self._shares(change, lower, upper)) * change)

    def accepted(self, pi: SX) -> SX:
        """Return π as `Estimates.accepted`; a link of which parameters stay is left whole where it would be no body."""
        found = []
        links = (ca.vertsplit(x, N_PARAMETERS) for x in (super().accepted(pi), self.value))
        for some, new, old in zip(np.split(self.chosen, self._links), *links, strict=True):
            is_body = smallest_pivot(pseudo_inertia(new)) >= LEAST_PIVOT
            found.append(new if some.all() else chosen_of(some, ca.if_else(is_body, new, old), old))
        return SX(ca.vertcat(*found))

    @staticmethod
    def _shares(change: SX, lower: SX, upper: SX) -> list[SX]:
        """Return the share of every link's changes that is kept, repeated for each of its parameters."""
        links = zip(*(ca.vertsplit(values, N_PARAMETERS) for values in (change, lower, upper)), strict=True)
        return [ca.repmat(_share_within(*link), N_PARAMETERS) for link in links]


def _check_room(link: Link) -> None:
    """Raise where a link has no room about it among the bodies that estimates may be: what stays then leaves none."""
    if np.linalg.eigvalsh(body_of(link.inertia.pi))[0] < LEAST_MOMENT:
        what = f"parameters of {link.name} that stay, with a second moment of mass below {LEAST_MOMENT:g} kg·m²"
        raise LawError(what, valid="adapted_parameters with all of it, adaptation=projected, or a link of some size")


def _fits(pi: SX, width: SX, lower: SX, upper: SX, nominal: NDArray[np.float64]) -> SX:
    """Return 1 where a link's numeric π is within its bounds and the width, so that `_drawn` leaves it as it is."""
    of_mass = _inertia_of_mass(pi) - nominal[0] * np.array(parallel_axis(1.0, nominal[1:4] / (nominal[0] + LEAST_MASS)))
    away = ca.fabs(ca.horzcat(pi[4:] - nominal[4:], of_mass))
    return all_of(ca.vertcat(lower <= pi, pi <= upper, ca.vec(away <= ca.repmat(width[4:], 1, 2))))


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
    """Return the inertia of a point mass at the CoM about the origin, m S(c)ᵀS(c), (6,)."""
    return SX(ca.vertcat(*parallel_axis(reciprocal(pi[0] + LEAST_MASS), pi[1:4])))


class ConsistentEstimates(BodyEstimates):
    """π̂ of links that are consistent, P ⪰ ε E, by projection in the metric that E = RRᵀ is the unit of.

    E = diag(γ_m, γ_I 1₃)^-½ and Γ is γ (γ_m δm² + 2 √(γ_m γ_I) ‖δh‖² + γ_I ‖δΣ‖²), δΣ of the second moments of mass, of
    which ε E has LEAST_MOMENT. P ⪰ ε E are eigenvalues of X = R⁻¹ P R⁻ᵀ, and Γ is γ ‖δX‖_F². In this metric the nearest
    body has the same eigenvectors and eigenvalues, but for those below ε, which become ε. It is nearer than π̂ to every
    body, the true one too: V falls by projection, and the motion along the border goes on. Of a body that is P itself,
    which pivots tell (`is_above`): a step finds eigenvalues only where there is something to do.

    Where parameters stay, the bodies that have them are a convex set, too, which holds π̂. Γ⁻¹ has the rows and columns
    of what adapts. With Z of the eigenvalues that are less than ε, their eigenvectors times what they lack,
    tr(Z (X − ε 1)) ≥ 0 is a half-space with every body in it. Its nearest point in the metric of V comes in place of
    the nearest body; what is then left is of second order in a step.

    Args:
        signals: As of BodyEstimates, and where the gains gamma, gamma_mass and gamma_inertia are declared.
        chosen: Which parameters adapt, (10 k,); the others stay.

    Raises:
        LawError: for a link of which parameters stay, and whose nominal body has no room.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        chosen: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(robot, signals, links, chosen)
        mass, inertia = (weight_of(signals, what) for what in ("mass", "inertia"))
        root = ca.vertcat(ca.sqrt(ca.sqrt(mass)), ca.repmat(ca.sqrt(ca.sqrt(inertia)), 3))
        self._R, self._K, self._least = SX(ca.diag(reciprocal(root))), ca.diag(root), LEAST_MOMENT * ca.sqrt(inertia)
        for i, some in zip(links, np.split(self.chosen, self._links), strict=True):
            if some.any() and not some.all():
                _check_room(robot.model.links[i])

    @cached_property
    def root(self) -> SX:
        """D (10 k, 10 k) with DDᵀ = Γ⁻¹, rows of what stays zero; declares the gain gamma."""
        rates = ca.sqrt(reciprocal(gamma_of_links(self._signals, self._links)))
        return SX(ca.diagcat(*(D * rate for D, rate in zip(self._roots, ca.vertsplit(rates), strict=True))))

    @cached_property
    def _roots(self) -> list[SX]:
        """D (10, 10) of every link where γ = 1."""
        columns = [reg_from_pseudo_inertia(self._R @ from_metric(x) @ self._R.T) for x in ca.horzsplit(SX.eye(10))]
        return [ca.diag(some) @ ca.horzcat(*columns) for some in np.split(self.chosen.astype(float), self._links)]

    def kept(self, pi: SX, Lambda: SX) -> SX:
        """Nearest π with P ⪰ ε E, then drawn towards its nominal value as `BodyEstimates.borne` has it.

        Where parameters stay, what adapts goes to half-spaces and into the bounds in turn instead, ROUNDS times.
        """
        if self.chosen.all():
            return self.borne(ca.vertcat(*(one + self._lack(one) for one in ca.vertsplit(pi, N_PARAMETERS))), Lambda)
        pi = self.clamped(pi, Lambda)
        for _ in range(ROUNDS):
            links = zip(ca.vertsplit(pi, N_PARAMETERS), self._roots, strict=True)
            pi = self.clamped(ca.vertcat(*(self._nearer(one, D) for one, D in links)), Lambda)
        return pi

    def _nearer(self, pi: SX, D: SX) -> SX:
        """A link's π in the half-space of Z: as it is where nothing is lacking."""
        X = self._metric(pi)
        B, V = rotated_to_diagonal(X)
        lacks, moved = ca.fmax(self._least - ca.diag(B), 0.0), V.T @ self._K
        normal = force_of_matrix(moved.T @ (ca.repmat(lacks, 1, 4) * moved))
        found = nearest(pi, normal, SX(ca.sumsqr(lacks)), lambda normal: D @ (D.T @ normal))
        return SX(ca.if_else(is_above(X, self._least), pi, found))

    def _lack(self, pi: SX) -> SX:
        """Return what a link's π lacks of P ⪰ ε E: nothing inside of that set, which few operations tell."""
        X = self._metric(pi)
        lacks, V = lacking(X, self._least)
        moved = self._R @ V
        lack = reg_from_pseudo_inertia(moved @ (ca.repmat(lacks, 1, 4) * moved.T))
        return SX(ca.if_else(is_above(X, self._least), 0.0, lack))

    def _metric(self, pi: SX) -> SX:
        """X = R⁻¹ P R⁻ᵀ of a link's π."""
        return SX(self._K @ pseudo_inertia(pi) @ self._K.T)
