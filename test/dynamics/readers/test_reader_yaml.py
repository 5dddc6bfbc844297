"""The robot YAML reader: what it accepts, and the message for everything it does not."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from robot_yaml import BODY, ELASTIC, GOOD, changed, message_of, write

from thunder_dynamics.errors import InertiaError, ModelError, NameNotFoundError, PlaceholderWarning, RobotFileError
from thunder_dynamics.model import JointKind
from thunder_dynamics.readers import InconsistentInertiaWarning, load_model, reader_suffixes
from thunder_dynamics.readers.dh_yaml import dh_placement


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_the_document_becomes_the_model_it_states(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, GOOD))
    assert model.name == "arm"
    assert model.link_names == ("link1", "link2")
    assert model.joint_names == ("joint1", "joint2")
    assert [link.joint.kind for link in model.links] == [JointKind.REVOLUTE, JointKind.PRISMATIC]
    assert model.links[0].joint.dh == (0.1, math.pi / 2, 0.3, 0.4)
    assert model.base.tr == (1.0, 2.0, 3.0) and model.base.ypr == (0.1, 0.2, 0.3)
    assert model.ee.parameters == (0.0, 0.0, 0.5, 0.0, 0.0, math.pi / 2)
    assert model.gravity == (0.0, 0.0, -9.81)
    assert [link.friction for link in model.links] == [(0.5,), (0.6,)]
    assert model.parameters("par_DYN")[:10] == (2.0, 0.1, 0.2, 0.3, 0.02, 0.001, 0.002, 0.03, 0.003, 0.025)
    assert dict(model.symbolic) == {} and model.elastic_joints == ()


def test_a_dh_row_is_the_product_of_its_four_elementary_transforms() -> None:
    a, alpha, d, theta = 0.3, 0.7, -0.2, 1.1
    ca, sa, ct, st_ = math.cos(alpha), math.sin(alpha), math.cos(theta), math.sin(theta)
    along_x = np.array([[1, 0, 0, a], [0, ca, -sa, 0], [0, sa, ca, 0], [0, 0, 0, 1]])
    along_z = np.array([[ct, -st_, 0, 0], [st_, ct, 0, 0], [0, 0, 1, d], [0, 0, 0, 1]])
    pose = dh_placement(a, alpha, d, theta)
    expected = along_x @ along_z
    # products of four numbers of order one: a few rounding errors of 1e-16
    np.testing.assert_allclose(pose.rotation, expected[:3, :3], rtol=0, atol=1e-15)
    np.testing.assert_allclose(pose.translation, expected[:3, 3], rtol=0, atol=1e-15)


def test_right_angles_are_exact(tmp_path: Path) -> None:
    rotation = load_model(write(tmp_path, GOOD.replace("0.3, 0.4", "0.3, 0"))).links[0].joint.placement.rotation
    assert rotation.tolist() == [[1, 0, 0], [0, 0, -1], [0, 1, 0]]


def test_angles_of_more_than_a_turn_are_taken_for_degrees(tmp_path: Path) -> None:
    message = message_of(tmp_path, changed("ypr: [0.1, 0.2, 0.3]", "ypr: [0, 0, 180]"))
    assert "180 rad is more than a turn" in message and "radians; did you mean [0, 0, 3.1416]?" in message
    message = message_of(tmp_path, changed("DH: [0.1, *PI_2, 0.3", "DH: [0.1, 90, 0.3"))
    assert "kinematics.DH[1]: 90 rad is more than a turn" in message and "did you mean 1.5708?" in message


@pytest.mark.parametrize("version", ["0.2", "0.3", "'0.3'"])
def test_both_versions_of_the_schema_load(tmp_path: Path, version: str) -> None:
    assert load_model(write(tmp_path, changed("version: 0.2", f"version: {version}"))).n == 2


def test_block_style_any_key_order_and_comments_give_the_same_model(tmp_path: Path) -> None:
    data = yaml.safe_load(GOOD)
    data.pop("PI_2")
    reordered = {key: data[key] for key in reversed(data)}
    block = "# a comment\n" + yaml.safe_dump(reordered, default_flow_style=False, sort_keys=False)
    flow = yaml.safe_dump(data, default_flow_style=True)
    reference = load_model(write(tmp_path, GOOD))
    for text in (block, flow):
        other = load_model(write(tmp_path, text))
        assert other.pi.tolist() == reference.pi.tolist()
        assert other.parameters("par_DHtable") == reference.parameters("par_DHtable")


def test_links_count_in_document_order_whatever_they_are_called(tmp_path: Path) -> None:
    text = GOOD.replace("link1:", "zebra:").replace("link2:", "ant:")
    assert load_model(write(tmp_path, text)).link_names == ("zebra", "ant")


@pytest.mark.parametrize("number", ["2e0", "2.", "+2.0", "2", "20E-1", ".2e1"])
def test_numbers_in_every_notation_of_c_are_numbers(tmp_path: Path, number: str) -> None:
    assert load_model(write(tmp_path, changed("mass: 2.0", f"mass: {number}"))).links[0].inertia.mass == 2.0


def test_anchored_top_level_scalars_are_constants_and_anchored_mappings_can_be_shared(tmp_path: Path) -> None:
    text = changed("inertial: {mass", "inertial: &body {mass")
    second = text.rindex("inertial: {mass")
    text = "NOTE: &note hello\n" + text[:second] + "inertial: *body\n" + text[text.index("\n", second) + 1 :]
    model = load_model(write(tmp_path, text))
    assert model.links[0].inertia.pi.tolist() == model.links[1].inertia.pi.tolist()


def test_a_shared_mapping_at_the_top_level_is_merged_where_a_mapping_says_so(tmp_path: Path) -> None:
    start = GOOD.index("inertial: {mass")
    body = GOOD[start + len("inertial: {") : GOOD.index("}", start)]
    heavy = GOOD.replace(body, body.replace("mass: 2.0", "mass: 7.0"))
    for merge in ("<<: *body", "<<: [*body]", "<<: [*more, *body]"):
        shared = f"body: &body {{{body}}}\nmore: &more {{mass: 2.0}}\nfew: &few [1, 2]\n"
        text = shared + GOOD.replace(body, f"{merge}, mass: 7.0")
        assert load_model(write(tmp_path, text)).pi.tolist() == load_model(write(tmp_path, heavy)).pi.tolist()
    message = message_of(tmp_path, GOOD.replace(body, "<<: 7"))
    assert "arm.yaml:" in message and "no mapping to merge" in message and "an alias of a mapping" in message


def test_optional_sections_have_defaults(tmp_path: Path) -> None:
    text = "\n".join(
        line
        for line in GOOD.splitlines()
        if not line.lstrip().startswith(("gravity", "Base_to", "Ln_to", "friction", "version", "Dl_order"))
    )
    model = load_model(write(tmp_path, text))
    assert model.gravity == (0.0, 0.0, -9.81)
    assert model.base.parameters == model.ee.parameters == (0.0,) * 6
    assert model.friction_order == 0


def test_masks_mark_only_what_they_mark(tmp_path: Path) -> None:
    text = changed("gravity: {value", "gravity: {symb: [0, 0, 1], value")
    text = changed("Base_to_L0: {tr", "Base_to_L0: {symb: [1, 0, 0, 0, 0, 0], tr", text)
    text = changed("Ln_to_EE: {tr", "Ln_to_EE: {symb: [0, 0, 0, 0, 0, 1], tr", text)
    text = changed("kinematics:\n", "kinematics:\n  symb: [0, 0, 0, 0, 1, 0, 0, 0]\n", text)
    text = changed("symb: [0, 0]}", "symb: [1, 0]}", text)
    last = text.rindex("{mass")
    text = text[: last + 1] + "symb: [1, 0, 0, 0, 0, 0, 0, 0, 0, 1], " + text[last + 1 :]
    symbolic = load_model(write(tmp_path, text)).symbolic
    marked = {group: [i for i, flag in enumerate(mask) if flag] for group, mask in symbolic.items()}
    assert marked == {
        "par_gravity": [2],
        "par_world2L0": [0],
        "par_Ln2EE": [5],
        "par_DHtable": [4],
        "par_Dl": [0],
        "par_DYN": [10, 19],
    }


def test_an_elastic_entry_belongs_to_the_elastic_joint_and_not_to_its_own_number(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, changed("['R', 'P']", "['R', 'P_SEA']") + ELASTIC))
    assert model.elastic_joints == (1,)
    assert model.links[0].joint.elastic is None
    elastic = model.links[1].joint.elastic
    assert elastic is not None and (elastic.K, elastic.D, elastic.Dm, elastic.Mm) == ((7.0,), (), (0.1,), 0.2)
    assert model.links[1].joint.kind is JointKind.PRISMATIC
    assert dict(model.symbolic) == {"par_K": (True,), "par_Mm": (True,)}


def test_without_the_elastic_flag_elastic_joints_are_rigid(tmp_path: Path) -> None:
    text = changed("['R', 'P']", "['R_SEA', 'P']") + ELASTIC.replace("ELASTIC_MODEL: true", "ELASTIC_MODEL: false")
    assert load_model(write(tmp_path, text)).elastic_joints == ()


def test_coefficients_beyond_the_order_have_no_effect(tmp_path: Path) -> None:
    assert load_model(write(tmp_path, changed("Dl_order: 1\n", ""))).friction_order == 0


def test_extensions_under_thunder_are_read(tmp_path: Path) -> None:
    extension = """\
thunder:
  coulomb: [0.1, 0.2]
  offset: [-0.3, 0]
  joint_names: [shoulder, slide]
  link_names: [upper, lower]
  sources: [a paper]
  description: an arm
  limits: {position_lower: [-1, null], position_upper: [1, null], velocity: [2, 3], acceleration: [8, 9],
    effort: [4, 5], effort_rate: [6, 7], velocity_offset: [0, 0.1], velocity_deceleration: [null, 2],
    effort_corner_velocity: [0, null], effort_no_load_velocity: [9, null]}
"""
    model = load_model(write(tmp_path, GOOD + extension))
    assert model.joint_names == ("shoulder", "slide") and model.link_names == ("upper", "lower")
    assert [link.coulomb for link in model.links] == [0.1, 0.2]
    assert model.effort_offsets.tolist() == [-0.3, 0.0]
    limits = model.links[0].joint.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort, limits.effort_rate) == (-1, 1, 2, 4, 6)
    assert limits.acceleration == 8
    assert (limits.velocity_offset, limits.velocity_deceleration) == (0, math.inf)
    assert (limits.effort_corner_velocity, limits.effort_no_load_velocity) == (0, 9)
    second = model.links[1].joint.limits
    assert (second.velocity_offset, second.velocity_deceleration, second.effort_corner_velocity) == (0.1, 2, math.inf)
    assert model.links[1].joint.limits.lower == -math.inf


def test_the_name_option_replaces_the_stem(tmp_path: Path) -> None:
    assert load_model(write(tmp_path, GOOD, "my robot.yml"), name="robot").name == "robot"


ROTOR = "Dl: [0.6]}\n    rotor: {"
BAD = {
    "unknown key": ("Dl_order: 1", "Dl_ordr: 1", "Dl_ordr", "unknown key 'Dl_ordr'", "Dl_order"),
    "unknown nested key": ("mass: 2.0", "maas: 2.0", "dynamics.link1.inertial", "unknown key 'maas'", "mean mass?"),
    "unanchored constant": ("PI_2: &PI_2 1.57", "X: 1\nPI_2: &PI_2 1.57", "X", "unknown key 'X'", "num_joints"),
    "duplicate key": ("Dl_order: 1", "Dl_order: 1\nnum_joints: 3", "num_joints", "duplicate key", "once"),
    "missing key": ("type_joints: ['R', 'P']", "# nothing", "type_joints", "missing key 'type_joints'", "a value"),
    "short DH": ("0.6, 0.7, 0.8", "0.6, 0.7", "kinematics.DH", "7 entries", "8 entries"),
    "short gravity": ("[0, 0, -9.81]", "[0, -9.81]", "gravity.value[2]", "only 2 values", "more values"),
    "rotor below 0": ("Dl: [0.6]}", f"{ROTOR}inertia: -1}}", "dynamics.link2.rotor.inertia", "-1", "0"),
    "rotor of what": (
        "Dl: [0.6]}",
        f"{ROTOR}gear_ratio: 3}}",
        "dynamics.link2.rotor",
        "missing key 'inertia'",
        "a value",
    ),
    "short friction": ("Dl: [0.6]", "Dl: []", "dynamics.link2.friction.Dl", "0 entries", "at least 1"),
    "short mask": ("symb: [0, 0]", "symb: []", "dynamics.link1.friction.symb", "0 entries", "2 entries"),
    "mask of DH": ("kinematics:\n", "kinematics:\n  symb: [1]\n", "kinematics.symb", "1 entries", "8 entries"),
    "nan": ("mass: 2.0", "mass: .nan", "dynamics.link1.inertial.mass", "nan", "finite"),
    "huge": ("mass: 2.0", "mass: 1e300", "dynamics.link1.inertial.mass", "1e+300", "less than or equal"),
    "text for number": ("mass: 2.0", "mass: two", "dynamics.link1.inertial.mass", "'two'", "a valid number"),
    "list for mapping": ("{value: [0, 0, -9.81]}", "[0, 0, -9.81]", "gravity", "[0, 0, -9.81]", "keys and values"),
    "joint type": ("'P'", "'Q'", "type_joints[1]", "'Q'", "'R', 'P', 'R_SEA' or 'P_SEA'"),
    "flag": ("symb: [0, 0]", "symb: [0, 2]", "dynamics.link1.friction.symb[1]", "2", "less than or equal to 1"),
    "no joints": ("num_joints: 2", "num_joints: 0", "num_joints", "0", "greater than or equal to 1"),
    "bad link name": ("link2:", "'li\"nk; 2':", "dynamics", "link name", "1 to 127 letters"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_value_is_named_with_file_line_key_and_what_is_valid(tmp_path: Path, case: str) -> None:
    old, new, path, what, valid = BAD[case]
    text = changed(old, new)
    message = message_of(tmp_path, text)
    place = re.match(rf"{re.escape(str(tmp_path / 'arm.yaml'))}:(\d+): ([^:]*): ", message)
    assert place is not None, message
    assert path in place[2] and what in message
    assert "; valid: " in message and valid in message.split("; valid: ")[1]
    assert 1 <= int(place[1]) <= text.count("\n")


@pytest.mark.parametrize("key", ["mass", "Iyz"])
def test_the_line_is_that_of_the_key(tmp_path: Path, key: str) -> None:
    block = changed("inertial: {" + BODY + "}", "inertial:\n      " + BODY.replace(", ", "\n      "))
    bad = re.sub(rf"{key}: \S+", f"{key}: x", block, count=1)
    message = message_of(tmp_path, bad)
    assert f"arm.yaml:{line_of(bad, f'{key}: x')}: dynamics.link1.inertial.{key}: " in message


def test_a_missing_link_is_named(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("  link2:")]
    message = message_of(tmp_path, text)
    assert "dynamics: 1 links for 2 joints (missing: link2); valid: 2 links" in message


def test_broken_inertias_raise_and_can_be_allowed(tmp_path: Path) -> None:
    text = changed("Iyy: 0.03", "Iyy: 0.3")
    message = message_of(tmp_path, text, InertiaError)
    assert f"arm.yaml:{line_of(text, 'inertial')}: dynamics.link1.inertial" in message
    assert "triangle inequality" in message and "allow_inconsistent" in message
    with pytest.warns(InconsistentInertiaWarning, match=r"dynamics\.link1\.inertial.*triangle"):
        model = load_model(tmp_path / "arm.yaml", allow_inconsistent=True)
    assert model.parameters("par_DYN")[7] == 0.3


def test_placeholders_of_a_whole_file_are_one_warning(tmp_path: Path) -> None:
    """They load without a flag, and give the numbers that they imply."""
    path = write(tmp_path, re.sub(r"(I[xyz][xyz]): [-\d.e]+", r"\1: 1", GOOD))
    for options in ({}, {"allow_inconsistent": True}):
        with pytest.warns(PlaceholderWarning, match="arm.yaml.*link1.*placeholders for inertias: link1, link2,") as got:
            model = load_model(path, **options)
        assert len(got) == 1 and model.parameters("par_DYN")[4:10] == (1.0,) * 6


def test_a_placeholder_lets_no_other_inertia_pass(tmp_path: Path) -> None:
    equal = re.sub(r"(I[xyz][xyz]): [-\d.e]+", r"\1: 1", BODY)
    text = changed("link1:\n    inertial: {" + BODY, "link1:\n    inertial: {" + equal)
    with pytest.warns(PlaceholderWarning, match="placeholders for inertias: link1,"):
        load_model(write(tmp_path, text))
    assert "link2" in message_of(tmp_path, changed("Iyy: 0.03", "Iyy: 0.3", text), InertiaError)
    negative = changed("link1:\n    inertial: {" + BODY, "link1:\n    inertial: {" + equal.replace(": 1", ": -1"))
    assert "link1" in message_of(tmp_path, negative, InertiaError)


def test_two_broken_inertias_are_one_warning(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("Iyy: 0.03", "Iyy: 0.3"))
    with pytest.warns(InconsistentInertiaWarning, match="link1.*; 1 more inertias .*: link2") as got:
        load_model(path, allow_inconsistent=True)
    assert len(got) == 1


def test_consistent_files_do_not_warn(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(write(tmp_path, GOOD), allow_inconsistent=True)


def test_a_negative_mass_is_never_allowed(tmp_path: Path) -> None:
    assert "mass" in message_of(tmp_path, changed("mass: 2.0", "mass: -2"), allow_inconsistent=True)


def test_a_file_says_which_joints_are_on_a_circle(tmp_path: Path) -> None:
    assert load_model(write(tmp_path, GOOD)).circles.tolist() == [False, False]
    model = load_model(write(tmp_path, GOOD + "thunder: {topology: [circle, line]}\n"))
    assert model.circles.tolist() == [True, False]
    assert "continuous" in str(model)


@pytest.mark.parametrize(
    ("extension", "what"),
    [
        ("limits: {velocity: [1, 0]}", "thunder.limits.velocity[1]: the limit is 0; valid: greater than zero"),
        (
            "limits: {velocity_deceleration: [0, 1]}",
            "thunder.limits.velocity_deceleration[0]: the limit is 0; valid: gre",
        ),
        ("limits: {velocity_offset: [-1, 1]}", "velocity offset -1; valid: finite, 0 or more"),
        ("limits: {effort: [1]}", "thunder.limits.effort: 1 entries; valid: 2 entries"),
        ("limits: {position_lower: [2, 0], position_upper: [1, 1]}", "thunder.limits.position_lower[0]: lower limit 2"),
        ("limits: {torque: [1, 1]}", "thunder.limits.torque: unknown key 'torque'; valid: position_lower, position_up"),
        ("joint_names: [a, a]", "two joints are called 'a'"),
        ("joint_names: [a, 'b\"; system(\"x']", "joint name 'b\"; system(\"x'"),
        ("link_names: [a]", "1 entries; valid: 2 entries"),
        ("coulomb: [1, -1]", "thunder.coulomb[1]: -1; valid: "),
        ("offset: [1]", "thunder.offset: 1 entries; valid: 2 entries, one per joint"),
        ("offset: [1, .inf]", "thunder.offset[1]: inf; valid: "),
        ("topology: [circle]", "thunder.topology: 1 entries; valid: 2 entries, one per joint"),
        ("topology: [round, line]", "thunder.topology[0]: 'round'; valid: input should be 'line' or 'circle'"),
        ("topology: [line, circle]", "thunder.topology[1]: a prismatic joint on a circle; valid: revolute"),
        (
            "topology: [circle, line], limits: {position_upper: [1, 1]}",
            "thunder.topology[0]: position limits of a joint on a circle; valid: none, or a joint on a line",
        ),
        ("colour: red", "unknown key 'colour'; valid: coulomb, … (9 in all)"),
    ],
)
def test_bad_extensions_are_named(tmp_path: Path, extension: str, what: str) -> None:
    assert what in message_of(tmp_path, GOOD + f"thunder: {{{extension}}}\n")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("joint1: {K: [7.0]", "joint1: {K: []", "joints.joint1.K: 0 entries; valid: at least 1, as K_order says"),
        ("Mm: 0.2, ", "", "joints.joint1.Mm: missing key 'Mm'"),
        ("Mm: 0.2", "Mm: 0", "joints.joint1.Mm: 0; valid: input should be greater than 0"),
        ("K_symb: [1]", "K_symb: [1, 1]", "joints.joint1.K_symb: 2 entries; valid: 1 entries"),
        (
            "    joint1",
            "    joint0: {K: [1], Dm: [1], Mm: 1}\n    joint1",
            "2 entries; valid: 1 entries, one per joint of type",
        ),
    ],
)
def test_bad_elastic_entries_are_named(tmp_path: Path, old: str, new: str, what: str) -> None:
    text = changed("['R', 'P']", "['R', 'P_SEA']") + changed(old, new, ELASTIC)
    assert what in message_of(tmp_path, text)


def test_elastic_joints_need_their_section(tmp_path: Path) -> None:
    text = changed("['R', 'P']", "['R', 'P_SEA']") + "ELASTIC_MODEL: true\n"
    assert "the key 'elastic' is missing" in message_of(tmp_path, text)


@pytest.mark.parametrize("name", ["7dof", "my robot", "a-b", "for", "class", "ü", "__x"])
def test_a_robot_name_that_is_no_c_identifier_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        ModelError, match=r"robot name .* is not a C identifier; valid: .*set another with name=…"
    ) as caught:
        load_model(write(tmp_path, GOOD), name=name)
    assert "arm.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("my-arm 2", "my_arm_2"),
        ("7dof", "robot_7dof"),
        ("for", "robot_for"),
        ("int", "robot_int"),
        ("__x__y_", "x_y"),
        ("ü", "u"),
        ("—", "robot"),
        ("a" * 80, "a" * 50),
        ("1" + "a" * 80, "robot_1" + "a" * 49),
    ],
)
def test_a_file_s_name_becomes_a_c_identifier(tmp_path: Path, stem: str, name: str) -> None:
    assert load_model(write(tmp_path, GOOD, f"{stem}.yaml")).name == name


SCHEMA_0_1 = f"""\
version: 0.1
PI_2: &PI_2 1.5707963267948966
num_joints: 2
type_joints: ['R', 'P']
DH: [0.1, *PI_2, 0.3, 0.4,
     0.5, 0.6, 0.7, 0.8]
gravity: [0, 0, -9.81]
inertial:
  link1: {{{BODY}}}
  link2: {{{BODY}}}
Base_to_L0: {{tr: [1, 2, 3], ypr: [0.1, 0.2, 0.3]}}
Ln_to_EE: {{tr: [0, 0, 0.5], ypr: [0, 0, *PI_2]}}
"""


def test_a_file_of_schema_0_1_is_the_robot_of_the_same_numbers(tmp_path: Path) -> None:
    old, new = load_model(write(tmp_path, SCHEMA_0_1)), load_model(write(tmp_path, GOOD))
    assert [link.joint.dh for link in old.links] == [link.joint.dh for link in new.links]
    assert (old.base, old.ee, old.gravity, old.joint_names) == (new.base, new.ee, new.gravity, new.joint_names)
    assert old.parameters("par_DYN") == new.parameters("par_DYN") and old.friction_order == 0


@pytest.mark.parametrize(
    ("old", "new", "place", "what"),
    [
        ("-9.81", "9.81", "gravity", "gravity of a file of schema 0.1 that does not point down"),
        ("0.8]", "]", "kinematics.DH", "7 entries; valid: 8 entries"),
        ("  link2: {", "  link3: {mass: 1}\n  link2: {", "dynamics.link3.inertial.CoM_x", "missing key 'CoM_x'"),
        ("Ixx: 0.02", "Ixx: two", "dynamics.link1.inertial.Ixx", ""),
        ("inertial:", "inertials:", "inertials", "unknown key"),
        ("inertial:", "inertial: 3\nx:", "", "unknown key"),
    ],
)
def test_mistakes_in_a_file_of_schema_0_1_have_their_line(
    tmp_path: Path, old: str, new: str, place: str, what: str
) -> None:
    text = changed(old, new, SCHEMA_0_1)
    message = message_of(tmp_path, text)
    assert what in message and f": {place}" in message and re.search(r"arm\.yaml:\d+: ", message)


def test_an_unknown_suffix_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(RobotFileError, match=r"no reader for the suffix '\.sdf'; valid: \.yaml, \.yml, \.urdf, "):
        load_model(write(tmp_path, GOOD, "arm.sdf"))
    assert set(reader_suffixes()) >= {"yaml", "yml", "urdf", "xacro"}


def test_an_option_that_the_reader_does_not_take_names_those_it_takes(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    with pytest.raises(NameNotFoundError, match=r"no option 'ee_link'; valid: name, allow_inconsistent"):
        load_model(path, ee_link="link2")
    with pytest.raises(RobotFileError, match="option 'allow_inconsistent' is 'yes'"):
        load_model(path, allow_inconsistent="yes")


def test_rotors_are_reflected_through_the_gear_and_may_be_run_time_parameters(tmp_path: Path) -> None:
    model = load_model(
        write(tmp_path, changed("Dl: [0.6]}", "Dl: [0.6]}\n    rotor: {inertia: 2e-5, gear_ratio: 100}"))
    )
    np.testing.assert_allclose(model.rotor_inertias, [np.nan, 0.2], rtol=1e-15)
    assert "par_Ia" not in model.symbolic
    both = changed("symb: [0, 0]}", "symb: [0, 0]}\n    rotor: {inertia: 0, symb: 1}")
    model = load_model(write(tmp_path, changed("Dl: [0.6]}", "Dl: [0.6]}\n    rotor: {inertia: 0.3}", both)))
    assert model.parameters("par_Ia") == (0.0, 0.3) and model.symbolic["par_Ia"] == (True, False)
    without = load_model(write(tmp_path, both), without_rotors=True)
    assert not without.rotor_inertias.any() and "par_Ia" not in without.symbolic
    held = load_model(write(tmp_path, both), locked_joints={"joint2": 0.1})
    assert held.symbolic["par_Ia"] == (True,)


def test_the_rotor_of_an_elastic_joint_is_its_motor_inertia(tmp_path: Path) -> None:
    text = changed("'R', 'P'", "'R_SEA', 'P'", GOOD + ELASTIC).replace("[0, 0]}", "[0, 0]}\n    rotor: {inertia: 1}")
    message = message_of(tmp_path, text)
    assert "dynamics.link1.rotor" in message and "its motor inertia Mm" in message


@pytest.mark.parametrize("names", [("link1", "link2"), ("upper", "lower"), ("link2", "link1")])
def test_links_are_found_by_their_names_or_numbers(tmp_path: Path, names: tuple[str, str]) -> None:
    """Names are keys of the file, or of `thunder.link_names` where the file has these."""
    document = yaml.safe_load(GOOD)
    del document["PI_2"]
    document["dynamics"]["link2"]["inertial"]["mass"] = 3.0
    bodies = dict(zip(names, document["dynamics"].values(), strict=True))
    if names != ("link1", "link2"):
        document["thunder"] = {"link_names": list(names)}
    for order in (names, names[::-1]):
        document["dynamics"] = {name: bodies[name] for name in order}
        model = load_model(write(tmp_path, yaml.safe_dump(document, sort_keys=False)))
        assert model.link_names == names
        assert [link.inertia.mass for link in model.links] == [2.0, 3.0]
        assert [link.friction for link in model.links] == [(0.5,), (0.6,)]


def test_links_of_which_some_stand_elsewhere_are_refused(tmp_path: Path) -> None:
    text = GOOD.replace("  link1:", "  lower:").replace("  link2:", "  tool:")
    message = message_of(tmp_path, text + "thunder: {link_names: [upper, lower]}\n")
    assert "arm.yaml:12: dynamics: links lower, tool; valid: upper, lower, each once" in message


@pytest.mark.parametrize("keys", [("joint1", "joint2"), ("joint2", "joint3"), ("first", "second")])
def test_elastic_joints_are_found_by_their_names_or_numbers(tmp_path: Path, keys: tuple[str, str]) -> None:
    """Of three joints the second and third are elastic; keys that say nothing are in their order."""
    document = yaml.safe_load(GOOD + ELASTIC)
    del document["PI_2"]
    document |= {"num_joints": 3, "type_joints": ["R", "R_SEA", "P_SEA"]}
    document["kinematics"]["DH"] += [0.1, 0.2, 0.3, 0.4]
    document["dynamics"]["link3"] = document["dynamics"]["link1"]
    entry = document["elastic"]["joints"]["joint1"]
    entries = {key: entry | {"K": [stiffness]} for key, stiffness in zip(keys, (7.0, 9.0), strict=True)}
    for order in (keys, keys[::-1]) if keys[0] != "first" else (keys,):
        document["elastic"]["joints"] = {key: entries[key] for key in order}
        model = load_model(write(tmp_path, yaml.safe_dump(document, sort_keys=False)))
        assert [link.joint.elastic and link.joint.elastic.K for link in model.links] == [None, (7.0,), (9.0,)]
    if keys[0] == "joint2":
        document["elastic"]["joints"] = {"joint3": entry, "motor": entry}
        message = message_of(tmp_path, yaml.safe_dump(document, sort_keys=False))
        assert "elastic.joints: joints joint3, motor; valid: joint2, joint3, each once" in message
