"""Variable-inertia computed torque with masses that adapt by the equations of motion (theory.md §6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.limit import (
    PI_LOWER,
    PI_UPPER,
    AdaptationLimit,
    declare_estimates,
    gamma_of_links,
    weight_of,
)
from thunder_controllers.laws.parts.friction import COMPENSATION
from thunder_controllers.laws.parts.gains import LARGEST_ADAPTATION
from thunder_controllers.laws.parts.gate import motion
from thunder_controllers.laws.parts.redundancy import factor_ldl
from thunder_controllers.laws.parts.split_dynamics import ADAPTED
from thunder_controllers.laws.parts.task import ERROR_RATE
from thunder_controllers.laws.second_order.adapted_links import error_weight, estimated
from thunder_controllers.laws.second_order.scalar_inertia import SATURATION, ErrorDynamics
from thunder_controllers.laws.second_order.scan import Scan
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Law, Options, ReferenceKind, Signals, takes
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

LEAST_MASS = 1e-3
"""Of an estimate [kg]: the masses are divided by."""

MASS_RANGE = (0.5, 2.0)
"""Default bounds of the masses over those of the robot file: R_1 M̂/(β M) is a feedback of velocity (theory.md §5)."""


@takes(ADAPTED, COMPENSATION, ERROR_RATE, SATURATION)
def variable_inertia_adaptive(robot: RobotExpressions, options: Options) -> Law:
    """τ of `variable_inertia` with M̂, Ĉ, Ĝ of masses θ̂ that adapt: σ Γ θ̂̇ = κ Wᵀ(ė + α e),  W = β M̂⁻¹Y_θ(q, q̇, q̈).

        β ë + (Ẑ + R_1) ė + R_0 e = W (θ − θ̂),   σ = σ_0 + 1/(1 + σ_1 t^ν),   θ_lower ≤ θ̂ ≤ θ_upper

    For α = 0 and κ = 1, V = ½ β ėᵀė + ½ eᵀR_0 e + ½ σ θ̃ᵀΓθ̃ falls at the rate −ėᵀ(R_1 + F_V + ½ dM̂/dt|θ̂ − ½ β̇)ė, and
    faster, as σ falls with the time t since activation. The fixed form is `variable_inertia`.

    Args:
        robot: Any robot whose adapted links have mass.
    """
    links = robot.model.select_links(options["adapted_links"])
    signals = Signals(robot, ReferenceKind.JOINT)
    q = signals.q
    masses = Masses(robot, signals, links)

    dynamics = ErrorDynamics(robot, signals, options, estimated(robot, q, links, masses.pi))
    scan = Scan(signals)
    Y_theta = masses.regressor(q, scan.qd, scan.qdd)
    W = dynamics.beta * factor_ldl(dynamics.M).solve(Y_theta)
    return signals.law(
        "variable_inertia_adaptive",
        "Computed torque with an inertia that follows the arm, and masses that adapt.",
        effort=dynamics.effort,
        next_state={**dynamics.next_state, **scan.next_state, **masses.step(W, dynamics, scan)},
        telemetry={**dynamics.telemetry, "acceleration": scan.qdd},
    )


class Masses:
    """Masses θ̂ of links whose CoM and radii of gyration are known: π̂_i = θ̂_i · (π̂_i/θ̂_i), of the first estimate.

    Args:
        signals: Where states `pi_hat` and `elapsed` and gains alpha, gamma, gamma_mass, sigma_0, sigma_1, nu,
            mass_lower, mass_upper and adaptation_limit are declared.
        links: Indices of the adapted links.

    Attributes:
        pi: π̂ of the adapted links, REG order (10 k,).

    Raises:
        LawError: for a link without mass.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> None:
        self._robot, self._links, self._dt = robot, links, signals.dt
        for link in (robot.model.links[i] for i in links):
            if link.inertia.mass < LEAST_MASS:
                what = f"{link.name} has a mass of {link.inertia.mass:g} kg"
                raise LawError(what, valid="adapted links with mass")
        least = np.array([LEAST_MASS, *PI_LOWER[1:]])
        self.pi, nominal, _ = declare_estimates(robot, signals, links, least, PI_UPPER)
        self._mass = self.pi[::N_PARAMETERS]
        self._elapsed = signals.state("elapsed", default=0.0, unit="s", doc="Time since activation.")
        self._declare_gains(signals, nominal[::N_PARAMETERS])

    def _declare_gains(self, signals: Signals, mass: np.ndarray[Any, Any]) -> None:
        k, span = len(mass), (LEAST_MASS, 1e3)
        lower, upper = (share * mass for share in MASS_RANGE)
        doc = "Least mass of each adapted link."
        self._lower = signals.gain("mass_lower", size=k, default=lower, bounds=span, unit="kg", doc=doc)
        doc = "Largest mass of each adapted link."
        self._upper = signals.gain("mass_upper", size=k, default=upper, bounds=span, unit="kg", doc=doc)
        self._alpha = error_weight(signals, 5.0)
        gamma = gamma_of_links(signals, k, 50.0) * weight_of(signals, "mass")
        doc = "What σ tends to: Γ σ is the slowness of the adaptation."
        last = signals.gain("sigma_0", default=1e-3, bounds=(1e-6, 1e3), unit="1", doc=doc)
        doc = "σ = σ_0 + 1/(1 + σ_1 t^ν), t since activation."
        fall = signals.gain("sigma_1", default=1.0, bounds=(0.0, 1e6), unit="1/s^ν", doc=doc)
        power = signals.gain("nu", default=3.0, bounds=(0.1, 10.0), unit="1", doc="Power of the time in σ.")
        sigma = last + reciprocal(1.0 + fall * self._elapsed**power)
        self._rates = reciprocal(sigma * gamma)
        self._limit = AdaptationLimit(signals, LARGEST_ADAPTATION)
        self._motion = motion(signals, signals.reference.qd)

    def regressor(self, q: SX, qd: SX, qdd: SX) -> SX:
        """Y_θ with Y_θ θ̂ the effort of the adapted links' estimates, shape (n, k)."""
        Y = self._robot.slotine_li_regressor(q, qd, qd, qdd, self._links)
        pairs = zip(ca.horzsplit(Y, N_PARAMETERS), ca.vertsplit(self.pi, N_PARAMETERS), strict=True)
        return SX(ca.horzcat(*(columns @ (pi * reciprocal(pi[0])) for columns, pi in pairs)))

    def step(self, W: SX, dynamics: ErrorDynamics, scan: Scan) -> dict[str, SX]:
        """Next states: an Euler step over the time since the last scan, clamped, in steps with a scan.

        Clamping freezes a mass on its bound while its derivative points outward. While the reference rests, they stay:
        an error that friction holds says nothing of them, and would keep the arm restless. κ is the share that
        `AdaptationLimit` keeps of Σᵢ (W (σΓ)⁻¹Wᵀ)ᵢᵢ / R_1,i, with the time between two scans for the period.
        """
        period = scan.period
        speed = dot(self._limit.per_damping(dynamics.R_1, W.shape[0]), (W * W) @ self._rates) * period / self._dt
        share = self._motion * self._limit.share_kept(speed) * (dynamics.share >= 1.0)
        rate = share * self._rates * (W.T @ (dynamics.e_dot + self._alpha * dynamics.e))
        moved = ca.fmin(ca.fmax(self._mass + period * rate, self._lower), self._upper)
        mass = ca.if_else(scan.is_due, moved, self._mass)
        ratio = ca.if_else(scan.is_due, moved * reciprocal(self._mass), 1.0)
        bodies = ca.vertsplit(self.pi, N_PARAMETERS)
        pi = [ca.vertcat(mass[j], ratio[j] * body[1:]) for j, body in enumerate(bodies)]
        return {"pi_hat": ca.vertcat(*pi), "elapsed": self._elapsed + self._dt}
