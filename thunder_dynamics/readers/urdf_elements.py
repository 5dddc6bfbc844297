"""URDF text → checked records of links and joints, each with its line. No kinematics here: see `urdf`.

The XML parser resolves no entities and opens no files or connections; a text with a DOCTYPE, which could define
entities and name files, is refused before it is parsed.
Our own records, because the URDF parsers on PyPI keep no lines and pass over what they do not know.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from lxml import etree

from thunder_dynamics.errors import ModelError, RobotFileError, nearest
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import FROM_ZERO, Coupling, JointKind, Limits, Pose, reflected_inertia
from thunder_dynamics.readers.limits import ELEMENTS, NUMBER
from thunder_dynamics.readers.source import check_entity_name, relocated
from thunder_dynamics.spatial import rotation_from_ypr
from thunder_dynamics.storage.door import TEXT

MOVABLE = {
    "revolute": JointKind.REVOLUTE,
    "continuous": JointKind.REVOLUTE,
    "prismatic": JointKind.PRISMATIC,
    "planar": JointKind.PLANAR,
    "floating": JointKind.FREE,
}
"""Joint types that move, and what they are in a model."""

EXTENDED_LIMITS = (
    "effort_rate",
    "acceleration",
    "velocity_offset",
    "velocity_deceleration",
    "effort_corner_velocity",
    "effort_no_load_velocity",
)
"""Limits that URDF does not know and our extension adds; fields of `Limits`."""

ZeroLimits = Literal["unlimited", "refused"]
"""What a velocity or effort limit of 0 says: nothing, as exporters mean it, or something that cannot be."""


@dataclass(frozen=True, eq=False)
class UrdfLink:
    """A link: its inertia in its own frame, and where the file declares it."""

    name: str
    inertia: Inertia
    where: str


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A joint: pose of the child frame in the parent frame at zero, unit axis in the child frame, and its limits.

    `held_at` is where it does not move, though it could: it is locked there, or mimics a joint that is locked.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Pose
    axis: tuple[float, float, float]
    where: str
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    mimic: Coupling | None = None
    rotor_inertia: float | None = None
    held_at: tuple[float, ...] | None = None

    @property
    def can_move(self) -> bool:
        """Whether the joint moves where nobody holds it."""
        return self.kind in MOVABLE

    @property
    def is_movable(self) -> bool:
        """Whether the joint moves."""
        return self.can_move and self.held_at is None

    @property
    def rest(self) -> tuple[float, ...]:
        """Zero, or the nearest position that the joint may have; neutral for one with several, and for a fixed one."""
        kind, limits = MOVABLE.get(self.kind, JointKind.FREE), self.limits
        return (min(max(0.0, limits.lower), limits.upper),) if kind.nq == 1 else tuple(kind.neutral)


@dataclass(frozen=True, eq=False)
class UrdfVisual:
    """What is seen of a link: a mesh of a file, or a simple shape about its centre, a cylinder along z.

    `size` are the numbers of `SHAPES`, [m] or the scale of a mesh along its axes.
    """

    link: str
    origin: Pose
    shape: str
    size: tuple[float, ...]
    file: str


SHAPES: Mapping[str, Mapping[str, int]] = {
    "mesh": {"scale": 3},
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
}
"""What a link may look like: elements of <geometry>, and their attributes with so many numbers."""


@dataclass(frozen=True, eq=False)
class UrdfRobot:
    """Links and joints by name, in document order."""

    name: str
    links: dict[str, UrdfLink]
    joints: dict[str, UrdfJoint]


def parse_urdf(text: str, where: str, zero_limits: ZeroLimits = "unlimited") -> UrdfRobot:
    """Parse and check the elements of a URDF text.

    Args:
        text: The XML.
        where: Name of the file, for messages.
        zero_limits: What a velocity or effort limit of 0 says, and a range from 0 to 0.

    Raises:
        RobotFileError: with file and line, for what URDF or this project does not allow.
    """
    root = _Element(parse_xml(text, where), where)
    if root.tag != "robot":
        root.fail(f"the top-level element is <{root.tag}>", "<robot>")
    if sum(1 for _ in root.children()) > ELEMENTS:
        root.fail("there are too many elements", f"at most {ELEMENTS}")
    links: dict[str, UrdfLink] = {}
    joints: dict[str, UrdfJoint] = {}
    for child in root.children():
        if child.tag == "link":
            link = _read_link(child)
            _refuse_duplicate(child, links.get(link.name))
            links[link.name] = link
        elif child.tag == "joint":
            joint = _read_joint(child, zero_limits)
            _refuse_duplicate(child, joints.get(joint.name))
            joints[joint.name] = joint
        elif child.tag.startswith("xacro:"):
            child.fail(f"<{child.tag}> is not expanded", "a file with the suffix .xacro")
    for child in root.children("transmission"):
        _read_transmission(child, joints)
    for child in root.children("thunder"):
        _read_extension(child, joints)
    return UrdfRobot(root.text("name"), links, joints)


def parse_xml(text: str, where: str) -> etree._Element:
    """Parse an XML text without DOCTYPE, which a comment has not either.

    Raises:
        RobotFileError: with file and line, for anything else.
    """
    data = text.encode("utf-8", errors="replace")  # a lone surrogate becomes a mark that no name may have
    if len(data) > TEXT.largest:
        raise RobotFileError("the text is too large", where=where, valid=f"at most {TEXT.largest >> 10} KiB")
    before, doctype, _ = text.partition("<!DOCTYPE")
    if doctype:
        place = f"{where}:{before.count(chr(10)) + 1}"
        raise RobotFileError("a DOCTYPE is not allowed", where=place, valid="XML without DTD and entities")
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line = error.position[0] if error.position else 1
        what = f"no well-formed XML ({error.msg})"
        raise RobotFileError(what, where=f"{where}:{line}", valid="XML without DTD and entities") from error


class _Element:
    """An XML element with typed access to its attributes; every complaint names file, line and element."""

    def __init__(self, element: etree._Element, file: str) -> None:
        self._element = element
        self._file = file

    @property
    def tag(self) -> str:
        name = etree.QName(self._element)
        for known in ("xacro", "drake"):
            if name.namespace is not None and known in name.namespace:
                return f"{known}:{name.localname}"
        return str(self._element.tag)

    @property
    def where(self) -> str:
        name = self._element.get("name")
        return f"{self._file}:{self._element.sourceline}: <{self.tag}{'' if name is None else f' {name}'}>"

    def fail(self, what: str, valid: str) -> None:
        raise RobotFileError(what, where=self.where, valid=valid)

    def children(self, tag: str | None = None) -> Iterator[_Element]:
        for child in self._element:
            if isinstance(child.tag, str):
                element = _Element(child, self._file)
                if tag is None or element.tag == tag:
                    yield element

    def one(self, tag: str) -> _Element | None:
        found = list(self.children(tag))
        if len(found) > 1:
            found[1].fail(f"a second <{tag}>", f"at most one in <{self.tag}>")
        return found[0] if found else None

    def required(self, tag: str) -> _Element:
        found = self.one(tag)
        if found is None:
            raise RobotFileError(f"<{tag}> is missing", where=self.where, valid=f"one <{tag}> in <{self.tag}>")
        return found

    def attributes(self) -> tuple[str, ...]:
        return tuple(str(key) for key in self._element.attrib)

    def text(self, attribute: str) -> str:
        value = self._element.get(attribute)
        if value is None:
            raise RobotFileError(f"the attribute '{attribute}' is missing", where=self.where, valid="a text")
        return str(value)

    def vector(self, attribute: str, size: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        raw = self._element.get(attribute)
        if raw is None and default is not None:
            return default
        noun = "a finite number" if size == 1 else f"{size} finite numbers"
        parts = self.text(attribute).split()
        try:
            values = tuple(_number(part) for part in parts)
        except ValueError:
            values = ()
        if len(values) != size or not all(abs(v) <= NUMBER for v in values):
            self.fail(f"{attribute}={str(raw)[:60]!r}", noun)
        return values

    def number(self, attribute: str, default: float | None = None) -> float:
        return self.vector(attribute, 1, None if default is None else (default,))[0]

    def limit(self, attribute: str, sign: float) -> float | None:
        """A limit that may be absent; files write 1e16 or so, on that side of zero, where there is none."""
        try:
            value = _number(self._element.get(attribute, ""))
        except ValueError:
            value = 0.0
        return sign * math.inf if sign * value > NUMBER else self.number_or_none(attribute)

    def number_or_none(self, attribute: str) -> float | None:
        return None if self._element.get(attribute) is None else self.number(attribute)


def _number(text: str) -> float:
    if "_" in text:  # float() takes 1_0 for 10, no other URDF tool does
        raise ValueError(text)
    return float(text)


def _refuse_duplicate(element: _Element, first: UrdfLink | UrdfJoint | None) -> None:
    if first is not None:
        element.fail(f"a second {element.tag} '{first.name}', the first is at {first.where}", "unique names")


def _named(element: _Element) -> str:
    name = element.text("name")
    check_entity_name(name, element.tag, element.where)
    return name


def _pose(element: _Element | None) -> Pose:
    if element is None:
        return Pose()
    roll, pitch, yaw = element.vector("rpy", 3, (0.0, 0.0, 0.0))
    xyz = element.vector("xyz", 3, (0.0, 0.0, 0.0))
    return Pose(rotation_from_ypr(yaw, pitch, roll), np.array(xyz))


def _read_link(element: _Element) -> UrdfLink:
    name = _named(element)
    inertial = element.one("inertial")
    if inertial is None:
        return UrdfLink(name, Inertia(), element.where)
    mass_element, tensor_element = inertial.required("mass"), inertial.required("inertia")
    mass = mass_element.number("value")
    if mass < 0.0:
        mass_element.fail(f"the mass of link '{name}' is negative ({mass:g} kg)", "m ≥ 0")
    xx, xy, xz, yy, yz, zz = (tensor_element.number(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    body = Inertia(mass, np.zeros(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    origin = _pose(inertial.one("origin"))
    return UrdfLink(name, body.transformed(origin.rotation, origin.translation), element.where)


def _read_joint(element: _Element, zero_limits: ZeroLimits) -> UrdfJoint:
    name, kind = _named(element), element.text("type")
    if kind not in MOVABLE and kind != "fixed":
        element.fail(f"joint type '{kind}'", ", ".join((*MOVABLE, "fixed")))
    dynamics = element.one("dynamics")
    return UrdfJoint(
        name=name,
        kind=kind,
        parent=element.required("parent").text("link"),
        child=element.required("child").text("link"),
        origin=_pose(element.one("origin")),
        axis=_axis(element.one("axis")) if kind in MOVABLE else (1.0, 0.0, 0.0),
        where=element.where,
        limits=_limits(element, kind, zero_limits) if kind in MOVABLE else Limits(),
        damping=_non_negative(dynamics, "damping"),
        friction=_non_negative(dynamics, "friction"),
        mimic=_mimic(element.one("mimic")),
    )


def _mimic(element: _Element | None) -> Coupling | None:
    if element is None:
        return None
    return Coupling(element.text("joint"), element.number("multiplier", 1.0), element.number("offset", 0.0))


def _axis(element: _Element | None) -> tuple[float, float, float]:
    if element is None:
        return (1.0, 0.0, 0.0)  # the default of the URDF specification
    x, y, z = element.vector("xyz", 3, (1.0, 0.0, 0.0))
    norm = math.hypot(x, y, z)
    if norm < 1e-9:
        element.fail("the axis is zero", "a vector of length 1")
    return (x / norm, y / norm, z / norm)


def _limits(joint: _Element, kind: str, zero_limits: ZeroLimits) -> Limits:
    """Limits of a movable joint; infinite where the file gives none.

    Franka's <position_based_velocity_limits velocity_offset="…" deceleration_limit="…"/> stands beside <limit>.

    A velocity or effort limit of 0 would say that the joint never moves, or never does anything, a range from 0 to 0
    that it stands still: exporters write them where nobody has filled in a number.

    The specification takes an absent `lower` or `upper` for 0. That is followed where the other one is given; where
    both are absent it would say that the joint cannot move, so then there is no position limit.
    """
    given: dict[str, float] = {}
    if (by_position := joint.one("position_based_velocity_limits")) is not None:
        given["velocity_offset"] = by_position.number("velocity_offset")
        given["velocity_deceleration"] = by_position.number("deceleration_limit")
    element = joint.one("limit")
    if element is None:
        return _checked_limits(given, joint.where)
    for key in ("velocity", "effort"):
        value = element.limit(key, 1.0)
        if value is not None and not (value == 0.0 and zero_limits == "unlimited"):
            given[key] = value
            if not value > 0.0:
                element.fail(f"the {key} limit is {value:g}", "greater than zero")
    lower, upper = element.limit("lower", -1.0), element.limit("upper", 1.0)
    if kind in ("revolute", "prismatic") and not (lower is None and upper is None):
        given["lower"], given["upper"] = lower or 0.0, upper or 0.0
        if given["lower"] == given["upper"] == 0.0:
            if zero_limits == "refused":
                element.fail("the range is from 0 to 0", "lower below upper")
            del given["lower"], given["upper"]
    return _checked_limits(given, element.where)


def _checked_limits(given: dict[str, float], where: str, others: Limits | None = None) -> Limits:
    """Limits that are given, beside `others`."""
    try:
        return replace(others or Limits(), **given)
    except ModelError as error:
        raise relocated(error, where) from error


def _non_negative(element: _Element | None, attribute: str) -> float:
    value = 0.0 if element is None else element.number(attribute, 0.0)
    if element is not None and value < 0.0:
        element.fail(f"{attribute} is negative ({value:g})", "0 or more")
    return value


def _read_transmission(element: _Element, joints: dict[str, UrdfJoint]) -> None:
    """Read the rotor of <actuator> with <drake:rotor_inertia> and <drake:gear_ratio>, as Drake does, into the joint.

    [kg·m²] or [kg], and 1 where there is no ratio. Transmissions without rotor are nothing to this project.
    """
    for actuator in element.children("actuator"):
        inertia, ratio = actuator.one("drake:rotor_inertia"), actuator.one("drake:gear_ratio")
        if inertia is None:
            continue
        joint = element.required("joint").text("name")
        gear_ratio = 1.0 if ratio is None else ratio.number("value")
        _set_rotor(inertia, joints, joint, _non_negative(inertia, "value"), gear_ratio)


def _read_extension(element: _Element, joints: dict[str, UrdfJoint]) -> None:
    """Read <thunder> with <limit joint="…" …/> and <rotor joint="…" …/> into the joints."""
    for child in element.children():
        if child.tag not in _EXTENSIONS:
            valid = " or ".join(f'<{tag} joint="…" {keys[0]}="…"/>' for tag, keys in _EXTENSIONS.items())
            child.fail(f"unknown element <{child.tag}> in <thunder>", valid)
        known = ("joint", *_EXTENSIONS[child.tag])
        for attribute in child.attributes():
            if attribute not in known:
                child.fail(f"unknown attribute '{attribute}'", ", ".join(known))
        if child.tag == "limit":
            _read_limit(child, joints)
        else:
            child.text("inertia")  # is there
            ratio = child.number("gear_ratio", 1.0)
            _set_rotor(child, joints, child.text("joint"), _non_negative(child, "inertia"), ratio)


_EXTENSIONS = {"limit": EXTENDED_LIMITS, "rotor": ("inertia", "gear_ratio")}
"""Elements of <thunder>, and their attributes beside `joint`."""


def _movable(element: _Element, joints: dict[str, UrdfJoint], name: str) -> UrdfJoint:
    if name not in joints or not joints[name].is_movable:
        element.fail(f"no movable joint '{name}'", nearest(name, (n for n, j in joints.items() if j.is_movable)))
    return joints[name]


def _read_limit(element: _Element, joints: dict[str, UrdfJoint]) -> None:
    """Read limits in SI units; at most one of each for a joint."""
    joint = _movable(element, joints, element.text("joint"))
    given = {key: value for key in EXTENDED_LIMITS if (value := element.number_or_none(key)) is not None}
    if not given:
        element.fail("no limit", " or ".join(EXTENDED_LIMITS))
    for key, value in given.items():
        if not (value > 0.0 or key in FROM_ZERO):
            element.fail(f"the {key} limit is {value:g}", "greater than zero")
        if getattr(joint.limits, key) != getattr(Limits(), key):
            element.fail(f"a second {key} limit of joint '{joint.name}'", "at most one per joint")
    joints[joint.name] = replace(joint, limits=_checked_limits(given, element.where, joint.limits))


def _set_rotor(element: _Element, joints: dict[str, UrdfJoint], name: str, inertia: float, gear_ratio: float) -> None:
    joint = _movable(element, joints, name)
    if joint.kind == "planar" or joint.kind == "floating":
        element.fail(f"the rotor of joint '{name}', which is {joint.kind}", "a joint with one velocity")
    if joint.rotor_inertia is not None:
        element.fail(f"a second rotor of joint '{name}'", "at most one per joint")
    joints[name] = replace(joint, rotor_inertia=reflected_inertia(inertia, gear_ratio))


def find_visuals(urdf: str, where: str) -> tuple[list[UrdfVisual], list[tuple[str, RobotFileError]]]:
    """What is seen of the links of a URDF text, and with their links the complaints about what cannot be.

    Raises:
        RobotFileError: if the text is no XML.
    """
    found, complaints = [], []
    for link in _Element(parse_xml(urdf, where), where).children("link"):
        name = link.text("name")
        for visual in link.children("visual"):
            try:
                found.append(_read_visual(visual, name))
            except RobotFileError as error:
                complaints.append((name, error))
    return found, complaints


def _read_visual(element: _Element, link: str) -> UrdfVisual:
    shape = next(element.required("geometry").children(), None)
    if shape is None or shape.tag not in SHAPES:
        valid = ", ".join(f"<{name}>" for name in SHAPES)
        raise RobotFileError("a geometry that is not known", where=element.where, valid=valid)
    is_mesh = shape.tag == "mesh"
    default = (1.0, 1.0, 1.0) if is_mesh else None
    size = tuple(x for name, count in SHAPES[shape.tag].items() for x in shape.vector(name, count, default))
    if not all(x != 0.0 if is_mesh else x > 0.0 for x in size):
        shape.fail(f"the size {size}", "no zeros" if is_mesh else "greater than zero")
    return UrdfVisual(link, _pose(element.one("origin")), shape.tag, size, shape.text("filename") if is_mesh else "")


def described_rotors(urdf: str, where: str) -> dict[str, float]:
    """Reflected rotor inertias that a URDF text states, by joint [kg·m² or kg].

    Raises:
        RobotFileError: for a rotor, or another element, that cannot be.
    """
    if not re.search(r"<rotor\b|:rotor_inertia\b", urdf):  # MuJoCo reads more texts than the model's reader takes
        return {}
    joints = parse_urdf(urdf, where).joints.values()
    return {joint.name: joint.rotor_inertia for joint in joints if joint.rotor_inertia is not None}
