"""What `thunder mjcf` does: a robot description, and what is asked of it, to a MuJoCo model file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
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
from thunder_dynamics.readers.command_options import parse_number, reading_options

DESCRIPTIONS = "urdf"
"""Folder of the descriptions that come with the package."""


def _descriptions() -> Iterable[str]:
    return (name for name, file in shipped(DESCRIPTIONS).items() if ".urdf" in file.suffixes)


@click.command()
@click.argument("robot", type=click.Path(path_type=Path), shell_complete=completer(_descriptions, files=True))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The .xml or .mjb file.")
@click.option(
    "--q-start",
    default="",
    help='Positions at the start, "0 -0.4 …", in the order of the description [rad or m]. [zero, or mid-range]',
)
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
@reading_options()
def mjcf(
    robot: Path,
    out: Path,
    q_start: str,
    payload_mass: float | None,
    payload_com: Sequence[float],
    payload_inertia: Sequence[float],
    payload_link: str | None,
    integrator: str,
    timestep: float,
    viscous: float | None,
    coulomb: float | None,
    reading: Mapping[str, Any],
) -> None:
    """Write the simulated ROBOT, a file or a name, as a MuJoCo model file, for the hardware MujocoSystem."""
    if not timestep > 0.0:
        raise ScenarioError(f"a time step of {timestep:g} s", where="timestep", valid="a positive one")
    rubs = viscous is not None or coulomb is not None
    friction = {"friction": {"viscous": viscous or 0.0, "coulomb": coulomb or 0.0}} if rubs else {}
    options = RobotOptions(
        urdf=locate(robot, lambda: shipped(DESCRIPTIONS), "description"),
        reading=reading,
        joints=(),
        period=timestep,
        plant=checked(PlantOptions, {"integrator": integrator, **friction}, "plant"),
        q_start=tuple(parse_number(word, "q_start", DimensionError) for word in q_start.split()),
    )
    simulated = SimulatedRobot(options)
    if payload_mass is not None:
        link = payload_link or simulated.plant.ee_link
        body = {"mass": payload_mass, "com": tuple(payload_com), "inertia": tuple(payload_inertia), "link": link}
        simulated.attach(checked(Payload, body, "payload"))
    write_model_file(simulated.plant, out, simulated.q_start)
    click.echo(str(out.resolve()))
