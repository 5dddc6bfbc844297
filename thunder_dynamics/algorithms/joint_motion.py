"""Motion of one joint, as expressions: transform, motion subspace S, its rate, and q̇ = N(q) v."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from thunder_dynamics.errors import ModelError
from thunder_dynamics.joints import JointKind
from thunder_dynamics.model import Joint
from thunder_dynamics.spatial import cross, dot, rot_axis, rot_x, rot_z, vee

SX = ca.SX

Screw = tuple[SX, SX]
"""A motion or force vector: linear and angular half, three values each."""


def power(motion: Screw, wrench: Screw) -> SX:
    """Sᵀ F of a motion and a force vector."""
    return SX(dot(motion[0], wrench[0]) + dot(motion[1], wrench[1]))


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

    def wrench_to_parent(self, force: SX, moment: SX) -> Screw:
        """Express a wrench on the link at the parent's origin and in its frame."""
        f = self.to_parent(force)
        return f, self.to_parent(moment) + cross(self.translation, f)

    @property
    def rotation(self) -> SX:
        """Rotation of the link in its parent, shape (3, 3)."""
        return self.constant @ self.motion


def joint_transform(joint: Joint, q: SX, dh: Sequence[SX | float] | None = None) -> JointTransform:
    """T = placement · motion(q); from the DH row Tx(a) Rx(α) Tz(d) Rz(θ), where there is one.

    A revolute and a prismatic joint have forms of their own, with the fewest operations.
    """
    if dh is not None:
        revolute = joint.kind is JointKind.REVOLUTE
        a, alpha, d, theta = dh
        rotation, slide = SX(rot_x(alpha)), d if revolute else d + q
        motion = rot_z(q + theta) if revolute else rot_z(theta)
        return JointTransform(rotation, SX(motion), ca.vertcat(SX(a), rotation[1:, 2] * slide))
    placement = SX(ca.DM(joint.placement.rotation))
    p = SX(ca.DM(joint.placement.translation))
    if joint.kind is JointKind.REVOLUTE:
        return JointTransform(placement, SX(rot_axis(joint.axis, q)), p)
    if joint.kind is JointKind.PRISMATIC:
        return JointTransform(placement, SX.eye(3), p + placement @ SX(ca.DM(list(joint.axis))) * q)
    motion, way = _symbolic_transform(joint, q)
    return JointTransform(placement, motion, p + placement @ way)


def joint_subspace(joint: Joint, q: SX) -> tuple[Screw, ...]:
    """The nv columns of S(q), in the link frame; from the transform, where the kind does not give them.

    The column of q̇_k is the body twist vee(Rᵀ ∂R/∂q_k), Rᵀ ∂p/∂q_k; with N(q) they combine to those of v.
    """
    kind = joint.kind
    if kind.subspace is not None:
        columns = kind.subspace(q, joint.axis)
        return tuple((_column(linear), _column(angular)) for linear, angular in columns)
    symbol, v = SX.sym("q", kind.nq), SX.sym("v", kind.nv)
    R, p = _symbolic_transform(joint, symbol)
    twists = []
    for k in range(kind.nq):
        R_k, p_k = (ca.reshape(ca.jacobian(ca.vec(value), symbol[k]), *value.shape) for value in (R, p))
        twists.append(ca.vertcat(R.T @ p_k, SX(vee(R.T @ R_k))))
    S = ca.horzcat(*twists) @ ca.jacobian(joint_rate(joint, symbol, v), v)
    S = ca.densify(ca.Function("S", [symbol], [S])(q))
    return tuple((S[:3, k], S[3:, k]) for k in range(kind.nv))


def joint_subspace_rate(joint: Joint, q: SX, v: SX) -> tuple[Screw, ...]:
    """Rate of the columns of S(q) as components in the link frame, for velocity v: zero where S is constant."""
    symbol, velocity = SX.sym("q", joint.kind.nq), SX.sym("v", joint.kind.nv)
    S = ca.vertcat(*(half for column in joint_subspace(joint, symbol) for half in column))
    S_dot = ca.jtimes(S, symbol, joint_rate(joint, symbol, velocity))
    values = ca.densify(ca.Function("S_dot", [symbol, velocity], [S_dot])(q, v))
    return tuple((values[6 * k : 6 * k + 3], values[6 * k + 3 : 6 * k + 6]) for k in range(joint.kind.nv))


def joint_rate(joint: Joint, q: SX, v: SX) -> SX:
    """q̇ = N(q) v of the joint's own configuration, shape (nq,)."""
    return v if joint.kind.rate is None else SX(joint.kind.rate(q, v, joint.axis))


def joint_content(joint: Joint) -> str:
    """All that a joint's kind computes, as a text that is equal for equal expressions."""
    q, v = SX.sym("q", joint.kind.nq), SX.sym("v", joint.kind.nv)
    columns = [half for column in joint_subspace(joint, q) for half in column]
    outputs = [*_symbolic_transform(joint, q), *columns, joint_rate(joint, q, v)]
    return str(ca.Function("joint", [q, v], outputs).serialize())


def _symbolic_transform(joint: Joint, q: SX) -> tuple[SX, SX]:
    R, p = (SX(value) for value in joint.kind.transform(q, joint.axis))
    if R.shape != (3, 3) or p.numel() != 3:
        what = f"the transform of kind {joint.kind.name} has shapes {R.shape} and {p.shape}"
        raise ModelError(what, where=f"joint {joint.name}", valid="R (3, 3) and p (3,)")
    return R, p


def _column(values: Sequence[SX | float]) -> SX:
    return ca.vertcat(*(SX(values[k]) for k in range(3)))
