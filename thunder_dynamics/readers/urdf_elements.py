"""URDF text → checked records of links and joints, each with its line. No kinematics here: see `urdf`.

The XML parser resolves no entities and opens no files or connections; a text with a DOCTYPE, which could define
entities and name files, is refused before it is parsed.
Our own records, because the URDF parsers on PyPI keep no lines and pass over what they do not know. A complaint about
a part that a model may not use is kept with its record; who uses the part raises it.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar
from xml.sax.saxutils import escape

import numpy as np
from lxml import etree

from thunder_dynamics.errors import (
    DegreesWarning,
    IgnoredLimitWarning,
    ModelError,
    OpenLoopWarning,
    RobotFileError,
    RobotFileWarning,
    UnusedElementWarning,
    listed,
    nearest,
    printable,
)
from thunder_dynamics.inertia import DYN_NAMES, Inertia
from thunder_dynamics.joints import FROM_ZERO, Coupling, JointKind, Limits, Pose, reflected_inertia
from thunder_dynamics.locking import Shape
from thunder_dynamics.model import GRAVITY
from thunder_dynamics.readers.fields import beyond_a_turn
from thunder_dynamics.readers.limits import EFFORT, ELEMENTS, NUMBER, POSITION, VELOCITY
from thunder_dynamics.readers.source import check_entity_name, relocated
from thunder_dynamics.spatial import rotation_from_quaternion, rotation_from_ypr
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

Value = TypeVar("Value")

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
    `problem` is a complaint about its axis, limits or friction, for a model in which it moves. `ignored` are the limits
    that count as none.
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
    problem: RobotFileError | None = None
    ignored: tuple[str, ...] = ()

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


SHAPES: Mapping[str, Mapping[str, int]] = {
    "mesh": {"scale": 3},
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
}
"""Elements of <geometry>, and their attributes with so many numbers: the sizes of `Shape`."""


Shapes = tuple[list[Shape], list[tuple[str, RobotFileError]]]
"""Shapes of links, and the complaints about those that cannot be, with their links."""


@dataclass(frozen=True, eq=False)
class UrdfRobot:
    """Links and joints by name, in document order, and warnings of what else the file has.

    `where` names the file in messages, `gravity` is that of the root's frame [m/s²], `shapes` reads those of the links.
    """

    name: str
    links: dict[str, UrdfLink]
    joints: dict[str, UrdfJoint]
    where: str
    notes: tuple[tuple[type[RobotFileWarning], str], ...] = ()
    gravity: tuple[float, float, float] = GRAVITY
    shapes: Callable[[], Shapes] = lambda: ([], [])

    def warn(self, used: Container[str]) -> None:
        """Warn of what the file says and a model with these joints does not have."""
        notes, ignored = list(self.notes), [x for x in self.joints.values() if x.ignored and x.name in used]
        if ignored:
            first, names = ignored[0], listed([joint.name for joint in ignored])
            valid = f"effort up to {EFFORT:g}, velocity up to {VELOCITY:g}, positions up to {POSITION:g}, SI units"
            text = f"{first.where}: no limit is taken from {', '.join(first.ignored)}, beyond reason (joints: {names})"
            notes.append((IgnoredLimitWarning, f"{text}; valid: {valid}"))
        for kind, text in notes:
            warnings.warn(printable(text), kind, stacklevel=2)


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
        root.fail(f"the top-level element is <{root.tag}>", "<robot>, a URDF, or <mujoco>")
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
    notes = [*_unused_parts(root), *_open_loops(root)]
    if (version := root.attribute("version")) is not None and not _VERSION.fullmatch(version):
        notes.append(
            (UnusedElementWarning, f"{root.where}: version {version!r}; valid: 1.0 to 1.2, as which it is read")
        )
    for child in root.children("transmission"):
        notes += _read_transmission(child, joints)
    for child in root.children("thunder"):
        _read_extension(child, joints)
    shapes = partial(find_shapes, text, where)
    return UrdfRobot(root.text("name"), links, joints, where, tuple(notes), shapes=shapes)


_VERSION = re.compile(r"1(\.[0-2](\.\d+)?)?")
"""Versions of the format that are known."""


def parse_xml(text: str, where: str) -> etree._Element:
    """Parse an XML text without DOCTYPE; namespaces need not be declared, and one without prefix is dropped.

    Comments may hold dashes, and the declaration may follow them or blank lines.

    Raises:
        RobotFileError: with file and line, for anything else.
    """
    text = _SKIPPED.sub(_plain, text)
    data = text.encode("utf-8", errors="replace")  # a lone surrogate becomes a mark that no name may have
    if len(data) > TEXT.largest:
        raise RobotFileError("the text is too large", where=where, valid=f"at most {TEXT.largest >> 10} KiB")
    before, doctype, _ = text.partition("<!DOCTYPE")
    if doctype:
        place = f"{where}:{before.count(chr(10)) + 1}"
        raise RobotFileError("a DOCTYPE is not allowed", where=place, valid="XML without DTD and entities")
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    try:
        root = etree.fromstring(data, parser)
        wrong = [(entry.line, entry.message) for entry in parser.error_log if entry.domain not in _TOLERATED]
    except etree.XMLSyntaxError as error:
        root, wrong = None, [(error.position[0] if error.position else 1, error.msg)]
    if wrong or root is None:
        line, reason = wrong[0] if wrong else (1, "no element")
        what, place = f"no well-formed XML ({reason})", f"{where}:{line}"
        raise RobotFileError(what, where=place, valid="XML without DTD and entities")
    for element in root.iter(etree.Element):
        name = element.tag.rpartition("}")[2]
        if element.prefix is None and ":" not in name:
            element.tag = name
    return root


_TOLERATED = (etree.ErrorDomains.NAMESPACE,)
"""Complaints of the parser that refuse no file: of prefixes that nobody has declared."""

_SKIPPED = re.compile(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
"""Comments, instructions and verbatim text of XML, closed or not."""


def _plain(found: re.Match[str]) -> str:
    """Return what stands for a match of `_SKIPPED` in a text of as many lines: nothing, or escaped text."""
    if not found[0].endswith(("-->", "?>", "]]>")):
        return found[0]
    return " " + "\n" * found[0].count("\n") if found[1] is None else escape(found[1])


class _Element:
    """An XML element with typed access to its attributes; every complaint names file, line and element."""

    def __init__(self, element: etree._Element, file: str) -> None:
        self._element = element
        self._file = file

    @property
    def tag(self) -> str:
        raw = str(self._element.tag)
        if not raw.startswith("{"):
            return raw
        namespace, _, name = raw.rpartition("}")
        prefix = next((known for known in ("xacro", "drake") if known in namespace), self._element.prefix)
        return f"{prefix}:{name}"

    @property
    def line(self) -> int:
        return int(str(self._element.sourceline))

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

    def quantity(self, tag: str) -> float | None:
        """The number that a child has as its `value` or its text; None if there is no such child."""
        child = self.one(tag)
        if child is None:
            return None
        return child._numbers(child._element.get("value", child._element.text or ""), "", 1)[0]

    def attribute(self, name: str) -> str | None:
        value = self._element.get(name)
        return None if value is None else str(value)

    def text(self, attribute: str) -> str:
        value = self.attribute(attribute)
        if value is None:
            raise RobotFileError(f"the attribute '{attribute}' is missing", where=self.where, valid="a text")
        return value

    def vector(self, attribute: str, size: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        raw = self._element.get(attribute)
        if raw is None and default is not None:
            return default
        return self._numbers(self.text(attribute), f"{attribute}=", size)

    def _numbers(self, text: str, what: str, size: int) -> tuple[float, ...]:
        try:
            values = tuple(_number(part) for part in text.split())
        except ValueError:
            values = ()
        if len(values) != size or not all(abs(v) <= NUMBER for v in values):
            noun = "a finite number" if size == 1 else f"{size} finite numbers"
            self.fail(f"{what}{text[:60]!r}", noun)
        return values

    def number(self, attribute: str, default: float | None = None) -> float:
        return self.vector(attribute, 1, None if default is None else (default,))[0]

    def limit(self, attribute: str, sign: float, largest: float, ignored: list[str]) -> float | None:
        """A limit that may be absent; one that is larger, on that side of zero, is none and joins the ignored."""
        try:
            value = sign * _number(self._element.get(attribute, ""))
        except ValueError:
            value = 0.0
        if not value > largest:
            return self.number_or_none(attribute)
        if value <= NUMBER:
            ignored.append(f"{attribute}={sign * value:g}")
        return sign * math.inf

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
    xyz, given = np.array(element.vector("xyz", 3, (0.0, 0.0, 0.0))), element.attributes()
    if "quat_xyzw" not in given:
        roll, pitch, yaw = element.vector("rpy", 3, (0.0, 0.0, 0.0))
        if wrong := beyond_a_turn([roll, pitch, yaw]):
            warnings.warn("{}: {}; valid: {}".format(element.where, *wrong), DegreesWarning, stacklevel=2)
        return Pose(rotation_from_ypr(yaw, pitch, roll), xyz)
    quaternion = element.vector("quat_xyzw", 4)
    if "rpy" in given:
        element.fail("both rpy and quat_xyzw", "one of them")
    norm = math.hypot(*quaternion)
    if norm < 1e-9:
        element.fail("the quaternion is zero", "a quaternion of norm 1")
    return Pose(rotation_from_quaternion(*(part / norm for part in quaternion)), xyz)


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
    problems: list[RobotFileError] = []

    def used(default: Value, read: Callable[[], Value], *others: str) -> Value:
        """What is read of a joint that moves, unless it is one of other types; its complaint is kept."""
        if kind not in MOVABLE or kind in others:
            return default
        try:
            return read()
        except RobotFileError as error:
            problems.append(error)
            return default

    ignored: list[str] = []
    several = ("planar", "floating")
    return UrdfJoint(
        name=name,
        kind=kind,
        parent=element.required("parent").text("link"),
        child=element.required("child").text("link"),
        origin=_pose(element.one("origin")),
        axis=used((1.0, 0.0, 0.0), lambda: _axis(element.one("axis")), "floating"),
        where=element.where,
        limits=used(Limits(), lambda: _limits(element, kind, zero_limits, ignored), *several),
        damping=used(0.0, lambda: _non_negative(element.one("dynamics"), "damping")),
        friction=used(0.0, lambda: _non_negative(element.one("dynamics"), "friction")),
        mimic=used(None, lambda: _mimic(element.one("mimic"))),
        problem=problems[0] if problems else None,
        ignored=tuple(ignored),
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


def _limits(joint: _Element, kind: str, zero_limits: ZeroLimits, ignored: list[str]) -> Limits:
    """Limits of a movable joint; infinite where the file gives none.

    Franka's <position_based_velocity_limits velocity_offset="…" deceleration_limit="…"/> stands beside <limit>.

    A velocity or effort limit of 0 would say that the joint never moves, or never does anything, a range from 0 to 0
    that it stands still: exporters write them where nobody has filled in a number. −1 stands for none as in SDF, and
    so does a number beyond reason, which joins `ignored`. An acceleration limit holds for deceleration too.

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
    for key, largest in (("velocity", VELOCITY), ("effort", EFFORT), *dict.fromkeys(_ACCELERATIONS, NUMBER).items()):
        value = element.limit(key, 1.0, largest, ignored)
        if value is None or value == -1.0 or (value == 0.0 and zero_limits == "unlimited"):
            continue
        if not value > 0.0:
            element.fail(f"the {key} limit is {value:g}", "greater than zero")
        field_name = "acceleration" if key in _ACCELERATIONS else key
        given[field_name] = min(value, given.get(field_name, math.inf))
    if kind not in ("revolute", "prismatic"):
        return _checked_limits(given, element.where)
    lower = element.limit("lower", -1.0, POSITION, ignored)
    upper = element.limit("upper", 1.0, POSITION, ignored)
    if not (lower is None and upper is None):
        given["lower"], given["upper"] = lower or 0.0, upper or 0.0
        if given["lower"] == given["upper"] == 0.0:
            if zero_limits == "refused":
                element.fail("the range is from 0 to 0", "lower below upper")
            del given["lower"], given["upper"]
    return _checked_limits(given, element.where)


_ACCELERATIONS = ("acceleration", "deceleration", "drake:acceleration")
"""Attributes of <limit> in URDF 1.2 and in Drake, of which the least counts."""


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


def _read_transmission(element: _Element, joints: dict[str, UrdfJoint]) -> Iterator[tuple[type[RobotFileWarning], str]]:
    """Read the rotor that a transmission names into its joint, and warn of one where it cannot be told which it turns.

    [kg·m²] or [kg], times the square of all ratios, 1 without one. Transmissions without rotor say nothing.
    """
    ends = [*element.children("actuator"), *element.children("joint"), element]
    rotors = [x for end in ends for name in _ROTORS if (x := end.quantity(name)) is not None]
    if not rotors:
        return
    ratio = math.prod(x for end in ends for name in _RATIOS if (x := end.quantity(name)) is not None)
    turned, motors = list(element.children("joint")), sum(1 for _ in element.children("actuator"))
    if len(rotors) > 1 or len(turned) != 1 or motors > 1:
        yield UnusedElementWarning, f"{element.where}: rotors are not used; valid: one actuator and one joint"
        return
    name = turned[0].text("name")
    if name in joints and not joints[name].is_movable:
        return
    if rotors[0] < 0.0:
        element.fail(f"the rotor inertia is negative ({rotors[0]:g})", "0 or more")
    _set_rotor(element, joints, name, rotors[0], ratio)


_ROTORS = ("drake:rotor_inertia", "motorInertia", "motor_inertia", "rotorInertia", "rotor_inertia")
"""Elements of a transmission for the inertia of a rotor about its own axis."""

_RATIOS = ("drake:gear_ratio", "mechanicalReduction", "mechanical_reduction", "gearRatio", "gear_ratio")
"""Those for how many times as fast as its joint it turns."""


def _open_loops(root: _Element) -> Iterator[tuple[type[RobotFileWarning], str]]:
    """Warn once of the constraints that close loops."""
    joints = (x for child in root.children("gazebo") for x in child.children("joint") if x.one("parent") is not None)
    loops = [*(child for child in root.children() if _LOOP.search(child.tag)), *joints]
    if loops:
        places = listed([loop.where for loop in loops])
        yield OpenLoopWarning, f"{places}: the loop is left open; valid: a tree, whose loops the model does not close"


_LOOP = re.compile(r"loop|constraint|bushing", re.IGNORECASE)
"""Elements of a robot that close a loop, in any dialect."""


def _unused_parts(root: _Element) -> Iterator[tuple[type[RobotFileWarning], str]]:
    """Warn of elements and attributes that no dialect has, once for all parents of a tag."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    queue = deque([root])
    while queue:
        element = queue.popleft()
        attributes, children = _DIALECTS[element.tag]
        others = [name for name in element.attributes() if name not in attributes and not _PREFIX.search(name)]
        unused = [(element, name) for name in others]
        for child in element.children():
            if child.tag in children or _PREFIX.search(child.tag) or (element is root and _LOOP.search(child.tag)):
                queue += [child] if child.tag in _DIALECTS else []
            else:
                unused.append((child, f"<{child.tag}>"))
        if unused:
            found.setdefault(element.tag, []).extend((part.where, name, str(part.line)) for part, name in unused)
    for tag, parts in found.items():
        names, lines = (listed([*dict.fromkeys(part[k] for part in parts)]) for k in (1, 2))
        known = nearest(parts[0][1].strip("<>"), (*_DIALECTS[tag][1], *_DIALECTS[tag][0]))
        text = f"{parts[0][0]}: {names} in <{tag}> is not used (line {lines}); valid: {known}"
        yield UnusedElementWarning, text


_PREFIX = re.compile(r"[:{]")
"""Names with a prefix are extensions."""

_SHAPE = ("origin geometry material verbose surface contact_coefficients max_contacts", "name group concave")


def _words(children: str, attributes: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(attributes.split()), tuple(children.split())


_DIALECTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "robot": _words(
        "link joint transmission gazebo material sensor ros2_control mujoco thunder version drake frame force_element"
        " self_collision_geometries disable_collisions group group_state end_effector virtual_joint passive_joint"
        " capsule verbose model_state ext_axes_ros2_control_joints fixed_frame isaac_sim_config",
        "name version",
    ),
    "link": _words(
        "inertial visual collision contact sensor gazebo material self_filter surface gravity kinematic"
        " collision_checking self_collision_checking audio_source origin",
        "name type concave",
    ),
    "inertial": _words("mass inertia origin", ""),
    "mass": _words("", "value"),
    "inertia": _words("", "ixx ixy ixz iyy iyz izz iyx izx izy"),
    "origin": _words("", "xyz rpy quat_xyzw"),
    "visual": _words(*_SHAPE),
    "collision": _words(*_SHAPE),
    "geometry": _words("mesh box cylinder sphere capsule cone ellipsoid plane convex cdf", "name"),
    "mesh": _words("", "filename scale"),
    "box": _words("", "size"),
    "cylinder": _words("", "radius length"),
    "sphere": _words("", "radius"),
    "material": _words("color texture specular script ambient diffuse emissive", "name"),
    "joint": _words(
        "parent child origin axis limit dynamics mimic calibration safety_controller position_based_velocity_limits"
        " gazebo sensor",
        "name type dont_collapse",
    ),
    "parent": _words("", "link"),
    "child": _words("", "link"),
    "axis": _words("", "xyz rpy"),
    "limit": _words(
        "", "lower upper effort velocity acceleration deceleration jerk command_effort current gear_velocity"
    ),
    "dynamics": _words("", "damping friction mu_coulomb mu_viscous D K"),
    "mimic": _words("", "joint multiplier offset"),
    "calibration": _words("", "rising falling reference_position"),
    "safety_controller": _words("", "soft_lower_limit soft_upper_limit k_position k_velocity"),
    "position_based_velocity_limits": _words("", "velocity_offset deceleration_limit"),
}
"""Attributes and children of elements: URDF 1.2, SRDF, and public files of PR2, ANYmal, Franka, Bullet, Isaac, TIAGo.

Elements that are no key here are not looked into.
"""


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


def inertial_element(body: Inertia, number: Callable[[float], str] = lambda value: repr(float(value))) -> Any:
    """Write the inertia of a link as its element <inertial>, about its CoM in the axes of the link.

    Args:
        body: In the frame of the link.
        number: Writes a number.
    """
    element, values = etree.Element("inertial"), [number(float(value)) for value in body.dyn]
    etree.SubElement(element, "origin", xyz=" ".join(values[1:4]), rpy="0 0 0")
    etree.SubElement(element, "mass", value=values[0])
    etree.SubElement(
        element, "inertia", {key.lower(): value for key, value in zip(DYN_NAMES[4:], values[4:], strict=True)}
    )
    return element


def find_shapes(urdf: str, where: str) -> Shapes:
    """Read the shapes of the links of a URDF text, and with their links the complaints about what cannot be.

    Raises:
        RobotFileError: if the text is no XML.
    """
    found, complaints = [], []
    for link in _Element(parse_xml(urdf, where), where).children("link"):
        name = link.text("name")
        for element in link.children():
            if element.tag not in ("visual", "collision"):
                continue
            try:
                found.append(_read_shape(element, name))
            except RobotFileError as error:
                if element.tag == "visual":
                    complaints.append((name, error))
    return found, complaints


def _read_shape(element: _Element, link: str) -> Shape:
    shape = next(element.required("geometry").children(), None)
    if shape is None or shape.tag not in SHAPES:
        valid = ", ".join(f"<{name}>" for name in SHAPES)
        raise RobotFileError("a geometry that is not known", where=element.where, valid=valid)
    is_mesh = shape.tag == "mesh"
    default = (1.0, 1.0, 1.0) if is_mesh else None
    size = tuple(x for name, count in SHAPES[shape.tag].items() for x in shape.vector(name, count, default))
    if not all(x != 0.0 if is_mesh else x > 0.0 for x in size):
        shape.fail(f"the size {size}", "no zeros" if is_mesh else "greater than zero")
    file = shape.text("filename") if is_mesh else ""
    return Shape(link, element.tag == "collision", _pose(element.one("origin")), shape.tag, size, file)
