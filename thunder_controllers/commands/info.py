"""What `thunder info` does: a robot's joints with the limits that a controller keeps, and what is missing."""

from __future__ import annotations

import click
import numpy as np
import rich
import rich.box
from rich.markup import escape
from rich.table import Table

from thunder_controllers.host import Library, Limits, Options
from thunder_dynamics.build import build
from thunder_dynamics.errors import LawError
from thunder_dynamics.readers import load_model


@click.command()
@click.argument("robot", type=click.Path(dir_okay=False))
def info(robot: str) -> None:
    """Show the joints of ROBOT, a YAML, URDF or xacro file, with their limits; compiles it if it is new."""
    model = load_model(robot)
    library = Library(build(model, python=False) / f"lib{model.name}.so")
    rich.print(f"{escape(library.robot)}, hash {library.hash[:16]}")
    try:
        limits = Limits(library, Options())
    except LawError as error:
        rich.print(escape(f"No controller takes it: {error}"))
        return
    rich.print(_table(library, limits))
    for note in limits.notes:
        rich.print(escape(f"Note: {note}"))


def _table(library: Library, limits: Limits) -> Table:
    table = Table(box=rich.box.SIMPLE_HEAD)
    columns = ["joint", "position", "velocity", "acceleration", "effort", "effort rate"]
    for name in columns:
        table.add_column(name, justify="left" if name == "joint" else "right")
    values = (limits.velocity, limits.acceleration, limits.effort, limits.effort_rate)
    for i, joint in enumerate(library.joint_names):
        position = f"{_number(limits.position_lower[i])} … {_number(limits.position_upper[i])}"
        table.add_row(escape(joint), position, *(_number(value[i]) for value in values))
    table.caption = "SI units; – where there is no limit"
    return table


def _number(value: float) -> str:
    return f"{value:g}" if np.isfinite(value) else "–"
