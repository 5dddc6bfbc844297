"""URDF as people write it: tolerant in form, strict in numbers, and nothing skipped in silence."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from evaluation import evaluate
from robots import random_state
from urdf_agreement import reference_of

from thunder_dynamics.errors import (
    IgnoredLimitWarning,
    InertiaError,
    ModelError,
    OpenLoopWarning,
    RobotFileError,
    RobotFileWarning,
    UnusedElementWarning,
    UnusedInertiaWarning,
)
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.urdf import read_urdf_text
from thunder_dynamics.spatial import rotation_from_quaternion

BODY = """<inertial><origin xyz="0.1 0 0.02"/><mass value="1"/>
  <inertia ixx="0.01" ixy="0.001" ixz="0.002" iyy="0.02" iyz="0.0015" izz="0.018"/></inertial>"""
ORIGIN = '<origin xyz="0.3 0 0.1" rpy="0.2 0.1 -0.3"/>'
LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="3"/>'
JOINT = (
    '<joint name="j{k}" type="revolute">{origin}<parent link="l{p}"/><child link="l{k}"/><axis xyz="0 {k} 1"/>{limit}'
    "</joint>\n"
)
DECLARATION = '<?xml version="1.0"?>\n'
ARM = (
    f'{DECLARATION}<robot name="arm">\n<link name="l0"/>\n'
    + "".join(f'<link name="l{k}">{BODY}</link>\n' for k in (1, 2, 3))
    + '<link name="tool"/>\n'
    + "".join(JOINT.format(k=k, p=k - 1, origin=ORIGIN, limit=LIMIT) for k in (1, 2, 3))
    + '<joint name="jt" type="fixed"><origin xyz="0.3 0 0.1"/><parent link="l3"/><child link="tool"/></joint>\n</robot>'
)
FINGER = (
    f'<link name="finger">{BODY}</link><joint name="f" type="prismatic"><parent link="tool"/><child link="finger"/>'
    '<axis xyz="0 1 0"/>{}</joint></robot>'
)


def read(text: str, **options: object) -> RobotModel:
    """The model of a text, which nothing is said of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_urdf_text(text, "arm.urdf", **options)


def changed(old: str, new: str, text: str = ARM) -> str:
    assert old in text
    return text.replace(old, new, 1)


def ended(addition: str) -> str:
    return changed("</robot>", f"{addition}</robot>")


def message_of(text: str, **options: object) -> str:
    with pytest.raises(RobotFileError) as caught:
        read(text, **options)
    return str(caught.value)


def assert_same(one: RobotModel, other: RobotModel) -> None:
    assert one.joint_names == other.joint_names
    np.testing.assert_array_equal(one.pi, other.pi)
    for mine, its in zip(one.links, other.links, strict=True):
        np.testing.assert_array_equal(mine.joint.placement.rotation, its.joint.placement.rotation)
        np.testing.assert_array_equal(mine.joint.placement.translation, its.joint.placement.translation)
        assert mine.joint.axis == its.joint.axis and mine.joint.limits == its.joint.limits


FORMS = {
    "dashes in a comment": changed("<link", "<!---------- upper arm ---------->\n<link"),
    "blank lines first": f"\n \n{ARM}",
    "a comment first": f"<!-- licence -- of it -->\n{ARM}",
    "default namespace": changed('name="arm"', 'name="arm" xmlns="http://www.ros.org"'),
    "undeclared prefix": ended('<gazebo><controller:c a:b="1" name="c"/></gazebo>'),
    "undeclared prefix of an attribute": changed('<link name="tool"', '<link x:id="7" name="tool"'),
    "DOCTYPE in a comment": changed("<link", "<!-- <!DOCTYPE robot> was here -->\n<link"),
    "DOCTYPE in verbatim text": ended("<gazebo><![CDATA[<!DOCTYPE robot> & <b>]]></gazebo>"),
    "version 1.1": changed('name="arm"', 'name="arm" version="1.1"'),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_the_xml_does_not_matter(form: str) -> None:
    assert_same(read(FORMS[form]), read(ARM))


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("iso-8859-1", "ISO-8859-1"),
        ("cp1252", "windows-1252"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-8", "UTF-16"),
        ("gb18030", "GB18030"),
    ],
)
def test_a_file_is_in_the_encoding_that_it_declares(tmp_path: Path, encoding: str, declared: str) -> None:
    text = changed(DECLARATION, f'<?xml version="1.0" encoding="{declared}"?>\n<!-- 90° größer -->\n')
    file = tmp_path / "arm.urdf"
    file.write_bytes(text.encode(encoding))
    assert_same(load_model(file), read(ARM))


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16"])
def test_a_xacro_is_in_the_encoding_that_it_declares(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "arm.urdf.xacro"
    text = changed(DECLARATION, f'<?xml version="1.0" encoding="{encoding}"?>\n<!-- <!DOCTYPE größer> -->\n')
    file.write_bytes(text.replace('"l2"', '"größer"').encode(encoding))
    assert load_model(file).link_names == ("l1", "größer", "l3")
    file.write_bytes(text.replace("<!-- <", "<").replace("> -->", ">").encode(encoding))
    with pytest.raises(RobotFileError, match="DOCTYPE"):
        load_model(file)


@pytest.mark.parametrize("declared", ["unicode_escape", "utf-7", "idna", "nonsense", "base64"])
def test_an_encoding_that_is_no_plain_text_is_refused(tmp_path: Path, declared: str) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(changed(DECLARATION, f'<?xml version="1.0" encoding="{declared}"?>\n'))
    with pytest.raises(RobotFileError, match="the encoding .*; valid: UTF-8"):
        load_model(file)


def test_lines_are_those_of_the_file_whatever_precedes_them() -> None:
    text = changed('value="1"', 'value="one"', f"<!-- a\n-- b -->\n\n{ARM}")
    line = text[: text.index("one")].count("\n") + 1
    assert message_of(text).startswith(f"arm.urdf:{line}: ")


@pytest.mark.parametrize("doctype", ["<!DOCTYPE robot>", '<!DOCTYPE r [<!ENTITY a "b">]>', "<!-- --><!DOCTYPE robot>"])
def test_a_doctype_outside_a_comment_is_refused(doctype: str) -> None:
    assert "a DOCTYPE is not allowed" in message_of(changed(DECLARATION, doctype))


@pytest.mark.parametrize("broken", ["<a><b></a>", "<!-- open", "<a b=1/>", "<a>&x;</a>", "<a b='1' b='2'/>", "<x:y:z/"])
def test_a_text_that_is_no_xml_is_refused(broken: str) -> None:
    assert "no well-formed XML" in message_of(ended(broken))


def test_open_comments_take_no_time() -> None:
    assert "no well-formed XML" in message_of("<!--" * 200_000)


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_a_quaternion_turns_a_frame(scale: float) -> None:
    x, y, z, w = 0.3 * scale, 0.1 * scale, -0.2 * scale, 0.9273618495495703 * scale
    quaternion = f'quat_xyzw="{x!r} {y!r} {z!r} {w!r}"'
    turned = ORIGIN.replace('rpy="0.2 0.1 -0.3"', quaternion)
    model = read(ARM.replace(ORIGIN, turned))
    rotation = np.array(rotation_from_quaternion(0.3, 0.1, -0.2, 0.9273618495495703), dtype=float)
    np.testing.assert_allclose(model.links[1].joint.placement.rotation, rotation, atol=1e-15)


def test_a_quaternion_is_not_zero_and_stands_without_angles() -> None:
    assert "the quaternion is zero" in message_of(ARM.replace('rpy="0.2 0.1 -0.3"', 'quat_xyzw="0 0 0 0"'))
    assert "both rpy and quat_xyzw" in message_of(ARM.replace("rpy=", 'quat_xyzw="0 0 0 1" rpy='))
    assert "4 finite numbers" in message_of(ARM.replace('rpy="0.2 0.1 -0.3"', 'quat_xyzw="0 0 1"'))


def test_an_acceleration_limit_counts_and_the_least_of_it_and_deceleration() -> None:
    for given, kept in (('acceleration="7" deceleration="9" jerk="100"', 7.0), ('deceleration="5"', 5.0)):
        assert set(read(ARM.replace('velocity="3"', f'velocity="3" {given}')).limits("acceleration")) == {kept}
    assert np.isinf(read(ARM.replace('velocity="3"', 'velocity="3" jerk="1"')).limits("acceleration")).all()


UNUSED = {
    "<limits>": (LIMIT, LIMIT.replace("limit ", "limits "), "<limits> in <joint>", "did you mean limit?"),
    "mass outside": (
        '<link name="tool"/>',
        '<link name="tool"><mass value="1"/></link>',
        "<mass> in <link>",
        "inertial",
    ),
    "<xyz>": (ORIGIN, ORIGIN.replace("/>", "><xyz>1 0 0</xyz></origin>"), "<xyz> in <origin>", "xyz"),
    "velocty": ('velocity="3"', 'velocty="3"', "velocty in <limit>", "did you mean velocity?"),
    "quat": ("rpy=", 'quat="0 0 0 1" rpy=', "quat in <origin>", "quat_xyzw"),
    "armature": (LIMIT, f'{LIMIT}<dynamics armature="1"/>', "armature in <dynamics>", "damping"),
    "link of another name": ('<link name="tool"/>', '<Link name="x"/><link name="tool"/>', "<Link> in <robot>", "link"),
    "version": ('name="arm"', 'name="arm" version="3.0"', "version '3.0'", "1.0 to 1.2"),
}


@pytest.mark.parametrize("case", UNUSED)
def test_what_no_dialect_has_is_warned_of_once_with_its_line(case: str) -> None:
    old, new, what, valid = UNUSED[case]
    text = ARM.replace(old, new)
    line = text[: text.index(new)].count("\n") + 1
    with pytest.warns(UnusedElementWarning) as caught:
        read_urdf_text(text, "arm.urdf")
    (message,) = (str(one.message) for one in caught)
    assert message.startswith(f"arm.urdf:{line}: ") and what in message and valid in message.partition("valid: ")[2]


KNOWN = """
<mujoco><compiler anything="1"/></mujoco><gazebo reference="l1"><mu>1</mu></gazebo><sensor name="s"><camera/></sensor>
<ros2_control name="r" type="system"><hardware><plugin>p</plugin></hardware></ros2_control>
<material name="grey"><color rgba="1 1 1 1"/></material><drake:joint name="x"/><disable_collisions link1="a" link2="b"/>
<link name="seen"><visual name="v"><origin xyz="0 0 0"/><geometry><capsule radius="1" length="2"/></geometry>
<material name="grey"/></visual><collision><geometry><sphere radius="1"/></geometry></collision></link>
<joint name="js" type="fixed"><parent link="l0"/><child link="seen"/><calibration rising="0"/>
<safety_controller k_velocity="1" soft_lower_limit="0"/></joint>
"""


def test_what_a_dialect_has_is_no_matter() -> None:
    assert_same(read(ended(KNOWN), ee_link="tool"), read(ARM))


LOOPS = {
    "constraint": '<constraint name="c" type="revolute"><parent link="l1"/><child link="l3"/></constraint>',
    "loop_joint": '<loop_joint name="c" type="continuous"><link1 link="l1"/><link2 link="l3"/></loop_joint>',
    "bushing": '<drake:linear_bushing_rpy><drake:bushing_frameA name="a"/></drake:linear_bushing_rpy>',
    "gazebo": '<gazebo><joint name="c" type="revolute"><parent>l1</parent><child>l3</child></joint></gazebo>',
}


@pytest.mark.parametrize("kind", LOOPS)
def test_a_loop_that_is_left_open_is_said_once(kind: str) -> None:
    with pytest.warns(OpenLoopWarning, match=r"the loop is left open") as caught:
        read_urdf_text(ended(LOOPS[kind]), "arm.urdf")
    (message,) = (str(one.message) for one in caught)
    assert message.startswith(f"arm.urdf:{ARM.count(chr(10)) + 1}: ")


def transmission(actuator: str, joint: str = '<joint name="j2"/>', more: str = "") -> str:
    return ended(f'<transmission name="t">{joint}<actuator name="m">{actuator}</actuator>{more}</transmission>')


@pytest.mark.parametrize(
    "text",
    [
        transmission("<motorInertia>6e-5</motorInertia><mechanicalReduction>100</mechanicalReduction>"),
        transmission("<motor_inertia> 6e-5 </motor_inertia>", more="<mechanicalReduction>-100</mechanicalReduction>"),
        transmission('<rotor_inertia value="6e-5"/><gear_ratio value="100"/>'),
        transmission(
            "<motorInertia>6e-5</motorInertia><mechanicalReduction>10</mechanicalReduction>",
            '<joint name="j2"><mechanicalReduction>10</mechanicalReduction></joint>',
        ),
    ],
)
def test_the_rotor_of_a_transmission_is_reflected(text: str) -> None:
    np.testing.assert_allclose(read(text).rotor_inertias, [np.nan, 0.6, np.nan], rtol=1e-12)


def test_a_rotor_of_which_nobody_can_tell_what_it_turns_is_not_used() -> None:
    two = '<joint name="j1"/><joint name="j2"/>'
    with pytest.warns(UnusedElementWarning, match="<transmission t>: rotors are not used"):
        model = read_urdf_text(transmission("<motorInertia>6e-5</motorInertia>", two), "arm.urdf")
    assert np.isnan(model.rotor_inertias).all()
    assert read(transmission("<motorInertia>1</motorInertia>", '<joint name="jt"/>')).n == 3


NOT_USED: dict[str, tuple[str, dict[str, object]]] = {
    "axis of a floating joint": (
        '<link name="bag"/><joint name="s" type="floating"><parent link="l0"/><child link="bag"/><axis xyz="0 0 0"/>'
        "</joint></robot>",
        {"locked_joints": {"s": (0, 0, 0, 0, 0, 0, 1)}},
    ),
    "damping of a fixed joint": (
        '<link name="b"/><joint name="s" type="fixed"><parent link="l0"/><child link="b"/>'
        '<dynamics damping="-1" friction="no"/><axis xyz="0 0 0"/><limit lower="2" upper="1"/><mimic/></joint></robot>',
        {"ee_link": "tool"},
    ),
    "velocity of a locked finger": (
        FINGER.format('<limit lower="0" upper="1" velocity="-3"/>'),
        {"locked_joints": {"f": 0}},
    ),
    "swapped limits": (FINGER.format('<limit lower="1" upper="0"/>'), {"locked_joints": {"f": 0.5}}),
    "friction of a locked finger": (FINGER.format('<dynamics friction="-1"/>'), {"locked_joints": {"f": 0}}),
}


@pytest.mark.parametrize("case", NOT_USED)
def test_what_the_model_does_not_use_refuses_nothing(case: str) -> None:
    addition, options = NOT_USED[case]
    model = read(changed("</robot>", addition), **options)
    assert model.joint_names == ("j1", "j2", "j3")


def test_what_the_model_uses_is_still_refused() -> None:
    text = changed("</robot>", FINGER.format('<limit lower="1" upper="0"/>'))
    assert "lower limit 1 above upper limit 0" in message_of(text)
    assert "friction is negative" in message_of(changed("</robot>", FINGER.format('<dynamics friction="-1"/>')))


def test_what_mimics_a_fixed_joint_is_held_at_its_offset() -> None:
    text = changed("</robot>", FINGER.format('<mimic joint="jt" multiplier="2" offset="0.25"/>'))
    np.testing.assert_allclose(read(text).ee.tr, (0.3, 0.25, 0.1))


@pytest.mark.parametrize("kind", ["effort", "velocity"])
def test_minus_one_is_no_limit(kind: str) -> None:
    number = {"effort": "50", "velocity": "3"}[kind]
    assert np.isinf(read(ARM.replace(f'{kind}="{number}"', f'{kind}="-1"')).limits(kind)).all()


@pytest.mark.parametrize("number", ["50000", "1e9"])
def test_a_limit_beyond_reason_is_none_and_said_once(number: str) -> None:
    with pytest.warns(IgnoredLimitWarning, match="effort=.*, beyond reason .joints: j1, j2, j3") as caught:
        model = read_urdf_text(ARM.replace('effort="50"', f'effort="{number}"'), "arm.urdf")
    assert np.isinf(model.limits("effort")).all() and len(caught) == 1
    assert set(model.limits("velocity")) == {3.0}


@pytest.mark.parametrize("name", ["upper arm", "大臂", "Body1:1", "plecul·ramię"])
def test_names_of_links_and_joints_are_of_any_script(name: str) -> None:
    model = read(ARM.replace('"l2"', f'"{name}"').replace('"j2"', f'"{name}"'))
    assert model.link_names[1] == model.joint_names[1] == name


def test_end_effectors_have_plain_names_for_functions_which_differ() -> None:
    text = ARM.replace('"tool"', '"工具"').replace('"l2"', '"upper arm"')
    assert [effector.name for effector in read(text, ee_link=("工具", "upper arm")).end_effectors] == [
        "u5de5u5177",
        "upper_arm",
    ]
    with pytest.raises(ModelError, match="end effector 'upper_arm': the name; valid: unique"):
        read(text.replace('"l3"', '"upper:arm"'), ee_link=("upper arm", "upper:arm"))


def test_a_urdf_is_known_by_its_content(tmp_path: Path) -> None:
    file = tmp_path / "arm.xml"
    file.write_text(ARM)
    assert_same(load_model(file), read(ARM))
    file.write_text("<sdf/>")
    with pytest.raises(RobotFileError, match=r"top-level element.*<sdf>; valid: <robot>"):
        load_model(file)


FIRST = 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0.018"'
WHOLE = 'ixx="0.01" ixy="0.001" ixz="0.002" iyy="0.02" iyz="0.0015" izz="0.018"'


def test_of_a_link_that_turns_about_one_direction_only_the_moment_about_it_is_judged() -> None:
    text = changed(WHOLE, FIRST).replace('xyz="0 1 1"', 'xyz="0 0 1"')
    with pytest.warns(UnusedInertiaWarning, match="<link l1>: the inertia of l1 .*only its moment") as caught:
        model = read_urdf_text(text, "arm.urdf")
    assert len(caught) == 1 and model.links[0].inertia.is_consistent
    assert_agrees(model, reference_of(text, "fixed"))
    negative = changed(FIRST, FIRST.replace("0.018", "-0.018"), text)
    for refused, options in ((negative, {}), (text, {"base": "floating"})):
        with pytest.raises(InertiaError, match="<link l1>"):
            read(refused, **options)
    second = ARM.replace(WHOLE, FIRST).replace(FIRST, WHOLE, 1)
    with pytest.raises(InertiaError, match="<link l2>"):
        read(second)


def test_an_arm_of_parallel_axes_asks_for_no_more() -> None:
    text = ARM.replace(WHOLE, FIRST).replace('rpy="0.2 0.1 -0.3"', 'rpy="0 0 -0.3"')
    for k in (1, 2, 3):
        text = text.replace(f'xyz="0 {k} 1"', 'xyz="0 0 1"')
    text = text.replace('"j2" type="revolute"', '"j2" type="prismatic"')
    with pytest.warns(UnusedInertiaWarning, match="the inertia of l1, l2, l3"):
        model = read_urdf_text(text, "arm.urdf")
    assert_agrees(model, reference_of(text, "fixed"))


def assert_agrees(model: RobotModel, reference: pin.Model) -> None:
    """M and G of Pinocchio, whose links keep the inertias of the file."""
    robot, state, data = RobotExpressions(model), random_state(model, 1), reference.createData()
    M = pin.crba(reference, data, state["q"])
    np.testing.assert_allclose(evaluate(robot, "M", state), np.triu(M) + np.triu(M, 1).T, rtol=1e-12, atol=1e-13)
    C = pin.computeCoriolisMatrix(reference, data, state["q"], state["dq"])
    np.testing.assert_allclose(evaluate(robot, "C", state), C, rtol=1e-12, atol=1e-13)
    G = pin.computeGeneralizedGravity(reference, data, state["q"])
    np.testing.assert_allclose(evaluate(robot, "G", state).ravel(), G, rtol=1e-12, atol=1e-12)


def test_all_warnings_of_files_are_of_one_kind() -> None:
    kinds = (IgnoredLimitWarning, UnusedInertiaWarning, OpenLoopWarning, UnusedElementWarning)
    assert all(issubclass(kind, RobotFileWarning) for kind in kinds)
