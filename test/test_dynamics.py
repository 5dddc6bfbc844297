"""Kinematics, dynamics and regressors against Pinocchio, automatic differentiation and their own identities."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robots import PINOCCHIO_ORDER, pinocchio_model, random_robot, random_state
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel

RELATIVE = 1e-9  # the acceptance limit; both sides are double precision with a few thousand operations behind them


def evaluate(robot: RobotExpressions, name: str, state: dict[str, np.ndarray]) -> np.ndarray:
    arguments = [state[a] for a in robot.signature(name)]
    return np.asarray(robot.function(name)(*arguments))


def assert_close(actual: np.ndarray, expected: np.ndarray, relative: float = RELATIVE) -> None:
    scale = max(np.abs(expected).max(), 1e-3)
    np.testing.assert_allclose(actual, expected.reshape(actual.shape), rtol=0, atol=relative * scale)


SEEDS = range(20)


@pytest.fixture(scope="module", params=[*SEEDS, "tree1", "tree2"], ids=str)
def model(request: pytest.FixtureRequest) -> RobotModel:
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
    q, dq, ddq = state["q"], state["dq"], state["ddq"]
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
    Y = pin.computeJointTorqueRegressor(reference, data, q, dq, ddq)
    ours = Y.reshape(model.n, model.n, 10)[:, :, PINOCCHIO_ORDER].reshape(model.n, -1)
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
    state = random_state(robot.model, 2)
    q, dq = robot.symbol("q"), robot.symbol("dq")
    reference = ca.Function("C", [q, dq], [robot.coriolis_reference()])
    assert_close(evaluate(robot, "C", state), np.asarray(reference(state["q"], state["dq"])))


def test_m_dot_is_c_plus_c_transposed_by_automatic_differentiation(robot: RobotExpressions) -> None:
    state = random_state(robot.model, 3)
    q, dq = robot.symbol("q"), robot.symbol("dq")
    M_dot = ca.reshape(ca.jtimes(ca.vec(robot["M"]), q, dq), robot.n, robot.n)
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
    moved = np.zeros((robot.n, robot.n), dtype=bool)
    for i in range(robot.n):
        moved[list(robot.model.path(i)), i] = True
    blocks = Yr.reshape(robot.n, robot.n, 10)
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


@settings(max_examples=15, deadline=None)
@given(st.integers(1000, 10**6), st.integers(2, 6), st.booleans())
def test_any_robot_agrees_with_pinocchio(seed: int, n: int, tree: bool) -> None:
    robot = RobotExpressions(random_robot(seed, n, tree=tree, dh=False if tree else None))
    check_against_pinocchio(robot, seed)
