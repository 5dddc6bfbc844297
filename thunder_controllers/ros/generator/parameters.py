"""Parameters of the generator node and of the model node."""

from __future__ import annotations

from thunder_controllers.ros.common.interface import Kind, Parameter

GENERATOR_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "robot",
        Kind.STRING,
        "",
        "Robot description, YAML, URDF or xacro: path or package:// URI; empty: the topic robot_description.",
        read_only=False,
    ),
    Parameter("name", Kind.STRING, "", "Name of the robot; empty: as the description has it.", read_only=False),
    Parameter(
        "laws",
        Kind.STRINGS,
        ("cartesian_backstepping",),
        "Laws to compile in, NAME[:option=a+b[,option=c]].",
        read_only=False,
    ),
    Parameter(
        "adapted_links",
        Kind.STRINGS,
        (),
        "Option adapted_links for the laws that do not give it: names of links, or all.",
        read_only=False,
    ),
    Parameter("base_link", Kind.STRING, "", "Link of a URDF that is the base; empty: its root.", read_only=False),
    Parameter(
        "ee_link", Kind.STRING, "", "Link of a URDF that is the end effector; empty: its only leaf.", read_only=False
    ),
    Parameter(
        "allow_inconsistent",
        Kind.BOOL,
        False,
        "Warn about inertias that no rigid body has, instead of refusing the description.",
        read_only=False,
    ),
    Parameter("output", Kind.STRING, "", "Folder to write to; empty: the cache.", read_only=False),
    Parameter(
        "user_functions", Kind.STRING, "", "Python file with add_functions(robot); empty: none.", read_only=False
    ),
    Parameter(
        "portable", Kind.BOOL, False, "Compile for any processor of this kind, not for this one.", read_only=False
    ),
    Parameter("python", Kind.BOOL, False, "Build the Python module as well.", read_only=False),
)

MODEL_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "library", Kind.STRING, "", "Compiled library or its generated folder; empty: whatever is on library_topic."
    ),
    Parameter("library_topic", Kind.STRING, "thunder_generator/library", "Latched topic of a generator."),
    Parameter("functions", Kind.STRINGS, ("M", "C", "G"), "Names of the functions to evaluate and publish."),
    Parameter("rate", Kind.DOUBLE, 50.0, "Rate of publication.", unit="Hz", lower=0.1, upper=1000.0),
)
