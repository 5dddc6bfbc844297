"""`thunder experiment`: many runs to tables and figures, judged."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from thunder_controllers.commands.terminal import print_table, show_progress
from thunder_dynamics.cli import completer
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.storage.door import read_json

if TYPE_CHECKING:
    from thunder_controllers.experiments.experiment import Case, Outcome
    from thunder_controllers.experiments.table import Document

jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1), default=os.cpu_count(), show_default="of the machine", help="Processes."
)


def _names() -> Iterable[str]:
    from thunder_controllers.experiments.experiment import experiment_entries

    return experiment_entries()


@click.command()
@click.argument("name", required=False, shell_complete=completer(_names))
@click.option("--list", "lists", is_flag=True, help="Show what experiments there are.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/<name>]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of everything random.")
@click.option("--cases", type=click.IntRange(min=1), help="In each group of random cases. [the experiment's own]")
@click.option("--group", "names", multiple=True, help="Run this group only; may be repeated.")
@click.option("--long", is_flag=True, help="Runs that test patience last as long as that takes.")
@click.option("--compare", type=click.Path(dir_okay=False, path_type=Path), help="An earlier table.json, shown beside.")
@jobs_option
def experiment(
    name: str | None,
    lists: bool,
    out: Path | None,
    seed: int,
    cases: int | None,
    names: tuple[str, ...],
    long: bool,
    compare: Path | None,
    jobs: int,
) -> None:
    """Run the experiment NAME; write tables (JSON, Markdown), figures and a page.

    Ends with 1 if a criterion is missed or a run failed, with 2 on an error.
    """
    from thunder_controllers.experiments.engine import run_groups
    from thunder_controllers.experiments.experiment import FAILED, Settings, experiment_entries, load_experiment
    from thunder_controllers.experiments.report import write_report
    from thunder_controllers.experiments.table import make_document, missed

    started = time.perf_counter()
    if lists:
        known = {one: load_experiment(one).description.splitlines()[0] for one in experiment_entries()}
        print_table([["experiment", "what it shows"], *map(list, known.items())], left=2)
        return
    if name is None:
        raise ScenarioError("no experiment is named", valid=f"{', '.join(experiment_entries())}, or --list")
    earlier = None if compare is None else _read(compare)
    found = load_experiment(name)
    settings = Settings(seed, cases or found.cases, long)
    folder = out or Path("results") / name
    folder.mkdir(parents=True, exist_ok=True)
    groups = found.select(names, settings)
    with show_progress() as progress:
        findings = run_groups(groups, jobs, progress)
    document = make_document(name, found, settings, findings)
    write_report(folder, document, findings, earlier)
    results = [one for group in findings.values() for one in group.results]
    lines = [describe(*one) for one in results if one[1].ended == FAILED]
    conclude(document, earlier, len(results), started, folder, lines + [f"missed: {line}" for line in missed(document)])


def describe(case: Case, outcome: Outcome) -> str:
    """Say which run ended how, when and why."""
    stopped = outcome.values.get("stopped")
    when = "" if stopped is None else f"at t = {stopped:g} s: {outcome.why}"
    return f"{case.row}, seed {case.config.seed}: {outcome.ended} {when}{outcome.message}".rstrip()


def conclude(
    document: Document, earlier: Document | None, runs: int, started: float, folder: Path, lines: list[str]
) -> NoReturn:
    """Show the tables of what was written to a folder, and what is wrong; exit with 1 if anything is."""
    from thunder_controllers.experiments.table import tables

    for table in tables(document, earlier):
        print_table(table, left=2)
    click.echo(f"{runs} runs in {time.perf_counter() - started:.0f} s: {folder.resolve()}")
    for line in lines:
        click.secho(line, fg="red", err=True)
    raise SystemExit(1 if lines else 0)


def _read(path: Path) -> Document:
    document = read_json(path, ScenarioError)
    if not isinstance(document, dict) or "groups" not in document:
        raise ScenarioError("no table of an experiment", where=str(path), valid="a table.json")
    return document
