"""From parameters to a configured host: which library, which law, which joints, gains, first estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.host import Controller, Law, Library, MotionLimits, Options
from thunder_controllers.host.inertia_estimate import estimated_links
from thunder_controllers.package_uri import resolve
from thunder_controllers.ros.common.declarations import Parameter
from thunder_controllers.ros.common.library_message import find_library, parse_library_message
from thunder_controllers.ros.common.parameters import DeclaredParameters, gain_parameter
from thunder_controllers.ros.controller.estimates_file import EstimatesOwner, load_estimates
from thunder_controllers.ros.controller.parameters import GAIN_PREFIX
from thunder_dynamics.errors import LawError, NameNotFoundError, ThunderError

FloatArray = NDArray[np.float64]


class ConfigurationError(ThunderError):
    """The controller cannot be configured like this."""


@dataclass(frozen=True)
class Robot:
    """The compiled robot and what of it is used.

    Attributes:
        library: Loaded and checked.
        law: To run.
        joints: Names in joint_states, in the library's order.
        links: Whose parameters the law estimates.
    """

    library: Library
    law: Law
    joints: tuple[str, ...]
    links: tuple[str, ...]

    @property
    def is_cartesian(self) -> bool:
        """Whether the law follows poses."""
        return self.law.reference_kind == "cartesian"

    @property
    def owner(self) -> EstimatesOwner:
        """Whose estimates a file may hold."""
        return EstimatesOwner(self.library.robot, self.law, self.links)

    @property
    def gains(self) -> tuple[Parameter, ...]:
        """The law's gains as parameters."""
        return tuple(gain_parameter(GAIN_PREFIX, entry) for entry in self.law.gains)


def load_robot(parameters: DeclaredParameters, announced: str | None) -> Robot:
    """Load the library that the parameters name, or else the one that a generator has announced.

    Args:
        parameters: Of the controller.
        announced: Text of the last message on library_topic, None if there was none.

    Raises:
        ThunderError: if there is none, it is of another robot, or lacks the law or as many joints.
    """
    library = Library(_library_path(parameters, announced))
    wanted = parameters["robot"]
    if wanted and library.robot != wanted:
        raise ConfigurationError(f"the library is of robot '{library.robot}'", where=library.path, valid=f"'{wanted}'")
    law = _law(library, parameters["law"])
    joints = tuple(parameters["joints"]) or library.joint_names
    if len(joints) != library.n_joints or len(set(joints)) != len(joints):
        valid = f"{library.n_joints} different names"
        raise ConfigurationError(f"joints {list(joints)}", where="parameter joints", valid=valid)
    return Robot(library, law, joints, estimated_links(library, law))


def configure_host(
    host: Controller, robot: Robot, parameters: DeclaredParameters, gravity_compensated: bool | None
) -> None:
    """Configure the host; the gains must be declared.

    Args:
        host: Not active.
        robot: What to run.
        parameters: Of the controller.
        gravity_compensated: What the robot itself says of its gravity; None: the parameter says.

    Raises:
        ThunderError: for a value out of bounds, or a bad file of estimates.
    """
    host.configure(
        robot.library,
        law=robot.law.name,
        gains={entry.name: parameters[GAIN_PREFIX + entry.name] for entry in robot.law.gains},
        initial_state=_first_estimates(robot, parameters["estimates_file"]),
        options=Options(
            gravity_compensated_by_robot=(
                parameters["gravity_compensated_by_robot"] if gravity_compensated is None else gravity_compensated
            ),
            measurement_timeout=parameters["measurement_timeout"],
            nominal_dt=1.0 / parameters["update_rate"],
            reference_timeout=parameters["reference_timeout"],
            saturation_freezes_adaptation=parameters["saturation_freezes_adaptation"],
            effort_limit=parameters["effort_limit"] or None,
            effort_rate_limit=parameters["effort_rate_limit"] or None,
            velocity_limit=parameters["velocity_limit"] or None,
            velocity_patience=parameters["velocity_patience"],
            velocity_stop_ratio=parameters["velocity_stop_ratio"],
        ),
    )


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


def set_gains(host: Controller, values: Mapping[str, float | tuple[float, ...]]) -> None:
    """Change gains, all or none.

    Raises:
        LawError: for a value out of bounds; the gains are then as before.
    """
    before = {name: host.gain(name) for name in values}
    try:
        for name, value in values.items():
            host.set_gain(name, np.array(value))
    except ThunderError:
        for name, old in before.items():
            host.set_gain(name, old)
        raise


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


def _law(library: Library, name: str) -> Law:
    if name:
        return library.law(name)
    if len(library.laws) != 1:
        what = f"the library has {len(library.laws)} laws" if library.laws else "the library has no law"
        raise NameNotFoundError(what, where="parameter law", valid=", ".join(library.laws) or "a library with a law")
    return library.law(library.laws[0])


def _first_estimates(robot: Robot, file: str) -> dict[str, FloatArray]:
    if not file:
        return {}
    values = load_estimates(resolve(file), robot.owner)
    for entry in robot.law.state:
        if entry.name in values:
            lower, upper = (np.ravel(bound, order="F") for bound in (entry.lower, entry.upper))
            outside = (values[entry.name] < lower) | (values[entry.name] > upper)
            if outside.any():
                k = int(np.argmax(outside))
                raise LawError(
                    f"element {k} is {values[entry.name][k]:g}",
                    where=f"{file}: {entry.name}",
                    valid=f"{lower[k]:g} to {upper[k]:g}",
                )
    return values
