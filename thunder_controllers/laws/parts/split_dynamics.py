"""The model along a reference velocity, split into links that are adapted and links that are known (theory.md §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from thunder_controllers.laws.adaptation.limit import AdaptationLimit
from thunder_controllers.laws.adaptation.robustness import Robustness
from thunder_controllers.laws.adaptation.scheme import Adaptation, Scheme, schemes
from thunder_controllers.laws.parts.friction import FrictionAdaptation
from thunder_controllers.laws.parts.gate import motion
from thunder_controllers.laws.parts.options import adapted_links, choose
from thunder_controllers.laws.parts.rotors import RotorAdaptation
from thunder_dynamics.errors import LawError, loaded
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law import Signals

SX = ca.SX

OPTIONS = ("adapted_links", "adaptation", "friction", "rotors")
"""Options of a law that has this part."""


class SplitDynamics:
    """τ = Y_u π̂ + Y_k π_k + I_a q̈_r + Y_f φ̂ = M̂ q̈_r + Ĉ q̇_r + Ĝ + τ̂_f, and π̂̇ = Γ⁻¹ Y_gᵀ s or another scheme's.

    Y_g is Y_u while the arm moves. At rest only gravity says anything of π, but the noise of q̇ is in both s and q̈_r,
    as −Λ q̇, and E[Y_uᵀs] drives what gravity does not hold: on a Panda at rest for ten minutes with 2 mrad/s of noise
    by 0.05 kg·m. So Y_g = Y_0 + g (Y_u − Y_0), Y_0 = Y_u at rest, g rises smoothly from zero to one where
    ‖q̇_r‖ goes from the gain `rest_speed` to twice that.

    Args:
        law: Its name, for errors.
        signals: Where estimates and their gains are declared, if there are any.
        qd_r: Reference velocity of the joints (n,).
        qdd_r: Its exact derivative.
        options: Of the law. `adaptation`, a scheme of the group `thunder.adaptations`, "consistent" by default, or
            "none", the fixed form, in which every link is known; `adapted_links`, names of links or "all" (default: the
            link of the end effector); `friction`, "none" (default) or "adapted": viscous and Coulomb friction of every
            joint; `rotors`, "model" (default), the reflected inertias of the robot file, or "adapted", of every joint.

    Attributes:
        adapted_links: Their names.
        adaptation: The scheme, or None.
        friction: Its adaptation, or None.
        rotors: Theirs, or None.
        effort: τ.
        telemetry: What the scheme reports.

    Raises:
        LawError: for another adaptation, friction or rotors, or links to adapt without adaptation.
    """

    def __init__(
        self,
        law: str,
        robot: RobotExpressions,
        signals: Signals,
        qd_r: SX,
        qdd_r: SX,
        options: Mapping[str, Any],
    ) -> None:
        named = options.get("adapted_links")
        links: tuple[int, ...] = ()
        installed = schemes()
        chosen = choose(law, options, "adaptation", *installed, "none")
        if chosen != "none":
            links = adapted_links(robot.model, named)
        elif named is not None:
            raise LawError("adapted_links with adaptation=none", where=f"law {law}", valid="one of them")
        q, qd = signals.q, signals.qd
        self.adapted_links = [robot.model.links[i].name for i in links]
        adapts_rotors = choose(law, options, "rotors", "model", "adapted") == "adapted"
        gate = motion(signals, qd_r) if links or adapts_rotors else SX(0)
        self.rotors = RotorAdaptation(robot, signals, qdd_r, gate) if adapts_rotors else None
        known = [i for i in range(robot.n) if i not in links]
        rotors = self.rotors.estimate if self.rotors else None
        self.effort = robot.inverse_dynamics(q, qd, qd_r, qdd_r, known, rotors)
        self.friction: FrictionAdaptation | None = None
        if choose(law, options, "friction", "none", "adapted") == "adapted":
            self.friction = FrictionAdaptation(robot, signals, qd_r)
            self.effort += self.friction.effort
        self.adaptation: Adaptation | None = None
        self.telemetry: Mapping[str, SX] = {}
        if links:
            scheme: Scheme = loaded(installed[chosen])
            self.adaptation = scheme(robot, signals, links, self.friction)
            self.telemetry = self.adaptation.telemetry
            self._nominal = np.concatenate([robot.model.links[i].inertia.pi for i in links])
            Y_u = robot.slotine_li_regressor(q, qd, qd_r, qdd_r, links)
            self.effort += Y_u @ self.adaptation.estimate
            if (feedforward := getattr(self.adaptation, "feedforward", None)) is not None:
                self.effort += feedforward(qd_r, qdd_r)
            rest = SX.zeros(robot.n)
            Y_0 = robot.slotine_li_regressor(q, rest, rest, rest, links)
            self._Y_g = Y_0 + gate * (Y_u - Y_0)
        if links or self.friction or self.rotors:
            self._robustness = Robustness(signals)
            self._limit = self.adaptation.limit if self.adaptation else AdaptationLimit(signals)

    def step(self, s: SX, K_d: SX, Lambda: SX) -> dict[str, SX]:
        """Next state of the estimates; K_d (n,) and Λ are the law's feedback on s and the bandwidths of its error."""
        found: dict[str, SX] = {}
        if not (self.adaptation or self.friction or self.rotors):
            return found
        s, pulled = self._robustness.outside_dead_zone(s), self._robustness.pulled
        if self.friction:
            found |= self.friction.step(s, K_d, self._limit)
        if self.adaptation:
            found |= self.adaptation.step(self._Y_g, s, K_d, Lambda)
            found["pi_hat"] = pulled(found["pi_hat"], self._nominal)
        if self.friction:
            found["friction_hat"] = pulled(found["friction_hat"], self.friction.nominal)
        if self.rotors:
            found["rotor_hat"] = pulled(self.rotors.step(s, K_d, Lambda, self._limit), self.rotors.nominal)
        return found
