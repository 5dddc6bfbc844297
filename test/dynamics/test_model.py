"""RobotModel: what it holds, that it cannot change, and the message for everything that contradicts itself."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from evaluation import load_robot
from robots import random_inertia, random_robot

from thunder_dynamics.errors import ModelError, NameNotFoundError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import (
    C_KEYWORDS,
    PARAMETER_GROUPS,
    Elasticity,
    Frame,
    Joint,
    JointKind,
    Limits,
    Link,
    Pose,
    RobotModel,
    check_robot_name,
    plain_name,
)


def joint(name: str = "joint1", **changes: object) -> Joint:
    return Joint(name, JointKind.REVOLUTE, **changes)  # type: ignore[arg-type]


def chain(*names: str) -> RobotModel:
    return RobotModel("arm", tuple(Link(name, i - 1, joint(f"j_{name}")) for i, name in enumerate(names)))


@pytest.fixture
def model() -> RobotModel:
    return random_robot(0, 4, tree=False, dh=True)


def test_pi_stacks_the_links_and_is_read_only(model: RobotModel) -> None:
    np.testing.assert_array_equal(model.pi, np.concatenate([link.inertia.pi for link in model.links]))
    with pytest.raises(ValueError, match="read-only"):
        model.pi[0] = 1.0


def test_nothing_in_a_model_can_be_changed(model: RobotModel) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        model.with_symbolic("par_DYN", True).symbolic["par_DYN"] = ()  # type: ignore[index]
    placement = model.links[0].joint.placement
    for array in (placement.rotation, placement.translation):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_pose_copies_what_it_is_given() -> None:
    translation = np.zeros(3)
    pose = Pose(np.eye(3), translation)
    translation[0] = 1.0
    assert not pose.translation.any()


def test_poses_compose_as_homogeneous_matrices() -> None:
    a, b = (random_robot(seed, 1).links[0].joint.placement for seed in (1, 2))
    product = a @ b
    np.testing.assert_allclose(product.rotation, a.rotation @ b.rotation, rtol=0, atol=1e-15)
    np.testing.assert_allclose(product.translation, a.rotation @ b.translation + a.translation, rtol=0, atol=1e-15)


def test_the_last_link_carries_the_end_effector_unless_told_otherwise(model: RobotModel) -> None:
    assert model.ee_link == model.n - 1
    assert replace(model, ee_link=1).ee_link == 1


def test_paths_run_from_the_base_to_the_link() -> None:
    links = [Link(name, parent, joint(f"j{name}")) for name, parent in (("a", -1), ("b", 0), ("c", 0), ("d", 1))]
    tree = RobotModel("tree", tuple(links))
    assert [tree.path(i) for i in range(4)] == [(0,), (0, 1), (0, 2), (0, 1, 3)]
    assert tree.path(-1) == ()


def test_with_inertia_changes_one_link_of_a_copy(model: RobotModel) -> None:
    other = random_inertia(np.random.default_rng(9))
    changed = model.with_inertia("link2", other)
    np.testing.assert_array_equal(changed.pi[10:20], other.pi)
    np.testing.assert_array_equal(np.delete(changed.pi, range(10, 20)), np.delete(model.pi, range(10, 20)))
    assert not np.array_equal(model.pi[10:20], other.pi)


def test_an_unknown_link_lists_the_links_there_are(model: RobotModel) -> None:
    for call in (lambda: model.index_of("hand"), lambda: model.with_inertia("hand", Inertia())):
        with pytest.raises(NameNotFoundError, match="random_robot: no link 'hand'; valid: link1, link2, link3, link4"):
            call()


def test_with_symbolic_marks_all_or_the_given_entries(model: RobotModel) -> None:
    assert model.with_symbolic("par_gravity", True).symbolic["par_gravity"] == (True, True, True)
    two = model.with_symbolic("par_gravity", [0, 0, 1]).with_symbolic("par_DYN", True)
    assert two.symbolic["par_gravity"] == (False, False, True) and sum(two.symbolic["par_DYN"]) == 40
    assert "par_gravity" not in two.with_symbolic("par_gravity", False).symbolic
    assert dict(model.symbolic) == {}


def test_masks_of_the_wrong_length_or_group_are_refused(model: RobotModel) -> None:
    with pytest.raises(ModelError, match="random_robot: the mask of par_gravity has 2 entries; valid: 3"):
        model.with_symbolic("par_gravity", [1, 0])
    with pytest.raises(NameNotFoundError, match="parameter group 'par_X'; valid: par_DHtable, par_world2L0"):
        model.with_symbolic("par_X", True)
    with pytest.raises(NameNotFoundError, match="parameter group 'par_REG'; valid"):
        replace(model, symbolic={"par_REG": (True,) * 40})


def test_parameter_groups_hold_the_whole_vectors() -> None:
    model = load_robot("sea2")
    sizes = [len(model.parameters(group)) for group in PARAMETER_GROUPS]
    assert sizes == [8, 6, 6, 3, 20, 4, 2, 2, 2, 1, 0]
    assert model.parameters("par_REG") == tuple(model.pi)
    assert model.parameters("par_Ln2EE") == (0.3, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "name",
    ["int", "class", "None", "_arm", "arm_", "my__arm", "2arm", "an arm", "arm-1", "", "a" * 64, "αrm", 'a"', "a;b"],
)
def test_robot_names_that_are_no_identifiers_are_refused(name: str) -> None:
    with pytest.raises(
        ModelError, match=r"file\.yaml: robot name .* is not a C identifier; valid: .*set another with name=…"
    ):
        check_robot_name(name, where="file.yaml")
    with pytest.raises(ModelError, match="is not a C identifier"):
        replace(chain("a"), name=name)


@pytest.mark.parametrize("name", ["panda", "Panda_7", "a", "a" * 63])
def test_c_identifiers_are_robot_names(name: str) -> None:
    check_robot_name(name, where="file.yaml")  # raises for any that is not
    assert name not in C_KEYWORDS and replace(chain("a"), name=name).name == name


REFUSED = ["", 'say "hi"', "a*/b", "a\nb", "$(id)", " a", "a ", "a  b", "a: b", "a:", "a+b", "-a", "a" * 128, "大" * 86]
INVISIBLE = ["a\u202eb", "a\u00a0b", "a\u200bb", "\ufeffa", "a\x85b", "a\u2028b"]


@pytest.mark.parametrize("name", REFUSED + INVISIBLE)
def test_names_of_links_and_joints_hold_nothing_that_code_could_run_or_nobody_sees(name: str) -> None:
    with pytest.raises(ModelError, match="arm: link name .*; valid: 1 to 127 letters"):
        chain(name)
    with pytest.raises(ModelError, match="arm: joint name .*; valid: 1 to 127 letters"):
        RobotModel("arm", (Link("a", -1, joint(name)),))


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("upper arm", "upper_arm"),
        ("Body1:1", "Body1_1"),
        ("大臂", "u5927u81c2"),
        ("bras supérieur", "bras_superieur"),
        ("हाथ", "u939u93eu925"),
        ("arm/l-1 (left)", "arm_l_1_left"),
    ],
)
def test_names_of_any_script_have_a_plain_one_for_code(name: str, plain: str) -> None:
    assert chain(name).link_names == (name,)
    assert plain_name(name) == plain


def test_a_name_stands_once() -> None:
    with pytest.raises(ModelError, match="arm: two links share a name; valid: unique names"):
        RobotModel("arm", (Link("a", -1, joint("j1")), Link("a", 0, joint("j2"))))
    with pytest.raises(ModelError, match="arm: two joints share a name; valid: unique names"):
        RobotModel("arm", (Link("a", -1, joint("j")), Link("b", 0, joint("j"))))


@pytest.mark.parametrize("parent", [1, 2, -2])
def test_a_parent_precedes_its_child(parent: int) -> None:
    links = (Link("a", -1, joint("j1")), Link("b", parent, joint("j2")))
    with pytest.raises(ModelError, match=rf"b: parent {parent} of link 1 does not precede it; valid: -1…0"):
        RobotModel("arm", links)


def test_a_robot_moves() -> None:
    with pytest.raises(ModelError, match="arm: the robot has no moving link; valid: at least one joint"):
        RobotModel("arm", ())


def test_all_links_have_friction_of_one_order() -> None:
    links = (Link("a", -1, joint("j1"), friction=(0.1,)), Link("b", 0, joint("j2")))
    with pytest.raises(ModelError, match="b: links have friction of different orders; valid: one order for all"):
        RobotModel("arm", links)


def test_the_end_effector_sits_on_a_link() -> None:
    for index in (2, -3):
        with pytest.raises(ModelError, match="end effector"):
            replace(chain("a", "b"), ee_link=index)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (0.0, 0.0, 2.0), (1.0, 1.0, 0.0), (np.nan, 0.0, 1.0)])
def test_the_axis_of_a_joint_is_a_unit_vector(axis: tuple[float, float, float]) -> None:
    with pytest.raises(ModelError, match=r"joint joint1: axis .* is not a unit vector; valid: ‖axis‖ = 1"):
        joint(axis=axis)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"lower": 1.0, "upper": -1.0}, "lower limit 1 above upper limit -1; valid: lower ≤ upper"),
        ({"lower": np.nan}, "lower limit nan above upper limit inf"),
        ({"velocity": 0.0}, "velocity limit 0; valid: greater than zero"),
        ({"effort": -3.0}, "effort limit -3; valid: greater than zero"),
        ({"effort_rate": np.nan}, "effort_rate limit nan; valid: greater than zero"),
        ({"velocity_offset": -0.1}, "velocity offset -0.1; valid: finite, 0 or more"),
        ({"velocity_deceleration": 0.0}, "velocity_deceleration limit 0; valid: greater than zero"),
        ({"effort_corner_velocity": 2.0}, "effort_corner_velocity 2 and effort_no_load_velocity inf; valid: both"),
        ({"effort_corner_velocity": 2.0, "effort_no_load_velocity": 2.0}, "valid: both, the first from 0 to below"),
    ],
)
def test_limits_that_no_joint_has_are_refused(limits: dict[str, float], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Limits(**limits)


@pytest.mark.parametrize(
    ("rotation", "translation", "message"),
    [
        (np.eye(2), np.zeros(3), r"pose rotation of shape \(2, 2\); valid: finite, \(3, 3\)"),
        (np.eye(3), np.zeros(2), r"pose translation of shape \(2,\); valid: finite, \(3,\)"),
        (np.full((3, 3), np.nan), np.zeros(3), "pose rotation"),
    ],
)
def test_poses_are_finite_and_of_their_shape(rotation: np.ndarray, translation: np.ndarray, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Pose(rotation, translation)


@pytest.mark.parametrize(
    "change",
    [
        {"gravity": (0.0, 0.0, np.nan)},
        {"gravity": (0.0, -9.81)},
        {"base": Frame(tr=(np.inf, 0.0, 0.0))},
        {"ee": Frame(ypr=(0.0, 0.0, np.nan))},
    ],
)
def test_gravity_and_frames_are_finite(change: dict[str, object]) -> None:
    with pytest.raises(ModelError, match="finite"):
        replace(chain("a"), **change)  # type: ignore[arg-type]


def test_coefficients_are_finite_and_of_one_order() -> None:
    soft = joint("j1", elastic=Elasticity((1.0,), (), (), 0.1))
    stiff = joint("j2", elastic=Elasticity((1.0, 2.0), (), (), 0.1))
    with pytest.raises(
        ModelError, match="arm: elastic joints have terms of different orders; valid: one order for all"
    ):
        RobotModel("arm", (Link("a", -1, soft), Link("b", 0, stiff)))
    for change in (
        {"friction": (np.nan,)},
        {"coulomb": np.inf},
        {"effort_offset": np.nan},
        {"joint": replace(soft, elastic=Elasticity((), (), (), np.nan))},
    ):
        with pytest.raises(ModelError, match="arm: a coefficient of friction, offset or elasticity is not finite"):
            RobotModel("arm", (Link("a", -1, **{"joint": joint(), **change}),))  # type: ignore[arg-type]


def test_dh_rows_of_some_joints_are_no_dh_table() -> None:
    rows = random_robot(0, 2, dh=True).links
    mixed = (rows[0], replace(rows[1], joint=replace(rows[1].joint, dh=None)))
    model = RobotModel("arm", mixed)
    assert model.parameters("par_DHtable") == ()
    with pytest.raises(ModelError, match="arm has no par_DHtable; valid: a group with entries"):
        model.with_symbolic("par_DHtable", True)
    with pytest.raises(ModelError, match="arm: the mask of par_DHtable has 4 entries; valid: 0"):
        replace(model, symbolic={"par_DHtable": (True,) * 4})
