"""RobotModel: a frozen, validated description of a tree of rigid links, the one input of everything downstream.

Links are numbered from 0 in topological order (a parent precedes its children); the base is −1. Each link is moved
by exactly one joint: T(parent → link) = placement · motion, with the motion of the joint's kind (`joints`) at the
joint's own part of q. A joint may be coupled to another one and then has no part of its own. Fixed joints do not
appear: readers merge them.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thunder_dynamics.errors import LawError, ModelError, NameNotFoundError, nearest, option
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Coupling as Coupling
from thunder_dynamics.joints import Elasticity as Elasticity
from thunder_dynamics.joints import Joint as Joint
from thunder_dynamics.joints import JointKind as JointKind
from thunder_dynamics.joints import Limits as Limits
from thunder_dynamics.joints import Pose as Pose
from thunder_dynamics.joints import Topology as Topology
from thunder_dynamics.spatial import rotation_from_ypr, ypr_from_rotation

FloatArray = NDArray[np.float64]

IDENTIFIER = re.compile(r"(?!.{64})[A-Za-z](_?[A-Za-z0-9])*")
"""What a robot or a function may be called: it becomes part of C names, where C++ reserves `__` and a leading `_`."""

END_EFFECTOR_NAME = re.compile(r"(?!.{56})(?!ee$|ee_dot$|\d+$|\d+_dot$)[A-Za-z0-9](_?[A-Za-z0-9])*")
"""What a further end effector may be called: it becomes part of names of functions, such as J_<name>_dot."""

_LETTER = r"A-Za-z0-9_\u00a1-\U0010ffff"

ENTITY_NAME = re.compile(rf"(?!.{{128}})[{_LETTER}](?:[{_LETTER}./()\-]|[: ](?=[{_LETTER}(]))*")
"""What a link or joint may be called, if it is printable: it becomes a C string, and `plain_name` a part of C names."""

ENTITY_BYTES = 255
"""Bytes of such a name in UTF-8, which the host bounds."""

SINGLE_JOINTS = "joints with one position and its rate, of their own; lock or leave out the others"
"""What messages say of a robot that has others."""

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

STRAIGHT_PAIRS = 115
"""Pairs of a link and a velocity that moves it up to which all code is straight-line: a chain of 14 joints has 105.

From 14 spatial joints on loops are faster for Yr, from 15 for C, from some 20 for M, but later for trees of short
branches: docs/results/benchmarks.md has the times.
"""

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
    "par_Ia",
)
"""Groups whose entries a robot file may mark symbolic. `par_REG` is another view of `par_DYN`."""


ELASTIC_GROUPS = ("par_K", "par_D", "par_Dm", "par_Mm")
"""Those of elastic joints."""


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

    @property
    def pose(self) -> Pose:
        """As rotation and translation."""
        return Pose(rotation_from_ypr(*self.ypr), np.array(self.tr))

    @classmethod
    def of(cls, pose: Pose) -> Frame:
        """The frame of a pose; roll is 0 where pitch = ±π/2 leaves it free."""
        x, y, z = (float(v) for v in pose.translation)
        yaw, pitch, roll = ypr_from_rotation(pose.rotation)
        return cls((x, y, z), (yaw + 0.0, pitch + 0.0, roll + 0.0))  # + 0.0 turns −0.0 into 0.0


@dataclass(frozen=True)
class EndEffector:
    """A named frame in the link of an index: T_0_<name>, J_<name> and J_<name>_dot are its functions."""

    name: str
    link: int
    frame: Frame = field(default_factory=Frame)


CUSTOM_NAME = re.compile(rf"par_{IDENTIFIER.pattern}")
"""What a group of parameters of one's own may be called."""


@dataclass(frozen=True)
class CustomParameters:
    """A group of run-time parameters of one's own, which functions of one's own and laws take by its name.

    Args:
        name: `par_` and an identifier, of none of `PARAMETER_GROUPS`.
        values: What a new library starts from, one at least.
        unit: As text.
        description: One sentence.
    """

    name: str
    values: tuple[float, ...]
    unit: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        if not CUSTOM_NAME.fullmatch(self.name) or self.name in PARAMETER_GROUPS:
            valid = f"a match of {CUSTOM_NAME.pattern}, none of {', '.join(PARAMETER_GROUPS)}"
            raise ModelError(f"parameters named {self.name!r}", valid=valid)
        if not self.values or not np.isfinite(self.values).all():
            raise ModelError(f"values {self.values}", where=self.name, valid="finite numbers, one at least")


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid link, the joint that moves it, its inertia in the link frame and its joint's friction coefficients.

    `friction` holds Dl_1, Dl_2, …: τ_f = Dl_1 q̇ + Dl_2 |q̇| q̇ + …; `coulomb` is Fc in Fc·tanh(q̇/v_s) [N·m] or [N].
    `effort_offset` is o, the effort that the joint needs beside M q̈ + C q̇ + G + τ_f, wherever it is and moves [N·m] or
    [N]: with Fc it is Coulomb friction of Fc + o in one direction and Fc − o in the other.
    """

    name: str
    parent: int
    joint: Joint
    inertia: Inertia = field(default_factory=Inertia)
    friction: tuple[float, ...] = ()
    coulomb: float = 0.0
    effort_offset: float = 0.0


@dataclass(frozen=True)
class Drive:
    """What was found of a joint's drive: a part of `Link` and `Joint` each, None where nothing was.

    Args:
        rotor: Reflected inertia [kg·m² or kg].
        viscous: Friction [N·m·s/rad or N·s/m].
        coulomb: Friction [N·m or N].
        offset: Effort offset [N·m or N].
    """

    rotor: float | None = None
    viscous: float | None = None
    coulomb: float | None = None
    offset: float | None = None


def _driven(link: Link, drive: Drive, order: int) -> Link:
    """The link with friction of that order, and with friction and offset of the drive where it has them."""
    own = (*link.friction, *(0.0,) * order)[:order]
    return replace(
        link,
        friction=own if drive.viscous is None else (drive.viscous, *(0.0,) * (order - 1)),
        coulomb=link.coulomb if drive.coulomb is None else drive.coulomb,
        effort_offset=link.effort_offset if drive.offset is None else drive.offset,
    )


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A tree of links with a base frame, an end-effector frame and gravity.

    The configuration q has `nq` values and the velocity v `nv`: those of the joints in order, at `q_ranges[i]` and
    `v_ranges[i]`; a coupled joint has the ranges of the joint that it follows.

    Args:
        name: C identifier.
        links: In topological order.
        base: Pose of the base frame L0 in the world.
        ee: Pose of the end-effector frame in link `ee_link`.
        ee_link: Index of the link that carries the end effector; −1, the default, means the last one.
        end_effectors: Named frames beside `ee`, with functions of their own.
        gravity: g₀ in the world frame [m/s²].
        symbolic: Which entries of a parameter group (`PARAMETER_GROUPS`) become run-time parameters.
        source: Where the model came from, for messages.
        custom_parameters: Groups of one's own; all of their entries are run-time parameters.
    """

    name: str
    links: tuple[Link, ...]
    base: Frame = field(default_factory=Frame)
    ee: Frame = field(default_factory=Frame)
    ee_link: int = -1
    gravity: tuple[float, float, float] = GRAVITY
    symbolic: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    source: str = ""
    end_effectors: tuple[EndEffector, ...] = ()
    custom_parameters: tuple[CustomParameters, ...] = ()

    def __post_init__(self) -> None:
        check_robot_name(self.name, where=self.source or "RobotModel")
        if not self.links:
            raise ModelError("the robot has no moving link", where=self.name, valid="at least one joint")
        self._check_tree()
        self._check_couplings()
        self._check_end_effectors()
        self._check_numbers()
        object.__setattr__(self, "ee_link", self.ee_link % self.n)
        masks = {g: tuple(bool(s) for s in mask) for g, mask in self.symbolic.items() if any(mask)}
        masks |= {custom.name: (True,) * len(custom.values) for custom in self.custom_parameters}
        if len(self.parameter_groups) > len(set(self.parameter_groups)):
            raise ModelError("two groups of parameters share a name", where=self.name, valid="unique names")
        for group, mask in masks.items():
            if group not in self.parameter_groups:
                raise NameNotFoundError(f"parameter group '{group}'", valid=", ".join(self.parameter_groups))
            if len(mask) != len(self.parameters(group)):
                what, valid = f"the mask of {group} has {len(mask)} entries", str(len(self.parameters(group)))
                raise ModelError(what, where=self.name, valid=valid)
        object.__setattr__(self, "symbolic", MappingProxyType(masks))

    def _check_tree(self) -> None:
        for index, link in enumerate(self.links):
            if not -1 <= link.parent < index:
                what = f"parent {link.parent} of link {index} does not precede it"
                raise ModelError(what, where=link.name, valid=f"-1…{index - 1}")
            if len(link.friction) != len(self.links[0].friction):
                raise ModelError("links have friction of different orders", where=link.name, valid="one order for all")
        for kind, names in (("link", self.link_names), ("joint", self.joint_names)):
            for entity in names:
                if not is_entity_name(entity):
                    raise ModelError(f"{kind} name {entity!r}", where=self.name, valid=ENTITY_NAMES)
            if len(set(names)) != len(names):
                raise ModelError(f"two {kind}s share a name", where=self.name, valid="unique names")

    def _check_couplings(self) -> None:
        own = {link.joint.name: link.joint for link in self.links if link.joint.coupling is None}
        for joint in (link.joint for link in self.links):
            coupling = joint.coupling
            if coupling is None:
                continue
            if coupling.leader not in own or not own[coupling.leader].is_single:
                valid = ", ".join(name for name, other in own.items() if other.is_single)
                raise ModelError(f"coupled to '{coupling.leader}'", where=f"joint {joint.name}", valid=valid)
            if not np.isfinite([coupling.multiplier, coupling.offset]).all():
                raise ModelError(f"{coupling}", where=f"joint {joint.name}", valid="finite numbers")

    def _check_end_effectors(self) -> None:
        names = [effector.name for effector in self.end_effectors]
        for name, link, frame in ((e.name, e.link, e.frame) for e in self.end_effectors):
            where = f"end effector '{name}'"
            if not END_EFFECTOR_NAME.fullmatch(name) or names.count(name) > 1:
                raise ModelError("the name", where=where, valid=f"unique, a match of {END_EFFECTOR_NAME.pattern}")
            if not 0 <= link < self.n or not np.isfinite(frame.parameters).all():
                raise ModelError(f"{frame} in link {link}", where=where, valid=f"finite numbers, 0…{self.n - 1}")

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
            what = "elastic joints have terms of different orders"
            raise ModelError(what, where=self.name, valid="one order for all")
        coefficients = [v for group in ("par_Dl", "par_K", "par_D", "par_Dm", "par_Mm") for v in self.parameters(group)]
        coefficients += [v for link in self.links for v in (link.coulomb, link.effort_offset)]
        if not np.isfinite(coefficients).all():
            what = "a coefficient of friction, offset or elasticity is not finite"
            raise ModelError(what, where=self.name, valid="numbers")

    @property
    def n(self) -> int:
        """Number of joints, and of links."""
        return len(self.links)

    @property
    def nq(self) -> int:
        """Number of configuration values."""
        return max(values.stop for values in self.q_ranges)

    @property
    def nv(self) -> int:
        """Number of velocities, and of generalised forces."""
        return max(values.stop for values in self.v_ranges)

    @cached_property
    def q_ranges(self) -> tuple[range, ...]:
        """Where in q the configuration of each joint is."""
        return self._ranges([link.joint.kind.nq for link in self.links])

    @cached_property
    def v_ranges(self) -> tuple[range, ...]:
        """Where in v the velocities of each joint are."""
        return self._ranges([link.joint.kind.nv for link in self.links])

    def _ranges(self, sizes: list[int]) -> tuple[range, ...]:
        own: dict[str, range] = {}
        end = 0
        for link, size in zip(self.links, sizes, strict=True):
            if link.joint.coupling is None:
                own[link.joint.name] = range(end, end + size)
                end += size
        names = (link.joint.coupling.leader if link.joint.coupling else link.joint.name for link in self.links)
        return tuple(own[name] for name in names)

    @property
    def neutral(self) -> FloatArray:
        """The configuration in which every joint counts as zero, shape (nq,)."""
        return np.concatenate([link.joint.kind.neutral for link in self.links if link.joint.coupling is None])

    @property
    def is_large(self) -> bool:
        """Whether there are more than STRAIGHT_PAIRS pairs of a link and a velocity that moves it."""
        return sum(len(self.v_ranges[j]) for i in range(self.n) for j in self.path(i)) > STRAIGHT_PAIRS

    @property
    def has_coupled_joints(self) -> bool:
        """Whether a joint follows another one: links then share a velocity."""
        return any(link.joint.coupling for link in self.links)

    @property
    def other_joints(self) -> tuple[str, ...]:
        """Joints, with their kinds, that are no `SINGLE_JOINTS`: these are what control laws ask for."""
        others = (joint for joint in (link.joint for link in self.links) if joint.coupling or not joint.is_single)
        return tuple(f"'{joint.name}' ({'coupled' if joint.coupling else joint.kind.name})" for joint in others)

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

    @property
    def rotor_joints(self) -> tuple[int, ...]:
        """Indices of the joints whose reflected rotor inertia is known, or a run-time parameter."""
        return tuple(i for i, link in enumerate(self.links) if link.joint.rotor_inertia is not None)

    @property
    def rotor_inertias(self) -> FloatArray:
        """Reflected rotor inertia of every joint, shape (n,) [kg·m² or kg], NaN where it is unknown."""
        return np.array([np.nan if (rotor := x.joint.rotor_inertia) is None else rotor for x in self.links])

    @property
    def drive_inertias(self) -> FloatArray:
        """Rotor inertia of every joint, Mm of an elastic one, shape (n,) [kg·m² or kg], NaN where it is unknown."""
        return self.with_rigid_joints().rotor_inertias

    @property
    def circles(self) -> NDArray[np.bool_]:
        """Which joints are on a circle, shape (n,)."""
        return np.array([link.joint.is_on_circle for link in self.links])

    @property
    def effort_offsets(self) -> FloatArray:
        """Effort that every joint needs beside its dynamics and friction, shape (n,) [N·m or N]."""
        return np.array([link.effort_offset for link in self.links])

    def index_of(self, link: str) -> int:
        """Index of a link by name.

        Raises:
            NameNotFoundError: listing the links there are.
        """
        if link not in self.link_names:
            raise NameNotFoundError(f"no link '{link}'", where=self.name, valid=nearest(link, self.link_names))
        return self.link_names.index(link)

    def select_links(self, adapted: Any, known: Any = None) -> tuple[int, ...]:
        """Indices of the links that adapt: those that are named, all for "all", or all that are not known.

        Without either it is the link of the end effector.

        Raises:
            LawError: if both are given, names are missing or twice, or every link is known.
            NameNotFoundError: for a link that the robot does not have.
        """
        if adapted is None and known is None:
            return (self.ee_link,)
        if adapted is not None and known is not None:
            raise LawError("both adapted_links and known", valid="one of them")
        option, given = ("known", known) if adapted is None else ("adapted_links", adapted)
        names = [given] if isinstance(given, str) else list(given)
        if names == ["all"] and known is None:
            return tuple(range(self.n))
        if not names or len(set(names)) != len(names):
            raise LawError(f"{option} {names}", valid=f"different links among {', '.join(self.link_names)}, or 'all'")
        indices = tuple(self.index_of(name) for name in names)
        if known is None:
            return indices
        if len(indices) == self.n:
            raise LawError("every link is known", valid="adaptation=none")
        return tuple(i for i in range(self.n) if i not in indices)

    def limits(self, kind: str) -> FloatArray:
        """A field of `Limits` of every joint, shape (n,), infinite where there is none."""
        return np.array([getattr(link.joint.limits, kind) for link in self.links])

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

    @property
    def parameter_groups(self) -> tuple[str, ...]:
        """Names of all groups of parameters, those of one's own last."""
        return (*PARAMETER_GROUPS, *(custom.name for custom in self.custom_parameters))

    def parameters(self, group: str) -> tuple[float, ...]:
        """The full numeric vector of a parameter group, numeric and symbolic entries alike."""
        rows = [link.joint.dh or () for link in self.links]
        values = {
            "par_DHtable": tuple(v for row in rows for v in row) if all(rows) else (),
            "par_DYN": tuple(float(v) for link in self.links for v in link.inertia.dyn),
            "par_REG": tuple(float(v) for v in self.pi),
            "par_world2L0": self.base.parameters,
            "par_Ln2EE": self.ee.parameters,
            "par_gravity": self.gravity,
            "par_Dl": tuple(v for link in self.links for v in link.friction),
            "par_K": tuple(v for e in self.elasticities() for v in e.K),
            "par_D": tuple(v for e in self.elasticities() for v in e.D),
            "par_Dm": tuple(v for e in self.elasticities() for v in e.Dm),
            "par_Mm": tuple(e.Mm for e in self.elasticities()),
            "par_Ia": tuple(v for link in self.links if (v := link.joint.rotor_inertia) is not None),
            **{custom.name: custom.values for custom in self.custom_parameters},
        }
        if group not in values:
            raise NameNotFoundError(f"parameter group '{group}'", valid=", ".join(self.parameter_groups))
        return values[group]

    def __str__(self) -> str:
        """A table of a few lines: a joint each, with its link, kind, limits and mass."""
        head = ("joint", "link", "kind", "lower", "upper", "velocity", "effort", "mass")
        rows = [head, *(_row(link) for link in self.links)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows)
        ee = self.links[self.ee_link].name
        return "\n".join((f"{self.name}: {self.n} joints, end effector on {ee}; SI units, – no limit", *table))

    def with_inertia(self, link: str, inertia: Inertia) -> RobotModel:
        """Copy with another inertia of one link."""
        index = self.index_of(link)
        links = (*self.links[:index], replace(self.links[index], inertia=inertia), *self.links[index + 1 :])
        return replace(self, links=links)

    def with_rotor_inertias(self, rotors: Mapping[str, float | None]) -> RobotModel:
        """Copy with other reflected rotor inertias of some joints [kg·m² or kg], by name; None: unknown."""
        for name in rotors.keys() - set(self.joint_names):
            raise NameNotFoundError(f"no joint '{name}'", where=self.name, valid=nearest(name, self.joint_names))
        joints = [replace(x.joint, rotor_inertia=rotors.get(x.joint.name, x.joint.rotor_inertia)) for x in self.links]
        links = tuple(replace(link, joint=joint) for link, joint in zip(self.links, joints, strict=True))
        marked = zip(self.rotor_joints, self.symbolic.get("par_Ia", ()), strict=False)
        at_run_time = {i for i, is_symbolic in marked if is_symbolic}
        mask = tuple(i in at_run_time for i, joint in enumerate(joints) if joint.rotor_inertia is not None)
        return replace(self, links=links, symbolic={**self.symbolic, "par_Ia": mask})

    def with_drives(self, drives: Mapping[str, Drive]) -> RobotModel:
        """Copy with what was found of the drives of some joints, by name; None leaves what the model has.

        Viscous friction that was found is linear: it replaces all orders of that joint's.

        Raises:
            NameNotFoundError: for a joint that there is not.
        """
        rotors = {name: drive.rotor for name, drive in drives.items() if drive.rotor is not None}
        for name in drives.keys() - set(self.joint_names):
            raise NameNotFoundError(f"no joint '{name}'", where=self.name, valid=nearest(name, self.joint_names))
        model = self.with_rotor_inertias(rotors) if rotors else self
        rubs = any(drive.viscous is not None for drive in drives.values())
        order = max(model.friction_order, int(rubs))
        links = tuple(_driven(link, drives.get(link.joint.name, Drive()), order) for link in model.links)
        return replace(model, links=links)

    def with_rigid_joints(self) -> RobotModel:
        """The robot that this one is with springs of infinite stiffness: the motor inertias Mm turn with the links."""
        if not self.elastic_joints:
            return self
        rigid = {
            i: replace(self.links[i].joint, elastic=None, rotor_inertia=e.Mm)
            for i, e in zip(self.elastic_joints, self.elasticities(), strict=True)
        }
        links = tuple(replace(x, joint=rigid.get(i, x.joint)) for i, x in enumerate(self.links))
        marked = dict(zip(self.rotor_joints, self.symbolic.get("par_Ia", ()), strict=False))
        marked |= dict(zip(self.elastic_joints, self.symbolic.get("par_Mm", ()), strict=False))
        kept = {group: mask for group, mask in self.symbolic.items() if group not in ELASTIC_GROUPS}
        mask = tuple(marked.get(i, False) for i in sorted({*self.rotor_joints, *self.elastic_joints}))
        return replace(self, links=links, symbolic={**kept, "par_Ia": mask})

    def with_joint_kind(self, joint: str, kind: JointKind) -> RobotModel:
        """Copy with another kind of one joint, then on a line, and without DH rows."""
        if joint not in self.joint_names:
            raise NameNotFoundError(f"no joint '{joint}'", where=self.name, valid=", ".join(self.joint_names))
        joints = [replace(link.joint, dh=None) for link in self.links]
        index = self.joint_names.index(joint)
        joints[index] = replace(joints[index], kind=kind, topology=Topology.LINE)
        links = zip(self.links, joints, strict=True)
        return replace(self, links=tuple(replace(link, joint=other) for link, other in links))

    def with_symbolic(self, group: str, mask: ArrayLike | bool) -> RobotModel:
        """Copy with the entries of a parameter group marked symbolic; True marks them all."""
        size = len(self.parameters(group))
        if size == 0:
            raise ModelError(f"{self.name} has no {group}", valid="a group with entries")
        flags = (mask,) * size if isinstance(mask, bool) else tuple(np.asarray(mask, dtype=bool).tolist())
        return replace(self, symbolic={**self.symbolic, group: flags})


def _row(link: Link) -> tuple[str, ...]:
    joint, limits = link.joint, link.joint.limits
    values = (limits.lower, limits.upper, limits.velocity, limits.effort, link.inertia.mass)
    return (joint.name, link.name, joint.type_name, *(f"{x:.4g}" if np.isfinite(x) else "–" for x in values))


ENTITY_NAMES = "1 to 127 letters or digits of any script or _, among them . / - ( ), single spaces and colons"
"""What messages say of names of links and joints."""


def is_entity_name(name: str) -> bool:
    """Return whether a link or joint may have a name: no quotes, control characters or others that code could run."""
    return bool(ENTITY_NAME.fullmatch(name)) and name.isprintable() and len(name.encode()) <= ENTITY_BYTES


def plain_name(name: str) -> str:
    """Return a name in ASCII letters and digits with `_` between words, for names of functions.

    Accents are dropped, and other letters become their code points: `bras supérieur` is bras_superieur, 大 is u5927.
    """
    kept = [c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)]
    plain = (f"u{ord(c):x}" if not c.isascii() and unicodedata.category(c)[0] in "LMN" else c for c in kept)
    return "_".join(re.findall(r"[A-Za-z0-9]+", "".join(plain)))


def check_robot_name(name: str, where: str) -> None:
    """Raise `ModelError` unless a robot may be called `name`: a C identifier and no keyword of C, C++ or Python."""
    if not IDENTIFIER.fullmatch(name) or name in C_KEYWORDS or keyword.iskeyword(name):
        valid = f"a match of {IDENTIFIER.pattern} that is no keyword (set another with {option('name', '=…')})"
        raise ModelError(f"robot name {name!r} is not a C identifier", where=where, valid=valid)
