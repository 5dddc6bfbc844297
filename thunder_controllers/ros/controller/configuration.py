"""From parameters to a configured host: which library, which law, which joints, options, gains, first estimates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thunder_controllers.host import (
    Configuration,
    ControlSession,
    Figure,
    Library,
    MotionLimits,
    Options,
    option_list,
    read_estimates,
)
from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common.declarations import Kind, Parameter, Values
from thunder_controllers.ros.common.parameters import DeclaredParameters
from thunder_dynamics.entries import EntryFlag
from thunder_dynamics.errors import ThunderError

GAIN_PREFIX = "gains."
"""Gain K_d of the law is the parameter gains.K_d, declared when the node is configured."""

OF_JOINTS = " In the order of the library's joints."


class ConfigurationError(ThunderError):
    """The controller cannot be configured like this."""


def load_configuration(parameters: DeclaredParameters, announced: Library | None) -> Configuration:
    """Take the library that the parameters name, or else the one that a generator has announced.

    Args:
        parameters: Of the controller.
        announced: The library of the last good message on library_topic, None if there was none.

    Raises:
        ThunderError: if there is none, it is of another robot, or lacks the law or as many joints.
    """
    library = Library(resolve(parameters["library"])) if parameters["library"] else announced
    if library is None:
        raise ConfigurationError(
            "no library has been announced",
            where=f"topic {parameters['library_topic']}",
            valid="start the generator and wait for it, or set the parameter library",
        )
    return Configuration(library, robot=parameters["robot"], law=parameters["law"], joints=parameters["joints"])


def gain_parameters(configuration: Configuration) -> tuple[Parameter, ...]:
    """Describe the law's gains as parameters; an array's elements may have narrower bounds than the widest ones."""
    return tuple(
        Parameter(
            GAIN_PREFIX + gain.name,
            Kind.DOUBLE if gain.size == 1 else Kind.DOUBLES,
            gain.defaults.item() if gain.size == 1 else tuple(gain.defaults.ravel(order="F").tolist()),
            gain.description + OF_JOINTS * bool(gain.flags & EntryFlag.JOINTS),
            unit=gain.unit,
            lower=float(gain.lower.min()),
            upper=float(gain.upper.max()),
            size=None if gain.size == 1 else gain.size,
        )
        for gain in configuration.law.gains
    )


def make_session(configuration: Configuration, parameters: DeclaredParameters, period: float) -> ControlSession:
    """Configure the host for updates a `period` [s] apart; the gains must be declared.

    Raises:
        ThunderError: for a value out of bounds, or a bad file of estimates.
    """
    if parameters["measurement_clock"]:
        what = "the simulation says when it measures"
        raise ConfigurationError(what, where="parameter measurement_clock", valid="an empty one; it is the plugin's")
    if parameters["fixed_period"]:
        what = "the periods are those of the simulation"
        raise ConfigurationError(what, where="parameter fixed_period", valid="false; it is the plugin's")
    if parameters["exports_states"]:
        what = "no other controller is in this process"
        raise ConfigurationError(what, where="parameter exports_states", valid="false; it is the plugin's")
    options = {option.name: parameters[option.name] for option in option_list()}
    options = {name: None if value == () else value for name, value in options.items()}
    session = ControlSession(
        configuration,
        Options(nominal_dt=period, **options),
        gains={entry.name: parameters[GAIN_PREFIX + entry.name] for entry in configuration.law.gains},
        estimates=read_estimates(resolve(first), configuration) if (first := parameters["estimates_file"]) else {},
    )
    session.set_motion_limits(motion_limits(parameters))
    return session


def motion_limits(parameters: Values, values: Mapping[str, Any] | None = None) -> MotionLimits:
    """Read the bounds of the controller's own motions from its parameters, those of `values` first."""

    def get(name: str) -> Any:
        return values[name] if values and name in values else parameters[name]

    bounds = {
        f"{way}_{what}": bound
        for way in ("linear", "angular")
        for what, bound in zip(("velocity", "acceleration", "jerk"), get(f"path.{way}_limits"), strict=True)
    }
    return MotionLimits(**bounds, joint_acceleration=get("path.joint_acceleration"))


def figure(parameters: DeclaredParameters, is_cartesian: bool) -> Figure:
    """Read the figure of ~/start, of the kind that the law follows."""
    group = "lissajous" if is_cartesian else "joint_lissajous"
    amplitude, frequency, phase = (parameters[f"{group}.{name}"] for name in ("amplitude", "frequency", "phase"))
    return Figure(amplitude, frequency, phase, parameters["ramp_time"])


def make_folder(folder: Path) -> None:
    """Make the folder that estimates are saved in unless a parameter says where.

    Raises:
        ConfigurationError: if that cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        valid = "a writable ROS_HOME, or parameter saved_estimates_file"
        raise ConfigurationError(f"cannot be made: {error.strerror}", where=str(folder), valid=valid) from None
