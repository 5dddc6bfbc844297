"""What commands show on the terminal: progress and tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

FILE_WIDTH = 200
"""Of a table that goes elsewhere than to a terminal [characters]."""


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


def print_table(rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table, its header first and `left` columns of text; a file or a pipe gets it at full width."""
    head, *body = rows
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for place, name in enumerate(head):
        table.add_column(Text(name), justify="left" if place < left else "right")
    for row in body:
        table.add_row(*map(Text, row))
    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    console.print(table)
