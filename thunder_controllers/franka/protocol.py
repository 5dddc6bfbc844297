"""Messages of libfranka's protocol as data: all numbers little-endian, packed, matrices in column-major order.

Source: the public headers of libfranka-common, research_interface/robot/{service_types,rbk_types,error}.h, those of its
commit e6aa0fc for version 5; for what the fields of a state mean include/franka/robot_state.h of libfranka 0.21.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum, auto
from typing import Any, NamedTuple

import numpy as np

PORT = 1337
"""Of commands, TCP."""

JOINTS = 7
PERIOD = 0.001
"""Of states and commands [s]; a message id counts periods."""

HEADER = np.dtype([("command", "<u4"), ("id", "<u4"), ("size", "<u4")])
"""Of each message over TCP; `size` includes the header."""


class Command(Enum):
    """What a client asks for over TCP; `Protocol.commands` has the numbers."""

    CONNECT = auto()
    MOVE = auto()
    STOP_MOVE = auto()
    GET_CARTESIAN_LIMIT = auto()
    SET_COLLISION_BEHAVIOR = auto()
    SET_JOINT_IMPEDANCE = auto()
    SET_CARTESIAN_IMPEDANCE = auto()
    SET_GUIDING_MODE = auto()
    SET_EE_TO_K = auto()
    SET_NE_TO_EE = auto()
    SET_LOAD = auto()
    SET_FILTERS = auto()
    AUTOMATIC_ERROR_RECOVERY = auto()
    LOAD_MODEL_LIBRARY = auto()
    GET_ROBOT_MODEL = auto()


class Status(Enum):
    """Of an answer; `Protocol.statuses` has the numbers."""

    SUCCESS = auto()
    NOT_POSSIBLE = auto()
    INVALID_ARGUMENT = auto()
    ERROR = auto()
    INCOMPATIBLE_VERSION = auto()
    MOTION_STARTED = auto()
    PREEMPTED = auto()
    PREEMPTED_FOR_SAFETY = auto()
    REJECTED_FOR_SAFETY = auto()
    SINGULAR = auto()
    REFLEX_ABORTED = auto()
    EMERGENCY_ABORTED = auto()
    MANUAL_RECOVERY_REQUIRED = auto()


class Controller(IntEnum):
    """Of a state; the first three as in a request of `MOVE`."""

    JOINT_IMPEDANCE = 0
    CARTESIAN_IMPEDANCE = 1
    EXTERNAL = 2
    OTHER = 3


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


_DEVIATION = [("translation", "<f8"), ("rotation", "<f8"), ("elbow", "<f8")]
_MOVE = [
    ("controller_mode", "<u4"),
    ("motion_generator_mode", "<u4"),
    ("maximum_path_deviation", _DEVIATION),
    ("maximum_goal_pose_deviation", _DEVIATION),
]

COLLISION_BEHAVIOR = np.dtype(
    [
        (f"{level}_{kind}_thresholds_{phase}", "<f8", size)
        for kind, size in (("torque", JOINTS), ("force", 6))
        for phase in ("acceleration", "nominal")
        for level in ("lower", "upper")
    ]
)

_SETTINGS = {
    Command.SET_COLLISION_BEHAVIOR: COLLISION_BEHAVIOR,
    Command.SET_JOINT_IMPEDANCE: np.dtype([("K_theta", "<f8", JOINTS)]),
    Command.SET_CARTESIAN_IMPEDANCE: np.dtype([("K_x", "<f8", 6)]),
    Command.SET_GUIDING_MODE: np.dtype([("guiding_mode", "?", 6), ("nullspace", "?")]),
    Command.SET_EE_TO_K: np.dtype([("EE_T_K", "<f8", 16)]),
    Command.SET_NE_TO_EE: np.dtype([("NE_T_EE", "<f8", 16)]),
    Command.SET_LOAD: np.dtype([("m_load", "<f8"), ("F_x_Cload", "<f8", 3), ("I_load", "<f8", 9)]),
}
_REQUESTS = {Command.CONNECT: np.dtype([("version", "<u2"), ("udp_port", "<u2")]), **_SETTINGS}

_STATUSES = dict.fromkeys(Command, (Status.SUCCESS, Status.NOT_POSSIBLE, Status.INVALID_ARGUMENT)) | {
    Command.CONNECT: (Status.SUCCESS, Status.INCOMPATIBLE_VERSION),
    Command.LOAD_MODEL_LIBRARY: (Status.SUCCESS, Status.ERROR),
}

CARTESIAN_LIMIT = np.dtype([("object_world_size", "<f8", 3), ("object_frame", "<f8", 16), ("object_activation", "?")])
"""What follows the status of the answer to `GET_CARTESIAN_LIMIT`, whatever the status is."""

_FIELDS = (
    ("O_T_EE O_T_EE_d F_T_EE EE_T_K F_T_NE NE_T_EE", 16),
    ("m_ee", 1),
    ("I_ee", 9),
    ("F_x_Cee", 3),
    ("m_load", 1),
    ("I_load", 9),
    ("F_x_Cload", 3),
    ("elbow elbow_d", 2),
    ("tau_J tau_J_d dtau_J q q_d dq dq_d ddq_d joint_contact", JOINTS),
    ("cartesian_contact", 6),
    ("joint_collision", JOINTS),
    ("cartesian_collision", 6),
    ("tau_ext_hat_filtered", JOINTS),
    ("O_F_ext_hat_K K_F_ext_hat_K O_dP_EE_d", 6),
    ("O_ddP_O", 3),
    ("elbow_c delbow_c ddelbow_c", 2),
    ("O_T_EE_c", 16),
    ("O_dP_EE_c O_ddP_EE_c", 6),
    ("theta dtheta", JOINTS),
)
"""Names of numbers of a state, and how many each of them has."""

_COMMAND = [
    ("message_id", "<u8"),  # of the state that it answers
    ("q_c", "<f8", JOINTS),
    ("dq_c", "<f8", JOINTS),
    ("O_T_EE_c", "<f8", 16),
    ("O_dP_EE_c", "<f8", 6),
    ("elbow_c", "<f8", 2),
    ("valid_elbow", "?"),
    ("motion_generation_finished", "?"),
    ("tau_J_d", "<f8", JOINTS),
]


def _state(number: str, *accelerometers: tuple[str, str, tuple[int, int]]) -> np.dtype[Any]:
    """Fields of a state whose numbers have this type."""
    return np.dtype(
        [
            ("message_id", "<u8"),
            *((name, number, () if size == 1 else size) for names, size in _FIELDS for name in names.split()),
            *accelerometers,
            ("motion_generator_mode", "u1"),
            ("controller_mode", "u1"),
            ("errors", "?", ERRORS),
            ("reflex_reason", "?", ERRORS),
            ("robot_mode", "u1"),
            ("control_command_success_rate", number),
        ]
    )


class Protocol(NamedTuple):
    """What a version of the protocol has."""

    version: int
    arms: tuple[str, ...]  #: That speak it.
    commands: tuple[Command, ...]  #: The number of each is its place.
    requests: Mapping[Command, np.dtype[Any]]  #: What follows the header; nothing for the other commands.
    statuses: Mapping[Command, tuple[Status, ...]]  #: The number of each is its place.
    torque_control: int  #: Motion generator in a request of `MOVE` for torque control; one more in a state, 0 is idle.
    state: np.dtype[Any]  #: Of the robot, over UDP, once a period.
    command: np.dtype[Any]  #: Of the client, over UDP, for a state.
    finished: str  #: Field of a command that ends torque control.


PROTOCOLS = {
    protocol.version: protocol
    for protocol in (
        Protocol(
            version=5,
            arms=("panda",),
            commands=(
                Command.CONNECT,
                Command.MOVE,
                Command.STOP_MOVE,
                Command.GET_CARTESIAN_LIMIT,
                *_SETTINGS,
                Command.SET_FILTERS,
                Command.AUTOMATIC_ERROR_RECOVERY,
                Command.LOAD_MODEL_LIBRARY,
            ),
            requests={
                **_REQUESTS,
                Command.MOVE: np.dtype(_MOVE),
                Command.GET_CARTESIAN_LIMIT: np.dtype([("id", "<i4")]),
                Command.SET_FILTERS: np.dtype([("frequencies", "<f8", 5)]),
                Command.LOAD_MODEL_LIBRARY: np.dtype([("architecture", "u1"), ("system", "u1")]),
            },
            statuses={
                **_STATUSES,
                Command.MOVE: (
                    Status.SUCCESS,
                    Status.MOTION_STARTED,
                    Status.PREEMPTED,
                    Status.NOT_POSSIBLE,
                    Status.SINGULAR,
                    Status.INVALID_ARGUMENT,
                    Status.REFLEX_ABORTED,
                    Status.EMERGENCY_ABORTED,
                ),
                Command.AUTOMATIC_ERROR_RECOVERY: (
                    Status.SUCCESS,
                    Status.NOT_POSSIBLE,
                    Status.MANUAL_RECOVERY_REQUIRED,
                    Status.REFLEX_ABORTED,
                    Status.EMERGENCY_ABORTED,
                ),
            },
            torque_control=1,  # joint velocities, of zero
            state=_state("<f8"),
            command=np.dtype(_COMMAND),
            finished="motion_generation_finished",
        ),
        Protocol(
            version=10,
            arms=("fr3", "panda"),
            commands=(
                Command.CONNECT,
                Command.MOVE,
                Command.STOP_MOVE,
                *_SETTINGS,
                Command.AUTOMATIC_ERROR_RECOVERY,
                Command.GET_ROBOT_MODEL,
            ),
            requests={
                **_REQUESTS,
                Command.MOVE: np.dtype(
                    [*_MOVE, ("use_async_motion_generator", "?"), ("maximum_velocity", "<f8", JOINTS)]
                ),
            },
            statuses={
                **_STATUSES,
                Command.MOVE: (
                    Status.SUCCESS,
                    Status.MOTION_STARTED,
                    Status.PREEMPTED,
                    Status.PREEMPTED_FOR_SAFETY,
                    Status.REJECTED_FOR_SAFETY,
                    Status.NOT_POSSIBLE,
                    Status.SINGULAR,
                    Status.INVALID_ARGUMENT,
                    Status.REFLEX_ABORTED,
                    Status.EMERGENCY_ABORTED,
                ),
                Command.AUTOMATIC_ERROR_RECOVERY: (
                    Status.SUCCESS,
                    Status.NOT_POSSIBLE,
                    Status.REJECTED_FOR_SAFETY,
                    Status.MANUAL_RECOVERY_REQUIRED,
                    Status.REFLEX_ABORTED,
                    Status.EMERGENCY_ABORTED,
                ),
            },
            torque_control=4,  # none
            state=_state("<f4", ("accelerometer_top", "<f4", (6, 3)), ("accelerometer_bottom", "<f4", (6, 3))),
            command=np.dtype([*_COMMAND, ("torque_command_finished", "?")]),
            finished="torque_command_finished",
        ),
    )
}
"""By their numbers."""
