"""A streamed reference is followed between its samples and past the newest one, whatever their stamps: no jumps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from thunder_controllers.host import Configuration, ControlSession, Guard, Library, MotionLimits, Options
from thunder_dynamics.errors import LawError

FloatArray = NDArray[np.float64]

STEP = 1e-3
BEGIN = 1_000_000_000
"""[ns] Stamp at t = 0."""
START = np.array([0.1, 0.2])
HOME = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])


@pytest.fixture(scope="module")
def panda(panda_folder: Path) -> Library:
    return Library(panda_folder / "libpanda.so")


class Loop:
    """A session whose arm stays where it is, the clock of its updates, and the references that were in effect."""

    def __init__(self, library: Library, law: str, q: FloatArray, **options: object) -> None:
        self.session = ControlSession(Configuration(library, law=law), Options(**options))
        self.q, self.rest, self.effort = q, np.zeros(len(q)), np.zeros(len(q))
        self.steps = 0
        self.guards: list[Guard] = []
        self.references: list[FloatArray] = []
        self.session.activate(q, self.rest)

    @property
    def t(self) -> float:
        return self.steps * STEP

    def stream(self, sample: FloatArray, time: float | None = None) -> None:
        self.session.stream(sample, 0 if time is None else BEGIN + round(1e9 * time))

    def update(self, count: int = 1) -> FloatArray:
        for _ in range(count):
            self.steps += 1
            stamp = BEGIN + round(1e9 * self.t)
            guards = self.session.update(stamp, self.t, self.q, self.rest, STEP, self.effort)
            self.guards.append(Guard(guards))
            self.references.append(self.session.snapshot().reference_vector)
        return self.references[-1]

    def acted(self, guard: Guard) -> int:
        return sum(guard in guards for guards in self.guards)


@pytest.fixture
def loop(library: Library) -> Loop:
    loop = Loop(library, "joint_adaptive", START)
    loop.update()
    return loop


def swing(time: float) -> FloatArray:
    """A motion of both joints from START, from rest: q, q̇, q̈."""
    rate, width = np.array([3.0, 5.0]), np.array([0.2, 0.1])
    return np.concatenate(
        [
            START + width * (1.0 - np.cos(rate * time)),
            width * rate * np.sin(rate * time),
            width * rate**2 * np.cos(rate * time),
        ]
    )


def turn(library: Library) -> Callable[[float], FloatArray]:
    """A circle with an oscillating turn about a tilted axis, as flat samples: p, R, twist, acceleration."""
    pose = np.asarray(library.evaluate("T_0_ee", HOME))
    axis, rate = np.array([0.6, 0.0, 0.8]), 4.0

    def sample(time: float) -> FloatArray:
        s, c = np.sin(rate * time), np.cos(rate * time)
        position = pose[:3, 3] + 0.05 * np.array([c - 1.0, s, 0.0])
        linear = 0.05 * rate * np.array([-s, c, 0.0]), 0.05 * rate**2 * np.array([-c, -s, 0.0])
        rotation = Rotation.from_rotvec(0.5 * s * axis).as_matrix() @ pose[:3, :3]
        angular = 0.5 * rate * c * axis, -0.5 * rate**2 * s * axis
        parts = [position, rotation.ravel(order="F"), linear[0], angular[0], linear[1], angular[1]]
        return np.concatenate(parts)

    return sample


def run(loop: Loop, motion: Callable[[float], FloatArray], period: float, latest: float, seconds: float) -> FloatArray:
    """Stream samples that come up to `latest` after their time [s]; how far each reference was from the motion."""
    random = np.random.default_rng(1)
    begin, due, comes, errors = loop.t, 0.0, 0.0, []
    for _ in range(round(seconds / STEP)):
        while comes <= loop.t - begin + STEP:
            loop.stream(motion(due), begin + due)
            due += period
            comes = due + random.uniform(0.0, latest)
        reference = loop.update()
        wanted = motion(loop.t - begin)
        errors.append(np.abs(reference[: len(wanted)] - wanted))
    return np.array(errors)


# --- samples that are possible ----------------------------------------------------------------------------------------


def test_a_sample_with_every_update_is_followed_exactly(loop: Loop) -> None:
    for k in range(1, 200):
        loop.stream(swing(k * STEP))
        np.testing.assert_array_equal(loop.update(), swing(k * STEP))
    assert not loop.acted(Guard.REFERENCE_LIMITED) and not loop.acted(Guard.REFERENCE_LATE)


def test_50_hz_with_jitter_is_followed_smoothly(loop: Loop) -> None:
    errors = run(loop, swing, 0.02, 0.01, 2.0)
    assert errors[50:, :2].max() < 1e-4  # raw samples would be 20 ms late: 12 mrad
    accelerations = np.diff(np.array(loop.references)[100:, 4:6], axis=0)
    assert np.abs(accelerations).max() < 0.5 * 2.5  # of the greatest acceleration, with each step
    positions, velocities = np.array(loop.references)[100:, :2], np.array(loop.references)[100:, 2:4]
    middle = 0.5 * (velocities[1:] + velocities[:-1])
    np.testing.assert_allclose(np.diff(positions, axis=0), STEP * middle, atol=1e-7)
    assert not loop.acted(Guard.REFERENCE_LIMITED) and not loop.acted(Guard.REFERENCE_LATE)


def test_poses_at_50_hz_with_jitter_are_followed_smoothly_their_twist_with_them(panda: Library) -> None:
    loop = Loop(panda, "cartesian_backstepping", HOME)
    loop.update()
    errors = run(loop, turn(panda), 0.02, 0.01, 2.0)
    assert errors[50:, :3].max() < 5e-5 and errors[50:, 3:12].max() < 3e-4
    references = np.array([reference[:24] for reference in loop.references])[200:]
    turns = [
        Rotation.from_matrix((b[3:12].reshape(3, 3).T) @ a[3:12].reshape(3, 3)).as_rotvec()
        for a, b in zip(references[:-1], references[1:], strict=True)
    ]
    middle = 0.5 * (references[1:, 15:18] + references[:-1, 15:18])
    np.testing.assert_allclose(np.array(turns), STEP * middle, atol=1e-6)


def test_samples_ahead_of_their_time_are_interpolated_exactly(loop: Loop) -> None:
    lead = 0.03
    for k in range(1000):
        if k % 20 == 0:
            loop.stream(swing(k * STEP + lead), loop.t + lead)
        loop.update()
    times = np.arange(400, 1000) * STEP + STEP
    expected = np.array([swing(time) for time in times])
    np.testing.assert_allclose(np.array(loop.references)[401:], expected, atol=2e-4)
    assert np.abs(np.array(loop.references)[401:, :2] - expected[:, :2]).max() < 1e-7


# --- places alone -----------------------------------------------------------------------------------------------------


def places(loop: Loop, motion: Callable[[float], FloatArray], rates: int, period: float, count: int) -> None:
    """Stream samples of a motion without what follows its place, each as it comes."""
    for k in range(count):
        sample = motion(k * period)
        sample[rates:] = 0.0
        loop.stream(sample)
        loop.update(round(period / STEP))


def test_a_straight_way_of_places_is_followed_half_a_period_late(loop: Loop) -> None:
    speed, period = np.array([0.5, -0.3]), 0.02

    def motion(time: float) -> FloatArray:
        return np.concatenate([START + speed * time, np.zeros(4)])

    places(loop, motion, 2, period, 100)
    late = [motion((k + 1) * STEP - 0.5 * period)[:2] for k in range(1000, 2000)]
    found = np.array(loop.references[-1000:])
    # A sample comes with the update after its time: one step more. After a second e^(−1/0.07) of the start is left.
    np.testing.assert_allclose(found[:, :2], np.array(late) - speed * STEP, atol=1e-6)
    np.testing.assert_allclose(found[:, 2:4], np.tile(speed, (1000, 1)), atol=1e-6)
    assert not loop.acted(Guard.REFERENCE_LIMITED)


def test_a_turn_of_poses_alone_is_followed_with_its_angular_velocity(panda: Library) -> None:
    pose, rate, period = np.asarray(panda.evaluate("T_0_ee", HOME)), np.array([0.2, -0.3, 0.4]), 0.05

    def motion(time: float) -> FloatArray:
        rotation = Rotation.from_rotvec(rate * time).as_matrix() @ pose[:3, :3]
        return np.concatenate([pose[:3, 3] + 0.1 * time, rotation.ravel(order="F"), np.zeros(12)])

    loop = Loop(panda, "cartesian_backstepping", HOME, approach_patience=np.inf)
    loop.update()
    places(loop, motion, 12, period, 40)
    np.testing.assert_allclose(loop.references[-1][12:18], np.concatenate([np.full(3, 0.1), rate]), atol=1e-4)
    wanted = motion(40 * period - STEP - 0.5 * period)
    np.testing.assert_allclose(loop.references[-1][:12], wanted[:12], atol=1e-4)


def test_a_stream_of_places_ends_at_its_last_one(loop: Loop) -> None:
    last = np.concatenate([START + 0.5 * 29 * 0.02, np.zeros(4)])
    places(loop, lambda time: np.concatenate([START + 0.5 * time, np.zeros(4)]), 2, 0.02, 30)
    begun = len(loop.references)
    np.testing.assert_allclose(loop.update(1500), last, atol=1e-12)
    beyond = np.array(loop.references[begun:])[:, :2].max(axis=0) - last[:2]
    # 3.5 periods beyond before the pause of four is known, and less than half as far again to turn round.
    assert (beyond < 0.5 * 1.5 * 3.5 * 0.02).all()


def test_a_place_that_jumps_is_no_velocity(loop: Loop) -> None:
    for k in range(50):
        loop.stream(np.concatenate([START + 0.5 * (k // 25), np.zeros(4)]))
        loop.update(20)
    loop.update(500)
    found = np.array(loop.references)
    assert np.abs(found[:, 2:4]).max() < 0.75 * 4.0
    assert found[:, :2].max() <= START.max() + 0.5 + 1e-12


# --- slow streams of places, and streams with pauses ------------------------------------------------------------------

NEAR_STOP = 5e-3
"""[m/s]"""
TIMEOUT = 0.25
"""[s] Default of node and plugin."""


class Way:
    """A random path of poses with a fixed orientation that always moves on: p₀ + v t + a (sin(ω t + φ) − sin φ)."""

    def __init__(self, panda: Library, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.pose = np.asarray(panda.evaluate("T_0_ee", HOME))
        direction = random.normal(size=3)
        self.velocity = random.uniform(0.03, 0.08) * direction / np.linalg.norm(direction)
        self.rate, self.phase = random.uniform(0.3, 1.0, 3), random.uniform(0.0, 2.0 * np.pi, 3)
        swing = random.normal(size=3)
        self.swing = 0.5 * np.linalg.norm(self.velocity) * swing / np.linalg.norm(swing) / self.rate

    @property
    def slowest(self) -> float:
        return 0.5 * float(np.linalg.norm(self.velocity))

    @property
    def fastest(self) -> float:
        return 1.5 * float(np.linalg.norm(self.velocity))

    def sample(self, time: float) -> FloatArray:
        way = self.velocity * time + self.swing * (np.sin(self.rate * time + self.phase) - np.sin(self.phase))
        return np.concatenate([self.pose[:3, 3] + way, self.pose[:3, :3].ravel(order="F"), np.zeros(12)])


def stream_times(panda: Library, path: Way, times: FloatArray, end: float, **options: object) -> Loop:
    """Stream the places of a path when their times [s] come, to an end [s]."""
    loop = Loop(panda, "cartesian_backstepping", HOME, approach_patience=np.inf, rehearses_motions=False, **options)
    waiting = deque(times)
    while loop.t < end:
        while waiting and waiting[0] <= loop.t + 0.5 * STEP:
            loop.stream(path.sample(waiting.popleft()))
        loop.update()
    return loop


def speeds(loop: Loop, begin: float) -> FloatArray:
    """Speed of the reference [m/s] in each update from a time [s] on."""
    return np.linalg.norm(np.array(loop.references)[round(begin / STEP) :, 12:15], axis=1)


def jittered(rate: float, jitter: float, end: float, seed: int) -> FloatArray:
    """Times [s] at a rate [Hz], late by up to a share of their period."""
    times = np.arange(0.0, end, 1.0 / rate)
    return times + jitter / rate * np.random.default_rng(seed).random(len(times))


@pytest.mark.parametrize("jitter", [0.0, 0.3])
@pytest.mark.parametrize("rate", [2.0, 3.0, 4.0, 5.0, 10.0, 50.0])
def test_a_stream_of_a_moving_path_never_stops_however_slow_it_is(panda: Library, rate: float, jitter: float) -> None:
    for seed in range(3):
        path, begun = Way(panda, seed), 5.0 / rate + 0.5
        loop = stream_times(panda, path, jittered(rate, jitter, 8.0, seed), 8.0, reference_timeout=TIMEOUT)
        moved = speeds(loop, begun)
        assert moved.min() > max(NEAR_STOP, 0.2 * path.slowest)
        assert moved.max() < 2.0 * path.fastest
        assert not any(Guard.REFERENCE_STALE in guards for guards in loop.guards[round(begun / STEP) :])
        late = (1.0 + jitter) / rate + STEP
        for k in range(round(begun / STEP), len(loop.references)):
            here = loop.references[k][:3]
            assert np.linalg.norm(here - path.sample((k + 1) * STEP)[:3]) < path.fastest * late + 1e-3
        accelerations = np.linalg.norm(np.diff(np.array(loop.references)[:, 12:15], axis=0), axis=1) / STEP
        assert accelerations.max() < 1.5 * MotionLimits().linear_acceleration  # peak of a quintic: 1.44


@pytest.mark.parametrize(
    ("count", "rate", "pause"), [(8, 20.0, 0.35), (32, 20.0, 0.3), (4, 10.0, 0.5), (16, 30.0, 0.2)]
)
def test_a_stream_of_chunks_with_pauses_moves_on_once_they_are_known(
    panda: Library, count: int, rate: float, pause: float
) -> None:
    """The path goes on while the policy infers. The first two pauses teach how long that takes."""
    cycle = count / rate + pause
    times = np.concatenate([np.arange(count) / rate + k * cycle for k in range(6)])
    for seed in range(3):
        path = Way(panda, seed)
        loop = stream_times(panda, path, times, 5.0 * cycle, reference_timeout=TIMEOUT)
        assert speeds(loop, 2.0 * cycle + 0.5).min() > NEAR_STOP


def test_a_policy_whose_path_waits_for_it_is_not_carried_through_its_pauses(panda: Library) -> None:
    path, chunk, pause = Way(panda, 0), np.arange(8) / 20.0, 0.4
    loop = Loop(panda, "cartesian_backstepping", HOME, approach_patience=np.inf, rehearses_motions=False)
    for cycle in range(6):
        for offset in chunk:
            last = path.sample(cycle * len(chunk) / 20.0 + offset)
            loop.stream(last)
            loop.update(50)
        loop.update(round(pause / STEP))
        np.testing.assert_allclose(loop.references[-1][:3], last[:3], atol=1e-3)


@pytest.mark.parametrize("timeout", [TIMEOUT, np.inf])
@pytest.mark.parametrize("rate", [2.0, 3.0, 5.0, 10.0, 50.0])
def test_an_arm_rests_at_the_last_place_of_a_dead_stream_in_a_bounded_time(
    panda: Library, rate: float, timeout: float
) -> None:
    for seed in range(3):
        path, times = Way(panda, seed), np.arange(0.0, 4.0, 1.0 / rate)
        loop = stream_times(panda, path, times, 7.0, reference_timeout=timeout)
        resting, last = speeds(loop, times[-1] + 2.0), path.sample(times[-1])
        assert resting.max() == 0.0
        np.testing.assert_allclose(loop.references[-1][:3], last[:3], atol=1e-9)
        after = loop.guards[round(times[-1] / STEP) + 1 :]
        if np.isinf(timeout):
            assert not any(Guard.REFERENCE_STALE in guards for guards in after)
        else:
            stale = next(k for k, guards in enumerate(after) if Guard.REFERENCE_STALE in guards) * STEP
            assert stale == pytest.approx(max(timeout, 1.5 / rate), abs=0.01)


def test_targets_that_are_stepped_to_are_neither_passed_nor_waited_for(panda: Library) -> None:
    """Each target lies in another direction than the one before."""
    options = {"approach_patience": np.inf, "rehearses_motions": False, "reference_timeout": TIMEOUT}
    loop = Loop(panda, "cartesian_backstepping", HOME, **options)
    target = loop.update()[:24].copy()
    for k in range(8):
        before = target.copy()
        target[k % 2] += (0.04, -0.04)[k // 2 % 2]
        loop.stream(target)
        loop.update(500)
        went, ends = np.array(loop.references[-500:])[:, :3], np.array([before, target])[:, :3]
        assert (went >= ends.min(axis=0) - 1e-9).all() and (went <= ends.max(axis=0) + 1e-9).all()
        np.testing.assert_allclose(went[-1], target[:3], atol=1e-9)
        assert loop.session.snapshot().lost_references == k + 1


def test_a_single_gap_extends_no_timeout(panda: Library) -> None:
    times = np.concatenate([np.arange(0.0, 2.0, 0.02), np.arange(2.6, 4.0, 0.02)])
    loop = stream_times(panda, Way(panda, 0), times, 6.0, reference_timeout=TIMEOUT)
    after = loop.guards[round(times[-1] / STEP) + 1 :]
    stale = next(k for k, guards in enumerate(after) if Guard.REFERENCE_STALE in guards) * STEP
    assert stale == pytest.approx(TIMEOUT, abs=0.01)


# --- late, repeated, reordered, future --------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_stream_that_falls_silent_comes_to_rest_without_a_jump(loop: Loop, side: float) -> None:
    rest = np.concatenate([START, np.zeros(4)])
    for k in range(30):
        loop.stream(rest + side * (swing(0.01 * k) - rest), loop.t)
        loop.update(10)
    assert not loop.acted(Guard.REFERENCE_LATE)
    loop.update(1000)
    assert loop.acted(Guard.REFERENCE_LATE)
    references = np.array(loop.references)
    assert np.abs(np.diff(references[:, 2:4], axis=0)).max() < 2.0 * 2.5 * STEP
    assert (references[-1, 2:] == 0.0).all()
    last = rest + side * (swing(0.29) - rest)
    longest = np.abs(last[2:4]) * 0.04 + last[2:4] ** 2 / MotionLimits().joint_acceleration + 0.05
    assert (np.abs(references[-1, :2] - last[:2]) < longest).all()


def test_a_late_stream_is_followed_again_without_a_jump(loop: Loop) -> None:
    for k in range(100):
        if not 40 <= k < 60:
            loop.stream(swing(0.01 * k), loop.t)
        loop.update(10)
    velocities = np.diff(np.array(loop.references)[:, :2], axis=0) / STEP
    assert np.abs(velocities).max() < 4.0
    assert np.abs(np.diff(velocities, axis=0)).max() < 0.1


def test_a_repeated_sample_changes_nothing(library: Library) -> None:
    found = []
    for repeats in (1, 3):
        loop = Loop(library, "joint_adaptive", START)
        loop.update()
        for k in range(20):
            for _ in range(repeats):
                loop.stream(swing(0.02 * k), 0.001 + 0.02 * k)
            loop.update(20)
        found.append(np.array(loop.references))
    np.testing.assert_array_equal(found[0], found[1])


def test_samples_in_the_wrong_order_are_followed_by_their_times(loop: Loop) -> None:
    for k in range(40):
        swapped = k + (1, -1)[k % 2]
        loop.stream(swing(0.01 * swapped), 0.001 + 0.01 * swapped)
        loop.update(10)
    errors = [np.abs(r - swing(k * STEP))[:2].max() for k, r in enumerate(loop.references)]
    assert max(errors[200:]) < 2e-3
    assert not loop.acted(Guard.REFERENCE_LIMITED)


def test_a_sample_of_the_future_is_reached_at_its_time(loop: Loop) -> None:
    goal = np.array([0.3, 0.4, 0.0, 0.0, 0.0, 0.0])
    loop.stream(goal, loop.t + 1.5)
    loop.update(1000)
    assert (loop.references[-1][:2] < goal[:2] - 1e-3).all()
    np.testing.assert_allclose(loop.update(500), goal, atol=1e-12)


def test_stamps_of_another_clock_are_refused(library: Library) -> None:
    loop = Loop(library, "joint_adaptive", START, reference_timeout=0.5)
    loop.stream(swing(0.0), 1e6)  # no update has said what time it is: now
    loop.update(10)
    for time in (loop.t - 0.6, loop.t + 0.6, 1e9):
        with pytest.raises(LawError, match=r"stream: stamp: is .* s ahead of the measurements; valid: .* 0\.5 s, or 0"):
            loop.stream(swing(0.0), time)
    with pytest.raises(LawError, match="stream: stamp: is -1 ns; valid: 0 or more"):
        loop.session.stream(swing(0.0), -1)
    loop.stream(swing(0.0), loop.t - 0.4)


def test_a_clock_that_is_set_back_stops_no_stream(loop: Loop) -> None:
    loop.stream(swing(0.5), loop.t)
    loop.update(20)
    loop.steps -= 15
    loop.update(20)
    assert np.isfinite(loop.references).all()
    loop.stream(np.concatenate([START, np.zeros(4)]))
    np.testing.assert_allclose(loop.update(2000)[:2], START, atol=1e-12)


# --- jumps ------------------------------------------------------------------------------------------------------------


def test_a_jump_is_approached_at_the_velocities_of_motions_relative_to_the_stream(panda: Library) -> None:
    loop, motion = Loop(panda, "cartesian_backstepping", HOME), turn(panda)
    jump = np.zeros(24)
    jump[:3] = [0.1, -0.2, 0.1]
    loop.update()
    for k in range(1, 4000):
        loop.stream(motion(k * STEP) + jump)
        loop.update()
    away = np.array([r[:3] - motion(k * STEP)[:3] - jump[:3] for k, r in enumerate(loop.references)])
    speeds = np.linalg.norm(np.diff(away[1:], axis=0), axis=1) / STEP
    assert speeds.max() < MotionLimits().linear_velocity
    assert loop.acted(Guard.REFERENCE_LIMITED)
    np.testing.assert_array_equal(loop.references[-1][:24], (motion(3999 * STEP) + jump))


def test_a_jump_of_the_orientation_is_approached_at_the_angular_velocity_of_motions(panda: Library) -> None:
    loop = Loop(panda, "cartesian_backstepping", HOME)
    sample = loop.update()[:24].copy()
    turned = Rotation.from_rotvec([0.0, 0.0, 1.0]).as_matrix() @ sample[3:12].reshape(3, 3).T
    sample[3:12] = turned.ravel(order="F")
    loop.stream(sample)
    loop.update(2500)
    speed = np.linalg.norm(np.array(loop.references)[:, 15:18], axis=1).max()
    assert 0.8 < speed / MotionLimits().angular_velocity < 1.0


def test_many_jumps_one_way_stay_below_the_velocity_limit(loop: Loop) -> None:
    for k in range(100):
        loop.stream(np.array([0.1 + 0.02 * k, 0.2, 0.0, 0.0, 0.0, 0.0]))
        loop.update()
    loop.update(2000)
    speeds = np.diff(np.array(loop.references)[:, 0]) / STEP
    assert speeds.max() < 0.75 * 4.0
    assert loop.references[-1][0] == pytest.approx(2.08)


@pytest.mark.parametrize("offset", [0.05, 0.15, 0.4])
@pytest.mark.parametrize("gaps", [(1, 19), (1, 39), (1, 1, 78), (10, 10, 10, 80), (2, 3, 95), (200,)], ids=str)
def test_a_stream_of_bursts_and_gaps_is_approached_and_never_left(
    panda: Library, gaps: tuple[int, ...], offset: float
) -> None:
    """Samples that go away from the arm come when the network lets them, [ms] apart, and the reference starts far from
    them. Between them it is braked, as it is when the stream ends; that must not add up.
    """
    loop = Loop(panda, "cartesian_backstepping", HOME, approach_patience=np.inf, rehearses_motions=False)
    sample, speed = loop.update()[:24].copy(), np.array([0.0, 0.1, 0.0])
    begin, due, distances, kinds = sample[:3] + np.array([0.0, offset, 0.0]), 0, [], 0
    sample[12:15] = speed
    for k in range(4500):
        if k == due:
            sample[:3] = begin + speed * STEP * k
            loop.stream(sample)
            due, kinds = due + gaps[kinds % len(gaps)], kinds + 1
        distances.append(np.linalg.norm(loop.update()[:3] - begin - speed * STEP * k))
    lag, duration = speed[1] * STEP * max(gaps), 2.0 * offset / MotionLimits().linear_velocity
    # From rest, and braked once before it is known how far apart samples are: a tenth of the way is lost each time.
    assert max(distances) < offset + 2.0 * 0.1 * speed[1] * duration + lag
    assert max(distances[round(1.1 * duration / STEP) + 2 * max(gaps) :]) < lag + 1e-3


@pytest.mark.parametrize("offset", [0.15, 0.4])
@pytest.mark.parametrize("latency", [0.0, 0.005, 0.02, 0.06])
def test_a_stream_that_comes_late_by_chance_is_approached_in_its_time(
    panda: Library, latency: float, offset: float
) -> None:
    """Samples are a hundredth of a second apart and come later, in order, by a random time of that mean [s]: each is
    somewhere else than the one before said, which is no jump.
    """
    random = np.random.default_rng(1)
    loop = Loop(panda, "cartesian_backstepping", HOME, approach_patience=np.inf, rehearses_motions=False)
    rest, width, rate = loop.update()[:24].copy(), 0.15, 0.6
    waiting: deque[tuple[float, float]] = deque()
    distances, arrives = [], 0.0

    def sample(time: float) -> FloatArray:
        found = rest.copy()
        found[1] += offset + width * np.sin(rate * time)
        found[13] = width * rate * np.cos(rate * time)
        return found

    for k in range(4500):
        if k % 10 == 0:
            arrives = max(arrives, k * STEP + random.exponential(latency))
            waiting.append((arrives, k * STEP))
        while waiting and waiting[0][0] <= k * STEP:
            loop.stream(sample(waiting.popleft()[1]))
        distances.append(abs(loop.update()[1] - sample(k * STEP)[1]))
    duration = 2.0 * offset / MotionLimits().linear_velocity
    lag = width * rate * 3.0 * latency
    # From rest, and braked up to three times before it is known how late samples are.
    assert max(distances) < offset + 4.0 * 0.1 * width * rate * duration + lag
    assert max(distances[round(1.1 * duration / STEP) + 500 :]) < lag + 1e-3


@pytest.mark.parametrize("restarts", [False, True], ids=["clock goes on", "clock starts anew"])
@pytest.mark.parametrize("away", [0.05, 0.3])
def test_a_stream_that_goes_on_through_an_activation_is_approached_anew(
    panda: Library, restarts: bool, away: float
) -> None:
    """Whatever the way to it was before, and when; also where it is near enough to be kept at the activation."""
    loop = Loop(panda, "cartesian_backstepping", HOME, approach_patience=np.inf, rehearses_motions=False)
    sample = loop.update()[:24].copy()
    sample[1] += 0.4
    for _ in range(3000):
        loop.stream(sample)
        loop.update()
    loop.session.deactivate()
    loop.steps = 0 if restarts else loop.steps + 500
    sample[1] += away - 0.4
    loop.stream(sample)
    loop.session.activate(HOME, loop.rest, max_error=0.1)
    for _ in range(round(1.1 * 2.0 * away / MotionLimits().linear_velocity / STEP) + 100):
        loop.stream(sample)
        loop.update()
    np.testing.assert_allclose(loop.references[-1][:3], sample[:3], atol=1e-6)


# --- a place that is held ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_pose_under_a_sagging_payload_is_held_however_long(panda: Library, is_streamed: bool) -> None:
    loop = Loop(panda, "cartesian_backstepping", HOME)
    loop.update()
    pose = loop.references[-1][:12]
    loop.q = HOME + np.array([0.0, 0.05, 0.0, -0.02, 0.0, 0.0, 0.0])
    assert np.linalg.norm(np.asarray(panda.evaluate("T_0_ee", loop.q))[:3, 3] - pose[:3]) > 0.021
    for _ in range(3000):
        if is_streamed:
            loop.stream(np.concatenate([pose, np.zeros(12)]))
        loop.update()
    assert not loop.acted(Guard.REFERENCE_UNREACHED)
    np.testing.assert_array_equal(loop.references[-1][:12], pose)


def test_a_place_at_the_edge_of_the_reach_is_held_however_long(panda: Library) -> None:
    """There the joints cannot make the way back by J alone: it is where the arm was, so it can be reached."""
    stretched = np.array([0.0, 0.3, 0.0, -0.08, 0.0, 1.7, 0.7])
    loop = Loop(panda, "cartesian_backstepping", stretched)
    loop.update()
    pose = loop.references[-1][:12]
    loop.q = stretched + np.array([0.0, 0.0, 0.0, -0.5, 0.0, 0.0, 0.0])
    loop.update(3000)
    assert not loop.acted(Guard.REFERENCE_UNREACHED)
    np.testing.assert_array_equal(loop.references[-1][:12], pose)
