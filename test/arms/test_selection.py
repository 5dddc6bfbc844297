"""Which joints are the arm: torsos, second arms, hands, jaws, joints that follow, and random trees."""

from __future__ import annotations

import pytest
from described_arms import arm, chain, hand, joint, link, random_tree, robot
from hypothesis import given, settings
from hypothesis import strategies as st

from thunder_controllers.arms.descriptions import collected, collection
from thunder_dynamics.errors import NameNotFoundError, RobotFileError
from thunder_dynamics.readers.urdf import read_urdf_text, select_arm
from thunder_dynamics.readers.urdf_elements import parse_urdf
from thunder_dynamics.readers.urdf_tree import Selection, UrdfTree


def select(text: str, ee_link: str | None = None, **locked: tuple[float, ...]) -> Selection:
    tree = UrdfTree(parse_urdf(text, "text"))
    return tree.select_arm(tree.root, ee_link, locked)


def names(prefix: str, count: int) -> tuple[str, ...]:
    return tuple(f"{prefix}{i}_joint" for i in range(1, count + 1))


def test_a_plain_chain_is_the_arm() -> None:
    assert select(arm(6)) == Selection(names("arm", 6), "arm6", {}, (), ())


def test_a_hand_is_held_and_its_palm_is_the_end_effector() -> None:
    found = select(robot([link("base"), *chain("arm", "base", 5), *hand("arm5", 3, 2)]))
    assert found.joints == names("arm", 5) and found.ee_link == "arm5_palm"
    leaders = [f"arm5_palm_finger{i}_{k}_joint" for i in range(3) for k in (1, 2) if (i, k) != (1, 1)]
    assert sorted(found.gripper) == sorted(found.held) == sorted(leaders)  # what follows is held with its leader


@pytest.mark.parametrize("name", ["gripper", "jaw_joint", "left_finger", "jointGripper"])
def test_a_single_jaw_is_known_by_its_name(name: str) -> None:
    jaw = [link("mover"), joint(name, "arm6", "mover")]
    found = select(robot([link("base"), *chain("arm", "base", 6), *jaw]))
    assert found.joints == names("arm", 6) and found.gripper == (name,) and found.ee_link == "arm6"


def test_a_hand_alone_is_no_jaw() -> None:
    assert select(robot([link("palm"), *chain("finger", "palm", 3)])).joints == names("finger", 3)


def test_of_two_arms_on_a_torso_it_is_the_first_and_the_other_one_is_named() -> None:
    parts = [link("base"), *chain("torso", "base", 1), *chain("left", "torso1", 6), *chain("right", "torso1", 6)]
    found = select(robot([*parts, *hand("left6", 2, 1), *hand("right6", 2, 1)]))
    assert found.joints == names("torso", 1) + names("left", 6)
    assert found.others == ("right6_palm",) and found.gripper == ("left6_palm_finger0_1_joint",)
    other = select(robot([*parts, *hand("left6", 2, 1), *hand("right6", 2, 1)]), found.others[0])
    assert other.joints == names("torso", 1) + names("right", 6) and set(names("left", 6)) <= set(other.held)


def test_a_head_on_the_first_link_ends_no_arm() -> None:
    found = select(robot([link("base"), *chain("arm", "base", 7), link("head"), joint("pan", "arm1", "head")]))
    assert found.joints == names("arm", 7) and found.held == {"pan": (0.0,)} and found.gripper == ()


def test_what_names_say_is_the_tool_is_the_end_effector() -> None:
    frames = [link("arm6_cover"), joint("cover", "arm6", "arm6_cover", "fixed"), link("flange", massless=True)]
    frames += [
        joint("f", "arm6", "flange", "fixed"),
        link("tool0", massless=True),
        joint("t", "flange", "tool0", "fixed"),
    ]
    assert select(robot([link("base"), *chain("arm", "base", 6), *frames])).ee_link == "tool0"


def test_joints_are_held_at_zero_or_as_near_as_they_may_be_and_where_they_are_locked() -> None:
    low = '<limit lower="0.3" upper="1" velocity="1" effort="5"/>'
    parts = [link("base"), *chain("arm", "base", 5), link("a"), joint("gripper", "arm5", "a", more=low)]
    assert select(robot(parts)).held == {"gripper": (0.3,)}
    found = select(robot(parts), gripper=(0.5,), arm1_joint=(0.2,))
    assert found.held == {"gripper": (0.5,), "arm1_joint": (0.2,)} and found.joints == names("arm", 5)[1:]


def test_an_arm_with_a_joint_that_follows_another_is_refused() -> None:
    follows = '<limit lower="-2" upper="2" velocity="3" effort="40"/><mimic joint="arm2_joint" multiplier="-1"/>'
    text = robot([link("base"), *chain("arm", "base", 4), link("wrist"), joint("level", "arm4", "wrist", more=follows)])
    parts = [text.removesuffix("</robot>"), *chain("tip", "wrist", 2), "</robot>"]
    with pytest.raises(RobotFileError, match="'level' of the arm follows 'arm2_joint'"):
        select("".join(parts))


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(RobotFileError, match="no joint moves that could be an arm's"):
        select(robot([link("base"), link("a"), joint("weld", "base", "a", "fixed")]))
    with pytest.raises(NameNotFoundError, match="no link 'arm7'.*did you mean arm"):
        select(arm(6), "arm7")


@pytest.mark.skipif(collection() is None, reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    ("name", "joints", "last", "ee_link", "gripper"),
    [
        ("z1", 6, "joint6", "gripperStator", ("jointGripper",)),
        ("kinova", 6, "j2s6s200_joint_6", "j2s6s200_end_effector", ()),
        ("panda_collision", 7, "panda_joint7", "panda_hand_tcp", ("panda_finger_joint1",)),
        ("ur3", 6, "wrist_3_joint", "tool0", ()),
        ("so101", 5, "wrist_roll", "gripper_frame_link", ("gripper",)),
        ("b1-z1", 6, "joint6", "gripperStator", ("jointGripper",)),
        ("baxter", 7, "right_w2", "right_gripper_base_link", ("r_gripper_l_finger_joint",)),
    ],
)
def test_arms_that_others_described(name: str, joints: int, last: str, ee_link: str, gripper: tuple[str, ...]) -> None:
    found = select_arm(collected()[name], {})
    assert (len(found.joints), found.joints[-1], found.ee_link, found.gripper) == (joints, last, ee_link, gripper)


@settings(max_examples=60)
@given(st.integers(0, 10_000))
def test_the_arm_of_any_tree_is_a_chain_that_the_reader_takes(seed: int) -> None:
    """Joints that are selected are those of the model, each on the one before it."""
    text = random_tree(seed)
    try:
        found = select(text)
    except RobotFileError as error:
        assert "no joint moves" in error.what or "follows" in error.what
        return
    model = read_urdf_text(text, "text", ee_link=found.ee_link, locked_joints=dict(found.held))
    assert model.joint_names == found.joints
    assert [link.parent for link in model.links] == list(range(-1, model.n - 1))
    assert not set(found.joints) & set(found.held) and set(found.gripper) <= set(found.held)
    assert set(found.others) <= set(parse_urdf(text, "text").links) - {found.ee_link}


@settings(max_examples=40)
@given(st.integers(0, 3), st.integers(4, 7), st.integers(2, 4), st.integers(1, 3), st.booleans())
def test_torso_arm_and_hand_of_any_size(torso: int, joints: int, fingers: int, phalanges: int, both: bool) -> None:
    carrier = f"torso{torso}" if torso else "base"
    sides = ("left", "right") if both else ("left",)
    parts = [link("base"), *chain("torso", "base", torso)]
    for side in sides:
        parts += [*chain(side, carrier, joints), *hand(f"{side}{joints}", fingers, phalanges)]
    found = select(robot(parts))
    assert found.joints == names("torso", torso) + names("left", joints)
    assert found.ee_link == f"left{joints}_palm"
    assert found.others == tuple(f"{side}{joints}_palm" for side in sides[1:])
