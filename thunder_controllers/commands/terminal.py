"""What commands have in common on the terminal: the argument SCENARIO, progress and tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from pydantic_core import to_json
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from thunder_controllers.resources import SCENARIOS, shipped
from thunder_dynamics.cli import completer

FILE_WIDTH = 200
"""Of a table that goes elsewhere than to a terminal [characters]."""

scenario_argument = click.argument(
    "scenario", type=click.Path(path_type=Path), shell_complete=completer(lambda: shipped(SCENARIOS), files=True)
)
"""The argument SCENARIO of a command: a file, or the name of one that `thunder list scenarios` shows."""

xacro_folder_option = click.option(
    "--xacro-folder",
    "xacro_folders",
    multiple=True,
    help="Folder outside its package that the scenario may have xacro files read; repeated.",
)
"""What a scenario cannot allow by itself."""


@contextmanager
def show_progress() -> Iterator[Callable[[str, float], None]]:
    """Show a bar per run, as (name, fraction done) is reported; where nobody watches, once at the end."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def show(name: str, fraction: float) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=1.0)
            bars.update(tasks[name], completed=fraction)

        yield show


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document that may hold arrays; a number that is not finite is null."""
    click.echo(to_json(document, inf_nan_mode="null", fallback=np.ndarray.tolist).decode())


def print_table(rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table, its header first and `left` columns of text; a file or a pipe gets it at full width.

    One that is wider than the terminal and has fewer rows than columns is turned; cells are folded, not cut.
    """
    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    table = _table(rows, left)
    endless = Console(width=10_000)
    width = Measurement.get(endless, endless.options, table).maximum
    if width > console.width and len(rows) < len(rows[0]):
        table = _table(list(zip(*rows, strict=True)), 1)
    console.print(table)


def _table(rows: Sequence[Sequence[str]], left: int) -> Table:
    head, *body = rows
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for place, name in enumerate(head):
        table.add_column(Text(name), justify="left" if place < left else "right", overflow="fold")
    for row in body:
        table.add_row(*map(Text, row))
    return table
