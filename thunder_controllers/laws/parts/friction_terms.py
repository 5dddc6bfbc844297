"""Friction of the robot file, compensated: τ_f = F_V(q̇) q̇ + F_C sign(q̇), the sign smoothed (theory.md §6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from thunder_controllers.laws.parts.options import choose
from thunder_dynamics.algorithms.friction import SMOOTHING_VELOCITY
from thunder_dynamics.expressions import RobotExpressions

SX = ca.SX


class FrictionTerms:
    """F_V and F_C sign(q̇) at a velocity, from the option `friction` of a law.

    Args:
        law: Its name, for errors.
        options: Of the law. `friction`, "model" (default), or "none", with which both terms are zero.

    Attributes:
        viscous: Diagonal of F_V, shape (n,) [N·m·s/rad]; it depends on |q̇| where the polynomial goes beyond order 1.
        coulomb: F_C tanh(q̇ / v_s), shape (n,) [N·m].

    Raises:
        LawError: for another option.
    """

    def __init__(self, law: str, robot: RobotExpressions, qd: SX, options: Mapping[str, Any]) -> None:
        n, model = robot.n, robot.model
        self.viscous, self.coulomb = SX.zeros(n), SX.zeros(n)
        if choose(law, options, "friction", "model", "none") == "none":
            return
        order, coefficients = model.friction_order, robot.parameters["par_Dl"]
        for i, link in enumerate(model.links):
            mine = coefficients[order * i : order * (i + 1)]
            self.viscous[i] = sum(c * ca.fabs(qd[i]) ** k for k, c in enumerate(mine))
            self.coulomb[i] = link.coulomb * ca.tanh(qd[i] / SMOOTHING_VELOCITY)
