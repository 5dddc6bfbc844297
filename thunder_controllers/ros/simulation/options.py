"""From the parameters of the simulation node to the options of its parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thunder_controllers.fields import checked
from thunder_controllers.package_uri import resolve_file
from thunder_controllers.ros.common.declarations import Values
from thunder_controllers.ros.common.reading import reading_of
from thunder_controllers.simulation.options import Noise, Payload, PlantOptions
from thunder_controllers.simulation.robot import RobotOptions
from thunder_dynamics.errors import ScenarioError


def robot_options(parameters: Values) -> RobotOptions:
    """Read what the robot is.

    Raises:
        ScenarioError: if no description is given, or a value does not fit.
    """
    if not parameters["urdf"]:
        raise ScenarioError("no description", where="parameter urdf", valid="a path or package:// URI")
    return RobotOptions(
        urdf=resolve_file(parameters["urdf"]),
        reading=reading_of(parameters),
        period=1.0 / parameters["rate"],
        plant=_plant_options(parameters),
        has_brakes=parameters["hold_until_command"],
        **{name: parameters[name] for name in ("joints", "seed", "gravity_compensation", "q_start")},
    )


def payload_of(parameters: Values, ee_link: str) -> Payload:
    """Read the payload.

    Raises:
        ScenarioError: if no body has these parameters.
    """
    values = {name: parameters[f"payload.{name}"] for name in ("mass", "com", "inertia")}
    return checked(Payload, {"link": parameters["payload.link"] or ee_link, **values}, "parameter payload")


def _plant_options(parameters: Values) -> PlantOptions:
    data = {name: parameters[name] for name in ("integrator", "substeps", "torque_delay", "torque_lag")}
    if parameters["friction.viscous"] or parameters["friction.coulomb"]:
        data["friction"] = _per_joint(parameters, "friction", ("viscous", "coulomb"))
    noise = [name for name in Noise.model_fields if name != "effort_std"]  # no topic has efforts that are measured
    data |= {"noise": _per_joint(parameters, "noise", noise)}
    return checked(PlantOptions, data, "parameter plant")


def _per_joint(parameters: Values, group: str, names: Iterable[str]) -> dict[str, Any]:
    """Read a group of parameters: one value stands for all joints; none is zero."""
    given = {name: parameters[f"{group}.{name}"] for name in names}
    return {name: values if len(values) > 1 else sum(values, 0.0) for name, values in given.items()}
