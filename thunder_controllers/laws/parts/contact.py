"""Torques from outside by the momentum observer, and what they do to an adaptation (theory.md §8)."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.prediction import PredictionError
from thunder_controllers.laws.parts.friction import FrictionTerms
from thunder_controllers.laws.parts.split_dynamics import SplitDynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Option, Options, Signals
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


class ContactObserver:
    """r = K_o(p − ∫(τ + Ĉᵀq̇ − Ĝ − τ_f + r)), p = M̂ q̇ [De Luca & Mattone 2003], and the adaptation that waits for it.

    r is what the estimates cannot predict of the effort, filtered: −ε of `PredictionError` with bandwidth K_o, exact in
    discrete time for any K_o and period. Where the estimates are wrong r holds their error too, and an error must not
    keep them as they are. So a contact is a change of r: r̄ is the same residual over the last T seconds. Both are of
    the estimates in use: neither their error nor their adaptation makes a difference. Joint i is touched while

        |r_i − r̄_i| > θ_i + χ (|r̄_i| + |τ_f,i|)  and  |r_i| > θ_i,

    τ_f adapted friction, and for a hold time after; where r_i vanishes, what is left of a push in r̄_i is none.
    Estimates keep their values then, as where the host keeps them. What lasts for longer than T or so comes into r̄
    and is no contact any more, but a payload. Both filters start from zero, so r̄ is divided by the weight,
    1 − exp(−t/T), that it has gathered since the activation, and takes part with that of r.

    Args:
        signals: Where gain observer_bandwidth, the states of the filter and telemetry `external_torque` are declared;
            to freeze, gains contact_patience, contact_threshold, contact_share and contact_hold, the states of the
            second filter, `observed_time` and `contact_left`, and telemetry `contact`.
        options: Of the law, OPTION among them.
        model: What is adapted, friction too.

    Attributes:
        telemetry: What to report.

    Raises:
        LawError: for "freeze" where nothing adapts.
    """

    def __init__(self, robot: RobotExpressions, signals: Signals, options: Options, model: SplitDynamics) -> None:
        self.telemetry: dict[str, SX] = {}
        self._next: dict[str, SX] = {}
        self._contact: SX | None = None
        self._signals, self._estimates = signals, model.estimates
        if options["contact"] == "none":
            return
        friction = model.friction
        rubs = None if friction is None else ca.densify(friction.measured[0] @ friction.estimate)
        known = FrictionTerms(robot, signals.qd).torque(signals.qd) - robot.model.effort_offsets
        loss = (known if rubs is None else rubs) + model.offsets
        pi, rotors = model.estimates.get("pi_hat", SX(0, 1)), model.estimates.get("rotor_hat")

        def residual(prefix: str, rate: SX) -> SX:
            """Effort from outside, as the estimates in use have it, by a filter of that rate."""
            prediction = PredictionError(robot, signals, model.links, pi, prefix, rate, loss, rotors=rotors)
            self._next |= prediction.next_state
            return -prediction.error

        K_o = signals.gain(
            "observer_bandwidth", default=50.0, bounds=(0.1, 1e3), unit="1/s", doc="K_o of the momentum observer."
        )
        r = residual("observer_", K_o)
        doc = "Effort of each joint from outside, as the estimates in use have it."
        signals.describe_telemetry("external_torque", size=robot.n, unit="N·m|N", doc=doc)
        self.telemetry["external_torque"] = r
        if options["contact"] == "freeze":
            if not self._estimates:
                raise options.error("contact=freeze where nothing adapts", "contact=observe")
            patience = signals.gain(
                "contact_patience",
                default=3.0,
                bounds=(0.01, 1e3),
                unit="s",
                doc="T, over which torque from outside becomes what is usual.",
            )
            rate = reciprocal(patience)
            lasting = residual("memory_", rate)
            gathered = self._weights(K_o, rate)
            usual = lasting / gathered[1]
            self._detect(r, gathered[0] * usual, ca.fabs(usual) + ca.fabs(0.0 if rubs is None else rubs))

    def step(self, next_state: Mapping[str, SX]) -> dict[str, SX]:
        """Next state of a law: the observer's, and the law's own with what is adapted kept during a contact."""
        kept = dict(next_state)
        if self._contact is not None:
            for name, estimate in self._estimates.items():
                kept[name] = ca.if_else(self._contact, estimate, next_state[name])
        return kept | self._next

    def _weights(self, *bandwidths: SX) -> list[SX]:
        """1 − exp(−ω t) of each filter, t since the activation."""
        signals = self._signals
        time = signals.state("observed_time", default=0.0, unit="s", doc="Since the activation.") + signals.dt
        self._next["observed_time"] = time
        return [1.0 - ca.exp(-bandwidth * time) for bandwidth in bandwidths]

    def _detect(self, r: SX, expected: SX, uncertain: SX) -> None:
        """Hold the estimates where r is another than expected by more than χ of what is uncertain, and θ."""
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
        self._contact = left_next > 0.0
        self._next["contact_left"] = left_next
        signals.describe_telemetry("contact", unit="1", doc="1 while the estimates are kept for a contact, else 0.")
        self.telemetry["contact"] = self._contact
