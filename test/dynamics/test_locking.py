"""Locked joints: the model without them is the whole one at rest in them, for every kind of joint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from evaluation import assert_close, evaluate, load_robot, robot_file
from robots import (
    general_robot,
    helical,
    on_a_curve,
    random_robot,
    random_state,
)
from urdf_agreement import assert_agrees_with_pinocchio, configuration, reference_of
from urdf_text import UrdfText

from thunder_dynamics import RobotModel, load_model, lock_joints
from thunder_dynamics.errors import InertiaError, ModelError, NameNotFoundError, RobotFileError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.joints import Coupling, Elasticity, JointKind, Limits
from thunder_dynamics.locking import link_poses
from thunder_dynamics.model import EndEffector, Frame
from thunder_dynamics.readers.urdf import ROOT_JOINT

RELATIVE = 1e-11
"""Both sides are double precision; a merged inertia is a few more operations than the bodies it is made of."""


def own_kinds(seed: int) -> RobotModel:
    model = random_robot(seed, 6, tree=True, dh=False)
    for joint, kind in (("joint2", helical(0.2)), ("joint3", on_a_curve()), ("joint5", JointKind.UNIVERSAL)):
        model = model.with_joint_kind(joint, kind)
    return model


FAMILIES = {
    "DH chains": lambda seed: random_robot(seed, 5, dh=True),
    "trees": lambda seed: random_robot(seed, 7, tree=True, dh=False),
    "all kinds": lambda seed: general_robot(seed, 7),
    "kinds of one's own": own_kinds,
}


def locked_at_random(model: RobotModel, seed: int) -> tuple[RobotModel, list[int], np.ndarray]:
    """A robot whose end effector keeps a joint, with two or three others to lock, and a state that they rest in."""
    rng = np.random.default_rng(seed)
    links = tuple(replace(link, friction=(0.3, 0.1), coulomb=0.2) for link in model.links)
    tip = int(rng.integers(model.n))
    kept = int(rng.choice(model.path(tip)))
    others = [i for i in range(model.n) if i != kept]
    held = sorted(rng.choice(others, size=int(rng.integers(2, 4)), replace=False).tolist())
    side = EndEffector("side", kept, Frame((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)))
    return replace(model, links=links, ee_link=tip, end_effectors=(side,)), held, rng.uniform(-1.5, 1.5, model.nq)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(6))
def test_a_locked_robot_is_the_whole_one_at_rest_in_what_is_locked(family: str, seed: int) -> None:
    whole, held, q = locked_at_random(FAMILIES[family](seed), seed)
    model = lock_joints(whole, {whole.joint_names[i]: q[list(whole.q_ranges[i])] for i in held})
    moving = [i for i in range(whole.n) if i not in held]
    assert model.joint_names == tuple(whole.joint_names[i] for i in moving)
    assert model.link_names == tuple(whole.link_names[i] for i in moving)
    in_q = [k for i in moving for k in whole.q_ranges[i]]
    in_v = [k for i in moving for k in whole.v_ranges[i]]
    state = random_state(model, seed)
    long = {name: np.zeros(whole.nv) for name in state} | {"q": q.copy()}
    for name, values in state.items():
        long[name][in_q if name == "q" else in_v] = values
    reduced, full = RobotExpressions(model), RobotExpressions(whole)

    def same(name: str, rows: object = slice(None), columns: object = slice(None), of: str | None = None) -> None:
        assert_close(evaluate(reduced, name, state), evaluate(full, of or name, long)[rows][:, columns], RELATIVE)

    for name in ("M", "C", "M_dot"):
        same(name, in_v, in_v)
    for name in ("G", "dl", "inverse_dynamics"):
        same(name, in_v)
    for name in ("J_ee", "J_ee_dot", "J_side"):
        same(name, columns=in_v)
    for name in ("T_0_ee", "T_0_side", "kinetic_energy"):
        same(name)
    for new, old in enumerate(moving):
        same(f"T_0_{new + 1}", of=f"T_0_{old + 1}")
    torque = evaluate(full, "Yr", long) @ whole.pi
    assert_close(evaluate(reduced, "Yr", state) @ model.pi, torque[in_v], RELATIVE)
    rises = []  # what the base holds has a constant part in the energy
    for robot, at, indices in ((reduced, state, slice(None)), (full, long, in_q)):
        moved = at | {"q": at["q"].copy()}
        moved["q"][indices] += 0.1 * np.cos(np.arange(model.nq))
        rises.append(evaluate(robot, "potential_energy", moved) - evaluate(robot, "potential_energy", at))
    assert_close(rises[0], rises[1], 1e-9)  # a difference of energies some hundred times as large


@pytest.mark.slow
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", range(5))
def test_a_reduced_urdf_is_pinocchios(seed: int, base: str) -> None:
    """Joints of all types of URDF, fixed and mimicking ones among them, at random positions within their limits."""
    biped, rng = UrdfText("biped.urdf"), np.random.default_rng(seed)
    options = {"base": base, "ee_link": "balloon", "tree": True}
    whole, peer = biped.read(**options), reference_of(biped.text, base)
    names = [link.joint.name for link in whole.links if link.joint.name not in ("neck", "right_knee")]
    names = [name for name in names if name != "string" or base == "floating"]  # the balloon moves
    held = [*rng.choice(names, size=2, replace=False).tolist(), "neck"][: 2 + seed % 2]
    q = rng.uniform(0.1, 0.9, whole.nq)
    at = {name: q[list(whole.q_ranges[whole.joint_names.index(name)])].tolist() for name in held}
    model = lock_joints(whole, at)
    joints = [peer.getJointId(name) for name in whole.joint_names if name not in model.joint_names]
    reduced = pin.buildReducedModel(peer, joints, configuration(whole, peer, q))
    assert_agrees_with_pinocchio(model, reduced, RELATIVE)
    if ROOT_JOINT not in at:  # which no file has
        assert_agrees_with_pinocchio(biped.read(**options, locked_joints=at), reduced, RELATIVE)


def test_joints_before_and_after_those_that_move_leave_their_dh_rows() -> None:
    whole = random_robot(3, 5, dh=True)
    model = lock_joints(whole, {"joint1": 0.3, "joint5": -0.2})
    assert [link.joint.dh for link in model.links] == [link.joint.dh for link in whole.links[1:4]]
    assert model.parameters("par_DHtable") == whole.parameters("par_DHtable")[4:16] and model.base != whole.base
    between = lock_joints(whole, {"joint2": 0.3})
    assert between.parameters("par_DHtable") == () and between.base == whole.base
    assert lock_joints(whole, {}) is whole


def test_what_follows_a_locked_joint_is_held_with_it_whatever_its_own_limits() -> None:
    whole = random_robot(12, 5, dh=False)
    links = list(whole.links)
    follower = replace(links[3].joint, coupling=Coupling("joint2", -0.7, 0.4), limits=Limits(lower=3.0))
    links[3] = replace(links[3], joint=follower)
    coupled = replace(whole, links=tuple(links))
    one, two = lock_joints(coupled, {"joint2": 0.5}), lock_joints(whole, {"joint2": 0.5, "joint4": 0.05})
    assert one.joint_names == ("joint1", "joint3", "joint5")
    np.testing.assert_allclose(one.pi, two.pi, rtol=0, atol=1e-15)
    freed = lock_joints(coupled, {"joint4": 3.5})
    assert freed.joint_names == ("joint1", "joint2", "joint3", "joint5") and not freed.has_coupled_joints


def test_what_the_base_holds_is_dropped_and_the_rest_keeps_its_mass() -> None:
    whole = random_robot(4, 5, dh=False)
    masses = [link.inertia.mass for link in whole.links]
    for joint, left in (("joint1", sum(masses[1:])), ("joint3", sum(masses))):
        model = lock_joints(whole, {joint: 0.2})
        assert sum(link.inertia.mass for link in model.links) == pytest.approx(left, rel=1e-14)


# --- run-time parameters ---------------------------------------------------------------------------------------------


def marked(model: RobotModel, group: str, *entries: int) -> RobotModel:
    mask = np.zeros(len(model.parameters(group)), dtype=bool)
    mask[list(entries)] = True
    return model.with_symbolic(group, mask)


def test_run_time_inertias_are_those_of_the_body_that_links_make() -> None:
    whole = random_robot(6, 4, dh=True).with_symbolic("par_DYN", True)
    model, state = lock_joints(whole, {"joint3": 0.4}), random_state(random_robot(6, 3), 1)
    assert model.symbolic["par_DYN"] == (True,) * 30
    other = np.array(replace(whole, symbolic={}).with_inertia("link3", Inertia(2.0, [0.1, 0.0, 0.2])).pi)
    changed = whole.with_inertia("link3", Inertia.from_pi(other[20:30]))
    given = state | {"par_DYN": np.array(lock_joints(changed, {"joint3": 0.4}).parameters("par_DYN"))}
    expected = evaluate(RobotExpressions(lock_joints(replace(changed, symbolic={}), {"joint3": 0.4})), "M", state)
    assert_close(evaluate(RobotExpressions(model), "M", given), expected, RELATIVE)


def test_run_time_parameters_of_what_is_locked_go_with_it_where_they_have_no_effect() -> None:
    soft = Elasticity((9.0,), (), (1.0,), 0.1)
    whole = random_robot(6, 4, dh=True)
    links = [replace(link, friction=(0.1, 0.2)) for link in whole.links]
    for i in (1, 3):
        links[i] = replace(links[i], joint=replace(links[i].joint, elastic=soft))
    whole = marked(replace(whole, links=tuple(links)), "par_Dl", 1, 3, 6)
    whole = marked(marked(whole, "par_Mm", 1), "par_K", 0, 1)
    whole = marked(marked(whole, "par_DYN", 3, 15), "par_DHtable", 7)
    model = lock_joints(whole, {"joint1": 0.3})
    assert model.symbolic["par_DYN"] == tuple(k == 5 for k in range(30))
    assert model.symbolic["par_DHtable"] == tuple(k == 3 for k in range(12))
    assert model.symbolic["par_Dl"] == (False, True, False, False, True, False)
    assert (model.symbolic["par_K"], model.symbolic["par_Mm"]) == ((True, True), (False, True))
    last = lock_joints(marked(whole, "par_DYN"), {"joint4": 0.3})
    assert (last.symbolic["par_K"], "par_Mm" in last.symbolic, last.elastic_joints) == ((True,), False, (1,))


def test_a_base_frame_of_run_time_parameters_stays_the_base_frame() -> None:
    whole = random_robot(6, 4, dh=True).with_symbolic("par_world2L0", True)
    model, state = lock_joints(whole, {"joint1": 0.4}), random_state(random_robot(6, 3), 1)
    assert model.base == whole.base and model.links[0].joint.dh is None
    long = {"q": np.array([0.4, *state["q"]]), "par_world2L0": np.arange(6.0)}
    expected = evaluate(RobotExpressions(whole), "T_0_ee", long)
    assert_close(evaluate(RobotExpressions(model), "T_0_ee", state | long | {"q": state["q"]}), expected, RELATIVE)


@pytest.mark.parametrize(
    ("group", "entry", "joint", "valid"),
    [
        ("par_DYN", 31, "joint4", "numbers there, or all ten of the link that it is held to as run-time parameters"),
        ("par_DHtable", 1, "joint1", "numbers there, and joints before the first or after the last that moves"),
        ("par_DHtable", 1, "joint3", "numbers there, and joints before the first or after the last that moves"),
        ("par_Ln2EE", 0, "joint4", "numbers there"),
    ],
)
def test_run_time_parameters_without_a_place_are_refused(group: str, entry: int, joint: str, valid: str) -> None:
    whole = marked(random_robot(6, 4, dh=True), group, entry)
    message = f"random_robot: joint '{joint}' cannot be locked: {group} has run-time parameters of it; valid: {valid}"
    with pytest.raises(ModelError, match=message):
        lock_joints(whole, {joint: 0.1})


# --- mistakes, files and the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (0.9, "joint 'joint2' cannot be locked at 0.9; valid: -0.5 to 0.5"),
        ((0.1, 0.2), "joint 'joint2' cannot be locked at 0.1, 0.2; valid: -0.5 to 0.5"),
        (np.nan, "joint 'joint2' cannot be locked at nan; valid: -0.5 to 0.5"),
    ],
)
def test_a_position_that_a_joint_cannot_have_is_refused(position: object, message: str) -> None:
    whole = random_robot(6, 4)
    links = list(whole.links)
    links[1] = replace(links[1], joint=replace(links[1].joint, limits=Limits(-0.5, 0.5)))
    with pytest.raises(ModelError, match=message):
        lock_joints(replace(whole, links=tuple(links)), {"joint2": position})  # type: ignore[dict-item]


@pytest.mark.parametrize("position", [np.zeros(7), np.full(7, np.inf), np.zeros(6)])
def test_a_free_joint_is_locked_at_a_configuration(position: np.ndarray) -> None:
    with pytest.raises(ModelError, match="joint 'joint1' cannot be .*; valid: 7 values, a configuration of a free"):
        lock_joints(general_robot(1, 3), {"joint1": position})


def test_what_is_not_there_and_what_nothing_moves_is_refused() -> None:
    with pytest.raises(NameNotFoundError, match="no joint 'elbow' to lock; valid: joint1, joint2, joint3"):
        lock_joints(load_robot("planar3r"), {"elbow": 0.1})
    with pytest.raises(ModelError, match="no joint moves the end effector 'ee' any more; valid: one that"):
        lock_joints(random_robot(2, 2), {"joint1": 0.1, "joint2": 0.1})


def test_a_yaml_robot_is_locked_where_it_is_loaded() -> None:
    whole = load_robot("planar3r")
    model = load_model(robot_file("planar3r"), locked_joints={whole.joint_names[2]: 0.3})
    np.testing.assert_array_equal(model.pi, lock_joints(whole, {whole.joint_names[2]: 0.3}).pi)
    for locked, kind in (({"joint9": 0.0}, NameNotFoundError), ({whole.joint_names[0]: (1.0, 2.0)}, RobotFileError)):
        with pytest.raises(kind, match="planar3r.yaml: "):
            load_model(robot_file("planar3r"), locked_joints=locked)


def test_a_body_is_judged_together_with_what_is_locked_to_it(tmp_path: Path) -> None:
    text = robot_file("planar3r").read_text(encoding="utf-8")
    assert text.count("Ixx: 0.0002") == 1
    file = tmp_path / "arm.yaml"
    file.write_text(text.replace("Ixx: 0.0002", "Ixx: 0.02"), encoding="utf-8")
    last = load_robot("planar3r").joint_names[2]
    with pytest.raises(InertiaError, match="triangle"):
        load_model(file)
    assert load_model(file, locked_joints={last: 0.1}).n == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_links_are_where_the_expressions_have_them_whatever_the_limits(family: str) -> None:
    model = FAMILIES[family](3)
    last = model.links[-1]
    narrow = replace(last, joint=replace(last.joint, limits=Limits(0.0, 0.0)))
    if last.joint.is_single and model.links[0].joint.is_single:
        narrow = replace(narrow, joint=replace(narrow.joint, coupling=Coupling(model.joint_names[0], -0.5, 0.1)))
    model = replace(model, links=(*model.links[:-1], narrow))
    robot, state = RobotExpressions(model), random_state(model, 3)
    q = {link.joint.name: state["q"][list(part)] for link, part in zip(model.links, model.q_ranges, strict=True)}
    for number, pose in enumerate(link_poses(model, q), 1):
        T = evaluate(robot, f"T_0_{number}", state)
        assert_close(pose.rotation, T[:3, :3], RELATIVE)
        assert_close(pose.translation, T[:3, 3], RELATIVE)
