"""URDF trees: branches, a floating base, several end effectors, mimicking, planar and floating joints."""

from __future__ import annotations

import numpy as np
import pytest
from evaluation import evaluate
from robots import random_state
from urdf_agreement import assert_agrees_with_pinocchio, reference_of
from urdf_text import UrdfText

from thunder_dynamics.errors import ModelError, NameNotFoundError, RobotFileError, ThunderError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.joints import Coupling, JointKind
from thunder_dynamics.model import EndEffector, Frame, RobotModel

BIPED = UrdfText("biped.urdf")
URDF, read, changed, message_of = BIPED.text, BIPED.read, BIPED.changed, BIPED.message_of
RELATIVE = 1e-12  # both sides are double precision, at most a thousand operations behind an entry


def test_all_that_moves_is_read_parents_first() -> None:
    model = read()
    assert model.link_names == (
        *("left_thigh", "left_shin", "right_thigh", "right_shin"),
        *("head", "balloon"),
    )
    assert [link.parent for link in model.links] == [-1, 0, -1, 2, -1, 4]
    kinds = [link.joint.kind.name for link in model.links]
    assert kinds == ["revolute", "revolute", "revolute", "prismatic", "planar", "free"]
    assert (model.nq, model.nv) == (1 + 1 + 1 + 3 + 7, 1 + 1 + 1 + 3 + 6)
    assert [link.friction for link in model.links] == [(0.5,)] + [(0.0,)] * 5


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_tree_agrees_with_pinocchio(base: str) -> None:
    assert_agrees_with_pinocchio(read(base=base), reference_of(URDF, base), RELATIVE)


def test_a_floating_base_is_the_first_link() -> None:
    model = read(base="floating")
    root = model.links[0]
    assert (root.name, root.parent, root.joint.name, root.joint.kind) == ("torso", -1, "root_joint", JointKind.FREE)
    assert root.inertia.mass == 6.0 and model.base == Frame()
    from_thigh = read(base="floating", base_link="left_thigh")
    assert from_thigh.link_names == ("left_thigh", "left_shin") and from_thigh.nv == 7


def test_a_base_that_nothing_hangs_on_can_float() -> None:
    body = '<robot name="drone"><link name="body"><inertial><mass value="1"/>' + (
        '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.02"/></inertial></link></robot>'
    )
    model = read(body, base="floating")
    np.testing.assert_allclose(evaluate(RobotExpressions(model), "M", {"q": model.neutral}).diagonal()[:3], 1.0)
    assert "no joint moves from 'body' to 'body'" in message_of(body)


def test_what_mimics_a_locked_joint_is_held_wherever_that_is() -> None:
    """The leader is off the model, and the follower is the only joint of a chain that is locked with it."""
    whole = {"left_knee": 0.4}
    leg = read(base_link="torso", ee_link="right-foot", tree=True, locked_joints=whole)
    alone = read(base_link="right_thigh", base="floating", locked_joints=whole)
    assert alone.joint_names == ("root_joint",)
    thigh = leg.links[leg.index_of("right_thigh")].inertia
    np.testing.assert_allclose(alone.links[0].inertia.pi, thigh.pi, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("locked", "message"),
    [
        ({"neck": 0.3}, "joint 'neck' cannot be locked at 0.3; valid: 3 values"),
        ({"left_knee": (0.3, 0.1)}, "joint 'left_knee' cannot be locked at 0.3, 0.1; valid: 0 to 2"),
        (
            {"string": (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)},
            "valid: 7 values, a configuration of a free joint",
        ),
        ({"neck": (0.3, 0.1, "x")}, "option 'locked_joints.neck.2' is 'x'"),
        ({"string": ()}, "option 'locked_joints.string' is ()"),
    ],
)
def test_a_joint_is_locked_at_as_many_values_as_it_has(locked: dict[str, object], message: str) -> None:
    assert message in message_of(URDF, locked_joints=locked)


def test_the_deepest_links_are_end_effectors_unless_some_are_given() -> None:
    without_head = read(locked_joints={"left_knee": 0.0}, ee_link=["left-foot", "head"])
    assert [(e.name, e.link) for e in without_head.end_effectors] == [("left_foot", 0), ("head", 2)]
    assert without_head.ee_link == 0 and without_head.ee.tr == pytest.approx((0.05, 0.0, -0.8))
    text = changed('<joint name="string" type="floating">', '<joint name="string" type="fixed">')
    feet = read(text)
    assert feet.end_effectors == (
        EndEffector("left_foot", 1, Frame((0.05, 0.0, -0.4), feet.ee.ypr)),
        EndEffector("right_foot", 3, Frame((0.05, 0.0, -0.4))),
    )
    functions = RobotExpressions(feet).functions
    assert {"T_0_left_foot", "J_right_foot", "J_right_foot_dot", "J_ee"} <= set(functions)
    assert read(text, ee_link="head", tree=True).end_effectors == ()


def test_the_first_of_several_end_effectors_is_ee() -> None:
    model = read(ee_link=["right-foot", "left-foot"])
    robot, state = RobotExpressions(model), random_state(model, 2)
    for name in ("T_0_{}", "J_{}", "J_{}_dot"):
        np.testing.assert_array_equal(
            evaluate(robot, name.format("ee"), state), evaluate(robot, name.format("right_foot"), state)
        )


def test_one_end_effector_is_that_of_a_chain() -> None:
    message = message_of(URDF, ee_link="left-foot")
    assert "off the chain from 'torso' to 'left-foot': right_hip, right_knee, neck, string; valid: " in message
    held = {"left_hip": 0.0, "left_knee": 0.0, "right_hip": 0.0}
    assert "to 'left-foot': neck, string; valid: " in message_of(URDF, ee_link="left-foot", locked_joints=held)
    assert read(ee_link="left-foot", tree=True).n == 6
    leg = read(base_link="left_thigh", ee_link="left-foot")
    assert leg.n == 1 and leg.end_effectors == ()


def test_static_parts_become_the_base_frame_if_all_that_moves_hangs_on_one_link() -> None:
    feet = {"left_knee": 0.0, "left_hip": 0.0, "right_hip": 0.0}
    head = read(locked_joints=feet, ee_link="balloon")
    assert head.base.tr == (-0.2, 0.0, 0.1) and head.links[0].joint.placement.translation.tolist() == [0.0, 0.0, 0.4]
    both = read()
    assert both.base == Frame() and both.links[4].joint.placement.translation == pytest.approx((-0.2, 0.0, 0.5))


def test_a_mimicking_joint_follows_in_the_end_one_that_mimics_none() -> None:
    assert read().links[3].joint.coupling == Coupling("left_knee", -0.5, 0.1)
    text = changed(
        '<limit lower="0" upper="2" velocity="9" effort="9"/>',
        '<limit effort="9" velocity="9"/><mimic joint="left_hip" multiplier="3" offset="0.2"/>',
    )
    assert read(text).links[3].joint.coupling == Coupling("left_hip", -1.5, pytest.approx(0.0))
    assert_agrees_with_pinocchio(read(text), reference_of(text, "fixed"), RELATIVE)


@pytest.mark.parametrize("leader", ["right_knee", "tail"])
def test_a_mimicking_joint_follows_a_movable_other_one(leader: str) -> None:
    text = changed('<mimic joint="left_knee"', f'<mimic joint="{leader}"')
    message = message_of(text)
    assert (
        f"joint 'right_knee' mimics '{leader}'; valid: a movable joint of the file, which does not follow it" in message
    )


def test_a_leader_is_in_the_model_and_has_one_position() -> None:
    message = message_of(URDF, ModelError, base_link="right_thigh")
    assert "joint right_knee: coupled to 'left_knee'; valid: " in message
    text = changed('<mimic joint="left_knee"', '<mimic joint="neck"')
    assert "joint right_knee: coupled to 'neck'; valid: left_hip, left_knee, right_hip" in message_of(text, ModelError)


@pytest.mark.parametrize(
    ("options", "kind", "what"),
    [
        ({"ee_link": ["head", "hand"]}, NameNotFoundError, "ee_link: no link 'hand'; valid: head"),
        ({"ee_link": ["torso", "head"]}, RobotFileError, "no joint moves from 'torso' to 'torso'"),
        ({"ee_link": ["head", "head"]}, ModelError, "end effector 'head': the name; valid: unique"),
        ({"base": "flying"}, RobotFileError, "option 'base' is 'flying'"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], kind: type[ThunderError], what: str) -> None:
    assert what in message_of(URDF, kind, **options)


@pytest.mark.parametrize("name", ["3", "ee", "ee_dot", "7_dot", "a__b", "a-b", "_a", "x" * 56, ""])
def test_names_of_end_effectors_are_parts_of_names_of_functions(name: str) -> None:
    with pytest.raises(ModelError, match="end effector .*: the name; valid: unique, a match of"):
        RobotModel("robot", read().links, end_effectors=(EndEffector(name, 0),))
    with pytest.raises(ModelError, match=r"end effector 'tip': .* in link 6; valid: finite numbers, 0…5"):
        RobotModel("robot", read().links, end_effectors=(EndEffector("tip", 6),))
