"""Adaptation that follows recursive least squares on the momentum regressor (theory.md §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.bodies import LEAST_MASS, ConsistentEstimates
from thunder_controllers.laws.adaptation.least_squares.momentum_rows import MomentumRows, prior_deviations
from thunder_controllers.laws.adaptation.least_squares.recursion import TOUCHED, RecursiveLeastSquares
from thunder_controllers.laws.adaptation.limit import PI_UNITS, TINY, gamma_of_links
from thunder_controllers.laws.adaptation.scheme import LINKS, Adaptation, Adapted
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS, parallel_axis
from thunder_dynamics.law import Option, Signals
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

MOST_LINKS = 2
"""No motion tells all ten parameters of more; bodies projected one by one explain less of the effort than θ does."""

BANDWIDTH = 20.0
"""Default bandwidth of both filters [1/s]."""

FOLLOW_RATE = 10.0
"""k by default [1/s]: slower than the filters, so that π̂ goes where θ stays."""

PATIENCE = 3.0
"""Time for which estimates stay as they are in a contact [s]: what lasts is to be carried, whatever it is."""

SURE = 3.0
"""Standard deviations by which a parameter may be nearer to the robot file's than it is told."""

FARTHEST = 1.0
"""Distance from its link beyond which no body has its CoM [m]; what seems to be there touches the arm."""

EFFORT = Option(
    "effort", "Learn by efforts that drives are told, or by those that sensors measure.", ("told", "measured")
)

TELEMETRY: Mapping[str, tuple[str, str]] = {
    "pi_told": (PI_UNITS, "π by least squares, of a body or not, in the order of pi_hat."),
    "pi_std": (PI_UNITS, "Standard deviations of pi_told."),
    "joints_told": (
        "SI",
        "Viscous, Coulomb friction, rotors less the file's; friction by load, offsets if adapted; delay.",
    ),
    "joints_std": ("SI", "Standard deviations of joints_told."),
    "change": ("1", "0 none, 1 one of unknown kind, 2 another body is carried, 3 a contact, 4 one that has passed."),
    "change_age": ("s", "Since the last change; negative before the first."),
    "picked_up": (PI_UNITS, "π of what was picked up at the last change, negative of what was put down, in frames of "),
    "picked_up_std": (PI_UNITS, "Standard deviations of picked_up."),
    "bias": ("1", "Mean innovation over its deviation, the largest of all joints: from 2 on, no deviation holds."),
    "surprise": ("1", "Mean squared innovation over its variance, the largest of all joints."),
}
"""Unit and meaning of what least squares tell."""


class Followed(Protocol):
    """Estimates that follow θ."""

    estimate: SX
    nominal: np.ndarray


class LeastSquaresAdaptation(Adaptation):
    """π̂̇ = κ G Yᵀs + k (1 − C̄)(θ − π̂), θ by `RecursiveLeastSquares`, C̄ its covariance over the prior's, G = Γ⁻¹C̄.

    Where nothing is known C̄ = 1, and π̂ adapts by the tracking error; where much is known C̄ = 0, and π̂ follows θ. In a
    contact it stays, for `PATIENCE`, and then adapts by the tracking error alone. It is a body after each step, by
    projection, which θ is not: a projected θ diverges. Friction that is adapted follows θ and the tracking error,
    offsets too, rotors follow θ.

    What the mask leaves out is known: its prior deviation is zero, and θ has it where it is. Friction and rotors that
    do not adapt at all are unknown, as no mask says anything of them.

    Γ is γ over the prior's variances. V falls by the second part too but for what θ is wrong by, as 1 − C̄ is symmetric
    in the metric of Γ. κ is the share that `AdaptationLimit` keeps, for Γ⁻¹ instead of G, which is less.

    What θ surely says of rotors and bodies, `SURE` deviations from the file's, a loop does turn: the bounds of inertias
    that it does not bear are wider by that.

    Args:
        signals: Where states, gains and telemetry are declared.
        links: Indices of the adapted links, in the order of the columns of Y.
        adapted: What adapts of them follows θ as well.
        told: What estimates θ and C̄.

    Attributes:
        nominal: π of the robot file (10 k,).

    Raises:
        LawError: for more links than MOST_LINKS.
    """

    OPTIONS = (EFFORT,)
    separable = True
    tells_rotors = True

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        links: Sequence[int],
        adapted: Adapted = LINKS,
        told: type[RecursiveLeastSquares] = RecursiveLeastSquares,
    ) -> None:
        if len(links) > MOST_LINKS:
            valid = f"adapted_links of at most {MOST_LINKS}, or adaptation=natural_composite"
            raise LawError(f"least squares of {len(links)} links", valid=valid)
        super().__init__(signals, ConsistentEstimates(robot, signals, links, adapted.mask.get("pi_hat")))
        size, n = self._estimates.size, robot.n
        self._adapted, self.nominal = adapted, self._estimates.nominal
        has_offsets = adapted.offsets is not None
        self._scale = prior_deviations(robot, links, has_offsets, adapted.rotors is not None)
        self._friction, self._rotors = slice(size, size + 2 * n), slice(size + 2 * n, size + 3 * n)
        self._offsets = slice(size + 4 * n, size + 5 * n)
        parts: dict[str, tuple[slice, Followed | None]] = {
            "pi_hat": (slice(size), self),
            "friction_hat": (self._friction, adapted.friction),
            "rotor_hat": (self._rotors, adapted.rotors),
            "offset_hat": (self._offsets, adapted.offsets),
        }
        unknown, start = self._scale > 0.0, SX.zeros(self._scale.size)
        for name, (part, estimates) in parts.items():
            if estimates is not None:
                unknown[part] &= adapted.mask.get(name, True)
                start[part] = (estimates.estimate - estimates.nominal) / self._scale[part]
        gamma = ca.kron(gamma_of_links(signals, len(links)), SX.ones(N_PARAMETERS))
        self._root = unknown[:size].astype(float) * self._scale[:size] * ca.sqrt(reciprocal(gamma))
        self._rate = signals.gain(
            "follow_rate",
            default=FOLLOW_RATE,
            bounds=(0.0, 100.0),
            unit="1/s",
            doc="k, at which estimates follow least squares.",
        )
        omega = signals.gain(
            "prediction_bandwidth", default=BANDWIDTH, bounds=(0.1, 1e3), unit="1/s", doc="ω of both filters."
        )
        rows = MomentumRows(robot, signals, links, omega, has_offsets, adapted.effort)
        carried = [k for k, link in enumerate(links) if link == robot.model.ee_link] or range(len(links))
        self._carrying = ", ".join(robot.model.links[links[k]].name for k in carried)
        body = [N_PARAMETERS * k + j for k in carried for j in range(N_PARAMETERS)]
        self._told = told(robot, signals, rows, omega, start, unknown, body, self._scale)
        self._next = rows.next_state | self._told.next_state
        self._untouched = SX(self._told.change != TOUCHED)
        self._adapts = ca.fmax(self._untouched, self._told.opened > PATIENCE)
        self._std = SX(self._scale * self._told.std)
        self._away, self._learnt = SX(self._scale * self._told.z), SX(1.0 - self._told.std**2)
        self._estimates.sure = ca.fmax(self._surely(ca.fabs(self._away))[:size], self._turned_by_masses())
        self._estimates.beyond = self._turned_by_rotors(robot, links)
        if adapted.rotors:
            adapted.rotors.sure += self._surely(self._away)[self._rotors]
            adapted.rotors.most = SX(adapted.rotors.nominal + (self._away + SURE * self._std)[self._rotors])
        self._report(body)

    def _surely(self, away: SX) -> SX:
        """Return what of differences from the robot file (p,) is beyond doubt, not negative.

        It has the share 1 − C̄: first estimates are no knowledge.
        """
        return SX(self._learnt * ca.fmax(away - SURE * self._std, 0.0))

    def _turned_by_masses(self) -> SX:
        """Inertia beyond the file's that masses surely have where they surely are, (10 k,): a point mass has the least.

        Gravity tells m and m c at rest, where nothing but a body bears down, see `FARTHEST`. Without this, a body stays
        where inertias that no motion has shown let it be.
        """
        size, found = self._estimates.size, []
        parts = self.nominal, self._away[:size], self._std[:size], self._learnt[:size]
        links = zip(*(ca.vertsplit(SX(x), N_PARAMETERS) for x in parts), strict=True)
        for file, change, deviation, learnt in links:
            told = file + change
            mass = told[0] + SURE * deviation[0]
            moment = learnt[1:4] * ca.fmax(ca.fabs(told[1:4]) - SURE * deviation[1:4], 0.0)
            point = ca.vertcat(*parallel_axis(reciprocal(ca.fmax(mass, LEAST_MASS)), moment))
            point *= dot(moment, moment) < (FARTHEST * ca.fmax(mass, 0.0)) ** 2
            found += [SX.zeros(4), ca.fmax(ca.fabs(point) - ca.fabs(file[4:]), 0.0)]
        return SX(ca.vertcat(*found))

    def _turned_by_rotors(self, robot: RobotExpressions, links: Sequence[int]) -> SX:
        """Return what rotors beyond the file's surely add to the inertia about each axis of the links, (3 k,) [kg·m²].

        1/(aᵀM⁻¹a) is concave in M: with rotors R beside it, it is 1/(aᵀR⁻¹a) more at least, a the axis in joint space.
        """
        kinematics = robot.kinematics(self._signals.q)
        axes = [kinematics.poses[i + 1][0].T @ kinematics.jacobian_link(i + 1)[3:, :] for i in links]
        rotors = self._surely(self._away)[self._rotors]
        return SX(reciprocal(ca.vertcat(*axes) ** 2 @ reciprocal(rotors + TINY) + TINY))

    def _report(self, body: Sequence[int]) -> None:
        """Telemetry."""
        told, size, scale = self._told, self._estimates.size, self._scale[list(body)]
        std = self._std**2 + self._scale**2 * ca.sum2(told.doubt**2)
        between = scale**2 * ca.sum2((told.doubt - told.doubt_before)[list(body), :] ** 2)
        values: dict[str, SX] = {
            "pi_told": SX(self.nominal + self._away[:size]),
            "pi_std": ca.sqrt(std[:size]),
            "joints_told": self._away[size:],
            "joints_std": ca.sqrt(std[size:]),
            "change": told.change,
            "change_age": told.age,
            "picked_up": (told.age >= 0.0) * scale * (told.z - told.before)[list(body)],
            "picked_up_std": ca.sqrt(self._std[list(body)] ** 2 + (scale * told.std_before[list(body)]) ** 2 + between),
            "surprise": ca.mmax(told.surprise),
            "bias": ca.mmax(ca.fabs(told.bias)),
        }
        for name, (unit, doc) in TELEMETRY.items():
            doc += f"{self._carrying}." if name == "picked_up" else ""  # by which hosts know the link
            self._signals.describe_telemetry(name, size=values[name].numel(), unit=unit, doc=doc)
        self.telemetry = {**self.telemetry, **values}

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next states; arguments as of `Adaptation.step`."""
        size, adapted = self._estimates.size, self._adapted
        friction, rotors, offsets = adapted.friction, adapted.rotors, adapted.offsets
        Z = ca.repmat(self._root, 1, s.numel()) * regressor.T
        kept = self.limit.share_kept(dot(ca.sum1(Z * Z).T, self.limit.per_damping(K_d, s.numel()))) * self._adapts
        tracking = self._root * (self._told.covariance[:size, :size] @ (kept * self._signals.dt * (Z @ s)))
        moved = self.estimate + tracking + self._following(slice(size), self)
        found = {"pi_hat": self._estimates.kept(moved, Lambda)}
        if friction:
            by_error = self._unless_touched(friction.step(s, K_d, self.limit)["friction_hat"], friction)
            found["friction_hat"] = friction.bounded(by_error + self._following(self._friction, friction))
        if offsets:
            by_error = self._unless_touched(offsets.step(s, K_d, self.limit), offsets)
            found["offset_hat"] = offsets.bounded(by_error + self._following(self._offsets, offsets))
        if rotors:
            found["rotor_hat"] = rotors.bounded(rotors.estimate + self._following(self._rotors, rotors), Lambda)
        return found | self._next

    def _unless_touched(self, moved: SX, estimates: Followed) -> SX:
        """Return estimates that have moved by the tracking error, or, as long as a contact may pass, as they are."""
        return SX(estimates.estimate + self._adapts * (moved - estimates.estimate))

    def _following(self, part: slice, estimates: Followed) -> SX:
        """Return what estimates move by in a period, Δk (1 − C̄)(θ − x̂)."""
        scale = self._scale[part]
        away = self._told.z[part] - (estimates.estimate - estimates.nominal) / scale
        share = self._untouched * ca.fmin(1.0, self._rate * self._signals.dt)
        return SX(share * scale * (away - self._told.covariance[part, part] @ away))
