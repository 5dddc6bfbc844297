"""Kinds of joints: their transforms, subspaces and rates against one another, kinds of one's own, coupled joints."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from evaluation import assert_close, evaluate, numeric
from robots import general_robot, helical, on_a_curve, pinocchio_model, random_robot, random_state

from thunder_controllers.laws.slotine_li import slotine_li
from thunder_dynamics.algorithms.dynamics import coriolis_reference
from thunder_dynamics.algorithms.joint_motion import joint_rate, joint_subspace, joint_transform
from thunder_dynamics.codegen.fingerprint import content_hash
from thunder_dynamics.errors import LawError, ModelError, NameNotFoundError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import Coupling, Elasticity, Joint, JointKind
from thunder_dynamics.model import RobotModel
from thunder_dynamics.spatial import matrix, vector

RELATIVE = 1e-10  # both sides are double precision with a few thousand operations behind them
KINDS = ("REVOLUTE", "PRISMATIC", "UNIVERSAL", "PLANAR", "SPHERICAL", "FREE")
AXES = ((0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (0.48, 0.6, -0.64))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("axis", AXES)
def test_the_twist_of_the_transform_along_its_rate_is_the_subspace_times_v(
    name: str, axis: tuple[float, float, float]
) -> None:
    kind = getattr(JointKind, name)
    joint = Joint("joint", kind, random_robot(1, 1, dh=False).links[0].joint.placement, axis)
    q, v = ca.SX.sym("q", kind.nq), ca.SX.sym("v", kind.nv)
    X, rate = joint_transform(joint, q), joint_rate(joint, q, v)
    R, p = X.rotation, X.translation
    R_dot = ca.reshape(ca.jtimes(ca.vec(R), q, rate), 3, 3)
    twist = ca.vertcat(R.T @ ca.jtimes(p, q, rate), ca.inv_skew(R.T @ R_dot))
    S = ca.horzcat(*(ca.vertcat(*column) for column in joint_subspace(joint, q)))
    rng = np.random.default_rng(3)
    values = rng.normal(size=kind.nq), rng.normal(size=kind.nv)
    assert_close(numeric([q, v], twist, *values), numeric([q, v], S @ v, *values), 1e-14)
    derived = joint_subspace(replace(joint, kind=replace(kind, subspace=None)), q)
    ours = numeric([q], ca.horzcat(*(ca.vertcat(*column) for column in derived)), values[0])
    assert_close(ours, numeric([q], S, values[0]), 1e-14)
    assert_close(numeric([q], R.T @ R, values[0]), np.eye(3), 1e-14)
    at_rest = joint_transform(joint, ca.SX(kind.neutral))
    np.testing.assert_array_equal(np.array(ca.DM(at_rest.rotation)), joint.placement.rotation)


def test_jacobians_are_the_twists_of_their_frames() -> None:
    """J_dot, and J from the pose, by automatic differentiation along q̇ = N v."""
    robot = RobotExpressions(general_robot(5, 6))
    q, v = robot.symbol("q"), robot.symbol("dq")
    rate = robot["N"] @ v
    T, J = robot["T_0_ee"], robot["J_ee"]
    T_dot = ca.reshape(ca.jtimes(ca.vec(T), q, rate), 4, 4)
    twist = ca.vertcat(T_dot[:3, 3], ca.inv_skew(T_dot[:3, :3] @ T[:3, :3].T))
    state = random_state(robot.model, 5)
    values = state["q"], state["dq"]
    assert_close(numeric([q, v], J @ v, *values), numeric([q, v], twist, *values), RELATIVE)
    J_dot = ca.reshape(ca.jtimes(ca.vec(J), q, rate), *J.shape)
    assert_close(evaluate(robot, "J_ee_dot", state), numeric([q, v], J_dot, *values), RELATIVE)


def test_universal_joints_are_pinocchios() -> None:
    model = random_robot(9, 5, dh=False, tree=True)
    for joint in ("joint2", "joint4"):
        model = model.with_joint_kind(joint, JointKind.UNIVERSAL)
    reference, robot, state = pinocchio_model(model), RobotExpressions(model), random_state(model, 9)
    data, (q, v, a) = reference.createData(), (state[name] for name in ("q", "dq", "ddq"))
    assert (model.nq, model.nv) == (7, 7)
    assert_close(evaluate(robot, "inverse_dynamics", state), pin.rnea(reference, data, q, v, a), RELATIVE)
    M = pin.crba(reference, data, q)
    assert_close(evaluate(robot, "M", state), np.triu(M) + np.triu(M, 1).T, RELATIVE)
    assert_close(evaluate(robot, "forward_dynamics", state), pin.aba(reference, data, q, v, state["tau"]), RELATIVE)
    along_v = evaluate(robot, "C", state) @ v + evaluate(robot, "G", state).ravel()
    assert_close(along_v, pin.nonLinearEffects(reference, data, q, v), RELATIVE)


def test_a_helical_joint_is_pinocchios() -> None:
    model = random_robot(7, 4, dh=False)
    links = [replace(link, joint=replace(link.joint, axis=(0.0, 0.0, 1.0))) for link in model.links]
    model = replace(model, links=tuple(links)).with_joint_kind("joint3", helical(0.2))
    reference = pin.Model()
    reference.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    as_revolute = pinocchio_model(model.with_joint_kind("joint3", JointKind.REVOLUTE))
    for i, link in enumerate(model.links):
        joint = pin.JointModelHZ(0.2) if i == 2 else as_revolute.joints[i + 1]
        reference.addJoint(i, joint, as_revolute.jointPlacements[i + 1], link.joint.name)
        reference.appendBodyToJoint(i + 1, as_revolute.inertias[i + 1], pin.SE3.Identity())
    data, robot, state = reference.createData(), RobotExpressions(model), random_state(model, 7)
    q, v = state["q"], state["dq"]
    M = pin.crba(reference, data, q)
    assert_close(evaluate(robot, "M", state), np.triu(M) + np.triu(M, 1).T, RELATIVE)
    assert_close(evaluate(robot, "C", state), pin.computeCoriolisMatrix(reference, data, q, v), RELATIVE)
    tau = pin.rnea(reference, data, q, state["dq"], state["ddq"])
    assert_close(evaluate(robot, "Y", state) @ model.pi, tau, RELATIVE)


def kinetic_energy_matrix(robot: RobotExpressions) -> ca.SX:
    """M by definition, from the poses of the links alone: the Hessian of ½ Σ tr(Ṫ P Ṫᵀ), P the pseudo-inertia."""
    from thunder_dynamics.inertia import pseudo_inertia

    q, v = robot.symbol("q"), robot.symbol("dq")
    energy = ca.SX(0)
    for i, link in enumerate(robot.model.links):
        T_dot = ca.reshape(ca.jtimes(ca.vec(robot[f"T_0_{i + 1}"]), q, v), 4, 4)
        energy += 0.5 * ca.trace(T_dot @ ca.DM(pseudo_inertia(link.inertia.pi)) @ T_dot.T)
    return ca.hessian(energy, v)[0]


@pytest.mark.parametrize("kind", [helical(0.1), on_a_curve(), JointKind.UNIVERSAL], ids=lambda kind: kind.name)
def test_a_kind_of_ones_own_has_the_dynamics_of_its_kinetic_energy(kind: JointKind) -> None:
    """M, the Christoffel C and Yr, where the subspace is derived and depends on q."""
    model = random_robot(9, 4, tree=True, dh=False).with_joint_kind("joint2", kind)
    model = model.with_joint_kind("joint4", kind)
    robot, state = RobotExpressions(model), random_state(model, 9)
    q, v = robot.symbol("q"), robot.symbol("dq")
    M = kinetic_energy_matrix(robot)
    values = state["q"], state["dq"]
    assert_close(evaluate(robot, "M", state), numeric([q], M, state["q"]), RELATIVE)
    C = numeric([q, v], coriolis_reference(M, q, v), *values)
    assert_close(evaluate(robot, "C", state), C, RELATIVE)
    expected = evaluate(robot, "M", state) @ state["ddq_r"] + C @ state["dq_r"] + evaluate(robot, "G", state).ravel()
    assert_close(evaluate(robot, "Yr", state) @ model.pi, expected, RELATIVE)
    J_dot = ca.reshape(ca.jtimes(ca.vec(robot["J_ee"]), q, v), 6, model.nv)
    assert_close(evaluate(robot, "J_ee_dot", state), numeric([q, v], J_dot, *values), RELATIVE)


def coupled(model: RobotModel, follower: str, coupling: Coupling) -> RobotModel:
    links = [
        replace(link, joint=replace(link.joint, coupling=coupling)) if link.joint.name == follower else link
        for link in model.links
    ]
    return replace(model, links=tuple(links))


@pytest.mark.parametrize(("follower", "leader"), [("joint4", "joint2"), ("joint2", "joint5"), ("joint5", "joint4")])
def test_a_coupled_joint_is_the_free_one_projected(follower: str, leader: str) -> None:
    """With v = E u the dynamics are Eᵀ M E, Eᵀ C E, Eᵀ G, Eᵀ Y, whichever joint is above the other."""
    whole = random_robot(12, 5, dh=False)
    links = tuple(replace(link, friction=(0.3, 0.1), coulomb=0.2, effort_offset=0.4) for link in whole.links)
    whole = replace(whole, links=links)
    model = coupled(whole, follower, Coupling(leader, -0.7, 0.4))
    f, leads = (whole.joint_names.index(name) for name in (follower, leader))
    E = np.delete(np.eye(5), f, axis=1)
    E[f, leads - (leads > f)] = -0.7
    offset = np.where(np.arange(5) == f, 0.4, 0.0)
    assert (model.n, model.nq, model.nv) == (5, 4, 4)
    state = random_state(model, 12)
    long = {name: E @ value + (offset if name == "q" else 0.0) for name, value in state.items()}
    robot, full = RobotExpressions(model), RobotExpressions(whole)
    for name in ("M", "C"):
        assert_close(evaluate(robot, name, state), E.T @ evaluate(full, name, long) @ E, RELATIVE)
    for name in ("G", "Yr", "Y", "dl", "reg_dl"):
        assert_close(evaluate(robot, name, state), E.T @ evaluate(full, name, long), RELATIVE)
    for name in ("J_ee", "J_ee_dot", "J_4"):
        assert_close(evaluate(robot, name, state), evaluate(full, name, long) @ E, RELATIVE)
    assert_close(evaluate(robot, "T_0_ee", state), evaluate(full, "T_0_ee", long), RELATIVE)
    names = ("q", "dq", "dq_r", "ddq_r")
    tau = numeric(
        [robot.symbol(name) for name in names],
        robot.inverse_dynamics(*(robot.symbol(name) for name in names)),
        *(state[name] for name in names),
    )
    assert_close(tau.ravel(), evaluate(robot, "Yr", state) @ model.pi, RELATIVE)


def test_friction_acts_on_every_velocity_of_a_joint() -> None:
    model = general_robot(3, 4)
    drive = {"friction": (0.5,), "coulomb": 0.1, "effort_offset": -0.3}
    model = replace(model, links=tuple(replace(link, **drive) for link in model.links))
    state = random_state(model, 3)
    expected = 0.5 * state["dq"] + 0.1 * np.tanh(state["dq"] / 0.01) - 0.3
    assert_close(evaluate(RobotExpressions(model), "dl", state).ravel(), expected, 1e-14)


def test_laws_are_for_joints_of_one_velocity() -> None:
    floating = general_robot(1, 3)
    with pytest.raises(LawError, match=r"random_robot: no control law for the joints 'joint1' \(free\); valid: joints"):
        slotine_li(RobotExpressions(floating), {})
    mimic = coupled(random_robot(2, 3, dh=False), "joint3", Coupling("joint1"))
    with pytest.raises(LawError, match=r"'joint3' \(coupled\)"):
        slotine_li(RobotExpressions(mimic), {})
    screw = random_robot(2, 3, dh=False).with_joint_kind("joint2", helical(0.1))
    assert slotine_li(RobotExpressions(screw), {}).step.size_out("effort") == (3, 1)


def test_a_build_knows_kinds_of_ones_own_by_what_they_compute() -> None:
    model = random_robot(2, 3, dh=False)

    def digest(kind: JointKind) -> str:
        return content_hash(model.with_joint_kind("joint2", kind), [], [], None, {})

    assert digest(helical(0.1)) == digest(helical(0.1)) != digest(helical(0.1 + 1e-15))
    assert digest(JointKind.REVOLUTE) != digest(JointKind.PRISMATIC)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nv": 7, "nq": 7}, "joint kind odd: nq = 7, nv = 7; valid: nq ≥ 1, nv from 1 to 6"),
        ({"nq": 2}, "joint kind odd: no rate, but nq = 2 and nv = 1; valid: rate, or nq = nv"),
        ({"neutral": (0.0, 0.0)}, "joint kind odd: 2 neutral values; valid: nq = 1"),
    ],
)
def test_kinds_that_contradict_themselves_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        JointKind("odd", helical(0.1).transform, **changes)  # type: ignore[arg-type]


def test_a_transform_of_the_wrong_shape_is_refused() -> None:
    flat = JointKind("flat", lambda q, axis: (matrix([[1.0, 0.0], [0.0, 1.0]]), vector([q[0], 0.0])))
    with pytest.raises(ModelError, match=r"joint joint2: the transform of kind flat has shapes \(2, 2\) and \(2, 1\)"):
        RobotExpressions(random_robot(2, 3, dh=False).with_joint_kind("joint2", flat))["M"]


def test_what_a_joint_cannot_be_is_refused() -> None:
    soft = Elasticity((1.0,), (), (), 0.1)
    with pytest.raises(ModelError, match="joint j: a DH row of a free joint; valid: revolute, prismatic"):
        Joint("j", JointKind.FREE, dh=(0.0, 0.0, 0.0, 0.0))
    for change in ({"elastic": soft}, {"coupling": Coupling("other")}):
        with pytest.raises(ModelError, match="joint j: elastic or coupled with several values; valid"):
            Joint("j", JointKind.PLANAR, **change)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="joint j: elastic and coupled to another joint; valid: one of the two"):
        Joint("j", JointKind.REVOLUTE, elastic=soft, coupling=Coupling("other"))
    with pytest.raises(NameNotFoundError, match="random_robot: no joint 'x'; valid: joint1, joint2"):
        random_robot(2, 2, dh=False).with_joint_kind("x", JointKind.FREE)


@pytest.mark.parametrize("leader", ["joint9", "joint2", "joint1"])
def test_a_joint_follows_one_that_has_a_position_of_its_own(leader: str) -> None:
    model = random_robot(2, 3, dh=False).with_joint_kind("joint1", JointKind.FREE)
    with pytest.raises(ModelError, match=f"joint joint2: coupled to '{leader}'; valid: joint3"):
        coupled(model, "joint2", Coupling(leader))
    with pytest.raises(ModelError, match="joint joint2: .*nan.*; valid: finite numbers"):
        coupled(model, "joint2", Coupling("joint3", np.nan))
