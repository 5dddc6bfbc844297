"""Joints, and their kinds: how a joint moves its link, as expressions of the joint's own configuration.

A joint of a kind has nq configuration values q and nv velocities v, with q̇ = N(q) v. It puts its link at
T(q) = [R(q), p(q)] relative to the joint's placement, and the link moves with the twist S(q) v: the linear velocity of
its origin, then its angular velocity, both in its own frame.

| kind | q | v |
| --- | --- | --- |
| `REVOLUTE`, `PRISMATIC` | angle about, or way along, the axis | q̇ |
| `UNIVERSAL` | angle about the axis, then about the first one of `in_plane` | q̇ |
| `PLANAR` | x, y across the axis, angle about it | twist in the link frame: v_x, v_y, ω |
| `SPHERICAL` | quaternion x, y, z, w of the link in the placement | angular velocity in the link frame |
| `FREE` | position in the placement, then that quaternion | twist in the link frame, linear part first |

That is Pinocchio's convention, but for the angle of a planar joint. A quaternion may have any length but zero.
A kind of one's own needs a name and its transform; the rest follows from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.errors import ModelError
from thunder_dynamics.spatial import cos_sin, cross, dot, rot_axis, rotation_from_quaternion, vector

FloatArray = NDArray[np.float64]

Axis = Sequence[float]

Columns = Sequence[tuple[Any, Any]]
"""Columns of a motion subspace: linear and angular part, three values each."""


@dataclass(frozen=True, eq=False)
class JointKind:
    """How a joint moves its link.

    Args:
        name: For messages.
        transform: (q, axis) → R (3, 3), p (3,) [m], with q indexable; numbers or symbols (`spatial` serves both).
        nq: Number of configuration values.
        nv: Number of velocities, 1 to 6.
        subspace: (q, axis) → the nv columns of S; None derives them from the transform.
        rate: (q, v, axis) → q̇, linear in v; None means q̇ = v.
        neutral: The configuration that counts as zero; empty means nq zeros.
    """

    name: str
    transform: Callable[[Any, Axis], tuple[Any, Any]]
    nq: int = 1
    nv: int = 1
    subspace: Callable[[Any, Axis], Columns] | None = None
    rate: Callable[[Any, Any, Axis], Any] | None = None
    neutral: tuple[float, ...] = ()

    REVOLUTE: ClassVar[JointKind]
    PRISMATIC: ClassVar[JointKind]
    UNIVERSAL: ClassVar[JointKind]
    PLANAR: ClassVar[JointKind]
    SPHERICAL: ClassVar[JointKind]
    FREE: ClassVar[JointKind]

    def __post_init__(self) -> None:
        where = f"joint kind {self.name}"
        if not (1 <= self.nv <= 6 and self.nq >= 1):
            raise ModelError(f"nq = {self.nq}, nv = {self.nv}", where=where, valid="nq ≥ 1, nv from 1 to 6")
        if self.rate is None and self.nq != self.nv:
            raise ModelError(f"no rate, but nq = {self.nq} and nv = {self.nv}", where=where, valid="rate, or nq = nv")
        object.__setattr__(self, "neutral", self.neutral or (0.0,) * self.nq)
        if len(self.neutral) != self.nq:
            raise ModelError(f"{len(self.neutral)} neutral values", where=where, valid=f"nq = {self.nq}")

    @property
    def is_built_in(self) -> bool:
        """Whether the kind is one of this class, known by its name alone."""
        return getattr(JointKind, self.name.upper(), None) is self


_ZERO = (0.0, 0.0, 0.0)
_UNIT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _scaled(axis: Axis, q: Any) -> Any:
    return vector([a * q for a in axis])


def in_plane(axis: Axis) -> tuple[Any, Any]:
    """Two unit vectors that make a right-handed frame with `axis`: x and y for z, and so on in turn."""
    largest = int(np.argmax(np.abs(axis)))
    first = cross(_UNIT[largest - 1], axis)
    first = first / float(np.linalg.norm(first))
    return first, cross(axis, first)


def _universal_subspace(q: Any, axis: Axis) -> Columns:
    second = in_plane(axis)[0]
    turned = rot_axis(second, -q[1])
    return [(_ZERO, [sum(turned[i, k] * axis[k] for k in range(3)) for i in range(3)]), (_ZERO, second)]


def _planar_transform(q: Any, axis: Axis) -> tuple[Any, Any]:
    x, y = in_plane(axis)
    return rot_axis(axis, q[2]), vector([x[k] * q[0] + y[k] * q[1] for k in range(3)])


def _planar_rate(q: Any, v: Any, axis: Axis) -> Any:
    c, s = cos_sin(q[2])
    return vector([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]])


def _quaternion_rate(u: Any, w: Any, omega: Any) -> list[Any]:
    """½ (u, w) ⊗ (ω, 0)."""
    turned = cross(u, omega)
    return [*(0.5 * (w * omega[k] + turned[k]) for k in range(3)), -0.5 * dot(u, omega)]


def _spherical_rate(q: Any, v: Any, axis: Axis) -> Any:
    return vector(_quaternion_rate([q[0], q[1], q[2]], q[3], [v[0], v[1], v[2]]))


def _free_transform(q: Any, axis: Axis) -> tuple[Any, Any]:
    return rotation_from_quaternion(q[3], q[4], q[5], q[6]), vector([q[0], q[1], q[2]])


def _free_rate(q: Any, v: Any, axis: Axis) -> Any:
    R = _free_transform(q, axis)[0]
    linear = [sum(R[i, k] * v[k] for k in range(3)) for i in range(3)]
    return vector([*linear, *_quaternion_rate([q[3], q[4], q[5]], q[6], [v[3], v[4], v[5]])])


JointKind.REVOLUTE = JointKind(
    "revolute", lambda q, axis: (rot_axis(axis, q[0]), vector(_ZERO)), subspace=lambda q, axis: [(_ZERO, axis)]
)
JointKind.PRISMATIC = JointKind(
    "prismatic", lambda q, axis: (np.eye(3), _scaled(axis, q[0])), subspace=lambda q, axis: [(axis, _ZERO)]
)
JointKind.UNIVERSAL = JointKind(
    "universal",
    lambda q, axis: (rot_axis(axis, q[0]) @ rot_axis(in_plane(axis)[0], q[1]), vector(_ZERO)),
    nq=2,
    nv=2,
    subspace=_universal_subspace,
)
JointKind.PLANAR = JointKind(
    "planar",
    _planar_transform,
    nq=3,
    nv=3,
    subspace=lambda q, axis: [*((direction, _ZERO) for direction in in_plane(axis)), (_ZERO, axis)],
    rate=_planar_rate,
)
JointKind.SPHERICAL = JointKind(
    "spherical",
    lambda q, axis: (rotation_from_quaternion(q[0], q[1], q[2], q[3]), vector(_ZERO)),
    nq=4,
    nv=3,
    subspace=lambda q, axis: [(_ZERO, unit) for unit in _UNIT],
    rate=_spherical_rate,
    neutral=(0.0, 0.0, 0.0, 1.0),
)
JointKind.FREE = JointKind(
    "free",
    _free_transform,
    nq=7,
    nv=6,
    subspace=lambda q, axis: [*((unit, _ZERO) for unit in _UNIT), *((_ZERO, unit) for unit in _UNIT)],
    rate=_free_rate,
    neutral=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
)


class Topology(IntEnum):
    """The shape of all places of a joint, by the numbers of `thunder_abi.h`."""

    LINE = 0  #: Every position is another place.
    CIRCLE = 1  #: Positions that differ by whole turns are one place, as of URDF's `continuous`.


@dataclass(frozen=True)
class Limits:
    """Limits of a joint: position [rad] or [m], its first two derivatives, effort [N·m] or [N], effort rate per second.

    Infinite where the robot file gives none. The velocity limit at distance d from the end that the joint moves towards
    is min(v, max(0, √(2 a d) − o)), with the offset o and the deceleration a. What drives the joint is limited to the
    whole effort up to the corner velocity, and from there linearly to zero at the no-load velocity. The host's `Limits`
    computes both.
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    velocity_offset: float = 0.0
    velocity_deceleration: float = np.inf
    acceleration: float = np.inf
    effort: float = np.inf
    effort_corner_velocity: float = np.inf
    effort_no_load_velocity: float = np.inf
    effort_rate: float = np.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ModelError(f"lower limit {self.lower:g} above upper limit {self.upper:g}", valid="lower ≤ upper")
        for name in ("velocity", "velocity_deceleration", "acceleration", "effort", "effort_rate"):
            if not getattr(self, name) > 0.0:
                raise ModelError(f"{name} limit {getattr(self, name):g}", valid="greater than zero")
        if not 0.0 <= self.velocity_offset < np.inf:
            raise ModelError(f"velocity offset {self.velocity_offset:g}", valid="finite, 0 or more")
        corner, no_load = self.effort_corner_velocity, self.effort_no_load_velocity
        if not (0.0 <= corner < no_load < np.inf or corner == no_load == np.inf):
            what = f"effort_corner_velocity {corner:g} and effort_no_load_velocity {no_load:g}"
            raise ModelError(what, valid="both, the first from 0 to below the second, or neither")


FROM_ZERO = ("velocity_offset", "effort_corner_velocity")
"""Limits that may be zero."""


@dataclass(frozen=True, eq=False)
class Pose:
    """A constant rigid transform: rotation (3, 3) and translation (3,) [m] of a frame in its parent."""

    rotation: FloatArray = field(default_factory=lambda: np.eye(3))
    translation: FloatArray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        for name, shape in (("rotation", (3, 3)), ("translation", (3,))):
            value = np.array(getattr(self, name), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise ModelError(f"pose {name} of shape {value.shape}", valid=f"finite, {shape}")
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.rotation @ other.rotation, self.rotation @ other.translation + self.translation)


@dataclass(frozen=True)
class Elasticity:
    """Series elasticity of one joint: stiffness K_j, coupling damping D_j, motor damping Dm_j, motor inertia Mm."""

    K: tuple[float, ...]
    D: tuple[float, ...]
    Dm: tuple[float, ...]
    Mm: float


@dataclass(frozen=True)
class Coupling:
    """A joint that follows another: its position is multiplier · (position of `leader`) + offset."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


UNKNOWN_ROTOR = 1.0 / 300.0
"""Of a drive of which nothing but its effort limit is known [kg·m² / N·m]: 0.29 at the shoulder of a Panda."""


def reflected_inertia(rotor: float, gear_ratio: float) -> float:
    """I_a of a rotor that turns `gear_ratio` times as fast as its joint [kg·m² or kg]: gear_ratio² · rotor."""
    return gear_ratio**2 * rotor


@dataclass(frozen=True, eq=False)
class Joint:
    """The joint that moves a link. `axis` is a unit vector in the joint (= link) frame, for the kinds that use one.

    `dh` keeps the modified-DH row (a, alpha, d, theta) where the robot file has one; `placement` always agrees with it.
    `limits` are those of a joint with one velocity. `rotor_inertia` is what the motor's rotor adds to M_ii, the inertia
    of the rotor times the square of the gear ratio [kg·m² or kg]; None says that it is unknown, not that there is none.
    A joint whose `topology` is a circle is revolute and has no position limits.
    """

    name: str
    kind: JointKind
    placement: Pose = field(default_factory=Pose)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    limits: Limits = field(default_factory=Limits)
    dh: tuple[float, float, float, float] | None = None
    elastic: Elasticity | None = None
    coupling: Coupling | None = None
    rotor_inertia: float | None = None
    topology: Topology = Topology.LINE

    def __post_init__(self) -> None:
        where = f"joint {self.name}"
        if not abs(float(np.linalg.norm(self.axis)) - 1.0) <= 1e-12:  # true for NaN as well
            raise ModelError(f"axis {self.axis} is not a unit vector", where=where, valid="‖axis‖ = 1")
        if self.dh is not None and self.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
            raise ModelError(f"a DH row of a {self.kind.name} joint", where=where, valid="revolute, prismatic")
        if not self.is_single and (self.elastic or self.coupling):
            raise ModelError("elastic or coupled with several values", where=where, valid="joints with nq = nv = 1")
        if self.elastic and self.coupling:
            raise ModelError("elastic and coupled to another joint", where=where, valid="one of the two")
        self._check_rotor(where)
        if self.is_on_circle:
            self._check_circle(where)

    def _check_rotor(self, where: str) -> None:
        if self.rotor_inertia is None:
            return
        if not 0.0 <= self.rotor_inertia < np.inf:
            raise ModelError(f"rotor inertia {self.rotor_inertia:g}", where=where, valid="finite, 0 or more")
        if self.elastic:
            raise ModelError("elastic, with a rotor inertia", where=where, valid="the motor inertia Mm, which is that")
        if not self.is_single:
            raise ModelError("several values, and a rotor inertia", where=where, valid="joints with nq = nv = 1")

    def _check_circle(self, where: str) -> None:
        if self.kind is not JointKind.REVOLUTE:
            raise ModelError(f"a {self.kind.name} joint on a circle", where=where, valid="revolute")
        if np.isfinite([self.limits.lower, self.limits.upper]).any():
            raise ModelError("position limits of a joint on a circle", where=where, valid="none, or a joint on a line")
        if self.elastic or self.coupling:
            raise ModelError("elastic or coupled, and on a circle", where=where, valid="one of the two")

    @property
    def is_on_circle(self) -> bool:
        """Whether positions that differ by whole turns are one place."""
        return self.topology is Topology.CIRCLE

    @property
    def type_name(self) -> str:
        """Name of the kind, `continuous` of a joint on a circle."""
        return "continuous" if self.is_on_circle else self.kind.name

    @property
    def is_single(self) -> bool:
        """Whether the joint has one configuration value and its rate as its one velocity."""
        return self.kind.nq == 1 and self.kind.rate is None
