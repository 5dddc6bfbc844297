"""Parameters of the reference node."""

from __future__ import annotations

from dataclasses import replace

from thunder_controllers.ros.common.interface import Kind, Parameter

AUTO = "auto"
CARTESIAN_MOTIONS = ("lissajous", "pose_to_pose", "excitation", "hold")
JOINT_MOTIONS = ("joint_lissajous", "joint_points", "joint_excitation", "joint_hold")
MOTIONS = (AUTO, *CARTESIAN_MOTIONS, *JOINT_MOTIONS)

_ROBOT = (
    Parameter(
        "library",
        Kind.STRING,
        "",
        "Compiled library or its generated folder, path or package:// URI, for auto and the joint motions; empty: "
        "whatever is published on library_topic.",
    ),
    Parameter(
        "library_topic",
        Kind.STRING,
        "thunder_generator/library",
        "Latched topic on which a generator tells where its library is.",
    ),
    Parameter("robot", Kind.STRING, "", "Name of the robot that the library must be of; empty: any."),
    Parameter("law", Kind.STRING, "", "Law that the controller runs, for auto; empty: the library's only one."),
    Parameter(
        "joints",
        Kind.STRINGS,
        (),
        "Names of the robot's joints in joint_states, in the library's order; empty: the library's names.",
    ),
)

_MOTION = (
    Parameter("controller", Kind.STRING, "adaptive_controller", "Node to send references to, relative or absolute."),
    Parameter("frame_id", Kind.STRING, "world", "Frame of all poses; the controller's poses must be in it."),
    Parameter(
        "type",
        Kind.STRING,
        "lissajous",
        "The motion; auto: lissajous or joint_lissajous, as the law wants it. Used by ~/start.",
        choices=MOTIONS,
        read_only=False,
    ),
    Parameter("autostart", Kind.BOOL, False, "Start as soon as the controller is active."),
    Parameter(
        "ramp_time",
        Kind.DOUBLE,
        2.0,
        "In which the motion starts, and comes to rest. Used by ~/start, ~/stop and ~/hold.",
        unit="s",
        lower=0.05,
        upper=60.0,
        read_only=False,
    ),
    Parameter(
        "centre",
        Kind.DOUBLES,
        (),
        "Centre of lissajous and excitation, place of hold; empty: where the controller is. Used by ~/start.",
        unit="m",
        read_only=False,
    ),
    Parameter(
        "ypr",
        Kind.DOUBLES,
        (),
        "Orientation R = Rz(yaw) Ry(pitch) Rx(roll); empty: the controller's. Used by ~/start.",
        unit="rad",
        read_only=False,
    ),
    Parameter(
        "limits.linear",
        Kind.DOUBLES,
        (0.25, 1.0, 10.0),
        "Velocity, acceleration and jerk of straight motion, and of the way to the start. Used by ~/start.",
        unit="m/s, m/s², m/s³",
        lower=0.0,
        upper=1e4,
        positive=True,
        size=3,
        read_only=False,
    ),
    Parameter(
        "limits.angular",
        Kind.DOUBLES,
        (1.0, 4.0, 40.0),
        "The same of turning. Used by ~/start.",
        unit="rad/s, rad/s², rad/s³",
        lower=0.0,
        upper=1e4,
        positive=True,
        size=3,
        read_only=False,
    ),
    Parameter(
        "joint_centre",
        Kind.DOUBLES,
        (),
        "Centre of joint_lissajous and joint_excitation, place of joint_hold; empty: where the joints are, or so far "
        "from their limits as the motion needs. Used by ~/start.",
        unit="rad or m",
        read_only=False,
    ),
    Parameter(
        "limits.joint",
        Kind.DOUBLES,
        (1.0, 4.0, 40.0),
        "Velocity, acceleration and jerk of every joint in joint_points, and on the way to the start of a joint "
        "motion; the robot's own velocity limits hold as well. Used by ~/start.",
        unit="rad/s, rad/s², rad/s³ or m/s, m/s², m/s³",
        lower=0.0,
        upper=1e4,
        positive=True,
        size=3,
        read_only=False,
    ),
)

_LISSAJOUS = (
    Parameter(
        "lissajous.amplitude",
        Kind.DOUBLES,
        (0.10, 0.15, 0.10),
        "A of centre + A sin(2πft + phase), per axis. Used by ~/start.",
        unit="m",
        size=3,
        read_only=False,
    ),
    Parameter(
        "lissajous.frequency",
        Kind.DOUBLES,
        (0.2, 0.1, 0.4),
        "f, per axis. Used by ~/start.",
        unit="Hz",
        lower=0.0,
        upper=20.0,
        size=3,
        read_only=False,
    ),
    Parameter(
        "lissajous.phase",
        Kind.DOUBLES,
        (0.0, 0.0, 0.0),
        "Phase, per axis. Used by ~/start.",
        unit="rad",
        size=3,
        read_only=False,
    ),
)

_POSES = (
    Parameter(
        "pose_to_pose.positions",
        Kind.DOUBLES,
        (),
        "Positions to go to, three numbers each. Used by ~/start.",
        unit="m",
        read_only=False,
    ),
    Parameter(
        "pose_to_pose.ypr",
        Kind.DOUBLES,
        (),
        "Their orientations, three numbers each; empty: that of `ypr` for all. Used by ~/start.",
        unit="rad",
        read_only=False,
    ),
    Parameter(
        "pose_to_pose.dwell",
        Kind.DOUBLE,
        0.5,
        "Rest at each pose. Used by ~/start.",
        unit="s",
        lower=0.0,
        upper=3600.0,
        read_only=False,
    ),
)

_SUMS = ("frequency", "harmonics", "seed")

_EXCITATION = (
    Parameter(
        "excitation.linear",
        Kind.DOUBLES,
        (0.05, 0.05, 0.05),
        "Amplitude of the position, per axis. Used by ~/start.",
        unit="m",
        size=3,
        read_only=False,
    ),
    Parameter(
        "excitation.angular",
        Kind.DOUBLES,
        (0.3, 0.3, 0.3),
        "Amplitude of yaw, pitch and roll about the orientation. Used by ~/start.",
        unit="rad",
        lower=0.0,
        upper=1.2,
        size=3,
        read_only=False,
    ),
    Parameter(
        "excitation.frequency",
        Kind.DOUBLE,
        0.1,
        "Base frequency; each of the motions is a sum of `harmonics` multiples of it. Used by ~/start.",
        unit="Hz",
        lower=0.001,
        upper=5.0,
        read_only=False,
    ),
    Parameter(
        "excitation.harmonics",
        Kind.INTEGER,
        3,
        "Sinusoids in each motion. Used by ~/start.",
        unit="1",
        lower=1,
        upper=20,
        read_only=False,
    ),
    Parameter(
        "excitation.seed",
        Kind.INTEGER,
        0,
        "Of the phases. Used by ~/start.",
        unit="1",
        lower=0,
        upper=2**31,
        read_only=False,
    ),
)

JOINT_FREQUENCIES = (0.1, 0.2, 0.15, 0.25)
"""Of joint_lissajous where none are given: neighbours move differently, all together repeat after 20 s [Hz]."""

_REPEATED = "fewer values than joints are repeated in turn. Used by ~/start."

_JOINT_LISSAJOUS = (
    Parameter(
        "joint_lissajous.amplitude",
        Kind.DOUBLES,
        (0.3,),
        f"A of centre + A sin(2πft + phase), per joint; {_REPEATED}",
        unit="rad or m",
        read_only=False,
    ),
    Parameter(
        "joint_lissajous.frequency",
        Kind.DOUBLES,
        (),
        f"f, per joint; empty: {', '.join(map(str, JOINT_FREQUENCIES))}; {_REPEATED}",
        unit="Hz",
        lower=0.0,
        upper=20.0,
        read_only=False,
    ),
    Parameter(
        "joint_lissajous.phase",
        Kind.DOUBLES,
        (0.0,),
        f"Phase, per joint; {_REPEATED}",
        unit="rad",
        read_only=False,
    ),
)

_JOINT_POINTS = (
    Parameter(
        "joint_points.positions",
        Kind.DOUBLES,
        (),
        "Joint positions to go to, as many numbers as joints each. Used by ~/start.",
        unit="rad or m",
        read_only=False,
    ),
    Parameter(
        "joint_points.dwell",
        Kind.DOUBLE,
        0.5,
        "Rest at each of them. Used by ~/start.",
        unit="s",
        lower=0.0,
        upper=3600.0,
        read_only=False,
    ),
)

_JOINT_EXCITATION = (
    Parameter(
        "joint_excitation.amplitude",
        Kind.DOUBLES,
        (0.3,),
        f"Largest distance from the centre, per joint; {_REPEATED}",
        unit="rad or m",
        lower=0.0,
        upper=1e3,
        read_only=False,
    ),
    *(replace(p, name=f"joint_{p.name}") for p in _EXCITATION if p.name.rpartition(".")[2] in _SUMS),
)

REFERENCE_PARAMETERS: tuple[Parameter, ...] = (
    *_ROBOT,
    *_MOTION,
    *_LISSAJOUS,
    *_POSES,
    *_EXCITATION,
    *_JOINT_LISSAJOUS,
    *_JOINT_POINTS,
    *_JOINT_EXCITATION,
)
