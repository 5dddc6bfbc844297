"""Joint states in the order of a robot, for nodes that only look at them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from thunder_dynamics.errors import DimensionError, NameNotFoundError

FloatArray = NDArray[np.float64]


def is_foreign(names: Sequence[str], joints: Sequence[str]) -> bool:
    """Whether a message about joints called `names` tells of none of `joints`, as that of a gripper beside an arm."""
    return set(names).isdisjoint(joints)


def read_joints(message: JointState, joints: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return position [rad or m] and velocity [rad/s or m/s] of `joints`; velocities that are not given are zero.

    Raises:
        NameNotFoundError: if a joint is missing.
        DimensionError: if names and values differ in number, or a value is not finite.
    """
    names, where = list(message.name), "joint_states"
    if missing := [joint for joint in joints if joint not in names]:
        raise NameNotFoundError(f"no {', '.join(missing)}", where=where, valid=", ".join(joints))
    taken = []
    for what, values in (("position", message.position), ("velocity", message.velocity or [0.0] * len(names))):
        if len(values) != len(names):
            raise DimensionError(f"{len(values)} values of {what}", where=where, valid=str(len(names)))
        taken.append(np.array([values[names.index(joint)] for joint in joints], dtype=float))
        if not np.isfinite(taken[-1]).all():
            raise DimensionError(f"a {what} is not finite", where=where, valid="finite numbers")
    return taken[0], taken[1]
