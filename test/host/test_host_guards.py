"""What the controller lets in and out: every guard, the safe effort, and the limits for any input at all."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from host_loop import REST, START, STEP, Loop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pendulum2 import compile_pendulum2, gravity

from thunder_controllers.host import BLOCKING_GUARDS, FAULTS, Guard, Library

LIMIT = np.array([30.0, 15.0])
RATE = np.array([1000.0, 500.0])
NAMES = {guard: str(guard.name).lower() for guard in Guard}


def test_good_updates_set_off_no_guard(library: Library) -> None:
    loop = Loop(library)
    assert [loop.update() for _ in range(5)] == [Guard(0)] * 5
    np.testing.assert_allclose(loop.effort, gravity(START), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "guard"),
    [
        ({"q": np.array([np.nan, 0.0])}, Guard.MEASUREMENT_NON_FINITE),
        ({"q": np.array([0.0, np.inf])}, Guard.MEASUREMENT_NON_FINITE),
        ({"qd": np.array([0.0, -np.inf])}, Guard.MEASUREMENT_NON_FINITE),
        ({"advance": np.nan}, Guard.MEASUREMENT_NON_FINITE),
        ({"advance": 0.0}, Guard.MEASUREMENT_STALE),
        ({"advance": -STEP}, Guard.MEASUREMENT_STALE),
        ({"advance": -1.0}, Guard.MEASUREMENT_STALE),
        ({"advance": 0.011}, Guard.MEASUREMENT_STALE),
    ],
)
def test_bad_input_keeps_the_state_and_approaches_the_safe_effort(
    library: Library, arguments: dict[str, object], guard: Guard
) -> None:
    loop = Loop(library)
    loop.ask(0.15)  # a wanted effort away from gravity, so that the approach is visible
    for _ in range(500):
        loop.update()
    before, state, telemetry = loop.effort.copy(), loop.controller.state_vector, loop.controller.telemetry_vector
    assert np.abs(before - gravity(START)).max() > 0.5
    acted = loop.update(**arguments)
    assert acted & ~Guard.EFFORT_RATE_LIMITED == guard
    np.testing.assert_array_equal(loop.controller.state_vector, state)
    np.testing.assert_array_equal(loop.controller.telemetry_vector, telemetry)
    expected = np.clip(gravity(START), before - RATE * STEP, before + RATE * STEP)
    np.testing.assert_allclose(loop.effort, expected, rtol=1e-12)
    assert loop.controller.status.counters[NAMES[guard & -guard]] == 1


@pytest.mark.parametrize("dt", [0.0, -STEP, 0.011, np.nan, np.inf])
def test_an_invalid_period_moves_the_effort_no_further_than_the_time_that_has_passed_allows(
    library: Library, dt: float
) -> None:
    loop = Loop(library)
    loop.ask(0.15)
    for _ in range(20):
        loop.update()
    begin = time.perf_counter()
    loop.update()
    wanted = np.sign(gravity(START) - loop.effort)
    before = loop.effort.copy()
    state = loop.controller.state_vector
    assert loop.update(dt=dt) & ~Guard.EFFORT_RATE_LIMITED == Guard.TIME_STEP_INVALID
    passed = time.perf_counter() - begin
    np.testing.assert_array_equal(loop.controller.state_vector, state)
    way = (loop.effort - before) * wanted
    assert (way > 0.0).all() and (way <= RATE * passed).all()


def test_telemetry_alone_that_is_not_finite_is_enough(tmp_path: Path) -> None:
    loop = Loop(Library(compile_pendulum2(tmp_path, "WITHOUT_POSITION_LIMITS")))
    far = np.array([1e200, 0.0])  # its square overflows in position_error, K_d Lambda times it does not
    state = loop.controller.state_vector
    assert Guard.RESULT_NON_FINITE in loop.update(q=far)
    np.testing.assert_array_equal(loop.controller.state_vector, state)
    assert np.isfinite(loop.controller.telemetry_vector).all()


def test_next_state_alone_that_is_not_finite_is_enough(tmp_path: Path) -> None:
    loop = Loop(Library(compile_pendulum2(tmp_path, "WITHOUT_VELOCITY_LIMIT")))  # no velocity is doubted
    loop.controller.set_gain("K_d", 0.0)  # the effort stays finite while Y_gᵀ s is inf − inf
    state = loop.controller.state_vector
    assert Guard.RESULT_NON_FINITE in loop.update(qd=np.array([1.7e308, -1.7e308]))
    np.testing.assert_array_equal(loop.controller.state_vector, state)


@pytest.mark.parametrize("lie", [1e3, 1e150, 1.7e308])
def test_a_velocity_that_no_motor_reaches_is_not_believed_at_first_either(library: Library, lie: float) -> None:
    told, honest = Loop(library), Loop(library)
    told.update(qd=np.array([0.0, lie]))
    for _ in range(50):
        told.update(), honest.update()
    np.testing.assert_allclose(told.effort, honest.effort, rtol=0, atol=0.05)


def test_safe_effort_is_gravity_at_the_last_good_position(library: Library) -> None:
    loop = Loop(library)
    moved = np.array([0.3, 0.4])
    loop.update(q=moved)
    for _ in range(100):
        loop.update(q=np.array([np.nan, 1.0]))
    np.testing.assert_allclose(loop.effort, gravity(moved), rtol=1e-12)


def test_safe_effort_is_zero_if_the_robot_compensates_gravity(library: Library) -> None:
    loop = Loop(library, gravity_compensated_by_robot=True, held_effort=[5.0, -5.0])
    efforts = []
    for _ in range(20):
        loop.update(qd=np.full(2, np.nan))
        efforts.append(loop.effort.copy())
    np.testing.assert_allclose(efforts[0], [4.0, -4.5], rtol=1e-12)
    assert efforts[-1].tolist() == [0.0, 0.0]


def test_compensated_gravity_is_subtracted(library: Library) -> None:
    plain = Loop(library, held_effort=gravity(START))
    compensated = Loop(library, gravity_compensated_by_robot=True)
    for loop in (plain, compensated):
        loop.ask(0.12)
        for _ in range(10):
            loop.update()
    np.testing.assert_allclose(compensated.effort, plain.effort - gravity(START), rtol=1e-9, atol=1e-12)


def test_overtaken_measurement_costs_one_step(library: Library) -> None:
    loop = Loop(library)
    loop.update()
    assert loop.update(advance=-0.5 * STEP) == Guard.MEASUREMENT_STALE
    assert loop.update(advance=0.25 * STEP) == Guard.MEASUREMENT_STALE  # still older than the newest
    assert loop.update(advance=STEP) == 0


@pytest.mark.parametrize("jump", [0.1, -1.0])
def test_clock_that_was_set_costs_one_step(library: Library, jump: float) -> None:
    loop = Loop(library)
    loop.update()
    assert loop.update(advance=jump) == Guard.MEASUREMENT_STALE
    assert loop.update() == 0


def test_a_clock_set_forward_is_like_measurements_that_were_lost(library: Library) -> None:
    loop = Loop(library)
    loop.update()
    assert loop.update(advance=1.0) == Guard.MEASUREMENT_STALE
    assert loop.update() & FAULTS == Guard.MEASUREMENT_LOST


def test_a_fast_joint_is_reported_and_not_driven_further(library: Library) -> None:
    as_is = {"approaches_jumps": False}
    slow = Loop(library, **as_is)
    fast = Loop(library, velocity_limit=[0.08, 0.2], **as_is)
    velocity = np.array([0.1, 0.1])
    for loop in (slow, fast):
        loop.controller.set_reference([0.1, 0.2, 0.5, 0.1, 0.0, 0.0])
    assert not slow.update(qd=velocity) & (Guard.VELOCITY_EXCEEDED | Guard.MOTION_LIMITED)
    assert Guard.VELOCITY_EXCEEDED | Guard.MOTION_LIMITED in fast.update(qd=velocity)
    assert fast.effort[0] < min(slow.effort[0], gravity(START)[0])
    assert fast.effort[1] == slow.effort[1]


def test_holding_does_not_grow_stale(library: Library) -> None:
    loop = Loop(library, "cartesian_spring", reference_timeout=0.01)
    assert [loop.update() for _ in range(50)] == [Guard(0)] * 50


@pytest.mark.parametrize("advance", [2 * STEP, 9 * STEP, 0.05])
def test_a_late_cycle_moves_the_effort_no_further_than_one_period(library: Library, advance: float) -> None:
    """As far as that, of RATE in STEP; where the period is invalid, for no longer than has passed."""
    loop = Loop(library, held_effort=[10.0, -10.0])
    loop.update()
    before = loop.effort.copy()
    guards = loop.update(q=START + [0.5, -0.5], dt=advance, advance=advance)
    moved = (loop.effort - before) / [-1.0, 0.5]
    assert (moved > 0.0).all() and (moved <= 1.0 + 1e-12).all()
    if not guards & Guard.TIME_STEP_INVALID:
        np.testing.assert_allclose(moved, 1.0, rtol=1e-12)


def handover(loop: Loop, periods: int, **state: object) -> np.ndarray:
    """Efforts less the arm's weight, in which no guard acts."""
    efforts = []
    for _ in range(periods):
        assert loop.update(**state) == 0
        efforts.append(loop.effort - gravity(START))
    return np.array(efforts)


def test_the_effort_goes_from_what_held_the_arm_to_the_laws(library: Library) -> None:
    """In handover_time, in equal steps, and the arm does not move meanwhile, so that the law asks for its weight."""
    missing = np.array([1.0, -0.5])
    loop = Loop(library, held_effort=gravity(START) + missing, handover_time=0.1)
    efforts = handover(loop, 120)
    left = np.clip(1.0 - np.arange(1, 121) / 100.0, 0.0, None)
    np.testing.assert_allclose(efforts, np.outer(left, missing), rtol=1e-9, atol=1e-9)


def test_the_effort_goes_over_at_half_of_its_rate_at_most(library: Library) -> None:
    held = 2.0 * gravity(START)
    loop = Loop(library, held_effort=held, handover_time=0.0)
    missing, step = held - gravity(START), 0.5 * RATE * STEP
    expected = [np.sign(missing) * np.clip(np.abs(missing) - k * step, 0.0, None) for k in range(1, 31)]
    np.testing.assert_allclose(handover(loop, 30), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", ["smaller", "moving"])
def test_an_effort_that_did_not_hold_the_arm_is_left_at_the_rate_limit(library: Library, case: str) -> None:
    """It is smaller than what the law asks for more, or the arm moves."""
    held, moves = (np.zeros(2), REST) if case == "smaller" else (2.0 * gravity(START), np.array([0.5, 0.5]))
    loop = Loop(library)
    loop.controller.deactivate()
    loop.controller.activate(START, moves, held_effort=held)
    assert Guard.EFFORT_RATE_LIMITED in loop.update()
    np.testing.assert_allclose(loop.effort, held + np.sign(gravity(START) - held) * RATE * STEP, rtol=1e-9)


def test_what_a_reference_asks_for_is_not_put_off(library: Library) -> None:
    """Only what holds the arm is compared: both efforts go to the same place from there."""
    efforts = []
    for missing in (0.0, 0.5):
        loop = Loop(library, held_effort=gravity(START) + missing)
        loop.ask(0.21)
        loop.updates(5)
        efforts.append(loop.effort - missing * (1.0 - 5.0 * STEP))
    np.testing.assert_allclose(*efforts, rtol=1e-6)


def test_limits_of_effort_and_its_rate_both_hold(library: Library) -> None:
    loop = Loop(library, effort_limit=[4.0, 3.0], approaches_jumps=False)
    loop.update()
    loop.ask(0.9)
    previous, seen = loop.effort.copy(), Guard(0)
    for _ in range(100):
        seen |= loop.update()
        assert (np.abs(loop.effort) <= [4.0, 3.0]).all()
        # The sum previous + rate·dt is rounded once.
        assert (np.abs(loop.effort - previous) <= RATE * STEP * (1 + 1e-12)).all()
        previous = loop.effort.copy()
    assert loop.effort.tolist() == [4.0, 3.0]
    assert Guard.EFFORT_RATE_LIMITED in seen and Guard.EFFORT_LIMITED in seen


@pytest.mark.parametrize("freezes", [True, False])
def test_saturation_freezes_adapted_states_only(library: Library, freezes: bool) -> None:
    loop = Loop(library, effort_limit=[0.5, 0.5], saturation_freezes_adaptation=freezes)
    loop.ask(0.9)
    for _ in range(20):
        acted = loop.update()
    assert acted & Guard.EFFORT_LIMITED or acted & Guard.EFFORT_RATE_LIMITED
    assert (Guard.ADAPTATION_FROZEN in acted) == freezes
    before, filtered = loop.controller.state("pi_hat"), loop.controller.state("s_filtered")
    loop.update()
    assert (loop.controller.state("pi_hat").tolist() == before.tolist()) == freezes
    assert loop.controller.state("s_filtered").tolist() != filtered.tolist()


def test_noise_that_meets_the_rate_limit_does_not_starve_adaptation(library: Library) -> None:
    """The effort is cut in most steps, now on this side and now on that: on average little is missing."""
    loop, random = Loop(library), np.random.default_rng(0)
    loop.controller.set_reference([0.1001, 0.2001, 0, 0, 0, 0])
    acted = [loop.update(START, random.normal(0.0, 0.15, 2)) for _ in range(1000)]
    assert sum(Guard.EFFORT_RATE_LIMITED in guards for guards in acted) > 500
    assert sum(Guard.ADAPTATION_FROZEN in guards for guards in acted) < 200
    assert loop.controller.state("pi_hat").tolist() != [1.2, 0.8]


def test_adaptation_freezes_on_request(library: Library) -> None:
    loop = Loop(library)
    loop.controller.set_reference([0.1001, 0.2001, 0, 0, 0, 0])  # so little that nothing saturates
    loop.controller.freeze_adaptation(True)
    assert loop.update() == Guard.ADAPTATION_FROZEN
    assert loop.controller.state("pi_hat").tolist() == [1.2, 0.8]
    assert loop.controller.status.adaptation_frozen
    loop.controller.freeze_adaptation(False)
    assert loop.update() == 0
    assert loop.controller.state("pi_hat").tolist() != [1.2, 0.8]


def test_law_without_estimates_reports_no_freeze(library: Library) -> None:
    loop = Loop(library, "cartesian_spring")
    loop.controller.freeze_adaptation(True)
    loop.update()
    assert loop.update(q=START + 0.5) == Guard.EFFORT_RATE_LIMITED
    assert loop.controller.state("elapsed").tolist() == [2 * STEP]


def test_stop_ramps_to_the_safe_effort_and_stays(library: Library) -> None:
    loop = Loop(library, held_effort=[10.0, 10.0])
    loop.controller.begin_stop()
    state = loop.controller.state_vector
    assert loop.update() == Guard.STOPPING | Guard.EFFORT_RATE_LIMITED
    assert loop.effort.tolist() == [9.0, 9.5]
    for _ in range(50):
        acted = loop.update()
    assert acted == Guard.STOPPING
    np.testing.assert_allclose(loop.effort, gravity(START), rtol=1e-12)
    np.testing.assert_array_equal(loop.controller.state_vector, state)


def test_deactivated_controller_gives_the_safe_effort(library: Library) -> None:
    loop = Loop(library, held_effort=[10.0, 10.0])
    loop.update()
    before = loop.effort.copy()
    loop.controller.deactivate()
    assert loop.update() == Guard.NOT_ACTIVE | Guard.EFFORT_RATE_LIMITED
    np.testing.assert_allclose(loop.effort, before - RATE * STEP, rtol=1e-12)


def test_counters_count_and_restart_with_activation(library: Library) -> None:
    loop = Loop(library)
    for _ in range(3):
        loop.update(dt=0.0)
    status = loop.controller.status
    assert (status.guards, status.guard_names) == (Guard.TIME_STEP_INVALID, ("time_step_invalid",))
    assert status.counters["time_step_invalid"] == 3
    assert sum(status.counters.values()) == 3
    loop.controller.deactivate()
    loop.controller.activate(START)
    assert sum(loop.controller.status.counters.values()) == 0
    assert status.counters["time_step_invalid"] == 3  # a snapshot


@pytest.mark.parametrize(("moves", "is_given_up"), [(0.1, False), (1.0, True)])
def test_an_arm_that_moves_once_is_held_and_one_that_does_not_rest_is_given_up(
    library: Library, moves: float, is_given_up: bool
) -> None:
    """A push moves it once, and so does an end effector that turns out to be elsewhere; `moves`, at 5 Hz, in [s]."""
    loop = Loop(library, approach_patience=0.1)  # rest is judged every 0.15 s
    loop.updates(400)
    times = STEP * np.arange(1500)
    guards = [loop.update(START + 0.05 * np.sin(10.0 * np.pi * min(time, moves + 0.05))) for time in times]
    assert any(Guard.REFERENCE_UNREACHED in guard for guard in guards) == is_given_up


anything = st.floats(allow_nan=True, allow_infinity=True)
mostly_sensible = st.one_of(st.floats(-0.5, 0.5), anything)
measurement = st.tuples(
    st.tuples(mostly_sensible, mostly_sensible),
    st.tuples(mostly_sensible, mostly_sensible),
    st.one_of(st.just(STEP), st.floats(0, 0.02), anything),
    st.one_of(st.just(STEP), st.floats(-0.02, 0.02), anything),
    st.one_of(st.none(), st.floats(-1, 1)),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(measurements=st.lists(measurement, min_size=1, max_size=20), compensated=st.booleans(), adaptive=st.booleans())
def test_effort_is_finite_and_inside_both_limits_whatever_comes_in(
    library: Library, measurements: list[tuple], compensated: bool, adaptive: bool
) -> None:
    law = "joint_adaptive" if adaptive else "cartesian_spring"
    loop = Loop(library, law, gravity_compensated_by_robot=compensated)
    previous, begin = np.zeros(2) if compensated else gravity(START), time.perf_counter()
    for q, qd, dt, advance, wanted in measurements:
        if wanted is not None and adaptive:
            loop.ask(wanted)
        state = loop.controller.state_vector
        started = time.perf_counter()
        acted = loop.update(np.array(q), np.array(qd), dt, advance)
        passed, begin = time.perf_counter() - begin, started
        used = dt if 0 < dt <= 0.01 else min(passed, 0.01)
        assert np.isfinite(loop.effort).all()
        assert (np.abs(loop.effort) <= LIMIT).all()
        # previous ± rate·dt is rounded to the magnitude of the limit.
        assert (np.abs(loop.effort - previous) <= RATE * used + 1e-13).all()
        assert np.isfinite(loop.controller.state_vector).all()
        assert not acted & BLOCKING_GUARDS or np.array_equal(state, loop.controller.state_vector)
        previous = loop.effort.copy()
