"""The loop and the way to the arm: on clocks that the test turns, and on this machine."""

from __future__ import annotations

import socket
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thunder_controllers.doctor.measurement import busy_cores, measure_loop, measure_round_trips

PERIOD = 1e-3
EXACT = 1e-9
"""Of sums of some thousand periods [s]."""


class Clocks:
    """Time that only sleeping passes: each sleep is late by the next of some delays, and the wall clock steps."""

    def __init__(self, delays: list[float], step_after: float = np.inf, step: float = 0.0) -> None:
        self.now, self._delays, self._step_after, self._step = 0.0, delays, step_after, step

    def steady(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1e9 + self.now + (self._step if self.now > self._step_after else 0.0)

    def sleep(self, seconds: float) -> None:
        self.now += seconds + (self._delays.pop(0) if self._delays else 0.0)


@given(st.lists(st.floats(0.0, 0.9 * PERIOD), min_size=50, max_size=50))
def test_the_lateness_is_that_of_the_wake_ups(delays: list[float]) -> None:
    clocks = Clocks(list(delays))
    loop = measure_loop(50 * PERIOD, PERIOD, clocks.steady, clocks.wall, clocks.sleep)
    assert loop.missed == 0 and loop.lateness == pytest.approx(delays, abs=EXACT)
    assert loop.largest_step < 1e-6  # what is left of a difference of large numbers


@given(st.integers(1, 9), st.integers(0, 30))
def test_periods_that_pass_meanwhile_are_missed(periods: int, when: int) -> None:
    clocks = Clocks([0.0] * when + [(periods + 0.5) * PERIOD])
    loop = measure_loop(50 * PERIOD, PERIOD, clocks.steady, clocks.wall, clocks.sleep)
    assert loop.missed == periods and len(loop.lateness) + loop.missed == 50
    assert loop.lateness.max() == pytest.approx((periods + 0.5) * PERIOD, abs=EXACT)


@pytest.mark.parametrize("step", [0.01, -3600.0])
def test_a_step_of_the_wall_clock_is_seen(step: float) -> None:
    clocks = Clocks([], step_after=20.5 * PERIOD, step=step)
    loop = measure_loop(50 * PERIOD, PERIOD, clocks.steady, clocks.wall, clocks.sleep)
    assert loop.largest_step == pytest.approx(abs(step), abs=1e-6)


def test_a_loop_of_this_machine_has_all_its_periods() -> None:
    with busy_cores(1.0):
        loop = measure_loop(0.02)
    assert len(loop.lateness) + loop.missed >= 20 and (loop.lateness >= 0.0).all()


def test_a_machine_that_listens_and_one_that_refuses_have_both_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        thread = threading.Thread(target=lambda: [server.accept()[0].close() for _ in range(3)])
        thread.start()
        assert np.isfinite(measure_round_trips("127.0.0.1", port, count=3)).sum() == 3
        thread.join()
    assert np.isfinite(measure_round_trips("127.0.0.1", port, count=3)).sum() == 3


def test_nobody_has_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(socket.socket, "connect_ex", too_late)
    assert measure_round_trips("127.0.0.1", 1, count=3).tolist() == [np.inf]
