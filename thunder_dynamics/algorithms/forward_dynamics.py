"""Forward dynamics in O(n) and M⁻¹ in O(n²) by articulated bodies [Featherstone 2008, ch. 7], in body frames.

Accelerations are deviations δ from those that the bodies have at q̈ = 0, gravity included: δ is linear in q̈, so no bias
acceleration appears, and the wrenches at q̈ = 0 are those of inverse dynamics. A joint of several degrees of freedom is
eliminated column by column of its motion subspace, the last one first: no matrix is ever inverted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca

from thunder_dynamics.algorithms.dynamics import LinkMotion, link_wrench
from thunder_dynamics.algorithms.joint_motion import JointTransform, Screw, power
from thunder_dynamics.algorithms.kinematics import Kinematics
from thunder_dynamics.inertia import N_PARAMETERS, symmetric_from_six
from thunder_dynamics.spatial import matrix, reciprocal, skew

SX = ca.SX


@dataclass(frozen=True)
class _Eliminated:
    """A column S of a joint, once it is free to move: U = I S, its reaction, and 1/D, D = Sᵀ U + I_a."""

    index: int
    screw: Screw
    reaction: Screw
    inverse: SX


class ArticulatedBodies:
    """The articulated-body inertias of a tree without coupled joints, eliminated joint by joint.

    Args:
        pi: All inertial parameters, REG order, shape (10 n,).
        rotors: What the rotors add to the diagonal of M, shape (nv,).
    """

    def __init__(self, kinematics: Kinematics, pi: SX, rotors: SX) -> None:
        self.kinematics = kinematics
        self.rotors = rotors
        self.model = kinematics.model
        self.pi = [pi[N_PARAMETERS * i : N_PARAMETERS * (i + 1)] for i in range(self.model.n)]

    def forward_dynamics(self, tau: SX, at_rest: Sequence[LinkMotion]) -> SX:
        """q̈ with M q̈ + C q̇ + G = τ, shape (nv,).

        Args:
            tau: Joint torques, shape (nv,).
            at_rest: From `dynamics.propagate` with q̇_r = q̇ and q̈_r = 0.
        """
        wrenches = [link_wrench(motion, pi) for motion, pi in zip(at_rest, self.pi, strict=True)]
        residuals: dict[int, SX] = {}
        for i in reversed(range(self.model.n)):
            wrench = wrenches[i]
            for column in self._eliminated[i]:
                residuals[column.index] = tau[column.index] - power(column.screw, wrench)
                wrench = _add(wrench, column.reaction, residuals[column.index] * column.inverse)
            parent = self.model.links[i].parent
            if parent >= 0:
                wrenches[parent] = _add(wrenches[parent], self.kinematics.transforms[i].wrench_to_parent(*wrench))
        qdd = SX.zeros(tau.numel())
        deviations: list[Screw] = []
        for i, link in enumerate(self.model.links):
            start = deviations[link.parent] if link.parent >= 0 else (SX.zeros(3), SX.zeros(3))
            deviation = self.kinematics.motion_to_link(i, *start)
            for column in reversed(self._eliminated[i]):
                k = column.index
                qdd[k] = (residuals[k] - power(deviation, column.reaction)) * column.inverse
                deviation = _add(deviation, column.screw, qdd[k])
            deviations.append(deviation)
        return qdd

    def inverse_mass_matrix(self) -> SX:
        """M⁻¹, shape (nv, nv): the response to a unit torque at each joint, its upper half, mirrored."""
        residuals = self._unit_residuals()
        inverse = SX.zeros(self.model.nv, self.model.nv)
        responses: list[dict[int, Screw]] = []
        for i, link in enumerate(self.model.links):
            above = responses[link.parent] if link.parent >= 0 else {}
            first = self.model.v_ranges[i].start
            response = {k: self.kinematics.motion_to_link(i, *motion) for k, motion in above.items() if k >= first}
            for column in reversed(self._eliminated[i]):
                row = residuals[column.index]
                for k in sorted({*row, *response}):
                    value = row.get(k, SX(0)) * column.inverse
                    if k in response:
                        value = value - power(response[k], column.reaction) * column.inverse
                    inverse[column.index, k] = inverse[k, column.index] = value
                    response[k] = _add(response.get(k, (SX.zeros(3), SX.zeros(3))), column.screw, value)
            responses.append(response)
        return inverse

    def _unit_residuals(self) -> dict[int, dict[int, SX]]:
        """What is left of a unit torque at joint k when the elimination arrives at a column: entry [column][k]."""
        residuals: dict[int, dict[int, SX]] = {}
        wrenches: list[dict[int, Screw]] = [{} for _ in self.model.links]
        for i in reversed(range(self.model.n)):
            wrench = wrenches[i]
            for column in self._eliminated[i]:
                row = {k: -power(column.screw, w) for k, w in wrench.items()}
                row[column.index] = SX(1)
                residuals[column.index] = row
                for k, value in row.items():
                    start = wrench.get(k, (SX.zeros(3), SX.zeros(3)))
                    wrench[k] = _add(start, column.reaction, value * column.inverse)
            parent = self.model.links[i].parent
            if parent >= 0:
                for k, w in wrench.items():
                    wrenches[parent][k] = self.kinematics.transforms[i].wrench_to_parent(*w)
        return residuals

    @cached_property
    def _eliminated(self) -> list[list[_Eliminated]]:
        """Columns of every joint in the order of their elimination, last first."""
        bodies = [_rigid_body(pi) for pi in self.pi]
        result: list[list[_Eliminated]] = [[] for _ in bodies]
        for i in reversed(range(self.model.n)):
            body = bodies[i]
            for index, screw in reversed(self.kinematics.screws(i, i)):
                reaction = body.wrench(screw)
                rotor = self.rotors[index]
                column = _Eliminated(index, screw, reaction, reciprocal(power(screw, reaction) + rotor))
                body = body.freed(column, resists=not rotor.is_zero())
                result[i].append(column)
            parent = self.model.links[i].parent
            if parent >= 0:
                bodies[parent] = bodies[parent].joined(body.moved_to_parent(self.kinematics.transforms[i]))
        return result


@dataclass(frozen=True)
class _Body:
    """An articulated-body inertia by its blocks: f = L a + H α, n = Hᵀ a + A α, with L and A symmetric."""

    L: SX
    H: SX
    A: SX

    def wrench(self, screw: Screw) -> Screw:
        linear, angular = screw
        return self.L @ linear + self.H @ angular, self.H.T @ linear + self.A @ angular

    def joined(self, other: _Body) -> _Body:
        return _Body(self.L + other.L, self.H + other.H, self.A + other.A)

    def freed(self, column: _Eliminated, resists: bool) -> _Body:
        """I − U Uᵀ/D; along a coordinate axis nothing is left, exactly, unless a rotor resists."""
        f, n = column.reaction
        f_scaled, n_scaled = f * column.inverse, n * column.inverse
        L = _symmetric(self.L - f @ f_scaled.T)
        H = self.H - f @ n_scaled.T
        A = _symmetric(self.A - n @ n_scaled.T)
        axis = None if resists else _coordinate_axis(column.screw)
        if axis is not None and axis < 3:
            L[axis, :], L[:, axis], H[axis, :] = 0, 0, 0
        elif axis is not None:
            A[axis - 3, :], A[:, axis - 3], H[:, axis - 3] = 0, 0, 0
        return _Body(L, H, A)

    def moved_to_parent(self, X: JointTransform) -> _Body:
        """The same body seen from the parent, whose origin is at −p of this one."""
        S = SX(skew(X.translation))
        L = _symmetric(_rotated(X, self.L))
        H_rotated = _rotated(X, self.H)
        H = H_rotated - L @ S
        return _Body(L, H, _symmetric(_rotated(X, self.A) - H_rotated.T @ S + S @ H))


def _rigid_body(pi: SX) -> _Body:
    return _Body(pi[0] * SX.eye(3), -SX(skew(pi[1:4])), SX(matrix(symmetric_from_six(pi[4:10]))))


def _rotated(X: JointTransform, block: SX) -> SX:
    """R block Rᵀ."""
    return X.to_parent(X.to_parent(block).T).T


def _symmetric(A: SX) -> SX:
    """The symmetric matrix of that upper triangle: the lower one is then not computed at all."""
    return SX(ca.triu2symm(ca.triu(A)))


def _coordinate_axis(screw: Screw) -> int | None:
    """Index of the only entry of a constant screw that is not zero, if there is one such."""
    entries = ca.vertcat(*screw)
    if not entries.is_constant():
        return None
    used = [k for k in range(6) if not entries[k].is_zero()]
    return used[0] if len(used) == 1 else None


def _add(a: Screw, b: Screw, factor: SX | float = 1.0) -> Screw:
    return a[0] + b[0] * factor, a[1] + b[1] * factor
