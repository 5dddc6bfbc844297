"""Which joints of a description are the arm, which are held, and where its end effector is."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.model import SINGLE_JOINTS
from thunder_dynamics.readers.urdf import urdf_text
from thunder_dynamics.readers.urdf_elements import MOVABLE, UrdfJoint, parse_urdf
from thunder_dynamics.readers.urdf_tree import UrdfTree

JAW = re.compile(r"gripper|finger|jaw|knuckle|claw|thumb", re.IGNORECASE)
"""Names of joints that open a gripper: of a jaw at the end of a chain, a file has nothing else to tell it by."""

TOOL = re.compile(r"tcp|tool|end_?effector|grasp|(^|_)ee(_|$)|(gripper|hand)_(frame|link|base)", re.IGNORECASE)
"""Names of links that mark where the arm works."""

ARM = ("revolute", "continuous", "prismatic")
"""Types of joints that an arm has: one position and one motor each."""


@dataclass(frozen=True)
class Selection:
    """The arm in a description.

    Attributes:
        joints: That move, from the base to the end effector.
        ee_link: The end effector.
        held: Positions of all other joints, by name, as `locked_joints` takes them; those that follow one are not here.
        gripper: Of these, the joints beyond the arm.
        others: Tips of other arms with as many joints, each named by its last link.
    """

    joints: tuple[str, ...]
    ee_link: str
    held: Mapping[str, tuple[float, ...]]
    gripper: tuple[str, ...]
    others: tuple[str, ...]


def select_arm(
    path: Path,
    reading: Mapping[str, Any],
    ee_link: str | None = None,
    locked: Mapping[str, Sequence[float]] | None = None,
) -> Selection:
    """Select the arm in a URDF or xacro file: `select_in_tree` of its text.

    Raises:
        RobotFileError: as the reader raises, and as `select_in_tree` does.
    """
    return select_in_tree(UrdfTree(parse_urdf(urdf_text(path, reading), str(path)), str(path)), ee_link, locked or {})


def select_in_tree(tree: UrdfTree, ee_link: str | None, locked: Mapping[str, Sequence[float]]) -> Selection:
    """Select the arm in a tree: the longest chain of actuated joints from the root, without its gripper.

    Where a link carries several chains, as a hand carries fingers, and more joints are above it than in any of them,
    the arm ends there. At a torso it goes on, into the longest chain, the first of equal ones. A single jaw at the end
    is known by its name, `JAW`. The end effector is, of the links that are fixed to the last joint's, one whose name
    says so, `TOOL`; else what carries the gripper, or the farthest. All other joints are held, at zero or the nearest
    position that they may have.

    Args:
        tree: Links and joints.
        ee_link: The end effector, where it is chosen: the arm is the chain to it.
        locked: Positions of joints that are held in any case; they replace what would be chosen.

    Raises:
        NameNotFoundError: for an `ee_link` that is no link.
        RobotFileError: if nothing moves, or a joint of the chain has several positions or follows another joint.
    """
    walk = _Walk(tree, locked)
    chain, others = walk.to(ee_link) if ee_link is not None else walk.arm(tree.root, 0)
    if not chain:
        raise RobotFileError("no joint moves that could be an arm's", where=tree.where, valid="one at least")
    for joint in chain:
        if joint.mimic is not None:
            what = f"joint '{joint.name}' of the arm follows '{joint.mimic.leader}'"
            raise RobotFileError(what, where=joint.where, valid=SINGLE_JOINTS)
    moving = [joint.name for joint in chain]
    idle = [joint for joint in tree.below(tree.root) if joint.is_movable and joint.name not in moving]
    held = {joint.name: _rest(joint) for joint in idle if joint.mimic is None or joint.mimic.leader in moving}
    beyond = {joint.name for joint in tree.below(chain[-1].child)}
    return Selection(
        joints=tuple(moving),
        ee_link=ee_link or walk.end_effector(chain[-1].child),
        held={**held, **{name: tuple(at) for name, at in locked.items()}},
        gripper=tuple(name for name in held if name in beyond),
        others=tuple(others),
    )


class _Walk:
    """Chains of actuated joints in a tree; joints that are locked, or of another kind, count as fixed.

    Args:
        tree: Links and joints.
        locked: Names of joints that are held.
    """

    def __init__(self, tree: UrdfTree, locked: Container[str]) -> None:
        self._tree, self._locked = tree, locked

    def _moves(self, joint: UrdfJoint) -> bool:
        return joint.kind in ARM and joint.name not in self._locked

    def _next(self, link: str) -> list[UrdfJoint]:
        """Joints that move what hangs on a link, the first of each branch."""
        found = []
        for joint in self._tree.children[link]:
            found += [joint] if self._moves(joint) else self._next(joint.child)
        return found

    def _depth(self, joint: UrdfJoint) -> int:
        """Actuated joints on the longest chain from a joint on, itself included."""
        return (joint.mimic is None) + max(map(self._depth, self._next(joint.child)), default=0)

    def to(self, link: str) -> tuple[list[UrdfJoint], list[str]]:
        """The chain to a link."""
        self._tree.end_links(self._tree.root, (link,))  # raises if it is not there
        return [joint for joint in self._tree.chain(self._tree.root, link) if self._moves(joint)], []

    def arm(self, link: str, above: int) -> tuple[list[UrdfJoint], list[str]]:
        """The arm that hangs on a link with so many joints above it, and end effectors of others as long."""
        chain: list[UrdfJoint] = []
        others: list[str] = []
        while branches := self._next(link):
            depths = list(map(self._depth, branches))
            longest = max(depths)
            if longest == 0 or (len(branches) > 1 and longest < above + len(chain)):
                break
            first, *ties = [joint for joint, depth in zip(branches, depths, strict=True) if depth == longest]
            for tie in ties:
                last = [tie, *self.arm(tie.child, above + len(chain) + 1)[0]][-1]
                others.append(self.end_effector(last.child))
            chain.append(first)
            link = first.child
        if not all(JAW.search(joint.name) for joint in chain):  # else they are a hand's
            while JAW.search(chain[-1].name):
                chain.pop()
        return chain, others

    def end_effector(self, link: str) -> str:
        """Of what is fixed to the last link of an arm, where it works."""
        fixed, hands = [link], []
        for above in fixed:  # grows meanwhile
            for joint in self._tree.children[above]:
                if self._moves(joint):
                    hands.append(above)
                else:
                    fixed.append(joint.child)
        named = [name for name in fixed if TOOL.search(name)]
        return (named or hands or fixed)[-1]


def _rest(joint: UrdfJoint) -> tuple[float, ...]:
    """Zero, or the position nearest to it that the joint may have; neutral for joints with several."""
    kind, limits = MOVABLE[joint.kind], joint.limits
    return (min(max(0.0, limits.lower), limits.upper),) if kind.nq == 1 else tuple(kind.neutral)
