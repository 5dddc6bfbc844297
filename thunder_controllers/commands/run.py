"""`thunder run`: a scenario to traces, metrics and a report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from thunder_controllers.commands.terminal import print_table, show_progress
from thunder_dynamics.errors import ThunderError


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/<scenario>]"
)
@click.option("--seed", type=click.IntRange(min=0), help="Replaces the scenario's seed.")
def run(scenario: Path, out: Path | None, seed: int | None) -> None:
    """Run a simulation SCENARIO (YAML) and write traces, metrics and a report.

    Exits with 1 if the arm had to be stopped in a run, with 2 if a scenario cannot be run.
    """
    from thunder_controllers.host import Guard, fault_text
    from thunder_controllers.report.page import result_rows, write_report
    from thunder_controllers.simulation.experiment import run_scenario
    from thunder_controllers.simulation.scenario import load_scenario

    try:
        loaded = load_scenario(scenario, seed)
        folder = out or Path("results") / loaded.name
        with show_progress() as progress:
            result = run_scenario(loaded, folder, progress)
        report = write_report(folder, loaded.description)
    except ThunderError as error:
        click.echo(f"thunder run: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    for note in dict.fromkeys(note for one in result.runs for note in one.notes):
        click.echo(f"note: {note}")
    print_table(result_rows(result.metrics["runs"]))
    ratio = result.metrics["final_error_ratio"]
    if ratio is not None:
        first, last = result.runs[0].name, result.runs[-1].name
        click.echo(f"final error, {first} / {last}: {ratio:.4g}")
    click.echo(f"report: {report.resolve()}")
    failed = [(one.name, fault) for one in result.runs if (fault := one.metrics["fault"])]
    for name, fault in failed:
        what = fault_text(Guard[fault["guard"].upper()])
        click.secho(f"run {name} failed at t = {fault['time']:g} s: {what} ({fault['guard']})", fg="red", err=True)
    if failed:
        sys.exit(1)
