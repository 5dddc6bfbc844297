"""Recursive least squares in a law: its rows, its recursion against one batch, and bodies that are picked up."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
from adapting_arm import FEEDBACK, HOME, PAYLOAD, build_law, motion, plant, run, with_payload
from evaluation import load_robot
from laws import packed, step, unpacked

from thunder_controllers.laws.adaptation.least_squares.momentum_rows import MomentumRows, prior_deviations
from thunder_controllers.laws.adaptation.least_squares.recursion import BODY, CORRELATED, LET_GO, NONE, SETTLED, TOUCHED
from thunder_dynamics.algorithms.drives import SMOOTHING_VELOCITY
from thunder_dynamics.errors import LawError
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.law import Law, ReferenceKind, Signals
from thunder_dynamics.model import RobotModel

pytestmark = pytest.mark.slow

FloatArray = np.ndarray
SX = ca.SX
OMEGA, DT = 20.0, 1e-3
FRICTION = (0.5, 0.3)
CERTAIN: dict[str, object] = {**FEEDBACK, "drive_gain_std": 0.0, "effort_offset_std": 0.0}
"""Gains of a law that is told that drives give what they are told, and offsets are none, as here."""

HEAVY = Inertia(2.5, np.array([0.03, -0.05, 0.1]), 0.01 * np.eye(3))


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return load_robot("panda")


@pytest.fixture(scope="module")
def law(panda: RobotModel) -> Law:
    return build_law(panda, "least_squares", friction="adapted")


@cache
def rows_law(viscous: float, coulomb: float) -> Law:
    """All rows of a Panda whose file states that friction, as telemetry of a law that does nothing."""
    panda = load_robot("panda")
    stated = replace(panda, links=tuple(replace(link, friction=(viscous,), coulomb=coulomb) for link in panda.links))
    signals = Signals(RobotExpressions(stated), ReferenceKind.JOINT)
    rows = MomentumRows(signals.robot, signals, [6], SX(OMEGA))
    every = [rows.of(SX(joint)) for joint in range(7)]
    found = {"y": ca.vertcat(*(one.y for one in every)), "W": ca.vertcat(*(one.w.T for one in every))}
    for name, value in found.items():
        signals.describe_telemetry(name, size=value.numel(), unit="SI", doc="Of all joints.")
    return signals.law("rows", "Rows.", effort=SX.zeros(7), next_state=rows.next_state, telemetry=found)


@pytest.mark.parametrize("stated", [(0.0, 0.0), (2.0, 3.0)], ids=["no friction stated", "too much stated"])
@pytest.mark.parametrize("delay", [0.0, 2e-3])
def test_rows_hold_for_the_true_parameters_friction_rotors_and_delay(
    panda: RobotModel, delay: float, stated: tuple[float, float]
) -> None:
    """Of a motion that is given, with the effort that it takes, sent ahead by the delay.

    What is left is of second order: of the period, and of the delay, for which a derivative stands.
    """
    true, rotor, built = with_payload(panda, PAYLOAD), 0.1, rows_law(*stated)
    inverse = plant(true, FRICTION)
    robot = RobotExpressions(true)
    M = ca.Function("M", [robot.symbol("q")], [robot["M"]])

    def effort(t: float) -> FloatArray:
        q, qd, qdd = motion(t).values()
        bias = np.asarray(inverse(q, qd, np.zeros(7))[1]).ravel()
        return np.asarray(M(q)) @ qdd + bias + rotor * qdd

    first = motion(0.0)
    x = np.asarray(built.initial(first["q"], first["qd"], packed(built.gains))).ravel()
    theta = np.concatenate([PAYLOAD.pi, np.repeat([*np.subtract(FRICTION, stated), rotor, 0.0], 7), [delay + 0.5 * DT]])
    left, whole = [], []
    for k in range(2500):
        now = motion(k * DT)
        tau = effort((k - 0.5) * DT + delay)
        reference = packed(built.reference, now)
        _, x, telemetry = (
            np.asarray(one).ravel() for one in built.step(now["q"], now["qd"], tau, [], reference, x, [], DT)
        )
        found = unpacked(built.telemetry, telemetry)
        if k * DT * OMEGA > 2.0 * SETTLED:
            left.append(found["y"] - found["W"].reshape(-1, 7).T @ theta)
            whole.append(found["y"])
    assert np.sqrt(np.mean(np.square(left), axis=0)).max() < 3e-3 * np.sqrt(np.mean(np.square(whole)))


def test_the_recursion_is_one_weighted_least_squares(law: Law, panda: RobotModel) -> None:
    """θ, C and D after all rows are those of one batch with the prior, each row with the weight that its joint had."""
    states: list[dict[str, FloatArray]] = []
    run(law, with_payload(panda, PAYLOAD), 1.5, FEEDBACK, friction=FRICTION, watch=lambda *at: states.append(at[2]))
    scale, least = prior_deviations(RobotExpressions(panda), [6]), (2e-5 * panda.limits("effort")) ** 2
    A, b, causes = np.eye(scale.size), np.zeros(scale.size), np.zeros((scale.size, 14))
    for before, after in itertools.pairwise(states):
        joint = int(before["told_turn"][0])
        row, earlier = (one["filtered_twice"].reshape(-1, 7)[:, joint] for one in (after, before))
        own = np.eye(7)[joint]
        w = (
            np.concatenate([row[1:11], *(own * row[k] for k in (11, 12, 15, 13)), [(row[16] - earlier[16]) / DT]])
            * scale
        )
        coulomb = (scale * before["told"])[17 + joint]
        slow = row[14]
        variance = (1.0 - slow) * before["residual_variance"][joint] + slow * before["slow_variance"][joint]
        noise = max(variance, least[joint]) + (coulomb * slow) ** 2
        r = noise * CORRELATED / (OMEGA * 7 * DT)
        A, b = A + np.outer(w, w) / r, b + w * row[0] / r
        causes[:, joint] -= 0.02 * row[16] * w / r
        causes[:, 7 + joint] += 0.005 * panda.limits("effort")[joint] * w / r
    half = np.zeros(A.shape)
    half[np.triu_indices(len(A))] = states[-1]["covariance"]
    covariance = half + np.triu(half, 1).T
    np.testing.assert_allclose(covariance @ A, np.eye(len(A)), atol=1e-6)
    doubt = states[-1]["told_doubt"].reshape(14, -1).T
    np.testing.assert_allclose(doubt, np.linalg.solve(A, causes), rtol=0, atol=1e-6 * np.abs(doubt).max())
    np.testing.assert_allclose(states[-1]["told"], np.linalg.solve(A, b), rtol=0, atol=1e-6 * np.abs(b).max() / A.max())


@pytest.mark.parametrize("std", [0.02, 0.1])
def test_the_guess_of_the_noise_is_soon_forgotten(law: Law, panda: RobotModel, std: float) -> None:
    """White noise of the efforts, up to 2400 times less than the guess: rows weigh what they are worth after 4 s."""
    rng, states = np.random.default_rng(0), []
    run(
        law,
        with_payload(panda, PAYLOAD),
        4.0,
        FEEDBACK,
        friction=FRICTION,
        push=lambda *_: std * rng.standard_normal(7),
        watch=lambda *at: states.append(at[2]["residual_variance"]),
    )
    through_both_filters = std**2 * OMEGA * DT / CORRELATED
    ratio = states[-1] / through_both_filters
    assert (ratio > 0.2).all() and (ratio < 5.0).all()


def test_it_starts_from_the_estimates_that_are_kept(law: Law, panda: RobotModel) -> None:
    pi = with_payload(panda, PAYLOAD).links[-1].inertia.pi
    rest = {"q": HOME, "qd": np.zeros(7), "qdd": np.zeros(7)}
    _, after, telemetry = step(law, HOME, np.zeros(7), rest, {"pi_hat": pi})
    np.testing.assert_allclose(telemetry["pi_told"], pi, atol=1e-12)
    np.testing.assert_allclose(after["pi_hat"], pi, atol=1e-9)


def test_a_body_that_is_picked_up_is_found_with_its_time_and_weight(law: Law, panda: RobotModel) -> None:
    found: list[dict[str, FloatArray]] = []
    later = (4.0, with_payload(panda, PAYLOAD))
    run(law, panda, 9.0, CERTAIN, friction=FRICTION, later=later, watch=lambda *at: found.append(at[3]))
    change = np.array([one["change"][0] for one in found])
    (first,) = np.flatnonzero(np.diff(change != NONE)) + 1
    assert 4.0 < first * DT < 4.1
    assert change[-1] == BODY and found[-1]["change_age"] == pytest.approx(9.0 - first * DT, abs=2e-3)
    picked_up, std = found[-1]["picked_up"], found[-1]["picked_up_std"]
    np.testing.assert_allclose(picked_up, PAYLOAD.pi, rtol=0, atol=5e-3)
    assert (np.abs(picked_up - PAYLOAD.pi) < 4.0 * std).all() and std[0] < 5e-3
    assert all((one["picked_up"] == 0.0).all() for one in found[:first])


@pytest.mark.parametrize(
    ("at", "until"), [(0.4, np.inf), (1.0, np.inf), (2.9, np.inf), (0.4, 2.8), (2.2, 3.2), (2.9, 3.45), (1.8, 4.4)]
)
def test_a_body_that_comes_before_noise_is_known_is_found_all_the_same(
    law: Law, panda: RobotModel, at: float, until: float
) -> None:
    """Not as a change, which nobody could tell yet, nor one in the 3 s that follow: what was learnt is forgotten."""
    found: list[dict[str, FloatArray]] = []
    later = (at, with_payload(panda, HEAVY))
    run(law, panda, 9.0, CERTAIN, friction=FRICTION, later=later, until=until, watch=lambda *at: found.append(at[3]))
    carrying = later[1] if until > 9.0 else panda
    true, told, std = carrying.links[-1].inertia.pi, found[-1]["pi_told"], found[-1]["pi_std"]
    np.testing.assert_allclose(told, true, rtol=0, atol=5e-3)
    assert (np.abs(told - true) < 4.0 * std).all()


def test_a_push_is_no_body(law: Law, panda: RobotModel) -> None:
    """It ends, which a body would not; then what was known before it is known again."""
    seen: list[tuple[float, FloatArray, FloatArray]] = []
    push = np.array([0.0, 6.0, 0.0, -6.0, 0.0, 2.0, 0.0])
    run(
        law,
        panda,
        8.0,
        FEEDBACK,
        friction=FRICTION,
        push=lambda t, *_: push if 4.0 < t < 5.0 else 0.0,
        watch=lambda *at: seen.append((float(at[3]["change"][0]), at[3]["pi_told"], at[3]["pi_std"])),
    )
    kinds = np.array([kind for kind, _, _ in seen])
    assert kinds[3999] == NONE and TOUCHED in kinds[4000:5500] and kinds[-1] == LET_GO
    again = int(np.flatnonzero(kinds == LET_GO)[0])
    assert again < 6500
    assert (np.abs(seen[again][1] - seen[4000][1]) < 2.0 * seen[4000][2]).all()
    np.testing.assert_allclose(seen[again][2], seen[4000][2], rtol=0.1)


def test_what_touches_the_arm_again_and_again_teaches_nothing_of_its_joints(law: Law, panda: RobotModel) -> None:
    """Pushes from the second second on, before noise is known: they are contacts once it is."""
    push = np.array([0.0, 6.0, 0.0, -6.0, 0.0, 2.0, 0.0])
    found: list[dict[str, FloatArray]] = []
    run(
        law,
        panda,
        12.0,
        CERTAIN,
        friction=FRICTION,
        push=lambda t, *_: push if t > 2.0 and t % 1.5 < 0.7 else 0.0,
        watch=lambda *at: found.append(at[3]),
    )
    kinds = [one["change"][0] for one in found]
    assert TOUCHED in kinds[6000:8000] and NONE not in kinds[8000:]
    open_ = np.array([kind == TOUCHED for kind in kinds])
    told = np.array([one["joints_told"] for one in found])
    moved = np.abs(np.diff(told, axis=0))[open_[:-1] & open_[1:]]
    assert open_.sum() > 3000 and not moved.any(), "a contact says nothing of joints"


def test_a_body_that_comes_with_a_knock_is_found(law: Law, panda: RobotModel) -> None:
    """The knock counts as a contact at first; that the body stays, and explains the efforts, says what it is."""
    found: list[dict[str, FloatArray]] = []
    knock = np.array([0.0, 6.0, 0.0, -6.0, 0.0, 2.0, 0.0])
    run(
        law,
        panda,
        10.0,
        CERTAIN,
        friction=FRICTION,
        later=(4.0, with_payload(panda, PAYLOAD)),
        push=lambda t, *_: knock if 4.0 < t < 4.6 else 0.0,
        watch=lambda *at: found.append(at[3]),
    )
    kinds = {float(one["change"][0]) for one in found}
    assert TOUCHED in kinds and LET_GO not in kinds and found[-1]["change"] == BODY
    picked_up, std = found[-1]["picked_up"], found[-1]["picked_up_std"]
    assert (np.abs(picked_up - PAYLOAD.pi) < 4.0 * std).all() and std[0] < 5e-3


def test_deviations_have_what_undeclared_offsets_do(law: Law, panda: RobotModel) -> None:
    """The body is within three deviations, which noise alone would not make."""
    rng, true, found = np.random.default_rng(0), with_payload(panda, PAYLOAD), list[dict[str, FloatArray]]()

    def push(*_: object) -> FloatArray:
        return 0.2 * rng.standard_normal(7) - 0.3 * np.eye(7)[3]

    last = run(law, true, 6.0, FEEDBACK, friction=FRICTION, push=push, watch=lambda *at: found.append(at[3]))
    off = np.abs(found[-1]["pi_told"] - true.links[-1].inertia.pi)
    assert (off < 3.0 * found[-1]["pi_std"]).all()
    scale = prior_deviations(RobotExpressions(panda), [6])[:10]
    ends = np.cumsum([0, *range(39, 29, -1)])[:10]  # of the columns of a packed triangle of 39
    assert (off > 3.0 * scale * np.sqrt(last["covariance"][ends])).any()


def test_a_load_that_comes_slowly_is_told_within_two_seconds(law: Law, panda: RobotModel) -> None:
    """1 kg over 6 s, of which gravity alone is felt: no innovation is large, and all of a joint have one sign."""
    loaded, bare = (
        ca.Function("G", [robot.symbol("q")], [robot.inverse_dynamics(robot.symbol("q"), *[ca.SX.zeros(7)] * 3)])
        for robot in map(RobotExpressions, (with_payload(panda, PAYLOAD), panda))
    )

    def poured(t: float, q: FloatArray, *_: FloatArray) -> FloatArray:
        share = min(max((t - 5.0) / 6.0, 0.0), 1.0)
        return share * np.asarray(bare(q) - loaded(q)).ravel()

    change: list[float] = []
    run(law, panda, 8.0, CERTAIN, friction=FRICTION, push=poured, watch=lambda *at: change.append(at[3]["change"][0]))
    (first, *_) = np.flatnonzero(np.array(change) != NONE)
    assert 5.0 < first * DT < 7.0


def test_friction_that_rises_with_the_load_is_no_mass(law: Law, panda: RobotModel) -> None:
    share, true, found = 0.05, with_payload(panda, PAYLOAD), list[dict[str, FloatArray]]()

    def rubs(_t: float, _q: FloatArray, qd: FloatArray, tau: FloatArray) -> FloatArray:
        return np.asarray(-share * np.abs(tau) * np.tanh(qd / SMOOTHING_VELOCITY))

    run(law, true, 8.0, CERTAIN, friction=FRICTION, push=rubs, watch=lambda *at: found.append(at[3]))
    told, std = found[-1]["pi_told"], found[-1]["pi_std"]
    np.testing.assert_allclose(told, true.links[-1].inertia.pi, rtol=0, atol=5e-3)
    assert (np.abs(told - true.links[-1].inertia.pi) < 4.0 * std).all()
    by_load, deviation = (found[-1][name][21:28] for name in ("joints_told", "joints_std"))
    assert (np.abs(by_load - share) < 4.0 * deviation + 0.01).all()


def test_rotors_and_friction_that_are_adapted_follow(panda: RobotModel) -> None:
    law = build_law(panda, "least_squares", friction="adapted", rotors="adapted")
    state = run(law, panda, 6.0, FEEDBACK, friction=FRICTION)
    np.testing.assert_allclose(state["friction_hat"], np.repeat(FRICTION, 7), rtol=0.03)
    np.testing.assert_allclose(state["rotor_hat"], 0.0, atol=1e-3)


def test_a_rotor_that_the_file_states_is_known_so_well(panda: RobotModel) -> None:
    """Zero at once, others to 30 % beforehand; as little as of any other where rotors adapt."""
    arm = panda.with_rotor_inertias(dict.fromkeys(panda.joint_names, 0.1) | {panda.joint_names[6]: 0.0})
    law, found = build_law(arm, "least_squares", friction="adapted"), []
    run(law, arm, 1.0, FEEDBACK, friction=FRICTION, watch=lambda *at: found.append(at[3]))
    rotors = slice(14, 21)
    first, last = found[0], found[-1]
    np.testing.assert_allclose(first["joints_std"][rotors], [*6 * [0.03], 0.0], rtol=1e-6)
    assert first["joints_told"][20] == last["joints_told"][20] == last["joints_std"][20] == 0.0
    np.testing.assert_allclose(last["joints_told"][rotors], 0.0, atol=5e-3)
    robot = RobotExpressions(arm)
    np.testing.assert_array_equal(
        prior_deviations(robot, [6], rotors=True), prior_deviations(RobotExpressions(panda), [6])
    )


def test_offsets_are_told_from_gravity_and_friction(panda: RobotModel) -> None:
    law = build_law(panda, "least_squares", friction="adapted", offsets="adapted")
    offsets, true = np.array([1.0, -0.5, 0.3, 0.5, 0.1, -0.1, 0.05]), with_payload(panda, PAYLOAD)
    state = run(law, true, 8.0, FEEDBACK, friction=FRICTION, push=lambda *_: -offsets)
    np.testing.assert_allclose(state["offset_hat"], offsets, atol=0.01)
    np.testing.assert_allclose(state["friction_hat"], np.repeat(FRICTION, 7), rtol=0.03)
    np.testing.assert_allclose(state["pi_hat"], true.links[-1].inertia.pi, atol=3e-3)


def test_two_links_adapt_and_more_are_refused(panda: RobotModel) -> None:
    law = build_law(panda, "least_squares", adapted_links=["panda_link6", "panda_link7"])
    sizes = {entry.name: entry.size for entry in law.state}
    assert sizes["pi_hat"] == 20 and sizes["told"] == 20 + 28 + 1
    with pytest.raises(LawError, match="least squares of 7 links; valid: adapted_links of at most 2"):
        build_law(panda, "least_squares", adapted_links="all")
