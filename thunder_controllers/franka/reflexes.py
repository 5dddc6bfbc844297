"""What makes the robot stop, as a table: each reflex, its error, and how far beyond the limit the arm is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.fields import FloatArray
from thunder_controllers.franka.arm import FrankaArm
from thunder_controllers.franka.protocol import COLLISION_BEHAVIOR, PERIOD, Error

TORQUE_RATE = 1000.0
"""Largest rate of a commanded torque [N·m/s]: include/franka/rate_limiting.h, whose limiter stays 1e-3 below."""

LOST_IN_A_ROW = 20
"""Commands missing one after the other that stop the robot: libfranka, docs/overview.rst."""

WINDOW = 100
"""Commands that the success rate is of: include/franka/robot_state.h."""

VELOCITY_TOLERANCE = 1e-3
"""Of a measured velocity [rad/s]: kLimitEps of include/franka/rate_limiting.h, by which its limiter stays below."""

SATURATED = 1e-6
"""How near its limit the torque of a motor has reached it, relative: it gets no further."""

THRESHOLD = 20.0
"""Of every joint and axis until a client sets others [N·m, N]: as in libfranka's examples."""


class CollisionBehavior:
    """Thresholds of contact and collision, (7,) [N·m] and (6,) [N, N·m].

    Those for motions that accelerate are kept for motion generators; torque control goes by the nominal ones.
    """

    def __init__(self, request: NDArray[np.void] | None = None) -> None:
        if request is None:
            request = np.full(COLLISION_BEHAVIOR.itemsize // 8, THRESHOLD).view(COLLISION_BEHAVIOR)[0]
        self.contact_torque = np.array(request["lower_torque_thresholds_nominal"])
        self.collision_torque = np.array(request["upper_torque_thresholds_nominal"])
        self.contact_force = np.array(request["lower_force_thresholds_nominal"])
        self.collision_force = np.array(request["upper_force_thresholds_nominal"])


class Communication:
    """Which commands of a motion arrived in time."""

    def __init__(self) -> None:
        self._arrived: list[bool] = []
        self.lost_in_a_row = 0

    def record(self, arrived: bool) -> None:
        """Count one more period."""
        self._arrived = [*self._arrived[1 - WINDOW :], arrived]
        self.lost_in_a_row = 0 if arrived else self.lost_in_a_row + 1

    @property
    def success_rate(self) -> float:
        """Share of the last commands that arrived; zero before the first."""
        return sum(self._arrived) / max(len(self._arrived), 1)


class Cycle(NamedTuple):
    """What reflexes look at in one period."""

    arm: FrankaArm
    torque: FloatArray  #: Of the command, or the last one that arrived, (7,) [N·m].
    behavior: CollisionBehavior
    communication: Communication


class Reflex(NamedTuple):
    """A row of the table."""

    error: Error
    unit: str
    excess: Callable[[Cycle], FloatArray]
    """How far each joint or axis is beyond its limit: positive where it is."""


def _velocity_excess(cycle: Cycle) -> FloatArray:
    lower, upper = cycle.arm.limits.velocity_at(cycle.arm.q)
    return np.maximum(lower - cycle.arm.qd, cycle.arm.qd - upper) - VELOCITY_TOLERANCE


def _torque_excess(cycle: Cycle) -> FloatArray:
    """Against the torque as the state has it, which is what a client's limiter starts from."""
    before = np.asarray(cycle.arm.state["tau_J_d"], float)
    return np.asarray(np.abs(cycle.torque - before) - TORQUE_RATE * PERIOD)


REFLEXES = (
    Reflex(Error.CONTROLLER_TORQUE_DISCONTINUITY, "N·m", _torque_excess),
    Reflex(
        Error.COMMUNICATION_CONSTRAINTS_VIOLATION,
        "commands",
        lambda cycle: np.array([cycle.communication.lost_in_a_row - LOST_IN_A_ROW + 1.0]),
    ),
    Reflex(
        Error.JOINT_POSITION_LIMITS_VIOLATION,
        "rad",
        lambda cycle: np.maximum(
            cycle.arm.limits.position_lower - cycle.arm.q, cycle.arm.q - cycle.arm.limits.position_upper
        ),
    ),
    Reflex(Error.JOINT_VELOCITY_VIOLATION, "rad/s", _velocity_excess),
    Reflex(
        Error.TAU_J_RANGE_VIOLATION,
        "N·m",
        lambda cycle: np.abs(cycle.arm.measured) - cycle.arm.limits.effort * (1.0 - SATURATED),
    ),
    Reflex(Error.JOINT_REFLEX, "N·m", lambda cycle: np.abs(cycle.arm.external) - cycle.behavior.collision_torque),
    Reflex(Error.CARTESIAN_REFLEX, "N or N·m", lambda cycle: np.abs(cycle.arm.wrench) - cycle.behavior.collision_force),
)


def find_reflexes(cycle: Cycle) -> dict[Error, str]:
    """Which reflexes trip, and what is said of each."""
    found = {}
    for reflex in REFLEXES:
        excess = reflex.excess(cycle)
        worst = int(excess.argmax())
        if excess[worst] > 0.0:
            found[reflex.error] = f"{reflex.error.name.lower()}: {worst + 1}, by {excess[worst]:.3g} {reflex.unit}"
    return found
