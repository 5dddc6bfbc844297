"""What a law is given beside joint states: the effort of the step before, measurements, references, where it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evaluation import load_robot
from observer_law import build_planar
from plant_arms import assembled, urdf_of

from thunder_controllers.host import (
    Configuration,
    Controller,
    ControlSession,
    Guard,
    Library,
    Options,
    ReferenceReader,
    TimedJoints,
)
from thunder_controllers.simulation.options import PlantOptions
from thunder_controllers.simulation.plants.mujoco import MujocoPlant
from thunder_dynamics.errors import DimensionError, LawError, NameNotFoundError
from thunder_dynamics.law import NEVER

START = np.array([0.3, -0.5, 0.4])
REST = np.zeros(3)
DT = 1e-3
PUSH = np.array([1.5, -0.8, 0.4])


@pytest.fixture(scope="module")
def library(build_cache: object) -> Library:
    return Library(build_planar("observer"))


class Run:
    """An active controller at START, and its clock."""

    def __init__(self, library: Library, held: Any = None, qd: Any = REST, **options: Any) -> None:
        self.library, self.host, self.t = library, Controller(), 0.0
        self.effort = np.zeros(3)
        self.host.configure(library, law="observer", options=Options(**options))
        self.host.activate(START, qd, held)

    def step(self, q: np.ndarray = START, qd: np.ndarray = REST, stale: bool = False) -> Guard:
        self.t += DT
        return Guard(self.host.update(self.t - DT * stale, q, qd, DT, self.effort))


def test_the_library_says_what_the_law_is_given(library: Library) -> None:
    law = library.law("observer")
    (measured,) = law.measurements
    assert (measured.name, measured.shape, measured.unit) == ("external_effort", (3,), "N·m|N")
    assert [(entry.name, entry.offset) for entry in law.reference] == [("q", 0), ("qd", 3), ("qdd", 6), ("force", 9)]
    assert [entry.starts_measured for entry in law.state] == [True, True, False]


# --- the effort of the step before ---------------------------------------------------------------------------------


@pytest.mark.parametrize("compensated", [False, True])
def test_a_momentum_observer_finds_what_pushes(library: Library, compensated: bool) -> None:
    """On a MuJoCo arm, with or without the robot's own gravity compensation: the law sees the whole effort."""
    model = load_robot("planar3r")
    plant = MujocoPlant(
        assembled(urdf_of(model)), model.joint_names, DT, PlantOptions(), gravity_compensated=compensated
    )
    plant.reset(START)
    run = Run(library, plant.holding_effort(), gravity_compensated_by_robot=compensated)
    q, qd = np.zeros((2, 3))
    for k in range(3000):
        plant.data.qfrc_applied[:] = PUSH if k >= 1000 else 0.0
        plant.read(q, qd)
        assert not run.step(q, qd) & ~Guard.EFFORT_RATE_LIMITED  # where the push begins
        residual = run.host.telemetry("residual")
        if k < 1000:
            assert np.abs(residual).max() < 1e-9
        plant.step(run.effort)
    np.testing.assert_allclose(plant.external_effort(), PUSH)
    np.testing.assert_allclose(residual, PUSH, atol=2e-4)  # Euler's steps, while the arm still swings


@pytest.mark.parametrize("compensated", [False, True])
def test_the_law_sees_the_effort_that_was_let_through(library: Library, compensated: bool) -> None:
    held = np.array([4.0, 2.0, 1.0])
    run = Run(library, held, gravity_compensated_by_robot=compensated, effort_rate_limit=[300.0] * 3)
    seen, place = held + compensated * library.evaluate("G", START), START
    rng = np.random.default_rng(0)
    limited = 0
    for k in range(200):
        q, stale = START + 1e-3 * rng.normal(size=3), k % 7 == 5
        guards = run.step(q, 0.2 * rng.normal(size=3), stale)
        limited += bool(guards & Guard.EFFORT_RATE_LIMITED)
        assert bool(guards & Guard.MEASUREMENT_STALE) == stale
        if not stale:
            np.testing.assert_array_equal(run.host.telemetry("applied"), seen)
            place = q
        seen = run.effort + compensated * library.evaluate("G", place)
    assert limited > 50


def test_it_starts_from_what_holds_the_arm(library: Library) -> None:
    run = Run(library)
    run.step()
    np.testing.assert_allclose(run.host.telemetry("applied"), library.evaluate("G", START), rtol=1e-14)
    for _ in range(50):
        run.step(START + 0.1)
    commanded = run.effort.copy()
    run.host.deactivate()
    run.host.activate(START)
    run.step()
    np.testing.assert_array_equal(run.host.telemetry("applied"), commanded)


# --- states that start from what is measured -----------------------------------------------------------------------


def test_states_start_where_the_arm_is_activated(library: Library) -> None:
    qd = np.array([0.3, -0.2, 0.1])
    host = Run(library, qd=qd).host
    np.testing.assert_allclose(host.state("p_hat"), library.evaluate("M", START) @ qd, rtol=1e-13)
    np.testing.assert_array_equal(host.state("spring"), 20.0 * START)
    host.set_gain("K", 30.0)
    host.deactivate()
    host.activate(START + 0.1)
    np.testing.assert_array_equal(host.state("p_hat"), REST)
    np.testing.assert_array_equal(host.state("spring"), 30.0 * (START + 0.1))


def test_initial_values_that_are_given_win(library: Library) -> None:
    host = Controller()
    host.configure(library, law="observer", initial_state={"p_hat": [1.0, 2.0, 3.0], "count": 5.0})
    host.activate(START)
    assert host.state("p_hat").tolist() == [1.0, 2.0, 3.0] and host.state("count").item() == 5.0
    np.testing.assert_array_equal(host.state("spring"), 20.0 * START)


def test_a_reset_starts_from_the_next_measurement(library: Library) -> None:
    run = Run(library)
    run.step()
    run.host.reset_state()
    assert run.step(START + 0.001, stale=True) & Guard.MEASUREMENT_STALE  # no place to start from
    run.step(START + 0.002)
    np.testing.assert_array_equal(run.host.state("spring"), 20.0 * (START + 0.002))
    assert run.host.state("count").item() == 1.0
    run.step(START + 0.003)
    np.testing.assert_array_equal(run.host.state("spring"), 20.0 * (START + 0.002))


# --- measurements --------------------------------------------------------------------------------------------------


def test_a_measurement_is_its_default_then_what_was_written_last(library: Library) -> None:
    run = Run(library)
    run.step()
    before = run.effort.copy()
    assert run.host.telemetry("measured").tolist() == [0.0] * 3
    run.host.set_measurement("external_effort", PUSH)
    for _ in range(20):
        run.step()
        np.testing.assert_array_equal(run.host.telemetry("measured"), PUSH)
    np.testing.assert_allclose(run.effort, before - PUSH, rtol=1e-12)


def test_the_law_is_not_stepped_with_a_measurement_that_is_not_finite(library: Library) -> None:
    run = Run(library, gap_limit=0.05)
    run.step()
    run.host.set_measurement("external_effort", [0.0, np.nan, 0.0])
    assert run.step() == Guard.MEASUREMENT_NON_FINITE
    assert run.host.state("count").item() == 1.0 and np.isfinite(run.effort).all()
    run.host.set_measurement("external_effort", REST)
    assert not run.step()
    run.host.set_measurement("external_effort", np.inf * np.ones(3))
    moving = np.array([0.5, 0.0, 0.0])
    guards = [run.step(START, moving) for _ in range(80)]
    assert guards[-1] & Guard.MEASUREMENT_LOST and not guards[10] & Guard.MEASUREMENT_LOST
    # Joint states are known all the same: the arm is braked, and what the moving joint drags along with it.
    braked = (run.effort - library.evaluate("G", START).ravel()) / library.effort_limit
    assert braked[0] < -0.1 and (np.abs(braked[1:]) < np.abs(braked[0])).all()


def test_an_arm_is_not_activated_on_such_a_measurement(library: Library) -> None:
    host = Controller()
    host.configure(library, law="observer")
    host.set_measurement("external_effort", [0.0, 0.0, np.nan])
    with pytest.raises(LawError, match=r"activate: observer\.measurements: a measurement is not finite; valid: num"):
        host.activate(START)
    assert host.lifecycle == "inactive"


def test_measurements_are_written_by_name_and_whole(library: Library) -> None:
    host = Run(library).host
    with pytest.raises(NameNotFoundError, match=r"observer\.measurements: .*'wrench'; valid: external_effort"):
        host.set_measurement("wrench", np.zeros(6))
    with pytest.raises(DimensionError, match=r"observer\.measurements\.external_effort: got 2 values; valid: 3"):
        host.set_measurement("external_effort", np.zeros(2))
    with pytest.raises(LawError, match="unconfigured"):
        Controller().set_measurement("external_effort", REST)


def test_who_cannot_feed_the_law_says_so(library: Library) -> None:
    law = library.law("observer")
    law.check_feeds(measurements=["wrench", "external_effort"], references=["force"], where="arm")
    with pytest.raises(LawError, match="arm: the law observer needs the measurement 'external_effort'; valid: wrench"):
        law.check_feeds(measurements=["wrench"], references=["force"], where="arm")
    with pytest.raises(LawError, match="arm: the law observer needs the further reference 'force'; valid: none"):
        law.check_feeds(measurements=["external_effort"], references=[], where="arm")


def test_topics_cannot_feed_the_law(library: Library) -> None:
    """What node and plugin read messages with, when they are configured."""
    with pytest.raises(
        LawError, match="topics: the law observer needs the measurement 'external_effort'; valid: ee_position, wrench"
    ):
        ReferenceReader(Configuration(library), "base", "ee")


# --- further references --------------------------------------------------------------------------------------------


def test_a_further_reference_stays_whatever_is_followed(library: Library) -> None:
    run = Run(library)
    host = run.host
    assert host.reference("force").tolist() == [0.0] * 3
    host.set_reference_entry("force", PUSH)
    host.set_reference(np.concatenate([START + 0.01, REST, REST]))  # the standard entries alone
    run.step()
    assert host.reference("force").tolist() == PUSH.tolist()
    np.testing.assert_allclose(host.reference("q"), START + 0.01, atol=0.01)
    host.follow([TimedJoints(0.05, START + 0.02), TimedJoints(0.1, START)])
    run.step()
    host.set_reference_entry("force", 2 * PUSH)
    run.step()
    assert host.reference("force").tolist() == (2 * PUSH).tolist() and np.abs(host.reference("qd")).max() > 0.0
    for request in (host.stop_motion, host.hold_reference):
        request()
        run.step()
        assert host.reference("force").tolist() == (2 * PUSH).tolist()
    host.set_reference(np.concatenate([START, REST, REST, PUSH]))  # the whole
    run.step()
    assert host.reference("force").tolist() == PUSH.tolist()
    host.deactivate()
    host.activate(START)
    assert host.reference("force").tolist() == PUSH.tolist()
    np.testing.assert_array_equal(host.reference("q"), START)


def test_writing_it_is_no_stream(library: Library) -> None:
    run = Run(library, reference_timeout=0.01)
    run.host.set_reference_entry("force", PUSH)
    assert not any(run.step() & Guard.REFERENCE_STALE for _ in range(50))
    run.host.set_reference(np.concatenate([START, REST, REST]))
    guards = []
    for _ in range(50):
        run.host.set_reference_entry("force", PUSH)  # keeps no stream alive
        guards.append(run.step())
    assert guards[-1] & Guard.REFERENCE_STALE


def test_references_of_other_sizes_are_refused(library: Library) -> None:
    with pytest.raises(DimensionError, match=r"observer\.reference: got 10 values; valid: 9 or 12"):
        Run(library).host.set_reference(np.zeros(10))


# --- measurements with an age ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seeing(build_cache: object) -> Library:
    return Library(build_planar("seeing"))


class Watch:
    """An active controller whose law sees the end effector."""

    def __init__(self, library: Library) -> None:
        self.host, self.t, self.effort = Controller(), 5.0, np.zeros(3)
        self.host.configure(library, law="seeing")
        self.host.activate(START)

    def step(self, count: int = 1) -> Guard:
        for _ in range(count):
            self.t += DT
            guards = Guard(self.host.update(self.t, START, REST, DT, self.effort))
        return guards

    def told(self, name: str) -> Any:
        return self.host.telemetry(name).squeeze()


SEEN = [0.1, 0.2, 0.3]


def test_the_age_of_a_measurement_grows_until_the_next(seeing: Library) -> None:
    watch = Watch(seeing)
    assert watch.step() & Guard.MEASUREMENT_UNUSED and watch.told("age") == NEVER
    watch.host.set_measurement("ee_position", SEEN, watch.t - 0.03)
    assert not watch.step()
    assert watch.told("seen").tolist() == SEEN and watch.told("age") == pytest.approx(0.031)
    watch.step(60)
    assert watch.told("age") == pytest.approx(0.091)
    assert watch.step(20) & Guard.MEASUREMENT_UNUSED and watch.told("age") == pytest.approx(0.111)
    watch.host.set_measurement("ee_position", SEEN, watch.t + DT)
    assert not watch.step() and watch.told("age") == pytest.approx(0.0, abs=1e-12)
    watch.host.set_measurement("ee_position", SEEN, watch.t + 0.005)  # a clock that is a little ahead
    assert not watch.step() and watch.told("age") == 0.0


def test_an_activation_forgets_what_was_measured_before(seeing: Library) -> None:
    watch = Watch(seeing)
    watch.host.set_measurement("ee_position", SEEN, watch.t)
    assert not watch.step()
    watch.host.deactivate()
    watch.host.activate(START)
    assert watch.step() & Guard.MEASUREMENT_UNUSED and watch.told("age") == NEVER


def test_measurements_with_an_age_come_with_their_time_and_finite(seeing: Library, library: Library) -> None:
    host, name = Watch(seeing).host, "ee_position"
    for given, message in (
        (
            ("ee_position_age", [0.1], 1.0),
            r"seeing\.measurements\.ee_position_age: is an age; valid: the measurement",
        ),
        ((name, SEEN), r"ee_position: comes without the time at which it was measured; valid: a finite time"),
        ((name, SEEN, np.nan), "ee_position: comes without the time"),
        ((name, [0.0, np.nan, 0.0], 1.0), "ee_position: is not finite; valid: numbers"),
    ):
        with pytest.raises(LawError, match=message):
            host.set_measurement(*given)
    with pytest.raises(LawError, match="external_effort: has no age; valid: no time"):
        Run(library).host.set_measurement("external_effort", PUSH, 1.0)


def test_a_session_takes_them_by_their_stamps(seeing: Library) -> None:
    session = ControlSession(Configuration(seeing, law="seeing"), Options())
    session.set_measurement("ee_position", SEEN, 10)  # passed over: nothing is commanded
    session.activate(START, REST, REST)
    effort, now = np.zeros(3), 7_000_000_000
    for k in range(2):
        guards = Guard(session.update(now + k * 1_000_000, 0.5 + k * DT, START, REST, DT, effort))
        assert guards & Guard.MEASUREMENT_UNUSED
    session.set_measurement("ee_position", SEEN, now - 19_000_000)
    guards = Guard(session.update(now + 2_000_000, 0.5 + 2 * DT, START, REST, DT, effort))
    assert not guards & Guard.MEASUREMENT_UNUSED
    assert session.snapshot().telemetry("age").item() == pytest.approx(0.021)
    for stamp, message in (
        (0, "ee_position: stamp: is 0 ns; valid: when it was measured"),
        (-1, "ee_position: stamp: is -1 ns; valid: 0 or more"),
        (now + 20_000_000, r"ee_position: stamp: is 0\.018 s ahead of the joints; valid: .* at most 0\.01 s ahead"),
    ):
        with pytest.raises(LawError, match=message):
            session.set_measurement("ee_position", SEEN, stamp)


def test_who_feeds_a_measurement_need_not_feed_its_age(seeing: Library) -> None:
    law = seeing.law("seeing")
    assert [entry.is_age for entry in law.measurements] == [False, True]
    law.check_feeds(measurements=["ee_position"], references=[], where="arm")


def test_a_session_takes_further_references_and_measurements(library: Library) -> None:
    session = ControlSession(Configuration(library), Options())
    effort = np.zeros(3)
    session.activate(START, REST)
    session.set_further_reference("force", PUSH)
    session.set_measurement("external_effort", 2 * PUSH)
    session.stream(np.concatenate([START, REST, REST]))
    session.update(0, DT, START, REST, DT, effort)
    snapshot = session.snapshot()
    np.testing.assert_array_equal(snapshot.reference_vector[9:], PUSH)
    np.testing.assert_array_equal(snapshot.telemetry("measured"), 2 * PUSH)
    with pytest.raises(LawError, match=r"observer\.reference: 'q' is no further entry; valid: entries after the"):
        session.set_further_reference("q", START)
    with pytest.raises(NameNotFoundError):
        session.set_further_reference("wrench", START)
