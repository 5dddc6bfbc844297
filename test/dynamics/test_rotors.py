"""Reflected rotor inertias: identities, run-time parameters, coupled joints, loops; Pinocchio's armature elsewhere."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from evaluation import assert_close, evaluate
from robots import pinocchio_model, random_robot, random_state, with_rotors

from thunder_dynamics.errors import ModelError, NameNotFoundError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import Coupling, Elasticity, Joint, JointKind
from thunder_dynamics.model import STRAIGHT_PAIRS

RELATIVE = 1e-10
"""Double precision, a few thousand operations on both sides."""


def test_yr_and_rotors_are_m_qdd_r_and_the_inverse_dynamics_of_laws() -> None:
    model = with_rotors(random_robot(5, 6), 5)
    robot, state = RobotExpressions(model), random_state(model, 5)
    M, C, G = (evaluate(robot, name, state) for name in "MCG")
    expected = M @ state["ddq_r"] + C @ state["dq_r"] + G.ravel()
    rotors = evaluate(robot, "reg_Ia", state) @ np.array(model.parameters("par_Ia"))
    assert_close(evaluate(robot, "Yr", state) @ model.pi + rotors, expected, RELATIVE)
    names = ("q", "dq", "dq_r", "ddq_r")
    symbols = [robot.symbol(name) for name in names]
    tau = ca.Function("tau", symbols, [robot.inverse_dynamics(*symbols)])
    assert_close(np.asarray(tau(*(state[name] for name in names))).ravel(), expected, RELATIVE)


def test_some_rotors_are_run_time_parameters() -> None:
    """Only symbolic entries are in par_Ia, and M, M⁻¹ and the inverse dynamics follow them."""
    model = random_robot(6, 4).with_rotor_inertias({"joint1": 0.1, "joint2": 0.2, "joint4": 0.4})
    symbolic = model.with_symbolic("par_Ia", [False, True, True])
    robot, state = RobotExpressions(symbolic), random_state(model, 6)
    assert robot.symbol("par_Ia").numel() == 2
    other = RobotExpressions(model.with_rotor_inertias({"joint2": 1.0, "joint4": 2.0}))
    values = state | {"par_Ia": np.array([1.0, 2.0])}
    for name in ("M", "M_inv", "inverse_dynamics", "forward_dynamics", "pi_b"):
        assert "par_Ia" in robot.signature(name)
        assert_close(evaluate(robot, name, values), evaluate(other, name, state), 1e-9)
    assert robot.signature("C") == ("q", "dq") and robot.signature("Yb") == ("q", "dq", "ddq")


def test_unknown_is_not_zero() -> None:
    model = random_robot(7, 3)
    assert np.isnan(model.rotor_inertias).all() and model.parameters("par_Ia") == ()
    assert "reg_Ia" not in RobotExpressions(model).functions
    none = model.with_rotor_inertias({"joint2": 0.0})
    np.testing.assert_array_equal(none.rotor_inertias, [np.nan, 0.0, np.nan])
    assert "reg_Ia" in RobotExpressions(none).functions


def test_base_parameters_hold_the_rotors() -> None:
    """The rotor of joint 1 acts as Izz of its link, those of joints across the gravity field by themselves."""
    model = random_robot(8, 4, dh=True)
    model = replace(
        model, links=tuple(replace(x, joint=replace(x.joint, kind=JointKind.REVOLUTE)) for x in model.links)
    )
    robot = RobotExpressions(model.with_rotor_inertias(dict.fromkeys(model.joint_names, 0.5)))
    state, base = random_state(model, 8), robot.base_parameters
    without = RobotExpressions(model).base_parameters
    assert len(base.kept) == len(without.kept) + 3
    row = base.K[base.kept.index(base.names.index("link1.Izz"))]
    assert row[base.names.index("joint1.rotor")] == pytest.approx(1.0)
    effort = evaluate(robot, "Yb", state) @ evaluate(robot, "pi_b", state).ravel()
    assert_close(effort, evaluate(robot, "inverse_dynamics", state), 1e-8)


def test_a_joint_that_follows_turns_its_rotor_by_its_share() -> None:
    model = random_robot(9, 3, dh=False)
    joint = replace(model.links[2].joint, coupling=Coupling("joint1", -2.0), kind=model.links[0].joint.kind)
    model = replace(model, links=(*model.links[:2], replace(model.links[2], joint=joint)))
    robot = RobotExpressions(model.with_rotor_inertias({"joint1": 0.1, "joint3": 0.3}))
    state = random_state(model, 9)
    M, links = evaluate(robot, "M", state), evaluate(RobotExpressions(model), "M", state)
    assert_close(M - links, np.diag([0.1 + 4 * 0.3, 0.0]), 1e-12)
    assert_close(evaluate(robot, "M_inv", state) @ M, np.eye(2), 1e-9)


def test_the_loops_of_a_large_robot_have_them() -> None:
    from thunder_dynamics.codegen.loops import Loops

    n = 16
    model = with_rotors(random_robot(10, n, dh=True), 10)
    robot, state = RobotExpressions(model), random_state(model, 10)
    assert n * (n + 1) / 2 > STRAIGHT_PAIRS
    table = Loops(robot).tables["mass"]
    rotors = np.asarray(table.function(state["q"])[2]).ravel()
    np.testing.assert_array_equal(rotors, pinocchio_model(model).armature)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rotor_inertia": -1.0}, "rotor inertia -1"),
        ({"rotor_inertia": float("nan")}, "rotor inertia nan"),
        ({"rotor_inertia": 1.0, "elastic": Elasticity((1.0,), (), (), 1.0)}, "the motor inertia Mm"),
        ({"rotor_inertia": 1.0, "kind": JointKind.SPHERICAL}, "several values"),
    ],
)
def test_impossible_rotors_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Joint(**{"name": "joint", "kind": JointKind.REVOLUTE} | change)


def test_a_rotor_of_a_joint_that_there_is_not() -> None:
    with pytest.raises(NameNotFoundError, match="joint1, joint2"):
        random_robot(11, 2).with_rotor_inertias({"elbow": 1.0})
