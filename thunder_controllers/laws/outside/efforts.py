"""Efforts from outside the model, in a law with SplitDynamics: taken up, told, and told apart from contacts."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from thunder_controllers.laws.outside import contact, disturbance
from thunder_controllers.laws.outside.contact import ContactDetection
from thunder_controllers.laws.outside.disturbance import Disturbance
from thunder_controllers.laws.outside.observer import observer_bandwidth_gain
from thunder_controllers.laws.parts.split_dynamics import SplitDynamics
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Options, Signals

SX = ca.SX

OPTIONS = (contact.OPTION, disturbance.OPTION)
"""Options of a law that has this part."""


class OutsideEfforts:
    """The disturbance that a law takes up, and the contacts for which its adaptation waits.

    In a contact d̂ is what it usually is, r̄ of `ContactDetection`, and the integral keeps its value, so that the arm
    stays as soft as K_d makes it.

    Args:
        signals: Where gains, states and telemetry of `Disturbance`, `ContactDetection` and `MomentumObserver` are
            declared, and telemetry `external_torque`.
        options: Options of the law, OPTIONS among them.
        model: What is adapted, friction too.
        s: q̇_r − q̇, (n,).
        feedback: Effort that the law has beside the model's, K_d s, and d̂, (n,).

    Attributes:
        effort: d̂, (n,) [N·m or N].
        telemetry: What to report.

    Raises:
        LawError: for contact=freeze where nothing adapts.
    """

    def __init__(
        self,
        robot: RobotExpressions,
        signals: Signals,
        options: Options,
        model: SplitDynamics,
        s: SX,
        feedback: SX | float = 0.0,
    ) -> None:
        self._model, self._s, self._contact, self.telemetry = model, s, None, dict[str, SX]()
        touched, self._observer = options[contact.OPTION.name], model.observer
        if self._observer is None and touched != "none":
            self._observer = model.looking_observer(observer_bandwidth_gain(signals))
        if self._observer is not None:
            doc = "Effort of each joint from outside, as the estimates in use have it."
            signals.describe_telemetry("external_torque", size=robot.n, unit="N·m|N", doc=doc)
            self.telemetry["external_torque"] = self._observer.residual
        if touched == "freeze" and self._observer is not None:
            if not model.estimates:
                raise options.error("contact=freeze where nothing adapts", "contact=observe")
            self._contact = ContactDetection(signals, self._observer, model.rubs)
            self.telemetry |= self._contact.telemetry
        self._disturbance = Disturbance(signals, options, model.effort + feedback, model.observer, self._contact)
        self.telemetry |= self._disturbance.telemetry
        self.effort = self._disturbance.effort

    def step(self, next_state: Mapping[str, SX]) -> dict[str, SX]:
        """Return the next state of the law: with that of the estimates, of what is here, and of what is given."""
        model, contact = self._model, self._contact
        found = model.step(self._s)
        found |= self._disturbance.next_state
        if contact is not None:
            found |= {name: ca.if_else(contact.is_touched, now, found[name]) for name, now in model.estimates.items()}
            found |= contact.next_state
        return found | (self._observer.next_state if self._observer is not None else {}) | dict(next_state)
