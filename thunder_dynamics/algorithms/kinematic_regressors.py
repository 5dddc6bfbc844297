"""Regressors linear in the lengths of a robot: J_ee q̇ = reg_Jdq k and J_eeᵀ w = reg_JTw k.

k = [1, lengths of link 1, …, lengths of link n, x, y, z of the end effector] [m]. The 1 takes what no length takes part
in: turning, and the strokes of prismatic joints. The lengths of a link are a and d of its modified-DH row if all joints
have one, else x, y, z of its joint's placement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import casadi as ca
import numpy as np

from thunder_dynamics.algorithms.kinematics import Kinematics, Parameters
from thunder_dynamics.model import FloatArray, Pose, RobotModel
from thunder_dynamics.spatial import cross

SX = ca.SX


def lengths(model: RobotModel) -> FloatArray:
    """k of a robot, numeric, shape (1 + 2 n + 3,) with modified DH, else (1 + 3 n + 3,)."""
    if _has_dh(model):
        links = np.reshape(model.parameters("par_DHtable"), (-1, 4))[:, [0, 2]]
    else:
        links = np.array([link.joint.placement.translation for link in model.links])
    return np.concatenate([[1.0], links.ravel(), model.ee.tr])


class LengthRegressors:
    """reg_Jdq and reg_JTw of the end effector of a robot; no entry depends on a length."""

    def __init__(self, kinematics: Kinematics) -> None:
        model, self.parameters = kinematics.model, kinematics.parameters
        placed = (replace(link.joint, placement=Pose(link.joint.placement.rotation)) for link in model.links)
        links = tuple(replace(link, joint=joint) for link, joint in zip(model.links, placed, strict=True))
        self.model = replace(model, links=links)
        self.shrunk = Kinematics(self.model, kinematics.q, _WithoutLengths(kinematics.parameters))

    def velocity_regressor(self, qd: SX) -> SX:
        """reg_Jdq, shape (6, len(k)): a length along e, carried by a link of angular velocity ω, adds ω × e."""
        columns = [self.shrunk.jacobian_ee() @ qd]
        for carrier, direction in self.directions():
            columns.append(ca.vertcat(cross(self.turning(carrier) @ qd, direction), SX.zeros(3)))
        return ca.horzcat(*columns)

    def torque_regressor(self, wrench: SX) -> SX:
        """reg_JTw, shape (nv, len(k)), of a force and a moment on the end effector in the world, shape (6,)."""
        columns = [self.shrunk.jacobian_ee().T @ wrench]
        for carrier, direction in self.directions():
            columns.append(self.turning(carrier).T @ cross(direction, wrench[:3]))
        return ca.horzcat(*columns)

    def turning(self, carrier: int | None) -> SX:
        """Jacobian of the angular velocity of a link, shape (3, nv); zero for none and for the base."""
        if carrier is None or carrier < 0:
            return SX.zeros(3, self.model.nv)
        return self.shrunk.jacobian(carrier, self.shrunk.poses[carrier + 1][1])[3:, :]

    def directions(self) -> Iterator[tuple[int | None, SX]]:
        """Direction of each length in the world, and the link that turns it, if the end effector is beyond."""
        on_path = self.model.path(self.model.ee_link)
        for i, link in enumerate(self.model.links):
            R = self.shrunk.poses[link.parent + 1][0]
            carrier = link.parent if i in on_path else None
            if _has_dh(self.model):
                yield carrier, R[:, 0]
                yield carrier, (R @ self.shrunk.transforms[i].constant)[:, 2]
            else:
                yield from ((carrier, R[:, axis]) for axis in range(3))
        R = self.shrunk.poses[self.model.ee_link + 1][0]
        yield from ((self.model.ee_link, R[:, axis]) for axis in range(3))


class _WithoutLengths(Parameters):
    """The parameters of a robot, its DH lengths and the end effector's offset replaced by zero."""

    def __init__(self, parameters: Parameters) -> None:
        self.symbols, self._all = parameters.symbols, parameters

    def __getitem__(self, group: str) -> list[SX | float]:
        values = list(self._all[group])
        if group == "par_DHtable":
            values[0::4] = values[2::4] = [0.0] * (len(values) // 4)
        elif group == "par_Ln2EE":
            values[:3] = [0.0, 0.0, 0.0]
        return values


def _has_dh(model: RobotModel) -> bool:
    return all(link.joint.dh for link in model.links)
