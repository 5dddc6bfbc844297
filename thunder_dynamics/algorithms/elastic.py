"""Series-elastic joints: coupling and motor-side terms, for the elastic joints only, in joint order.

M q̈ + C q̇ + G + dl = k + d,   Mm ẍ + dm + k + d = τ_m, with x the motor positions:
k = Σ_j K_j (x − q)^(2j−1),  d = Σ_j D_j |ẋ − q̇|^(j−1)(ẋ − q̇),  dm = Σ_j Dm_j |ẋ|^(j−1) ẋ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import casadi as ca

from thunder_dynamics.algorithms.drives import power_basis
from thunder_dynamics.algorithms.kinematics import Parameters
from thunder_dynamics.model import RobotModel

SX = ca.SX


def elastic_terms(model: RobotModel, symbols: Mapping[str, SX], parameters: Parameters) -> dict[str, SX]:
    """k, d, dm (n_e,), Mm (n_e, n_e) and the regressors reg_k, reg_d, reg_dm, reg_Mm of an elastic robot.

    Args:
        symbols: q (nq,), dq (nv,) and x, dx, ddx (n_e,), n_e the number of elastic joints.
    """
    joints = model.elastic_joints
    first = next(model.elasticities())
    x, dx = symbols["x"], symbols["dx"]
    stretch = x - symbols["q"][[model.q_ranges[i].start for i in joints]]
    stretch_rate = dx - symbols["dq"][[model.v_ranges[i].start for i in joints]]
    reg_k = _regressor(stretch, len(first.K), lambda s, order: [s ** (2 * j + 1) for j in range(order)])
    reg_d = _regressor(stretch_rate, len(first.D), power_basis)
    reg_dm = _regressor(dx, len(first.Dm), power_basis)
    return {
        "k": reg_k @ parameters.column("par_K"),
        "d": reg_d @ parameters.column("par_D"),
        "dm": reg_dm @ parameters.column("par_Dm"),
        "Mm": ca.diag(parameters.column("par_Mm")),
        "reg_k": reg_k,
        "reg_d": reg_d,
        "reg_dm": reg_dm,
        "reg_Mm": ca.diag(symbols["ddx"]),
    }


def coefficient_matrices(model: RobotModel, parameters: Parameters) -> dict[str, SX]:
    """K1, K3, …, D1, D2, … and Dm1, Dm2, … of an elastic robot, diagonal, (n_e, n_e).

    The number in a name is the power of what its matrix multiplies: k = K1 s + K3 s³ + …, s = x − q, and
    d = D1 ṡ + D2 |ṡ| ṡ + … with ṡ = ẋ − q̇.
    """
    first, matrices = next(model.elasticities()), {}
    for name, step in (("K", 2), ("D", 1), ("Dm", 1)):
        order = len(getattr(first, name))
        for k in range(order):
            matrices[f"{name}{step * k + 1}"] = ca.diag(parameters.column(f"par_{name}")[k::order])
    return matrices


def _regressor(motion: SX, order: int, basis: Callable[[SX, int], list[SX]]) -> SX:
    rows = [ca.horzcat(SX(1, 0), *basis(motion[e], order)) for e in range(motion.numel())]
    return ca.diagcat(*rows)
