"""The kinematic tree of a URDF: its root, its leaves, the chain between two links, and the arm in it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from thunder_dynamics.errors import EndEffectorWarning, NameNotFoundError, RobotFileError, listed, nearest, option
from thunder_dynamics.model import SINGLE_JOINTS
from thunder_dynamics.readers.urdf_elements import UrdfJoint, UrdfRobot

JAW = re.compile(r"gripper|finger|jaw|knuckle|claw|thumb", re.IGNORECASE)
"""Names of joints that open a gripper: of a jaw at the end of a chain, a file has nothing else to tell it by."""

TOOLS = tuple(
    re.compile(name, re.IGNORECASE)
    for name in (
        "tcp|grasp",
        "tool",
        "end_?effector|(^|_)ee(_|$)",
        "(gripper|hand)_(frame|link|base)",
        "flange",
    )
)
"""Names of links that mark where the arm works, the most telling first."""

SENSOR = re.compile("cam(era)?(_|$)|optical|sensor|imu", re.IGNORECASE)
"""Names of links that mark where it measures, as a camera at the tool does."""


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


class UrdfTree:
    """Links joined by joints, checked to be one tree.

    Args:
        robot: The elements.

    Raises:
        RobotFileError: for a missing link, a link with two parents, a loop, or links that nothing joins.
    """

    def __init__(self, robot: UrdfRobot) -> None:
        self.robot = robot
        self.where = robot.where
        self.children: dict[str, list[UrdfJoint]] = {name: [] for name in robot.links}
        self.parent: dict[str, UrdfJoint] = {}
        for joint in robot.joints.values():
            self._add(joint)
        self.root = self._find_root()

    def _add(self, joint: UrdfJoint) -> None:
        for end in (joint.parent, joint.child):
            if end not in self.robot.links:
                what = f"joint '{joint.name}' joins a missing link '{end}'"
                raise RobotFileError(what, where=joint.where, valid=nearest(end, self.robot.links))
        if joint.parent == joint.child:
            what = f"a loop: joint '{joint.name}' joins link '{joint.child}' with itself"
            raise RobotFileError(what, where=joint.where, valid="a tree")
        if joint.child in self.parent:
            other = self.parent[joint.child].name
            what = f"link '{joint.child}' is the child of two joints, '{other}' and '{joint.name}'"
            raise RobotFileError(what, where=joint.where, valid="a tree: one parent per link")
        self.children[joint.parent].append(joint)
        self.parent[joint.child] = joint

    def _find_root(self) -> str:
        roots = [name for name in self.robot.links if name not in self.parent]
        if not self.robot.links:
            raise RobotFileError("the robot has no link", where=self.where, valid="at least two links and a joint")
        if len(roots) > 1:
            what = f"several links have no parent: {', '.join(roots[:10])}"
            raise RobotFileError(what, where=self.robot.links[roots[1]].where, valid="one root")
        reached = {joint.child for root in roots for joint in self.below(root)}
        in_loop = [name for name in self.robot.links if name not in reached and name not in roots]
        if in_loop:
            what = f"the joints form a loop through the links {', '.join(in_loop[:10])}"
            raise RobotFileError(what, where=self.parent[in_loop[0]].where, valid="a tree")
        return roots[0]

    def below(self, link: str) -> Iterator[UrdfJoint]:
        """All joints of the subtree that hangs on `link`, parents first."""
        stack = list(reversed(self.children[link]))
        while stack:
            joint = stack.pop()
            yield joint
            stack += reversed(self.children[joint.child])

    def base_link(self, chosen: str | None) -> str:
        """The base link: the chosen one, or the root.

        Raises:
            NameNotFoundError: if there is no such link.
        """
        if chosen is None:
            return self.root
        self._require(chosen, "base_link", list(self.robot.links))
        return chosen

    def end_links(self, base: str, chosen: Sequence[str]) -> list[str]:
        """Return the end-effector links: the chosen ones, or the leaves with the most movable joints above them.

        Of several that are fixed to one body it is the `end_effector` of that body, with a warning. Of several bodies
        they are the leaves with the most joints above them.

        Raises:
            NameNotFoundError: if there is no such link below `base`.
        """
        below = [base, *(joint.child for joint in self.below(base))]
        for link in chosen:
            self._require(link, "ee_link", below)
        if chosen:
            return list(chosen)
        leaves = self.leaves(base)
        depth = {leaf: self._depth(base, leaf) for leaf in leaves}
        most, _ = max(depth.values())
        bodies: dict[str, list[str]] = {}
        for leaf in leaves:
            if depth[leaf][0] == most:
                bodies.setdefault(self._body(base, leaf), []).append(leaf)
        (body, ends), *others = bodies.items()
        if others:
            return [leaf for leaf in leaves if depth[leaf] == max(depth.values())]
        found = self.end_effector(body)
        if ends != [found]:
            what = f"the end effector is '{found}'; links at the end of the same body: {listed(ends)}"
            warnings.warn(f"{self.where}: {what}; {option('ee_link')} chooses", EndEffectorWarning, stacklevel=2)
        return [found]

    def end_effector(self, link: str, moves: Callable[[UrdfJoint], bool] | None = None) -> str:
        """Return the link where the last body of an arm works.

        It is the only leaf; else the link whose name says so, by the order of `TOOLS`; else the link that carries a
        hand; else the farthest one. Links beyond the joints of a hand do not count.

        Args:
            link: The first link of the body, moved by the last joint.
            moves: Tells which joints move, by default `is_movable`; links beyond others are fixed to the body.
        """
        moves = moves or (lambda joint: joint.is_movable)
        fixed, hands = [link], []
        for above in fixed:  # grows meanwhile
            if any(map(moves, self.children[above])) or self._is_hand(above):
                hands.append(above)
            fixed += [j.child for j in self.children[above] if not (moves(j) or (j.can_move and self._is_hand(above)))]
        leaves = [name for name in fixed if not self.children[name]]
        if not hands and len(leaves) == 1:
            return leaves[0]
        named = ([name for name in fixed if tool.search(name) and not SENSOR.search(name)] for tool in TOOLS)
        return next(filter(None, named), hands or fixed)[-1]

    def select_arm(self, base: str, ee_link: str | None, locked: Mapping[str, Sequence[float]]) -> Selection:
        """Select the arm: the longest chain of actuated joints from the base link, without its gripper.

        Where a link carries several chains, as a hand carries fingers, and more joints are above it than in any of
        them, the arm ends there. At a torso it goes on, into the longest chain, the first of equal ones. A single jaw
        at the end is known by its name, `JAW`. All other joints are held, at zero or the nearest position that they
        may have.

        Args:
            base: The base link.
            ee_link: The end effector, where it is chosen: the arm is the chain to it; default: see `end_effector`.
            locked: Positions of joints that are held in any case; they replace what would be chosen.

        Raises:
            NameNotFoundError: for an `ee_link` that is no link below the base link.
            RobotFileError: if nothing moves, or a joint of the chain has several positions or follows another joint.
        """
        walk = _Walk(self, locked)
        chain, others = walk.arm(base, 0) if ee_link is None else (walk.to(base, ee_link), [])
        if not chain:
            raise RobotFileError("no joint moves that could be an arm's", where=self.where, valid="one at least")
        for joint in chain:
            if joint.mimic is not None:
                what = f"joint '{joint.name}' of the arm follows '{joint.mimic.leader}'"
                raise RobotFileError(what, where=joint.where, valid=SINGLE_JOINTS)
        moving = [joint.name for joint in chain]
        idle = [joint for joint in self.below(base) if joint.is_movable and joint.name not in moving]
        held = {joint.name: joint.rest for joint in idle if joint.mimic is None or joint.mimic.leader in moving}
        beyond = {joint.name for joint in self.below(chain[-1].child)}
        return Selection(
            joints=tuple(moving),
            ee_link=ee_link or self.end_effector(chain[-1].child, walk.moves),
            held={**held, **{name: tuple(at) for name, at in locked.items()}},
            gripper=tuple(name for name in held if name in beyond),
            others=tuple(others),
        )

    def _is_hand(self, link: str) -> bool:
        """Return whether a link carries fingers: several joints that can move, or one with the name of a jaw's."""
        joints = [joint for joint in self.children[link] if joint.can_move]
        return len(joints) > 1 or any(JAW.search(joint.name) for joint in joints)

    def _body(self, base: str, link: str) -> str:
        """Return the first link of the body that a link is part of."""
        return next((joint.child for joint in reversed(self.chain(base, link)) if joint.is_movable), base)

    def leaves(self, link: str) -> list[str]:
        """Links at or below `link` that carry no other."""
        return [name for name in (link, *(joint.child for joint in self.below(link))) if not self.children[name]]

    def is_held(self, base: str, link: str) -> bool:
        """Whether only fixed joints are between `base` and `link`, below it."""
        return not any(joint.is_movable for joint in self.chain(base, link))

    def off_chain(self, base: str, end: str) -> list[UrdfJoint]:
        """Movable joints below `base` that are not between it and `end`."""
        chain = {joint.name for joint in self.chain(base, end)}
        return [joint for joint in self.below(base) if joint.is_movable and joint.name not in chain]

    def _depth(self, base: str, leaf: str) -> tuple[int, int]:
        chain = self.chain(base, leaf)
        return sum(joint.is_movable for joint in chain), len(chain)

    def chain(self, base: str, end: str) -> list[UrdfJoint]:
        """Joints from `base` to `end`, a link below it, in order."""
        joints: list[UrdfJoint] = []
        while end != base:
            joints.append(self.parent[end])
            end = self.parent[end].parent
        return joints[::-1]

    def _require(self, name: str, given: str, links: list[str]) -> None:
        if name not in links:
            raise NameNotFoundError(f"{option(given)}: no link '{name}'", where=self.where, valid=nearest(name, links))


class _Walk:
    """Chains of actuated joints in a tree; joints that are locked, or of another kind, count as fixed.

    Args:
        tree: Links and joints.
        locked: Names of joints that are held.
    """

    def __init__(self, tree: UrdfTree, locked: Container[str]) -> None:
        self._tree, self._locked = tree, locked

    def moves(self, joint: UrdfJoint) -> bool:
        """Return whether a joint could be an arm's."""
        return joint.kind in ARM and joint.name not in self._locked

    def _next(self, link: str) -> list[UrdfJoint]:
        """Return joints that move what hangs on a link, the first of each branch."""
        found = []
        for joint in self._tree.children[link]:
            found += [joint] if self.moves(joint) else self._next(joint.child)
        return found

    def _depth(self, joint: UrdfJoint) -> int:
        """Return the number of actuated joints on the longest chain from a joint on, itself included."""
        return (joint.mimic is None) + max(map(self._depth, self._next(joint.child)), default=0)

    def to(self, base: str, link: str) -> list[UrdfJoint]:
        """Return the chain to a link."""
        self._tree.end_links(base, (link,))  # raises if it is not there
        return [joint for joint in self._tree.chain(base, link) if self.moves(joint)]

    def arm(self, link: str, above: int) -> tuple[list[UrdfJoint], list[str]]:
        """Return the arm that hangs on a link with so many joints above it, and end effectors of others as long."""
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
                others.append(self._tree.end_effector(last.child, self.moves))
            chain.append(first)
            link = first.child
        if not all(JAW.search(joint.name) for joint in chain):  # else they are a hand's
            while JAW.search(chain[-1].name):
                chain.pop()
        return chain, others
