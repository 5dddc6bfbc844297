"""From parameters to a configured host: which library, which law, which joints, options, gains, first estimates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from thunder_controllers.host import Configuration, ControlSession, Library, MotionLimits, Options, read_estimates
from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common.declarations import Parameter
from thunder_controllers.ros.common.library_message import find_library, parse_library_message
from thunder_controllers.ros.common.parameters import DeclaredParameters, gain_parameter
from thunder_controllers.ros.controller.parameters import GAIN_PREFIX
from thunder_dynamics.errors import ThunderError

FloatArray = NDArray[np.float64]

OPTIONS = (
    "gravity_compensated_by_robot",
    "measurement_timeout",
    "reference_timeout",
    "saturation_freezes_adaptation",
    "velocity_patience",
    "velocity_stop_ratio",
)
LIMITS = ("effort_limit", "effort_rate_limit", "velocity_limit")
"""Parameters that are options of the host under the same name; an empty limit means the library's."""


class ConfigurationError(ThunderError):
    """The controller cannot be configured like this."""


def load_configuration(parameters: DeclaredParameters, announced: str | None) -> Configuration:
    """Load the library that the parameters name, or else the one that a generator has announced.

    Args:
        parameters: Of the controller.
        announced: Text of the last message on library_topic, None if there was none.

    Raises:
        ThunderError: if there is none, it is of another robot, or lacks the law or as many joints.
    """
    library = Library(_library_path(parameters, announced))
    return Configuration(library, robot=parameters["robot"], law=parameters["law"], joints=parameters["joints"])


def gain_parameters(configuration: Configuration) -> tuple[Parameter, ...]:
    """Describe the law's gains as parameters."""
    return tuple(gain_parameter(GAIN_PREFIX, entry) for entry in configuration.law.gains)


def make_session(
    configuration: Configuration, parameters: DeclaredParameters, gravity_compensated: bool | None
) -> ControlSession:
    """Configure the host; the gains must be declared.

    Args:
        configuration: What to run.
        parameters: Of the controller.
        gravity_compensated: What the robot itself says of its gravity; None: the parameter says.

    Raises:
        ThunderError: for a value out of bounds, or a bad file of estimates.
    """
    options = {name: parameters[name] for name in OPTIONS} | {name: parameters[name] or None for name in LIMITS}
    if gravity_compensated is not None:
        options["gravity_compensated_by_robot"] = gravity_compensated
    session = ControlSession(
        configuration,
        Options(nominal_dt=1.0 / parameters["update_rate"], **options),
        gains={entry.name: parameters[GAIN_PREFIX + entry.name] for entry in configuration.law.gains},
        estimates=load_estimates(parameters["estimates_file"], configuration),
    )
    session.set_motion_limits(motion_limits(parameters))
    return session


def motion_limits(parameters: DeclaredParameters, values: Mapping[str, Any] | None = None) -> MotionLimits:
    """Read the bounds of the controller's own motions from its parameters, those of `values` first."""
    linear, angular, joints = (
        (values or {}).get(name, parameters[name])
        for name in ("path.linear_limits", "path.angular_limits", "path.joint_acceleration")
    )
    return MotionLimits(
        linear_velocity=linear[0],
        linear_acceleration=linear[1],
        linear_jerk=linear[2],
        angular_velocity=angular[0],
        angular_acceleration=angular[1],
        angular_jerk=angular[2],
        joint_acceleration=joints,
    )


def load_estimates(file: str, configuration: Configuration) -> dict[str, FloatArray]:
    """Read a file of ~/save_estimates: flat values by entry of the law's state; none without a file.

    Raises:
        ThunderError: if it cannot be read, is no such file, or belongs to another robot, law or links.
    """
    if not file:
        return {}
    path = resolve(file)
    where, valid = str(path), "a file of ~/save_estimates"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "no text"
        raise ConfigurationError(f"cannot be read: {what}", where=where, valid=valid) from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"no YAML: {' '.join(str(error).split())}", where=where, valid=valid) from None
    if not isinstance(document, dict):
        raise ConfigurationError("no mapping", where=where, valid=valid)
    return read_estimates(document, configuration, where)


def _library_path(parameters: DeclaredParameters, announced: str | None) -> Path:
    if parameters["library"]:
        return find_library(parameters["library"])
    if announced is None:
        raise ConfigurationError(
            f"no library was announced within {parameters['library_timeout']:g} s",
            where=f"topic {parameters['library_topic']}",
            valid="start the generator and wait for it, or set the parameter library",
        )
    return Path(parse_library_message(announced).library)
