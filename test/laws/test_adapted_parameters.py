"""One mask of links' and joints' parameters: what it names adapts, bodies stay bodies, and all else stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from adapting_arm import FEEDBACK, PAYLOAD, build_law, run, with_payload
from evaluation import load_robot
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import step
from robots import random_inertia
from scipy.linalg import null_space

from thunder_controllers.laws.adaptation.least_squares.momentum_rows import prior_deviations
from thunder_controllers.laws.adaptation.mask import PARAMETERS
from thunder_controllers.laws.slotine_li import slotine_li
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import REG_NAMES, Inertia, pseudo_inertia
from thunder_dynamics.law import Law
from thunder_dynamics.model import RobotModel

MODEL = load_robot("planar3r")
PERIOD = 1e-3
ALL = {"adapted_links": "all"}
UNSEEN = null_space(RobotExpressions(MODEL).base_parameters.K)
"""Changes of π that no motion shows, (30, any)."""

ADAPTED = {"friction": "adapted", "rotors": "adapted", "offsets": "adapted"}
"""All of the joints."""

LINKS = ["link2", "link3"]
OWNERS = dict.fromkeys(PARAMETERS, MODEL.joint_names) | {"pi_hat": tuple(LINKS)}
BODIES = ("consistent", "least_squares")
MASKED = ("gradient", "projected", "composite", *BODIES)

seeds = st.integers(0, 2**32 - 1)


def some_of(state: str) -> st.SearchStrategy[list[str]]:
    """Names of some parameters in a state of estimates, in order: at least one."""
    names = [f"{owner}.{name}" for owner in OWNERS[state] for name in PARAMETERS[state][1]]
    return st.sets(st.sampled_from(names), min_size=1).map(sorted)


masks = st.fixed_dictionaries({state: some_of(state) for state in PARAMETERS})


def law(**options: Any) -> Law:
    return slotine_li(RobotExpressions(MODEL), options)


LAWS = {
    scheme: tuple(law(adaptation=scheme, **ALL, **chosen) for chosen in ({}, {"adapted_parameters": ["mass", "mcy"]}))
    for scheme in ("gradient", "projected")
}


def some_step(a_law: Law, seed: int) -> np.ndarray:
    """Change of π̂ (3, 10) in a step in motion from the values of the file, with a limit that does not act."""
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-1, 1, (2, 3))
    reference: Mapping[str, np.ndarray] = dict(zip(("q", "qd", "qdd"), rng.uniform(-1, 1, (3, 3)), strict=True))
    gains = {"adaptation_limit": 1e9, "Lambda": 1.0}
    after = step(a_law, q, qd, reference, {}, gains, PERIOD)[1]["pi_hat"]
    return (after - MODEL.pi).reshape(3, 10)


@pytest.mark.parametrize("scheme", LAWS)
@given(seed=seeds)
def test_what_is_not_chosen_stays_and_what_is_adapts_as_before(scheme: str, seed: int) -> None:
    whole, chosen = (some_step(one, seed) for one in LAWS[scheme])
    is_chosen = np.isin(np.arange(10), [0, 2])
    assert np.abs(whole).max() > 0.0
    np.testing.assert_array_equal(chosen[:, ~is_chosen], 0.0)
    np.testing.assert_allclose(chosen[:, is_chosen], whole[:, is_chosen], rtol=1e-9, atol=1e-15)


@given(seed=seeds)
def test_a_free_gradient_adapts_base_parameters_alone(seed: int) -> None:
    """nᵀΓ(π̂ − π_0) = 0 for every n with Y n = 0: what no motion shows stays where the file has it, here with Γ = 1."""
    change = some_step(LAWS["gradient"][0], seed).ravel()
    assert UNSEEN.shape[1] > 0
    np.testing.assert_allclose(UNSEEN.T @ change, 0.0, atol=1e-12 * np.abs(change).max() + 1e-15)


def adapts(state: str, mask: Mapping[str, list[str]]) -> np.ndarray:
    """Which entries of a state of estimates a mask names: links one after the other, joints parameter by parameter."""
    owners, names = OWNERS[state], PARAMETERS[state][1]
    table = np.array([[f"{owner}.{name}" in mask[state] for name in names] for owner in owners])
    return table.ravel() if state == "pi_hat" else table.T.ravel()


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@pytest.mark.parametrize("scheme", MASKED)
@given(mask=masks, seed=seeds)
def test_what_the_mask_leaves_out_never_changes_and_bodies_stay_bodies(
    scheme: str, mask: dict[str, list[str]], seed: int
) -> None:
    """From any bodies, far from the reference, with efforts that do not fit, the smallest γ and a pull to the file."""
    rng = np.random.default_rng(seed)
    joints = ADAPTED if scheme != "composite" else {**ADAPTED, "offsets": "model"}  # which it refuses
    mask = {state: some for state, some in mask.items() if state != "offset_hat" or joints is ADAPTED}
    built = law(adaptation=scheme, adapted_links=LINKS, adapted_parameters=sum(mask.values(), []), **joints)
    state: dict[str, np.ndarray] = {
        "pi_hat": np.concatenate([random_inertia(rng).pi for _ in LINKS]),
        "friction_hat": rng.uniform(0, 1, 6),
        "rotor_hat": rng.uniform(0, 0.1, 3),
        "offset_hat": rng.uniform(-1, 1, 3),
    }
    state = {name: state[name] for name in mask}
    first, gains = dict(state), {"gamma": 10.0 ** rng.uniform(-6, 0), "sigma_modification": 0.1}
    for _ in range(20):
        q, error, qd, qd_d, qdd_d = rng.uniform(-1, 1, (5, 3))
        reference = {"q": q + error, "qd": qd_d, "qdd": 10.0 * qdd_d}
        state = step(built, q, qd, reference, state, gains, PERIOD, rng.uniform(-50, 50, 3))[1]
        for name, start in first.items():
            np.testing.assert_array_equal(state[name][~adapts(name, mask)], start[~adapts(name, mask)])
        if scheme in BODIES:
            assert np.linalg.eigvalsh(pseudo_inertia(state["pi_hat"].reshape(-1, 10))).min() > 0.0
    assert (state["friction_hat"] != first["friction_hat"])[adapts("friction_hat", mask)].any()


def carrying(model: RobotModel, pi: np.ndarray) -> RobotModel:
    """The arm whose last link has these parameters."""
    return replace(model, links=(*model.links[:-1], replace(model.links[-1], inertia=Inertia.from_pi(pi))))


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return load_robot("panda")


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(
    chosen=st.sets(st.sampled_from(REG_NAMES), min_size=1).map(sorted),
    rubs=st.sets(st.sampled_from(("viscous", "coulomb")), min_size=1).map(sorted),
)
def test_with_an_exact_model_what_the_mask_names_converges(
    panda: RobotModel, chosen: list[str], rubs: list[str]
) -> None:
    """A payload in the parameters that adapt, as much of it as leaves a body; friction in the coefficients that do."""
    nominal, adapted = panda.links[-1].inertia.pi, np.isin(REG_NAMES, chosen)
    change = adapted * PAYLOAD.pi
    least = 0.5 * np.linalg.eigvalsh(pseudo_inertia(nominal))[0]
    while np.linalg.eigvalsh(pseudo_inertia(nominal + change))[0] < least:
        change *= 0.8
    friction = 0.5 * ("viscous" in rubs), 0.3 * ("coulomb" in rubs)
    found: list[dict[str, np.ndarray]] = []
    built = build_law(panda, "least_squares", friction="adapted", adapted_parameters=[*chosen, *rubs])
    true = carrying(panda, nominal + change)
    state = run(built, true, 6.0, FEEDBACK, friction=friction, watch=lambda *at: found.append(at[3]))
    np.testing.assert_array_equal(state["pi_hat"][~adapted], nominal[~adapted])
    np.testing.assert_allclose(state["pi_hat"], nominal + change, rtol=0, atol=1e-3)
    np.testing.assert_allclose(state["friction_hat"], np.repeat(friction, 7), rtol=0, atol=0.01)
    np.testing.assert_array_equal(found[-1]["pi_std"] > 0.0, adapted)


@pytest.mark.slow
def test_a_body_that_is_picked_up_is_learnt_by_the_mask_alone(panda: RobotModel) -> None:
    """A point mass in the frame's origin: what is forgotten of the link is its mass, all else has no deviation."""
    nominal, found = panda.links[-1].inertia.pi, []
    heavier = carrying(panda, nominal + np.eye(10)[0])
    built = build_law(panda, "least_squares", adapted_parameters="mass")
    run(built, panda, 7.0, FEEDBACK, later=(3.5, heavier), watch=lambda *at: found.append(at[3]))
    std, picked_up = (np.array([one[name] for one in found]) for name in ("pi_std", "picked_up"))
    assert (std[:, 1:] == 0.0).all() and std[3600:, 0].max() > 10.0 * std[3400, 0]
    np.testing.assert_allclose(picked_up[-1], np.eye(10)[0], rtol=0, atol=5e-3)
    assert (picked_up[:, 1:] == 0.0).all()


@pytest.mark.slow
def test_least_squares_tell_base_parameters_alone(panda: RobotModel) -> None:
    """nᵀΓ(θ − π_0) = 0 for every n with Y n = 0, Γ the inverse of the prior's variances; π̂ moves, as a body does."""
    robot, links = RobotExpressions(panda), ["panda_link6", "panda_link7"]
    unseen = null_space(robot.base_parameters.K[:, 50:])
    told: list[np.ndarray] = []
    built = build_law(panda, "least_squares", adapted_links=links)
    run(built, with_payload(panda, PAYLOAD), 2.0, FEEDBACK, watch=lambda *at: told.append(at[3]["pi_told"]))
    change = (told[-1] - panda.pi[50:]) / prior_deviations(robot, [5, 6])[:20] ** 2
    assert unseen.shape[1] > 0 and np.abs(change).max() > 0.1
    np.testing.assert_allclose(unseen.T @ change, 0.0, atol=1e-9 * np.abs(change).max())


def test_friction_of_one_joint_adapts_with_known_links() -> None:
    built = law(adaptation="none", friction="adapted", adapted_parameters="joint2.coulomb")
    reference = {"q": np.zeros(3), "qd": np.full(3, 1.0), "qdd": np.zeros(3)}
    after = step(built, np.zeros(3), np.full(3, 0.5), reference)[1]
    np.testing.assert_array_equal(np.flatnonzero(after["friction_hat"]), [4])


@pytest.mark.slow
def test_bodies_need_room_for_what_stays(panda: RobotModel) -> None:
    flat = carrying(panda, Inertia(0.7, np.zeros(3), np.diag([5e-3, 5e-3, 1e-2])).pi)
    build_law(flat, "consistent")
    build_law(flat, "projected", adapted_parameters="mass")
    with pytest.raises(LawError, match="parameters of panda_link7 that stay.*valid: adapted_parameters with all of it"):
        build_law(flat, "consistent", adapted_parameters="mass")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adapted_parameters": "mass", "adaptation": "natural"}, "=natural, which adapts all of a link; valid: any"),
        ({"adapted_parameters": ["m", "cx"]}, r"\['cx'\]; valid: all, mass, com, inertia, friction, m, "),
        ({"adapted_parameters": "link2.mass"}, r"\['link2.mass'\]; valid: .* of an adapted link or a joint"),
        ({"adapted_parameters": []}, r"consistent, of which adapted_parameters \[\] leaves nothing; v"),
        ({"adapted_parameters": "mass", "friction": "adapted"}, "friction=adapted, of which .* valid: one of viscous"),
        ({"adapted_parameters": ["mass", "rotor"]}, r"\['rotor'\]; .*; those of friction, rotors, offsets w"),
        ({"adapted_parameters": "mass", "adaptation": "none"}, r"\['mass'\]; valid: .*those of adaptation"),
        ({"adapted_parameters": [], "adaptation": "none"}, r"adapted_parameters \[\]; valid: all"),
    ],
)
def test_what_cannot_be_chosen_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LawError, match=message):
        law(**options)


def test_all_may_be_named_with_any_scheme() -> None:
    law(adapted_parameters=["mass", "com", "inertia"], adaptation="natural")
    law(adapted_parameters="all", adaptation="natural", **ADAPTED)
