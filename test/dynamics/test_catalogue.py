"""Forward dynamics, energies, derivatives and regressors against Pinocchio, automatic differentiation and balances."""

from __future__ import annotations

import math
from dataclasses import replace

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from evaluation import assert_close as assert_relatively_close
from evaluation import evaluate, load_robot, numeric
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import (
    PINOCCHIO_ORDER,
    dh_placement,
    general_robot,
    pinocchio_configuration,
    pinocchio_model,
    random_robot,
    random_state,
    with_rotors,
)

from thunder_dynamics.algorithms.kinematic_regressors import lengths
from thunder_dynamics.errors import ExpressionError, NameNotFoundError
from thunder_dynamics.expressions import NO_ARITHMETIC, RobotExpressions
from thunder_dynamics.model import Coupling, Frame, JointKind, Pose, RobotModel

RELATIVE = 1e-9  # the acceptance limit; double precision, thousands of operations, condition numbers of M up to 1e3

State = dict[str, np.ndarray]

SIMPLE = ("0", "1", "tree1", "tree2", "panda", "planar3r", "rpr")
"""Robots whose velocity is the rate of q."""

UNCOUPLED = (*SIMPLE, pytest.param("general", marks=pytest.mark.slow))
ALL = (*UNCOUPLED, "coupled", "screw")


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    assert_relatively_close(actual, expected, RELATIVE)


def with_joint(model: RobotModel, i: int, **changes: object) -> RobotModel:
    links = list(model.links)
    links[i] = replace(links[i], joint=replace(links[i].joint, **changes))
    return replace(model, links=tuple(links))


def twisted(q: ca.SX, axis: object) -> tuple[ca.SX, ca.SX]:
    """A joint of one's own with a motion subspace that depends on q: about z, then about x, and out as it turns."""
    c, s = ca.cos(q[0]), ca.sin(q[0])
    about_z = ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))
    c, s = ca.cos(q[1]), ca.sin(q[1])
    about_x = ca.vertcat(ca.horzcat(1, 0, 0), ca.horzcat(0, c, -s), ca.horzcat(0, s, c))
    return about_z @ about_x, ca.vertcat(0.1 * q[0] * q[1], 0, 0.2 * q[1])


@pytest.fixture(scope="module", params=ALL)
def robot(request: pytest.FixtureRequest) -> RobotExpressions:
    if request.param == "general":
        return RobotExpressions(general_robot(3, 5))
    if request.param == "coupled":
        tree = random_robot(102, 5, tree=True, dh=False)
        return RobotExpressions(with_joint(tree, 3, coupling=Coupling("joint2", -1.5, 0.3)))
    if request.param == "screw":
        return RobotExpressions(with_joint(random_robot(5, 3, dh=False), 1, kind=JointKind("twisted", twisted, 2, 2)))
    if request.param.startswith("tree"):
        return RobotExpressions(random_robot(100 + int(request.param[-1]), 7, tree=True, dh=False))
    if request.param.isdigit():
        return RobotExpressions(random_robot(int(request.param), 5))
    return RobotExpressions(load_robot(request.param))


# --- against Pinocchio ---------------------------------------------------------------------------------------------


def check_against_pinocchio(robot: RobotExpressions, seed: int) -> None:
    model, state = robot.model, random_state(robot.model, seed)
    reference = pinocchio_model(model)
    data = reference.createData()
    dq, ddq, tau = (state[name] for name in ("dq", "ddq", "tau"))
    q = pinocchio_configuration(model, state["q"])
    assert_close(evaluate(robot, "inverse_dynamics", state), pin.rnea(reference, data, q, dq, ddq))
    assert_close(evaluate(robot, "forward_dynamics", state), pin.aba(reference, data, q, dq, tau))
    M_inv = pin.computeMinverse(reference, data, q)
    assert_close(evaluate(robot, "M_inv", state), np.triu(M_inv) + np.triu(M_inv, 1).T)
    M = pin.crba(reference, data, q)
    momentum = (np.triu(M) + np.triu(M, 1).T) @ dq
    assert_close(evaluate(robot, "momentum", state), momentum)
    assert_close(evaluate(robot, "kinetic_energy", state), np.array(0.5 * dq @ momentum))
    potential = pin.computePotentialEnergy(reference, data, q)
    assert_close(evaluate(robot, "potential_energy", state), np.array(potential))
    for name, row in (
        ("reg_kinetic_energy", pin.computeKineticEnergyRegressor(reference, data, q, dq)),
        ("reg_potential_energy", pin.computePotentialEnergyRegressor(reference, data, q)),
    ):
        assert_close(evaluate(robot, name, state), row.reshape(model.n, 10)[:, PINOCCHIO_ORDER].reshape(1, -1))
    assert_close(evaluate(robot, "com", state), pin.centerOfMass(reference, data, q))
    assert_close(evaluate(robot, "J_com", state), pin.jacobianCenterOfMass(reference, data, q))
    for ours, theirs in zip(
        ("inverse_dynamics_wrt_q", "inverse_dynamics_wrt_dq"),
        pin.computeRNEADerivatives(reference, data, q, dq, ddq),
        strict=False,
    ):
        assert_close(evaluate(robot, ours, state), theirs)
    for ours, theirs in zip(
        ("forward_dynamics_wrt_q", "forward_dynamics_wrt_dq"),
        pin.computeABADerivatives(reference, data, q, dq, tau),
        strict=False,
    ):
        assert_close(evaluate(robot, ours, state), theirs)
    assert_close(evaluate(robot, "G_wrt_q", state), pin.computeGeneralizedGravityDerivatives(reference, data, q))


@pytest.mark.parametrize("robot", UNCOUPLED, indirect=True)
def test_agrees_with_pinocchio(robot: RobotExpressions) -> None:
    check_against_pinocchio(robot, 0)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(1000, 10**6), st.integers(2, 5), st.booleans(), st.booleans())
def test_any_robot_agrees_with_pinocchio(seed: int, n: int, tree: bool, rotors: bool) -> None:
    model = random_robot(seed, n, tree=tree, dh=False if tree else None)
    check_against_pinocchio(RobotExpressions(with_rotors(model, seed) if rotors else model), seed)


def test_a_tree_with_a_free_base_and_rotors_agrees_with_pinocchio() -> None:
    check_against_pinocchio(RobotExpressions(with_rotors(general_robot(1), 1)), 1)


# --- against one another -------------------------------------------------------------------------------------------


def test_forward_dynamics_undoes_inverse_dynamics(robot: RobotExpressions) -> None:
    state = random_state(robot.model, 1)
    tau = evaluate(robot, "inverse_dynamics", state).ravel()
    assert_close(evaluate(robot, "forward_dynamics", state | {"tau": tau}).ravel(), state["ddq"])
    identity = evaluate(robot, "M_inv", state) @ evaluate(robot, "M", state)
    assert_close(identity, np.eye(robot.model.nv))


def test_power_of_the_torque_is_the_rate_of_the_energy(robot: RobotExpressions) -> None:
    q, dq = robot.symbol("q"), robot.symbol("dq")
    energy = robot["kinetic_energy"] + robot["potential_energy"]
    motion = ca.vertcat(robot.kinematics(q).configuration_rate(dq), robot["forward_dynamics"])
    rate = ca.jtimes(energy, ca.vertcat(q, dq), motion)
    state = random_state(robot.model, 2)
    value = numeric([q, dq, robot.symbol("tau")], rate, state["q"], state["dq"], state["tau"])
    power, scale = state["tau"] @ state["dq"], np.abs(state["tau"] * state["dq"]).sum()
    assert abs(value.item() - power) <= RELATIVE * scale


def test_momentum_is_m_dq_and_linear_in_pi(robot: RobotExpressions) -> None:
    state, pi = random_state(robot.model, 3), robot.model.pi
    momentum = evaluate(robot, "M", state) @ state["dq"]
    assert_close(evaluate(robot, "momentum", state).ravel(), momentum)
    assert_close(evaluate(robot, "reg_momentum", state) @ pi, momentum)
    assert_close(evaluate(robot, "kinetic_energy", state), np.array(0.5 * momentum @ state["dq"]))


def test_products_of_regressors_are_those_of_the_matrices(robot: RobotExpressions) -> None:
    """Yr_pi of any pi and YrT_s of any s, in operations that do not grow as those of Yr do."""
    state = random_state(robot.model, 5)
    pi, s = (np.random.default_rng(6).uniform(-2, 2, k) for k in (10 * robot.model.n, robot.model.nv))
    for name in ("Yr", "Y", "reg_momentum"):
        regressor = evaluate(robot, name, state)
        assert_close(evaluate(robot, f"{name}_pi", state | {"pi": pi}).ravel(), regressor @ pi)
        assert_close(evaluate(robot, f"{name}T_s", state | {"s": s}).ravel(), regressor.T @ s)
    if robot.model.name == "panda":
        assert max(map(robot.operations, ("Yr_pi", "YrT_s"))) < 0.55 * robot.operations("Yr")


@pytest.mark.parametrize("robot", SIMPLE, indirect=True)
def test_poses_are_products_of_the_relative_ones(robot: RobotExpressions) -> None:
    state, poses = random_state(robot.model, 8), [evaluate(robot, "T_0", {})]
    for i, link in enumerate(robot.model.links, start=1):
        poses.append(poses[link.parent + 1] @ evaluate(robot, f"T_{i}", state))
    for i, pose in enumerate(poses):
        assert_close(evaluate(robot, f"T_0_{i}", state), pose)


@pytest.mark.parametrize("robot", SIMPLE, indirect=True)
def test_jacobians_of_centres_of_mass_are_derivatives_of_their_places(robot: RobotExpressions) -> None:
    """And together they are that of the whole: J_com Σ m_i = Σ m_i J_cm_i."""
    state, model, q = random_state(robot.model, 8), robot.model, robot.symbol("q")
    total = np.zeros((3, model.nv))
    for i, link in enumerate(model.links, start=1):
        T, J = robot[f"T_0_{i}"], evaluate(robot, f"J_cm_{i}", state)
        place = T[:3, :3] @ ca.DM(link.inertia.com) + T[:3, 3]
        assert_close(J[:3], numeric([q], ca.jacobian(place, q), state["q"]))
        assert_close(J[3:], evaluate(robot, f"J_{i}", state)[3:])
        total += link.inertia.mass * J[:3]
    assert_close(total, evaluate(robot, "J_com", state) * sum(link.inertia.mass for link in model.links))


def test_matrices_of_coefficients_give_friction_and_elastic_torques() -> None:
    """Each times its power; those of a joint that turns twice as fast as the one that it follows, too."""
    robot = RobotExpressions(load_robot("sea2"))
    state = {a: np.array([0.3, -0.7])[: robot.symbol(a).numel()] for a in ("q", "dq", "x", "dx")}
    s = state["x"] - state["q"][list(robot.model.elastic_joints)]
    rate = state["dx"] - state["dq"][list(robot.model.elastic_joints)]
    for name, group, powers, motion in (
        ("k", "K", (1, 3), s),
        ("d", "D", (1, 2), rate),
        ("dm", "Dm", (1, 2), state["dx"]),
        ("dl", "Dl", (1, 2), state["dq"]),
    ):
        there = [power for power in powers if f"{group}{power}" in robot.functions]
        terms = (evaluate(robot, f"{group}{p}", {}) @ (np.abs(motion) ** (p - 1) * motion) for p in there)
        assert_close(sum(terms), evaluate(robot, name, state).ravel())
    geared = with_joint(random_robot(3, 2), 1, coupling=Coupling("joint1", -2.0))
    rubbing = RobotExpressions(replace(geared, links=tuple(replace(x, friction=(0.4, 0.1)) for x in geared.links)))
    Dl1, Dl2 = (evaluate(rubbing, name, {}) for name in ("Dl1", "Dl2"))
    assert_close(Dl1 * 0.5 + Dl2 * 0.25, evaluate(rubbing, "dl", {"dq": np.array([0.5])}))


@pytest.mark.parametrize("robot", ALL, indirect=True)
def test_functions_computed_together_are_those_alone(robot: RobotExpressions) -> None:
    """M, C, G and their rates share one recursion: for a Panda they take 0.9 of the operations of M, C and G twice."""
    names, state = ("M", "C", "G", "M_dot", "C_dot", "G_dot"), random_state(robot.model, 11)
    together = robot.function_of_group(names)
    results = together(*(state[argument] for argument in together.name_in()))
    for name, result in zip(names, results, strict=True):
        assert_close(np.asarray(result), evaluate(robot, name, state))
    if robot.model.name == "panda":
        count = sum(together.instruction_id(k) not in NO_ARITHMETIC for k in range(together.n_instructions()))
        assert count < 0.91 * 2 * sum(map(robot.operations, "MCG"))


@pytest.mark.parametrize("robot", ALL, indirect=True)
def test_rates_of_any_joint_are_the_derivatives_of_the_graph(robot: RobotExpressions) -> None:
    """Also of joints whose velocity is no rate of their configuration, and of several values."""
    state = random_state(robot.model, 12)
    q, dq, ddq = map(robot.symbol, ("q", "dq", "ddq"))
    motion = ca.vertcat(robot.dynamics.kinematics.configuration_rate(dq), ddq)
    for name in ("C", "G"):
        rate = ca.jtimes(ca.vec(robot[name]), ca.vertcat(q, dq), motion)
        expected = numeric([q, dq, ddq], rate, state["q"], state["dq"], state["ddq"])
        assert_close(evaluate(robot, f"{name}_dot", state), expected.reshape(robot[name].shape, order="F"))


def test_packed_regressors_leave_out_what_is_always_zero(robot: RobotExpressions) -> None:
    state = random_state(robot.model, 7)
    for name in ("Yr", "Y", "Yb"):
        if name not in (*robot.functions, *robot.functions_on_request):
            continue
        regressor, rows_cols = evaluate(robot, name, state), evaluate(robot, f"{name}_places", {}).astype(int).T
        unpacked = np.zeros_like(regressor)
        unpacked[tuple(rows_cols)] = evaluate(robot, f"{name}_packed", state).ravel()
        np.testing.assert_array_equal(unpacked, regressor)
        assert (np.lexsort(rows_cols) == np.arange(rows_cols.shape[1])).all()
        assert name != "Yr" or robot.model.name != "panda" or rows_cols.shape[1] == 255


def along(robot: RobotExpressions, expression: ca.SX, state: State, order: int) -> np.ndarray:
    """A derivative in time of a function of q and dq on the cubic through a state, by the time itself."""
    t = ca.SX.sym("t")
    q0, v, a, jerk = (state[name] for name in ("q", "dq", "ddq", "d3q"))
    path = q0 + v * t + a * t**2 / 2 + jerk * t**3 / 6
    moving = ca.substitute(ca.vec(expression), robot.symbol("dq"), ca.jacobian(path, t))
    moving = ca.substitute(moving, robot.symbol("q"), path)
    for _ in range(order):
        moving = ca.jacobian(moving, t)
    return numeric([t], moving, 0.0).reshape(expression.shape, order="F")


@pytest.mark.parametrize("robot", (*SIMPLE, "coupled", "screw"), indirect=True)
@pytest.mark.parametrize("name", ["M", "C", "G", "J_com", "J_ee"])
def test_time_derivatives_are_those_along_a_motion(robot: RobotExpressions, name: str) -> None:
    """M, C from ∂M/∂q and G are written independently of the recursions: energies differentiated, matrix algebra."""
    q, dq = robot.symbol("q"), robot.symbol("dq")
    M = ca.hessian(robot["kinetic_energy"], dq)[0]
    independent = {
        "M": M,
        "C": robot.coriolis_reference(),
        "G": ca.gradient(robot["potential_energy"], q),
        "J_com": ca.jacobian(robot["com"], q),
        "J_ee": robot["J_ee"],
    }[name]
    state = random_state(robot.model, 4)
    assert_close(evaluate(robot, f"{name}_dot", state), along(robot, independent, state, 1))
    if f"{name}_ddot" in robot.functions_on_request:
        assert_close(evaluate(robot, f"{name}_ddot", state), along(robot, independent, state, 2))


@pytest.mark.parametrize("robot", ["panda", "screw"], indirect=True)
@pytest.mark.parametrize(("name", "order"), [("G", 1), ("com", 2), ("J_ee", 3), ("G", 4), ("M", 3)])
def test_time_derivatives_of_any_order_are_those_along_a_motion(robot: RobotExpressions, name: str, order: int) -> None:
    """By the time itself, on the polynomial through q and its rates."""
    asked, rng, t = f"{name}_d{order}t", np.random.default_rng(order), ca.SX.sym("t")
    arguments = robot.signature(asked)
    assert arguments == ("q", *("dq", "ddq", "d3q", "d4q", "d5q")[:order])
    values = {argument: rng.uniform(-1.0, 1.0, robot.symbol(argument).numel()) for argument in arguments}
    path = sum(value * t**k / math.factorial(k) for k, value in enumerate(values.values()))
    moving = ca.substitute(ca.vec(robot[name]), robot.symbol("q"), path)
    for _ in range(order):
        moving = ca.jacobian(moving, t)
    expected = numeric([t], moving, 0.0).reshape(robot[name].shape, order="F")
    assert_close(evaluate(robot, asked, values), expected)
    assert asked in robot.functions_on_request


def test_a_fifth_derivative_takes_an_argument_of_its_own_and_others_are_refused() -> None:
    robot = RobotExpressions(load_robot("rpr"))
    assert robot.signature("C_d3t") == ("q", "dq", "ddq", "d3q", "d4q")
    assert robot.signature("G_d5t")[-1] == "d5q"
    with pytest.raises(ExpressionError, match="'Yr_d2t': Yr depends on dq_r, ddq_r; valid: functions of q, dq"):
        robot.spec("Yr_d2t")
    with pytest.raises(NameNotFoundError, match="no function 'nothing_d2t'"):
        robot.spec("nothing_d2t")


def test_derivatives_of_jacobians_are_those_of_automatic_differentiation(robot: RobotExpressions) -> None:
    q, dq = robot.symbol("q"), robot.symbol("dq")
    rate, state = robot.dynamics.kinematics.configuration_rate(dq), random_state(robot.model, 8)
    expected = ca.jacobian(ca.vec(robot["J_ee"]), q) @ ca.jacobian(rate, dq)
    assert_close(evaluate(robot, "J_ee_wrt_q", state), numeric([q], expected, state["q"]))
    for i in range(1, robot.n + 1):
        J = robot[f"J_{i}"]
        along_rate = ca.reshape(ca.jtimes(ca.vec(J), q, rate), *J.shape)
        assert_close(evaluate(robot, f"J_{i}_dot", state), numeric([q, dq], along_rate, state["q"], state["dq"]))


@pytest.mark.parametrize("robot", SIMPLE, indirect=True)
def test_second_derivatives_give_the_feed_forward_of_elastic_joints(robot: RobotExpressions) -> None:
    """d²τ/dt², from which the motors' motion x = q + K⁻¹ τ follows twice differentiated, by the product rule."""
    state = random_state(robot.model, 9)
    q, dq, ddq, d3q, d4q = (state[name] for name in ("q", "dq", "ddq", "d3q", "ddq_r"))
    t = ca.SX.sym("t")
    path = q + dq * t + ddq * t**2 / 2 + d3q * t**3 / 6 + d4q * t**4 / 24
    rate = ca.jacobian(path, t)
    torque = robot.inverse_dynamics(path, rate, rate, ca.jacobian(rate, t))
    exact = numeric([t], ca.jacobian(ca.jacobian(torque, t), t), 0.0).ravel()
    value = {name: evaluate(robot, name, state) for name in ("M", "C", "M_dot", "C_dot", "M_ddot", "C_ddot", "G_ddot")}
    inertial = value["M_ddot"] @ ddq + 2 * value["M_dot"] @ d3q + value["M"] @ d4q
    coriolis = value["C_ddot"] @ dq + 2 * value["C_dot"] @ ddq + value["C"] @ d3q
    assert_close(inertial + coriolis + value["G_ddot"].ravel(), exact)


def test_derivatives_in_time_are_those_along_the_state_times_the_motion(robot: RobotExpressions) -> None:
    """Also where dq is not the rate of q."""
    state = random_state(robot.model, 8)
    along_q = {name: evaluate(robot, f"{name}_wrt_q", state) @ state["dq"] for name in "MCG"}
    along_q["C"] += evaluate(robot, "C_wrt_dq", state) @ state["ddq"]
    for name, rate in along_q.items():
        assert_close(evaluate(robot, f"{name}_dot", state).ravel(order="F"), rate)
    C = evaluate(robot, "C", state)
    assert_close(evaluate(robot, "M_dot", state), C + C.T)
    assert_close(evaluate(robot, "C_wrt_dq", state) @ state["dq"], C.ravel(order="F"))


@pytest.mark.parametrize("robot", (*SIMPLE, "coupled", "screw"), indirect=True)
def test_derivatives_along_the_state_are_those_of_automatic_differentiation(robot: RobotExpressions) -> None:
    q, dq, state = robot.symbol("q"), robot.symbol("dq"), random_state(robot.model, 5)
    M = ca.hessian(robot["kinetic_energy"], dq)[0]
    C = robot.coriolis_reference()
    torque = M @ robot.symbol("ddq") + C @ dq + ca.gradient(robot["potential_energy"], q)
    names = ("q", "dq", "ddq", "tau")
    signals, values = [robot.symbol(name) for name in names], [state[name] for name in names]
    for name, expression, symbol in (
        ("M_wrt_q", M, q),
        ("C_wrt_q", C, q),
        ("C_wrt_dq", C, dq),
        ("inverse_dynamics_wrt_q", torque, q),
        ("inverse_dynamics_wrt_dq", torque, dq),
        ("forward_dynamics_wrt_q", robot["forward_dynamics"], q),
        ("forward_dynamics_wrt_dq", robot["forward_dynamics"], dq),
    ):
        exact = numeric(signals, ca.jacobian(ca.vec(expression), symbol), *values)
        assert_close(evaluate(robot, name, state), exact)


# --- lengths -------------------------------------------------------------------------------------------------------


def with_lengths(model: RobotModel, k: np.ndarray) -> RobotModel:
    """The robot with other lengths."""
    links = list(model.links)
    for i, link in enumerate(links):
        if link.joint.dh:
            (a, d), (_, alpha, _, theta) = k[1 + 2 * i : 3 + 2 * i], link.joint.dh
            row = (float(a), alpha, float(d), theta)
            joint = replace(link.joint, dh=row, placement=dh_placement(*row))
        else:
            joint = replace(link.joint, placement=Pose(link.joint.placement.rotation, k[1 + 3 * i : 4 + 3 * i]))
        links[i] = replace(link, joint=joint)
    return replace(model, links=tuple(links), ee=Frame(tuple(k[-3:]), model.ee.ypr))


def test_the_damped_pseudo_inverse_gives_the_velocity_of_least_squares(robot: RobotExpressions) -> None:
    """‖J q̇ − ξ‖² + λ² ‖q̇‖² least, for all ξ."""
    state, nv = random_state(robot.model, 12) | {"damping": np.array([0.3])}, robot.model.nv
    stacked = np.vstack([evaluate(robot, "J_ee", state), 0.3 * np.eye(nv)])
    expected = np.linalg.lstsq(stacked, np.vstack([np.eye(6), np.zeros((nv, 6))]), rcond=None)[0]
    assert_close(evaluate(robot, "J_ee_pinv", state), expected)


@pytest.mark.parametrize("name", ["panda", "ur5", "planar3r"])
def test_the_pseudo_inverse_without_damping_is_the_exact_one(name: str) -> None:
    robot = RobotExpressions(load_robot(name))
    state = random_state(robot.model, 12) | {"damping": np.zeros(1)}
    J_pinv = np.linalg.pinv(evaluate(robot, "J_ee", state))
    assert_close(evaluate(robot, "J_ee_pinv", state), J_pinv)


def test_velocity_and_torque_are_linear_in_the_lengths(robot: RobotExpressions) -> None:
    k = lengths(robot.model)
    state = random_state(robot.model, 6) | {"w": np.linspace(-2.0, 3.0, 6)}
    other = k * np.random.default_rng(6).uniform(0.5, 2.0, k.size)
    other[0] = 1.0
    Y, W = evaluate(robot, "reg_Jdq", state), evaluate(robot, "reg_JTw", state)
    for values in (k, other):
        J = evaluate(RobotExpressions(with_lengths(robot.model, values)), "J_ee", state)
        assert_close(Y @ values, J @ state["dq"])
        assert_close(W @ values, J.T @ state["w"])


def test_regressors_of_lengths_hold_where_lengths_are_symbolic() -> None:
    model = random_robot(4, 4, dh=True)
    state = random_state(model, 7) | {"w": np.linspace(-2.0, 3.0, 6)}
    symbolic = RobotExpressions(model.with_symbolic("par_DHtable", True).with_symbolic("par_Ln2EE", True))
    for name in ("reg_Jdq", "reg_JTw"):
        assert_close(evaluate(symbolic, name, state), evaluate(RobotExpressions(model), name, state))


# --- masks ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.data())
def test_symbolic_columns_and_the_known_rest_make_the_whole(seed: int, data: st.DataObject) -> None:
    model = random_robot(seed, 3)
    mask = data.draw(st.lists(st.booleans(), min_size=30, max_size=30).filter(any))
    robot = RobotExpressions(model.with_symbolic("par_DYN", np.array(mask)))
    state = random_state(model, seed)
    reg = evaluate(robot, "par_REG_from_DYN", state).ravel()
    for name in ("Yr", "Y"):
        columns, known = evaluate(robot, f"{name}_symb", state), evaluate(robot, f"{name}_known", state)
        assert columns.shape == (3, sum(mask))
        assert_close(columns @ reg + known.ravel(), evaluate(robot, name, state) @ model.pi)


def test_masked_regressors_exist_only_with_symbolic_inertias() -> None:
    assert not [name for name in RobotExpressions(load_robot("panda")).functions_on_request if "symb" in name]
