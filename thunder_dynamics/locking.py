"""Joints held at a position: the model without them, their links merged into what they are held to.

The transform of a locked joint is a constant, T(parent → link) = placement · motion(position). The inertia of its link,
brought to the link above by it, adds to that link's; what a fixed base then holds is dropped with it. Joint, link,
limits, friction, rotor and elasticity of what is locked are no part of the model; end effectors stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.errors import ModelError, NameNotFoundError, RobotFileError, nearest
from thunder_dynamics.inertia import N_PARAMETERS, Inertia
from thunder_dynamics.joints import Joint, Limits, Pose
from thunder_dynamics.model import EndEffector, Frame, Link, RobotModel

Position = float | Sequence[float] | NDArray[np.float64]
"""Of a joint: one number, or all of its configuration, as in `joints` [rad] or [m]."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A mesh of a file, or a simple shape about its centre, which a link looks like or touches others with.

    Attributes:
        link: Name of the link.
        collides: Whether it touches others; else it is what is seen.
        origin: Its pose in the frame of the link.
        kind: `mesh`, `box`, `cylinder`, `capsule` or `sphere`.
        size: Scale of a mesh along its axes [1]; edges of a box [m]; radius [m]; then length along z of a cylinder, or
            of a capsule without its caps [m].
        file: What the description calls the file of a mesh.
    """

    link: str
    collides: bool
    origin: Pose
    kind: str
    size: tuple[float, ...]
    file: str = ""


@dataclass(frozen=True, eq=False)
class Assembly:
    """All links of a robot as its file has them, none merged into another: what plants and pictures are made of.

    Attributes:
        model: The links below the base link; a joint that is fixed in the file is a free one.
        held: Positions of the joints that do not move, by name: fixed, locked, or following one of those.
        base: Name of the base link, whose frame is that of the model's base.
        shapes: Of the links, where they were read.
        unread: Links with the complaint about a visual that cannot be.
    """

    model: RobotModel
    held: Mapping[str, Position] = field(default_factory=dict)
    base: str = "base"
    shapes: tuple[Shape, ...] = ()
    unread: tuple[tuple[str, RobotFileError], ...] = ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints that move, in the order of the model."""
        return tuple(name for name in self.model.joint_names if name not in self.held)


BASE = -1
"""What `RobotModel` calls the parent of links that hang on no other."""


def lock_joints(model: RobotModel, positions: Mapping[str, Position]) -> RobotModel:
    """Copy of a model with some joints held, and those that follow them.

    Joints before the first moving one change the base frame, those after the last one the end-effector frame; the DH
    rows of the others stay then. They are lost if a joint between others is locked. Run-time parameters of a link that
    others are held to are those of the body that they make.

    Args:
        model: Of joints of any kind.
        positions: Where to hold them, by name: a number, or as many as the joint has, within its limits.

    Raises:
        NameNotFoundError: for a joint that there is not.
        ModelError: for a position that the joint cannot have; if nothing moves an end effector any more; if a run-time
            parameter has no place in the result: of the locked link's inertia, of geometry that is merged.
    """
    held = _held(model, positions)
    return _Reduction(model, held).model() if held else model


def _held(model: RobotModel, positions: Mapping[str, Position]) -> dict[int, Pose]:
    """Pose in its parent of every link whose joint is held, by index."""
    for name in positions:
        if name not in model.joint_names:
            valid = nearest(name, model.joint_names)
            raise NameNotFoundError(f"no joint '{name}' to lock", where=model.source or model.name, valid=valid)
    where = model.source or model.name
    held = {}
    for i, joint in enumerate(link.joint for link in model.links):
        coupling = joint.coupling
        if joint.name in positions:
            held[i] = locked_pose(joint, positions[joint.name], where)
        elif coupling is not None and coupling.leader in positions:
            at = coupling.multiplier * np.asarray(positions[coupling.leader], dtype=float) + coupling.offset
            held[i] = locked_pose(replace(joint, limits=Limits()), at, where)  # the leader's limits are what counts
    return held


def locked_pose(joint: Joint, position: Position, where: str) -> Pose:
    """Pose in its parent of the link of a joint at a position.

    Raises:
        ModelError: for a position that the joint cannot have; `where` is named.
    """
    at, kind, limits = np.ravel(np.asarray(position, dtype=float)), joint.kind, joint.limits
    is_free = at.size == kind.nq and np.isfinite(at).all() and (kind.nq > 1 or limits.lower <= at[0] <= limits.upper)
    if is_free:
        with np.errstate(divide="ignore", invalid="ignore"):  # of a quaternion that is zero
            R, p = (np.asarray(part, dtype=float) for part in kind.transform(at, joint.axis))
        if np.isfinite(R).all() and np.isfinite(p).all():
            return joint.placement @ Pose(R, p.ravel())
    what = f"joint '{joint.name}' cannot be locked at {', '.join(f'{value:g}' for value in at)}"
    several = f"{kind.nq} values, a configuration of a {kind.name} joint"
    valid = several if kind.nq > 1 else f"{limits.lower:g} to {limits.upper:g}"
    raise ModelError(what, where=where, valid=valid)


def link_poses(model: RobotModel, positions: Mapping[str, Position]) -> tuple[Pose, ...]:
    """Pose of every link in the world, joints at positions by name, neutral without one, whatever their limits are.

    Raises:
        ModelError: for a position that a joint of its kind cannot have.
    """
    poses: list[Pose] = []
    for link in model.links:
        joint, coupling = replace(link.joint, limits=Limits()), link.joint.coupling
        at = positions.get(joint.name if coupling is None else coupling.leader, joint.kind.neutral)
        if coupling is not None:
            at = coupling.multiplier * np.asarray(at, dtype=float) + coupling.offset
        above = model.base.pose if link.parent == BASE else poses[link.parent]
        poses.append(above @ locked_pose(joint, at, model.source or model.name))
    return tuple(poses)


def draw_positions(model: RobotModel, random: np.random.Generator) -> dict[str, Position]:
    """Positions for `link_poses`: of joints of one value from −1 to 1, of others neutral."""
    kinds = ((link.joint.name, link.joint.kind) for link in model.links)
    return {name: random.uniform(-1.0, 1.0, 1) if kind.nq == 1 else kind.neutral for name, kind in kinds}


class _Reduction:
    """Where each link of a model goes.

    Args:
        held: Poses in their parents of the links that are held, by index.
    """

    def __init__(self, whole: RobotModel, held: Mapping[int, Pose]) -> None:
        self.whole = whole
        self.held = held
        self.moving = [i for i in range(whole.n) if i not in held]
        self.carrier: list[int] = []  # the moving link that each link is part of, or the base
        self.pose: list[Pose] = []  # of each link in its carrier
        for i, link in enumerate(whole.links):
            carrier, above = self._place(link.parent)
            self.carrier.append(carrier if i in held else i)
            self.pose.append(above @ held[i] if i in held else Pose())
        roots = {parent for i in self.moving if self._place(parent := whole.links[i].parent)[0] == BASE}
        is_common = len(roots) == 1 and "par_world2L0" not in whole.symbolic
        self.root = roots.pop() if is_common else BASE  # what all that moves hangs on: its frame becomes the base frame

    def model(self) -> RobotModel:
        whole, symbolic = self.whole, self.whole.symbolic
        ee = self._effector(EndEffector("ee", whole.ee_link, whole.ee))
        if "par_Ln2EE" in symbolic and whole.ee_link in self.held:
            self._refuse("par_Ln2EE", whole.ee_link)
        self._check_inertias()
        base = whole.base if self.root == BASE else Frame.of(whole.base.pose @ self.pose[self.root])
        return replace(
            whole,
            links=self._links(),
            base=base,
            ee=ee.frame,
            ee_link=ee.link,
            end_effectors=tuple(self._effector(effector) for effector in whole.end_effectors),
            symbolic=self._symbolic(),
        )

    def _place(self, link: int) -> tuple[int, Pose]:
        return (BASE, Pose()) if link == BASE else (self.carrier[link], self.pose[link])

    def _effector(self, effector: EndEffector) -> EndEffector:
        carrier, pose = self._place(effector.link)
        if carrier == BASE:
            what = f"no joint moves the end effector '{effector.name}' any more"
            raise ModelError(what, where=self.whole.name, valid="one that is not locked between it and the base")
        frame = Frame.of(pose @ effector.frame.pose) if effector.link in self.held else effector.frame
        return replace(effector, link=self.moving.index(carrier), frame=frame)

    def _links(self) -> tuple[Link, ...]:
        bodies = self._bodies()
        keeps_rows = self._keeps_rows
        links = []
        for i in self.moving:
            link = self.whole.links[i]
            carrier, above = self._place(link.parent)
            joint = link.joint
            if self._is_moved(i):
                joint = replace(joint, placement=above @ joint.placement, dh=None)
            joint = joint if keeps_rows else replace(joint, dh=None)
            parent = BASE if carrier == BASE else self.moving.index(carrier)
            links.append(replace(link, parent=parent, joint=joint, inertia=bodies[i]))
        return tuple(links)

    def _bodies(self) -> dict[int, Inertia]:
        bodies = {i: self.whole.links[i].inertia for i in self.moving}
        for i in self.held:
            carrier, pose = self._place(i)
            if carrier != BASE:
                part = self.whole.links[i].inertia.transformed(pose.rotation, pose.translation)
                bodies[carrier] = bodies[carrier] + part
        return bodies

    def _is_moved(self, link: int) -> bool:
        """Whether the placement of a joint is another one."""
        parent = self.whole.links[link].parent
        return parent in self.held and parent != self.root

    @property
    def _keeps_rows(self) -> bool:
        return not any(map(self._is_moved, self.moving))

    def _check_inertias(self) -> None:
        flags = self.whole.symbolic.get("par_DYN")
        if flags is None:
            return
        rows = np.reshape(flags, (-1, N_PARAMETERS))
        for i in self.held:
            carrier = self.carrier[i]
            if rows[i].any() and carrier != BASE and not rows[carrier].all():
                self._refuse("par_DYN", i)

    def _symbolic(self) -> dict[str, tuple[bool, ...]]:
        every, elastic = tuple(range(self.whole.n)), self.whole.elastic_joints
        owners = dict.fromkeys(("par_DHtable", "par_DYN", "par_Dl"), every)
        owners |= dict.fromkeys(("par_K", "par_D", "par_Dm", "par_Mm"), elastic)
        owners["par_Ia"] = self.whole.rotor_joints
        kept = dict(self.whole.symbolic)
        for group in owners.keys() & kept.keys():
            rows = dict(zip(owners[group], np.reshape(kept[group], (len(owners[group]), -1)), strict=True))
            if group == "par_DHtable":
                for i in self.held:
                    if rows[i].any() or not self._keeps_rows:
                        self._refuse(group, i)
            kept[group] = tuple(bool(flag) for i, row in rows.items() if i not in self.held for flag in row)
        return kept

    def _refuse(self, group: str, link: int) -> None:
        what = f"joint '{self.whole.links[link].joint.name}' cannot be locked: {group} has run-time parameters of it"
        raise ModelError(what, where=self.whole.source or self.whole.name, valid=_MENDS[group])


_MENDS = {
    "par_DYN": "numbers there, or all ten of the link that it is held to as run-time parameters",
    "par_DHtable": "numbers there, and joints before the first or after the last that moves",
    "par_Ln2EE": "numbers there",
}
"""What is valid instead, by the group of parameters."""
