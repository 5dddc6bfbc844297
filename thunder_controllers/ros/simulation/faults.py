"""Faults that the simulation can inject into what it publishes, each as a real robot or network has it.

A fault turns the message of one state into the messages that are sent instead. All are deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sensor_msgs.msg import JointState

from thunder_controllers.ros.simulation.parameters import FAULTS
from thunder_dynamics.errors import NameNotFoundError, ScenarioError

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class FaultOptions:
    """Which fault, for how long [s of simulation; 0: until switched off], and how far a jump goes [s]."""

    kind: str = "none"
    duration: float = 0.0
    clock_offset: float = 10.0

    def __post_init__(self) -> None:
        if self.kind not in FAULTS:
            raise NameNotFoundError(f"no fault '{self.kind}'", where="fault.kind", valid=", ".join(FAULTS))
        if not (math.isfinite(self.duration) and self.duration >= 0.0):
            raise ScenarioError(f"{self.duration:g} s", where="fault.duration", valid="zero or a positive time")
        if not math.isfinite(self.clock_offset):
            raise ScenarioError(f"{self.clock_offset:g} s", where="fault.clock_offset", valid="a finite time")


class FaultInjector:
    """Turns a true message into what is sent; one per simulation."""

    def __init__(self) -> None:
        self._options = FaultOptions()
        self._offset = 0
        self._end: int | None = None
        self._count = 0
        self._kept: JointState | None = None
        self._actions: dict[str, Callable[[JointState], Iterator[JointState]]] = {
            "drop_joint_states": self._drop,
            "drop_every_second": self._drop_every_second,
            "nan_joint_states": self._nan,
            "inf_velocity": self._infinite,
            "freeze": self._freeze,
            "stuck_sensors": self._stuck,
            "duplicate": self._duplicate,
            "reorder": self._reorder,
            "wrong_names": self._wrong_names,
            "wrong_size": self._wrong_size,
            "missing_joint": self._missing_joint,
            "empty": self._empty,
        }

    @property
    def kind(self) -> str:
        """The fault that acts, or `none`."""
        return self._options.kind

    def start(self, options: FaultOptions, time_ns: int) -> None:
        """Begin a fault at simulated time `time_ns`; a shift of the clock outlasts its fault, as it does in life."""
        self._options = options
        self._end = time_ns + round(options.duration * NANOSECONDS) if options.duration > 0.0 else None
        self._count = 0
        self._kept = None
        if options.kind == "clock_jump":
            self._offset += round(options.clock_offset * NANOSECONDS)
        elif options.kind == "clock_restart":
            self._offset = -time_ns

    def stop(self) -> None:
        """End the fault."""
        self._options = FaultOptions()
        self._end = None

    def stamp(self, time_ns: int) -> int:
        """Time to publish for a simulated time [ns], never negative."""
        return max(0, time_ns + self._offset)

    def messages(self, message: JointState, time_ns: int) -> Iterator[JointState]:
        """Yield what to send instead of `message`, which has the stamp of `stamp(time_ns)`."""
        if self._end is not None and time_ns >= self._end:
            self.stop()
        action = self._actions.get(self._options.kind)
        if action is None:
            yield message
            return
        yield from action(message)
        self._count += 1

    def _drop(self, message: JointState) -> Iterator[JointState]:
        yield from ()

    def _drop_every_second(self, message: JointState) -> Iterator[JointState]:
        if self._count % 2:
            yield message

    def _nan(self, message: JointState) -> Iterator[JointState]:
        message.position[0] = math.nan
        yield message

    def _infinite(self, message: JointState) -> Iterator[JointState]:
        message.velocity[0] = math.inf
        yield message

    def _freeze(self, message: JointState) -> Iterator[JointState]:
        if self._kept is None:
            self._kept = copy_of(message)
        yield self._kept

    def _stuck(self, message: JointState) -> Iterator[JointState]:
        if self._kept is None:
            self._kept = copy_of(message)
        self._kept.header.stamp = message.header.stamp
        yield self._kept

    def _duplicate(self, message: JointState) -> Iterator[JointState]:
        yield message
        yield message

    def _reorder(self, message: JointState) -> Iterator[JointState]:
        yield message
        if self._kept is not None:
            yield self._kept
        self._kept = copy_of(message)

    def _wrong_names(self, message: JointState) -> Iterator[JointState]:
        wrong = copy_of(message)
        wrong.name = [f"other_{name}" for name in message.name]
        yield wrong

    def _wrong_size(self, message: JointState) -> Iterator[JointState]:
        wrong = copy_of(message)
        wrong.position, wrong.velocity = wrong.position[:-1], wrong.velocity[:-1]
        yield wrong

    def _missing_joint(self, message: JointState) -> Iterator[JointState]:
        wrong = copy_of(message)
        wrong.name = message.name[:-1]
        wrong.position, wrong.velocity, wrong.effort = (
            values[:-1] for values in (wrong.position, wrong.velocity, wrong.effort)
        )
        yield wrong

    def _empty(self, message: JointState) -> Iterator[JointState]:
        yield JointState(header=copy_of(message).header)


def copy_of(message: JointState) -> JointState:
    """Copy a message whose arrays and stamp are used again."""
    copy = JointState(name=list(message.name))
    copy.header.frame_id = message.header.frame_id
    copy.header.stamp.sec, copy.header.stamp.nanosec = message.header.stamp.sec, message.header.stamp.nanosec
    copy.position, copy.velocity, copy.effort = message.position[:], message.velocity[:], message.effort[:]
    return copy
