"""`thunder list`: what comes with the packages that are installed, and what a robot computes."""

from __future__ import annotations

import inspect
from pathlib import Path

import click

from thunder_controllers.commands.info import function_rows
from thunder_controllers.commands.terminal import print_table
from thunder_controllers.resources import share
from thunder_dynamics.build import law_builders
from thunder_dynamics.readers import load_model


@click.group("list")
def listing() -> None:
    """List laws, robots, scenarios, or the functions of a robot."""


@listing.command()
def laws() -> None:
    """List the control laws that are installed."""
    known = {name: inspect.getdoc(entry.load()) or "–" for name, entry in sorted(law_builders().items())}
    print_table([["law", "what it does"], *([name, text.splitlines()[0]] for name, text in known.items())], left=2)


@listing.command()
def robots() -> None:
    """List the robots that come with the package, and where they are."""
    models = [load_model(file) for file in _shared("config/robots")]
    print_table([["robot", "joints"], *([model.name, str(model.n)] for model in models)])


@listing.command()
def scenarios() -> None:
    """List the scenarios that come with the package, and where they are."""
    first = {file.stem: file.read_text(encoding="utf-8").splitlines()[0] for file in _shared("config/scenarios")}
    print_table([["scenario", "what it shows"], *([name, line.lstrip("# ")] for name, line in first.items())], left=2)


@listing.command()
@click.argument("robot", type=click.Path(dir_okay=False))
def functions(robot: str) -> None:
    """List the functions of ROBOT, a YAML, URDF or xacro file: arguments, shapes, operations."""
    from thunder_dynamics.expressions import RobotExpressions

    print_table(function_rows(RobotExpressions(load_model(robot))), left=3)


def _shared(folder: str) -> list[Path]:
    click.echo(str(share(folder)))
    return sorted(share(folder).glob("*.yaml"))
