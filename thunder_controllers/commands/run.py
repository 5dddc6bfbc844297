"""`thunder run`: a scenario to traces, metrics and a report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from thunder_dynamics.errors import ThunderError

FILE_WIDTH = 200
"""Of a table that goes elsewhere than to a terminal [characters]."""


@click.command()
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/<scenario>]"
)
@click.option("--seed", type=click.IntRange(min=0), help="Replaces the scenario's seed.")
def run(scenario: Path, out: Path | None, seed: int | None) -> None:
    """Run a simulation SCENARIO (YAML) and write traces, metrics and a report."""
    from thunder_controllers.report.page import result_rows, write_report
    from thunder_controllers.simulation.experiment import run_scenario
    from thunder_controllers.simulation.scenario import load_scenario

    try:
        loaded = load_scenario(scenario, seed)
        folder = out or Path("results") / loaded.name
        with _progress() as progress:
            result = run_scenario(loaded, folder, progress)
        report = write_report(folder, loaded.description)
    except ThunderError as error:
        click.echo(f"thunder run: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    _print_table(result_rows(result.metrics["runs"]))
    ratio = result.metrics["final_error_ratio"]
    if ratio is not None:
        first, last = result.runs[0].name, result.runs[-1].name
        click.echo(f"final error, {first} / {last}: {ratio:.4g}")
    click.echo(f"report: {report.resolve()}")


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """Show a bar per run, as (name, fraction done) is reported; where nobody watches, once at the end."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def show(name: str, fraction: float) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=1.0)
            bars.update(tasks[name], completed=fraction)

        yield show


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first row is the header; a file or a pipe gets it at full width."""
    head, *body = rows
    table = Table(head[0], box=SIMPLE_HEAD, show_edge=False)
    for name in head[1:]:
        table.add_column(Text(name), justify="right")
    for row in body:
        table.add_row(*map(Text, row))
    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    console.print(table)
