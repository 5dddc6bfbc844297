"""Parameters of the bring-up node and of the monitor."""

from __future__ import annotations

from thunder_controllers.ros.interface import Kind, Parameter

_CONTROLLER = Parameter("controller", Kind.STRING, "adaptive_controller", "The controller node, relative or absolute.")

BRINGUP_PARAMETERS: tuple[Parameter, ...] = (
    _CONTROLLER,
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

MONITOR_PARAMETERS: tuple[Parameter, ...] = (
    _CONTROLLER,
    Parameter("period", Kind.DOUBLE, 1.0, "Time between two lines.", unit="s", lower=0.05, upper=3600.0),
)
