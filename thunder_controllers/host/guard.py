"""The guards of the host by name, bit for bit as in guards.hpp."""

from __future__ import annotations

import enum


class Guard(enum.IntFlag):
    """What acted in one update; `Controller.update` returns these bits as an int."""

    MEASUREMENT_NON_FINITE = 1 << 0
    """q, qd or t is infinite or NaN: safe effort."""
    MEASUREMENT_STALE = 1 << 1
    """t did not advance, or by more than `Options.measurement_timeout`: safe effort."""
    TIME_STEP_INVALID = 1 << 2
    """dt is outside (0, max_dt_ratio·nominal_dt]: safe effort."""
    REFERENCE_STALE = 1 << 3
    """Nothing was written for longer than `Options.reference_timeout`: the reference comes to rest and is held."""
    RESULT_NON_FINITE = 1 << 4
    """The law gave something infinite or NaN: safe effort, the state is kept."""
    EFFORT_RATE_LIMITED = 1 << 5
    """The change of at least one effort was cut."""
    EFFORT_LIMITED = 1 << 6
    """At least one effort was cut."""
    VELOCITY_EXCEEDED = 1 << 7
    """A joint is faster than its limit; for too long, it has run away."""
    ADAPTATION_FROZEN = 1 << 8
    """Adapted states were kept, by request or because the effort was cut."""
    STOPPING = 1 << 9
    """A stop was begun: safe effort."""
    NOT_ACTIVE = 1 << 10
    """The controller is not active: safe effort."""
    RUNAWAY = 1 << 11
    """A joint was faster than `Options.velocity_stop_ratio` limits, or faster than its limit for
    `Options.velocity_limit_patience`, or the arm never came to rest where it was held: a fault."""
    MOTION_LIMITED = 1 << 12
    """An effort towards a limit of position or velocity was cut by a soft stop."""
    POSITION_EXCEEDED = 1 << 13
    """A joint has left its range: a fault."""
    MEASUREMENT_LOST = 1 << 14
    """No good measurement for `Options.gap_limit`, or the arm is elsewhere after a gap: a fault."""
    REFERENCE_LIMITED = 1 << 15
    """A reference was cut to the joint limits, or jumped and is approached."""
    REFERENCE_UNREACHED = 1 << 16
    """The reference is not approached any more: the place is held instead."""
    REFERENCE_LATE = 1 << 17
    """A stream is late by more than four of its periods: what moved comes to rest until the next sample."""


FAULTS = Guard.RUNAWAY | Guard.POSITION_EXCEEDED | Guard.MEASUREMENT_LOST
"""Guards that latch a stop until the next activation."""

BLOCKING_GUARDS = (
    Guard.MEASUREMENT_NON_FINITE
    | Guard.MEASUREMENT_STALE
    | Guard.TIME_STEP_INVALID
    | Guard.RESULT_NON_FINITE
    | Guard.STOPPING
    | Guard.NOT_ACTIVE
    | FAULTS
)
"""Guards that keep the law from being stepped; the command then approaches the safe effort."""
