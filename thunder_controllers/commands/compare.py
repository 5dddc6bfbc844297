"""`thunder compare`: a scenario under laws, gains and seeds."""

from __future__ import annotations

import time
from pathlib import Path

import click

from thunder_controllers.commands.experiment import conclude, describe, jobs_option
from thunder_controllers.commands.terminal import (
    changed,
    scenario_argument,
    set_option,
    show_progress,
    xacro_folder_option,
)
from thunder_dynamics.cli import LAW_FORM, complete_law, parse_law
from thunder_dynamics.storage.whole import write_text


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
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers run, instead of processes here.")
@set_option
@xacro_folder_option
@jobs_option
def compare(
    scenario: Path,
    laws: tuple[str, ...],
    gains: tuple[str, ...],
    seeds: int,
    run_name: str | None,
    out: Path | None,
    scheduler: str | None,
    settings: tuple[str, ...],
    xacro_folders: tuple[str, ...],
    jobs: int,
) -> None:
    """Compare laws, gains and seeds on a SCENARIO (YAML file or name); write what `thunder experiment` does, and CSV.

    What the folder already holds is not run again. Ends with 1 if a run failed or was stopped, with 2 on an error.
    """
    from thunder_controllers.experiments.comparison import Kept, csv_text, make_plan, parse_grid, shown
    from thunder_controllers.experiments.engine import run_groups
    from thunder_controllers.experiments.experiment import DONE, Experiment, Settings
    from thunder_controllers.experiments.report import write_report
    from thunder_controllers.experiments.runner import choose_run
    from thunder_controllers.experiments.table import make_document
    from thunder_controllers.simulation.scenario import load_scenario

    started = time.perf_counter()
    loaded, grid = load_scenario(scenario, changed({}, {}, settings), xacro_folders), parse_grid(gains)
    run = choose_run(loaded, run_name)
    plan = make_plan(run, [parse_law(text) for text in laws], grid, seeds, loaded.name)
    folder = out or Path("results") / f"compare_{loaded.name}"
    kept = Kept(folder / "runs")
    with show_progress() as progress:
        findings = run_groups({"comparison": plan.group}, jobs, progress, kept.read, kept.keep, scheduler)
    findings = {key: shown(group) for key, group in findings.items()}
    described = Experiment(f"{loaded.name} under laws, gains and seeds.", {}, "\n\n".join(plan.notes))
    document = make_document("comparison", described, Settings(run.config.seed, seeds), findings)
    results = findings["comparison"].results
    write_text(folder / "runs.csv", csv_text(results))
    write_report(folder, document, findings)
    for note in plan.notes:
        click.echo(f"note: {note}")
    conclude(document, None, len(results), started, folder, [describe(*one) for one in results if one[1].ended != DONE])
