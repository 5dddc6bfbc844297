"""From joint_states messages to the library's joint order, with a verdict on each: names, sizes, time stamps."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from thunder_controllers.ros.common.hot_subscription import NANOSECONDS
from thunder_controllers.ros.common.joint_reader import is_foreign

FloatArray = NDArray[np.float64]


class Verdict(Enum):
    """What a joint_states message is; all but GOOD are counted, and reported on /diagnostics."""

    GOOD = "good"
    FOREIGN = "of other joints"
    """None of the robot's joints, as of a gripper beside the arm: ignored."""
    DUPLICATE = "duplicate stamp"
    """The stamp of the one before: ignored."""
    OVERTAKEN = "out of order"
    """Older than the one before, by less than the measurement timeout: ignored."""
    CLOCK_RESTARTED = "clock went back"
    """Older by more: the reference is forgotten, the place is held, the effort ramps for one step."""
    GAP = "gap in time"
    """Newer by more than the measurement timeout: the effort ramps for one step."""
    WRONG_NAMES = "joints missing"
    """A joint of the robot is missing or named twice: the effort ramps to the safe one."""
    WRONG_SIZE = "wrong sizes"
    """Fewer or more positions or velocities than names: the effort ramps to the safe one."""
    WRONG_STAMP = "impossible stamp"
    """A second or more of nanoseconds: the effort ramps to the safe one."""


class JointStateReader:
    """Reads joint_states of any order, with further joints among them, into arrays of the library's order.

    Args:
        joints: Names in the library's order.
        nominal_dt: Period [s], for the first message and after a jump of the clock.
        timeout: Measurement timeout [s].
    """

    def __init__(self, joints: Sequence[str], nominal_dt: float, timeout: float) -> None:
        self.q: FloatArray = np.zeros(len(joints))
        """Positions of the last good message [rad or m]."""
        self.qd: FloatArray = np.zeros(len(joints))
        """Velocities of the last good message [rad/s or m/s]."""
        self.time = 0.0
        """Stamp of the last message that was not ignored, since the first one [s]: exact, as it is small."""
        self.dt = nominal_dt
        """Period that the last message ended [s]."""
        self.stamp_ns = 0
        """Stamp of the same [ns]."""
        self.missing: tuple[str, ...] = ()
        """Joints that the last message with wrong names lacks or has twice."""
        self._joints = tuple(joints)
        self._nominal_dt = nominal_dt
        self._timeout_ns = round(timeout * NANOSECONDS)
        self._names: list[str] = []
        self._index = np.zeros(len(joints), dtype=np.intp)
        self._origin_ns: int | None = None

    def read(self, message: JointState) -> Verdict:
        """Judge a message, and take its values over if they are usable. Allocates next to nothing."""
        if message.name != self._names and not self._learn(message.name):
            return Verdict.FOREIGN if is_foreign(message.name, self._joints) else Verdict.WRONG_NAMES
        if message.header.stamp.nanosec >= NANOSECONDS:
            return Verdict.WRONG_STAMP
        position, velocity = message.position, message.velocity
        if len(position) != len(self._names) or len(velocity) != len(self._names):
            return Verdict.WRONG_SIZE
        verdict = self._read_stamp(message.header.stamp)
        if verdict is not Verdict.DUPLICATE and verdict is not Verdict.OVERTAKEN:
            np.frombuffer(position).take(self._index, out=self.q, mode="clip")
            np.frombuffer(velocity).take(self._index, out=self.qd, mode="clip")
        return verdict

    def _read_stamp(self, stamp: object) -> Verdict:
        now: int = stamp.sec * NANOSECONDS + stamp.nanosec  # type: ignore[attr-defined]
        verdict, self.dt = Verdict.GOOD, self._nominal_dt
        if self._origin_ns is None:
            self._origin_ns = now
        else:
            advance = now - self.stamp_ns
            if advance <= 0:
                if advance >= -self._timeout_ns:
                    return Verdict.OVERTAKEN if advance else Verdict.DUPLICATE
                verdict = Verdict.CLOCK_RESTARTED
            elif advance > self._timeout_ns:
                verdict = Verdict.GAP
            else:
                self.dt = advance / NANOSECONDS
        self.stamp_ns = now
        self.time = (now - self._origin_ns) / NANOSECONDS
        return verdict

    def _learn(self, names: Sequence[str]) -> bool:
        """Look the joints up among new names; keep the old look-up if that fails."""
        found = list(names)
        missing = tuple(joint for joint in self._joints if found.count(joint) != 1)
        if missing:
            if not (self._names and is_foreign(found, self._joints)):
                self.missing = missing
            return False
        self.missing = ()
        self._names = found
        self._index = np.array([found.index(joint) for joint in self._joints], dtype=np.intp)
        return True
