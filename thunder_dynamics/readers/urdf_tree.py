"""The kinematic tree of a URDF: its root, its leaves, and the chain between two links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thunder_dynamics.errors import NameNotFoundError, RobotFileError, nearest, option
from thunder_dynamics.readers.urdf_elements import UrdfJoint, UrdfRobot


class UrdfTree:
    """Links joined by joints, checked to be one tree.

    Args:
        robot: The elements.
        where: Name of the file, for messages.

    Raises:
        RobotFileError: for a missing link, a link with two parents, a loop, or links that nothing joins.
    """

    def __init__(self, robot: UrdfRobot, where: str) -> None:
        self.robot = robot
        self.where = where
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
        """The end-effector links: the chosen ones, or the leaves with the most movable, then most, joints above them.

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
        deepest = max(depth.values())
        return [leaf for leaf in leaves if depth[leaf] == deepest]

    def leaves(self, link: str) -> list[str]:
        """Links at or below `link` that carry no other."""
        return [name for name in (link, *(joint.child for joint in self.below(link))) if not self.children[name]]

    def carrier(self, base: str, links: Sequence[str]) -> str:
        """The link farthest from `base` that is above, or one of, all of `links`."""
        paths = [[base, *(joint.child for joint in self.chain(base, link))] for link in links]
        levels: list[tuple[str, ...]] = list(zip(*paths, strict=False))
        return [level[0] for level in levels if len(set(level)) == 1][-1]

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
