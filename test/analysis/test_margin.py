"""Margins of compiled laws: known limits, the feedback of a law that is known, and gains that are lowered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray
from pendulum2 import compile_pendulum2

from thunder_controllers.analysis.margin import WANTED_MARGIN, find_margins, largest_factor
from thunder_controllers.analysis.sampled_loop import SampledArm, Timing, observable
from thunder_controllers.host import Library, RestingLaw, margin_poses
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError, ModelError, NameNotFoundError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.model import Joint, JointKind, Limits, Link, RobotModel

FloatArray = NDArray[np.float64]

INERTIA = 0.02
"""Of the single joint about its axis [kg·m²]."""

NONE = np.zeros((1, 1))

PRECISE = 2e-3
"""Twice the precision of the search."""


@pytest.fixture(scope="module")
def pendulum(build_cache: Path) -> Library:
    """One joint without gravity."""
    body = Inertia(1.0, np.zeros(3), INERTIA * np.eye(3))
    link = Link("rod", -1, Joint("hinge", JointKind.REVOLUTE, limits=Limits(effort=10.0)), body)
    model = RobotModel("one_joint", (link,), gravity=(0.0, 0.0, 0.0))
    return Library(build(model, ["slotine_li"]) / "libone_joint.so")


@pytest.fixture(scope="module")
def planar3r(build_cache: Path) -> Library:
    return Library(build(load_robot("planar3r"), ["slotine_li"]) / "libplanar3r.so")


def pure_delay_limit(periods: int) -> float:
    """Largest K_d T / I of v ← v − K_d T / I · v of so many periods ago: 2, 1, 0.62, 0.45."""
    return float(2.0 * np.sin(np.pi / (2.0 * (2 * periods + 1))))


@pytest.mark.parametrize(("periods", "limit"), [(0, 2.0), (1, 1.0), (2, 0.62), (3, 0.45)])
def test_a_single_joint_meets_the_limits_of_pure_delay(pendulum: Library, periods: int, limit: float) -> None:
    assert pure_delay_limit(periods) == pytest.approx(limit, abs=0.005)
    timing = Timing(delay=periods * 1e-3)
    margins = find_margins(pendulum, "slotine_li", {"Lambda": 0.0, "K_d": 1.0}, np.zeros((1, 1)), timing)
    assert margins.margin * 1e-3 / INERTIA == pytest.approx(pure_delay_limit(periods), rel=PRECISE)
    assert margins.element_margins["K_d"] == pytest.approx([margins.margin])


def test_the_loop_of_least_squares_is_linear_about_rest(build_cache: Path) -> None:
    """Its states have a row of one joint in a step, whose index is a state like any other."""
    told = {"adaptation": "least_squares", "friction": "adapted", "rotors": "adapted", "disturbance": "observed"}
    library = Library(build(load_robot("planar3r"), [("slotine_li", told)]))
    plain = Library(build(load_robot("planar3r"), [("slotine_li", {"disturbance": "observed"})]))
    poses = margin_poses(plain, 3, 0)
    own, others = (find_margins(one, "slotine_li", {}, poses, Timing()).margin for one in (library, plain))
    assert own == pytest.approx(others, rel=0.2)


def test_a_delay_between_two_periods_acts_on_both() -> None:
    """v ← v − a ((1 − f) v of one period ago + f v of two periods ago), its eigenvalues as roots."""
    a, f = 0.4, 0.3
    arm = SampledArm(np.array([[INERTIA]]), np.zeros((1, 1)), Timing(delay=(1.0 + f) * 1e-3))
    feedback = (NONE, np.array([[-a * INERTIA / 1e-3]]), NONE)
    found = np.linalg.eigvals(arm.closed(*feedback))
    for root in np.roots([1.0, -1.0, a * (1.0 - f), a * f]):
        assert np.abs(found - root).min() < 1e-9


def test_a_filter_of_the_velocity_lags() -> None:
    """v ← v − a w, w ← w + share (v − w)."""
    a, cut_off = 0.4, 80.0
    share = 1.0 - np.exp(-2.0 * np.pi * cut_off * 1e-3)
    arm = SampledArm(np.array([[INERTIA]]), np.zeros((1, 1)), Timing(velocity_filter=cut_off))
    feedback = (NONE, np.array([[-a * INERTIA / 1e-3]]), NONE)
    expected = np.linalg.eigvals([[1.0 - a * share, -a * (1.0 - share)], [share, 1.0 - share]])
    found = np.linalg.eigvals(arm.closed(*feedback))
    for value in expected:
        assert np.abs(found - value).min() < 1e-9


def test_gravity_acts_on_the_arm_at_once_and_through_the_law_late() -> None:
    """Without feedback an arm above its joint falls: exp(±√(g/l) T)."""
    stiffness = -9.81 * np.eye(1)
    arm = SampledArm(np.eye(1), stiffness, Timing())
    found = np.abs(np.linalg.eigvals(arm.closed(NONE, NONE, NONE)))
    assert found.max() == pytest.approx(np.exp(np.sqrt(9.81) * 1e-3), rel=1e-9)
    held = arm.closed(stiffness, NONE, NONE)
    assert np.abs(np.linalg.eigvals(held)).max() == pytest.approx(1.0, abs=1e-4)


def test_the_feedback_is_that_of_the_compiled_step(tmp_path: Path) -> None:
    """τ = Y_g π̂ + K_d (Λ (q_d − q) − q̇) of the library that is written by hand, whatever its other states do."""
    K_d, Lambda = np.array([3.0, 2.0]), np.array([7.0, 4.0])
    law = RestingLaw(Library(compile_pendulum2(tmp_path)), law="joint_adaptive", gains={"Lambda": Lambda})
    for q in (np.array([0.3, -0.8]), np.array([-1.3, 0.4])):
        law.set_gain("K_d", np.zeros(2))
        G_q, G_qd, *_ = law.feedback(q)
        np.testing.assert_allclose(G_qd, np.zeros((2, 2)), atol=1e-7)
        np.testing.assert_allclose(G_q, G_q.T, atol=1e-7)  # second derivatives of an energy
        law.set_gain("K_d", K_d)
        position, velocity, *_ = law.feedback(q)
        np.testing.assert_allclose(velocity, -np.diag(K_d), atol=1e-7)
        np.testing.assert_allclose(position - G_q, -np.diag(K_d * Lambda), atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_states_that_no_output_shows_are_left_out_and_the_answer_stays(seed: int) -> None:
    """As many copies of a filter as parameters, of which the output is one sum, and a state that nothing shows."""
    rng = np.random.default_rng(seed)
    copies, outputs, inputs = 20, 2, 3
    A = np.zeros((outputs * copies + 1, outputs * copies + 1))
    A[:-1, :-1] = 0.9 * np.eye(outputs * copies)
    A[:-1, :outputs] += 0.1 * rng.standard_normal((outputs * copies, outputs))
    A[-1] = rng.standard_normal(len(A))
    B, C = rng.standard_normal((len(A), inputs)), np.zeros((outputs, len(A)))
    C[:, :-1] = np.kron(rng.standard_normal(copies), np.eye(outputs))
    B_r, A_r, C_r = observable(B, A, C)
    assert len(A_r) <= 2 * outputs
    for power in range(8):
        answer = C @ np.linalg.matrix_power(A, power) @ B
        np.testing.assert_allclose(C_r @ np.linalg.matrix_power(A_r, power) @ B_r, answer, rtol=1e-9, atol=1e-9)


def test_lowered_gains_have_the_wanted_margin(planar3r: Library) -> None:
    timing, poses = Timing(delay=0.003), margin_poses(planar3r, 5)
    before = find_margins(planar3r, "slotine_li", {"K_d": 30.0}, poses, timing)
    assert not before.is_stable
    assert before.margin < 1.0
    assert before.suggested is not None
    lowered = before.suggested["K_d"]
    assert lowered[0] >= 27.0  # the heavy base is hardly what grows
    assert lowered[-1] < 10.0
    after = find_margins(planar3r, "slotine_li", before.suggested, poses, timing)
    assert after.is_stable
    assert WANTED_MARGIN <= after.margin < 1.2 * WANTED_MARGIN
    assert after.suggested is not None
    np.testing.assert_array_equal(after.suggested["K_d"], lowered)


def test_gains_that_are_far_enough_stay(planar3r: Library) -> None:
    margins = find_margins(planar3r, "slotine_li", {"K_d": 0.1}, margin_poses(planar3r, 2), Timing())
    assert margins.is_stable
    assert margins.margin > WANTED_MARGIN
    assert margins.damping.min() > 0.5
    assert margins.suggested is not None
    np.testing.assert_array_equal(margins.suggested["K_d"], np.full(3, 0.1))


def test_no_gain_is_suggested_where_another_one_is_unstable(planar3r: Library) -> None:
    gains = {"Lambda": 200.0, "K_d": 1.0}
    margins = find_margins(planar3r, "slotine_li", gains, margin_poses(planar3r, 1), Timing(delay=0.02))
    assert not margins.is_stable
    assert margins.margin == 0.0
    assert margins.suggested is None


def test_several_gains_are_lowered_together(planar3r: Library) -> None:
    gains, timing, poses = {"Lambda": 200.0, "K_d": 1.0}, Timing(delay=0.008), margin_poses(planar3r, 1)
    assert find_margins(planar3r, "slotine_li", gains, poses, timing).margin == 0.0
    margins = find_margins(planar3r, "slotine_li", gains, poses, timing, ["K_d", "Lambda"])
    assert margins.suggested is not None
    assert set(margins.suggested) == {"K_d", "Lambda"}
    assert (margins.suggested["Lambda"] < 200.0).all()
    after = find_margins(planar3r, "slotine_li", margins.suggested, poses, timing, ["K_d", "Lambda"])
    assert after.is_stable
    assert WANTED_MARGIN <= after.margin < 1.2 * WANTED_MARGIN


def test_poses_are_repeatable_and_within_the_limits(planar3r: Library) -> None:
    poses = margin_poses(planar3r, 50)
    np.testing.assert_array_equal(poses[20:], margin_poses(planar3r, 30, first=20))
    assert (np.diff(np.sort(poses, axis=0), axis=0) > 0.0).all()
    assert (np.abs(poses) < np.pi).all()


@pytest.mark.parametrize("border", [0.013, 0.8, 1.0, 37.0])
def test_the_search_finds_the_border(border: float) -> None:
    assert largest_factor(lambda factor: factor <= border, 100.0) == pytest.approx(border, rel=PRECISE)


def test_the_search_ends_at_its_bounds() -> None:
    assert largest_factor(lambda factor: True, 100.0) == 100.0
    assert largest_factor(lambda factor: False, 100.0) == 0.0


@pytest.mark.parametrize(
    "values", [{"rate": 0.0}, {"rate": np.nan}, {"delay": -1e-3}, {"delay": 1.0}, {"velocity_filter": 0.0}]
)
def test_a_timing_that_cannot_be_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(LawError, match="valid"):
        Timing(**values)


def test_an_arm_without_inertia_is_refused() -> None:
    with pytest.raises(ModelError, match="singular"):
        SampledArm(np.diag([1.0, 0.0]), np.zeros((2, 2)), Timing())


def test_a_gain_that_is_not_there_is_named(planar3r: Library) -> None:
    with pytest.raises(NameNotFoundError, match="no gain 'D'; valid: .*K_d"):
        find_margins(planar3r, "slotine_li", {}, np.zeros((1, 3)), Timing(), ["D"])


@pytest.mark.parametrize(("count", "first"), [(0, 0), (1, -1)])
def test_poses_that_cannot_be_are_refused(planar3r: Library, count: int, first: int) -> None:
    with pytest.raises(LawError, match="at least one"):
        margin_poses(planar3r, count, first)
