"""RobotModel: a frozen, validated description of a tree of rigid links, the one input of everything downstream.

Links are numbered from 0 in topological order (a parent precedes its children); the base is −1. Each link is moved
by exactly one joint: T(parent → link) = placement · motion(q), with motion a rotation about, or a translation
along, `axis`. Fixed joints do not appear: readers merge them.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.errors import ModelError, NameNotFoundError, nearest, option
from thunder_dynamics.inertia import Inertia

FloatArray = NDArray[np.float64]

IDENTIFIER = re.compile(r"(?!.{64})[A-Za-z](_?[A-Za-z0-9])*")
"""What a robot or a function may be called: it becomes part of C names, where C++ reserves `__` and a leading `_`."""

ENTITY_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./\-]{0,126}")
"""What a link or joint may be called: it becomes a C string and a topic name."""

C_KEYWORDS = frozenset(
    """alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const
    consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
    new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
    restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()
)

GRAVITY = (0.0, 0.0, -9.81)
"""Default gravity in the world frame [m/s²]."""

PARAMETER_GROUPS = (
    "par_DHtable",
    "par_world2L0",
    "par_Ln2EE",
    "par_gravity",
    "par_DYN",
    "par_Dl",
    "par_K",
    "par_D",
    "par_Dm",
    "par_Mm",
)
"""Groups whose entries a robot file may mark symbolic. `par_REG` is another view of `par_DYN`."""


class JointKind(Enum):
    """How a joint moves its link."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"


@dataclass(frozen=True)
class Limits:
    """Limits of a joint: position [rad] or [m], its first two derivatives, effort [N·m] or [N], effort rate per second.

    Infinite where the robot file gives none.
    """

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    acceleration: float = np.inf
    effort: float = np.inf
    effort_rate: float = np.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ModelError(f"lower limit {self.lower:g} above upper limit {self.upper:g}", valid="lower ≤ upper")
        for name in ("velocity", "acceleration", "effort", "effort_rate"):
            if not getattr(self, name) > 0.0:
                raise ModelError(f"{name} limit {getattr(self, name):g}", valid="greater than zero")


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
class Frame:
    """A constant frame as the robot YAML states it: translation [m], then yaw, pitch, roll [rad].

    R = Rz(yaw) Ry(pitch) Rx(roll).
    """

    tr: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ypr: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def parameters(self) -> tuple[float, ...]:
        """[x, y, z, yaw, pitch, roll]."""
        return (*self.tr, *self.ypr)


@dataclass(frozen=True)
class Elasticity:
    """Series elasticity of one joint: stiffness K_j, coupling damping D_j, motor damping Dm_j, motor inertia Mm."""

    K: tuple[float, ...]
    D: tuple[float, ...]
    Dm: tuple[float, ...]
    Mm: float


@dataclass(frozen=True, eq=False)
class Joint:
    """One-degree-of-freedom joint. `axis` is a unit vector in the joint (= link) frame.

    `dh` keeps the modified-DH row (a, alpha, d, theta) where the robot file has one; `placement` always agrees with it.
    """

    name: str
    kind: JointKind
    placement: Pose = field(default_factory=Pose)
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    limits: Limits = field(default_factory=Limits)
    dh: tuple[float, float, float, float] | None = None
    elastic: Elasticity | None = None

    def __post_init__(self) -> None:
        if not abs(float(np.linalg.norm(self.axis)) - 1.0) <= 1e-12:  # true for NaN as well
            raise ModelError(f"axis {self.axis} is not a unit vector", where=f"joint {self.name}", valid="‖axis‖ = 1")


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid link, the joint that moves it, its inertia in the link frame and its joint's friction coefficients.

    `friction` holds Dl_1, Dl_2, …: τ_f = Dl_1 q̇ + Dl_2 |q̇| q̇ + …; `coulomb` is Fc in Fc·tanh(q̇/v_s) [N·m] or [N].
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia = field(default_factory=Inertia)
    friction: tuple[float, ...] = ()
    coulomb: float = 0.0


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A tree of links with a base frame, an end-effector frame and gravity.

    Args:
        name: C identifier.
        links: In topological order.
        base: Pose of the base frame L0 in the world.
        ee: Pose of the end-effector frame in link `ee_link`.
        ee_link: Index of the link that carries the end effector; −1, the default, means the last one.
        gravity: g₀ in the world frame [m/s²].
        symbolic: Which entries of a parameter group (`PARAMETER_GROUPS`) become run-time parameters.
        source: Where the model came from, for messages.
    """

    name: str
    links: tuple[Link, ...]
    base: Frame = field(default_factory=Frame)
    ee: Frame = field(default_factory=Frame)
    ee_link: int = -1
    gravity: tuple[float, float, float] = GRAVITY
    symbolic: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        check_robot_name(self.name, where=self.source or "RobotModel")
        if not self.links:
            raise ModelError("the robot has no moving link", where=self.name, valid="at least one joint")
        self._check_tree()
        self._check_numbers()
        object.__setattr__(self, "ee_link", self.ee_link % self.n)
        masks = {g: tuple(bool(s) for s in mask) for g, mask in self.symbolic.items() if any(mask)}
        for group, mask in masks.items():
            if group not in PARAMETER_GROUPS:
                raise NameNotFoundError(f"parameter group '{group}'", valid=", ".join(PARAMETER_GROUPS))
            if len(mask) != len(self.parameters(group)):
                raise ModelError(
                    f"the mask of {group} has {len(mask)} entries",
                    where=self.name,
                    valid=str(len(self.parameters(group))),
                )
        object.__setattr__(self, "symbolic", MappingProxyType(masks))

    def _check_tree(self) -> None:
        for index, link in enumerate(self.links):
            if not -1 <= link.parent < index:
                raise ModelError(
                    f"parent {link.parent} of link {index} does not precede it",
                    where=link.name,
                    valid=f"-1…{index - 1}",
                )
            if len(link.friction) != len(self.links[0].friction):
                raise ModelError("links have friction of different orders", where=link.name, valid="one order for all")
        for kind, names in (("link", self.link_names), ("joint", self.joint_names)):
            for entity in names:
                if not ENTITY_NAME.fullmatch(entity):
                    raise ModelError(
                        f"{kind} name {entity!r}", where=self.name, valid=f"a match of {ENTITY_NAME.pattern}"
                    )
            if len(set(names)) != len(names):
                raise ModelError(f"two {kind}s share a name", where=self.name, valid="unique names")

    def _check_numbers(self) -> None:
        if not -1 <= self.ee_link < self.n:
            raise ModelError(f"the end effector is on link {self.ee_link}", where=self.name, valid=f"-1…{self.n - 1}")
        for what, values, size in (
            ("gravity", self.gravity, 3),
            ("the base frame", self.base.parameters, 6),
            ("the end-effector frame", self.ee.parameters, 6),
        ):
            if len(values) != size or not np.isfinite(values).all():
                raise ModelError(f"{what} is {values}", where=self.name, valid=f"{size} finite numbers")
        elastic = list(self.elasticities())
        if len({(len(e.K), len(e.D), len(e.Dm)) for e in elastic}) > 1:
            raise ModelError(
                "elastic joints have terms of different orders", where=self.name, valid="one order for all"
            )
        coefficients = [v for group in ("par_Dl", "par_K", "par_D", "par_Dm", "par_Mm") for v in self.parameters(group)]
        if not np.isfinite([*coefficients, *(link.coulomb for link in self.links)]).all():
            raise ModelError("a coefficient of friction or elasticity is not finite", where=self.name, valid="numbers")

    @property
    def n(self) -> int:
        """Number of joints, and of links."""
        return len(self.links)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links in order."""
        return tuple(link.name for link in self.links)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints in order."""
        return tuple(link.joint.name for link in self.links)

    @property
    def pi(self) -> FloatArray:
        """All inertial parameters in REG order about the link frame origins, shape (10·n,), read-only."""
        value = np.concatenate([link.inertia.pi for link in self.links])
        value.setflags(write=False)
        return value

    @property
    def friction_order(self) -> int:
        """Number of viscous friction coefficients per joint (`Dl_order`)."""
        return len(self.links[0].friction)

    @property
    def elastic_joints(self) -> tuple[int, ...]:
        """Indices of the joints with series elasticity."""
        return tuple(i for i, link in enumerate(self.links) if link.joint.elastic is not None)

    def index_of(self, link: str) -> int:
        """Index of a link by name.

        Raises:
            NameNotFoundError: listing the links there are.
        """
        if link not in self.link_names:
            raise NameNotFoundError(f"no link '{link}'", where=self.name, valid=nearest(link, self.link_names))
        return self.link_names.index(link)

    def path(self, link: int) -> tuple[int, ...]:
        """Indices of the links from the base to `link`, itself included."""
        reverse = []
        while link >= 0:
            reverse.append(link)
            link = self.links[link].parent
        return tuple(reversed(reverse))

    def elasticities(self) -> Iterator[Elasticity]:
        """Elasticity of each elastic joint, in joint order."""
        return (link.joint.elastic for link in self.links if link.joint.elastic is not None)

    def parameters(self, group: str) -> tuple[float, ...]:
        """The full numeric vector of a parameter group, numeric and symbolic entries alike."""
        if group == "par_DHtable":
            rows = [link.joint.dh for link in self.links]
            return tuple(v for row in rows if row for v in row) if all(rows) else ()
        if group == "par_DYN":
            return tuple(float(v) for link in self.links for v in link.inertia.dyn)
        if group == "par_REG":
            return tuple(float(v) for v in self.pi)
        simple = {
            "par_world2L0": self.base.parameters,
            "par_Ln2EE": self.ee.parameters,
            "par_gravity": self.gravity,
            "par_Dl": tuple(v for link in self.links for v in link.friction),
            "par_K": tuple(v for e in self.elasticities() for v in e.K),
            "par_D": tuple(v for e in self.elasticities() for v in e.D),
            "par_Dm": tuple(v for e in self.elasticities() for v in e.Dm),
            "par_Mm": tuple(e.Mm for e in self.elasticities()),
        }
        if group not in simple:
            raise NameNotFoundError(f"parameter group '{group}'", valid=", ".join(PARAMETER_GROUPS))
        return simple[group]

    def with_inertia(self, link: str, inertia: Inertia) -> RobotModel:
        """Copy with another inertia of one link."""
        index = self.index_of(link)
        links = list(self.links)
        links[index] = replace(links[index], inertia=inertia)
        return replace(self, links=tuple(links))

    def with_symbolic(self, group: str, mask: ArrayLike | bool) -> RobotModel:
        """Copy with the entries of a parameter group marked symbolic; True marks them all."""
        size = len(self.parameters(group))
        if size == 0:
            raise ModelError(f"{self.name} has no {group}", valid="a group with entries")
        flags = (mask,) * size if isinstance(mask, bool) else tuple(np.asarray(mask, dtype=bool).tolist())
        return replace(self, symbolic={**self.symbolic, group: flags})


def check_robot_name(name: str, where: str) -> None:
    """Raise `ModelError` unless a robot may be called `name`: a C identifier and no keyword of C, C++ or Python."""
    if not IDENTIFIER.fullmatch(name) or name in C_KEYWORDS or keyword.iskeyword(name):
        raise ModelError(
            f"robot name {name!r} is not a C identifier",
            where=where,
            valid=f"a match of {IDENTIFIER.pattern} that is no keyword (set another with {option('name', '=…')})",
        )
