"""`thunder list`: what comes with the packages that are installed, and what a robot computes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from thunder_controllers.commands.terminal import print_table
from thunder_controllers.resources import SCENARIOS, share, shipped
from thunder_dynamics.build import law_builders, law_entry
from thunder_dynamics.cli import complete_law, robot_argument
from thunder_dynamics.errors import ScenarioError, all_loaded, loaded
from thunder_dynamics.readers import load_model, named_robots
from thunder_dynamics.readers.command_options import reading_options
from thunder_dynamics.storage.door import read_text


@click.group("list")
def listing() -> None:
    """List laws, the options of a law, robots, scenarios, or the functions of a robot."""


@listing.command()
def laws() -> None:
    """List the control laws that are installed."""
    builders = all_loaded(entry for _, entry in sorted(law_builders().items()))
    known = {name: inspect.getdoc(builder) or "–" for name, builder in builders.items()}
    print_table([["law", "what it does"], *([name, text.splitlines()[0]] for name, text in known.items())], left=2)


@listing.command()
@click.argument("law", shell_complete=complete_law)
def options(law: str) -> None:
    """List the options of LAW, and the values of each, the default first."""
    from thunder_dynamics.law import options_of

    rows = ([one.name, ", ".join(one.choices) or "–", one.doc] for one in options_of(loaded(law_entry(law))))
    print_table([["option", "values", "what it is"], *rows], left=3)


@listing.command()
def robots() -> None:
    """List the robots that come with installed packages, and their files."""
    rows = ([name, _first_comment(file), str(file)] for name, file in named_robots().items())
    print_table([["robot", "what it is", "file"], *rows], left=3)


@listing.command()
def scenarios() -> None:
    """List the scenarios that come with the package, and where they are."""
    click.echo(str(share(SCENARIOS)))
    rows = ([name, _first_comment(file)] for name, file in shipped(SCENARIOS).items())
    print_table([["scenario", "what it shows"], *rows], left=2)


def _first_comment(file: Path) -> str:
    """What a file says of itself in its first line."""
    line = read_text(file, ScenarioError).partition("\n")[0]
    return line.strip("# \n") if line.startswith("#") else "–"


@listing.command()
@robot_argument
@reading_options()
def functions(robot: str, reading: dict[str, Any]) -> None:
    """List the functions of ROBOT, a file or a name: arguments, shapes, operations."""
    from thunder_dynamics.codegen.package import Package
    from thunder_dynamics.expressions import RobotExpressions

    rows = [["function", "arguments", "what", "shape", "operations"]]
    for f in Package(RobotExpressions(load_model(robot, **reading))).table:
        shape, count = f["shape"], f["operations"]
        operations = "on request" if shape is None else "in loops" if count is None else f"{count:,}"
        arguments = ", ".join(f["arguments"]) or "–"
        rows.append([f["name"], arguments, f["description"], "×".join(map(str, shape or "–")), operations])
    print_table(rows, left=3)
