"""URDF and xacro → RobotModel: all that moves below a base link, a chain or a tree.

A fixed joint is read as a free one that is locked at zero, so that `locking` merges what fixed and locked joints hold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from lxml import etree
from pydantic import Field

from thunder_dynamics.errors import (
    ArmWarning,
    ChoiceWarning,
    MountingWarning,
    NameNotFoundError,
    RobotFileError,
    UnusedInertiaWarning,
    listed,
    loaded,
    nearest,
    option,
)
from thunder_dynamics.joints import Coupling, Joint, JointKind, Limits, Pose, Topology
from thunder_dynamics.locking import Assembly, Position, locked_pose
from thunder_dynamics.model import GRAVITY, EndEffector, Link, RobotModel, plain_name
from thunder_dynamics.readers.source import (
    ReaderOptions,
    check_bodies,
    robot_identifier,
    settle_first_links,
    snapped,
    take_options,
)
from thunder_dynamics.readers.urdf_elements import (
    MOVABLE,
    UrdfJoint,
    UrdfRobot,
    ZeroLimits,
    parse_urdf,
    parse_xml,
)
from thunder_dynamics.readers.urdf_tree import Selection, UrdfTree
from thunder_dynamics.readers.xacro import expand_xacro
from thunder_dynamics.spatial import ypr_from_rotation
from thunder_dynamics.storage.door import read_xml_text

LEVEL = 1e-6
"""Largest component of gravity that no mounting turns, but the digits of a file [m/s²]."""

FORMATS = "thunder.formats"
"""Entry points `(path) -> UrdfRobot` of other XML formats, by the top-level element of their files."""

ROOT_JOINT = "root_joint"
"""Name of the joint that moves a floating base."""


class UrdfOptions(ReaderOptions):
    """Options of the URDF reader.

    Args:
        base_link: Link that the model starts at; if it is fixed, the world frame is in it; default: the root. Gravity
            points down in the root, and is turned by the joints between: movable ones are where they are locked, or
            as near to zero as they may be.
        ee_link: End-effector link, or several; default: the leaf with the most movable joints above it; of several that
            are fixed to one body, see `UrdfTree.end_effector`. Each of several has functions of its own, and the first
            is `ee` as well.
        tree: Take joints off the chain to a single `ee_link` too; without one, or with several, they are taken anyway.
        base: `fixed` in the world, or `floating`: then a free joint moves the base link.
        zero_limits: What `velocity="0"` and `effort="0"` say: "unlimited", nothing; "refused", an error.
    """

    base_link: str | None = None
    ee_link: str | Annotated[tuple[str, ...], Field(strict=False)] | None = None
    tree: bool = False
    base: Literal["fixed", "floating"] = "fixed"
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
    """Read a URDF or a xacro file; the robot is named after <robot name>, lines are those of the expanded text.

    Options: those of `UrdfOptions`, or of `XacroOptions`.

    Raises:
        RobotFileError, NameNotFoundError, InertiaError, ModelError: as `thunder_dynamics.load_model` says.
    """
    chosen, robot = _opened(path, options)
    return _model(robot, chosen)


def urdf_text(path: Path, options: Mapping[str, Any]) -> str:
    """Read a URDF, or expand a xacro file, and fix the joints that are locked.

    Options: as in `read_urdf`; those that are empty count as not given.

    Raises:
        RobotFileError, NameNotFoundError: as `thunder_dynamics.load_model` says.
    """
    chosen, text = _text(path, {name: value for name, value in options.items() if value})
    locked = _of_arm(parse_urdf(text, str(path), chosen.zero_limits), chosen).locked_joints
    return fix_joints(text, str(path), locked) if locked else text


def select_arm(path: Path, options: Mapping[str, Any]) -> Selection:
    """Select the arm in a URDF or xacro file: `UrdfTree.select_arm` of its text.

    Options: as in `read_urdf`; those that are empty count as not given.

    Raises:
        RobotFileError, NameNotFoundError: as `thunder_dynamics.load_model` and `UrdfTree.select_arm` say.
    """
    chosen, robot = _opened(path, {**{name: value for name, value in options.items() if value}, "arm": False})
    return _selection(robot, chosen)


def _selection(robot: UrdfRobot, options: UrdfOptions) -> Selection:
    tree = UrdfTree(robot)
    if isinstance(options.ee_link, tuple):
        what = f"several end effectors of one arm: {listed(options.ee_link)}"
        raise RobotFileError(what, where=robot.where, valid=f"one by {option('ee_link')}")
    return tree.select_arm(tree.base_link(options.base_link), options.ee_link, options.locked_joints)


def _opened(path: Path, options: Mapping[str, Any]) -> tuple[UrdfOptions, UrdfRobot]:
    """Read a file, and complete its options where the arm in it is to be selected."""
    chosen, text = _text(path, options)
    where = f"{path} (expanded)" if isinstance(chosen, XacroOptions) else str(path)
    read = None if "<robot" in text else _format_of(parse_xml(text, where).tag)
    robot = parse_urdf(text, where, chosen.zero_limits) if read is None else read(path)
    return _of_arm(robot, chosen), robot


def _format_of(tag: str) -> Callable[[Path], UrdfRobot] | None:
    """Find what reads files of another top-level element into the records of URDF."""
    known = {entry.name: entry for entry in entry_points(group=FORMATS)}
    return loaded(known[tag]) if tag in known else None


def _text(path: Path, options: Mapping[str, Any]) -> tuple[UrdfOptions, str]:
    """Read the text of a file, expanded if it is a xacro file, and check the options."""
    if path.suffix.lower() != ".xacro":
        return take_options(UrdfOptions, options, where=str(path)), read_xml_text(path, RobotFileError)
    chosen = take_options(XacroOptions, options, where=str(path))
    return chosen, expand_xacro(path, chosen.xacro_args, chosen.xacro_folders, chosen.packages)


def _of_arm(robot: UrdfRobot, options: UrdfOptions) -> UrdfOptions:
    """Return options that hold all but the arm where it is to be selected, of a fixed base with one end effector."""
    several = options.tree or isinstance(options.ee_link, tuple) or options.base == "floating"
    if several or not options.arm:
        return options
    arm = _selection(robot, options)
    held = [name for name in arm.held if name not in options.locked_joints]
    if not held:
        return options
    what = f"the arm is {listed(arm.joints)} with the end effector '{arm.ee_link}'; held: {listed(held)}"
    chooses = f"{option('ee_link')} and {option('locked_joints')} choose"
    warnings.warn(f"{robot.where}: {what}; {chooses}", ArmWarning, stacklevel=2)
    return options.model_copy(update={"locked_joints": arm.held, "ee_link": arm.ee_link})


def read_assembly(path: Path, options: Mapping[str, Any]) -> Assembly:
    """Read a URDF or a xacro file for its links and shapes; nothing judges inertias, any link may be the end effector.

    Options: as in `read_urdf`; those that are empty count as not given.

    Raises:
        RobotFileError, NameNotFoundError, ModelError: as `thunder_dynamics.load_model` says.
    """
    with warnings.catch_warnings():
        for said in (ChoiceWarning, UnusedInertiaWarning):  # by the model's reader
            warnings.simplefilter("ignore", said)
        chosen, robot = _opened(path, {name: value for name, value in options.items() if value})
        return _assembly(robot, chosen)


def read_assembly_text(text: str, where: str, **options: Any) -> Assembly:
    """Read a URDF from a text, as `read_assembly` does."""
    chosen = take_options(UrdfOptions, options, where=where)
    return _assembly(parse_urdf(text, where, chosen.zero_limits), chosen)


def _assembly(robot: UrdfRobot, chosen: UrdfOptions) -> Assembly:
    tree, base = _tree(robot, chosen)
    given = (chosen.ee_link,) if isinstance(chosen.ee_link, str) else chosen.ee_link
    whole = _whole(tree, base, tree.end_links(base, given or ())[:1], chosen)
    whole, held = snapped(whole) if chosen.snap_angles else whole, _positions(tree, base)
    whole = settle_first_links(whole, {name: link.where for name, link in tree.robot.links.items()}, held)
    shapes, unread = robot.shapes()
    return Assembly(whole, held, base, tuple(shapes), tuple(unread))


def read_urdf_text(text: str, where: str, **options: Any) -> RobotModel:
    """Read a URDF from a text.

    Args:
        text: The XML.
        where: What to call the text in messages.
        options: Those of `UrdfOptions`.

    Raises:
        RobotFileError, NameNotFoundError, InertiaError, ModelError: as `thunder_dynamics.load_model` says.
    """
    chosen = take_options(UrdfOptions, options, where=where)
    robot = parse_urdf(text, where, chosen.zero_limits)
    return _model(robot, _of_arm(robot, chosen))


def fix_joints(text: str, where: str, locked_joints: Mapping[str, Any]) -> str:
    """Fix joints in a URDF text where the reader would hold them, and with them those that mimic them.

    Args:
        text: The XML.
        where: What to call the text in messages.
        locked_joints: As in `UrdfOptions`.

    Returns:
        The URDF of the same links, its other joints as they were.

    Raises:
        RobotFileError: if the text is no URDF.
        ModelError: for a position that the joint cannot have.
        NameNotFoundError: for a joint that there is not.
    """
    options = take_options(UrdfOptions, {"locked_joints": locked_joints}, where)
    robot, root = parse_urdf(text, where), parse_xml(text, where)
    held = _held(robot, options).joints
    for element in root.iterfind("joint"):
        joint = held[element.get("name", "")]
        if joint.held_at is None:
            continue
        pose = locked_pose(_joint(joint), joint.held_at, where)
        element.set("type", "fixed")
        for part in list(element):
            if part.tag not in ("parent", "child"):
                element.remove(part)
        yaw, pitch, roll = ypr_from_rotation(pose.rotation)
        etree.SubElement(element, "origin", xyz=_words(pose.translation), rpy=_words((roll, pitch, yaw)))
    return str(etree.tostring(root, encoding="unicode"))


def _words(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def _model(robot: UrdfRobot, options: UrdfOptions) -> RobotModel:
    tree, base = _tree(robot, options)
    whole = _whole(tree, base, _end_links(tree, base, options), options)
    model = options.reduced(whole, _positions(tree, base), robot.where)
    tree.robot.warn(model.joint_names)
    places = {name: link.where for name, link in tree.robot.links.items()}
    model = settle_first_links(model, places)
    # What the model holds is judged: not what a fixed base drops, and parts together with what they are fixed to.
    check_bodies(((link.name, places[link.name], link.inertia) for link in model.links), options.allow_inconsistent)
    return model


def _tree(robot: UrdfRobot, options: UrdfOptions) -> tuple[UrdfTree, str]:
    """The tree of a robot, its joints held where the options say, and the base link."""
    tree = UrdfTree(_held(robot, options))
    return tree, tree.base_link(options.base_link)


def _positions(tree: UrdfTree, base: str) -> dict[str, Position]:
    """Of the joints below a link that do not move; those that are fixed are free ones in a model."""
    held = (joint for joint in tree.below(base) if not joint.is_movable)
    return {joint.name: joint.held_at or JointKind.FREE.neutral for joint in held}


def _held(robot: UrdfRobot, options: UrdfOptions) -> UrdfRobot:
    """The robot with locked joints held, and what mimics them or is fixed; others follow a joint that follows none."""
    movable = [joint.name for joint in robot.joints.values() if joint.is_movable]
    for name in options.locked_joints:
        if name not in movable:
            raise NameNotFoundError(
                f"no movable joint '{name}' to lock", where=robot.where, valid=nearest(name, movable)
            )
    joints = dict(robot.joints)
    locked = {name: (0.0,) for name in joints if name not in movable} | dict(options.locked_joints)
    for name in movable:
        joint = joints[name]
        mimic = None if name in locked else _followed(robot, joint, locked)
        if name in locked:
            joints[name] = replace(joint, mimic=None, held_at=locked[name])
        elif mimic is not None and mimic.leader in locked:  # within the leader's limits, which are what counts
            at = tuple(mimic.multiplier * value + mimic.offset for value in locked[mimic.leader])
            joints[name] = replace(joint, mimic=None, held_at=at, limits=Limits())
        else:
            joints[name] = replace(joint, mimic=mimic)
    return replace(robot, joints=joints)


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


def _end_links(tree: UrdfTree, base: str, options: UrdfOptions) -> list[str]:
    """The end-effector links; an error for joints off the chain to a single given one, unless the tree is asked for."""
    given = options.ee_link
    chosen = () if given is None else (given,) if isinstance(given, str) else given
    ends = tree.end_links(base, chosen)
    off = tree.off_chain(base, ends[0])
    if off and len(chosen) == 1 and not options.tree:
        what = f"movable joints off the chain from '{base}' to '{ends[0]}': {listed([joint.name for joint in off])}"
        hold = f"{option('arm', '=True')}, or {option('locked_joints', '={joint: position}')}"
        valid = f"{option('tree')}, another {option('ee_link')} or {option('base_link')}, or hold them: {hold}"
        raise RobotFileError(what, where=tree.where, valid=valid)
    return ends


def _whole(tree: UrdfTree, base: str, ends: Sequence[str], options: UrdfOptions) -> RobotModel:
    """All links below the base link, each moved by its joint; joints that are fixed are free ones."""
    joints = list(tree.below(base))
    if options.base == "floating":
        joints.insert(0, UrdfJoint(ROOT_JOINT, "floating", "", base, Pose(), (0.0, 0.0, 1.0), ""))
    friction_order = 1 if any(joint.damping for joint in joints if joint.is_movable) else 0
    index = {joint.child: i for i, joint in enumerate(joints)}
    links = (
        Link(
            name=joint.child,
            parent=index.get(joint.parent, -1),
            joint=_joint(joint),
            inertia=tree.robot.links[joint.child].inertia,
            friction=(joint.damping,) * friction_order,
            coulomb=joint.friction,
        )
        for joint in joints
    )
    first, *_ = effectors = [_end_effector(tree, base, end, index, options) for end in ends]
    return RobotModel(
        name=robot_identifier(tree.robot.name) if options.name is None else options.name,
        links=tuple(links),
        ee_link=first.link,
        end_effectors=tuple(effectors) if len(effectors) > 1 else (),
        gravity=tree.robot.gravity if options.base == "floating" else _turned_gravity(tree, base, options),
        source=tree.where,
    )


def _turned_gravity(tree: UrdfTree, base: str, options: UrdfOptions) -> tuple[float, float, float]:
    """Return the gravity of the root in the frame of the base link, with a warning if joints between them matter."""
    above, mounting = tree.chain(tree.root, base), Pose()
    moving = [joint for joint in above if joint.can_move]
    for joint in above:
        mounting = mounting @ locked_pose(_joint(joint), _position(joint), tree.where)
    x, y, z = (float(value) + 0.0 for value in mounting.rotation.T @ np.array(tree.robot.gravity))
    if options.gravity is None and (moving or not np.allclose((x, y, z), GRAVITY, rtol=0.0, atol=LEVEL)):
        at = "".join(f", {joint.name} at {', '.join(f'{value:g}' for value in _position(joint))}" for joint in moving)
        g = ", ".join(f"{round(value, 3) + 0.0:g}" for value in (x, y, z))
        what = f"gravity is {g} m/s² in the base link '{base}', as it is mounted below '{tree.root}'{at}"
        warnings.warn(f"{tree.where}: {what}; {option('gravity')} replaces it", MountingWarning, stacklevel=2)
    return x, y, z


def _position(joint: UrdfJoint) -> tuple[float, ...]:
    """Return where a joint is held, else its position at rest."""
    return joint.rest if joint.held_at is None else tuple(joint.held_at)


def _joint(joint: UrdfJoint) -> Joint:
    if joint.problem is not None and joint.is_movable:
        raise joint.problem
    kind = MOVABLE.get(joint.kind, JointKind.FREE)
    coupling = joint.mimic if joint.kind in MOVABLE else None
    rotor = joint.rotor_inertia if joint.kind in MOVABLE else None
    topology = Topology.CIRCLE if joint.kind == "continuous" and coupling is None else Topology.LINE
    return Joint(
        joint.name,
        kind,
        joint.origin,
        joint.axis,
        joint.limits,
        coupling=coupling,
        rotor_inertia=rotor,
        topology=topology,
    )


def _end_effector(tree: UrdfTree, base: str, link: str, index: Mapping[str, int], options: UrdfOptions) -> EndEffector:
    if options.base == "fixed" and tree.is_held(base, link):
        what = f"no joint moves from '{base}' to '{link}'"
        raise RobotFileError(what, where=tree.where, valid="at least one movable joint")
    return EndEffector(plain_name(link), index[link])
