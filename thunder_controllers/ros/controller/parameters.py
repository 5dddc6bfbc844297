"""Parameters of the controller node; the gains of the law come on top, from the library's own metadata."""

from __future__ import annotations

import math

from thunder_controllers.ros.common.interface import Kind, Parameter
from thunder_controllers.ros.controller.robot_guard import INTERFACES

GAIN_PREFIX = "gains."
PATH_PREFIX = "path."
"""Gain K_d of the law is the parameter gains.K_d, declared when the node is configured."""

AT_CONFIGURE = "Takes effect when the node is configured."

PARAMETERS = (
    Parameter(
        "library",
        Kind.STRING,
        "",
        f"Compiled library lib<robot>.so or its generated folder, path or package:// URI; empty: whatever is published "
        f"on library_topic. {AT_CONFIGURE}",
        read_only=False,
    ),
    Parameter(
        "library_topic",
        Kind.STRING,
        "thunder_generator/library",
        "Latched topic on which a generator tells where its library is.",
    ),
    Parameter(
        "library_timeout",
        Kind.DOUBLE,
        10.0,
        "How long configuring waits for a message on library_topic.",
        unit="s",
        lower=0.0,
        upper=600.0,
        read_only=False,
    ),
    Parameter(
        "robot",
        Kind.STRING,
        "",
        f"Name of the robot that the library must be of; empty: any. {AT_CONFIGURE}",
        read_only=False,
    ),
    Parameter(
        "law",
        Kind.STRING,
        "",
        f"Law of the library to run; empty: its only one. {AT_CONFIGURE}",
        read_only=False,
    ),
    Parameter(
        "joints",
        Kind.STRINGS,
        (),
        "Names of the robot's joints in joint_states, in the library's order, which is the order of the commands too; "
        f"empty: the library's names. {AT_CONFIGURE}",
        read_only=False,
    ),
    Parameter(
        "command_topic",
        Kind.STRING,
        "effort_controller/commands",
        "Where the efforts are published, for a forward_command_controller.",
    ),
    Parameter("base_frame", Kind.STRING, "world", "Frame of poses and references."),
    Parameter("ee_frame", Kind.STRING, "ee", "Frame of the end effector."),
    Parameter(
        "update_rate",
        Kind.DOUBLE,
        1000.0,
        f"Nominal rate of joint_states. {AT_CONFIGURE}",
        unit="Hz",
        lower=10.0,
        upper=10000.0,
        read_only=False,
    ),
    Parameter(
        "realtime_priority",
        Kind.INTEGER,
        50,
        "Priority of the policy SCHED_FIFO for all threads of the process, where the system permits it; 0: normal "
        f"scheduling, under which commands come late when the processor is busy. {AT_CONFIGURE}",
        unit="1",
        lower=0,
        upper=99,
        read_only=False,
    ),
    Parameter(
        "gravity_compensated_by_robot",
        Kind.BOOL,
        False,
        f"The robot adds its own gravity torque to the command: true on a Franka, false in MuJoCo. {AT_CONFIGURE}",
        read_only=False,
    ),
    Parameter(
        "robot_interface",
        Kind.STRING,
        "generic",
        "Robot beside the effort interface: franka reads its mode and errors, freezes adaptation on contact, and takes "
        f"gravity as compensated. {AT_CONFIGURE}",
        choices=INTERFACES,
        read_only=False,
    ),
    Parameter(
        "measurement_timeout",
        Kind.DOUBLE,
        0.01,
        f"Stamps of joint_states further apart than this are a gap: the effort ramps to the safe one. {AT_CONFIGURE}",
        unit="s",
        lower=0.0,
        upper=10.0,
        positive=True,
        read_only=False,
    ),
    Parameter(
        "watchdog_timeout",
        Kind.DOUBLE,
        0.05,
        "Wall-clock time without a usable joint_states after which the effort ramps to the safe one; longer than the "
        f"pauses of a simulation in lock-step. {AT_CONFIGURE}",
        unit="s",
        lower=0.005,
        upper=60.0,
        read_only=False,
    ),
    Parameter(
        "reference_timeout",
        Kind.DOUBLE,
        0.1,
        f"A reference stream silent for longer is lost: the motion is brought to rest and held. {AT_CONFIGURE}",
        unit="s",
        lower=0.0,
        upper=math.inf,
        positive=True,
        read_only=False,
    ),
    Parameter(
        "publish_rate",
        Kind.DOUBLE,
        50.0,
        f"Rate of estimates, errors, state and pose. {AT_CONFIGURE}",
        unit="Hz",
        lower=0.1,
        upper=1000.0,
        read_only=False,
    ),
    Parameter("diagnostics_rate", Kind.DOUBLE, 1.0, "Rate of /diagnostics.", unit="Hz", lower=0.1, upper=100.0),
    Parameter(
        "estimates_file",
        Kind.STRING,
        "",
        "Saved estimates to start from, and where ~/save_estimates writes; empty: the library's own values, and "
        f"<robot>_<law>_estimates.yaml in the working folder. {AT_CONFIGURE}",
        read_only=False,
    ),
    Parameter(
        "freeze_on_start",
        Kind.BOOL,
        False,
        "Do not adapt until ~/freeze_adaptation says so. Takes effect when the node is activated.",
        read_only=False,
    ),
    Parameter(
        "saturation_freezes_adaptation",
        Kind.BOOL,
        True,
        f"Keep the estimates while the effort is limited. {AT_CONFIGURE}",
        read_only=False,
    ),
    Parameter(
        "velocity_patience",
        Kind.DOUBLE,
        0.1,
        "A joint faster than velocity_stop_ratio velocity limits for longer has run away: the arm is braked and the "
        f"controller deactivates; infinite: never. {AT_CONFIGURE}",
        unit="s",
        lower=0.0,
        upper=math.inf,
        positive=True,
        read_only=False,
    ),
    Parameter(
        "velocity_stop_ratio",
        Kind.DOUBLE,
        3.0,
        "What counts as too fast for that, in velocity limits; 1 suits arms whose references are smooth. "
        f"{AT_CONFIGURE}",
        unit="1",
        lower=1.0,
        upper=1000.0,
        read_only=False,
    ),
    Parameter(
        "path.linear_limits",
        Kind.DOUBLES,
        (0.25, 1.0, 10.0),
        "Velocity, acceleration and jerk of the end effector on the way to ~/target_pose, and to rest.",
        unit="m/s, m/s², m/s³",
        lower=0.0,
        positive=True,
        size=3,
        read_only=False,
    ),
    Parameter(
        "path.angular_limits",
        Kind.DOUBLES,
        (1.0, 4.0, 40.0),
        "Angular velocity, acceleration and jerk on the way to ~/target_pose, and to rest.",
        unit="rad/s, rad/s², rad/s³",
        lower=0.0,
        positive=True,
        size=3,
        read_only=False,
    ),
    Parameter(
        "path.joint_acceleration",
        Kind.DOUBLE,
        4.0,
        "Acceleration of the joints on the way to rest when a joint law's reference is lost.",
        unit="rad/s² or m/s²",
        lower=0.0,
        positive=True,
        read_only=False,
    ),
)
