"""Symbolic kinematics of a tree: joint transforms, frames, axes and Jacobians.

World-frame quantities: T_0_i, J_i = [linear; angular] of the origin of link i, column j = [z_j × (p_i − p_j); z_j] for
a revolute joint and [z_j; 0] for a prismatic one. Body-frame quantities are used by the dynamics: vectors are carried
from a link to the next by the two cheap factors of its rotation, a constant one and one about the joint axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from thunder_dynamics.model import PARAMETER_GROUPS, Joint, JointKind, RobotModel
from thunder_dynamics.spatial import cross, homogeneous, rot_axis, rot_x, rot_z, rotation_from_ypr

SX = ca.SX


class Parameters:
    """The parameter vectors of a model: symbols where the robot file says so, numbers elsewhere."""

    def __init__(self, model: RobotModel) -> None:
        self.symbols: dict[str, SX] = {}
        self._values: dict[str, list[SX | float]] = {}
        for group in PARAMETER_GROUPS:
            numeric = model.parameters(group)
            mask = model.symbolic.get(group, (False,) * len(numeric))
            values: list[SX | float] = list(numeric)
            if any(mask):
                symbol = SX.sym(group, sum(mask))
                self.symbols[group] = symbol
                for position, index in enumerate(k for k, symbolic in enumerate(mask) if symbolic):
                    values[index] = symbol[position]
            self._values[group] = values

    def __getitem__(self, group: str) -> list[SX | float]:
        return self._values[group]


@dataclass(frozen=True)
class JointTransform:
    """Pose of a link in its parent: rotation `constant` @ `motion`, origin at `translation` (parent frame)."""

    constant: SX
    motion: SX
    translation: SX

    def to_link(self, v: SX) -> SX:
        """Express a free vector of the parent frame in the link frame."""
        return self.motion.T @ (self.constant.T @ v)

    def to_parent(self, v: SX) -> SX:
        """Express a free vector of the link frame in the parent frame."""
        return self.constant @ (self.motion @ v)

    @property
    def rotation(self) -> SX:
        """Rotation of the link in its parent, shape (3, 3)."""
        return self.constant @ self.motion


class Kinematics:
    """Kinematics of `model` at joint positions `q` (an SX column of length n)."""

    def __init__(self, model: RobotModel, q: SX, parameters: Parameters) -> None:
        self.model = model
        self.q = q
        self.parameters = parameters

    @cached_property
    def transforms(self) -> tuple[JointTransform, ...]:
        """Transform parent → link of every link."""
        dh = self.parameters["par_DHtable"] if all(link.joint.dh for link in self.model.links) else None
        rows = [None if dh is None else dh[4 * i : 4 * i + 4] for i in range(self.model.n)]
        return tuple(
            _joint_transform(link.joint, self.q[i], row)
            for i, (link, row) in enumerate(zip(self.model.links, rows, strict=True))
        )

    @cached_property
    def axes(self) -> tuple[SX, ...]:
        """Joint axis of every link in its own frame, a constant unit vector."""
        return tuple(SX(ca.DM(list(link.joint.axis))) for link in self.model.links)

    def is_revolute(self, i: int) -> bool:
        """Whether joint i is revolute."""
        return self.model.links[i].joint.kind is JointKind.REVOLUTE

    @cached_property
    def base_rotation(self) -> SX:
        """Rotation of L0 in the world."""
        return _frame(self.parameters["par_world2L0"])[0]

    @cached_property
    def poses(self) -> tuple[tuple[SX, SX], ...]:
        """Rotation and origin in the world of L0 and then of every link: entry i + 1 belongs to link i."""
        poses = [_frame(self.parameters["par_world2L0"])]
        for link, X in zip(self.model.links, self.transforms, strict=True):
            R, p = poses[link.parent + 1]
            R_constant = R @ X.constant
            poses.append((R_constant @ X.motion, p + R @ X.translation))
        return tuple(poses)

    @cached_property
    def ee_pose(self) -> tuple[SX, SX]:
        """Rotation and position of the end effector in the world."""
        R, p = self.poses[self.model.ee_link + 1]
        R_ee, p_ee = _frame(self.parameters["par_Ln2EE"])
        return R @ R_ee, p + R @ p_ee

    def world_axis(self, i: int) -> SX:
        """Axis of joint i in the world."""
        return self.poses[i + 1][0] @ self.axes[i]

    def transform(self, i: int) -> SX:
        """T_0_i, shape (4, 4); i = 0 is L0 and i = 1 … n the links, as in the established naming."""
        return SX(homogeneous(*self.poses[i]))

    def transform_ee(self) -> SX:
        """T_0_ee, shape (4, 4)."""
        return SX(homogeneous(*self.ee_pose))

    def jacobian(self, link: int, point: SX) -> SX:
        """Jacobian (6, n) in the world frame of a point (given in the world) fixed to `link`, linear part first."""
        columns = [SX(6, 1)] * self.model.n
        for j in self.model.path(link):
            z = self.world_axis(j)
            if self.is_revolute(j):
                columns[j] = ca.vertcat(cross(z, point - self.poses[j + 1][1]), z)
            else:
                columns[j] = ca.vertcat(z, SX(3, 1))
        return ca.horzcat(*columns)

    def jacobian_link(self, i: int) -> SX:
        """J_i (6, n) of the origin of link i = 1 … n."""
        return self.jacobian(i - 1, self.poses[i][1])

    def jacobian_ee(self) -> SX:
        """J_ee (6, n)."""
        return self.jacobian(self.model.ee_link, self.ee_pose[1])

    def jacobian_ee_dot(self, qd: SX) -> SX:
        """d/dt J_ee (6, n) along q̇.

        ż_j = ω_j × z_j and d/dt(p_ee − p_j) = ṗ_ee − ṗ_j, with all velocities accumulated along the chain.
        """
        path = self.model.path(self.model.ee_link)
        p_ee = self.ee_pose[1]
        omega, origin_velocity = self._world_velocities(path, qd)
        ee_velocity = self.jacobian_ee()[:3, :] @ qd
        columns = [SX(6, 1)] * self.model.n
        for j in path:
            z = self.world_axis(j)
            z_dot = cross(omega[j], z)
            if self.is_revolute(j):
                arm, arm_dot = p_ee - self.poses[j + 1][1], ee_velocity - origin_velocity[j]
                columns[j] = ca.vertcat(cross(z_dot, arm) + cross(z, arm_dot), z_dot)
            else:
                columns[j] = ca.vertcat(z_dot, SX(3, 1))
        return ca.horzcat(*columns)

    def _world_velocities(self, path: Sequence[int], qd: SX) -> tuple[dict[int, SX], dict[int, SX]]:
        omega: dict[int, SX] = {-1: SX.zeros(3)}
        velocity: dict[int, SX] = {-1: SX.zeros(3)}
        for j in path:
            parent = self.model.links[j].parent
            z = self.world_axis(j)
            arm = self.poses[j + 1][1] - self.poses[parent + 1][1]
            velocity[j] = velocity[parent] + cross(omega[parent], arm)
            omega[j] = omega[parent]
            if self.is_revolute(j):
                omega[j] = omega[j] + z * qd[j]
            else:
                velocity[j] = velocity[j] + z * qd[j]
        return omega, velocity

    @cached_property
    def joint_axes_in_links(self) -> Mapping[tuple[int, int], tuple[SX, SX]]:
        """Screw of joint j, seen from link i at its origin, for every j on the path to i: (linear, angular)."""
        screws: dict[tuple[int, int], tuple[SX, SX]] = {}
        for i, link in enumerate(self.model.links):
            u = self.axes[i]
            screws[i, i] = (SX.zeros(3), u) if self.is_revolute(i) else (u, SX.zeros(3))
            for j in self.model.path(link.parent):
                screws[j, i] = self.motion_to_link(i, *screws[j, link.parent])
        return screws

    def subspace(self, i: int) -> dict[int, tuple[SX, SX]]:
        """Motion subspace of the joint of link i, in its frame: (linear, angular) of each velocity, by its index."""
        return {i: self.joint_axes_in_links[i, i]}

    def motion_to_link(self, i: int, linear: SX, angular: SX) -> tuple[SX, SX]:
        """Carry a twist of the parent of link i, at its origin, to the origin and frame of link i."""
        X = self.transforms[i]
        return X.to_link(linear + cross(angular, X.translation)), X.to_link(angular)


def _joint_transform(joint: Joint, q: SX, dh: Sequence[SX | float] | None) -> JointTransform:
    """T = placement · motion(q); from the DH row Tx(a) Rx(α) Tz(d) Rz(θ), where there is one."""
    revolute = joint.kind is JointKind.REVOLUTE
    if dh is None:
        placement = SX(ca.DM(joint.placement.rotation))
        p = SX(ca.DM(joint.placement.translation))
        if revolute:
            return JointTransform(placement, SX(rot_axis(joint.axis, q)), p)
        return JointTransform(placement, SX.eye(3), p + placement @ SX(ca.DM(list(joint.axis))) * q)
    a, alpha, d, theta = dh
    rotation, slide = SX(rot_x(alpha)), d if revolute else d + q
    motion = rot_z(q + theta) if revolute else rot_z(theta)
    return JointTransform(rotation, SX(motion), ca.vertcat(SX(a), rotation[1:, 2] * slide))


def _frame(values: Sequence[SX | float]) -> tuple[SX, SX]:
    x, y, z, yaw, pitch, roll = values
    return SX(rotation_from_ypr(yaw, pitch, roll)), ca.vertcat(SX(x), SX(y), SX(z))
