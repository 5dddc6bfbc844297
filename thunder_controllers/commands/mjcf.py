"""What `thunder mjcf` does: a robot description, and what is asked of it, to a MuJoCo model file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from thunder_controllers.fields import checked
from thunder_controllers.resources import shipped
from thunder_controllers.simulation.model_file import write_model_file
from thunder_controllers.simulation.options import Payload, PlantOptions
from thunder_controllers.simulation.robot import RobotOptions, SimulatedRobot
from thunder_dynamics.cli import completer
from thunder_dynamics.errors import DimensionError, ScenarioError
from thunder_dynamics.readers import locate
from thunder_dynamics.readers.command_options import XACRO, reading_options

DESCRIPTIONS = "urdf"
"""Folder of the descriptions that come with the package."""


def _descriptions() -> Iterable[str]:
    return (name for name, file in shipped(DESCRIPTIONS).items() if ".urdf" in file.suffixes)


@click.command()
@click.argument("robot", type=click.Path(path_type=Path), shell_complete=completer(_descriptions, files=True))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The .xml or .mjb file.")
@click.option("--q-start", default="", help='Positions at the start, "0 -0.4 …" [rad or m]. [zero, or mid-range]')
@click.option("--payload-mass", type=float, help="Body fixed to a link [kg].")
@click.option("--payload-com", nargs=3, type=float, default=(0.0, 0.0, 0.0), help="Its CoM in the link's frame [m].")
@click.option(
    "--payload-inertia", nargs=6, type=float, default=(0.0,) * 6, help="Ixx Ixy Ixz Iyy Iyz Izz about its CoM [kg·m²]."
)
@click.option("--payload-link", help="Link that carries it. [the last one]")
@click.option("--integrator", type=click.Choice(["euler", "implicit", "implicitfast", "rk4"]), default="rk4")
@click.option("--timestep", type=float, default=0.001, show_default=True, help="Of the integration [s].")
@click.option("--viscous", type=float, help="Viscous friction of all joints [N·m·s/rad or N·s/m]. [the description's]")
@click.option("--coulomb", type=float, help="Coulomb friction of all joints [N·m or N]. [the description's]")
@reading_options("locked_joints", *XACRO)
def mjcf(**options: Any) -> None:
    """Write the simulated ROBOT (URDF or xacro, file or name) as a MuJoCo model file, for the hardware MujocoSystem."""
    click.echo(str(write_model(**options).resolve()))


def write_model(
    robot: Path,
    out: Path,
    *,
    reading: Mapping[str, Any] = MappingProxyType({}),
    q_start: str = "",
    payload_mass: float | None = None,
    payload_com: Sequence[float] = (0.0, 0.0, 0.0),
    payload_inertia: Sequence[float] = (0.0,) * 6,
    payload_link: str | None = None,
    integrator: str = "rk4",
    timestep: float = 0.001,
    viscous: float | None = None,
    coulomb: float | None = None,
) -> Path:
    """Write the robot that the simulation node would simulate as a MuJoCo model file.

    Args:
        robot: URDF or xacro file, package:// URI, or name of a description that comes with the package.
        out: The .xml or .mjb file.
        reading: `locked_joints`, and of xacro files `xacro_args`, `xacro_folders`, `packages`.
        q_start: Joint positions, separated by spaces [rad or m]; empty: zero, or the middle of a range without zero.
        payload_mass: Of a body fixed to a link [kg]; None for no payload.
        payload_com: Its centre of mass in the link's frame, 3 numbers [m].
        payload_inertia: Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the centre of mass [kg·m²].
        payload_link: Which link; the last one of the description by default.
        integrator: MuJoCo's: euler, implicit, implicitfast or rk4.
        timestep: Of the integration [s].
        viscous: Friction of every joint [N·m·s/rad or N·s/m]; None, with `coulomb` None, keeps the description's.
        coulomb: Friction of every joint [N·m or N].

    Returns:
        `out`.

    Raises:
        ThunderError: if the description cannot be read, or an option does not fit it.
    """
    if not timestep > 0.0:
        raise ScenarioError(f"a time step of {timestep:g} s", where="timestep", valid="a positive one")
    options = RobotOptions(
        urdf=str(locate(robot, lambda: shipped(DESCRIPTIONS), "description")),
        reading=reading,
        joints=(),
        period=timestep,
        plant=_plant_options(integrator, viscous, coulomb),
        q_start=_numbers(q_start),
    )
    simulated = SimulatedRobot(options)
    if payload_mass is not None:
        link = payload_link or simulated.plant.ee_link
        simulated.attach(_payload(payload_mass, payload_com, payload_inertia, link))
    write_model_file(simulated.plant, out, simulated.q_start)
    return out


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split())
    except ValueError as error:
        raise DimensionError(f"'{text}'", where="q_start", valid="numbers separated by spaces") from error


def _plant_options(integrator: str, viscous: float | None, coulomb: float | None) -> PlantOptions:
    values: dict[str, Any] = {"integrator": integrator}
    if viscous is not None or coulomb is not None:
        values["friction"] = {"viscous": viscous or 0.0, "coulomb": coulomb or 0.0}
    return checked(PlantOptions, values, "plant")


def _payload(mass: float, com: Sequence[float], inertia: Sequence[float], link: str) -> Payload:
    values = {"mass": mass, "com": tuple(com), "inertia": tuple(inertia), "link": link}
    return checked(Payload, values, "payload")
