"""What the host says of a law's velocity feedback when it is configured, and what the sampled loop does with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import ArrayLike, NDArray
from pendulum2 import compile_pendulum2

from thunder_controllers.analysis.margin import STABLE, find_margins
from thunder_controllers.analysis.sampled_loop import Timing, arm_at
from thunder_controllers.host import (
    Configuration,
    Controller,
    ControlSession,
    FeedbackMargin,
    Library,
    Limits,
    Options,
    RestingLaw,
    largest_feedback_share,
    margin_poses,
)
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError

FloatArray = NDArray[np.float64]
Gains = Mapping[str, ArrayLike]

LAWS = ["cartesian_backstepping", "slotine_li"]
PERIOD = 1e-3
EXACT = {"dead_time": 2.0 * PERIOD, "velocity_cutoff": np.inf, "velocity_by_differences": False}
"""Options under which the delay is of two whole periods, and nothing of it a filter."""

STABLE_FEEDBACK_SHARE = 2.0
"""v ← (1 − share) v is stable up to here."""

MOMENTS = [4, 7, 9]
"""Of the ten parameters of a link."""


@pytest.fixture(scope="module")
def library(build_cache: Path) -> Library:
    """The Panda, with both laws, adapting its last link, without an observer, whose filter turns the phase."""
    laws = [(law, {"disturbance": "none"}) for law in LAWS]
    return Library(build(load_robot("panda"), laws) / "libpanda.so")


@pytest.fixture(scope="module")
def planar3r(build_cache: Path) -> Library:
    return Library(build(load_robot("planar3r"), ["slotine_li"]) / "libplanar3r.so")


@pytest.fixture(scope="module")
def ur5(build_cache: Path) -> Library:
    return Library(build(load_robot("ur5"), ["slotine_li"]) / "libur5.so")


def notes(
    library: Library, law: str, gains: Gains | None = None, estimates: Gains | None = None, **more: Any
) -> list[str]:
    """What configure notices of the law; what it notices of the limits comes before."""
    controller = Controller()
    options = Options(accepts_unstable_gains=True, **more)
    controller.configure(library, law=law, gains=gains or {}, initial_state=estimates or {}, options=options)
    of_limits = Limits(library).notes
    assert controller.notes[: len(of_limits)] == of_limits
    return controller.notes[len(of_limits) :]


def share_of(library: Library, q: FloatArray, damping: FloatArray) -> float:
    M = np.reshape(library.evaluate("M", q), damping.shape)
    return float(np.linalg.eigvals(np.linalg.solve(M, damping)).real.max() * PERIOD)


def fastest(library: Library, law: str, gains: Gains | None = None, **more: Any) -> FeedbackMargin:
    margin = RestingLaw(library, law=law, gains=gains or {}, **more).find_fastest()
    assert margin is not None
    return margin


def default(library: Library, law: str, gain: str) -> FloatArray:
    controller = Controller()
    controller.configure(library, law=law)
    return np.array(controller.gain(gain))


def number(pattern: str, note: str) -> float:
    found = re.search(pattern, note)
    assert found is not None, note
    return float(found[1])


@pytest.mark.parametrize("law", LAWS)
def test_the_feedback_is_that_of_a_controller(library: Library, law: str) -> None:
    """By differences of its first update after an activation at rest, with limits that do not act."""
    q, n, step = margin_poses(library, 1)[0], library.n_joints, 1e-5
    posture = {"q_home": q} if law == "cartesian_backstepping" else {}
    limits = {"effort_limit": np.full(n, 1e9), "effort_rate_limit": np.full(n, 1e15), "handover_time": 0.0}
    controller, held, rest = Controller(), library.evaluate("G", q).ravel(), np.zeros(n)
    controller.configure(library, law=law, gains=posture, options=Options(nominal_dt=PERIOD, **limits))

    def effort(change: FloatArray, qd: FloatArray, applied: FloatArray) -> FloatArray:
        result = np.empty(n)
        controller.reset_state()
        controller.activate(q, held_effort=held + applied)
        controller.update(0.0, q + change, qd, PERIOD, result)
        controller.deactivate()
        return result

    for place, slope in enumerate(RestingLaw(library, law=law).feedback(q)[:3]):
        changes = [[rest] * place + [change] + [rest] * (2 - place) for change in step * np.eye(n)]
        columns = [effort(*some) - effort(*(-one for one in some)) for some in changes]
        np.testing.assert_allclose(slope, np.transpose(columns) / (2.0 * step), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("law", LAWS)
def test_the_share_is_an_eigenvalue_and_no_pose_of_many_has_a_larger_one(library: Library, law: str) -> None:
    margin, resting = fastest(library, law), RestingLaw(library, law=law)
    shares = [share_of(library, q, -resting.feedback(q)[1]) for q in [margin.q, *margin_poses(library, 100, first=20)]]
    assert margin.share == pytest.approx(shares[0], rel=1e-9)
    assert margin.share >= 0.99 * max(shares)


@pytest.mark.parametrize("law", LAWS)
def test_the_joint_is_the_one_whose_gain_matters_most(library: Library, law: str) -> None:
    margin, K_d, shares = fastest(library, law), default(library, law, "K_d"), []
    for lower in 1.0 - 0.01 * np.eye(len(K_d)):
        lowered = RestingLaw(library, law=law, gains={"K_d": K_d * lower})
        shares.append(share_of(library, margin.q, -lowered.feedback(margin.q)[1]))
    assert margin.joint == int(np.argmin(shares))


def test_the_share_grows_with_the_period(library: Library) -> None:
    at_1_kHz = fastest(library, "slotine_li")
    at_250_Hz = fastest(library, "slotine_li", options=Options(nominal_dt=0.004, measurement_timeout=0.02))
    assert at_250_Hz.share == pytest.approx(4.0 * at_1_kHz.share, rel=1e-9)


def test_the_default_gains_of_the_panda_are_slow_enough(library: Library) -> None:
    """Also with estimates where the law itself bounds them."""
    assert notes(library, "cartesian_backstepping") == []
    upper = default(library, "cartesian_backstepping", "least_inertia") * 0.0 + 1e6
    (note,) = notes(library, "cartesian_backstepping", {"least_inertia": upper})
    assert note.startswith("the bounds of the estimates leave no margin")


def test_gains_that_are_ten_times_as_high_are_noted(library: Library) -> None:
    law = "cartesian_backstepping"
    K_d = 10.0 * default(library, law, "K_d")
    margin = fastest(library, law, {"K_d": K_d})
    (note,) = notes(library, law, {"K_d": K_d})
    assert note.startswith("the velocity feedback leaves no margin at 1000 Hz: it takes ")
    assert number(r"takes (\S+) times", note) == pytest.approx(margin.share, rel=0.005)
    assert f"the speed of {library.joint_names[margin.joint]} away" in note
    assert f"`thunder gains ROBOT --law {law} --rate 1000` shows it" in note
    assert " ".join(f"{value:.3g}" for value in margin.q) in note
    factor = number(r"by a factor of (\S+) or more", note)
    assert factor == pytest.approx(margin.share / largest_feedback_share(Options()), rel=0.005)
    lowered = fastest(library, law, {"K_d": K_d / factor})
    assert lowered.share == pytest.approx(largest_feedback_share(Options()), rel=0.02)  # Λ acts on the velocity too


@pytest.mark.slow
def test_beside_an_observer_its_bandwidth_is_lowered_as_well(build_cache: Path) -> None:
    """M̂K_o is a feedback of the velocity as K_d is, and the factor of the note is that of both."""
    law = "cartesian_backstepping"
    observed = Library(build(load_robot("panda"), [law]) / "libpanda.so")
    gains = {name: 3.0 * default(observed, law, name) for name in ("K_d", "observer_bandwidth")}
    (note,) = notes(observed, law, gains)
    assert "; lower it (damping gains and observer_bandwidth) by a factor of " in note
    factor = number(r"by a factor of (\S+) or more", note)
    lowered = fastest(observed, law, {name: value / factor for name, value in gains.items()})
    assert lowered.share == pytest.approx(largest_feedback_share(Options()), rel=0.05)  # Λ acts on the velocity too


def test_gains_that_no_loop_of_this_rate_bears_are_refused(library: Library) -> None:
    """At configure and when they change, unless they are taken all the same; what is refused changes nothing."""
    law, controller = "cartesian_backstepping", Controller()
    at_200_Hz = {"nominal_dt": 0.005, "measurement_timeout": 0.02}
    K_d, options = default(library, law, "K_d"), Options(**at_200_Hz)
    margin = fastest(library, law, {"K_d": K_d}, options=options)
    bearable, unbearable = (share * STABLE_FEEDBACK_SHARE / margin.share * K_d for share in (0.9, 1.2))
    with pytest.raises(
        LawError, match="unstable at 200 Hz without any delay; valid: at most 2: damping gains lower by"
    ):
        controller.configure(library, law=law, gains={"K_d": unbearable}, options=options)
    controller.configure(library, law=law, gains={"K_d": bearable}, options=options)
    with pytest.raises(
        LawError, match=f"{law}.gains: the velocity feedback takes .* which is unstable at 200 Hz without any"
    ):
        controller.set_gain("K_d", unbearable)
    np.testing.assert_array_equal(controller.gain("K_d"), bearable)
    controller.set_gain("K_d", 0.5 * bearable)
    np.testing.assert_array_equal(controller.gain("K_d"), 0.5 * bearable)
    all_the_same = Options(**at_200_Hz, accepts_unstable_gains=True)
    controller.configure(library, law=law, gains={"K_d": unbearable}, options=all_the_same)
    controller.set_gain("K_d", 1.2 * unbearable)


def test_a_session_checks_gains_as_it_changes_them(library: Library) -> None:
    """A shell checks a parameter before it is set, and nobody catches what the change itself would throw."""
    law = "cartesian_backstepping"
    session, K_d = ControlSession(Configuration(library, law=law), Options()), default(library, law, "K_d")
    for change in (session.check_gains, session.set_gains):
        with pytest.raises(LawError, match="which is unstable at 1000 Hz without"):
            change({"K_d": np.full_like(K_d, 400.0)})
        change({"K_d": 0.5 * K_d})


def test_the_defaults_are_slow_enough_for_a_ur5_whose_drives_its_file_leaves_out(ur5: Library) -> None:
    """Also where the estimates may go; where they may go further, that is said, and of which joint."""
    eager = {"adaptation_limit": 0.4}
    assert notes(ur5, "slotine_li", eager) == []
    (note,) = notes(ur5, "slotine_li", eager | {"least_inertia": [0.003] * 3})
    assert note.startswith("the bounds of the estimates leave no margin at 1000 Hz")
    assert "the speed of wrist_3_joint away" in note


@pytest.mark.slow
def test_an_adaptation_that_is_slow_for_rotors_that_are_not_stated_is_said(ur5: Library) -> None:
    (note,) = notes(ur5, "slotine_li")
    assert note.startswith("the adaptation is slow (adaptation_limit 6")
    assert f"which rotors turn with {', '.join(ur5.joint_names)}: state them there (rotor)" in note
    learns = "slotine_li", {"adaptation": "least_squares", "rotors": "adapted"}
    for model, law in ((load_robot("ur5", without_rotors=True), "slotine_li"), (load_robot("ur5"), learns)):
        assert notes(Library(build(model, [law]) / "libur5.so"), "slotine_li") == []


@pytest.mark.slow
def test_feedback_that_makes_speeds_grow_is_said_as_such(tmp_path: Path) -> None:
    """computed_torque compensates 5 N·m·s/rad of viscous friction, ten times what its damping takes."""
    model = load_robot("planar3r")
    rubbed = replace(model, links=tuple(replace(link, friction=(5.0,)) for link in model.links))
    library = Library(build(rubbed, ["computed_torque"], folder=tmp_path) / "libplanar3r.so")
    (note,) = notes(library, "computed_torque")
    assert note.startswith("the velocity feedback adds energy: it adds ") and " times the speed of joint3 in" in note
    assert notes(library, "computed_torque", {"R_1": 1e3}) != [note]


@pytest.mark.parametrize("law", LAWS)
def test_the_largest_share_is_where_the_sampled_loop_becomes_unstable(library: Library, law: str) -> None:
    """With a delay of two periods.

    The share neglects the feedback of positions. At the border the loop swings by π/5 per period, ω = 628 rad/s; for
    Λ = 10 1/s the lag Λ/ω of K_dΛ is 1 % of the π/2 that a delay may take.
    """
    K_d = default(library, law, "K_d")
    for wanted, is_stable in ((0.97, True), (1.01, False)):
        scale = 1.0
        for _ in range(4):
            margin = fastest(library, law, {"K_d": scale * K_d})
            scale *= wanted * largest_feedback_share(Options(**EXACT)) / margin.share
        feedback = RestingLaw(library, law=law, gains={"K_d": scale * K_d}).feedback(margin.q)
        loop = arm_at(library, margin.q, Timing(delay=2.0 * PERIOD)).closed(*feedback)
        radius = np.abs(np.linalg.eigvals(loop)).max()
        assert bool(radius <= STABLE) == is_stable, (wanted, radius)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["planar3r", "ur5", "panda"])
def test_the_note_says_what_the_command_says(robot: str, build_cache: Path) -> None:
    """At the same poses, with the same delay: but for 3 % about the border, where feedback of positions decides."""
    laws = ["slotine_li", "gravity_compensation"]
    library = Library(build(load_robot(robot), laws) / f"lib{robot}.so")
    timing = Timing(delay=2.0 * PERIOD)
    for law in laws:
        K_d = default(library, law, "K_d")
        poses = np.vstack([margin_poses(library), fastest(library, law).q])
        factor = find_margins(library, law, {}, poses, timing).margin
        for share, is_noted in ((0.97, False), (1.03, True)):
            found = notes(library, law, {"K_d": share * factor * K_d}, **EXACT)
            assert any(note.startswith("the velocity feedback") for note in found) == is_noted, (law, share)


def test_estimates_that_are_given_count(library: Library) -> None:
    """An inertia of 0.8 kg·m² where 0.01 is true, which limit-cycles at 1 kHz."""
    gains = {"K_d": 0.1 * default(library, "slotine_li", "K_d")}
    assert not any("velocity feedback leaves" in note for note in notes(library, "slotine_li", gains))
    estimate = np.array(library.law("slotine_li").state[0].defaults)
    estimate[[4, 7, 9]] = 0.8
    (note,) = notes(library, "slotine_li", gains, {"pi_hat": estimate})
    assert note.startswith("the velocity feedback leaves no margin") and "panda_joint7" in note


def test_bounds_of_the_estimates_count_where_the_inertia_acts_on_the_velocity(planar3r: Library) -> None:
    """D = K_d + M̂ Λ for slotine_li, M̂ of the last link's estimate through the regressor of all links."""
    K_d, Lambda, n = np.array([1.0, 0.5, 0.2]), 5.0, 3
    gains = {"K_d": K_d, "Lambda": Lambda, "least_inertia": 1e6}  # pi_upper is the only bound
    (note,) = notes(planar3r, "slotine_li", gains)
    assert note.startswith("the bounds of the estimates leave no margin at 1000 Hz: with moments of inertia")
    assert "the speed of joint3 away" in note
    estimate = np.array(planar3r.law("slotine_li").state[0].defaults)
    upper = default(planar3r, "slotine_li", "pi_upper")
    at_bounds = estimate.copy()
    at_bounds[MOMENTS] = upper[MOMENTS]
    margin = fastest(planar3r, "slotine_li", gains, initial_state={"pi_hat": at_bounds})
    assert number(r"takes (\S+) times", note) == pytest.approx(margin.share, rel=0.005)

    def rows(qdd_r: FloatArray) -> FloatArray:
        rest = np.zeros(n)
        return np.reshape(planar3r.evaluate("Yr", margin.q, rest, rest, qdd_r), (n, 10 * n))

    parameters = np.array(planar3r.pi)
    parameters[-10:] = at_bounds
    M_hat = np.column_stack([(rows(unit) - rows(np.zeros(n))) @ parameters for unit in np.eye(n)])
    assert margin.share == pytest.approx(share_of(planar3r, margin.q, np.diag(K_d) + M_hat * Lambda), rel=1e-4)


def test_bounds_as_near_as_the_note_says_are_silent(planar3r: Library) -> None:
    gains = {"K_d": [1.0, 0.5, 0.2], "least_inertia": 1e6}  # pi_upper is the only bound
    (note,) = notes(planar3r, "slotine_li", gains)
    factor = number(r"by a factor of (\S+) or more", note)
    estimate = np.array(planar3r.law("slotine_li").state[0].defaults)
    upper = default(planar3r, "slotine_li", "pi_upper")
    assert notes(planar3r, "slotine_li", gains | {"pi_upper": estimate + 1.1 * (upper - estimate) / factor})
    assert notes(planar3r, "slotine_li", gains | {"pi_upper": estimate + (upper - estimate) / (1.01 * factor)}) == []


def test_a_law_without_inertial_estimates_has_no_bounds_of_them(tmp_path: Path) -> None:
    pendulum = Library(compile_pendulum2(tmp_path))
    assert notes(pendulum, "joint_adaptive") == []
    (note,) = notes(pendulum, "joint_adaptive", {"K_d": 100.0})
    assert note.startswith("the velocity feedback leaves no margin at 1000 Hz")


def test_a_session_says_what_its_controller_says(ur5: Library) -> None:
    options = Options(nominal_dt=0.005, measurement_timeout=0.02)
    controller = Controller()
    controller.configure(ur5, law="slotine_li", options=options)
    session = ControlSession(Configuration(ur5), options)
    assert session.notes == controller.notes
    assert any("the velocity feedback leaves no margin at 200 Hz" in note for note in session.notes)
