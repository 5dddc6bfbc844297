"""URDF texts of arms with torsos, hands and jaws, and of random trees, to select an arm in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

LIMIT = '<limit lower="-2" upper="2" velocity="3" effort="40"/>'
BODY = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>'
    '<inertia ixx="0.002" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.003"/></inertial>'
)


def link(name: str, *, massless: bool = False) -> str:
    return f'<link name="{name}">{"" if massless else BODY}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", axis: str = "0 0 1", more: str = LIMIT) -> str:
    place = '<origin xyz="0.2 0 0.05"/>'
    ends = f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>'
    return f'<joint name="{name}" type="{kind}">{place}{ends}{"" if kind == "fixed" else more}</joint>'


def robot(parts: Iterable[str]) -> str:
    return f'<robot name="described">{"".join(parts)}</robot>'


def chain(prefix: str, parent: str, count: int, more: str = LIMIT) -> list[str]:
    """Links `<prefix>1` and so on, each moved by the joint `<prefix>1_joint`, about y and z in turn."""
    parts = []
    for i in range(1, count + 1):
        name = f"{prefix}{i}"
        parts += [link(name), joint(f"{name}_joint", parent, name, axis="0 1 0" if i % 2 else "0 0 1", more=more)]
        parent = name
    return parts


def arm(joints: int = 6, more: str = LIMIT) -> str:
    """A plain chain from `base` to `arm<joints>`."""
    return robot([link("base"), *chain("arm", "base", joints, more)])


def hand(parent: str, fingers: int, joints: int) -> list[str]:
    """A palm with fingers; the first joint of the second finger follows that of the first."""
    name = f"{parent}_palm"
    parts = [link(name), joint(f"{name}_joint", parent, name, "fixed")]
    for i in range(fingers):
        parts += chain(f"{name}_finger{i}_", name, joints)
    follows = f'{LIMIT}<mimic joint="{name}_finger0_1_joint"/>'
    old = joint(f"{name}_finger1_1_joint", name, f"{name}_finger1_1", axis="0 1 0")
    new = joint(f"{name}_finger1_1_joint", name, f"{name}_finger1_1", axis="0 1 0", more=follows)
    return [new if part == old else part for part in parts]


def random_tree(seed: int) -> str:
    """Up to 20 links, each on one before it, by joints of many types, fixed ones, and some that follow another."""
    rng = np.random.default_rng(seed)
    parts, leaders = [link("link0")], [""]
    kinds: Sequence[str] = ("revolute", "revolute", "continuous", "prismatic", "fixed", "floating")
    for i in range(1, int(rng.integers(2, 21))):
        parent, kind = f"link{rng.integers(max(0, i - 4), i)}", str(rng.choice(kinds))
        name, more = f"joint{i}", LIMIT
        if kind in kinds[:4]:
            leader = str(rng.choice(leaders))
            if leader and rng.random() < 0.3:
                more += f'<mimic joint="{leader}" multiplier="-0.5"/>'
            else:
                leaders.append(name)
        parts += [link(f"link{i}"), joint(name, parent, f"link{i}", kind, more=more if kind in kinds[:4] else "")]
    return robot(parts)
