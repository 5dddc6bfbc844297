"""`thunder load`: what an arm carries beyond its model, by saved estimates, as a robot is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from thunder_controllers.commands.terminal import print_table
from thunder_controllers.host import Configuration, Library, read_estimates
from thunder_controllers.load import load_words
from thunder_dynamics.build import build
from thunder_dynamics.cli import LAW_FORM, complete_law, parse_law, robot_argument
from thunder_dynamics.errors import LawError
from thunder_dynamics.inertia import DYN_NAMES, N_PARAMETERS, Inertia, nearest_consistent
from thunder_dynamics.model import RobotModel
from thunder_dynamics.readers import load_model
from thunder_dynamics.readers.command_options import reading_options

UNITS = ("kg", *["m"] * 3, *["kg·m²"] * 6)


@click.command()
@robot_argument
@click.argument("estimates", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--law", required=True, shell_complete=complete_law, help=f"That adapted: {LAW_FORM}.")
@reading_options()
def load(robot: str, estimates: Path, law: str, reading: dict[str, Any]) -> None:
    """Propose the load that a robot is told of: ESTIMATES, of ~/save_estimates, beyond the model of ROBOT.

    It tells no robot anything. It is in the frame of the end effector, on a Franka the flange.
    """
    model, request = load_model(robot, **reading), parse_law(law)
    library = Library(build(model, [request]) / f"lib{model.name}.so")
    found = carried(model, library, estimates)
    rows = zip(DYN_NAMES, map("{:.5g}".format, found.dyn), UNITS, strict=True)
    print_table([["load, about its CoM", "found", "unit"], *map(list, rows)])
    click.echo(f"load:={load_words(found)}")


def carried(model: RobotModel, library: Library, estimates: Path) -> Inertia:
    """Body that saved estimates of the end effector's link have beyond the model, in the frame of the end effector.

    Mass and CoM are the estimate's; the inertia is the nearest that a body can have.

    Args:
        model: What the library was compiled from, with its law alone.
        library: Compiled from it.
        estimates: File of `~/save_estimates`.

    Raises:
        LawError: if the law does not adapt that link, the file is none of this law, or less than nothing is carried.
    """
    configuration = Configuration(library)
    link = library.link_names[model.ee_link]
    if link not in configuration.links:
        raise LawError(
            f"the law adapts {', '.join(configuration.links)}", where="--law", valid=f"one that adapts {link}"
        )
    bodies = read_estimates(estimates, configuration)["pi_hat"].reshape(-1, N_PARAMETERS)
    excess = bodies[configuration.links.index(link)] - model.links[model.ee_link].inertia.pi
    if not excess[0] > 0.0:
        raise LawError(f"{link} weighs {excess[0]:.4g} kg more than its model", where=str(estimates), valid="above 0")
    ee = model.ee.pose
    return nearest_consistent(Inertia.from_pi(excess).transformed(ee.rotation.T, -ee.rotation.T @ ee.translation))
