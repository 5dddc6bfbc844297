"""Joint states in the order of a robot, for nodes that only look at them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from thunder_dynamics.errors import DimensionError, NameNotFoundError

FloatArray = NDArray[np.float64]


class JointReader:
    """Reads joint_states into the order of a library.

    Args:
        joints: Names in the library's order.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._seen: tuple[str, ...] = ()
        self._order: list[int] = []

    def read(self, message: JointState) -> tuple[FloatArray, FloatArray]:
        """Return position [rad or m] and velocity [rad/s or m/s]; velocities that are not given are zero.

        Raises:
            NameNotFoundError: if a joint is missing.
            DimensionError: if names and values differ in number, or a value is not finite.
        """
        if tuple(message.name) != self._seen:
            self._seen = tuple(message.name)
            missing = [joint for joint in self._joints if joint not in self._seen]
            if missing:
                self._seen = ()
                raise NameNotFoundError(f"no {', '.join(missing)}", where="joint_states", valid=", ".join(self._joints))
            self._order = [self._seen.index(joint) for joint in self._joints]
        q = self._take(message.position, "position")
        return q, self._take(message.velocity, "velocity") if message.velocity else np.zeros_like(q)

    def _take(self, values: Sequence[float], what: str) -> FloatArray:
        if len(values) != len(self._seen):
            raise DimensionError(f"{len(values)} values of {what}", where="joint_states", valid=str(len(self._seen)))
        taken = np.asarray(values, dtype=float)[self._order]
        if not np.isfinite(taken).all():
            raise DimensionError(f"a {what} is not finite", where="joint_states", valid="finite numbers")
        return taken
