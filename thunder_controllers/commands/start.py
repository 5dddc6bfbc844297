"""`thunder demo` and `thunder new`: what one starts with."""

from __future__ import annotations

import re
from pathlib import Path

import click

from thunder_controllers.commands.run import run, verbose_option
from thunder_controllers.resources import share
from thunder_dynamics.errors import ThunderError

DEMO = "panda_lissajous_wrong_last_link"
"""Scenario of `thunder demo`."""

TEMPLATE = "examples/new_project"
"""A whole project in the share folder, tested as it lies there, that `thunder new` copies under another name."""

TEMPLATE_NAME = "new_project"
NAME = re.compile(r"[a-z][a-z0-9_]*")


class ProjectError(ThunderError):
    """A project cannot be begun there."""


@click.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="results/demo", show_default=True)
@verbose_option
@click.pass_context
def demo(context: click.Context, out: Path, verbose: bool) -> None:
    """Simulate a Panda with a wrong last link, without and with adaptation; write a report."""
    context.invoke(run, scenario=Path(DEMO), out=out, verbose=verbose)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def new(folder: Path) -> None:
    """Begin a project in DIR: a robot, a law, a scenario and their test, for pip and for colcon."""
    for file in begin_project(folder):
        click.echo(str(file))
    click.echo(f"Next: cd {folder} && pip install --editable . && pytest")


def begin_project(folder: Path) -> list[Path]:
    """Write the starting project, named as the last part of `folder`.

    Returns:
        Its files.

    Raises:
        ProjectError: if the name is no Python name in lower case, or there is something in the folder.
    """
    name = folder.absolute().name
    if not NAME.fullmatch(name):
        raise ProjectError(f"'{name}' names no package", where=str(folder), valid="lower-case letters, digits and _")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError("there is something already", where=str(folder), valid="a new folder, or an empty one")
    written = []
    for source in sorted(path for path in share(TEMPLATE).rglob("*") if path.is_file()):
        target = folder / str(source.relative_to(share(TEMPLATE))).replace(TEMPLATE_NAME, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text(encoding="utf-8").replace(TEMPLATE_NAME, name), encoding="utf-8")
        written.append(target)
    return written
