"""The command `thunder`: `gen` here, further sub-commands from entry points of the group `thunder.commands`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any

import click

from thunder_dynamics.build import build, save_functions
from thunder_dynamics.errors import LawError, ThunderError, spelled
from thunder_dynamics.readers import InconsistentInertiaWarning, load_model
from thunder_dynamics.version import __version__


class _Commands(click.Group):
    """A group whose further commands are found by entry points, so that packages can add their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = {entry.name for entry in entry_points(group="thunder.commands")}
        return sorted({*super().list_commands(ctx), *found})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        for entry in entry_points(group="thunder.commands", name=cmd_name):
            command = entry.load()
            return command if isinstance(command, click.Command) else None
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        ctx.with_resource(spelled(_spelling(command)))
        return name, command, rest


def _spelling(command: click.Command | None) -> dict[str, str]:
    """How messages call what a command's options set: as they are typed."""
    options = (p for p in (command.params if command else ()) if isinstance(p, click.Option) and p.name)
    return {str(p.name): " ".join(filter(None, (max(p.opts, key=len), p.metavar))) for p in options}


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="thunder")
def thunder() -> None:
    """Compile robots and control laws, and run them."""


@thunder.command()
@click.argument("robot", type=click.Path(dir_okay=False))
@click.option("-n", "--name", help="Name of the robot: a C identifier (default: of the file).")
@click.option("-o", "--output", default=".", show_default=True, help="Where <robot>_generatedFiles is put.")
@click.option("--law", "laws", multiple=True, help="Law to compile in: NAME[:option=value,…], lists as a+b.")
@click.option("-p", "--python", is_flag=True, help="Compile the Python module too.")
@click.option("--user-functions", type=click.Path(dir_okay=False), help="Python file with add_functions(robot).")
@click.option("--function", "functions", multiple=True, metavar="NAME", help="Function on request, or 'all'.")
@click.option("--portable", is_flag=True, help="For any x86-64 processor since about 2009, not this one alone.")
@click.option("--casadi", metavar="FOLDER", help="Save every function there too, as <robot>_<function>.casadi.")
@click.option("--allow-inconsistent", is_flag=True, help="Warn about impossible inertias instead of refusing them.")
@click.option("--base", type=click.Choice(["fixed", "floating"]), help="URDF: whether the base moves (default: fixed).")
@click.option("--base-link", help="URDF: link that is the base.")
@click.option("--ee-link", multiple=True, help="URDF: link that is the end effector, or one of several.")
@click.option("--tree", is_flag=True, help="URDF: take joints off the chain to a single end effector, too.")
@click.option("--lock", "locked_joints", multiple=True, metavar="JOINT=VALUE", help="URDF: hold a joint at a value.")
@click.option("--zero-limits", type=click.Choice(["unlimited", "refused"]), help="URDF: what a limit of 0 says.")
@click.option("--xacro-arg", "xacro_args", multiple=True, metavar="NAME=VALUE", help="Argument of a xacro file.")
@click.option("--xacro-folder", "xacro_folders", multiple=True, help="Folder outside its package that it may read.")
@click.option("--package", "packages", multiple=True, metavar="NAME=FOLDER", help="Where $(find NAME) leads.")
def gen(
    robot: str,
    name: str | None,
    output: str,
    laws: tuple[str, ...],
    python: bool,
    user_functions: str | None,
    functions: tuple[str, ...],
    portable: bool,
    casadi: str | None,
    allow_inconsistent: bool,
    base: str | None,
    base_link: str | None,
    ee_link: tuple[str, ...],
    tree: bool,
    locked_joints: tuple[str, ...],
    zero_limits: str | None,
    xacro_args: tuple[str, ...],
    xacro_folders: tuple[str, ...],
    packages: tuple[str, ...],
) -> None:
    """Generate and compile the library of ROBOT, a YAML, URDF or xacro file."""
    given = {
        "base": base,
        "base_link": base_link,
        "ee_link": ee_link[0] if len(ee_link) == 1 else ee_link,
        "tree": tree,
        "locked_joints": {joint: _number(value, joint) for joint, value in map(_pair, locked_joints)},
        "zero_limits": zero_limits,
        "xacro_args": dict(map(_pair, xacro_args)),
        "xacro_folders": xacro_folders,
        "packages": dict(map(_pair, packages)),
    }
    options: dict[str, Any] = {key: value for key, value in given.items() if value}
    model = load_model(robot, name=name, allow_inconsistent=allow_inconsistent, **options)
    requests = [parse_law(text) for text in laws]
    folder = build(
        model,
        requests,
        folder=output,
        python=python,
        portable=portable,
        user_functions=user_functions,
        functions=functions,
    )
    if casadi is not None:
        save_functions(model, casadi, user_functions=user_functions, functions=functions)
    click.echo(str(folder))


def parse_law(text: str) -> tuple[str, dict[str, Any]]:
    """Parse NAME[:option=value,…]; `a+b` is a list.

    Raises:
        LawError: showing the form.
    """
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, value = _pair(item)
        options[key] = value.split("+") if "+" in value else value
    return name, options


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not key or not sign or not value:
        raise LawError(f"'{text}' is no option", valid="NAME=VALUE")
    return key, value


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise LawError(f"'{text}' is no number", where=where, valid="a number [rad] or [m]") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: exit status 0, or 2 with one message on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("always", category=InconsistentInertiaWarning)
            warnings.showwarning = lambda warning, *_, **__: click.echo(f"thunder: warning: {warning}", err=True)
            thunder.main(None if arguments is None else list(arguments), prog_name="thunder", standalone_mode=False)
    except ThunderError as error:
        click.echo(f"thunder: error: {error}", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except click.exceptions.Abort:
        sys.exit(130)


if __name__ == "__main__":
    main()
