"""Sub-commands of `thunder` that run things; the command line finds them by entry points."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from thunder_dynamics.errors import ThunderError


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/<scenario>]"
)
@click.option("--seed", type=click.IntRange(min=0), help="Replaces the scenario's seed.")
def run(scenario: Path, out: Path | None, seed: int | None) -> None:
    """Run a simulation SCENARIO (YAML) and write traces, metrics and a report."""
    from thunder_controllers.report import result_rows, text_table, write_report
    from thunder_controllers.simulation.experiment import run_scenario
    from thunder_controllers.simulation.scenario import load_scenario

    try:
        loaded = load_scenario(scenario, seed)
        folder = out or Path("results") / loaded.name
        progress = _Progress()
        result = run_scenario(loaded, folder, progress)
        report = write_report(folder, loaded.description)
    except ThunderError as error:
        click.echo(f"thunder run: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    click.echo(text_table(result_rows(result.metrics["runs"])))
    ratio = result.metrics["final_error_ratio"]
    if ratio is not None:
        first, last = result.runs[0].name, result.runs[-1].name
        click.echo(f"final error, {first} / {last}: {ratio:.4g}")
    click.echo(f"report: {report.resolve()}")


@click.command()
@click.argument("robot", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The .xml or .mjb file.")
@click.option("--xacro-arg", "xacro_args", multiple=True, metavar="NAME:=VALUE", help="Argument of a xacro file.")
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
def mjcf(**options: Any) -> None:
    """Write the simulated ROBOT (URDF or xacro) as a MuJoCo model file, for the hardware MujocoSystem."""
    from thunder_controllers.model_command import write_model

    try:
        click.echo(str(write_model(**options).resolve()))
    except ThunderError as error:
        click.echo(f"thunder mjcf: {' '.join(str(error).split())}", err=True)
        sys.exit(2)


class _Progress:
    """A bar on a terminal; elsewhere a line when a run starts and one when it ends."""

    WIDTH = 40

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._current = ""

    def __call__(self, name: str, fraction: float) -> None:
        if self._terminal:
            full = round(fraction * self.WIDTH)
            click.echo(
                f"\r{name}: [{'#' * full}{' ' * (self.WIDTH - full)}] {fraction:4.0%}", nl=fraction >= 1.0, err=True
            )
        elif name != self._current:
            click.echo(f"run {name}: started", err=True)
        if not self._terminal and fraction >= 1.0:
            click.echo(f"run {name}: done", err=True)
        self._current = name
