"""Joint friction, linear in its coefficients.

τ_f = Dl_1 q̇ + Dl_2 |q̇| q̇ + … + Fc tanh(q̇ / v_s), the last term only where the model has Coulomb friction.
"""

from __future__ import annotations

import casadi as ca

from thunder_dynamics.algorithms.kinematics import Parameters
from thunder_dynamics.model import RobotModel

SX = ca.SX

SMOOTHING_VELOCITY = 0.01
"""v_s of the smoothed Coulomb term [rad/s] or [m/s]."""


def power_basis(velocity: SX, order: int) -> list[SX]:
    """[v, |v| v, |v|² v, …], `order` terms: the basis of every polynomial damping in this project."""
    return [ca.fabs(velocity) ** k * velocity for k in range(order)]


def friction_torque(model: RobotModel, qd: SX, parameters: Parameters) -> SX:
    """τ_f, shape (n,), [N·m] or [N]."""
    coefficients, order = parameters["par_Dl"], model.friction_order
    torques = []
    for i, link in enumerate(model.links):
        mine = coefficients[order * i : order * (i + 1)]
        viscous = sum((c * b for c, b in zip(mine, power_basis(qd[i], order), strict=True)), start=SX(0))
        torques.append(viscous + link.coulomb * ca.tanh(qd[i] / SMOOTHING_VELOCITY))
    return ca.vertcat(*torques)


def friction_regressor(model: RobotModel, qd: SX) -> SX:
    """reg_dl with reg_dl · [Dl of joint 1, Dl of joint 2, …] = the viscous part of τ_f, shape (n, n·Dl_order)."""
    order = model.friction_order
    return ca.diagcat(*(ca.horzcat(*power_basis(qd[i], order)) for i in range(model.n)))
