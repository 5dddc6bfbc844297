"""`thunder run`: a scenario to traces, metrics and a report."""

from __future__ import annotations

import sys
from pathlib import Path

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
    from thunder_controllers.report.page import result_rows, text_table, write_report
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
