"""Parameters of the bring-up nodes and of the monitor."""

from __future__ import annotations

from thunder_controllers.ros.common.interface import Kind, Parameter

_CONTROLLER = Parameter("controller", Kind.STRING, "adaptive_controller", "The controller node, relative or absolute.")

_MANAGER = Parameter(
    "controller_manager", Kind.STRING, "controller_manager", "Node of the controller_manager, relative or absolute."
)

_WAITING = (
    Parameter("library_topic", Kind.STRING, "thunder_generator/library", "Latched topic of a generator."),
    Parameter(
        "wait_for_library",
        Kind.BOOL,
        True,
        "Configure only when a library has been announced; false where the controller is given one by parameter.",
    ),
    Parameter(
        "timeout",
        Kind.DOUBLE,
        300.0,
        "Wall time after which bringing up has failed; compiling a large robot takes a minute or two.",
        unit="s",
        lower=1.0,
        upper=3600.0,
    ),
)

BRINGUP_PARAMETERS: tuple[Parameter, ...] = (
    _CONTROLLER,
    *_WAITING,
    _MANAGER,
    Parameter(
        "spawn",
        Kind.STRINGS,
        (),
        "Controllers that the spawner of controller_manager starts between configuring and activating; none: there is "
        "no ros2_control.",
    ),
    Parameter("spawn_files", Kind.STRINGS, (), "ROS parameter files of those controllers, later ones stronger."),
    Parameter("spawn_words", Kind.STRINGS, (), "More of the spawner's command line."),
)

BRINGUP_PLUGIN_PARAMETERS: tuple[Parameter, ...] = (
    Parameter("controller", Kind.STRING, "adaptive_controller", "Name of the controller in controller_manager."),
    *_WAITING,
    _MANAGER,
    Parameter("activate", Kind.BOOL, True, "Activate the controller, not only configure it."),
    Parameter("files", Kind.STRINGS, (), "ROS parameter files of the controller, later ones stronger."),
    Parameter(
        "values",
        Kind.STRING,
        "",
        "Parameters of the controller as a YAML mapping, stronger than those in files; library is added to them.",
    ),
    Parameter(
        "load",
        Kind.DOUBLES,
        (),
        "Mass and centre of mass, in the flange frame, of a load without extent that a Franka is told with SetLoad "
        "first; empty: none is set.",
        unit="kg, m",
    ),
)

MONITOR_PARAMETERS: tuple[Parameter, ...] = (
    _CONTROLLER,
    Parameter("period", Kind.DOUBLE, 1.0, "Time between two lines.", unit="s", lower=0.05, upper=3600.0),
)
