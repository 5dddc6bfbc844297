"""What a Franka says about itself, as plain values: franka_msgs/FrankaRobotState without the message type.

Field names are those of franka_msgs 3.4.0 (franka_ros2, branch jazzy).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from thunder_dynamics.errors import DimensionError, ThunderError

N_JOINTS = 7
"""Joints of every Franka arm; the arrays of its messages have this fixed size."""


class FrankaError(ThunderError):
    """Something about a Franka, or its messages, is not as it must be."""


class Mode(IntEnum):
    """Mode of the robot, by the values of `FrankaRobotState.robot_mode`."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6

    @property
    def text(self) -> str:
        """The mode in words."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Body:
    """A body whose weight the robot compensates: mass [kg] and centre of mass in the flange frame [m]."""

    mass: float = 0.0
    com: tuple[float, ...] = (0.0, 0.0, 0.0)

    def __str__(self) -> str:
        if self.mass == 0.0:
            return "none"
        return f"{self.mass:.4g} kg at ({', '.join(f'{value:.4g}' for value in self.com)}) m"


@dataclass(frozen=True)
class FrankaState:
    """One message, reduced to what decides something.

    Attributes:
        mode: What the robot is doing.
        errors: Names of the errors that are active.
        external_torque: Filtered estimate of what the model does not explain, shape (7,), [N·m].
        flags: Whether the robot itself reports contact or collision, on a joint or a Cartesian axis.
        load: What was set with SetLoad.
        end_effector: What the administrator's interface says about the end effector.
    """

    mode: Mode
    errors: tuple[str, ...]
    external_torque: tuple[float, ...]
    flags: bool
    load: Body
    end_effector: Body


def state_from_message(message: Any) -> FrankaState:
    """Convert a franka_msgs/FrankaRobotState.

    Raises:
        FrankaError: for a mode that is not known.
        DimensionError: if there are not seven external torques, or one of them or a load is not finite.
    """
    torque = tuple(float(value) for value in message.tau_ext_hat_filtered.effort)
    if len(torque) != N_JOINTS:
        raise DimensionError(f"{len(torque)} efforts", where="FrankaRobotState.tau_ext_hat_filtered", valid="7")
    load, end_effector = _body(message.inertia_load.inertia), _body(message.inertia_ee.inertia)
    if not all(map(math.isfinite, (*torque, load.mass, *load.com, end_effector.mass, *end_effector.com))):
        raise DimensionError("a torque or a load is not finite", where="FrankaRobotState", valid="numbers")
    try:
        mode = Mode(message.robot_mode)
    except ValueError:
        known = ", ".join(f"{mode.value} {mode.text}" for mode in Mode)
        raise FrankaError(f"mode {message.robot_mode}", where="FrankaRobotState.robot_mode", valid=known) from None
    errors = message.current_errors
    return FrankaState(
        mode=mode,
        errors=tuple(name for name in errors.get_fields_and_field_types() if getattr(errors, name)),
        external_torque=torque,
        flags=any(value != 0.0 for value in _indicators(message.collision_indicators)),
        load=load,
        end_effector=end_effector,
    )


def _indicators(message: Any) -> Iterable[float]:
    for axes in ("linear", "angular"):
        for what in ("collision", "contact"):
            vector = getattr(message, f"is_cartesian_{axes}_{what}")
            yield from (vector.x, vector.y, vector.z)
    yield from (*message.is_joint_collision, *message.is_joint_contact)


def _body(inertia: Any) -> Body:
    return Body(float(inertia.m), (float(inertia.com.x), float(inertia.com.y), float(inertia.com.z)))
