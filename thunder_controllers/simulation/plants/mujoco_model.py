"""Links of a robot → MuJoCo model with torque motors, and rigid-body inertias in and out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_controllers.mesh import find_file, read_mesh, scaled
from thunder_dynamics.errors import NameNotFoundError, ScenarioError, ThunderError, nearest, option
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Elasticity, Limits, Pose
from thunder_dynamics.locking import Assembly, Shape, locked_pose
from thunder_dynamics.model import Link

TERMS = 3
"""Number of terms of the polynomials that stiffness and damping of MuJoCo's joints and tendons are."""

MOST_TRIANGLES = 4000
"""Of a mesh that collides, whose convex hull counts."""

FARTHEST = 1e6
"""End of a range that is limited on one side alone [rad or m]."""


def build_spec(assembly: Assembly, joints: Sequence[str], where: str, contacts: bool) -> Any:
    """Build an `MjSpec` with one torque motor per joint, named as the joint, in the order of `joints`.

    The world is that of the model. The base link is fixed in it, or the first joint moves what hangs on it. Links that
    are held stay bodies of their own, so that payloads and end effectors find them by name; what the base holds has no
    inertia, which nothing feels, and which in many files is none of a body. Effort limits saturate the motors.

    Raises:
        ScenarioError: if the joints that move are not `joints`, one has several positions or follows another one, or a
            mesh that collides cannot be read.
    """
    if sorted(assembly.joint_names) != sorted(joints):
        valid = f"the controller's: {', '.join(joints)}; others fixed, or locked by {option('locked_joints')}"
        raise ScenarioError(f"the plant's joints are {', '.join(assembly.joint_names)}", where=where, valid=valid)
    spec = mujoco.MjSpec()
    spec.modelname = assembly.model.name
    spec.compiler.degree, spec.compiler.fusestatic = False, False
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    bodies = _add_links(spec, assembly, where)
    for shape in assembly.shapes if contacts else ():
        if shape.collides and shape.link in bodies:
            _add_shape(spec, bodies[shape.link], shape, where)
    for name in joints:
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
    # A state that blows up must be seen, not silently put back to zero.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if not contacts:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return spec


def _add_links(spec: Any, assembly: Assembly, where: str) -> dict[str, Any]:
    """Add a body for the base and each link, with its joint where it moves, its inertia where something moves it."""
    model, moving = assembly.model, set[str]()
    names = (assembly.base, *model.link_names)
    root = spec.worldbody.add_body(name=_body_name(names[0]), **_placed(model.base.pose))
    bodies = {names[0]: root}
    for link, name in zip(model.links, names[1:], strict=True):
        parent, joint = names[link.parent + 1], link.joint
        is_held = joint.name in assembly.held
        still = replace(joint, limits=Limits())
        pose = locked_pose(still, assembly.held[joint.name], where) if is_held else joint.placement
        bodies[name] = body = bodies[parent].add_body(name=_body_name(name), **_placed(pose))
        if not is_held:
            _add_joint(body, link, where)
        if not is_held or parent in moving:
            moving.add(name)
            set_inertia(body, link.inertia)
    return bodies


def _body_name(link: str) -> str:
    """Return the body's name, which is the link's; MuJoCo keeps `world` for its own."""
    return f"{link}_link" if link == "world" else link


def _placed(pose: Pose) -> dict[str, Any]:
    quaternion = Rotation.from_matrix(pose.rotation).as_quat()[[3, 0, 1, 2]]
    return {"pos": pose.translation, "quat": quaternion}


JOINTS = {"revolute": mujoco.mjtJoint.mjJNT_HINGE, "prismatic": mujoco.mjtJoint.mjJNT_SLIDE}
"""Kinds of joints that MuJoCo has a motor for."""


def _add_joint(body: Any, link: Link, where: str) -> None:
    joint, limits = link.joint, link.joint.limits
    if joint.kind.name not in JOINTS or joint.coupling is not None:
        what = f"joint {joint.name} {'follows another' if joint.coupling else f'is {joint.kind.name}'}"
        raise ScenarioError(what, where=where, valid="joints of one position of their own, or engine: model")
    added = body.add_joint(name=joint.name, type=JOINTS[joint.kind.name], axis=joint.axis)
    if len(link.friction) > TERMS:
        what = f"{len(link.friction)} terms of friction of joint {joint.name}"
        raise ScenarioError(what, where=where, valid=f"{TERMS} at most, or engine: model")
    added.damping = np.pad(link.friction, (0, TERMS - len(link.friction)))
    added.frictionloss = link.coulomb
    on, off = mujoco.mjtLimited.mjLIMITED_TRUE, mujoco.mjtLimited.mjLIMITED_FALSE
    added.limited = on if np.isfinite([limits.lower, limits.upper]).any() else off
    if added.limited == on:
        added.range = np.clip([limits.lower, limits.upper], -FARTHEST, FARTHEST)
    added.actfrclimited = on if np.isfinite(limits.effort) else off
    if added.actfrclimited == on:
        added.actfrcrange = -limits.effort, limits.effort


def _add_shape(spec: Any, body: Any, shape: Shape, where: str) -> None:
    """Add what a link touches others with; of a mesh MuJoCo takes the convex hull."""
    if shape.kind == "mesh":
        try:
            mesh = scaled(read_mesh(find_file(shape.file, Path(where), {}), MOST_TRIANGLES), shape.size)
        except ThunderError as error:
            what = f"link {shape.link}: {error.where or ''} {error.what}"
            raise ScenarioError(what, where=where, valid=error.valid) from error
        name = f"collision_{len(spec.meshes)}"
        spec.add_mesh(name=name, uservert=mesh.vertices.ravel(), userface=mesh.faces.ravel())
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, **_placed(shape.origin))
        return
    size = np.array(shape.size, dtype=float)
    if shape.kind == "box":
        size = 0.5 * size
    elif shape.kind in ("cylinder", "capsule"):
        size = size * (1.0, 0.5)
    geom = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}")
    body.add_geom(type=geom, size=np.pad(size, (0, 3 - len(size))), **_placed(shape.origin))


def set_offsets(spec: Any, offsets: Mapping[str, float]) -> None:
    """Let the motors of joints give their effort, within its limits, less an offset that no limit cuts."""
    for name, offset in offsets.items():
        if offset == 0.0:  # a plain motor, which the system for ros2_control knows alone
            continue
        motor, joint = spec.actuator(name), spec.joint(name)
        motor.biastype, motor.biasprm[0] = mujoco.mjtBias.mjBIAS_AFFINE, -offset
        lower, upper = joint.actfrcrange
        if lower < upper:  # else there is no limit
            joint.actfrcrange = lower - offset, upper - offset


def add_spring(spec: Any, joint: str, elastic: Elasticity, where: str) -> None:
    """Put a motor before a joint, which its actuator drives instead, with a spring and damper between them.

    The motor is a body that turns by x about an axis through its centre and touches nothing: Mm ẍ = τ_m − dm − k − d,
    whether the joint turns or slides. The spring is a tendon of length x − q.

    Raises:
        ScenarioError: for more terms than MuJoCo has: v, |v| v and |v|² v of each.
    """
    terms = [x for K in elastic.K for x in (K, 0.0)][:-1], elastic.D, elastic.Dm
    if max(map(len, terms)) > TERMS:
        valid = f"K_order up to 2, D_order and Dm_order up to {TERMS}, or engine: model"
        raise ScenarioError("more terms than MuJoCo has", where=f"{where}: elastic joint {joint}", valid=valid)
    stiffness, damping, friction = (np.pad(row, (0, TERMS - len(row))) for row in terms)
    body = spec.worldbody.add_body(name=f"{joint}_motor", explicitinertial=True, mass=1.0, inertia=3 * [elastic.Mm])
    motor = body.add_joint(name=f"{joint}_motor", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0.0, 0.0, 1.0])
    motor.damping = friction
    link = spec.joint(joint)
    motor.actfrcrange, motor.actfrclimited = link.actfrcrange, link.actfrclimited
    spec.actuator(joint).target = motor.name
    tendon = spec.add_tendon(name=f"{joint}_spring", stiffness=stiffness, damping=damping)
    tendon.springlength = [0.0, 0.0]
    tendon.wrap_joint(motor.name, 1.0)
    tendon.wrap_joint(joint, -1.0)


def compile_spec(spec: Any, where: str, state: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """Compile, or recompile keeping the state (model, data).

    Raises:
        ScenarioError: with MuJoCo's reason, such as a moving body without mass.
    """
    try:
        if state is not None:
            model, data = spec.recompile(*state)
            return model, data
        model = spec.compile()
    except ValueError as error:
        what = f"MuJoCo cannot build it: {_one_line(error)}"
        raise ScenarioError(what, where=where, valid="a body with mass and inertia, or engine: model") from error
    return model, mujoco.MjData(model)


def refusal(assembly: Assembly, where: str, joints: Sequence[str] | None = None) -> str | None:
    """Return why MuJoCo cannot simulate a robot whose equations others take, such as a massless link; None if it can.

    Args:
        assembly: Its links.
        where: Names the description in messages.
        joints: Those it must have; its own if None.
    """
    try:
        compile_spec(build_spec(assembly, joints or assembly.joint_names, where, contacts=False), where)
    except ScenarioError as error:
        return error.what
    return None


def body_named(spec: Any, link: str, where: str) -> Any:
    """Find the body of a link.

    Raises:
        NameNotFoundError: listing the links there are.
    """
    body = spec.body(link)
    if body is None:
        names = [body.name for body in spec.bodies if body.name != "world"]
        raise NameNotFoundError(f"the plant has no link '{link}'", where=where, valid=nearest(link, names))
    return body


def set_inertia(body: Any, inertia: Inertia) -> None:
    """Give a body of the spec another inertia, through its principal axes."""
    moments, axes = np.linalg.eigh(inertia.inertia_com)
    axes = axes * np.linalg.det(axes)  # eigenvectors come as a rotation or a reflection
    body.explicitinertial = True
    body.mass = inertia.mass
    body.ipos = inertia.com
    body.iquat = Rotation.from_matrix(axes).as_quat()[[3, 0, 1, 2]]
    body.fullinertia = np.full(6, np.nan)
    body.inertia = np.maximum(moments, 0.0)


def body_inertia(model: Any, body: int) -> Inertia:
    """Inertia of one compiled body in its own frame."""
    axes = _rotation(model.body_iquat[body])
    tensor = axes @ np.diag(model.body_inertia[body]) @ axes.T
    return Inertia(float(model.body_mass[body]), model.body_ipos[body], 0.5 * (tensor + tensor.T))


def link_inertia(model: Any, body: int) -> Inertia:
    """Inertia of a body and of everything fixed to it, in the frame of `body`."""
    total = body_inertia(model, body)
    for child in range(body + 1, model.nbody):
        if model.body_parentid[child] == body and model.body_jntnum[child] == 0:
            part = link_inertia(model, child)
            total = total + part.transformed(_rotation(model.body_quat[child]), model.body_pos[child])
    return total


def gravity_effort(model: Any, data: Any, qpos: FloatArray) -> FloatArray:
    """G(q) in MuJoCo's order of joints; `data` is overwritten."""
    data.qpos[:], data.qvel[:] = qpos, 0.0
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    return np.array(data.qfrc_bias)


def _rotation(quaternion: Any) -> Any:
    """Rotation matrix of MuJoCo's (w, x, y, z)."""
    return Rotation.from_quat(np.asarray(quaternion)[[1, 2, 3, 0]]).as_matrix()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
