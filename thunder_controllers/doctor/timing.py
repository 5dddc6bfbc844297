"""Checks of what was measured: wake-ups under load, the wall clock meanwhile, and the way to the arm."""

from __future__ import annotations

import numpy as np

from thunder_controllers.doctor.check import Case, Finding, check
from thunder_controllers.doctor.measurement import LoopTimes
from thunder_controllers.host import Options, total_delay

LARGEST_LATENESS = 0.25
"""Share of a period: the rest is for the way to the arm, the step of the law and the arm itself. Chosen."""

LARGEST_ROUND_TRIP = 0.5
"""Share of a period, likewise."""

LARGEST_STEP = 1e-3
"""The largest step of the wall clock between two periods [s]: corrections that slew are thousands of times smaller."""

DELAYS = ("dead_time", "drive_lag", "velocity_cutoff", "velocity_by_differences")
"""Parameters of the controller that its total delay is made of."""

MILLISECONDS = 1e3


@check(
    "longest delay of a wake-up at 1 kHz, every core busy",
    valid=f"at most {LARGEST_LATENESS:.0%} of a period",
    mend="a real-time kernel, real-time priority, an isolated core (isolcpus), no power saving in the BIOS",
    is_real_time=True,
)
def jitter(case: Case) -> Finding:
    """A loop that is woken late commands late."""
    loop: LoopTimes = case.needed("loop")
    middle, high = np.percentile(loop.lateness, [50.0, 99.9])
    longest = float(loop.lateness.max())
    how = "real-time priority" if loop.is_real_time else "no real-time priority"
    seen = f"{_ms(longest)} of {len(loop.lateness)}, median {_ms(middle)}, 99.9 % {_ms(high)}; {how}"
    return Finding(longest <= LARGEST_LATENESS * case.period, seen)


@check(
    "periods that this loop missed",
    valid="none",
    mend="as for jitter; look for interrupts on the loop's core (/proc/interrupts) and for SMIs (hwlatdetect)",
    is_real_time=True,
)
def overruns(case: Case) -> Finding:
    """A missed period is a packet that the arm does not get; twenty in a row stop a Franka."""
    loop: LoopTimes = case.needed("loop")
    return Finding(loop.missed == 0, f"{loop.missed} of {len(loop.lateness) + loop.missed}")


@check(
    "steps of the wall clock meanwhile",
    valid=f"below {MILLISECONDS * LARGEST_STEP:g} ms",
    mend="let chrony or ntpd slew (chrony: makestep only at the start), and nothing else set the clock",
)
def clock_steps(case: Case) -> Finding:
    """Stamps of ROS are of the wall clock: a step makes measurements old, or of the future."""
    loop: LoopTimes = case.needed("loop")
    return Finding(loop.largest_step < LARGEST_STEP, f"largest {_ms(loop.largest_step)}")


@check(
    "round trip to the arm",
    valid=f"at most {LARGEST_ROUND_TRIP:.0%} of a period, also the longest",
    mend="a cable straight to the arm's control unit, a network card of its own, no power saving in it (ethtool)",
    is_real_time=True,
)
def latency(case: Case) -> Finding:
    """A state goes there and a command back within one period."""
    times = case.needed("round_trips")
    longest = float(times.max())
    if not np.isfinite(longest):
        return Finding(False, "no answer")
    seen = f"{_ms(longest)} of {len(times)}, median {_ms(float(np.median(times)))}"
    return Finding(longest <= LARGEST_ROUND_TRIP * case.period, seen)


@check(
    "total delay that the controller counts on",
    valid="a dead time of the longest round trip to the arm at least",
    mend="dead_time of the controller's parameters: margins of gains, brake and soft stops go by it",
)
def delay(case: Case) -> Finding:
    """A controller that acts later than it knows is less stable than it says."""
    times = case.needed("round_trips")
    given = {name: value for name in DELAYS if (value := (case.parameters or {}).get(name)) is not None}
    counted = Options(nominal_dt=case.period, **given)
    seen = f"{_ms(total_delay(counted))}, dead time {_ms(counted.dead_time)} of it"
    return Finding(float(times.max()) <= counted.dead_time, seen)


def _ms(seconds: float) -> str:
    return f"{MILLISECONDS * seconds:.3f} ms"


TIMING = (jitter, overruns, clock_steps, latency, delay)
