"""What an arm cannot follow is refused before it moves, with when and why; what it can is not."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from numpy.typing import NDArray

from thunder_controllers.host import Library, Limits, Options, PoseFollower
from thunder_controllers.references.feasibility import check_before_compiling, check_reference
from thunder_controllers.references.sinusoids import JointLissajous, Lissajous
from thunder_controllers.references.trajectories import Hold, Pose, PoseSteps, PoseToPose, Reference
from thunder_dynamics.build import build
from thunder_dynamics.errors import ScenarioError

FloatArray = NDArray[np.float64]

START = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.0])
CENTRE, DOWN = (0.45, 0.0, 0.45), (0.0, 0.0, np.pi)
PERIOD = 1e-3
LIMITS = Limits([link.joint.limits for link in load_robot("panda").links])


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def panda() -> Library:
    """With a law of a pose and one of joints."""
    folder = build(load_robot("panda"), ["cartesian_impedance", "pd_plus", "gravity_compensation"])
    return Library(Path(folder) / "libpanda.so")


def _figure(amplitude: Any, frequency: Any, **swing: Any) -> Lissajous:
    return Lissajous(centre=CENTRE, amplitude=amplitude, frequency=frequency, ypr=DOWN, **swing)


def _joints(amplitude: Any, frequency: Any) -> JointLissajous:
    return JointLissajous(centre=START, amplitude=amplitude, frequency=frequency)


def _check(
    library: Library, reference: Reference, seconds: float, law: str = "cartesian_impedance", **options: Any
) -> list[str]:
    samples = np.ascontiguousarray(reference.sample(np.arange(round(seconds / PERIOD)) * PERIOD))
    limits = Limits(library, Options(**options))
    return check_reference(library, library.law(law), limits, samples, PERIOD, START, "here")


def _refusal(library: Library, reference: Reference, seconds: float, **options: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        _check(library, reference, seconds, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_path_within_reach_passes_in_silence(panda: Library) -> None:
    path = _figure((0.1, 0.15, 0.1), (0.2, 0.1, 0.4))
    assert _check(panda, path, 30.0) == []


def test_poses_that_joints_were_drawn_for_are_never_refused(panda: Library) -> None:
    """Jumps between them may need another posture than the one that is followed; then a note says so, no error."""
    rng = np.random.default_rng(1)
    lower, upper = panda.position_lower, panda.position_upper
    T = [panda.evaluate("T_0_ee", lower + (upper - lower) * share) for share in rng.uniform(0.1, 0.9, (12, 7))]
    steps = PoseSteps(steps=[{"time": 0.1 * k, **Pose.keys(t[:3, 3], t[:3, :3])} for k, t in enumerate(T)])
    for note in _check(panda, steps, 1.2):
        assert note.startswith("the reference is out of reach of the posture that the arm starts in, from t = ")


def test_joint_velocities_make_the_twist_of_a_sample(panda: Library) -> None:
    """Against differences of the pose; the damping leaves less than a thousandth over."""
    rng, step = np.random.default_rng(1), 1e-6
    follower = PoseFollower(panda.law("cartesian_impedance"), Limits(panda, Options()))
    for q in START + rng.uniform(-0.3, 0.3, (10, 7)):
        pose, twist = np.asarray(panda.evaluate("T_0_ee", q)), rng.uniform(-0.2, 0.2, 6)
        sample = np.concatenate([pose[:3, 3], pose[:3, :3].ravel("F"), twist, np.zeros(6)])
        qd = follower.follow(q, sample[None])[1][0]
        before, after = (np.asarray(panda.evaluate("T_0_ee", q + way * qd)) for way in (-step, step))
        spin = (after - before)[:3, :3] @ pose[:3, :3].T / (2.0 * step)
        found = [*(after - before)[:3, 3] / (2.0 * step), spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(found, twist, rtol=0, atol=2e-4)


def test_the_way_out_of_reach_is_told_where_it_begins(panda: Library) -> None:
    """A line from 0.5 to 1.5 m: with the hand down the reach ends about 0.75 m from the shoulder."""
    line = PoseToPose(poses=[{"position": (x, 0.0, 0.4), "ypr": DOWN} for x in (0.5, 1.5)], linear=(0.25, 1.0, 10.0))
    message = _refusal(panda, line, 5.0)
    found = re.fullmatch(
        r"here: the reference is out of reach from t = (\S+) s on, at (\S+) s by (\S+) m and \S+ rad; "
        "valid: poses within reach and joint limits",
        message,
    )
    assert found, message
    first, worst, distance = map(float, found.groups())
    reached = line.sample(np.array([first]))[0, 0]
    assert 0.6 < reached < 0.9 and worst > first and 0.5 < distance < 0.9


def test_a_pose_out_of_reach_at_the_end_only_is_found(panda: Library) -> None:
    places = ((0.0, CENTRE), (1.9, (0.45, 0.0, 1.6)))
    steps = PoseSteps(steps=[{"time": time, "position": position, "ypr": DOWN} for time, position in places])
    assert "out of reach from t = 1.9" in _refusal(panda, steps, 2.0)


def test_speeds_that_no_posture_gives_are_refused(panda: Library) -> None:
    fast = _figure((0.02, 0.0, 0.0), 200.0)
    assert re.search(r"the linear speed of the reference is 25\.1 at t = \S+ s; valid: \d", _refusal(panda, fast, 1.0))
    spin = _figure(0.0, 0.0, swing=(0.5, 0, 0), swing_frequency=10.0)
    assert "the angular speed of the reference is 31.4 at t = 0 s; valid: " in _refusal(panda, spin, 1.0)


def test_the_bound_of_speeds_is_above_what_joints_do(panda: Library) -> None:
    """The end effector with all joints at their fastest, in a thousand postures: never above what is refused."""
    slow = {"velocity_limit": np.full(7, 0.1)}
    message = _refusal(panda, _figure((0.1, 0, 0), 5.0), 1.0, **slow)
    bound = float(re.search(r"valid: (\S+) \[", message)[1])  # type: ignore[index]
    rng = np.random.default_rng(0)
    postures = rng.uniform(panda.position_lower, panda.position_upper, (1000, 7))
    speeds = [panda.evaluate("J_ee", q)[:3] @ (0.1 * rng.choice([-1.0, 1.0], 7)) for q in postures]
    assert 0.5 * bound < np.linalg.norm(speeds, axis=1).max() < bound


def test_what_only_this_posture_violates_is_a_note(panda: Library) -> None:
    quick = _figure((0.0, 0.15, 0.0), 0.5)
    (note,) = _check(panda, quick, 2.0, velocity_limit=np.full(7, 0.4))
    assert re.fullmatch(
        r"following the reference with the smallest joint velocities, panda_joint\d needs 0\.\d+ at t = \S+ s; "
        r"its limit is 0\.4",
        note,
    )


def test_references_of_joints_are_compared_with_their_limits(panda: Library) -> None:
    wide = _joints((0, 0, 0, 2.5, 0, 0, 0), 0.1)
    message = _refusal(panda, wide, 5.0, law="pd_plus")
    found = re.match(
        r"here: the reference has panda_joint4 at position (\S+) at t = (\S+) s; valid: (\S+) to (\S+)", message
    )
    assert found, message
    value, t, lower, upper = map(float, found.groups())
    assert value > upper > lower and value == pytest.approx(-2.2 + 2.5 * np.sin(0.2 * np.pi * t), abs=1e-3)
    assert "panda_joint1 at velocity 6.283 at t = 0 s; valid: -2.1" in _refusal(
        panda, _joints((1, 0, 0, 0, 0, 0, 0), 1.0), 1.0, law="pd_plus"
    )


def test_what_a_law_does_not_use_is_not_checked(panda: Library) -> None:
    assert _check(panda, _joints(9.0, 1.0), 1.0, law="gravity_compensation") == []


def test_a_constant_pose_takes_one_short_look(panda: Library) -> None:
    assert _check(panda, Hold(position=CENTRE, ypr=DOWN), 0.001) == []


def test_what_no_posture_reaches_is_known_without_a_library(panda: Library) -> None:
    """The bound is above what any posture reaches, and not far above."""
    model, law = load_robot("panda"), panda.law("cartesian_impedance")
    far = Hold(position=(2.0, 0.0, 0.3)).sample(np.zeros(1))
    with pytest.raises(ScenarioError, match=r"here: the reference is out of reach at t = 0 s, 2 m from") as caught:
        check_before_compiling(model, law, LIMITS, far, np.zeros(1), "here")
    bound = float(re.search(r"valid: (\S+) m at most", str(caught.value))[1])  # type: ignore[index]
    postures = np.random.default_rng(0).uniform(panda.position_lower, panda.position_upper, (2000, 7))
    places = panda.batch("T_0_ee", postures)[:, :3, 3]
    centre = panda.evaluate("T_0_1", START)[:3, 3]
    assert 0.7 * bound < np.linalg.norm(places - centre, axis=1).max() < bound
    near = np.zeros((len(places), 24))
    near[:, :3] = places
    check_before_compiling(model, law, LIMITS, near, np.arange(len(places)) * PERIOD, "here")


def test_of_a_planar_arm_the_law_decides_what_it_follows(panda: Library) -> None:
    far, law = Hold(position=(0.5, 5.0, 0.7)).sample(np.zeros(1)), panda.law("cartesian_impedance")
    check_before_compiling(load_robot("planar3r"), law, LIMITS, far, np.zeros(1), "here")
    with pytest.raises(ScenarioError, match="out of reach"):
        check_before_compiling(load_robot("panda"), law, LIMITS, far, np.zeros(1), "here")


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_joints_at_either_end_of_their_range_pass_and_beyond_it_do_not(panda: Library, end: str) -> None:
    """Before there is a library, and with one."""
    model, law = load_robot("panda"), panda.law("pd_plus")
    limit, out = model.limits(end), -1.0 if end == "lower" else 1.0
    for joint in range(7):
        q = START.copy()
        q[joint] = limit[joint]
        at = np.tile(np.concatenate([q, np.zeros(14)]), (2, 1))
        beyond = at.copy()
        beyond[1, joint] += 1e-6 * out

        def check(samples: FloatArray) -> None:
            check_reference(panda, law, Limits(panda), samples, PERIOD, START, "here")

        check(at)
        check_before_compiling(model, law, LIMITS, at, np.arange(2) * PERIOD, "here")
        where = f"panda_joint{joint + 1} at position .* at t = 0.001 s; valid: "
        with pytest.raises(ScenarioError, match=where):
            check(beyond)
        with pytest.raises(ScenarioError, match=where):
            check_before_compiling(model, law, LIMITS, beyond, np.arange(2) * PERIOD, "here")


def test_a_joint_reference_is_too_fast_towards_an_end_and_not_away_from_it(panda: Library) -> None:
    """0.1 rad before the upper end of joint 2 the limit is √(2 · 2 · 0.1) − 0.2 rad/s."""
    model, law = load_robot("panda"), panda.law("pd_plus")
    joints = [replace(x.joint.limits, velocity_offset=0.2, velocity_deceleration=2.0) for x in model.links]
    sample = np.concatenate([START, np.zeros(14)])
    sample[1] = model.limits("upper")[1] - 0.1

    def check(speed: float) -> None:
        sample[8] = speed
        check_before_compiling(model, law, Limits(joints), sample[None], np.zeros(1), "here")

    check(-1.0)
    check(np.sqrt(0.4) - 0.2)
    with pytest.raises(ScenarioError, match="panda_joint2 at velocity 0.5 at t = 0 s; valid: -2.175 to 0.4325"):
        check(0.5)
