"""RobotExpressions: run-time parameters of every group, a user's own functions, friction and elastic terms."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, evaluate, load_robot, symbolic_values
from parameters import robot_with_all_groups
from robots import random_state

from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.errors import ExpressionError, NameNotFoundError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import reg_from_dyn
from thunder_dynamics.model import PARAMETER_GROUPS, RobotModel

RELATIVE = 1e-12  # the same formulas with the same numbers; only the order of roundings may differ
PARAMETERS = ("par_REG", "par_REG_from_DYN", "par_DYN_from_REG")
"""Functions that depend on which parameters are symbolic."""


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return robot_with_all_groups()


def state_of(model: RobotModel, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    motors = {name: rng.uniform(-1, 1, len(model.elastic_joints)) for name in ("x", "dx", "ddx")}
    return random_state(model, seed) | motors


def test_parameters_of_the_signature_come_last_and_only_where_they_act(model: RobotModel) -> None:
    everything = model
    for group in PARAMETER_GROUPS:
        everything = everything.with_symbolic(group, True)
    robot = RobotExpressions(everything)
    assert robot.signature("T_0_0") == ("q", "par_world2L0")
    assert robot.signature("T_0_ee") == ("q", "par_DHtable", "par_world2L0", "par_Ln2EE")
    assert robot.signature("G") == ("q", "par_DHtable", "par_world2L0", "par_gravity", "par_DYN")
    assert robot.signature("Yr") == ("q", "dq", "dq_r", "ddq_r", "par_DHtable", "par_world2L0", "par_gravity")
    assert robot.signature("M") == ("q", "par_DHtable", "par_DYN", "par_Ia")
    assert robot.signature("dl") == ("dq", "par_Dl")
    assert robot.signature("Mm") == ("par_Mm",)
    assert RobotExpressions(model).signature("M") == ("q",)


# --- par_REG ↔ par_DYN -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", ["all", "half", "masses", "inertia"])
def test_par_reg_and_par_dyn_are_two_views_of_one_body(model: RobotModel, share: str) -> None:
    rng = np.random.default_rng(11)
    masks = {
        "all": np.full(40, True),
        "half": rng.random(40) < 0.5,
        "masses": np.arange(40) % 10 == 0,
        "inertia": np.arange(40) % 10 >= 4,
    }
    mask = masks[share]
    robot = RobotExpressions(model.with_symbolic("par_DYN", mask))
    dyn = np.array(model.parameters("par_DYN"))
    dyn[mask] *= rng.uniform(1.0, 1.2, mask.sum())
    reg = evaluate(robot, "par_REG_from_DYN", {"par_DYN": dyn[mask]}).ravel()
    full = np.concatenate([reg_from_dyn(dyn[10 * i : 10 * i + 10]) for i in range(4)])
    assert_close(reg, full[mask], RELATIVE)
    assert_close(evaluate(robot, "par_DYN_from_REG", {"par_REG": reg}).ravel(), dyn[mask], RELATIVE)


def test_conversions_exist_only_with_symbolic_inertias(model: RobotModel) -> None:
    robot = RobotExpressions(model)
    assert not set(PARAMETERS[1:]) & set(robot.functions) and "par_REG" not in robot.arguments


# --- a user's own functions --------------------------------------------------------------------------------------


def test_a_function_of_ones_own_is_evaluated_like_the_others() -> None:
    robot = RobotExpressions(load_robot("sea2"))
    q, dq = robot.symbol("q"), robot.symbol("dq")
    robot.add_function("energy", 0.5 * dq.T @ robot["M"] @ dq, ["q", "dq"], "Kinetic energy.")
    state = random_state(robot.model, 4)
    expected = 0.5 * state["dq"] @ evaluate(robot, "M", state) @ state["dq"]
    assert evaluate(robot, "energy", state).item() == pytest.approx(expected, rel=RELATIVE)
    assert robot.signature("energy") == ("q", "dq", "par_DYN")
    assert robot.spec("energy").description == "Kinetic energy." and robot.functions[-1] == "energy"
    robot.add_function("swapped", q[0] * dq, ["dq", "q"])
    assert robot.signature("swapped") == ("dq", "q")


def test_an_argument_of_ones_own_may_be_a_matrix() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    wrench = robot.add_argument("tip_wrenches", (6, 2), "N, N·m", "Two wrenches at the end effector.")
    robot.add_function("tip_torques", robot["J_ee"].T @ wrench, ["q", "tip_wrenches"])
    state = random_state(robot.model, 4) | {"tip_wrenches": np.arange(12.0).reshape(6, 2)}
    expected = evaluate(robot, "J_ee", state).T @ state["tip_wrenches"]
    assert_close(evaluate(robot, "tip_torques", state), expected, RELATIVE)


@pytest.mark.parametrize(
    "name", ["", "2d", "my function", "a-b", "int", "class", "x" * 64, "_hidden", "two__lines", 'a"b', "énergie"]
)
def test_names_of_functions_and_arguments_are_identifiers(name: str) -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    with pytest.raises(ExpressionError, match="function name .*; valid: a match of"):
        robot.add_function(name, robot.symbol("q"), ["q"])
    with pytest.raises(ExpressionError, match="argument name .*; valid: a match of"):
        robot.add_argument(name, 3)


@pytest.mark.parametrize("name", ["M", "T_0_ee", "mine"])
def test_a_taken_function_name_is_refused(name: str) -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    robot.add_function("mine", robot.symbol("q"), ["q"])
    with pytest.raises(ExpressionError, match=f"function '{name}' exists already; valid: a new name"):
        robot.add_function(name, robot.symbol("q"), ["q"])


@pytest.mark.parametrize("name", ["q", "par_DYN", "par_K", "x"])
def test_a_taken_argument_name_is_refused(name: str) -> None:
    robot = RobotExpressions(load_robot("sea2"))
    with pytest.raises(ExpressionError, match=f"argument '{name}' exists already; valid: a new name"):
        robot.add_argument(name, 3)


@pytest.mark.parametrize(
    "name", ["numJoints", "numParREG", "par_DYN", "par_REG", "par_DHtable", "law_mine", "table_mine"]
)
def test_function_names_that_the_generated_code_needs_are_refused(name: str) -> None:
    """get_numJoints and get_par_… are methods of the class, <robot>_law_… the C symbols of laws."""
    robot = RobotExpressions(load_robot("sea2"))
    with pytest.raises(ExpressionError, match=f"function name '{name}'"):
        robot.add_function(name, robot.symbol("q"), ["q"])


@pytest.mark.parametrize("name", ["work", "par_mine"])
def test_argument_names_that_the_generated_code_needs_are_refused(name: str) -> None:
    robot = RobotExpressions(load_robot("sea2"))
    with pytest.raises(ExpressionError, match=f"argument name '{name}'"):
        robot.add_argument(name, 3)


@pytest.mark.parametrize("size", [0, -1, (0, 2), (2, 0)])
def test_an_argument_has_at_least_one_element(size: object) -> None:
    with pytest.raises(ExpressionError, match="argument 'mine'"):
        RobotExpressions(load_robot("planar3r")).add_argument("mine", size)  # type: ignore[arg-type]


def test_arguments_that_the_expression_needs_but_does_not_list_are_named() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    message = (
        r"function 'mine': the expression depends on dq_0, dq_1, which f_args \['q'\] does not provide; valid: arg"
    )
    with pytest.raises(ExpressionError, match=message):
        robot.add_function("mine", robot.symbol("q")[0] + robot.symbol("dq")[0] * robot.symbol("dq")[1], ["q"])


def test_a_symbol_of_the_same_name_is_not_the_robots_own() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    with pytest.raises(ExpressionError, match="function 'mine': the expression depends on q_0"):
        robot.add_function("mine", ca.SX.sym("q", 3)[0] + robot.symbol("q")[1], ["q"])


def test_unknown_and_repeated_arguments_are_refused() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    with pytest.raises(NameNotFoundError, match="planar3r: no argument 'qd'; valid: q, dq"):
        robot.add_function("mine", robot.symbol("q"), ["qd"])
    with pytest.raises(ExpressionError, match="function 'mine': f_args name 'q' twice"):
        robot.add_function("mine", robot.symbol("q"), ["q", "q"])


def test_an_empty_expression_is_refused() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    with pytest.raises(ExpressionError, match="function 'mine': the expression is empty; valid: at least one element"):
        robot.add_function("mine", ca.SX(0, 1), ["q"])


def test_something_that_is_no_expression_is_refused() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    for value in ("q", None, ca.MX.sym("q", 3), object()):
        with pytest.raises(ExpressionError, match="function 'mine'"):
            robot.add_function("mine", value, ["q"])  # type: ignore[arg-type]


def test_unknown_functions_list_the_ones_there_are() -> None:
    robot = RobotExpressions(load_robot("planar3r"))
    with pytest.raises(NameNotFoundError, match="planar3r: no function 'B'; valid: T_0_0, T_0, T_0_1"):
        robot["B"]
    with pytest.raises(NameNotFoundError, match="planar3r: no argument 'par_DYN'; valid: q, dq"):
        robot.symbol("par_DYN")


# --- friction, offsets and elastic joints (theory.md §4) --------------------------------------------------------


def test_friction_is_its_polynomial_and_the_smoothed_coulomb_term(model: RobotModel) -> None:
    robot, state = RobotExpressions(model), state_of(model, 6)
    dq = state["dq"]
    Dl = np.array(model.parameters("par_Dl")).reshape(4, 3)
    viscous = np.array([Dl[i, 0] * v + Dl[i, 1] * abs(v) * v + Dl[i, 2] * abs(v) ** 2 * v for i, v in enumerate(dq)])
    assert_close(evaluate(robot, "dl", state).ravel(), viscous + 0.2 * np.tanh(dq / SMOOTHING_VELOCITY), RELATIVE)
    assert_close(evaluate(robot, "reg_dl", state) @ Dl.ravel(), viscous, RELATIVE)


def test_with_an_offset_coulomb_friction_differs_by_direction() -> None:
    """F⁺ = Fc + o, F⁻ = Fc − o; without friction the offset alone is dl."""
    rubbing = load_robot("planar3r")
    links = [replace(link, coulomb=0.5, effort_offset=o) for link, o in zip(rubbing.links, (0.2, -0.1, 0), strict=True)]
    robot = RobotExpressions(replace(rubbing, links=tuple(links)))
    fast = {"dq": np.full(3, 1.0)}
    forwards, backwards = (evaluate(robot, "dl", {"dq": sign * fast["dq"]}).ravel() for sign in (1.0, -1.0))
    np.testing.assert_allclose(forwards, [0.7, 0.4, 0.5], rtol=1e-12)
    np.testing.assert_allclose(backwards, [-0.3, -0.6, -0.5], rtol=1e-12)
    alone = replace(rubbing, links=tuple(replace(link, coulomb=0.0) for link in links))
    np.testing.assert_array_equal(evaluate(RobotExpressions(alone), "dl", fast).ravel(), [0.2, -0.1, 0.0])


def test_elastic_terms_are_their_polynomials_at_the_elastic_joints(model: RobotModel) -> None:
    """x_0 belongs to joint 1 and x_1 to joint 3: elastic joints have an index of their own."""
    robot, state = RobotExpressions(model), state_of(model, 7)
    assert model.elastic_joints == (1, 3)
    x, dx, ddx = state["x"], state["dx"], state["ddx"]
    K, D, Dm = (np.array(model.parameters(f"par_{name}")).reshape(2, 2) for name in ("K", "D", "Dm"))
    Mm = np.array(model.parameters("par_Mm"))
    stretch, rate = x - state["q"][[1, 3]], dx - state["dq"][[1, 3]]
    expected = {
        "k": K[:, 0] * stretch + K[:, 1] * stretch**3,
        "d": D[:, 0] * rate + D[:, 1] * np.abs(rate) * rate,
        "dm": Dm[:, 0] * dx + Dm[:, 1] * np.abs(dx) * dx,
    }
    for name, value in expected.items():
        assert_close(evaluate(robot, name, state).ravel(), value, RELATIVE)
        coefficients = np.array(model.parameters(f"par_{name[0].upper()}{name[1:]}"))
        assert_close(evaluate(robot, f"reg_{name}", state) @ coefficients, value, RELATIVE)
    assert_close(evaluate(robot, "Mm", state), np.diag(Mm), RELATIVE)
    assert_close(evaluate(robot, "reg_Mm", state) @ Mm, Mm * ddx, RELATIVE)


def test_elastic_terms_of_order_zero_vanish(model: RobotModel) -> None:
    links = list(model.links)
    for i in (1, 3):
        joint = links[i].joint
        links[i] = replace(links[i], joint=replace(joint, elastic=replace(joint.elastic, D=())))
    robot = RobotExpressions(replace(model, links=tuple(links)))
    assert evaluate(robot, "d", state_of(model, 1)).tolist() == [[0.0], [0.0]]
    assert "reg_d" not in robot.functions and "reg_k" in robot.functions


def test_a_rigid_robot_without_friction_has_no_such_functions() -> None:
    robot = RobotExpressions(load_robot("panda"))
    assert not {"dl", "reg_dl", "k", "d", "dm", "Mm", "reg_k", "N"} & set(robot.functions)
    assert not {"x", "dx", "ddx"} & set(robot.arguments)


def test_values_of_symbolic_entries_are_those_of_the_file() -> None:
    model = load_robot("sea2")
    assert symbolic_values(model, "par_K").tolist() == [120.0]
    assert symbolic_values(model, "par_REG").tolist() == pytest.approx(list(model.pi[[10, 11, 12, 19]]))
