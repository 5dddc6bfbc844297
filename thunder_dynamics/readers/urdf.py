"""URDF and xacro → RobotModel: the serial chain from a base link to an end-effector link.

Fixed and locked joints are merged. What they hold to a moving link adds to its inertia, what they hold to the base is
dropped with it. The pose of the first moving joint's parent in the base link is the model's base frame; the pose of
the end-effector link in the last moving link is its end-effector frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from thunder_dynamics.errors import NameNotFoundError, RobotFileError, nearest, option
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import GRAVITY, Frame, Joint, JointKind, Link, Pose, RobotModel
from thunder_dynamics.readers.source import (
    Finite,
    ReaderOptions,
    check_bodies,
    read_text,
    robot_identifier,
    take_options,
)
from thunder_dynamics.readers.urdf_elements import UrdfJoint, UrdfRobot, ZeroLimits, parse_urdf
from thunder_dynamics.readers.urdf_tree import UrdfTree
from thunder_dynamics.readers.xacro import expand_xacro
from thunder_dynamics.spatial import rot_axis, ypr_from_rotation


class UrdfOptions(ReaderOptions):
    """Options of the URDF reader.

    Args:
        base_link: Link that the chain starts at and that the world frame is fixed to; default: the root.
        ee_link: Link that the chain ends at; default: the leaf with the most joints between it and the base.
        locked_joints: Movable joints to hold at a position [rad] or [m], by name; mimicking ones, too.
        gravity: g₀ in the frame of the base link [m/s²].
        zero_limits: What `velocity="0"` and `effort="0"` say: "unlimited", nothing; "refused", an error.
    """

    base_link: str | None = None
    ee_link: str | None = None
    locked_joints: Mapping[str, Finite] = Field(default_factory=dict)
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


def _model(text: str, where: str, options: UrdfOptions) -> RobotModel:
    robot = parse_urdf(text, where, options.zero_limits)
    joints = dict(robot.joints)
    for name, position in options.locked_joints.items():
        joints[name] = _locked(robot, name, position, where)
    tree = UrdfTree(UrdfRobot(robot.name, robot.links, joints), where)
    base = tree.base_link(options.base_link)
    chain = tree.chain(base, tree.end_link(base, options.ee_link))
    model = _assemble(tree, base, chain, options)
    # What the model holds is judged: not what a fixed base drops, and parts together with what they are fixed to.
    bodies = ((link.name, robot.links[link.name].where, link.inertia) for link in model.links)
    check_bodies(bodies, options.allow_inconsistent)
    return model


def _locked(robot: UrdfRobot, name: str, position: float, where: str) -> UrdfJoint:
    """The same joint, fixed at a position."""
    movable = [joint.name for joint in robot.joints.values() if joint.is_movable]
    if name not in movable:
        raise NameNotFoundError(f"no movable joint '{name}' to lock", where=where, valid=nearest(name, movable))
    joint = robot.joints[name]
    if not joint.limits.lower <= position <= joint.limits.upper:
        raise RobotFileError(
            f"joint '{name}' cannot be locked at {position:g}",
            where=joint.where,
            valid=f"{joint.limits.lower:g} to {joint.limits.upper:g}",
        )
    if joint.kind == "prismatic":
        motion = Pose(translation=position * np.array(joint.axis))
    else:
        motion = Pose(rotation=rot_axis(joint.axis, position))
    return UrdfJoint(name, "fixed", joint.parent, joint.child, joint.origin @ motion, joint.axis, joint.where)


def _assemble(tree: UrdfTree, base: str, chain: list[UrdfJoint], options: UrdfOptions) -> RobotModel:
    moving = [joint for joint in chain if joint.is_movable]
    _check_chain(tree, base, chain, moving, options)
    order = 1 if any(joint.damping for joint in moving) else 0
    held, base_frame = Pose(), Pose()
    links: list[Link] = []
    for joint in chain:
        if not joint.is_movable:
            held = held @ joint.origin
            continue
        if not links:
            base_frame, held = held, Pose()
        links.append(_link(tree, joint, held @ joint.origin, len(links), order))
        held = Pose()
    return RobotModel(
        name=options.name if options.name is not None else robot_identifier(tree.robot.name),
        links=tuple(links),
        base=_frame(base_frame),
        ee=_frame(held),
        gravity=options.gravity,
        source=tree.where,
    )


def _check_chain(
    tree: UrdfTree, base: str, chain: list[UrdfJoint], moving: list[UrdfJoint], options: UrdfOptions
) -> None:
    for joint in moving:
        if joint.mimics is not None:
            what = f"joint '{joint.name}' mimics '{joint.mimics}'"
            raise RobotFileError(what, where=joint.where, valid=f"no mimic, or hold it: {_hold()}")
    off = [joint.name for joint in tree.below(base) if joint.is_movable and joint not in chain]
    if off:
        raise RobotFileError(
            f"movable joints off the chain from '{base}' to '{chain[-1].child if chain else base}': {', '.join(off)}",
            where=tree.where,
            valid=f"another {option('ee_link')} or {option('base_link')}, or hold them: {_hold()}",
        )
    if not moving:
        ends = f"from '{base}' to '{options.ee_link or (chain[-1].child if chain else base)}'"
        raise RobotFileError(f"no joint moves {ends}", where=tree.where, valid="at least one movable joint")


def _hold() -> str:
    return option("locked_joints", "={joint: position}")


def _link(tree: UrdfTree, joint: UrdfJoint, placement: Pose, index: int, friction_order: int) -> Link:
    kind = JointKind.PRISMATIC if joint.kind == "prismatic" else JointKind.REVOLUTE
    return Link(
        name=joint.child,
        parent=index - 1,
        joint=Joint(joint.name, kind, placement, joint.axis, joint.limits),
        inertia=_rigid_inertia(tree, joint.child),
        friction=(joint.damping,) * friction_order,
        coulomb=joint.friction,
    )


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
