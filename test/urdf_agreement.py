"""Robots from URDF files beside Pinocchio's models of the same files."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
from evaluation import assert_close, evaluate
from robots import PINOCCHIO_ORDER, random_state

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import JointKind
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers.urdf import ROOT_JOINT


def reference_of(text: str, base: str) -> pin.Model:
    """Pinocchio's model; it takes no notice of mimic and couples no joints."""
    root = (pin.JointModelFreeFlyer(), ROOT_JOINT) if base == "floating" else ()
    return pin.buildModelFromXML(text, *root)


def projection(model: RobotModel, reference: pin.Model) -> np.ndarray:
    """E with (velocity of Pinocchio's model) = E v: it numbers joints otherwise, and couples none."""
    E = np.zeros((reference.nv, model.nv))
    for link, indices in zip(model.links, model.v_ranges, strict=True):
        start = reference.joints[reference.getJointId(link.joint.name)].idx_v
        scale = link.joint.coupling.multiplier if link.joint.coupling else 1.0
        E[range(start, start + len(indices)), indices] = scale
    return E


def configuration(model: RobotModel, reference: pin.Model, q: np.ndarray) -> np.ndarray:
    result = pin.neutral(reference)
    for link, indices in zip(model.links, model.q_ranges, strict=True):
        joint = reference.joints[reference.getJointId(link.joint.name)]
        part, coupling = q[list(indices)], link.joint.coupling
        if coupling:
            part = coupling.multiplier * part + coupling.offset
        if link.joint.kind is JointKind.FREE:
            part = np.concatenate([part[:3], part[3:] / np.linalg.norm(part[3:])])
        elif link.joint.kind is JointKind.PLANAR or joint.nq == 2:
            part = np.array([*part[:-1], np.cos(part[-1]), np.sin(part[-1])])
        result[joint.idx_q : joint.idx_q + joint.nq] = part
    return result


def assert_agrees_with_pinocchio(model: RobotModel, reference: pin.Model, relative: float) -> None:
    """M, C, G, Yr, the end effectors, their Jacobians and the rates of these, at a random state."""
    robot, state, data = RobotExpressions(model), random_state(model, 1), reference.createData()
    E, q = projection(model, reference), configuration(model, reference, state["q"])
    v, a = E @ state["dq"], E @ state["ddq"]
    M, C, G = (evaluate(robot, name, state) for name in "MCG")
    M_reference = pin.crba(reference, data, q)
    assert_close(M, E.T @ (np.triu(M_reference) + np.triu(M_reference, 1).T) @ E, relative)
    assert_close(C, E.T @ pin.computeCoriolisMatrix(reference, data, q, v) @ E, relative)
    assert_close(G, E.T @ pin.computeGeneralizedGravity(reference, data, q), relative)
    same = state | {"dq_r": state["dq"], "ddq_r": state["ddq"]}
    Yr = evaluate(robot, "Yr", same)
    Y = E.T @ pin.computeJointTorqueRegressor(reference, data, q, v, a)
    ids = [reference.getJointId(name) - 1 for name in model.joint_names]
    Y = Y.reshape(model.nv, reference.njoints - 1, 10)[:, ids][:, :, PINOCCHIO_ORDER].reshape(model.nv, -1)
    assert_close(Yr, Y, relative)
    assert_close(Yr @ model.pi, E.T @ pin.rnea(reference, data, q, v, a), relative)
    assert_close(Yr @ model.pi, M @ state["ddq"] + C @ state["dq"] + G.ravel(), relative)
    for name in [effector.name for effector in model.end_effectors] or ["ee"]:
        _check_frame(robot, reference, name, E, relative)


def _check_frame(robot: RobotExpressions, reference: pin.Model, name: str, E: np.ndarray, relative: float) -> None:
    state, data = random_state(robot.model, 1), reference.createData()
    q = configuration(robot.model, reference, state["q"])
    pin.computeJointJacobians(reference, data, q)
    pin.computeJointJacobiansTimeVariation(reference, data, q, E @ state["dq"])
    pin.updateFramePlacements(reference, data)
    world_aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    T = evaluate(robot, f"T_0_{name}", state)
    links = [i for i, frame in enumerate(reference.frames) if frame.type == pin.FrameType.BODY]
    nearest = min(reversed(links), key=lambda i: np.abs(data.oMf[i].homogeneous - T).max().round(9))
    named = {re.sub(r"[^A-Za-z0-9]+", "_", reference.frames[i].name).strip("_"): i for i in links}
    frame = nearest if name == "ee" else named[name]
    assert_close(T, data.oMf[frame].homogeneous, relative)
    J = pin.getFrameJacobian(reference, data, frame, world_aligned)
    assert_close(evaluate(robot, f"J_{name}", state), J @ E, relative)
    J_dot = pin.getFrameJacobianTimeVariation(reference, data, frame, world_aligned)
    assert_close(evaluate(robot, f"J_{name}_dot", state), J_dot @ E, relative)
