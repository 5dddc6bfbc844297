"""Parameters of what brings controllers up, and of the monitor."""

from __future__ import annotations

from thunder_controllers.ros.common.interface import Kind, Parameter

INACTIVE, ACTIVE = "inactive", "active"

_CONTROLLER = Parameter("controller", Kind.STRING, "adaptive_controller", "The controller node, relative or absolute.")
_LIBRARY_TOPIC = Parameter("library_topic", Kind.STRING, "thunder_generator/library", "Latched topic of a generator.")
_TIMEOUT = Parameter(
    "timeout",
    Kind.DOUBLE,
    300.0,
    "Wall time after which bringing up has failed; compiling a large robot takes a minute or two.",
    unit="s",
    lower=1.0,
    upper=3600.0,
)

BRINGUP_PARAMETERS: tuple[Parameter, ...] = (
    _CONTROLLER,
    _LIBRARY_TOPIC,
    Parameter(
        "wait_for_library",
        Kind.BOOL,
        True,
        "Configure only when a library has been announced; false where the controller is given one by parameter.",
    ),
    _TIMEOUT,
    Parameter(
        "goal", Kind.STRING, ACTIVE, "Lifecycle state to bring the controller to, at least.", choices=(INACTIVE, ACTIVE)
    ),
)

WAIT_FOR_LIBRARY_PARAMETERS: tuple[Parameter, ...] = (
    Parameter("controller", Kind.STRING, "adaptive_controller", "Name of the controller that is given the library."),
    _LIBRARY_TOPIC,
    _TIMEOUT,
    Parameter("file", Kind.STRING, "", "ROS parameter file to write, with the parameter library of the controller."),
)

SET_LOAD_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "load",
        Kind.DOUBLES,
        (),
        "Mass and centre of mass, in the flange frame, of a load without extent: four numbers, the first positive.",
        unit="kg, m",
    ),
    _TIMEOUT,
)

MONITOR_PARAMETERS: tuple[Parameter, ...] = (
    _CONTROLLER,
    Parameter("period", Kind.DOUBLE, 1.0, "Time between two lines.", unit="s", lower=0.05, upper=3600.0),
)
