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


def assert_derivatives_agree_with_pinocchio(model: RobotModel, reference: pin.Model, relative: float) -> None:
    """CoM, its Jacobian, inverse and forward dynamics and the first-order derivatives of both, at a random state.

    Those along q are along the velocities of both sides, so that E is all that is between them. What follows another
    joint has no counterpart in Pinocchio's forward dynamics: E reduces the derivatives of its inverse dynamics. Where M
    is singular there are no forward dynamics, and no finite numbers either.
    """
    robot, state, data = RobotExpressions(model), random_state(model, 1), reference.createData()
    E, q = projection(model, reference), configuration(model, reference, state["q"])
    v, a = E @ state["dq"], E @ state["ddq"]
    assert_close(evaluate(robot, "com", state), pin.centerOfMass(reference, data, q), relative)
    assert_close(evaluate(robot, "J_com", state), pin.jacobianCenterOfMass(reference, data, q) @ E, relative)
    assert_close(evaluate(robot, "inverse_dynamics", state), E.T @ pin.rnea(reference, data, q, v, a), relative)
    along = ("wrt_q", "wrt_dq")
    given = pin.computeRNEADerivatives(reference, data, q, v, a)
    for name, part in zip(along, given, strict=False):
        assert_close(evaluate(robot, f"inverse_dynamics_{name}", state), E.T @ part @ E, relative)
    M = pin.crba(reference, data, q)
    M = E.T @ (np.triu(M) + np.triu(M, 1).T) @ E
    if not M.diagonal().all():  # a joint that moves no mass: nothing says how it accelerates
        assert not np.isfinite(evaluate(robot, "forward_dynamics", state)).all()
        return
    M_inv = np.linalg.inv(M)
    ddq = M_inv @ (state["tau"] - E.T @ pin.nonLinearEffects(reference, data, q, v))
    assert_close(evaluate(robot, "M_inv", state), M_inv, relative)
    assert_close(evaluate(robot, "forward_dynamics", state), ddq, relative)
    given = pin.computeRNEADerivatives(reference, data, q, v, E @ ddq)
    for name, part in zip(along, given, strict=False):
        assert_close(evaluate(robot, f"forward_dynamics_{name}", state), -M_inv @ E.T @ part @ E, relative)


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
