"""Parameters of the simulation node, and the faults that it can inject."""

from __future__ import annotations

from thunder_controllers.ros.common.interface import Kind, Parameter

MODES = ("realtime", "lockstep")
INTEGRATORS = ("euler", "implicit", "implicitfast", "rk4")

FAULTS: dict[str, str] = {
    "none": "Nothing.",
    "drop_joint_states": "No joint_states are sent.",
    "drop_every_second": "Every second joint_states message is lost.",
    "nan_joint_states": "The first position is NaN.",
    "inf_velocity": "The first velocity is infinite.",
    "freeze": "The sensors are stuck: values and stamp stay those of the moment of injection.",
    "stuck_sensors": "Positions and velocities stay those of the moment of injection; the stamp goes on.",
    "duplicate": "Every message is sent twice.",
    "reorder": "Every message is followed by a late copy of the one before.",
    "wrong_names": "Joint names are not those of the robot.",
    "wrong_size": "The last joint has no position and no velocity.",
    "missing_joint": "The last joint is absent.",
    "empty": "The message has no joints.",
    "clock_jump": "Stamps and clock are ahead by fault.clock_offset.",
    "clock_restart": "Stamps and clock start again at zero.",
}
"""Kinds of faults and what each does."""

PER_JOINT = "one value for all joints, or one each"

_ROBOT = (
    Parameter("urdf", Kind.STRING, "", "The robot: path or package:// URI of a URDF or xacro file."),
    Parameter("xacro_args", Kind.STRINGS, (), "Arguments of a xacro file, each NAME:=VALUE."),
    Parameter("joints", Kind.STRINGS, (), "Joints in the order of messages; empty: the order of the description."),
    Parameter("ee_link", Kind.STRING, "", "Link of the end effector; empty: the last one of the description."),
    Parameter(
        "q_start", Kind.DOUBLES, (), "Positions at the start; empty: zero, or the middle of a range.", unit="rad or m"
    ),
    Parameter(
        "gravity_compensation",
        Kind.BOOL,
        False,
        "The robot adds the gravity torque of its description to every command by itself, as a Franka does.",
    ),
)

_TIME = (
    Parameter(
        "rate",
        Kind.DOUBLE,
        1000.0,
        "States and commands per second of simulated time.",
        unit="Hz",
        lower=1.0,
        upper=10000.0,
    ),
    Parameter(
        "mode",
        Kind.STRING,
        "realtime",
        "Whether a step waits for its time, or for its command (deterministic).",
        choices=MODES,
    ),
    Parameter(
        "realtime_factor",
        Kind.DOUBLE,
        1.0,
        "Simulated per wall time in mode realtime.",
        unit="1",
        lower=0.01,
        upper=100.0,
        read_only=False,
    ),
    Parameter(
        "lockstep_timeout",
        Kind.DOUBLE,
        1.0,
        "Wall time that mode lockstep waits for a command before the brakes engage.",
        unit="s",
        lower=0.01,
        upper=600.0,
    ),
    Parameter(
        "lockstep_reference",
        Kind.STRING,
        "adaptive_controller/reference",
        "References that mode lockstep waits for as well, while they answer states; empty: none.",
    ),
    Parameter(
        "lockstep_joint_reference",
        Kind.STRING,
        "adaptive_controller/joint_reference",
        "The same for references of joints; empty: none.",
    ),
    Parameter(
        "command_timeout",
        Kind.DOUBLE,
        0.1,
        "Simulated time without command after which the brakes engage in mode realtime.",
        unit="s",
        lower=0.001,
        upper=600.0,
    ),
    Parameter(
        "hold_until_command",
        Kind.BOOL,
        True,
        "The robot has brakes: they hold it before the first command and when commands have stopped. Without brakes it "
        "starts with no effort, and the last command acts on.",
    ),
    Parameter(
        "command_topic",
        Kind.STRING,
        "effort_controller/commands",
        "Topic of the effort commands, in the order of the joints.",
    ),
)

_PLANT = (
    Parameter("integrator", Kind.STRING, "rk4", "MuJoCo's integrator.", choices=INTEGRATORS),
    Parameter("substeps", Kind.INTEGER, 1, "Integration steps per command.", unit="1", lower=1, upper=1000),
    Parameter(
        "torque_delay",
        Kind.DOUBLE,
        0.0,
        "From command to effect, a multiple of the period.",
        unit="s",
        lower=0.0,
        upper=1.0,
    ),
    Parameter(
        "friction.viscous",
        Kind.DOUBLES,
        (),
        f"{PER_JOINT.capitalize()}; empty: the description's.",
        unit="N·m·s/rad or N·s/m",
        lower=0.0,
    ),
    Parameter(
        "friction.coulomb",
        Kind.DOUBLES,
        (),
        f"{PER_JOINT.capitalize()}; empty: the description's.",
        unit="N·m or N",
        lower=0.0,
    ),
    Parameter(
        "noise.q_std",
        Kind.DOUBLES,
        (0.0,),
        f"Standard deviation of measured positions, {PER_JOINT}.",
        unit="rad or m",
        lower=0.0,
    ),
    Parameter(
        "noise.qd_std",
        Kind.DOUBLES,
        (0.0,),
        f"Standard deviation of measured velocities, {PER_JOINT}.",
        unit="rad/s or m/s",
        lower=0.0,
    ),
    Parameter(
        "noise.q_resolution",
        Kind.DOUBLES,
        (0.0,),
        f"Resolution of measured positions, 0 for none, {PER_JOINT}.",
        unit="rad or m",
        lower=0.0,
    ),
    Parameter(
        "noise.qd_resolution",
        Kind.DOUBLES,
        (0.0,),
        f"Resolution of measured velocities, 0 for none, {PER_JOINT}.",
        unit="rad/s or m/s",
        lower=0.0,
    ),
    Parameter("seed", Kind.INTEGER, 0, "Of the measurement noise.", unit="1", lower=0, upper=2**53),
)

_CHANGES_ATTACH = "Used by ~/attach_payload"

_PAYLOAD = (
    Parameter(
        "payload.mass", Kind.DOUBLE, 1.0, f"Mass. {_CHANGES_ATTACH}.", unit="kg", lower=0.0, upper=1e3, read_only=False
    ),
    Parameter(
        "payload.com",
        Kind.DOUBLES,
        (0.0, 0.0, 0.0),
        f"Centre of mass in the link's frame. {_CHANGES_ATTACH}.",
        unit="m",
        size=3,
        read_only=False,
    ),
    Parameter(
        "payload.inertia",
        Kind.DOUBLES,
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        f"Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the centre of mass. {_CHANGES_ATTACH}.",
        unit="kg·m²",
        size=6,
        read_only=False,
    ),
    Parameter(
        "payload.link",
        Kind.STRING,
        "",
        f"Link that carries it; empty: the end effector's. {_CHANGES_ATTACH}.",
        read_only=False,
    ),
    Parameter("payload.attached", Kind.BOOL, False, "Attach the payload at the start."),
)


_FAULT = (
    Parameter(
        "fault.kind",
        Kind.STRING,
        "none",
        "What to inject. Used by ~/inject_fault.",
        choices=tuple(FAULTS),
        read_only=False,
    ),
    Parameter(
        "fault.duration",
        Kind.DOUBLE,
        0.0,
        "Simulated time that it lasts; 0: until switched off. Used by ~/inject_fault.",
        unit="s",
        lower=0.0,
        upper=1e6,
        read_only=False,
    ),
    Parameter(
        "fault.clock_offset",
        Kind.DOUBLE,
        10.0,
        "How far clock_jump goes. Used by ~/inject_fault.",
        unit="s",
        lower=-1e6,
        upper=1e6,
        read_only=False,
    ),
)

SIMULATION_PARAMETERS: tuple[Parameter, ...] = (*_ROBOT, *_TIME, *_PLANT, *_PAYLOAD, *_FAULT)
