"""Robots for the tests: fixed examples, random trees, and Pinocchio's independent model of any of them."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pinocchio as pin

from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import in_plane
from thunder_dynamics.model import Frame, Joint, JointKind, Link, Pose, RobotModel
from thunder_dynamics.spatial import rot_axis, rotation_from_ypr, vector

PINOCCHIO_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
"""Indices that take our [xx, xy, xz, yy, yz, zz] to Pinocchio's [xx, xy, yy, xz, yz, zz] and back."""


def random_inertia(rng: np.random.Generator) -> Inertia:
    """A body that exists: a density on a cloud of 8 points."""
    points, masses = rng.normal(scale=0.1, size=(8, 3)), rng.uniform(0.05, 0.5, size=8)
    com = masses @ points / masses.sum()
    arms = points - com
    second = (arms * masses[:, None]).T @ arms
    inertia = np.trace(second) * np.eye(3) - second
    return Inertia(masses.sum(), com, 0.5 * (inertia + inertia.T))


def random_robot(seed: int, n: int | None = None, *, tree: bool = False, dh: bool | None = None) -> RobotModel:
    """A random robot of 2 to 12 revolute and prismatic joints: DH rows or free placements and axes, chain or tree."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 13)) if n is None else n
    use_dh = bool(rng.integers(2)) if dh is None else dh
    links = []
    for i in range(n):
        kind = JointKind.PRISMATIC if rng.random() < 0.3 else JointKind.REVOLUTE
        parent = _random_parent(rng, links) if tree else i - 1
        joint = _dh_joint(rng, i, kind) if use_dh else _free_joint(rng, i, kind)
        links.append(Link(f"link{i + 1}", parent, joint, random_inertia(rng)))
    base = Frame(tuple(rng.normal(size=3)), tuple(rng.uniform(-1.5, 1.5, 3)))
    ee = Frame(tuple(rng.normal(scale=0.2, size=3)), tuple(rng.uniform(-1.5, 1.5, 3)))
    return RobotModel("random_robot", tuple(links), base, ee, gravity=tuple(rng.normal(scale=9.81, size=3)))


def _random_parent(rng: np.random.Generator, links: list[Link]) -> int:
    """The base or a link on the path to the last one: Pinocchio numbers joints depth first."""
    path, index = [-1], len(links) - 1
    while index >= 0:
        path.append(index)
        index = links[index].parent
    return int(rng.choice(path))


def _dh_joint(rng: np.random.Generator, i: int, kind: JointKind) -> Joint:
    a, d = rng.normal(scale=0.3, size=2)
    alpha = float(rng.choice([0.0, np.pi / 2, -np.pi / 2, rng.uniform(-3, 3)]))
    row = (float(a), alpha, float(d), float(rng.uniform(-3, 3)))
    return Joint(f"joint{i + 1}", kind, dh_placement(*row), dh=row)


def dh_placement(a: float, alpha: float, d: float, theta: float) -> Pose:
    """Modified DH transform at q = 0, written out on its own: Tx(a) Rx(α) Tz(d) Rz(θ)."""
    ca, sa, ct, st = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
    R = np.array([[ct, -st, 0], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]])
    return Pose(R, np.array([a, -d * sa, d * ca]))


def _free_joint(rng: np.random.Generator, i: int, kind: JointKind) -> Joint:
    axis = rng.normal(size=3)
    if rng.random() < 0.5:
        axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    axis = axis / np.linalg.norm(axis)
    placement = Pose(rotation_from_ypr(*rng.uniform(-3, 3, 3)), rng.normal(scale=0.3, size=3))
    return Joint(f"joint{i + 1}", kind, placement, tuple(float(x) for x in axis))


def general_robot(seed: int, n: int = 7) -> RobotModel:
    """A random tree with joints of all kinds, a free one first; planar joints about z, as Pinocchio's are."""
    rng = np.random.default_rng(seed)
    kinds = [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.PLANAR, JointKind.SPHERICAL, JointKind.FREE]
    robot = random_robot(seed, n, tree=True, dh=False)
    links = []
    for i, link in enumerate(robot.links):
        kind = JointKind.FREE if i == 0 else kinds[i - 1] if i < 5 else kinds[rng.integers(4)]
        axis = (0.0, 0.0, 1.0) if kind is JointKind.PLANAR else link.joint.axis
        links.append(replace(link, joint=replace(link.joint, kind=kind, axis=axis)))
    return replace(robot, links=tuple(links))


def with_rotors(model: RobotModel, seed: int) -> RobotModel:
    """Rotors from none to more than the links' own inertia at some of the joints with one velocity, one at least."""
    rng = np.random.default_rng(seed)
    single = [link.joint.name for link in model.links if link.joint.is_single]
    chosen = {name: float(rng.choice([0.0, rng.uniform(0.0, 2.0)])) for name in single if rng.random() < 0.7}
    return model.with_rotor_inertias({**chosen, single[0]: 0.3})


def helical(pitch: float) -> JointKind:
    return JointKind("helical", lambda q, axis: (rot_axis(axis, q[0]), vector([pitch * q[0] * a for a in axis])))


def on_a_curve() -> JointKind:
    """A carriage that turns as it goes along a space curve: S depends on q."""

    def transform(q: ca.SX, axis: object) -> tuple[object, object]:
        s = q[0]
        return rot_axis((0.0, 0.6, 0.8), ca.sin(s)), vector([ca.cos(s), s * s, 0.3 * s**3])

    return JointKind("rail", transform)


_PINOCCHIO = {
    JointKind.REVOLUTE: lambda axis: pin.JointModelRevoluteUnaligned(axis),
    JointKind.PRISMATIC: lambda axis: pin.JointModelPrismaticUnaligned(axis),
    JointKind.UNIVERSAL: lambda axis: pin.JointModelUniversal(np.array(axis), np.asarray(in_plane(axis)[0])),
    JointKind.PLANAR: lambda axis: pin.JointModelPlanar(),
    JointKind.SPHERICAL: lambda axis: pin.JointModelSpherical(),
    JointKind.FREE: lambda axis: pin.JointModelFreeFlyer(),
}


def pinocchio_configuration(model: RobotModel, q: np.ndarray) -> np.ndarray:
    """q as Pinocchio has it: unit quaternions, and cosine and sine of the angle of a planar joint."""
    parts = []
    for link, indices in zip(model.links, model.q_ranges, strict=True):
        part = q[list(indices)]
        if link.joint.kind is JointKind.PLANAR:
            part = np.array([*part[:2], np.cos(part[2]), np.sin(part[2])])
        elif link.joint.kind in (JointKind.SPHERICAL, JointKind.FREE):
            part = np.concatenate([part[:-4], part[-4:] / np.linalg.norm(part[-4:])])
        parts.append(part)
    return np.concatenate(parts)


def pinocchio_model(model: RobotModel) -> pin.Model:
    """The same robot in Pinocchio, from placements, axes and inertias; frame "ee" at the end effector."""
    result = pin.Model()
    result.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    base = pin.SE3(rotation_from_ypr(*model.base.ypr), np.array(model.base.tr))
    ids, armature = {-1: 0}, []
    for i, link in enumerate(model.links):
        joint = link.joint
        placement = pin.SE3(joint.placement.rotation, joint.placement.translation)
        placement = base * placement if link.parent < 0 else placement
        ids[i] = result.addJoint(ids[link.parent], _PINOCCHIO[joint.kind](np.array(joint.axis)), placement, joint.name)
        body = pin.Inertia(link.inertia.mass, link.inertia.com, link.inertia.inertia_com)
        result.appendBodyToJoint(ids[i], body, pin.SE3.Identity())
        armature += [joint.rotor_inertia or 0.0] * joint.kind.nv
    ee = pin.SE3(rotation_from_ypr(*model.ee.ypr), np.array(model.ee.tr))
    result.armature = np.array(armature)
    result.addFrame(pin.Frame("ee", ids[model.ee_link], 0, ee, pin.FrameType.OP_FRAME))
    return result


def random_state(model: RobotModel, seed: int) -> dict[str, np.ndarray]:
    """Signals of order one; quaternions are not of unit length."""
    rng = np.random.default_rng(seed)
    sizes = {"q": model.nq} | dict.fromkeys(("dq", "ddq", "dq_r", "ddq_r", "d3q", "tau"), model.nv)
    return {name: rng.uniform(-2, 2, size) for name, size in sizes.items()}
