"""URDF and xacro → RobotModel: all that moves below a base link, a chain or a tree.

Fixed and locked joints are merged. What they hold to a moving link adds to its inertia, what they hold to a fixed base
is dropped with it. The pose, in the base link, of the link that the first moving joints hang on is the model's base
frame; the pose of the end-effector link in the link that moves it is its end-effector frame.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal

from lxml import etree
from pydantic import BeforeValidator, Field

from thunder_dynamics.errors import NameNotFoundError, RobotFileError, listed, nearest, option
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Coupling, Joint, JointKind, Pose
from thunder_dynamics.model import GRAVITY, EndEffector, Frame, Link, RobotModel
from thunder_dynamics.readers.source import (
    Finite,
    ReaderOptions,
    check_bodies,
    read_text,
    robot_identifier,
    take_options,
)
from thunder_dynamics.readers.urdf_elements import MOVABLE, UrdfJoint, UrdfRobot, ZeroLimits, parse_urdf, parse_xml
from thunder_dynamics.readers.urdf_tree import UrdfTree
from thunder_dynamics.readers.xacro import expand_xacro
from thunder_dynamics.spatial import ypr_from_rotation

ROOT_JOINT = "root_joint"
"""Name of the joint that moves a floating base."""


Position = Annotated[
    tuple[Finite, ...],
    BeforeValidator(lambda at: at if isinstance(at, Sequence) and not isinstance(at, str) else (at,)),
    Field(strict=False),
]
"""Of a joint: one number, or all of its configuration."""


class UrdfOptions(ReaderOptions):
    """Options of the URDF reader.

    Args:
        base_link: Link that the model starts at; if it is fixed, the world frame is in it; default: the root.
        ee_link: End-effector link, or several; default: the leaves with the most joints between them and the base. With
            several, each has functions of its own, and the first is `ee` as well.
        tree: Take joints off the chain to a single `ee_link` too; without one, or with several, they are taken anyway.
        base: `fixed` in the world, or `floating`: then a free joint moves the base link.
        locked_joints: Movable joints to hold at a position [rad] or [m], by name, those with several values at a
            list of them (`joints`); what mimics one is held with it.
        gravity: g₀ in the world frame, that of a fixed base link [m/s²].
        zero_limits: What `velocity="0"` and `effort="0"` say: "unlimited", nothing; "refused", an error.
    """

    base_link: str | None = None
    ee_link: str | Annotated[tuple[str, ...], Field(strict=False)] | None = None
    tree: bool = False
    base: Literal["fixed", "floating"] = "fixed"
    locked_joints: Mapping[str, Position] = Field(default_factory=dict)
    gravity: Annotated[tuple[Finite, Finite, Finite], Field(strict=False)] = GRAVITY
    zero_limits: ZeroLimits = "unlimited"


class XacroOptions(UrdfOptions):
    """Options of the xacro reader: those of `UrdfOptions`, and those of `expand_xacro`.

    Args:
        xacro_args: Values of the xacro:arg by name.
        xacro_folders: Folders outside its package that the file may read.
        packages: Folders of packages by name, for `$(find …)`.
    """

    xacro_args: Mapping[str, str] = Field(default_factory=dict)
    xacro_folders: Annotated[tuple[str | Path, ...], Field(strict=False)] = ()
    packages: Mapping[str, str | Path] = Field(default_factory=dict)


def read_urdf(path: Path, options: Mapping[str, Any]) -> RobotModel:
    """Read a URDF file; the robot is named after <robot name>.

    Options: those of `UrdfOptions`.

    Raises:
        RobotFileError, NameNotFoundError, InertiaError, ModelError: as `thunder_dynamics.load_model` says.
    """
    chosen = take_options(UrdfOptions, options, where=str(path))
    return _model(read_text(path), str(path), chosen)


def read_xacro(path: Path, options: Mapping[str, Any]) -> RobotModel:
    """Expand a xacro file and read the URDF; lines in messages are those of the expanded text.

    Options: those of `XacroOptions`.

    Raises:
        RobotFileError, NameNotFoundError, InertiaError, ModelError: as `thunder_dynamics.load_model` says.
    """
    chosen = take_options(XacroOptions, options, where=str(path))
    text = expand_xacro(path, chosen.xacro_args, chosen.xacro_folders, chosen.packages)
    return _model(text, f"{path} (expanded)", chosen)


def read_urdf_text(text: str, where: str, **options: Any) -> RobotModel:
    """Read a URDF from a text.

    Args:
        text: The XML.
        where: What to call the text in messages.
        options: Those of `UrdfOptions`.

    Raises:
        RobotFileError, NameNotFoundError, InertiaError, ModelError: as `thunder_dynamics.load_model` says.
    """
    return _model(text, where, take_options(UrdfOptions, options, where=where))


def lock_joints(text: str, where: str, locked_joints: Mapping[str, Any]) -> str:
    """Fix joints in a URDF text where the reader would hold them, and with them those that mimic them.

    Args:
        text: The XML.
        where: What to call the text in messages.
        locked_joints: As in `UrdfOptions`.

    Returns:
        The URDF of the same links, its other joints as they were.

    Raises:
        RobotFileError: if the text is no URDF, or a joint cannot be locked there.
        NameNotFoundError: for a joint that there is not.
    """
    options = take_options(UrdfOptions, {"locked_joints": locked_joints}, where)
    robot, root = parse_urdf(text, where), parse_xml(text, where)
    held = _held(robot, options, where).joints
    for element in root.iterfind("joint"):
        joint = held[element.get("name", "")]
        if joint.is_movable or not robot.joints[joint.name].is_movable:
            continue
        element.set("type", "fixed")
        for part in list(element):
            if part.tag not in ("parent", "child"):
                element.remove(part)
        yaw, pitch, roll = ypr_from_rotation(joint.origin.rotation)
        etree.SubElement(element, "origin", xyz=_words(joint.origin.translation), rpy=_words((roll, pitch, yaw)))
    return str(etree.tostring(root, encoding="unicode"))


def _words(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def _model(text: str, where: str, options: UrdfOptions) -> RobotModel:
    tree = UrdfTree(_held(parse_urdf(text, where, options.zero_limits), options, where), where)
    base = tree.base_link(options.base_link)
    model = _Assembly(tree, base, options).model(_end_links(tree, base, options))
    # What the model holds is judged: not what a fixed base drops, and parts together with what they are fixed to.
    bodies = ((link.name, tree.robot.links[link.name].where, link.inertia) for link in model.links)
    check_bodies(bodies, options.allow_inconsistent)
    return model


def _held(robot: UrdfRobot, options: UrdfOptions, where: str) -> UrdfRobot:
    """The robot with locked joints fixed, and what mimics them; other mimics follow a joint that follows none."""
    locked = options.locked_joints
    movable = [joint.name for joint in robot.joints.values() if joint.is_movable]
    for name in locked:
        if name not in movable:
            raise NameNotFoundError(f"no movable joint '{name}' to lock", where=where, valid=nearest(name, movable))
    joints = dict(robot.joints)
    for joint in robot.joints.values():
        if not joint.is_movable:
            continue
        mimic = None if joint.name in locked else _followed(robot, joint, locked)
        if joint.name in locked:
            joints[joint.name] = _fixed(joint, locked[joint.name], joint.limits.lower, joint.limits.upper)
        elif mimic is not None and mimic.leader in locked:
            joints[joint.name] = _fixed(joint, [mimic.multiplier * at + mimic.offset for at in locked[mimic.leader]])
        else:
            joints[joint.name] = replace(joint, mimic=mimic)
    return UrdfRobot(robot.name, robot.links, joints)


def _followed(robot: UrdfRobot, joint: UrdfJoint, locked: Container[str]) -> Coupling | None:
    """What a joint mimics in the end: a joint that mimics none, or is locked."""
    coupling, passed = joint.mimic, [joint.name]
    while coupling is not None and coupling.leader not in locked:
        leader = robot.joints.get(coupling.leader)
        if leader is None or not leader.is_movable or leader.name in passed:
            valid = "a movable joint of the file, which does not follow it"
            raise RobotFileError(f"joint '{joint.name}' mimics '{coupling.leader}'", where=joint.where, valid=valid)
        if leader.mimic is None:
            break
        passed.append(leader.name)
        offset = coupling.multiplier * leader.mimic.offset + coupling.offset
        coupling = Coupling(leader.mimic.leader, coupling.multiplier * leader.mimic.multiplier, offset)
    return coupling


def _fixed(joint: UrdfJoint, position: Sequence[float], lower: float = -inf, upper: float = inf) -> UrdfJoint:
    """The same joint, fixed at a position."""
    kind = MOVABLE[joint.kind]
    is_quaternion = kind is JointKind.FREE
    holds = lower <= position[0] <= upper if kind.nq == 1 else not is_quaternion or any(position[3:])
    if len(position) != kind.nq or not holds:
        several = f"{kind.nq} values" + (", of which the last four are no zero quaternion" if is_quaternion else "")
        what = f"joint '{joint.name}' cannot be locked at {', '.join(f'{at:g}' for at in position)}"
        raise RobotFileError(what, where=joint.where, valid=several if kind.nq > 1 else f"{lower:g} to {upper:g}")
    origin = joint.origin @ Pose(*kind.transform(position, joint.axis))
    return UrdfJoint(joint.name, "fixed", joint.parent, joint.child, origin, joint.axis, joint.where)


def _end_links(tree: UrdfTree, base: str, options: UrdfOptions) -> list[str]:
    """The end-effector links; an error for joints off the chain to a single given one, unless the tree is asked for."""
    given = options.ee_link
    chosen = () if given is None else (given,) if isinstance(given, str) else given
    ends = tree.end_links(base, chosen)
    off = tree.off_chain(base, ends[0])
    if not off and len(ends) > 1 and not chosen:
        valid = f"one of them, or another link, by {option('ee_link')}"
        what = f"several links could be the end effector: {listed(ends)}"
        raise RobotFileError(what, where=tree.where, valid=valid)
    if off and len(chosen) == 1 and not options.tree:
        what = f"movable joints off the chain from '{base}' to '{ends[0]}': {listed([joint.name for joint in off])}"
        hold = option("locked_joints", "={joint: position}")
        valid = f"{option('tree')}, another {option('ee_link')} or {option('base_link')}, or hold them: {hold}"
        raise RobotFileError(what, where=tree.where, valid=valid)
    return ends


class _Assembly:
    """The model's links, and where in them each link of the file is."""

    def __init__(self, tree: UrdfTree, base: str, options: UrdfOptions) -> None:
        self.tree = tree
        self.base = base
        self.options = options
        self.links: list[Link] = []
        self.places: dict[str, tuple[int, Pose]] = {base: (-1, Pose())}
        self.base_frame = Pose()
        self.friction_order = 1 if any(joint.damping for joint in tree.below(base) if joint.is_movable) else 0

    def model(self, ends: Sequence[str]) -> RobotModel:
        self._add_links()
        first, *_ = effectors = [self._end_effector(end) for end in ends]
        return RobotModel(
            name=robot_identifier(self.tree.robot.name) if self.options.name is None else self.options.name,
            links=tuple(self.links),
            base=_frame(self.base_frame),
            ee=first.frame,
            ee_link=first.link,
            end_effectors=tuple(effectors) if len(effectors) > 1 else (),
            gravity=self.options.gravity,
            source=self.tree.where,
        )

    def _add_links(self) -> None:
        if self.options.base == "floating":
            self._add(UrdfJoint(ROOT_JOINT, "floating", "", self.base, Pose(), (0.0, 0.0, 1.0), ""), -1, Pose())
        for joint in self.tree.below(self.base):
            parent, pose = self.places[joint.parent]
            if not joint.is_movable:
                self.places[joint.child] = (parent, pose @ joint.origin)
                continue
            if not self.links:
                self._start_from(joint.parent)
                pose = self.places[joint.parent][1]
            self._add(joint, parent, pose @ joint.origin)

    def _start_from(self, link: str) -> None:
        """Make the pose of a link held by the base the base frame, if all that moves hangs on it."""
        below = self.tree.below(self.base)
        roots = {joint.parent for joint in below if joint.is_movable and self.tree.is_held(self.base, joint.parent)}
        if roots == {link}:
            self.base_frame = self.places[link][1]
            self.places[link] = (-1, Pose())

    def _add(self, joint: UrdfJoint, parent: int, placement: Pose) -> None:
        kind = MOVABLE[joint.kind]
        self.links.append(
            Link(
                name=joint.child,
                parent=parent,
                joint=Joint(joint.name, kind, placement, joint.axis, joint.limits, coupling=joint.mimic),
                inertia=_rigid_inertia(self.tree, joint.child),
                friction=(joint.damping,) * self.friction_order,
                coulomb=joint.friction,
            )
        )
        self.places[joint.child] = (len(self.links) - 1, Pose())

    def _end_effector(self, link: str) -> EndEffector:
        index, pose = self.places[link]
        if index < 0:
            what = f"no joint moves from '{self.base}' to '{link}'"
            raise RobotFileError(what, where=self.tree.where, valid="at least one movable joint")
        return EndEffector(re.sub(r"[^A-Za-z0-9]+", "_", link).strip("_"), index, _frame(pose))


def _rigid_inertia(tree: UrdfTree, link: str) -> Inertia:
    """Inertia, in the frame of `link`, of all that fixed joints hold to it."""
    total = tree.robot.links[link].inertia
    held = [(link, Pose())]
    while held:
        parent, pose = held.pop()
        for joint in tree.children[parent]:
            if not joint.is_movable:
                own = pose @ joint.origin
                total = total + tree.robot.links[joint.child].inertia.transformed(own.rotation, own.translation)
                held.append((joint.child, own))
    return total


def _frame(pose: Pose) -> Frame:
    x, y, z = (float(v) for v in pose.translation)
    yaw, pitch, roll = ypr_from_rotation(pose.rotation)
    return Frame((x, y, z), (yaw + 0.0, pitch + 0.0, roll + 0.0))  # + 0.0 turns −0.0 into 0.0
