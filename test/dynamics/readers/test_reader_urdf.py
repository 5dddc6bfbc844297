"""The URDF and xacro readers: merging, chains, options, and the message for every bad input."""

from __future__ import annotations

import math
import re
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from evaluation import evaluate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from urdf_agreement import assert_agrees_with_pinocchio, configuration, projection, reference_of
from urdf_text import UrdfText
from watchdog import watched

from thunder_dynamics.errors import (
    ArmWarning,
    EndEffectorWarning,
    InertiaError,
    ModelError,
    MountingWarning,
    NameNotFoundError,
    RobotFileError,
    ThunderError,
)
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import JointKind
from thunder_dynamics.readers import InconsistentInertiaWarning, load_model
from thunder_dynamics.readers.urdf import read_assembly
from thunder_dynamics.readers.urdf_elements import find_shapes

BODY = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="0.003" izz="0.025"/></inertial>"""

ARM = UrdfText("arm.urdf")
URDF, read, changed, message_of = ARM.text, ARM.read, ARM.changed, ARM.message_of


def test_the_chain_its_names_and_kinds_are_read() -> None:
    model = read()
    assert model.name == "arm" and model.gravity == (0.0, 0.0, -9.81)
    assert model.link_names == ("upper", "rod", "wrist")
    assert model.joint_names == ("swing", "slide", "spin")
    kinds = [link.joint.kind for link in model.links]
    assert kinds == [JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.REVOLUTE]
    assert model.links[0].joint.axis == (0.0, 0.0, 1.0)
    assert model.links[2].joint.axis == (1.0, 0.0, 0.0), "the default axis of URDF is x"


def test_limits_and_friction_are_kept() -> None:
    swing, slide, spin = read().links
    limits = swing.joint.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort, limits.effort_rate) == (-1, 2, 3, 40, 1000)
    assert slide.joint.limits.effort_rate == math.inf
    assert (spin.joint.limits.lower, spin.joint.limits.upper) == (-math.inf, math.inf)
    assert [link.friction for link in (swing, slide, spin)] == [(0.5,), (0.0,), (0.0,)]
    assert [link.coulomb for link in (swing, slide, spin)] == [0.25, 0.0, 0.0]


def test_limits_by_position_and_speed_are_read() -> None:
    """In Franka's element of a joint, or in the extension."""
    element = '<position_based_velocity_limits velocity_offset="0.3" deceleration_limit="6"/><limit lower="-1"'
    found = read(changed('<limit lower="-1"', element)).links[0].joint.limits
    assert (found.velocity_offset, found.velocity_deceleration) == (0.3, 6.0)
    names = ("velocity_offset", "velocity_deceleration", "effort_corner_velocity", "effort_no_load_velocity")
    values = " ".join(f'{name}="{k}"' for k, name in enumerate(names))
    swing = read(changed("<thunder>", f'<thunder><limit joint="swing" {values}/>')).links[0].joint.limits
    assert [getattr(swing, name) for name in names] == [0.0, 1.0, 2.0, 3.0]


def test_a_joint_without_position_limits_has_none_and_one_alone_leaves_the_other_zero() -> None:
    free = read(changed('lower="-1" upper="2" ', "")).links[0].joint.limits
    assert (free.lower, free.upper) == (-math.inf, math.inf)
    half = read(changed('lower="-1" upper="2" ', 'upper="2" ')).links[0].joint.limits
    assert (half.lower, half.upper) == (0.0, 2.0)


def test_merged_inertias_and_frames_equal_pinocchio() -> None:
    text = URDF.replace("<thunder>", "<!--").replace("</thunder>", "-->")
    assert_agrees_with_pinocchio(read(), reference_of(text, "fixed"), 1e-13)


def test_static_parts_before_the_first_joint_become_the_base_frame() -> None:
    base = read().base
    assert base.tr == (0.5, 0.0, 1.0)
    np.testing.assert_allclose(base.ypr, (0.3, 0.2, 0.1), atol=1e-15)
    from_pedestal = read(base_link="pedestal")
    assert from_pedestal.base.parameters == (0.0,) * 6
    assert from_pedestal.links[0].inertia.pi.tolist() == read().links[0].inertia.pi.tolist()


def test_the_end_effector_link_is_selectable() -> None:
    assert read(ee_link="wrist").ee.parameters == (0.0,) * 6
    np.testing.assert_allclose(read(ee_link="tool").ee.ypr, (0.6, 0.4, 0.2), atol=1e-15)
    camera = read(ee_link="camera", locked_joints={"spin": 0.3})
    assert camera.link_names == ("upper", "rod") and camera.ee.tr == (0.0, 0.1, 0.05)


def test_gravity_and_name_are_options() -> None:
    model = read(gravity=[0, -9.8, 0], name="other")
    assert model.gravity == (0.0, -9.8, 0.0) and model.name == "other"


def test_a_link_without_inertial_is_massless() -> None:
    model = read(ee_link="wrist", base_link="world")
    text = changed(f'<link name="tool">{BODY}</link>', '<link name="tool"/>')
    assert read(text).links[2].inertia.mass == 0.0
    assert model.links[2].inertia.mass == 2.0, "the tool is held to the wrist"


def test_a_file_is_read_by_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "x.URDF"
    path.write_text(URDF, encoding="utf-8")
    assert load_model(path).link_names == read().link_names


def test_a_continuous_joint_is_on_a_circle_and_has_no_position_limits() -> None:
    model = read(changed('<limit velocity="6" effort="5"/>', '<limit lower="-2" upper="2" velocity="6" effort="5"/>'))
    assert dict(zip(model.joint_names, model.circles, strict=True))["spin"]
    assert model.circles.sum() == 1
    spin = model.links[model.joint_names.index("spin")].joint
    assert (spin.type_name, spin.limits.lower, spin.limits.upper) == ("continuous", -math.inf, math.inf)


def test_a_continuous_joint_that_follows_another_is_where_that_says() -> None:
    text = changed('<limit velocity="6" effort="5"/>', '<mimic joint="swing" multiplier="0.5"/>')
    assert not read(text).circles.any()


SECOND_ROOT = '<link name="adrift"/></robot>'
ROTOR = '<rotor joint="swing" inertia="1"/>'
RATE = '<limit joint="swing" effort_rate="1"/>'
BAD = {
    "no XML": ("</robot>", "", "no well-formed XML", "XML without DTD"),
    "other root": ('<robot name="arm">', '<model name="arm"><robot>', "no well-formed XML", "XML"),
    "no name": ('<robot name="arm">', "<robot>", "the attribute 'name' is missing", "a text"),
    "unknown type": ('"swing" type="revolute"', '"swing" type="screw"', "joint type 'screw'", "revolute, cont"),
    "missing link": ('<parent link="rod"/>', '<parent link="rot"/>', "joins a missing link 'rot'", "pedestal, upper"),
    "two parents": ('<child link="camera"/>', '<child link="wrist"/>', "the child of two joints", "one parent"),
    "self loop": ('<child link="camera"/>', '<child link="rod"/>', "a loop: joint 'camera_joint'", "a tree"),
    "two roots": ("</robot>", SECOND_ROOT, "several links have no parent: world, adrift", "one root"),
    "duplicate link": ("</robot>", '<link name="rod"/></robot>', "the first is at arm.urdf:", "unique"),
    "duplicate joint": ('name="slide"', 'name="swing"', "a second joint 'swing'", "unique names"),
    "zero axis": ('xyz="0 0 2"', 'xyz="0 0 0"', "the axis is zero", "length 1"),
    "nan": ('xyz="0 0.1 0.2"', 'xyz="0 nan 0.2"', "xyz='0 nan 0.2'", "3 finite numbers"),
    "text": ('value="2"', 'value="two"', "value='two'", "a finite number"),
    "underscore": ('value="2"', 'value="1_0"', "value='1_0'", "a finite number"),
    "two numbers": ('xyz="0 0.1 0.2"', 'xyz="0 0.1"', "xyz='0 0.1'", "3 finite numbers"),
    "negative mass": ('value="2"', 'value="-2"', "the mass of link 'pedestal' is negative", "m ≥ 0"),
    "no mass": ('<mass value="2"/>', "", "<mass> is missing", "one <mass>"),
    "negative velocity": ('velocity="3"', 'velocity="-2"', "the velocity limit is -2", "greater than zero"),
    "empty range": ('lower="-1"', 'lower="3"', "lower limit 3 above upper limit 2", "lower ≤ upper"),
    "damping": ('damping="0.5"', 'damping="-1"', "damping is negative", "0 or more"),
    "two inertials": ('<link name="camera">', f'<link name="camera">{BODY}', "a second <inertial>", "at most one"),
    "name of a link": ('<link name="wrist"/>', '<link name="a$b"/>', "link name 'a$b'", "1 to 127 letters"),
    "no child": ('<child link="wrist"/>', "", "<child> is missing", "one <child>"),
    "rate of what": ('joint="swing" effort', 'joint="sway" effort', "no movable joint 'sway'", "swing, slide, spin"),
    "no limit": (' effort_rate="1000"', "", "no limit", "effort_rate or acceleration"),
    "zero acceleration": ('effort_rate="1000"', 'acceleration="0"', "the acceleration limit is 0", "greater than zero"),
    "extension key": ('effort_rate="1000"', 'jerk="1"', "unknown attribute 'jerk'", "joint, effort_rate, acceleration"),
    "extension element": ("<thunder>", "<thunder><gain/>", "unknown element <gain>", "<limit"),
    "deceleration": (
        '<limit lower="-1"',
        '<position_based_velocity_limits velocity_offset="0" deceleration_limit="0"/><limit lower="-1"',
        "velocity_deceleration limit 0",
        "greater than zero",
    ),
    "corner alone": (
        "<thunder>",
        '<thunder><limit joint="swing" effort_corner_velocity="2"/>',
        "effort_corner_velocity 2 and effort_no_load_velocity inf",
        "both",
    ),
    "rotor of what": ("<thunder>", '<thunder><rotor joint="mount" inertia="1"/>', "no movable joint 'mount'", "swing"),
    "rotor below 0": ("<thunder>", '<thunder><rotor joint="swing" inertia="-1"/>', "is negative (-1)", "0 or more"),
    "second rotor": ("<thunder>", f"<thunder>{2 * ROTOR}", "a second rotor of joint 'swing'", "at most one"),
    "second rate": ("</thunder>", f"{RATE}</thunder>", "a second effort_rate", "at most one"),
    "mimic": ('<axis xyz="0 0 2"/>', '<mimic joint="swing"/>', "joint 'swing' mimics 'swing'", "does not follow it"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_element_is_named_with_file_line_and_what_is_valid(case: str) -> None:
    old, new, what, valid = BAD[case]
    message = message_of(changed(old, new))
    place, _, rest = message.partition(": ")
    file, _, line = place.partition(":")
    assert file == "arm.urdf" and 1 <= int(line) <= URDF.count("\n") + 1
    assert what in rest and valid in rest.split("; valid: ")[1]


def test_rotors_of_the_extension_are_reflected_through_the_gear() -> None:
    rotors = '<rotor joint="swing" inertia="0.6"/><rotor joint="slide" inertia="2e-5" gear_ratio="-100"/>'
    model = read(changed("<thunder>", f"<thunder>{rotors}"))
    np.testing.assert_allclose(model.rotor_inertias, [0.6, 0.2, np.nan], rtol=1e-15)
    assert np.isnan(read().rotor_inertias).all()


def test_rotors_of_drake_are_reflected_through_the_gear() -> None:
    """/robot/transmission/actuator: drake:rotor_inertia, drake:gear_ratio (1 without); others say nothing."""
    text = changed("<robot ", '<robot xmlns:drake="http://drake.mit.edu" ')
    actuator = '<actuator name="a"><drake:rotor_inertia value="1e-4"/>{}</actuator></transmission>'
    transmissions = (
        '<transmission name="t1"><joint name="swing"/>' + actuator.format('<drake:gear_ratio value="50"/>'),
        '<transmission name="t2"><joint name="slide"/>' + actuator.format(""),
        '<transmission name="t3"><joint name="spin"/><actuator name="a"/></transmission>',
    )
    model = read(text.replace("<thunder>", f"{''.join(transmissions)}<thunder>"))
    np.testing.assert_allclose(model.rotor_inertias, [0.25, 1e-4, np.nan], rtol=1e-15)


def test_rotors_of_none_are_zero_and_known() -> None:
    text = changed("<thunder>", '<thunder><rotor joint="swing" inertia="0.6"/>')
    assert not read(text, without_rotors=True).rotor_inertias.any()


def test_rotors_may_be_said_beside_the_file() -> None:
    """What the file does not say stays unknown, or is zero where it is said to have none; the others are replaced."""
    text = changed("<thunder>", '<thunder><rotor joint="swing" inertia="0.6"/>')
    rotors = dict(zip(read(text).joint_names, read(text, rotor_inertias={"slide": 0.1}).rotor_inertias, strict=True))
    assert rotors["swing"] == 0.6 and rotors["slide"] == 0.1 and np.isnan(rotors["spin"])
    assert read(text, rotor_inertias={"swing": 0.2}).rotor_inertias[0] == 0.2
    said = read(text, without_rotors=True, rotor_inertias={"spin": 0.3})
    assert dict(zip(said.joint_names, said.rotor_inertias, strict=True)) == {"swing": 0.0, "slide": 0.0, "spin": 0.3}
    assert "no joint 'swnig'" in message_of(text, NameNotFoundError, rotor_inertias={"swnig": 0.2})
    assert "rotor_inertias" in message_of(text, rotor_inertias={"swing": -0.2})


@pytest.mark.parametrize("limit", ["velocity", "effort"])
def test_a_velocity_or_effort_of_zero_states_no_limit_unless_it_is_refused(limit: str) -> None:
    stated = 'velocity="3" effort="40"'
    text = changed(stated, stated.replace(f'{limit}="', f'{limit}="0" x:was="'))
    limits = read(text).links[0].joint.limits
    assert getattr(limits, limit) == math.inf and math.isfinite(limits.lower)
    other = "effort" if limit == "velocity" else "velocity"
    assert getattr(limits, other) == getattr(read().links[0].joint.limits, other)
    message = message_of(text, zero_limits="refused")
    assert f"the {limit} limit is 0; valid: greater than zero" in message
    assert "option 'zero_limits' is 'never'" in message_of(text, zero_limits="never")


def test_a_range_from_zero_to_zero_states_no_limit_unless_it_is_refused() -> None:
    text = changed('lower="-1" upper="2"', 'lower="0" upper="0"')
    limits = read(text).links[0].joint.limits
    assert (limits.lower, limits.upper) == (-math.inf, math.inf) and math.isfinite(limits.velocity)
    assert "the range is from 0 to 0; valid: lower below upper" in message_of(text, zero_limits="refused")


@pytest.mark.parametrize("number", ["1e16", "1e400", "inf"])
def test_a_limit_that_no_joint_reaches_is_none(number: str) -> None:
    text = changed(
        'lower="-1" upper="2" velocity="3" effort="40"', f'lower="-{number}" upper="{number}" velocity="{number}"'
    )
    limits = read(text).links[0].joint.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-math.inf, math.inf, math.inf, math.inf)
    for wrong in (
        text.replace(f'lower="-{number}"', f'lower="{number}"'),
        text.replace(f'velocity="{number}"', 'velocity="nan"'),
    ):
        assert "valid: a finite number" in message_of(wrong)


def test_the_line_is_that_of_the_element() -> None:
    text = changed('xyz="0 0 2"', 'xyz="0 0 0"')
    line = text[: text.index('xyz="0 0 0"')].count("\n") + 1
    assert message_of(text).startswith(f"arm.urdf:{line}: <axis>: the axis is zero")


LOOP = """<joint name="j" type="continuous"><parent link="b"/><child link="c"/></joint>
  <joint name="k" type="continuous"><parent link="c"/><child link="b"/></joint></robot>"""
LOOPS = "the joints form a loop through the links b, c; valid: a tree"
UNEXPANDED = '<x:macro xmlns:x="http://www.ros.org/wiki/xacro" name="m"/></robot>'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f'<robot name="r"><link name="a"/><link name="b"/><link name="c"/>{LOOP}', LOOPS),
        (f'<robot name="r"><link name="b"/><link name="c"/>{LOOP}', LOOPS),
        ('<robot name="r"/>', "valid: at least"),
        ('<robot name="r"><link name="a"/></robot>', "valid: at least"),
        ("<sdf/>", "arm.urdf:1: <sdf>: the top-level element is <sdf>; valid: <robot>"),
        (changed("</robot>", UNEXPANDED), "<xacro:macro> is not expanded; valid: a file with the suffix .xacro"),
    ],
)
def test_a_text_that_is_no_tree_of_a_robot_is_an_error(text: str, what: str) -> None:
    assert what in message_of(text)


ENTITY = '<!DOCTYPE robot [<!ENTITY e SYSTEM "file:///etc/hostname">]>\n'
LAUGHS = "".join(f'<!ENTITY e{k} "&e{k - 1};&e{k - 1};">' for k in range(1, 60))
INCLUDE = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/hostname" parse="text"/>'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f'<!DOCTYPE r [<!ENTITY e0 "ha">{LAUGHS}]><robot name="&e59;"/>', "a DOCTYPE is not allowed"),
        ('<!DOCTYPE r [<!ENTITY % p SYSTEM "http://localhost:1/x.dtd">%p;]><robot/>', "a DOCTYPE is not allowed"),
        (
            URDF.replace("<robot", ENTITY + "<robot", 1).replace('name="arm"', 'name="&e;"', 1),
            "arm.urdf:2: a DOCTYPE is not allowed; valid: XML without DTD and entities",
        ),
        ("<robot name='&e;'/>", "no well-formed XML (Entity 'e' not defined"),
        (f"<robot name='r'>{INCLUDE}<link name='a'/></robot>", "no joint moves"),
        ("<robot>" + "<a>" * 100_000 + "</a>" * 100_000 + "</robot>", "no well-formed XML (Excessive depth"),
        ("<robot name='" + "r" * 5_000_000 + "'/>", "the text is too large; valid: at most 4096 KiB"),
        ("<robot name='r'>" + "<link/>" * 10_001 + "</robot>", "there are too many elements; valid: at most 10000"),
        ("<robot name='r'><link name='\ud800'/></robot>", "link name '?'"),
        ("<robot name='r'><link name='\0'/></robot>", "no well-formed XML"),
        ("<?xml version='1.0' encoding='utf-16'?><robot name='r'/>", "the robot has no link"),
    ],
    ids=["laughs", "parameter", "dtd", "entity", "xinclude", "depth", "size", "links", "surrogate", "nul", "encoding"],
)
def test_an_attack_by_xml_is_refused(text: str, what: str) -> None:
    with watched():
        assert what in message_of(text)


def test_broken_inertias_raise_and_can_be_allowed() -> None:
    text = URDF.replace('iyy="0.03"', 'iyy="0.3"')
    message = message_of(text, InertiaError, base="floating", base_link="upper")
    line = text[: text.index('<link name="upper"')].count("\n") + 1
    assert message.startswith(f"arm.urdf:{line}: <link upper>: ") and "triangle inequality" in message
    assert "; 2 more inertias that no rigid body has: rod, wrist; valid: " in message
    assert "allow_inconsistent" in message
    with pytest.warns(InconsistentInertiaWarning, match="<link upper>.*2 more.*rod, wrist") as caught:
        read(text, allow_inconsistent=True, base="floating", base_link="upper")
    assert len(caught) == 1


PLACEHOLDER = """<link name="dummy"><inertial><mass value="1e-6"/>
  <inertia ixx="1e-6" ixy="1e-6" ixz="1e-6" iyy="1e-6" iyz="1e-6" izz="1e-6"/></inertial></link>
  <joint name="hold" type="fixed"><parent link="PARENT"/><child link="dummy"/></joint></robot>"""


@pytest.mark.parametrize("parent", ["pedestal", "upper"])
def test_a_placeholder_that_the_base_drops_or_a_link_outweighs_is_no_error(parent: str) -> None:
    text = changed("</robot>", PLACEHOLDER.replace("PARENT", parent))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = read(text, ee_link="tool")
    expected = read(URDF).links[0].inertia.mass + (1e-6 if parent == "upper" else 0.0)
    assert model.links[0].inertia.mass == pytest.approx(expected, rel=1e-12)


def test_a_placeholder_that_moves_by_itself_is_an_error() -> None:
    text = changed("</robot>", PLACEHOLDER.replace("PARENT", "wrist").replace("fixed", "continuous"))
    message = message_of(text, InertiaError, ee_link="dummy")
    assert "<link dummy>: the inertia about the CoM breaks the triangle" in message


def test_long_lists_of_names_are_cut_to_those_that_look_alike() -> None:
    links = "".join(f'<link name="link{k}"/>' for k in range(40))
    joints = "".join(
        f'<joint name="joint{k}" type="continuous"><parent link="link{k}"/><child link="link{k + 1}"/></joint>'
        for k in range(39)
    )
    text = f'<robot name="snake">{links}{joints}</robot>'
    message = message_of(text, NameNotFoundError, ee_link="Link17")
    names = message.split("valid: ")[1]
    assert (
        names.startswith("link17, ")
        and names.endswith(", … (40 in all) (did you mean link17?)")
        and names.count(",") == 4
    )
    assert "joint5, " in message_of(text, NameNotFoundError, locked_joints={"joint_5": 0.0})


@pytest.mark.parametrize(
    ("given_name", "name"), [("2dof-arm", "robot_2dof_arm"), ("my robot", "my_robot"), ("a.b", "a_b"), ("", "robot")]
)
def test_a_robot_s_name_becomes_a_c_identifier_but_not_one_that_is_chosen(given_name: str, name: str) -> None:
    text = changed('<robot name="arm">', f'<robot name="{given_name}">')
    assert read(text).name == name
    message = message_of(text, ModelError, name=given_name)
    assert f"arm.urdf: robot name {given_name!r} is not a C identifier; valid: " in message


def test_movable_joints_off_the_chain_are_named() -> None:
    message = message_of(URDF, ee_link="rod")
    assert "movable joints off the chain from 'world' to 'rod': spin; valid: " in message and "locked_joints" in message


FIXED = '<link name="{1}"/><joint name="to_{1}" type="fixed"><parent link="{0}"/><child link="{1}"/></joint>'


@pytest.mark.parametrize(
    ("links", "chosen"),
    [
        ("tool/finger_a tool/finger_b finger_a/tip_a finger_b/tip_b tool/grasp", "grasp"),
        ("tool/ee_link tool/flange flange/tool0", "tool0"),
        ("tool/tool_camera tool/flange tool/ee", "ee"),
        ("tool/flange tool/cover cover/lid", "flange"),
        ("tool/lens_camera tool/tcp", "tcp"),
    ],
)
def test_of_links_that_are_fixed_to_one_body_the_name_says_which_is_the_end_effector(links: str, chosen: str) -> None:
    text = URDF.replace('"tool"', '"palm"')
    parts = "".join(FIXED.format(*pair.replace("tool/", "palm/").split("/")) for pair in links.split())
    text = text.replace("</robot>", f"{parts}</robot>")
    with pytest.warns(EndEffectorWarning, match=f"the end effector is '{chosen}'.*; ee_link chooses"):
        model = read(text)
    same = read(text, ee_link=chosen)
    assert model.ee == same.ee and model.links[-1].inertia.pi.tolist() == same.links[-1].inertia.pi.tolist()


def test_without_a_name_that_says_so_it_is_the_farthest_link_or_the_one_with_the_fingers() -> None:
    text, limit = URDF.replace('"tool"', '"palm"'), '<limit lower="0" upper="1" velocity="1" effort="9"/></joint>'
    frames = "".join(FIXED.format(*pair) for pair in (("palm", "a"), ("palm", "b"), ("a", "c")))
    fingers = "".join(
        FIXED.format("palm", finger).replace('"fixed"', '"prismatic"').replace("</joint>", limit)
        for finger in ("left", "right")
    )
    with pytest.warns(EndEffectorWarning, match="the end effector is 'c'"):
        read(text.replace("</robot>", frames + "</robot>"))
    with pytest.warns(EndEffectorWarning, match="the end effector is 'palm'; .* body: left, right;"):
        read(text.replace("</robot>", fingers + "</robot>"), locked_joints={"to_left": 0.0, "to_right": 0.0})
    with pytest.warns(ArmWarning, match="with the end effector 'palm'; held: .*to_left, to_right"):
        assert read(text.replace("</robot>", fingers + "</robot>"), arm=True).n == 3


MOUNTINGS = [(0, 0, 0.7), (3.14159265358979, 0, 0), (0, 1.5707963, 0), (0.3, -0.4, 0.5), (-1.5707963, 0, 0), (1, 2, 3)]


@pytest.mark.parametrize("rpy", MOUNTINGS)
def test_a_base_link_keeps_its_mounting(rpy: tuple[float, ...]) -> None:
    """Effort of gravity equals Pinocchio's, which reads the file from its root."""
    words = " ".join(map(str, rpy))
    text = re.sub(r'(<joint name="mount".*?rpy=")[^"]*', rf"\g<1>{words}", URDF, count=1, flags=re.DOTALL)
    assert words in text
    with pytest.warns(MountingWarning) if any(rpy[:2]) else nullcontext():
        model = read(text, base_link="pedestal")
    reference, q = reference_of(text, "fixed"), np.array([0.3, 0.2, -0.4])
    at = configuration(model, reference, q)
    expected = projection(model, reference).T @ pin.computeGeneralizedGravity(reference, reference.createData(), at)
    G = evaluate(RobotExpressions(model), "G", {"q": q})
    np.testing.assert_allclose(G.ravel(), expected, rtol=1e-12, atol=1e-12)


def test_gravity_that_is_given_counts_in_the_base_link_and_needs_no_note() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(base_link="pedestal", gravity=(0, 0, -9.81)).gravity == (0.0, 0.0, -9.81)
    with pytest.warns(MountingWarning, match="below 'world', swing at 0; gravity replaces it"):
        read(base_link="upper")
    with pytest.warns(MountingWarning, match="swing at 0.3"):
        read(base_link="upper", locked_joints={"swing": 0.3})


@pytest.mark.parametrize(
    ("options", "kind", "what"),
    [
        ({"ee_link": "hand"}, NameNotFoundError, "ee_link: no link 'hand'; valid: world, pedestal"),
        ({"base_link": "floor"}, NameNotFoundError, "base_link: no link 'floor'; valid: world"),
        ({"base_link": "rod", "ee_link": "upper"}, NameNotFoundError, "ee_link: no link 'upper'; valid: rod"),
        ({"locked_joints": {"mount": 0.0}}, NameNotFoundError, "no movable joint 'mount' to lock; valid: swing, slide"),
        ({"locked_joints": {"slide": 9.0}}, RobotFileError, "'slide' cannot be locked at 9; valid: 0 to 0.4"),
        ({"locked_joints": {"slide": math.nan}}, RobotFileError, "option 'locked_joints.slide.0' is nan"),
        ({"gravity": [0, 1]}, RobotFileError, "option 'gravity"),
        (
            {"xacro_args": {}},
            NameNotFoundError,
            "no option 'xacro_args'; valid: name, allow_inconsistent, locked",
        ),
    ],
)
def test_bad_options_are_named(options: dict[str, object], kind: type[ThunderError], what: str) -> None:
    assert what in message_of(URDF, kind, **options)


@pytest.mark.slow
def test_thousands_of_fixed_links_are_merged() -> None:
    count = 3000
    links = "".join(f'<link name="l{k}"/>' for k in range(count + 1))
    joints = '<joint name="j0" type="continuous"><parent link="l0"/><child link="l1"/></joint>' + "".join(
        f'<joint name="j{k}" type="fixed"><parent link="l{k}"/><child link="l{k + 1}"/>'
        '<origin xyz="0.001 0 0"/></joint>'
        for k in range(1, count)
    )
    model = read(f'<robot name="snake">{links}{joints}</robot>')
    # 2999 additions of a number with a relative error of 1e-16 each
    assert model.n == 1 and model.ee.tr[0] == pytest.approx(2.999, rel=1e-12)


TOKENS = ["<", "/>", '"', "&amp;", "nan", "1e400", "-1", "\n", "link", "joint", "<!DOCTYPE a>", "é", " "]


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(
        st.tuples(st.integers(0, 4000), st.integers(0, 30), st.sampled_from(TOKENS) | st.text(max_size=5)),
        min_size=1,
        max_size=3,
    )
)
def test_a_mutated_file_loads_or_raises_our_own_error(edits: list[tuple[int, int, str]]) -> None:
    text = URDF
    for start, length, replacement in edits:
        start %= len(text) + 1
        text = text[:start] + replacement + text[start + length :]
    try:
        model = read(text)
    except ThunderError as error:
        assert "arm" in str(error)
    else:
        assert np.isfinite(model.pi).all() and model.n >= 1


def test_links_are_read_as_they_are_in_the_file(tmp_path: Path) -> None:
    """None merged, whatever the end effector is; those that do not move are said."""
    (tmp_path / "arm.urdf").write_text(URDF)
    links = read_assembly(tmp_path / "arm.urdf", {"locked_joints": {"slide": 0.1}, "ee_link": None})
    assert links.base not in links.model.link_names
    names = set(re.findall('<link name="([^"]*)"', URDF))
    assert {links.base, *links.model.link_names} == names
    assert links.held["slide"] == (0.1,)
    assert set(links.model.joint_names) - set(links.held) == {"swing", "spin"}


VISUAL = """<robot name="a"><link name="base"/><link name="arm">
<visual><origin xyz="1 2 3" rpy="0 0 0.5"/><geometry><mesh filename="a.stl" scale="1 -1 2"/></geometry></visual>
<visual><geometry><cylinder radius="0.1" length="0.2"/></geometry></visual>
<collision><geometry><capsule radius="0.3" length="0.4"/></geometry></collision>
</link></robot>"""


def test_visuals_are_read_with_their_origin_and_size() -> None:
    (first, second, third), complaints = find_shapes(VISUAL, "a.urdf")
    assert complaints == []
    assert (first.link, first.kind, first.size, first.file) == ("arm", "mesh", (1.0, -1.0, 2.0), "a.stl")
    np.testing.assert_allclose(first.origin.translation, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(first.origin.rotation[:2, 0], [math.cos(0.5), math.sin(0.5)])
    assert (second.kind, second.size, second.file) == ("cylinder", (0.1, 0.2), "")
    np.testing.assert_array_equal(second.origin.rotation, np.eye(3))
    assert (third.collides, third.kind, third.size) == (True, "capsule", (0.3, 0.4)) and not first.collides


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('radius="0.1"', 'radius="0"', "greater than zero"),
        ('length="0.2"', 'length="long"', "valid: a finite number"),
        ("<cylinder", "<cone", "a geometry that is not known"),
        ('<cylinder radius="0.1" length="0.2"/>', "", "a geometry that is not known"),
        ('<geometry><cylinder radius="0.1" length="0.2"/></geometry>', "", "<geometry> is missing"),
        ("<visual><geometry><cyl", '<visual><origin xyz="1 2"/><geometry><cyl', "valid: 3 finite numbers"),
    ],
)
def test_a_visual_that_cannot_be_is_a_complaint_beside_the_others(old: str, new: str, what: str) -> None:
    found, ((link, error),) = find_shapes(VISUAL.replace(old, new), "a.urdf")
    assert [one.kind for one in found] == ["mesh", "capsule"] and link == "arm"
    assert str(error).startswith("a.urdf:") and what in str(error)
