"""URDF text → MuJoCo model with torque motors, and rigid-body inertias in and out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import FloatArray
from thunder_dynamics.errors import NameNotFoundError, RobotFileError, ScenarioError, nearest, option
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Elasticity
from thunder_dynamics.readers.urdf_elements import parse_xml

TERMS = 3
"""Number of terms of the polynomials that stiffness and damping of MuJoCo's joints and tendons are."""


def read_spec(urdf: str, where: str, contacts: bool = False) -> Any:
    """Parse a URDF into an `MjSpec` without what the dynamics do not need, so that no mesh file is looked for.

    Raises:
        ScenarioError: if the text is no XML, has a document type, is no <robot> (MuJoCo's own format names files), or
            MuJoCo cannot read it.
    """
    try:
        root = parse_xml(urdf, where)
    except RobotFileError as error:
        raise ScenarioError(error.what, where=error.where, valid=error.valid) from error
    if root.tag != "robot":
        raise ScenarioError(f"the top-level element is <{root.tag}>", where=where, valid="<robot>")
    etree.strip_elements(root, "visual", *(() if contacts else ("collision",)), with_tail=False)
    try:
        return mujoco.MjSpec.from_string(etree.tostring(root, encoding="unicode"))
    except ValueError as error:
        raise ScenarioError(f"MuJoCo cannot read it: {_one_line(error)}", where=where, valid="a URDF") from error


def build_spec(urdf: str, joints: Sequence[str], where: str, contacts: bool) -> Any:
    """Parse a URDF into an `MjSpec` with one torque motor per joint, named as the joint, in the order of `joints`.

    Static links stay bodies of their own, so that payloads and end effectors find them by name. They have no inertia,
    which nothing feels, and which in many files is none of a body.

    Raises:
        ScenarioError: if MuJoCo cannot read it, or its joints are not `joints`.
    """
    spec = read_spec(urdf, where, contacts)
    found = [joint.name for joint in spec.joints]
    if sorted(found) != sorted(joints):
        valid = f"the controller's: {', '.join(joints)}; others fixed, or locked by {option('locked_joints')}"
        raise ScenarioError(f"the plant's joints are {', '.join(found)}", where=where, valid=valid)
    spec.compiler.fusestatic = False
    _leave_out_static_inertias(spec.worldbody)
    for name in joints:
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
    # A state that blows up must be seen, not silently put back to zero.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if not contacts:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return spec


def _leave_out_static_inertias(parent: Any) -> None:
    for body in parent.bodies:
        if not body.joints:
            body.explicitinertial, body.mass, body.inertia, body.fullinertia = (
                False,
                0.0,
                np.zeros(3),
                np.full(6, np.nan),
            )
            _leave_out_static_inertias(body)


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


def refusal(urdf: str, where: str, joints: Sequence[str] | None = None) -> str | None:
    """Return why MuJoCo cannot simulate a robot whose equations others take, such as a massless link; None if it can.

    Args:
        urdf: Its description.
        where: The description's name, for messages.
        joints: Those it must have; its own if None.

    Raises:
        ScenarioError: if it is no URDF, which no other engine takes either.
    """
    own = tuple(joint.name for joint in read_spec(urdf, where).joints)
    try:
        compile_spec(build_spec(urdf, joints or own, where, contacts=False), where)
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
