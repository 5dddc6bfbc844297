"""Symbolic kinematics of a tree: joint transforms, frames, motion subspaces and Jacobians.

Columns of Jacobians, rows of regressors, and rows and columns of M and C belong to the velocities v of the model, one
of a revolute joint, six of a free one. How an algorithm asks for them:

- `model.q_ranges[i]`, `model.v_ranges[i]`: where q and v of joint i are in the model's. Coupled joints share them, so
  what belongs to a velocity is added up, never assigned.
- `subspaces[i]`: the columns of S_i(q), in link i; `subspace_rates(v)[i]`: their rates as components there, zero
  but for kinds whose S depends on q. The true rate of S_i, in link i, is `subspace_rates(v)[i]` + v_i × S_i.
- `screws(j, i)`: for every velocity k of joint j, (k, its screw seen from link i at its origin); `path_screws(i, i)`:
  those of all joints that move link i.
- `configuration_rate(v)`: q̇ = N(q) v; any function's time derivative is its derivative along that.

World-frame quantities: T_0_i, J_i = [linear; angular] of the origin of link i. Body-frame quantities are used by the
dynamics: vectors are carried from a link to the next by the two cheap factors of its rotation, a constant one and one
about the joint axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import casadi as ca

from thunder_dynamics.algorithms.joint_motion import (
    JointTransform,
    Screw,
    joint_rate,
    joint_subspace,
    joint_subspace_rate,
    joint_transform,
)
from thunder_dynamics.inertia import N_PARAMETERS
from thunder_dynamics.model import Joint, RobotModel
from thunder_dynamics.spatial import cross, homogeneous, rotation_from_ypr

SX = ca.SX


class Parameters:
    """The parameter vectors of a model: symbols where the robot file says so, numbers elsewhere."""

    def __init__(self, model: RobotModel) -> None:
        self.symbols: dict[str, SX] = {}
        self._values: dict[str, list[SX | float]] = {}
        for group in model.parameter_groups:
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

    def column(self, group: str) -> SX:
        """A group as a column."""
        return ca.vertcat(SX(0, 1), *(SX(v) for v in self[group]))


class Kinematics:
    """Kinematics of `model` at the configuration `q` (an SX column of length nq)."""

    def __init__(self, model: RobotModel, q: SX, parameters: Parameters) -> None:
        self.model = model
        self.q = q
        self.parameters = parameters

    @cached_property
    def joint_configurations(self) -> tuple[SX, ...]:
        """The own configuration of every joint: its part of q, or what its leader's makes of it."""
        return self._parts(self.q, self.model.q_ranges, with_offset=True)

    def _parts(self, values: SX, ranges: Sequence[range], with_offset: bool = False) -> tuple[SX, ...]:
        parts = []
        for link, indices in zip(self.model.links, ranges, strict=True):
            part, coupling = values[indices.start : indices.stop], link.joint.coupling
            if coupling is not None:
                part = coupling.multiplier * part + (coupling.offset if with_offset else 0.0)
            parts.append(part)
        return tuple(parts)

    @cached_property
    def transforms(self) -> tuple[JointTransform, ...]:
        """Transform parent → link of every link."""
        dh = self.parameters["par_DHtable"] if all(link.joint.dh for link in self.model.links) else None
        rows = [None if dh is None else dh[4 * i : 4 * i + 4] for i in range(self.model.n)]
        return tuple(
            joint_transform(link.joint, q, row)
            for link, q, row in zip(self.model.links, self.joint_configurations, rows, strict=True)
        )

    @cached_property
    def subspaces(self) -> tuple[tuple[Screw, ...], ...]:
        """Columns of the motion subspace of every joint, in its link: the twist per velocity of the model."""
        return tuple(
            _followed(link.joint, joint_subspace(link.joint, q))
            for link, q in zip(self.model.links, self.joint_configurations, strict=True)
        )

    def subspace_rates(self, v: SX) -> tuple[tuple[Screw, ...], ...]:
        """Rates of `subspaces` as components in the links, for the velocity v of the model."""
        velocities = self._parts(v, self.model.v_ranges)
        return tuple(
            _followed(link.joint, joint_subspace_rate(link.joint, q, rate))
            for link, q, rate in zip(self.model.links, self.joint_configurations, velocities, strict=True)
        )

    def configuration_rate(self, v: SX) -> SX:
        """q̇ = N(q) v, shape (nq,)."""
        rates = []
        for i, link in enumerate(self.model.links):
            if link.joint.coupling is None:
                own = self.model.v_ranges[i]
                rates.append(joint_rate(link.joint, self.joint_configurations[i], v[own.start : own.stop]))
        return ca.vertcat(*rates)

    def joint_twist(self, i: int, v: SX) -> Screw:
        """S_i v, the twist of link i relative to its parent, in link i."""
        linear, angular = SX.zeros(3), SX.zeros(3)
        for k, (s_v, s_w) in zip(self.model.v_ranges[i], self.subspaces[i], strict=True):
            linear, angular = linear + s_v * v[k], angular + s_w * v[k]
        return linear, angular

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
        return self.frame_pose(self.model.ee_link, self.parameters["par_Ln2EE"])

    def frame_pose(self, link: int, frame: Sequence[SX | float]) -> tuple[SX, SX]:
        """Rotation and position in the world of a frame [x, y, z, yaw, pitch, roll] of a link."""
        R, p = self.poses[link + 1]
        R_frame, p_frame = _frame(frame)
        return R @ R_frame, p + R @ p_frame

    def transform(self, i: int) -> SX:
        """T_0_i, shape (4, 4); i = 0 is L0 and i = 1 … n the links, as in the established naming."""
        return SX(homogeneous(*self.poses[i]))

    def relative_transform(self, i: int) -> SX:
        """Pose (4, 4) of link i in what it hangs on; i = 0 is L0 in the world and i = 1 … n the links."""
        if i == 0:
            return self.transform(0)
        X = self.transforms[i - 1]
        return SX(homogeneous(X.constant @ X.motion, X.translation))

    def jacobian(self, link: int, point: SX) -> SX:
        """Jacobian (6, nv) in the world frame of a point (given in the world) fixed to `link`, linear part first."""
        J = SX(6, self.model.nv)
        for j in self.model.path(link):
            R, p = self.poses[j + 1]
            for k, (s_v, s_w) in zip(self.model.v_ranges[j], self.subspaces[j], strict=True):
                z = R @ s_w
                J[:, k] += ca.vertcat(R @ s_v + cross(z, point - p), z)
        return J

    def jacobian_link(self, i: int) -> SX:
        """J_i (6, n) of the origin of link i = 1 … n."""
        return self.jacobian(i - 1, self.poses[i][1])

    def jacobian_com(self, i: int) -> SX:
        """Jacobian (6, nv) of the centre of mass of link i = 1 … n, linear part first."""
        R, p = self.poses[i]
        start = N_PARAMETERS * (i - 1)
        return self.jacobian(i - 1, p + R @ ca.vertcat(*self.parameters["par_DYN"][start + 1 : start + 4]))

    def jacobian_ee(self) -> SX:
        """J_ee (6, n)."""
        return self.jacobian(self.model.ee_link, self.ee_pose[1])

    def jacobian_ee_dot(self, v: SX) -> SX:
        """d/dt J_ee (6, nv) along v."""
        return self.jacobian_dot(self.model.ee_link, self.ee_pose[1], v)

    def jacobian_dot(self, link: int, point: SX, v: SX) -> SX:
        """d/dt (6, nv) of the Jacobian of a point (given in the world) fixed to `link`, along v.

        With z = R s_w and d/dt(R s) = ω × R s + R s°, d/dt(p_ee − p_j) = ṗ_ee − ṗ_j; all velocities are accumulated
        along the path.
        """
        path, rates = self.model.path(link), self.subspace_rates(v)
        omega, origin_velocity = self._world_velocities(path, v)
        point_velocity = self.jacobian(link, point)[:3, :] @ v
        J_dot = SX(6, self.model.nv)
        for j in path:
            R, p = self.poses[j + 1]
            arm, arm_dot = point - p, point_velocity - origin_velocity[j]
            for k, (s_v, s_w), (s_v_rate, s_w_rate) in zip(
                self.model.v_ranges[j], self.subspaces[j], rates[j], strict=True
            ):
                z = R @ s_w
                z_dot = cross(omega[j], z) + R @ s_w_rate
                linear = cross(omega[j], R @ s_v) + R @ s_v_rate
                J_dot[:, k] += ca.vertcat(linear + cross(z_dot, arm) + cross(z, arm_dot), z_dot)
        return J_dot

    def jacobian_wrt_q(self, link: int, point: SX) -> SX:
        """∂/∂q (6 nv, nv) of the Jacobian of a point (given in the world) fixed to `link`; column k is vec ∂J/∂q_k.

        With the screw [v; ω] of each column at the point: by joint k, joint j turns with ω_k where k is above it, and
        the point moves by v_k where k is below: ∂v_j/∂q_k = ω_u × v_d, u the upper of both and d the other, ∂ω_j/∂q_k =
        ω_k × ω_j for k above j. By automatic differentiation along the velocities where one joint has several.
        """
        J, nv = self.jacobian(link, point), self.model.nv
        path = self.model.path(link)
        if any(not self.model.links[j].joint.is_single or self.model.links[j].joint.coupling for j in path):
            v = SX.sym("v", nv)
            along = ca.jacobian(self.configuration_rate(v), v)
            return SX(ca.jacobian(ca.vec(J), self.q) @ along)
        slices = [SX(6, nv) for _ in range(nv)]
        columns = [(k, J[:3, k], J[3:, k]) for j in path for k in self.model.v_ranges[j]]
        for upper, (u, _, w_u) in enumerate(columns):
            for d, v_d, w_d in columns[upper:]:
                linear = cross(w_u, v_d)
                slices[d][:3, u] = linear
                slices[u][:, d] = ca.vertcat(linear, cross(w_u, w_d))
        return ca.horzcat(*(ca.vec(one) for one in slices))

    def _world_velocities(self, path: Sequence[int], v: SX) -> tuple[dict[int, SX], dict[int, SX]]:
        omega: dict[int, SX] = {-1: SX.zeros(3)}
        velocity: dict[int, SX] = {-1: SX.zeros(3)}
        for j in path:
            parent = self.model.links[j].parent
            R, p = self.poses[j + 1]
            omega[j] = omega[parent]
            velocity[j] = velocity[parent] + cross(omega[parent], p - self.poses[parent + 1][1])
            for k, (s_v, s_w) in zip(self.model.v_ranges[j], self.subspaces[j], strict=True):
                omega[j] = omega[j] + (R @ s_w) * v[k]
                velocity[j] = velocity[j] + (R @ s_v) * v[k]
        return omega, velocity

    def path_screws(self, link: int, i: int) -> list[tuple[int, Screw]]:
        """(k, screw seen from link i at its origin) of all velocities k that move `link`, on the path to i."""
        return [entry for j in self.model.path(link) for entry in self.screws(j, i)]

    def screws(self, j: int, i: int) -> list[tuple[int, Screw]]:
        """(k, screw seen from link i) for the velocities k of joint j, on the path to i."""
        return list(zip(self.model.v_ranges[j], self._screws[j, i], strict=True))

    @cached_property
    def _screws(self) -> dict[tuple[int, int], tuple[Screw, ...]]:
        """Screws of every joint j seen from every link i that it moves, by (j, i)."""
        seen: dict[tuple[int, int], tuple[Screw, ...]] = {}
        for i, link in enumerate(self.model.links):
            seen[i, i] = self.subspaces[i]
            for j in self.model.path(link.parent):
                seen[j, i] = tuple(self.motion_to_link(i, *screw) for screw in seen[j, link.parent])
        return seen

    def carried_up(self, i: int, wrenches: Sequence[Screw]) -> Iterator[tuple[int, Sequence[Screw]]]:
        """(j, wrenches on link i seen at the origin and in the frame of link j) for link i and all above it."""
        j = i
        while j >= 0:
            yield j, wrenches
            wrenches = [self.transforms[j].wrench_to_parent(*wrench) for wrench in wrenches]
            j = self.model.links[j].parent

    def motion_to_link(self, i: int, linear: SX, angular: SX) -> tuple[SX, SX]:
        """Carry a twist of the parent of link i, at its origin, to the origin and frame of link i."""
        X = self.transforms[i]
        return X.to_link(linear + cross(angular, X.translation)), X.to_link(angular)


def _followed(joint: Joint, columns: tuple[Screw, ...]) -> tuple[Screw, ...]:
    """Columns per velocity of the model instead of the joint's own."""
    scale = 1.0 if joint.coupling is None else joint.coupling.multiplier
    return tuple((scale * linear, scale * angular) for linear, angular in columns)


def _frame(values: Sequence[SX | float]) -> tuple[SX, SX]:
    x, y, z, yaw, pitch, roll = values
    return SX(rotation_from_ypr(yaw, pitch, roll)), ca.vertcat(SX(x), SX(y), SX(z))
