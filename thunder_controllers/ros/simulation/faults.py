"""Faults that the simulation can inject into what it publishes, each as a real robot or network has it.

A fault turns the message of one state into the messages that are sent instead. All are deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from sensor_msgs.msg import JointState

from thunder_controllers.ros.common.messages import NANOSECONDS

NONE = "none"


def _copy(message: JointState, **changes: object) -> JointState:
    """Copy a message whose arrays and stamp are used again, with other values for some fields."""
    copy = JointState(name=list(message.name))
    copy.header.frame_id = message.header.frame_id
    copy.header.stamp.sec, copy.header.stamp.nanosec = message.header.stamp.sec, message.header.stamp.nanosec
    copy.position, copy.velocity, copy.effort = message.position[:], message.velocity[:], message.effort[:]
    for name, value in changes.items():
        setattr(copy, name, value)
    return copy


def _without_last(message: JointState, *fields: str) -> JointState:
    return _copy(message, **{field: getattr(message, field)[:-1] for field in fields})


_Action = Callable[[JointState, "FaultInjector"], Sequence[JointState]]

_ACTIONS: dict[str, tuple[str, _Action]] = {
    NONE: ("Nothing.", lambda m, seen: [m]),
    "drop_joint_states": ("No joint_states are sent.", lambda m, seen: []),
    "drop_every_second": ("Every second joint_states message is lost.", lambda m, seen: [m] if seen.count % 2 else []),
    "nan_joint_states": ("The first position is NaN.", lambda m, _: [_copy(m, position=[math.nan, *m.position[1:]])]),
    "inf_velocity": ("The first velocity is infinite.", lambda m, _: [_copy(m, velocity=[math.inf, *m.velocity[1:]])]),
    "freeze": (
        "The sensors are stuck: values and stamp stay those of the moment of injection.",
        lambda m, seen: [seen.first],
    ),
    "stuck_sensors": (
        "Positions and velocities stay those of the moment of injection; the stamp goes on.",
        lambda m, seen: [_copy(seen.first, header=m.header)],
    ),
    "duplicate": ("Every message is sent twice.", lambda m, seen: [m, m]),
    "reorder": ("Every message is followed by a late copy of the one before.", lambda m, seen: [m, *seen.previous]),
    "wrong_names": (
        "Joint names are not those of the robot.",
        lambda m, seen: [_copy(m, name=[f"other_{name}" for name in m.name])],
    ),
    "wrong_size": (
        "The last joint has no position and no velocity.",
        lambda m, seen: [_without_last(m, "position", "velocity")],
    ),
    "missing_joint": (
        "The last joint is absent.",
        lambda m, seen: [_without_last(m, "name", "position", "velocity", "effort")],
    ),
    "empty": ("The message has no joints.", lambda m, seen: [JointState(header=m.header)]),
    "clock_jump": ("Stamps and clock are ahead by fault.clock_offset.", lambda m, seen: [m]),
    "clock_restart": ("Stamps and clock start again at zero.", lambda m, seen: [m]),
}

FAULTS = {kind: text for kind, (text, _) in _ACTIONS.items()}
"""Kinds of faults and what each does."""


class FaultInjector:
    """Turns a true message into what is sent; one per simulation."""

    def __init__(self) -> None:
        self.kind = NONE
        """The fault that acts."""
        self.count: int = 0
        """Messages since it began."""
        self.first: JointState = JointState()
        """The first of them."""
        self.previous: list[JointState] = []
        """The last one, if there was one."""
        self._offset = 0
        self._end = math.inf

    def start(self, kind: str, duration: float, clock_offset: float, time_ns: int) -> None:
        """Begin a fault; a shift of the clock outlasts its fault, as it does in life.

        Args:
            kind: One of `FAULTS`.
            duration: How long [s of simulation]; 0: until switched off.
            clock_offset: How far clock_jump goes [s].
            time_ns: Simulated time now [ns].
        """
        self.kind, self.count, self.previous = kind, 0, []
        self._end = time_ns + round(duration * NANOSECONDS) if duration > 0.0 else math.inf
        if kind == "clock_jump":
            self._offset += round(clock_offset * NANOSECONDS)
        elif kind == "clock_restart":
            self._offset = -time_ns

    def stop(self) -> None:
        """End the fault."""
        self.kind, self._end = NONE, math.inf

    def stamp(self, time_ns: int) -> int:
        """Time to publish for a simulated time [ns], never negative."""
        return max(0, time_ns + self._offset)

    def messages(self, message: JointState, time_ns: int) -> Sequence[JointState]:
        """Return what to send instead of `message`, which has the stamp of `stamp(time_ns)`."""
        if time_ns >= self._end:
            self.stop()
        if self.kind == NONE:
            return (message,)
        if self.count == 0:
            self.first = _copy(message)
        sent = _ACTIONS[self.kind][1](message, self)
        self.previous, self.count = [_copy(message)], self.count + 1
        return sent
