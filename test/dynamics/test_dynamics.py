"""Kinematics, dynamics and regressors against Pinocchio, automatic differentiation and their own identities."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from evaluation import ROOT, evaluate, load_robot
from evaluation import assert_close as assert_relatively_close
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import (
    PINOCCHIO_ORDER,
    general_robot,
    pinocchio_configuration,
    pinocchio_model,
    random_robot,
    random_state,
    with_rotors,
)

from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia, pi_from_pseudo_inertia, pseudo_inertia
from thunder_dynamics.model import Joint, JointKind, Link, Pose, RobotModel
from thunder_dynamics.readers import load_model

RELATIVE = 1e-9  # the acceptance limit; both sides are double precision with a few thousand operations behind them


def assert_close(actual: np.ndarray, expected: np.ndarray, relative: float = RELATIVE) -> None:
    assert_relatively_close(actual, expected, relative)


SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))]


NAMED = ("panda", "panda.urdf", "ur5", "planar3r", "rpr")
GENERAL = ("general1", pytest.param("general2", marks=pytest.mark.slow))


@pytest.fixture(scope="module", params=[*SEEDS, "tree1", "tree2", *GENERAL, *NAMED], ids=str)
def model(request: pytest.FixtureRequest) -> RobotModel:
    if request.param == "panda.urdf":
        return load_model(ROOT / "urdf" / "panda.urdf.xacro")
    if request.param in NAMED:
        return load_robot(request.param)
    if isinstance(request.param, str) and request.param.startswith("general"):
        return general_robot(int(request.param[-1]))
    if isinstance(request.param, str):
        return random_robot(100 + int(request.param[-1]), 9, tree=True, dh=False)
    return random_robot(request.param)


@pytest.fixture(scope="module")
def robot(model: RobotModel) -> RobotExpressions:
    return RobotExpressions(model)


def check_against_pinocchio(robot: RobotExpressions, seed: int) -> None:
    model, state = robot.model, random_state(robot.model, seed)
    reference = pinocchio_model(model)
    data = reference.createData()
    q, dq, ddq = pinocchio_configuration(model, state["q"]), state["dq"], state["ddq"]
    ee = reference.getFrameId("ee")
    pin.forwardKinematics(reference, data, q, dq)
    pin.updateFramePlacements(reference, data)
    assert_close(evaluate(robot, "T_0_ee", state), data.oMf[ee].homogeneous)
    world_aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    assert_close(evaluate(robot, "J_ee", state), pin.computeFrameJacobian(reference, data, q, ee, world_aligned))
    pin.computeJointJacobiansTimeVariation(reference, data, q, dq)
    assert_close(
        evaluate(robot, "J_ee_dot", state), pin.getFrameJacobianTimeVariation(reference, data, ee, world_aligned)
    )
    for i in range(model.n):
        assert_close(evaluate(robot, f"T_0_{i + 1}", state), data.oMi[i + 1].homogeneous)
        J_i = pin.getJointJacobian(reference, data, i + 1, world_aligned)
        assert_close(evaluate(robot, f"J_{i + 1}", state), J_i)
    M = pin.crba(reference, data, q)
    assert_close(evaluate(robot, "M", state), np.triu(M) + np.triu(M, 1).T)
    assert_close(evaluate(robot, "G", state), pin.computeGeneralizedGravity(reference, data, q))
    tau = pin.rnea(reference, data, q, dq, ddq)
    C = evaluate(robot, "C", state)
    G = evaluate(robot, "G", state).ravel()
    assert_close(evaluate(robot, "M", state) @ ddq + C @ dq + G, tau)
    assert_close(C, pin.computeCoriolisMatrix(reference, data, q, dq))
    Y = pin.computeJointTorqueRegressor(reference, data, q, dq, ddq)
    ours = Y.reshape(model.nv, model.n, 10)[:, :, PINOCCHIO_ORDER].reshape(model.nv, -1)
    assert_close(evaluate(robot, "Y", state), ours)


def test_agrees_with_pinocchio(robot: RobotExpressions) -> None:
    check_against_pinocchio(robot, 0)


def test_yr_times_pi_is_m_ddq_r_plus_c_dq_r_plus_g(robot: RobotExpressions) -> None:
    state = random_state(robot.model, 1)
    M, C, G = (evaluate(robot, name, state) for name in "MCG")
    expected = M @ state["ddq_r"] + C @ state["dq_r"] + G.ravel()
    assert_close(evaluate(robot, "Yr", state) @ robot.model.pi, expected)
    assert_close(evaluate(robot, "reg_M", state) @ robot.model.pi, M @ state["ddq_r"])
    assert_close(evaluate(robot, "reg_C", state) @ robot.model.pi, C @ state["dq_r"])
    assert_close(evaluate(robot, "reg_G", state) @ robot.model.pi, G)


def test_coriolis_matrix_is_the_christoffel_one(robot: RobotExpressions) -> None:
    if robot.model.nq != robot.model.nv:
        pytest.skip("Christoffel symbols are those of coordinates; Pinocchio's C is compared above")
    state = random_state(robot.model, 2)
    q, dq = robot.symbol("q"), robot.symbol("dq")
    reference = ca.Function("C", [q, dq], [robot.coriolis_reference()])
    assert_close(evaluate(robot, "C", state), np.asarray(reference(state["q"], state["dq"])))


def test_m_dot_is_c_plus_c_transposed_by_automatic_differentiation(robot: RobotExpressions) -> None:
    state = random_state(robot.model, 3)
    q, dq = robot.symbol("q"), robot.symbol("dq")
    M_dot = ca.reshape(ca.jtimes(ca.vec(robot["M"]), q, robot.kinematics(q).configuration_rate(dq)), *robot["M"].shape)
    exact = np.asarray(ca.Function("M_dot", [q, dq], [M_dot])(state["q"], state["dq"]))
    C = evaluate(robot, "C", state)
    assert_close(C + C.T, exact)
    assert_close(evaluate(robot, "M_dot", state), exact)


def test_mass_matrix_is_symmetric_positive_definite(robot: RobotExpressions) -> None:
    M = evaluate(robot, "M", random_state(robot.model, 4))
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0


def test_blocks_of_links_that_a_joint_does_not_move_are_zero(robot: RobotExpressions) -> None:
    Yr = evaluate(robot, "Yr", random_state(robot.model, 5))
    moved = np.zeros((robot.model.nv, robot.n), dtype=bool)
    for i in range(robot.n):
        moved[[k for j in robot.model.path(i) for k in robot.model.v_ranges[j]], i] = True
    blocks = Yr.reshape(robot.model.nv, robot.n, 10)
    assert not blocks[~moved].any()
    assert blocks[moved].any(axis=1).all()


def test_inverse_dynamics_of_all_links_is_the_regressor_times_pi(robot: RobotExpressions) -> None:
    names = ("q", "dq", "dq_r", "ddq_r")
    symbols = [robot.symbol(name) for name in names]
    state = random_state(robot.model, 6)
    values = [state[name] for name in names]
    tau = ca.Function("tau", symbols, [robot.inverse_dynamics(*symbols)])
    assert_close(np.asarray(tau(*values)).ravel(), evaluate(robot, "Yr", state) @ robot.model.pi)
    some = [0, robot.n - 1]
    columns = [10 * i + k for i in some for k in range(10)]
    partial = ca.Function("tau", symbols, [robot.inverse_dynamics(*symbols, links=some)])
    Y = ca.Function("Y", symbols, [robot.slotine_li_regressor(*symbols, links=some)])
    assert_close(np.asarray(partial(*values)).ravel(), np.asarray(Y(*values)) @ robot.model.pi[columns])


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(1000, 10**6), st.integers(2, 6), st.booleans(), st.booleans())
def test_any_robot_agrees_with_pinocchio(seed: int, n: int, tree: bool, rotors: bool) -> None:
    model = random_robot(seed, n, tree=tree, dh=False if tree else None)
    check_against_pinocchio(RobotExpressions(with_rotors(model, seed) if rotors else model), seed)


@pytest.mark.parametrize(("name", "most"), [("M", 800), ("C", 2200), ("G", 145), ("Yr", 2210), ("J_ee_dot", 555)])
def test_the_general_algorithms_cost_an_arm_nothing(name: str, most: int) -> None:
    """Scalar instructions of a Panda's functions, inputs and outputs included; those of revolute joints alone."""
    assert RobotExpressions(load_robot("panda")).function(name).n_instructions() <= most


def planar_elbow(a1: float, a2: float, masses: tuple[float, float]) -> RobotModel:
    """Point masses at the ends of two links in the x-y plane, gravity along −y; link frames at the joints."""
    joints = [
        Joint("joint1", JointKind.REVOLUTE),
        Joint("joint2", JointKind.REVOLUTE, Pose(np.eye(3), np.array([a1, 0.0, 0.0]))),
    ]
    bodies = [Inertia(m, np.array([a, 0.0, 0.0])) for m, a in zip(masses, (a1, a2), strict=True)]
    links = tuple(Link(f"link{i + 1}", i - 1, joints[i], bodies[i]) for i in range(2))
    return RobotModel("elbow", links, gravity=(0.0, -9.81, 0.0))


A1, A2 = 0.7, 0.4


def test_planar_elbow_has_the_mass_matrix_and_coriolis_torque_of_the_textbook() -> None:
    robot = RobotExpressions(planar_elbow(A1, A2, (0.0, 1.0)))
    state = random_state(robot.model, 8)
    q2, dq, dq_r = state["q"][1], state["dq"], state["dq_r"]
    gamma2, gamma3 = A1 * A2 * np.cos(q2), -A1 * A2 * np.sin(q2)
    M = np.array([[A1**2 + A2**2 + 2 * gamma2, A2**2 + gamma2], [A2**2 + gamma2, A2**2]])
    C_dq_r = gamma3 * np.array([dq[0] * dq_r[1] + dq[1] * dq_r[0] + dq[1] * dq_r[1], -dq[0] * dq_r[0]])
    assert_close(evaluate(robot, "M", state), M, 1e-14)  # a dozen operations each
    assert_close(evaluate(robot, "C", state) @ dq_r, C_dq_r, 1e-14)


def test_planar_elbow_has_the_gravity_torque_of_the_textbook() -> None:
    robot = RobotExpressions(planar_elbow(A1, A2, (2.0, 3.0)))
    state = random_state(robot.model, 9)
    first, second = state["q"][0], state["q"].sum()
    outer = 3.0 * 9.81 * A2 * np.cos(second)
    inner = (2.0 + 3.0) * 9.81 * A1 * np.cos(first) + outer
    assert_close(evaluate(robot, "G", state), np.array([inner, outer]), 1e-14)


def acting_parameters(Yr: list[np.ndarray]) -> set[int]:
    return set(np.flatnonzero(np.any([np.abs(Y).max(axis=0) > 1e-12 for Y in Yr], axis=0)).tolist())


def moved_along_x(a: float) -> np.ndarray:
    """Map (10, 10) from π about a point at x = a to π about the origin: P ↦ H P Hᵀ."""
    H = np.eye(4)
    H[0, 3] = a
    return np.column_stack([pi_from_pseudo_inertia(H @ pseudo_inertia(unit) @ H.T) for unit in np.eye(10)])


def test_eight_of_twenty_parameters_of_a_planar_elbow_act() -> None:
    """m, m·cx, m·cy, Izz of both links with frames at the link ends; at the joints, the first mass does not move."""
    robot = RobotExpressions(planar_elbow(A1, A2, (2.0, 3.0)))
    at_joints = [evaluate(robot, "Yr", random_state(robot.model, seed)) for seed in range(5)]
    assert acting_parameters(at_joints) == {1, 2, 9, 10, 11, 12, 19}
    to_joints = np.kron(np.diag([1.0, 0.0]), moved_along_x(A1)) + np.kron(np.diag([0.0, 1.0]), moved_along_x(A2))
    at_ends = [Y @ to_joints for Y in at_joints]
    assert acting_parameters(at_ends) == {0, 1, 2, 9, 10, 11, 12, 19}
    for Y in at_joints:
        assert not np.delete(Y, [1, 2, 9, 10, 11, 12, 19], axis=1).any()  # structural: exactly zero, not rounded to it
