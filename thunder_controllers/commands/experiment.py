"""`thunder experiment`: many runs to a table and a figure, judged."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from thunder_controllers.commands.terminal import print_table, show_progress
from thunder_controllers.simulation.trace import write_atomically
from thunder_dynamics.errors import ScenarioError, ThunderError

if TYPE_CHECKING:
    from thunder_controllers.experiments.runner import Outcome
    from thunder_controllers.experiments.table import Document


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder of the results. [results/<name>]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of everything random.")
@click.option(
    "--cases", type=click.IntRange(min=1), default=200, show_default=True, help="In each group of random cases."
)
@click.option("--group", "groups", multiple=True, help="Run this group only; may be repeated.")
@click.option("--long", is_flag=True, help="Runs that test patience last as long as that takes.")
@click.option("--compare", type=click.Path(dir_okay=False, path_type=Path), help="An earlier table.json, shown beside.")
@click.option(
    "--jobs", type=click.IntRange(min=1), default=os.cpu_count(), show_default="of the machine", help="Processes."
)
def experiment(
    name: str,
    out: Path | None,
    seed: int,
    cases: int,
    groups: tuple[str, ...],
    long: bool,
    compare: Path | None,
    jobs: int,
) -> None:
    """Run the experiment NAME; write a table (JSON, Markdown) and a figure.

    Ends with 1 if a criterion is missed, with 2 on an error.
    """
    from thunder_controllers.experiments.experiment import Settings, load_experiment
    from thunder_controllers.experiments.figure import write_figure
    from thunder_controllers.experiments.runner import run_cases
    from thunder_controllers.experiments.table import make_document, markdown, missed, table_rows

    started = time.perf_counter()
    try:
        earlier = None if compare is None else _read(compare)
        found, settings = load_experiment(name), Settings(seed, cases, long)
        folder = out or Path("results") / name
        folder.mkdir(parents=True, exist_ok=True)
        chosen = found.select(groups, settings)
        outcomes: dict[str, list[Outcome]] = {key: [] for key in chosen}
        with show_progress() as progress:
            for key, outcome in run_cases({key: group.cases for key, group in chosen.items()}, jobs):
                outcomes[key].append(outcome)
                progress(key, len(outcomes[key]) / len(chosen[key].cases))
        document = make_document(name, found, settings, chosen, outcomes)
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
        write_atomically(folder / "table.json", lambda file: file.write(text.encode() + b"\n"))
        write_atomically(folder / "table.md", lambda file: file.write(markdown(document, earlier).encode()))
        write_figure(folder / f"{name}.png", document, earlier)
    except (ThunderError, OSError) as error:
        click.echo(f"thunder experiment: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    print_table(table_rows(document, earlier))
    runs, lines = sum(map(len, outcomes.values())), missed(document)
    click.echo(f"{runs} runs in {time.perf_counter() - started:.0f} s: {folder.resolve()}")
    for line in lines:
        click.echo(f"missed: {line}")
    sys.exit(1 if lines else 0)


def _read(path: Path) -> Document:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScenarioError(f"cannot be read ({error})", where=str(path), valid="a table.json") from error
    if not isinstance(document, dict) or "groups" not in document:
        raise ScenarioError("no table of an experiment", where=str(path), valid="a table.json")
    return document
