"""The session that node and plugin are shells of: references, stops, gains and what it shows of itself."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pendulum2 import gravity
from scipy.spatial.transform import Rotation
from session_loop import HOME, REST, START, STEP, TIMEOUT, SessionLoop
from watchdog import PATIENCE

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Guard,
    Library,
    MotionLimits,
    Options,
    TimedJoints,
)
from thunder_dynamics.errors import BuildError, DimensionError, LawError, NameNotFoundError

SAMPLE = np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.0])
AWAY = np.array([0.15, 0.25, 0.0, 0.0, 0.0, 0.0])


class Loop(SessionLoop):
    """Of a law of the pendulum."""

    def __init__(self, library: Library, law: str = "joint_adaptive", **options: object) -> None:
        super().__init__(Configuration(library, law=law), **options)


@pytest.fixture
def loop(library: Library) -> Loop:
    return Loop(library)


@pytest.fixture
def waiting(library: Library) -> Loop:
    """One whose stream is fresh for long: until activation that is judged by the wall clock."""
    return Loop(library, reference_timeout=PATIENCE)


# --- what is run -----------------------------------------------------------------------------------------------------


def test_what_is_not_chosen_is_the_librarys(library: Library) -> None:
    configuration = Configuration(library, law="joint_adaptive")
    assert (configuration.robot, configuration.law.name) == ("pendulum2", "joint_adaptive")
    assert configuration.joints == library.joint_names
    assert not configuration.is_cartesian and Configuration(library, law="cartesian_spring").is_cartesian
    assert configuration.library is library


def test_estimates_are_saved_in_the_state_folder_of_ros(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where the node was started, and not where they came from: those may be installed files."""
    configuration = Configuration(library, law="joint_adaptive")
    monkeypatch.setenv("HOME", "/home/anna")
    for ros_home, root in (("", "/home/anna/.ros"), ("/state", "/state")):
        monkeypatch.setenv("ROS_HOME", ros_home)
        path = configuration.estimates_path("/left/adaptive_controller")
        assert path == Path(root, "left/adaptive_controller/pendulum2_joint_adaptive_estimates.yaml")


def test_the_only_law_need_not_be_named(panda: Configuration) -> None:
    assert panda.law.name == "cartesian_backstepping"
    assert panda.links == ("panda_link7",)


def test_what_the_library_does_not_have_is_refused(library: Library) -> None:
    with pytest.raises(BuildError, match="of robot 'pendulum2'; valid: 'panda'"):
        Configuration(library, robot="panda", law="joint_adaptive")
    with pytest.raises(NameNotFoundError, match="parameter law: the library has 2 laws; valid: joint_adaptive, cart"):
        Configuration(library)
    with pytest.raises(NameNotFoundError, match="other"):
        Configuration(library, law="other")


# --- what is read every period ---------------------------------------------------------------------------------------


class Periods(Loop):
    """A shell that reads whatever lies there each period, as the ros2_control plugin does."""

    def __init__(self, library: Library) -> None:
        super().__init__(library, velocity_limit=[2.0, 2.0], measurement_timeout=0.0104)
        self.activate()
        self.effort = self.session.snapshot().effort.copy()

    def read(self, q: np.ndarray, qd: np.ndarray, clock: float | None = None) -> Guard:
        return Guard(self.session.update_periodically(0, q, qd, STEP, self.effort, clock))


def stale_after(loop: Periods, qd: np.ndarray, clock: Callable[[int], float | None], count: int = 2000) -> int | None:
    """The first of equal readings that is stale."""
    for k in range(count):
        if Guard.MEASUREMENT_STALE in loop.read(START, qd, clock(k)):
            return k
    return None


def test_a_clock_that_stands_still_makes_measurements_stale_after_the_timeout(library: Library) -> None:
    assert stale_after(Periods(library), REST, lambda k: 17.0) == 11  # the first is new, then 10.4 ms are allowed
    assert stale_after(Periods(library), REST, lambda k: math.nan) == 11  # one that cannot be read
    assert stale_after(Periods(library), REST, lambda k: 1e9 - k) is None  # its unit and direction are the hardware's
    assert stale_after(Periods(library), REST, lambda k: float(k // 5)) is None  # hardware that is slower than the loop


@pytest.mark.parametrize(("speed", "first"), [(2.0, 11), (-2.0, 11), (1.0, 21), (0.2, 105), (0.0, None)])
def test_a_state_that_repeats_while_it_says_that_the_arm_moves_is_stale(
    library: Library, speed: float, first: int | None
) -> None:
    """After the way that the timeout is at the velocity limit; at rest nothing can be known."""
    assert stale_after(Periods(library), np.array([0.0, speed]), lambda k: None) == first


def test_a_state_that_changes_in_one_bit_is_new(library: Library) -> None:
    loop, q = Periods(library), START.copy()
    for k in range(200):
        q[0] = np.nextafter(START[0], START[0] + k % 2)
        assert Guard.MEASUREMENT_STALE not in loop.read(q, np.array([1.0, 1.0]))


def test_new_measurements_end_it_and_a_long_one_is_a_fault(library: Library) -> None:
    loop = Periods(library)
    assert stale_after(loop, REST, lambda k: 1.0) == 11
    assert loop.session.snapshot().time == pytest.approx(11 * STEP)  # where the last good one was read
    assert stale_after(loop, REST, lambda k: 1.0, 20) == 0  # and on
    guards = [loop.read(START, REST, 2.0 + k) for k in range(3)]
    assert not any(Guard.MEASUREMENT_STALE in one for one in guards)
    assert loop.session.snapshot().time == pytest.approx(16 * STEP)
    for _ in range(300):
        last = loop.read(START, REST, 9.0)
    assert Guard.MEASUREMENT_LOST in last


# --- references ------------------------------------------------------------------------------------------------------


def test_an_arm_of_which_no_velocity_is_given_starts_at_rest(loop: Loop, library: Library) -> None:
    loop.session.activate(START)
    assert loop.session.is_active
    other = Loop(library)
    other.activate()
    for one in (loop, other):
        one.update(5)
    np.testing.assert_array_equal(loop.effort, other.effort)


def test_the_place_is_held_where_nothing_is_streamed(loop: Loop) -> None:
    loop.activate()
    loop.update()
    assert loop.source == "hold"
    np.testing.assert_array_equal(loop.session.snapshot().reference_vector[:2], START)


def test_a_fresh_stream_is_followed_from_activation_on(waiting: Loop) -> None:
    waiting.session.stream(AWAY)
    assert waiting.session.is_streamed and waiting.source == "stream"
    waiting.activate()
    waiting.update()
    np.testing.assert_array_equal(waiting.session.snapshot().reference_vector, AWAY)


def test_a_fresh_stream_far_away_is_approached_from_the_place(waiting: Loop) -> None:
    waiting.session.stream(AWAY)
    waiting.session.activate(START, REST, max_error=0.01)
    waiting.update()
    assert not waiting.session.is_streamed and waiting.source == "hold"
    references = []
    for _ in range(500):
        waiting.session.stream(AWAY)
        waiting.update()
        references.append(waiting.session.snapshot().reference_vector)
    places, speeds, accelerations = np.split(np.array(references), 3, axis=1)
    np.testing.assert_allclose(places[0], START, atol=1e-6)
    np.testing.assert_array_equal(references[-1], AWAY)
    acceleration = MotionLimits().joint_acceleration
    assert (np.diff(places, axis=0) >= 0.0).all() and (np.abs(accelerations) < 3.0 * acceleration).all()
    np.testing.assert_allclose(np.diff(places, axis=0), STEP * 0.5 * (speeds[1:] + speeds[:-1]), atol=1e-7)


def test_a_stream_that_fell_silent_before_activation_is_forgotten(loop: Loop) -> None:
    loop.session.stream(AWAY)
    time.sleep(1.5 * TIMEOUT)
    assert not loop.session.is_streamed
    loop.activate()
    loop.update()
    np.testing.assert_array_equal(loop.session.snapshot().reference_vector[:2], START)


def test_a_stream_too_far_away_that_is_not_approached_keeps_the_session_inactive(library: Library) -> None:
    loop = Loop(library, approaches_jumps=False, reference_timeout=PATIENCE)
    loop.session.stream(AWAY)
    with pytest.raises(LawError, match=r"is 0\.05 away; valid: 0\.01, parameter max_activation_error, or no stream"):
        loop.session.activate(START, REST, max_error=0.01)
    assert not loop.session.is_active and not loop.session.is_commanding
    loop.session.activate(START, REST, max_error=0.06)


@pytest.mark.parametrize(("way", "angle"), [(0.0, 0.3), (0.0, 2.0), (0.0, math.pi), (0.2, 0.3), (0.3, 0.2), (5.0, 2.0)])
def test_a_pose_is_as_far_away_as_its_way_or_its_angle(panda: Configuration, way: float, angle: float) -> None:
    distance = max(way, angle)
    pose = np.asarray(panda.library.evaluate("T_0_ee", HOME))
    turned = pose[:3, :3] @ Rotation.from_rotvec(angle * np.array([0.0, 0.6, 0.8])).as_matrix()
    session = ControlSession(panda, Options(rehearses_motions=False, reference_timeout=60.0, approaches_jumps=False))
    moved = pose[:3, 3] + way * np.array([0.0, 0.6, 0.8])
    session.stream(np.concatenate([moved, turned.ravel(order="F"), np.zeros(12)]))
    # The angle's resolution near π is the square root of the rounding of a matrix.
    with pytest.raises(LawError, match=f"is {distance:.6g} away"):
        session.activate(HOME, np.zeros(7), max_error=distance - 1e-7)
    if distance < 0.5:  # farther away the law's own bounds refuse it
        session.activate(HOME, np.zeros(7), max_error=distance + 1e-7)


def test_a_lost_stream_is_noticed_once_and_frees_the_way_for_motions(loop: Loop) -> None:
    points = [TimedJoints(0.5, [0.2, 0.2])]
    loop.activate()
    for expected in (1, 2):
        loop.session.stream(AWAY)
        loop.update(2)
        with pytest.raises(LawError, match="motion: a reference is being streamed; valid: stop the stream first"):
            loop.session.follow(points)
        assert loop.update(80) & Guard.REFERENCE_STALE
        loop.update(advance=0.0)  # a stale measurement says nothing of the reference
        loop.update(5)
        assert loop.source == "stopping after a lost stream"
        assert not loop.session.is_streamed
        assert loop.session.snapshot().lost_references == expected
    number = loop.session.follow(points)
    assert loop.session.snapshot().request < number
    loop.update()
    assert loop.source == "motion" and loop.session.snapshot().request == number
    loop.update(600)
    assert loop.source == "hold" and loop.session.snapshot().request == number
    loop.session.stop_motion()
    loop.update()
    assert loop.session.snapshot().request > number


def test_a_stop_of_the_motion_ends_a_stream_and_motions_need_activation(loop: Loop) -> None:
    with pytest.raises(LawError, match="stop: the controller is not active; valid: activate it first"):
        loop.session.stop_motion()
    with pytest.raises(LawError, match="motion: the controller is not active; valid: activate it first"):
        loop.session.follow([TimedJoints(0.5, [0.2, 0.2])])
    loop.activate()
    loop.session.stream(SAMPLE)
    loop.update()
    loop.session.stop_motion()
    assert not loop.session.is_streamed
    loop.update()
    assert loop.source == "hold"  # it was at rest


def test_a_reference_can_be_held_anew(waiting: Loop) -> None:
    waiting.session.stream(AWAY)
    waiting.activate()
    waiting.update()
    waiting.session.hold_reference()
    waiting.update()
    assert waiting.source == "hold" and not waiting.session.is_streamed
    np.testing.assert_array_equal(waiting.session.snapshot().reference_vector[:2], START)


def test_bounds_of_motions_are_checked(loop: Loop) -> None:
    loop.session.set_motion_limits(MotionLimits(joint_acceleration=2.0))
    with pytest.raises(LawError):
        loop.session.set_motion_limits(MotionLimits(joint_acceleration=-1.0))


def test_a_pose_is_moved_to(library: Library) -> None:
    loop = Loop(library, "cartesian_spring")
    loop.activate()
    loop.update()
    loop.session.move_to_pose((0.3, 0.0, -0.6), (0.0, 0.0, 0.0, 1.0))
    loop.update()
    assert loop.source == "motion"
    with pytest.raises(LawError, match="norm"):
        loop.session.move_to_pose((0.3, 0.0, -0.6), (0.0, 0.0, 0.0, 2.0))


# --- start and end ---------------------------------------------------------------------------------------------------


# A busy machine may rehearse a motion while the thread of updates waits for a processor: such an attempt says nothing.
ATTEMPTS = 50


def _follow_long(loop: Loop, meanwhile: Callable[[], None]) -> tuple[int, list[str]]:
    """Follow 800 000 samples; how many updates fell into their rehearsal, and what was refused."""
    points = [TimedJoints(1e-3 * k, START) for k in range(1, 100_001)]
    seen: list[float] = []
    errors: list[str] = []

    def ask() -> None:
        seen.append(loop.t)
        try:
            loop.session.follow(points)
        except LawError as error:
            errors.append(error.what)
        seen.append(loop.t)

    thread = threading.Thread(target=ask)
    thread.start()
    while thread.is_alive():
        loop.update()
        loop.session.snapshot()
        meanwhile()
    return round((seen[1] - seen[0]) / STEP), errors


def test_nobody_waits_while_a_motion_is_rehearsed(library: Library) -> None:
    for _ in range(ATTEMPTS):
        loop = Loop(library, rehearses_motions=True)
        loop.activate()
        loop.update()
        updates, errors = _follow_long(loop, lambda: None)
        loop.update()
        assert loop.source == "motion" and not errors
        if updates > 100:
            break
    assert updates > 100  # were a lock or the interpreter held, a few at most, however often it is tried


def test_what_is_asked_for_while_a_motion_is_rehearsed_wins(library: Library) -> None:
    for _ in range(ATTEMPTS):
        loop = Loop(library, rehearses_motions=True)
        loop.activate()
        loop.update()
        _, errors = _follow_long(loop, loop.session.hold_reference)
        if errors:
            break
    assert errors == ["something else was asked for while the motion was rehearsed"]
    loop.update()
    assert loop.source == "hold"


def test_efforts_begin_at_the_held_one_cut_to_the_limits(library: Library) -> None:
    for held, first in ((np.array([1.0, -100.0]), np.array([1.0, -15.0])), (np.full(2, np.nan), gravity(START))):
        loop = Loop(library, effort_rate_limit=[1e-6, 1e-6], effort_limit=[30.0, 15.0])
        loop.session.activate(START, REST, held)
        loop.update()
        np.testing.assert_allclose(loop.effort, first, rtol=0, atol=1e-8)


def test_a_stop_goes_through_its_stages_and_ends_commanding_once(library: Library) -> None:
    loop = Loop(library, effort_rate_limit=[100.0, 100.0])
    assert not loop.session.is_commanding
    loop.session.activate(START, REST, np.array([20.0, 10.0]))
    loop.session.begin_stop()
    assert loop.session.is_stopping
    loop.session.stream(AWAY)
    assert not loop.session.is_streamed  # nothing is followed any more
    ends = []
    while loop.session.is_commanding and len(ends) < 1000:
        loop.update()
        ends.append(loop.session.advance_stop())
    assert ends.count(True) == 1 and ends[-1] and len(ends) > 10
    assert not loop.session.is_active and not loop.session.is_stopping
    np.testing.assert_allclose(loop.effort, gravity(START), rtol=0, atol=1e-12)
    assert not loop.session.advance_stop()


def test_an_end_at_once_gives_the_safe_effort(library: Library) -> None:
    loop = Loop(library, effort_rate_limit=[100.0, 100.0], reference_timeout=PATIENCE)
    loop.session.stream(AWAY)
    loop.session.activate(START, REST, np.array([20.0, 10.0]))
    loop.update()
    np.testing.assert_allclose(loop.session.deactivate(), gravity(START), rtol=0, atol=1e-12)
    assert not loop.session.is_commanding and not loop.session.is_streamed


def test_a_runaway_is_stopped_and_said(library: Library) -> None:
    loop = Loop(library)
    loop.activate()
    fast = np.array([0.0, 30.0])
    for k in range(1, 30):
        loop.session.update(0, k * STEP, START + k * STEP * fast, fast, STEP, loop.effort)
    assert "ran away" in loop.session.fault and loop.session.is_commanding
    assert not loop.session.has_stopped
    loop.t = 0.03
    loop.update(2000)
    assert loop.session.has_stopped
    loop.session.deactivate()
    loop.activate()
    loop.update()
    assert loop.session.fault is None


# --- gains, estimates, snapshots -------------------------------------------------------------------------------------


def test_gains_are_changed_whole_and_together_or_not_at_all(loop: Loop, library: Library) -> None:
    loop.session.set_gains({"K_d": [1.0, 2.0], "Gamma": 0.5})
    with pytest.raises(DimensionError, match="gains.K_d: got 1 values; valid: 2"):
        loop.session.set_gains({"K_d": 3.0})
    with pytest.raises(LawError, match="K_d: element 1 is 1000"):
        loop.session.check_gains({"Lambda": [1.0, 1.0], "K_d": [1.0, 1e3]})
    with pytest.raises(NameNotFoundError):
        loop.session.check_gains({"K_x": 1.0})
    with pytest.raises(DimensionError, match="gains.Lambda"):
        ControlSession(Configuration(library, law="joint_adaptive"), Options(), gains={"Lambda": 1.0})


def test_estimates_can_be_given_kept_and_reset(library: Library) -> None:
    loop = Loop(library)
    session = loop.session = ControlSession(loop.configuration, Options(), estimates={"pi_hat": [2.0, 3.0]})
    session.freeze_adaptation(True)
    session.stream(AWAY)
    loop.activate()
    np.testing.assert_array_equal(session.snapshot().state("pi_hat"), [2.0, 3.0])  # no update has come yet
    loop.update(100)
    assert session.snapshot().is_frozen
    np.testing.assert_array_equal(session.snapshot().state("pi_hat"), [2.0, 3.0])
    session.freeze_adaptation(False)
    loop.update(100)
    adapted = session.snapshot().state("pi_hat")
    assert not np.array_equal(adapted, [2.0, 3.0])
    session.deactivate()
    np.testing.assert_array_equal(session.snapshot().state("pi_hat"), adapted)
    session.reset_estimates()
    np.testing.assert_array_equal(session.snapshot().state("pi_hat"), [2.0, 3.0])


def test_a_snapshot_stays_what_it_was_and_is_read_only(loop: Loop) -> None:
    before = loop.session.snapshot()
    assert np.isnan(before.q).all() and before.activation == 0 and not before.is_active
    loop.activate()
    assert not loop.session.snapshot().is_active  # no step was taken
    loop.update(3)
    snapshot = loop.session.snapshot()
    loop.update(4)
    assert (snapshot.updates, snapshot.activation, snapshot.is_active) == (3, 1, True)
    assert snapshot.time == pytest.approx(3 * STEP) and snapshot.stamp == 3_000_000
    assert loop.session.snapshot().updates == 7
    np.testing.assert_array_equal(loop.session.snapshot().effort, loop.effort)
    np.testing.assert_array_equal(snapshot.telemetry("s"), snapshot.telemetry_vector[:2])
    with pytest.raises(ValueError, match="read-only"):
        snapshot.state("pi_hat")[0] = 1.0
    with pytest.raises(NameNotFoundError):
        snapshot.state("other")


def test_a_measurement_shows_while_inactive(loop: Loop) -> None:
    loop.session.measure(5, 0.25, START, np.ones(2))
    snapshot = loop.session.snapshot()
    assert (snapshot.stamp, snapshot.time) == (5, 0.25)
    np.testing.assert_array_equal(snapshot.q, START)
    np.testing.assert_array_equal(snapshot.qd, np.ones(2))


def test_arrays_of_another_size_are_refused(loop: Loop) -> None:
    loop.activate()
    with pytest.raises(DimensionError, match="update: q"):
        loop.session.update(0, 0.0, np.zeros(3), REST, STEP, loop.effort)
    with pytest.raises(DimensionError, match="measure: qd"):
        loop.session.measure(0, 0.0, START, np.zeros(3))
    with pytest.raises(DimensionError, match="activate: q"):
        loop.session.activate(np.zeros(3), REST)
