"""`thunder compare`: a scenario under laws, gains and seeds."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from thunder_controllers.commands.terminal import print_table, scenario_argument, show_progress, xacro_folder_option
from thunder_dynamics.cli import LAW_FORM, complete_law, parse_law


@click.command()
@scenario_argument
@click.option(
    "--law", "laws", multiple=True, shell_complete=complete_law, help=f"{LAW_FORM}; repeated. [the scenario's]"
)
@click.option("--gains", multiple=True, help="NAME=VALUE,…: values to try, a+b for one per joint; repeated: a grid.")
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Runs of each combination.")
@click.option("--run", "run_name", help="Run of the scenario that is compared. [the last]")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results. [results/compare_<scenario>]",
)
@xacro_folder_option
@click.option(
    "--jobs", type=click.IntRange(min=1), default=os.cpu_count(), show_default="of the machine", help="Processes."
)
def compare(
    scenario: Path,
    laws: tuple[str, ...],
    gains: tuple[str, ...],
    seeds: int,
    run_name: str | None,
    out: Path | None,
    xacro_folders: tuple[str, ...],
    jobs: int,
) -> None:
    """Compare laws, gains and seeds on a SCENARIO (YAML file or name); write CSV, a table and a figure.

    What the folder already holds is not run again. Ends with 1 if a run failed or was stopped, with 2 on an error.
    """
    from thunder_controllers.experiments.comparison.plan import choose_run, make_plan, parse_grid
    from thunder_controllers.experiments.comparison.results import run_plan, table, write_results
    from thunder_controllers.experiments.experiment import DONE
    from thunder_controllers.simulation.scenario import load_scenario

    started = time.perf_counter()
    loaded, grid = load_scenario(scenario, xacro_folders=xacro_folders), parse_grid(gains)
    plan = make_plan(choose_run(loaded, run_name), [parse_law(text) for text in laws], grid, seeds)
    folder = out or Path("results") / f"compare_{loaded.name}"
    with show_progress() as progress:
        outcomes = run_plan(plan, folder, jobs, progress)
    write_results(plan, outcomes, folder, loaded.name)
    print_table(table(plan, outcomes))
    for note in plan.notes:
        click.echo(f"note: {note}")
    ended = [one for one in zip(plan.cases, outcomes, strict=True) if one[1].ended != DONE]
    for case, outcome in ended:
        when = "" if outcome.stopped is None else f"at t = {outcome.stopped:g} s: {outcome.why}"
        text = f"{case.row}, seed {case.config.seed}: {outcome.ended} {when}{outcome.message}".rstrip()
        click.secho(text, fg="red", err=True)
    click.echo(f"{len(outcomes)} runs in {time.perf_counter() - started:.0f} s: {folder.resolve()}")
    sys.exit(1 if ended else 0)
