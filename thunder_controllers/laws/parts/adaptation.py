"""Parameter adaptation that laws share: which links adapt, their estimates, gains, bounds and update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from thunder_controllers.laws.parts.gains import NO_LEAST_INERTIA, least_inertia
from thunder_dynamics.errors import LawError, NameNotFoundError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.law import Signals
from thunder_dynamics.model import RobotModel
from thunder_dynamics.spatial import dot, reciprocal

SX = ca.SX

PI_LOWER = np.array([0.0, -10.0, -10.0, -10.0, 0.0, -5.0, -5.0, 0.0, -5.0, 0.0])
PI_UPPER = np.array([20.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0])
"""Widest bounds of one link's estimate, REG order: a heavy tool at arm's length [kg, kg·m, kg·m²]."""

BEARABLE = 0.3
"""Feedback of velocity by an inertia that is estimated wrongly, over the true one and the rate.

A loop with a delay of two periods bears 0.62 in all (theory.md §5), of which K_d has 0.23 at 1 kHz by default.
"""

TINY = 1e-9
"""Keeps quotients finite."""


def adapted_links(model: RobotModel, value: Any) -> tuple[int, ...]:
    """Indices of the links to adapt, from the option `adapted_links`: names, "all", or nothing for the last link.

    Raises:
        LawError: if no link or a link twice is named.
        NameNotFoundError: for a link that the robot does not have.
    """
    if value is None:
        return (model.ee_link,)
    if value == "all" or list(value) == ["all"]:
        return tuple(range(model.n))
    names = [value] if isinstance(value, str) else list(value)
    if not names or len(set(names)) != len(names):
        raise LawError(f"adapted_links {names}", valid=f"different links among {', '.join(model.link_names)}, or 'all'")
    return tuple(model.index_of(name) for name in names)


def check_options(law: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise `NameNotFoundError` for an option that a law does not have."""
    for option in options:
        if option not in known:
            raise NameNotFoundError(f"no option '{option}'", where=f"law {law}", valid=", ".join(known))


def choose(law: str, options: Mapping[str, Any], name: str, *choices: str) -> str:
    """Value of an option, one of `choices`; the first of them where it is not given.

    Raises:
        LawError: for any other value, with the choices.
    """
    value = options.get(name, choices[0])
    if value not in choices:
        raise LawError(f"{name} '{value}'", where=f"law {law}", valid=", ".join(choices))
    return str(value)


class AdaptationLimit:
    """Adaptation is an integral action of the gain YΓ⁻¹Yᵀ beside a damping K_d; with a delay it may not be too fast.

    Args:
        signals: Where the gain adaptation_limit is declared.
    """

    def __init__(self, signals: Signals) -> None:
        self._dt = signals.dt
        self._limit = signals.gain(
            "adaptation_limit",
            default=0.4,
            bounds=(1e-6, 1e9),
            unit="1",
            doc="Adaptation slows down where YΓ⁻¹Yᵀ Δ/K_d would exceed this, Δ the period.",
        )

    def per_damping(self, K_d: SX) -> SX:
        """Δ/K_d, shape of K_d, to weight Y² by before it is divided by Γ: few divisions, which are slow."""
        return SX(self._dt * reciprocal(K_d + TINY))

    def share_kept(self, speed: SX) -> SX:
        """Share ≤ 1 of adaptation that keeps its Δ YΓ⁻¹Yᵀ/K_d, `speed`, within the limit, shape of speed."""
        return SX(ca.fmin(1.0, self._limit / (speed + TINY)))


class BoundedAdaptation:
    """π̂̇ = κ Γ⁻¹ Yᵀ s with component-wise projection on [pi_lower, pi_upper]   [Slotine & Li 1987, eq. 12].

    Γ_i = γ_i · diag(γ_m, γ_c 1₃, γ_I 1₆) per adapted link i, so a larger Γ adapts more slowly. Projection in discrete
    time: the Euler step is clamped, which freezes a component on its bound while its derivative points outward.

    κ ≤ 1 is the share that `AdaptationLimit` keeps, of Σᵢ (YΓ⁻¹Yᵀ)ᵢᵢ / K_d,i. M̂Λ is a feedback of velocity, of which a
    sampled loop does not bear any amount: no entry Î_pq of an estimated inertia leaves its nominal value by more than
    BEARABLE √(a_p a_q)/(λ Δ), λ the largest entry of Λ, Δ the period and a the `least_inertia` about the link's axes.

    Args:
        signals: Where state and gains are declared: state `pi_hat`, gains gamma, gamma_mass, gamma_com, gamma_inertia,
            pi_lower, pi_upper, least_inertia, and that of AdaptationLimit.
        links: Indices of the adapted links, in the order of the columns of Y.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, links: Sequence[int]) -> None:
        k, size = len(links), N_PARAMETERS * len(links)
        nominal = np.concatenate([robot.model.links[i].inertia.pi for i in links])
        lower, upper = np.minimum(np.tile(PI_LOWER, k), nominal), np.maximum(np.tile(PI_UPPER, k), nominal)
        names = ", ".join(robot.model.links[i].name for i in links)
        units = "kg, kg·m, kg·m²"
        self.estimate = signals.state(
            "pi_hat",
            size=size,
            default=nominal,
            bounds=(lower, upper),
            unit=units,
            doc=f"Estimated inertial parameters, REG order, of {names}.",
            adapted=True,
        )
        self._signals = signals
        gamma = signals.gain("gamma", size=k, default=1.0, bounds=(1e-6, 1e9), unit="1", doc="Γ of each adapted link.")
        weights = [
            signals.gain(f"gamma_{what}", default=1.0, bounds=(1e-6, 1e9), unit=unit, doc=f"Weight of Γ on {doc}.")
            for what, unit, doc in (
                ("mass", "N·m/kg²", "the mass"),
                ("com", "N/(kg²·m)", "the first moment"),
                ("inertia", "N/(kg²·m³)", "the inertia"),
            )
        ]
        per_link = ca.vertcat(weights[0], ca.repmat(weights[1], 3), ca.repmat(weights[2], 6))
        self._rates = reciprocal(ca.kron(gamma, per_link))
        self._lower = signals.gain(
            "pi_lower", size=size, default=lower, bounds=(-1e3, 1e3), unit=units, doc="Lower bounds of the estimates."
        )
        self._upper = signals.gain(
            "pi_upper", size=size, default=upper, bounds=(-1e3, 1e3), unit=units, doc="Upper bounds of the estimates."
        )

        self.limit = AdaptationLimit(signals)
        self._least_inertia = signals.gain(
            "least_inertia",
            size=3 * k,
            default=least_inertia(robot, links),
            bounds=(0.0, NO_LEAST_INERTIA),
            unit="kg·m²",
            doc="Least inertia that a joint turns about each axis of the link: bounds the estimate by the rate.",
        )
        self._nominal = nominal

    def step(self, regressor: SX, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state: π̂ after one Euler step, clamped to its bounds.

        Args:
            regressor: Y of the adapted links, (n, 10 k).
            s: (n,).
            K_d: The law's feedback on s, (n,) or one for all.
            Lambda: Bandwidths of the law's error, of any size [1/s].
        """
        dt = self._signals.dt
        weights = SX.ones(regressor.shape[0]) * self.limit.per_damping(K_d)  # K_d may be one for all
        per_parameter = SX(regressor * regressor).T @ weights
        kept = self.limit.share_kept(dot(per_parameter, self._rates))
        moved = self.estimate + kept * dt * self._rates * (regressor.T @ s)
        root = ca.sqrt(self._least_inertia * (BEARABLE / (ca.mmax(Lambda) * dt + TINY)))
        width = ca.vertcat(*(self._width(link) for link in ca.vertsplit(root, 3)))
        lower, upper = ca.fmax(self._lower, self._nominal - width), ca.fmin(self._upper, self._nominal + width)
        return {"pi_hat": ca.fmin(ca.fmax(moved, lower), upper)}

    @staticmethod
    def _width(root: SX) -> SX:
        """How far the entries of one link's π̂ may leave their nominal values, REG order: rootₚ root_q."""
        return ca.vertcat(ca.repmat(SX(ca.inf), 4), *(root[p] * root[q] for p in range(3) for q in range(p, 3)))
