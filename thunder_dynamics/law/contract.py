"""The contract of a control law: a fully explicit discrete-time system over named, bounded, documented signals.

    (effort, next_state, telemetry) = step(q, qd, applied_effort, measurements, reference, state, gains, dt)
    state = initial(q, qd, gains)

in this order everywhere; docs/your-law.md says what each is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import casadi as ca

from thunder_dynamics.entries import Entry

SIGNALS = ("measurements", "reference", "state", "gains", "telemetry")
"""Attributes of `Law` that hold entries, in the order of the step."""


class ReferenceKind(Enum):
    """What the reference of a law is; the values are those of thunder_abi.h."""

    JOINT = 0
    CARTESIAN = 1


@dataclass(frozen=True)
class Law:
    """A closed law: its step function and the entries of its signals.

    `step` maps (q, qd, applied_effort, measurements, reference, state, gains, dt) to (effort, next_state, telemetry),
    `initial` (q, qd, gains) to the state, all flat dense columns; it is None where no state starts from these.
    """

    name: str
    description: str
    reference_kind: ReferenceKind
    measurements: tuple[Entry, ...]
    reference: tuple[Entry, ...]
    state: tuple[Entry, ...]
    gains: tuple[Entry, ...]
    telemetry: tuple[Entry, ...]
    step: ca.Function
    initial: ca.Function | None
