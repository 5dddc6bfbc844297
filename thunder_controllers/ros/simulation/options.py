"""From the parameters of the simulation node to the options of its parts."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from thunder_controllers.ros.simulation.loop import LoopOptions
from thunder_controllers.simulation.options import Payload, PlantOptions
from thunder_controllers.simulation.robot import RobotOptions
from thunder_dynamics.errors import ScenarioError

Made = TypeVar("Made")


class Parameters(Protocol):
    """Values of parameters by name; arrays are tuples."""

    def __getitem__(self, name: str) -> Any:
        """Value of a parameter."""
        ...


def robot_options(parameters: Parameters) -> RobotOptions:
    """Read what the robot is.

    Raises:
        ScenarioError: if no description is given, or a value does not fit.
    """
    if not parameters["urdf"]:
        raise ScenarioError("no description", where="parameter urdf", valid="a path or package:// URI")
    return RobotOptions(
        urdf=parameters["urdf"],
        xacro_args=xacro_arguments(parameters["xacro_args"]),
        joints=parameters["joints"],
        period=1.0 / parameters["rate"],
        plant=_plant_options(parameters),
        seed=parameters["seed"],
        gravity_compensation=parameters["gravity_compensation"],
        q_start=parameters["q_start"],
        has_brakes=parameters["hold_until_command"],
    )


def loop_options(parameters: Parameters) -> LoopOptions:
    """Read how the loop is paced."""
    return LoopOptions(
        mode=parameters["mode"],
        period=1.0 / parameters["rate"],
        lockstep_timeout=parameters["lockstep_timeout"],
        command_timeout=parameters["command_timeout"],
    )


def payload_of(parameters: Parameters, ee_link: str) -> Payload:
    """Read the payload.

    Raises:
        ScenarioError: if no body has these parameters.
    """
    values = {name: parameters[f"payload.{name}"] for name in ("mass", "com", "inertia")}
    return _make(Payload, "payload", link=parameters["payload.link"] or ee_link, **values)


def xacro_arguments(texts: tuple[str, ...]) -> dict[str, str]:
    """Split arguments NAME:=VALUE.

    Raises:
        ScenarioError: if one has another form.
    """
    pairs = {}
    for text in texts:
        name, separator, value = text.partition(":=")
        if not (name and separator):
            raise ScenarioError(f"'{text}'", where="parameter xacro_args", valid="NAME:=VALUE")
        pairs[name] = value
    return pairs


def _plant_options(parameters: Parameters) -> PlantOptions:
    data: dict[str, Any] = {
        "ee_link": parameters["ee_link"] or None,
        "integrator": parameters["integrator"],
        "substeps": parameters["substeps"],
        "torque_delay": parameters["torque_delay"],
        "noise": {
            name: _per_joint(parameters[f"noise.{name}"])
            for name in ("q_std", "qd_std", "q_resolution", "qd_resolution")
        },
    }
    friction = {name: parameters[f"friction.{name}"] for name in ("viscous", "coulomb")}
    if any(friction.values()):
        data["friction"] = {name: _per_joint(value) for name, value in friction.items()}
    return _make(PlantOptions, "plant", **data)


def _per_joint(values: tuple[float, ...]) -> float | tuple[float, ...]:
    """One value stands for all joints; none is zero."""
    if not values:
        return 0.0
    return values[0] if len(values) == 1 else values


def _make(kind: type[Made], where: str, **data: Any) -> Made:
    """Make options of a kind.

    Raises:
        ScenarioError: with the name of the first bad value.
    """
    try:
        return kind(**data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join([where, *(str(part) for part in first["loc"])])
        raise ScenarioError(f"{first['input']!r}", where=f"parameter {name}", valid=first["msg"]) from None
