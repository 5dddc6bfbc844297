"""What commands have in common: a robot's library, the argument SCENARIO, progress and tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from thunder_controllers.resources import SCENARIOS, shipped
from thunder_dynamics.build import LawRequest, build
from thunder_dynamics.cli import completer
from thunder_dynamics.errors import LawError, ModelError, RobotFileError, ScenarioError, listed
from thunder_dynamics.readers.command_options import named_values, parse_number
from thunder_dynamics.storage.whole import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from thunder_controllers.host import Library
    from thunder_dynamics.model import RobotModel

FILE_WIDTH = 200
"""Of a table that goes elsewhere than to a terminal [characters]."""

scenario_argument = click.argument(
    "scenario", type=click.Path(path_type=Path), shell_complete=completer(lambda: shipped(SCENARIOS), files=True)
)
"""The argument SCENARIO of a command: a file, or the name of one that `thunder list scenarios` shows."""

gains_option = click.option(
    "--gains",
    "given",
    multiple=True,
    metavar="NAME=VALUE|FILE",
    help="Gain, a+b for one per joint, or ROS parameter file.",
)
"""Gains of a law, see `given_gains`; may be repeated."""

xacro_folder_option = click.option(
    "--xacro-folder",
    "xacro_folders",
    multiple=True,
    help="Folder outside its package that the scenario may have xacro files read; repeated.",
)
"""What a scenario cannot allow by itself."""


set_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of the scenario, as plant.torque_delay."
)
"""What a scenario says otherwise, see `changed`; may be repeated."""


def given_gains(given: Iterable[str]) -> dict[str, Any]:
    """Read gains by name from texts NAME=VALUE, NAME=VALUE+VALUE+… for one per joint, and ROS parameter files.

    Raises:
        LawError: for a text or file that has another form.
    """
    from thunder_controllers.analysis.gain_file import read_gains

    found: dict[str, Any] = {}
    for text in given:
        if "=" not in text:
            found |= read_gains(Path(text))
            continue
        ((name, value),) = named_values([text], error=LawError).items()
        numbers = [parse_number(word, name, LawError) for word in value.split("+")]
        found[name] = numbers if len(numbers) > 1 else numbers[0]
    return found


def changed(values: Mapping[str, Any], gains: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """What options change in a scenario: keys that are not None, gains of its law, and texts KEY.KEY=VALUE in YAML.

    Raises:
        ScenarioError: for a text that has another form.
    """
    from thunder_dynamics.readers.yaml_text import parse_yaml

    found: dict[str, Any] = {key: value for key, value in values.items() if value is not None}
    if gains:
        found["law"] = {"gains": dict(gains)}
    for key, text in named_values(settings, "--set", ScenarioError).items():
        try:
            value = parse_yaml(f"value: {text}", "--set").data["value"]
        except RobotFileError as error:
            raise ScenarioError(error.what, where=f"--set {key}", valid=error.valid) from error
        *folders, last = key.split(".")
        place = found
        for name in folders:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise ScenarioError(f"{name} is set as a whole too", where=f"--set {key}", valid="one of the two")
        place[last] = value
    return found


def of_robot(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Return what options of robot files change in a scenario: those of the controller's robot, and of the plant."""
    own = {key: value for key, value in reading.items() if key != "ee_link"}
    plant = {key: reading[key] for key in ("xacro_args", "packages") if key in reading}
    return {"robot_options": own or None, "plant": plant or None, "ee_link": reading.get("ee_link")}


def single_joint_library(model: RobotModel, laws: Sequence[LawRequest] = ()) -> Library:
    """Compile and load a robot whose joints have one position and its rate each, of their own.

    Raises:
        ModelError: for any other robot: what is compared or recorded there is not q, q̇ and q̈ of joints.
    """
    from thunder_controllers.host import Library
    from thunder_dynamics.model import SINGLE_JOINTS

    if others := model.other_joints:
        raise ModelError(f"the joints {listed(others)}", where=model.name, valid=SINGLE_JOINTS)
    return Library(build(model, laws))


@contextmanager
def show_progress() -> Iterator[Callable[[str, float], None]]:
    """Show a bar per run, as (name, fraction done) is reported; where nobody watches, once at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

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
    import numpy as np
    from pydantic_core import to_json

    click.echo(to_json(document, inf_nan_mode="null", fallback=np.ndarray.tolist).decode())


def print_notes(notes: Iterable[str]) -> None:
    """Print notes to the standard error, which leaves the output to tables and JSON."""
    for note in notes:
        click.echo(f"note: {note}", err=True)


def print_table(rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Print a table, its header first and `left` columns of text; a file or a pipe gets it at full width.

    One that is wider than the terminal and has fewer rows than columns is turned; cells are folded, not cut.
    """
    from rich.console import Console
    from rich.measure import Measurement

    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    table = _table(rows, left)
    if len(rows) < len(rows[0]):
        endless = Console(width=10_000)
        if Measurement.get(endless, endless.options, table).maximum > console.width:
            table = _table(list(zip(*rows, strict=True)), 1)
    console.print(table)


def _table(rows: Sequence[Sequence[str]], left: int) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    head, *body = rows
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    for place, name in enumerate(head):
        table.add_column(Text(name), justify="left" if place < left else "right", overflow="fold")
    for row in body:
        table.add_row(*map(Text, row))
    return table


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure in the format of the file's suffix."""
    write_whole(path, lambda file: figure.savefig(file, format=path.suffix[1:] or "png"))
