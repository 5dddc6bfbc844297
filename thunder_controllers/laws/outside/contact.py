"""Torques from outside by the momentum observer, and what they do to an adaptation (theory.md §8)."""

from __future__ import annotations

import casadi as ca
import numpy as np

from thunder_controllers.laws.outside.observer import MomentumObserver
from thunder_dynamics.law import Option, Signals
from thunder_dynamics.spatial import reciprocal

SX = ca.SX

OPTION = Option(
    "contact", "Report torques from outside, or also keep estimates while they change.", ("none", "observe", "freeze")
)

THRESHOLD, THRESHOLD_SHARE = 0.6, 0.03
"""A contact changes a joint's external torque by more than both: [N·m or N], and a share of the joint's effort limit.

The first is twice a Coulomb friction that nobody modelled.
"""

UNLIMITED = 2.0
"""The change that is a contact where a joint has no effort limit [N·m or N]."""


class ContactDetection:
    """Contacts by the residual r of a momentum observer, for an adaptation that waits for their end.

    r is what the estimates cannot predict of the effort, filtered. Where the estimates are wrong r holds their error
    too, and an error must not keep them as they are. So a contact is a change of r: r̄ is the same residual over the
    last T seconds. Both are of the estimates in use: neither their error nor their adaptation makes a difference. Joint
    i is touched while

        |r_i − r̄_i| > θ_i + χ (|r̄_i| + |τ_f,i|)  and  |r_i| > θ_i,

    τ_f adapted friction, and for a hold time after; where r_i vanishes, what is left of a push in r̄_i is none.
    Estimates keep their values then, as where the host keeps them. What lasts for longer than T or so comes into r̄
    and is no contact any more, but a payload. Both filters start from zero, so r̄ is divided by the weight,
    1 − exp(−t/T), that it has gathered since the activation, and takes part with that of r.

    Args:
        signals: Where gains contact_patience, contact_threshold, contact_share and contact_hold, the states of the
            second filter, `observed_time` and `contact_left`, and telemetry `contact` are declared.
        observer: r and the filters.
        friction: Torque of the adapted friction (n,).

    Attributes:
        is_touched: Whether estimates keep their values.
        usual: r̄ (n,), with the weight that r has gathered.
        next_state: Next values of the states but those of the observer.
        telemetry: What to report.
    """

    def __init__(self, signals: Signals, observer: MomentumObserver, friction: SX) -> None:
        self._signals = signals
        self.telemetry: dict[str, SX] = {}
        self.next_state: dict[str, SX] = {}
        patience = signals.gain(
            "contact_patience",
            default=3.0,
            bounds=(0.01, 1e3),
            unit="s",
            doc="T, over which torque from outside becomes what is usual.",
        )
        rate = reciprocal(patience)
        lasting = observer.slower("memory_", rate)
        gathered = self._weights(observer.K_o, rate)
        usual = lasting / gathered[1]
        self.usual = gathered[0] * usual
        self.is_touched = self._detected(observer.residual, self.usual, ca.fabs(usual) + ca.fabs(friction))

    def _weights(self, *bandwidths: SX) -> list[SX]:
        """1 − exp(−ω t) of each filter, t since the activation."""
        signals = self._signals
        time = signals.state("observed_time", default=0.0, unit="s", doc="Since the activation.") + signals.dt
        self.next_state["observed_time"] = time
        return [1.0 - ca.exp(-bandwidth * time) for bandwidth in bandwidths]

    def _detected(self, r: SX, expected: SX, uncertain: SX) -> SX:
        """Return whether r is another than expected, by more than χ of what is uncertain, and θ, or was so lately."""
        signals = self._signals
        limits = signals.robot.model.limits("effort")
        threshold = signals.gain(
            "contact_threshold",
            size="joints",
            default=np.where(np.isfinite(limits), THRESHOLD + THRESHOLD_SHARE * limits, UNLIMITED),
            bounds=(1e-6, 1e6),
            unit="N·m|N",
            doc="θ: the change of a joint's torque from outside beyond which it is a contact.",
        )
        share = signals.gain(
            "contact_share", default=1.0, bounds=(0.0, 10.0), unit="1", doc="χ: θ grows by so much of what is usual."
        )
        hold = signals.gain(
            "contact_hold",
            default=0.2,
            bounds=(0.0, 60.0),
            unit="s",
            doc="For which estimates are kept after a contact.",
        )
        left = signals.state("contact_left", default=0.0, unit="s", doc="For which the estimates are still kept.")
        unusual = ca.fmin(ca.fabs(r - expected) - share * uncertain, ca.fabs(r)) > threshold
        left_next = ca.if_else(ca.mmax(unusual) > 0.0, hold, ca.fmax(left - signals.dt, 0.0))
        is_touched = left_next > 0.0
        self.next_state["contact_left"] = left_next
        signals.describe_telemetry("contact", unit="1", doc="1 while the estimates are kept for a contact, else 0.")
        self.telemetry["contact"] = is_touched
        return SX(is_touched)
