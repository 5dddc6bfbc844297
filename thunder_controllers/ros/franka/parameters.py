"""Parameters and services that the controller node gets with robot_interface franka."""

from __future__ import annotations

import math

from thunder_controllers.ros.common.interface import Direction, Kind, Parameter, Service, Topic, Value

PREFIX = "franka."
STATE_TOPIC = "franka_robot_state_broadcaster/robot_state"
SERVICE_NODE = "service_server"
SET_LOAD = "set_load"
SET_COLLISION_BEHAVIOR = "set_full_collision_behavior"
HAND_OVER_PAYLOAD = "~/hand_over_payload"
RESET_PAYLOAD = "~/reset_payload"

SERVICES = (
    Service(
        HAND_OVER_PAYLOAD,
        "std_srvs/srv/Trigger",
        "Give the identified payload of the last link to the robot (SetLoad). While the robot is idle only.",
    ),
    Service(
        RESET_PAYLOAD,
        "std_srvs/srv/Trigger",
        "Set the robot's load back to franka.modelled_load (SetLoad). While the robot is idle only.",
    ),
)

TOPICS = (
    Topic(
        "{franka.state_topic}",
        "franka_msgs/msg/FrankaRobotState",
        Direction.SUBSCRIBES,
        "SENSOR",
        "Mode, errors, external torque, load.",
    ),
)


def _number(name: str, default: float, unit: str, text: str, *, upper: float = math.inf) -> Parameter:
    """Declare a positive number."""
    return Parameter(
        PREFIX + name, Kind.DOUBLE, default, text, unit, lower=0.0, upper=upper, positive=True, read_only=False
    )


def _mass(name: str, text: str) -> Parameter:
    """Declare a mass that is none by default."""
    return Parameter(PREFIX + name, Kind.DOUBLE, 0.0, text, "kg", lower=0.0, upper=20.0, read_only=False)


def _numbers(name: str, default: tuple[float, ...], unit: str, text: str, *, positive: bool) -> Parameter:
    """Declare numbers, as many as the default has; positive ones, or any finite ones."""
    lower, upper = (0.0, math.inf) if positive else (-1e3, 1e3)
    size = len(default)
    return Parameter(
        PREFIX + name,
        Kind.DOUBLES,
        default,
        text,
        unit,
        lower=lower,
        upper=upper,
        positive=positive,
        size=size,
        read_only=False,
    )


def _text(name: str, default: Value, text: str) -> Parameter:
    return Parameter(PREFIX + name, Kind.STRING, default, text, read_only=False)


_TORQUES = (20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0)
_FORCES = (20.0, 20.0, 20.0, 25.0, 25.0, 25.0)
_CONTACT = (15.0, 15.0, 13.0, 13.0, 9.0, 7.0, 5.0)
_ZEROS = (0.0, 0.0, 0.0)

PARAMETERS: tuple[Parameter, ...] = (
    _text("state_topic", STATE_TOPIC, "Topic of franka_robot_state_broadcaster."),
    _text("service_node", SERVICE_NODE, "Node of franka_hardware that offers set_load and the like."),
    _number("state_rate", 50.0, "Hz", "How often the newest state is looked at.", upper=200.0),
    _number("state_timeout", 0.2, "s", "A state older than this is none: no activation, no adaptation."),
    _number("service_timeout", 5.0, "s", "How long an answer of the robot's services may take."),
    _numbers("collision_torque", _TORQUES, "N·m", "External torque per joint at which the robot stops.", positive=True),
    _numbers(
        "collision_force",
        _FORCES,
        "N, N·m",
        "External force and torque at the end effector at which the robot stops.",
        positive=True,
    ),
    _numbers(
        "contact_torque",
        _CONTACT,
        "N·m",
        "External torque per joint above which adaptation is frozen; more than a payload unknown to the robot causes.",
        positive=True,
    ),
    _number("contact_release", 0.7, "1", "Contact can end below this part of contact_torque.", upper=1.0),
    _number("contact_release_time", 0.5, "s", "Contact ends after this time below the release torque."),
    _mass("modelled_load.mass", "Load set with SetLoad that the library's model contains."),
    _numbers("modelled_load.com", _ZEROS, "m", "Its centre of mass in the flange frame.", positive=False),
    _numbers(
        "modelled_load.inertia",
        _ZEROS + _ZEROS,
        "kg·m²",
        "Its Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the centre of mass, flange axes.",
        positive=False,
    ),
    _mass("modelled_end_effector.mass", "End effector set in the robot that the library's model contains."),
    _numbers("modelled_end_effector.com", _ZEROS, "m", "Its centre of mass in the flange frame.", positive=False),
    _number("load_tolerance.mass", 0.01, "kg", "Difference of mass between robot and model that is none."),
    _number("load_tolerance.first_moment", 0.001, "kg·m", "Difference of m·c along an axis that is none."),
    _numbers("flange.xyz", (0.0, 0.0, 0.107), "m", "Flange in the frame of the last link.", positive=False),
    _numbers("flange.rpy", _ZEROS, "rad", "Roll, pitch, yaw of the flange, R = Rz Ry Rx.", positive=False),
    _number("payload_limits.smallest_mass", 0.05, "kg", "A payload below this is not handed over."),
    _number("payload_limits.largest_mass", 3.0, "kg", "Nor one above this."),
    _number("payload_limits.largest_distance", 0.4, "m", "Nor one with its centre of mass further from the flange."),
)
"""All take effect when the node is configured."""
