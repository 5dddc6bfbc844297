"""Efforts that no parameter explains, taken up by an integral or an observer (theory.md §9)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.outside.contact import ContactDetection
from thunder_controllers.laws.outside.observer import MomentumObserver
from thunder_controllers.laws.parts.gains import disturbance_bandwidth
from thunder_dynamics.law import Option, Options, Signals

SX = ca.SX

OPTION = Option(
    "disturbance",
    "Take up what no parameter explains: not at all, by the integral of s, or by a momentum observer.",
    ("none", "integral", "observed"),
)

UPPER_SHARE = 0.5
"""Most that a joint's disturbance is by default, of its effort limit: the rest is left for the model and feedback."""

UNLIMITED = 50.0
"""The same where a joint has no effort limit [N·m or N]: as for the estimate of an offset."""


class Disturbance:
    """d̂ of each joint, which the effort has beside the model and K_d s, |d̂_i| ≤ its bound.

    integral: d̂ = K_i z, ż = s, K_i = k K_d. V grows by ½ zᵀK_i z, and its rate is that of the law without: −sᵀK_d s
    stays. At its bound d̂ keeps its value while s_i points outward, which takes −s_i d̂_i ≤ 0 from the rate. A host keeps
    it while the effort saturates, as it keeps estimates.

    observed: d̂ = −r of the `MomentumObserver`. With r = −W π̃ the law has V̇ = −sᵀK_d s + sᵀr, and an adaptation that is
    told r, π̂̇ = Γ⁻¹(Y_rᵀs − WᵀR r), adds −rᵀR r: the rate is not positive for R ≥ ¼ K_d⁻¹, and with R = K_d⁻¹, the
    default, it is at most −½ (sᵀK_d s + rᵀK_d⁻¹r). What the parameters explain leaves r; what no body explains stays.
    The observer sees the effort that was applied, so that nothing winds up.

    Args:
        signals: Where the gains disturbance_upper and integral_bandwidth, the state `disturbance_hat` and the telemetry
            `disturbance` are declared.
        options: Options of the law, OPTION among them.
        s: Error of the velocity that the law feeds back (n,).
        K_d: Feedback on s (n,).
        observer: The observer, with disturbance=observed.
        contact: Contacts, where they are told: −d̂ goes to the usual r̄ then, and back to r, as fast as r is found.

    Attributes:
        effort: d̂ (n,) [N·m or N], zero with disturbance=none.
        held: States that keep their values in a contact.
        next_state: Next values of the states that are declared.
        telemetry: Values to report.
    """

    def __init__(
        self,
        signals: Signals,
        options: Options,
        s: SX,
        K_d: SX,
        observer: MomentumObserver | None = None,
        contact: ContactDetection | None = None,
    ) -> None:
        n, choice = signals.robot.n, options[OPTION.name]
        self.effort, self.held = SX.zeros(n), dict[str, SX]()
        self.next_state, self.telemetry = dict[str, SX](), dict[str, SX]()
        if choice == "none":
            return
        limits = signals.robot.model.limits("effort")
        unit, upper = "N·m|N", np.where(np.isfinite(limits), UPPER_SHARE * limits, UNLIMITED)
        most = signals.gain(
            "disturbance_upper",
            size="joints",
            default=upper,
            bounds=(0.0, 1e4),
            unit=unit,
            doc="Bound of the effort that takes up a disturbance, either way.",
        )
        if observer is None:
            k = signals.gain(
                "integral_bandwidth",
                default=disturbance_bandwidth(signals.robot),
                bounds=(0.0, 1e3),
                unit="1/s",
                doc="Integral of s, K_i over K_d.",
            )
            self.effort = signals.state(
                "disturbance_hat",
                size=n,
                default=0.0,
                bounds=(-upper, upper),
                unit=unit,
                doc="Integral of s times K_i: the effort of each joint that takes up a disturbance.",
                adapted=True,
            )
            self.held["disturbance_hat"] = self.effort
            self.next_state["disturbance_hat"] = _within(self.effort + signals.dt * k * K_d * s, most)
        else:
            r = observer.residual
            if contact is not None:
                doc = "Share of the observed disturbance that is taken up; the rest is the usual one."
                share = signals.state("disturbance_share", default=1.0, unit="1", doc=doc)
                a = ca.exp(-observer.K_o * signals.dt)
                share = a * share + (1.0 - a) * (1.0 - contact.is_touched)
                self.next_state["disturbance_share"] = share
                r = share * r + (1.0 - share) * contact.usual
            self.effort = _within(-r, most)
        doc = "Effort of each joint that takes up a disturbance."
        signals.describe_telemetry("disturbance", size=n, unit=unit, doc=doc)
        self.telemetry["disturbance"] = self.effort


def _within(effort: SX, most: SX) -> SX:
    """Return each effort, within its bound either way."""
    return SX(ca.fmin(ca.fmax(effort, -most), most))
