"""Measurements: a loop of 1 kHz while every core is busy, and the way to the arm and back."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np

from thunder_controllers.fields import FloatArray

BUSY = "import sys, time\nend = time.monotonic() + float(sys.argv[1])\nwhile time.monotonic() < end: pass"
"""Ends by itself, also where nobody is left to end it."""

LOOP_PRIORITY = 80
"""Where it may be had: below the kernel's threads, above all else."""

CLOSE = 50e-6
"""Longest time between two readings of a clock that another one read between them is compared with [s]."""

PATIENCE = 1.0
"""For the arm's answer [s]."""

PAUSE = 2e-3
"""Between two connections [s]: an arm is not flooded."""


@dataclass(frozen=True, eq=False)
class LoopTimes:
    """Of a loop.

    Args:
        lateness: From when it wanted to be woken to when it was, of each period [s].
        missed: Periods that passed before it was woken for the one before.
        largest_step: Of the wall clock against the steady one, between two periods [s].
        is_real_time: Whether it ran with real-time priority.
    """

    lateness: FloatArray
    missed: int
    largest_step: float
    is_real_time: bool


def measure_loop(
    seconds: float,
    period: float = 1e-3,
    steady: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> LoopTimes:
    """Be woken every period, under real-time priority where this process may have it.

    A loop in Python: its interpreter adds some 10 µs, which a loop in C++ has not.

    Args:
        seconds: How long.
        period: Of the loop [s].
        steady: Clock that the loop keeps [s].
        wall: Clock that is watched [s].
        sleep: Sleeps for a time [s].
    """
    lateness: list[float] = []
    missed, largest_step, offset = 0, 0.0, None
    with _real_time_priority() as is_real_time:
        begin = steady()
        due = begin + period
        while due <= begin + seconds + 0.5 * period:
            sleep(max(0.0, due - steady()))
            woken, shown, after = steady(), wall(), steady()
            late = max(0.0, woken - due)
            lateness.append(late)
            passed = int(late / period)
            missed, due = missed + passed, due + (1 + passed) * period
            if after - woken < CLOSE:
                largest_step = max(largest_step, 0.0 if offset is None else abs(shown - woken - offset))
                offset = shown - woken
    return LoopTimes(np.array(lateness), missed, largest_step, is_real_time)


@contextmanager
def _real_time_priority() -> Iterator[bool]:
    """Real-time priority for this thread, if it may have it; whether it has."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(LOOP_PRIORITY))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, *before)


@contextmanager
def busy_cores(seconds: float) -> Iterator[None]:
    """Keep every core that this process may use busy, for a time at most [s]."""
    command = [sys.executable, "-c", BUSY, str(seconds)]
    busy = [subprocess.Popen(command) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def measure_round_trips(host: str, port: int, count: int = 100) -> FloatArray:
    """Time the way to a machine and back, by connecting; a connection that is refused has been there, too.

    Returns:
        Times, shape (count,) [s]; a single infinite one if nobody answers.

    Raises:
        OSError: if the host has no address.
    """
    (family, *_, address), *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    times: list[float] = []
    for _ in range(count):
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(PATIENCE)
            begin = time.perf_counter()
            code = _connect(connection, address)
            times.append(time.perf_counter() - begin)
        if code not in (0, errno.ECONNREFUSED):
            return np.array([np.inf])
        time.sleep(PAUSE)
    return np.array(times)


def _connect(connection: socket.socket, address: object) -> int:
    """Connect; 0, or the number of the error."""
    with suppress(TimeoutError):
        return connection.connect_ex(address)  # type: ignore[arg-type]
    return errno.ETIMEDOUT
