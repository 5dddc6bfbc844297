"""Quantities that have a bound in every robot: beyond it a file says degrees for radians or millimetres for metres.

One table, `CHECKS`, from which `load_model` warns and `thunder check`, `info` and `try` say the same. Bounds are wide:
right files are far below, and a wrong unit is off by 50 or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_dynamics.errors import listed
from thunder_dynamics.joints import JointKind, Pose
from thunder_dynamics.model import RobotModel

POSTURES = 32
"""Random postures at which the effort of gravity is looked at, beside the neutral one."""

SHORTEST = 1.0
"""Reach that every robot is granted [m]: files of one joint have no lengths."""

NONE_MEANT = 1e3
"""From here on a position limit stands for none [rad]; degrees are below."""

SINGLE = (JointKind.REVOLUTE, JointKind.PRISMATIC)

Measured = Iterator[tuple[str, float]]
"""Names of links or joints, and the quantity of each."""


@dataclass(frozen=True)
class Check:
    """A quantity that has a bound in every robot.

    Attributes:
        code: Name of the check, for programs.
        what: The quantity.
        unit: Its unit.
        bound: The most that it may be [unit], or [1] where `scale` has the unit.
        reason: Why no robot has more, and what such a file may mean.
        measure: Gives the quantity by link or joint.
        scale: Gives what the bound is a multiple of.
        is_quick: Whether `load_model` looks at it.
    """

    code: str
    what: str
    unit: str
    bound: float
    reason: str
    measure: Callable[[RobotModel], Measured]
    scale: Callable[[RobotModel], float] = lambda model: 1.0
    is_quick: bool = True


@dataclass(frozen=True)
class Verdict:
    """The greatest quantity of a check in a robot.

    Attributes:
        check: Which.
        names: Links or joints that are beyond the bound, the worst first.
        value: The greatest; zero where there is none.
        bound: The most that it may be.
    """

    check: Check
    names: tuple[str, ...]
    value: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether all are within the bound."""
        return not self.names

    def __str__(self) -> str:
        unit = f" {self.check.unit}".rstrip()
        names = listed(self.names)
        return f"{self.check.what} {self.value:.3g}{unit} ({names}), above {self.bound:.3g}{unit}: {self.check.reason}"


def judge(model: RobotModel) -> Iterator[Verdict]:
    """Yield the verdict of every check, in the order of `CHECKS`; the quick ones first."""
    for check in CHECKS:
        bound = check.bound * check.scale(model)
        found = sorted(((value, name) for name, value in check.measure(model)), reverse=True)
        beyond = tuple(name for value, name in found if value > bound)
        yield Verdict(check, beyond, found[0][0] if found else 0.0, bound)


def find_implausible(model: RobotModel, *, quick: bool) -> list[Verdict]:
    """Return the verdicts that do not hold, of the checks that are quick, as `load_model` warns, or of the others."""
    return [one for one in judge(model) if one.check.is_quick == quick and not one.holds]


def _mass(model: RobotModel) -> float:
    return float(sum(link.inertia.mass for link in model.links))


def _length(model: RobotModel) -> float:
    """Sum of the lengths from the base to the farthest frame [m], `SHORTEST` at least."""
    lengths = np.zeros(model.n + 1)  # the last one is the base's
    for i, link in enumerate(model.links):
        lengths[i] = lengths[link.parent] + np.linalg.norm(link.joint.placement.translation)
    return float(max(SHORTEST, *lengths, lengths[model.ee_link] + np.linalg.norm(model.ee.tr)))


def _size(model: RobotModel) -> float:
    """Inertia of the whole mass at the robot's reach [kg·m²]; infinite where nothing has a mass."""
    return _mass(model) * _length(model) ** 2 or np.inf


def _massless(model: RobotModel) -> Measured:
    if not _mass(model) > 0.0:
        yield model.name, float(model.n)


def _reach(model: RobotModel) -> Measured:
    yield model.name, _length(model)


def _turns(model: RobotModel) -> Measured:
    for joint in (link.joint for link in model.links if link.joint.kind is JointKind.REVOLUTE):
        ends = (abs(joint.limits.lower), abs(joint.limits.upper))
        yield joint.name, max((end for end in ends if end < NONE_MEANT), default=0.0)


def _gyration(model: RobotModel) -> Measured:
    for link in (link for link in model.links if link.inertia.mass > 0.0):
        # Half the trace of the inertia about a point is the mass times its mean square distance.
        square = float(np.trace(link.inertia.inertia_com)) / 2.0 / link.inertia.mass
        yield link.name, math.sqrt(max(square + float(np.sum(link.inertia.com**2)), 0.0))


def _rotors(model: RobotModel) -> Measured:
    for joint in (link.joint for link in model.links if link.joint.kind is JointKind.REVOLUTE):
        yield joint.name, joint.rotor_inertia or 0.0


def _rotors_by_effort(model: RobotModel) -> Measured:
    for joint in (link.joint for link in model.links):
        yield joint.name, (joint.rotor_inertia or 0.0) / joint.limits.effort


def _held(model: RobotModel) -> Measured:
    """Greatest effort of gravity over the effort limit, of the joints of a chain: what has legs has no fixed base."""
    joints = [link.joint for link in model.links]
    is_chain = all(link.parent == i - 1 for i, link in enumerate(model.links))
    if is_chain and all(joint.kind in SINGLE and not joint.coupling for joint in joints):
        efforts = np.max([np.abs(_gravity_efforts(model, q)) for q in _postures(model)], axis=0)
        for joint, effort in zip(joints, efforts, strict=True):
            yield joint.name, float(effort) / joint.limits.effort


def _postures(model: RobotModel) -> NDArray[np.float64]:
    lower, upper = (np.clip(model.limits(end), -math.pi, math.pi) for end in ("lower", "upper"))
    return np.vstack([model.neutral, np.random.default_rng(0).uniform(lower, upper, (POSTURES, model.n))])


def _gravity_efforts(model: RobotModel, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """G(q), shape (n,), of a chain: by the weight of all that a joint moves, and its moment about the joint."""
    poses, here = [], model.base.pose
    for link, position in zip(model.links, q, strict=True):
        here = here @ link.joint.placement @ Pose(*link.joint.kind.transform([position], link.joint.axis))
        poses.append(here)
    gravity, mass, moment, efforts = np.array(model.gravity), 0.0, np.zeros(3), np.zeros(model.n)
    for i in reversed(range(model.n)):
        joint, body, pose = model.links[i].joint, model.links[i].inertia, poses[i]
        mass += body.mass
        moment = moment + body.mass * (pose.rotation @ body.com + pose.translation)
        lever = moment - mass * pose.translation
        load = np.cross(lever, gravity) if joint.kind is JointKind.REVOLUTE else mass * gravity
        efforts[i] = -(pose.rotation @ joint.axis) @ load
    return efforts


CHECKS = (
    Check(
        "no_mass",
        "links, none with a mass:",
        "",
        0.0,
        "nothing that moves has a mass, so nothing needs an effort",
        _massless,
    ),
    Check("reach", "reach", "m", 30.0, "the longest arms reach 18 m; are lengths in mm?", _reach),
    Check(
        "limits_in_degrees",
        "position limit",
        "rad",
        8.0 * math.pi,
        "drives with cables make four turns each way at most; are limits in degrees?",
        _turns,
    ),
    Check(
        "radius_of_gyration",
        "radius of gyration about the joint",
        "m",
        2.0,
        "no mass is twice the robot's reach away; which units have mass, centre and inertia?",
        _gyration,
        _length,
    ),
    Check(
        "rotor",
        "reflected rotor inertia",
        "kg·m²",
        10.0,
        "that is ten times the inertia of the whole mass at the robot's reach; is a gear ratio squared twice?",
        _rotors,
        _size,
    ),
    Check(
        "rotor_by_effort",
        "reflected rotor inertia over effort limit",
        "s²",
        0.1,
        "drives accelerate their own rotors by some 300 rad/s², not by less than 10",
        _rotors_by_effort,
    ),
    Check(
        "gravity_by_effort",
        "effort against gravity over its limit",
        "",
        2.0,
        "springs and counterweights carry half at most; which units have masses, lengths and efforts?",
        _held,
        is_quick=False,
    ),
)
"""All of them, the quick ones first."""
