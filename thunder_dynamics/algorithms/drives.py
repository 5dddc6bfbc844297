"""What drives add to the dynamics of the bodies: friction, offsets and rotors, linear in them (theory.md §2, §4).

τ_f = Dl_1 q̇ + Dl_2 |q̇| q̇ + … + Fc tanh(q̇ / v_s) + o, the last terms only where the model has Coulomb friction and
offsets.

A rotor that turns r times as fast as its joint adds I_a = r² · (its own inertia) to M_ii, and nothing to C or G: the
gyroscopic coupling of its spin with the links is neglected, as by MuJoCo's and Pinocchio's `armature`.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    """τ_f, shape (nv,), [N·m] or [N]; each velocity of a joint has the coefficients of the joint."""
    torque = friction_regressor(model, qd) @ parameters.column("par_Dl")
    for i, k, velocity, scale in _rubbing(model, qd):
        link = model.links[i]
        torque[k] += scale * (link.coulomb * ca.tanh(velocity / SMOOTHING_VELOCITY) + link.effort_offset)
    return torque


def friction_regressor(model: RobotModel, qd: SX) -> SX:
    """reg_dl with reg_dl · [Dl of joint 1, Dl of joint 2, …] = the viscous part of τ_f, shape (nv, n·Dl_order)."""
    order = model.friction_order
    regressor = SX(model.nv, model.n * order)
    for i, k, velocity, scale in _rubbing(model, qd):
        for column, value in enumerate(power_basis(velocity, order)):
            regressor[k, order * i + column] += scale * value
    return regressor


def friction_matrices(model: RobotModel, parameters: Parameters) -> dict[str, SX]:
    """Dl1, Dl2, …, diagonal, (nv, nv): the viscous part of τ_f is Dl1 q̇ + Dl2 |q̇| q̇ + …."""
    order, coefficients = model.friction_order, parameters.column("par_Dl")
    at_one = friction_regressor(model, SX.ones(model.nv))
    return {f"Dl{k + 1}": ca.diag(at_one[:, k::order] @ coefficients[k::order]) for k in range(order)}


def rotor_regressor(model: RobotModel, qdd: SX) -> SX:
    """reg_Ia with reg_Ia · [I_a of every joint that has one] = the torque that accelerates the rotors, shape (nv, r).

    A joint that follows another one turns its rotor `multiplier` times as fast, and its torque counts as much.
    """
    regressor = SX(model.nv, len(model.rotor_joints))
    for column, i in enumerate(model.rotor_joints):
        coupling, k = model.links[i].joint.coupling, model.v_ranges[i].start
        share = 1.0 if coupling is None else coupling.multiplier
        regressor[k, column] += share**2 * qdd[k]
    return regressor


def rotor_inertias(model: RobotModel, parameters: Parameters) -> SX:
    """What the rotors add to the diagonal of M, shape (nv,); nothing where they are unknown."""
    return rotor_regressor(model, SX.ones(model.nv)) @ parameters.column("par_Ia")


def _rubbing(model: RobotModel, qd: SX) -> Iterator[tuple[int, int, SX, float]]:
    """Joint, index of the velocity, velocity in the joint, and its share in that of the model, of all that rubs."""
    for i, link in enumerate(model.links):
        scale = 1.0 if link.joint.coupling is None else link.joint.coupling.multiplier
        for k in model.v_ranges[i]:
            yield i, k, scale * qd[k], scale
