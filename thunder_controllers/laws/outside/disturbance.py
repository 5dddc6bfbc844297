"""Efforts that no parameter explains, taken up by an integral or an observer (theory.md §9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np

from thunder_controllers.laws.outside.contact import ContactDetection
from thunder_controllers.laws.outside.observer import MomentumObserver, observer_bandwidth_gain
from thunder_controllers.laws.parts.gains import FASTEST, disturbance_bandwidth, integral_bandwidth
from thunder_controllers.laws.parts.rotors import are_learned
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals

SX = ca.SX

OPTION = Option(
    "disturbance",
    "Take up what no parameter explains: not at all, by the integral of s, or by a momentum observer.",
    ("none", "integral", "observed"),
)

OBSERVED = replace(OPTION, values=("observed", "none", "integral"))
"""The same in a law that observes by default: with adaptation it is at most 0.9 of an observer alone on eight arms
(docs/results/beside-practice.md)."""

UPPER_SHARE = 0.5
"""Most that a joint's disturbance is by default, of its effort limit: the rest is left for the model and feedback."""

UNIT = "N·m|N"

UNLIMITED = 50.0
"""The same where a joint has no effort limit [N·m or N]: as for the estimate of an offset."""


def is_observed(options: Options) -> bool:
    """Return whether an observer takes disturbances up."""
    return bool(options[OPTION.name] == "observed")


def observer_bandwidth(
    signals: Signals,
    options: Options,
    bandwidth: Callable[[RobotExpressions], float] | None = None,
    fastest: float = FASTEST["default"],
) -> SX | None:
    """Declare K_o [1/s] where an observer takes disturbances up; its default of a robot is asked only there.

    Args:
        bandwidth: The default of a robot, instead of `disturbance_bandwidth`.
        fastest: Largest eigenvalue of M⁻¹K_d that the loop bears [1/s].
    """
    if not is_observed(options):
        return None
    return observer_bandwidth_gain(
        signals, bandwidth(signals.robot) if bandwidth else _by_default(signals.robot, options, fastest)
    )


def left_for_damping(robot: RobotExpressions, options: Options, fastest: float = FASTEST["default"]) -> float:
    """Return the largest eigenvalue of M⁻¹K_d by default: `fastest`, less K_o where an observer has its part [1/s]."""
    return fastest - _by_default(robot, options, fastest) if is_observed(options) else fastest


def _by_default(robot: RobotExpressions, options: Options, fastest: float) -> float:
    return disturbance_bandwidth(robot, fastest, learned=are_learned(options))


class Disturbance:
    """d̂ of each joint, which the effort has beside the model's and K_d s, |d̂_i| ≤ its bound.

    integral: d̂ = K_i z, ż = s, K_i = k K_d. V grows by ½ zᵀK_i z, and its rate stays −sᵀK_d s. At its bound d̂ keeps
    its value while s_i points outward, which takes s_i d̂_i ≥ 0 from the rate. It is computed as k/(d/dt + k) of the
    applied effort less that of the model, which is the same where the effort is applied as commanded; where a host
    clamps it, nothing winds up [Åström & Hägglund 2006, §3.5].

    observed: d̂ = −r of the `MomentumObserver`. With r = −W π̃ the law has V̇ = −sᵀK_d s + sᵀr, and an adaptation that is
    told r, π̂̇ = Γ⁻¹(Y_rᵀs − WᵀR r), adds −rᵀR r: the rate is not positive for R ≥ ¼ K_d⁻¹, and with R = K_d⁻¹, the
    default, it is at most −½ (sᵀK_d s + rᵀK_d⁻¹r). What the parameters explain leaves r; what no body explains stays.
    The observer sees the effort that was applied, so that nothing winds up.

    In laws without s the integral is that of their feedback, d̂̇ = k(K_p e + K_d ė) or its like: `pd_integral_bandwidth`
    has the k that is stable.

    Args:
        signals: Where the gains disturbance_upper and integral_bandwidth, the states `disturbance_hat`,
            `effort_before` and `is_integrating`, and the telemetry `disturbance` are declared.
        options: Options of the law, OPTION among them.
        effort: The law's effort without feedback, K_d s, and d̂ (n,).
        observer: The observer, with disturbance=observed.
        bandwidth: Default of k of a robot [1/s]; asked only where there is an integral.
        contact: Contacts, where they are told: −d̂ goes to the usual r̄ then, and back to r, as fast as r is found; the
            integral keeps its value.

    Attributes:
        effort: d̂ (n,) [N·m or N], zero with disturbance=none.
        next_state: Next values of the states that are declared.
        telemetry: Values to report.
    """

    def __init__(
        self,
        signals: Signals,
        options: Options,
        effort: SX,
        observer: MomentumObserver | None = None,
        contact: ContactDetection | None = None,
        bandwidth: Callable[[RobotExpressions], float] = integral_bandwidth,
    ) -> None:
        self._signals, self._bandwidth, n, choice = signals, bandwidth, signals.robot.n, options[OPTION.name]
        self.effort, self.next_state, self.telemetry = SX.zeros(n), dict[str, SX](), dict[str, SX]()
        if choice == "none":
            return
        limits = signals.robot.model.limits("effort")
        most = signals.gain(
            "disturbance_upper",
            size="joints",
            default=np.where(np.isfinite(limits), UPPER_SHARE * limits, UNLIMITED),
            bounds=(0.0, 1e4),
            unit=UNIT,
            doc="Bound of the effort that takes up a disturbance, either way.",
        )
        found = self._integral(effort, contact) if observer is None else -self._taken_up(observer, contact)
        self.effort = SX(ca.fmin(ca.fmax(found, -most), most))
        if observer is None:
            self.next_state["disturbance_hat"] = self.effort
        doc = "Effort of each joint that takes up a disturbance."
        signals.describe_telemetry("disturbance", size=n, unit=UNIT, doc=doc)
        self.telemetry["disturbance"] = self.effort

    def _integral(self, effort: SX, contact: ContactDetection | None) -> SX:
        """Return d̂ after a period, by the effort that was applied in it."""
        signals, n = self._signals, self._signals.robot.n
        k = signals.gain(
            "integral_bandwidth",
            default=self._bandwidth(signals.robot),
            bounds=(0.0, 1e3),
            unit="1/s",
            doc="k of the integral of s, K_i/K_d.",
        )
        doc = "Effort of each joint that takes up a disturbance, K_i times the integral of s."
        d_hat = signals.state("disturbance_hat", size=n, default=0.0, unit=UNIT, doc=doc)
        doc = "Effort that the law had beside K_d s and the integral, one step before."
        before = signals.state("effort_before", size=n, default=0.0, unit=UNIT, doc=doc)
        begun = signals.state("is_integrating", default=0.0, unit="1", doc="1 from the second step on, 0 before.")
        self.next_state |= {"effort_before": effort, "is_integrating": SX(1.0)}
        share = begun * (1.0 - ca.exp(-k * signals.dt))
        if contact is not None:
            share *= 1.0 - contact.is_touched
        return SX(d_hat + share * (signals.applied_effort - before - d_hat))

    def _taken_up(self, observer: MomentumObserver, contact: ContactDetection | None) -> SX:
        """Return r, or what it usually is in a contact."""
        r = observer.residual
        if contact is None:
            return r
        doc = "Share of the observed disturbance that is taken up; the rest is the usual one."
        share = self._signals.state("disturbance_share", default=1.0, unit="1", doc=doc)
        a = ca.exp(-ca.mmin(observer.K_o) * self._signals.dt)
        share = a * share + (1.0 - a) * (1.0 - contact.is_touched)
        self.next_state["disturbance_share"] = share
        return SX(share * r + (1.0 - share) * contact.usual)
