"""Messages of libfranka's protocol 10 as data: all numbers little-endian, packed, matrices in column-major order.

Source: the public headers of libfranka-common, research_interface/robot/{service_types,rbk_types,error}.h, and of
libfranka 0.21, include/franka/robot_state.h, for what the fields of a state mean.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

VERSION = 10
PORT = 1337
"""Of commands, TCP."""

JOINTS = 7
PERIOD = 0.001
"""Of states and commands [s]; a message id counts periods."""

HEADER = np.dtype([("command", "<u4"), ("id", "<u4"), ("size", "<u4")])
"""Of each message over TCP; `size` includes the header."""


class Command(IntEnum):
    """What a client asks for over TCP."""

    CONNECT = 0
    MOVE = 1
    STOP_MOVE = 2
    SET_COLLISION_BEHAVIOR = 3
    SET_JOINT_IMPEDANCE = 4
    SET_CARTESIAN_IMPEDANCE = 5
    SET_GUIDING_MODE = 6
    SET_EE_TO_K = 7
    SET_NE_TO_EE = 8
    SET_LOAD = 9
    AUTOMATIC_ERROR_RECOVERY = 10
    GET_ROBOT_MODEL = 11


_DEVIATION = [("translation", "<f8"), ("rotation", "<f8"), ("elbow", "<f8")]

REQUESTS = {
    Command.CONNECT: np.dtype([("version", "<u2"), ("udp_port", "<u2")]),
    Command.MOVE: np.dtype(
        [
            ("controller_mode", "<u4"),
            ("motion_generator_mode", "<u4"),
            ("maximum_path_deviation", _DEVIATION),
            ("maximum_goal_pose_deviation", _DEVIATION),
            ("use_async_motion_generator", "?"),
            ("maximum_velocity", "<f8", JOINTS),
        ]
    ),
    Command.SET_COLLISION_BEHAVIOR: np.dtype(
        [
            (f"{level}_{kind}_thresholds_{phase}", "<f8", size)
            for kind, size in (("torque", JOINTS), ("force", 6))
            for phase in ("acceleration", "nominal")
            for level in ("lower", "upper")
        ]
    ),
    Command.SET_JOINT_IMPEDANCE: np.dtype([("K_theta", "<f8", JOINTS)]),
    Command.SET_CARTESIAN_IMPEDANCE: np.dtype([("K_x", "<f8", 6)]),
    Command.SET_GUIDING_MODE: np.dtype([("guiding_mode", "?", 6), ("nullspace", "?")]),
    Command.SET_EE_TO_K: np.dtype([("EE_T_K", "<f8", 16)]),
    Command.SET_NE_TO_EE: np.dtype([("NE_T_EE", "<f8", 16)]),
    Command.SET_LOAD: np.dtype([("m_load", "<f8"), ("F_x_Cload", "<f8", 3), ("I_load", "<f8", 9)]),
}
"""What follows the header of a request; nothing for the other commands."""


class Setting(IntEnum):
    """Status of the answer to a command that sets something."""

    SUCCESS = 0
    NOT_POSSIBLE = 1
    INVALID_ARGUMENT = 2


class Move(IntEnum):
    """Status of an answer to `MOVE`: one when the motion starts, one when it ends."""

    SUCCESS = 0
    MOTION_STARTED = 1
    PREEMPTED = 2
    NOT_POSSIBLE = 5
    REFLEX_ABORTED = 8
    EMERGENCY_ABORTED = 9


class Recovery(IntEnum):
    """Status of the answer to `AUTOMATIC_ERROR_RECOVERY`."""

    SUCCESS = 0
    NOT_POSSIBLE = 1
    MANUAL_RECOVERY_REQUIRED = 3
    EMERGENCY_ABORTED = 5


INCOMPATIBLE_VERSION = 1
"""Status of the answer to `CONNECT` beside 0; the version of the robot follows either."""


class MotionGenerator(IntEnum):
    """Of a state."""

    IDLE = 0
    NONE = 5


class Controller(IntEnum):
    """Of a state; the first three as in a request of `MOVE`."""

    JOINT_IMPEDANCE = 0
    CARTESIAN_IMPEDANCE = 1
    EXTERNAL = 2
    OTHER = 3


NO_GENERATOR = 4
"""Motion generator of a request of `MOVE` that asks for torque control alone."""


class Mode(IntEnum):
    """Of the robot."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6


class Error(IntEnum):
    """Place in `errors` and `reflex_reason` of a state, of those that this robot side reports."""

    JOINT_POSITION_LIMITS_VIOLATION = 0
    JOINT_VELOCITY_VIOLATION = 3
    JOINT_REFLEX = 6
    CARTESIAN_REFLEX = 7
    COMMUNICATION_CONSTRAINTS_VIOLATION = 25
    CONTROLLER_TORQUE_DISCONTINUITY = 32
    TAU_J_RANGE_VIOLATION = 34


ERRORS = 41
"""Places of both."""


class _Field(NamedTuple):
    names: str
    size: int


_STATE = (
    _Field("O_T_EE O_T_EE_d F_T_EE EE_T_K F_T_NE NE_T_EE", 16),
    _Field("m_ee", 1),
    _Field("I_ee", 9),
    _Field("F_x_Cee", 3),
    _Field("m_load", 1),
    _Field("I_load", 9),
    _Field("F_x_Cload", 3),
    _Field("elbow elbow_d", 2),
    _Field("tau_J tau_J_d dtau_J q q_d dq dq_d ddq_d joint_contact", JOINTS),
    _Field("cartesian_contact", 6),
    _Field("joint_collision", JOINTS),
    _Field("cartesian_collision", 6),
    _Field("tau_ext_hat_filtered", JOINTS),
    _Field("O_F_ext_hat_K K_F_ext_hat_K O_dP_EE_d", 6),
    _Field("O_ddP_O", 3),
    _Field("elbow_c delbow_c ddelbow_c", 2),
    _Field("O_T_EE_c", 16),
    _Field("O_dP_EE_c O_ddP_EE_c", 6),
    _Field("theta dtheta", JOINTS),
)

STATE = np.dtype(
    [
        ("message_id", "<u8"),
        *((name, "<f4", () if field.size == 1 else field.size) for field in _STATE for name in field.names.split()),
        ("accelerometer_top", "<f4", (6, 3)),
        ("accelerometer_bottom", "<f4", (6, 3)),
        ("motion_generator_mode", "u1"),
        ("controller_mode", "u1"),
        ("errors", "?", ERRORS),
        ("reflex_reason", "?", ERRORS),
        ("robot_mode", "u1"),
        ("control_command_success_rate", "<f4"),
    ]
)
"""Of the robot, over UDP, once a period."""

COMMAND = np.dtype(
    [
        ("message_id", "<u8"),  # of the state that it answers
        ("q_c", "<f8", JOINTS),
        ("dq_c", "<f8", JOINTS),
        ("O_T_EE_c", "<f8", 16),
        ("O_dP_EE_c", "<f8", 6),
        ("elbow_c", "<f8", 2),
        ("valid_elbow", "?"),
        ("motion_generation_finished", "?"),
        ("tau_J_d", "<f8", JOINTS),
        ("torque_command_finished", "?"),
    ]
)
"""Of the client, over UDP, for a state."""
