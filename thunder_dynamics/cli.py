"""The command `thunder`: `gen` here, further sub-commands from entry points of the group `thunder.commands`."""

from __future__ import annotations

import ast
import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import click
from click.shell_completion import CompletionItem

from thunder_dynamics.build import Target, build, law_builders, save_functions, save_target
from thunder_dynamics.codegen import toolchain
from thunder_dynamics.errors import (
    BuildError,
    LawError,
    MissingLibraryError,
    NameNotFoundError,
    RobotFileWarning,
    ThunderError,
    loaded,
    nearest,
    spelled,
)
from thunder_dynamics.readers import load_model, named_robots
from thunder_dynamics.readers.command_options import named_values, reading_options
from thunder_dynamics.storage.door import TEXT, read_bytes
from thunder_dynamics.version import __version__

LAW_FORM = "NAME[:option=value,…], lists as a+b"
"""How options give a law; see `parse_law`."""

WIDEST = 120
"""Of a help text, where the terminal is wider [characters]."""

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class _Commands(click.Group):
    """A group whose further commands are found by entry points, so that packages can add their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = {entry.name for entry in entry_points(group="thunder.commands")}
        return sorted({*super().list_commands(ctx), *found})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        return next((_load(entry) for entry in entry_points(group="thunder.commands", name=cmd_name)), None)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = {entry.name: entry for entry in entry_points(group="thunder.commands")}
        rows = []
        for name in self.list_commands(ctx):
            text = _docstring(found[name]) if name in found else ""
            command = None if text else self.get_command(ctx, name)
            rows.append((name, text or _first_paragraph(command.help if command else None)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError as error:
            what = f"no command '{args[0]}'"
            raise NameNotFoundError(what, valid=nearest(args[0], self.list_commands(ctx))) from error
        ctx.with_resource(spelled(_spelling(command)))
        return name, command, rest


def _docstring(entry: EntryPoint) -> str:
    """First line of what an entry point's function says of itself, from its source: to import all takes seconds."""
    try:
        spec = find_spec(entry.module)
        source = read_bytes(Path(spec.origin or ""), TEXT, BuildError) if spec else b""
        functions = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
        text = next((ast.get_docstring(node) for node in functions if node.name == entry.attr), None)
    except (ImportError, BuildError, SyntaxError, ValueError):
        return ""
    return _first_paragraph(text)


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _load(entry: EntryPoint) -> click.Command:
    """The command of an entry point; one that cannot be loaded says why when it is called, not in the list of all."""
    try:
        command = loaded(entry)
        if isinstance(command, click.Command):
            return command
        error: ThunderError = LawError("is no click command", where=f"entry point {entry.name} = {entry.value}")
    except ThunderError as broken:
        error = broken

    def refuse(**_: Any) -> None:
        raise error

    words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    ignoring = {"ignore_unknown_options": True}
    return click.Command(entry.name, ignoring, refuse, [words], str(error), add_help_option=False)


def _spelling(command: click.Command | None) -> dict[str, str]:
    """How messages call what a command's options set: as they are typed."""
    options = (p for p in (command.params if command else ()) if isinstance(p, click.Option) and p.name)
    return {str(p.name): " ".join(filter(None, (max(p.opts, key=len), p.metavar))) for p in options}


def completer(names: Callable[[], Iterable[str]], files: bool = False) -> Completer:
    """Completion of names in a shell, and of files beside them."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if files else found

    return complete


robot_argument = click.argument("robot", type=click.Path(), shell_complete=completer(named_robots, files=True))
"""The argument ROBOT of a command: a file, or the name of one that `thunder list robots` shows."""

complete_law = completer(law_builders)


@click.group(cls=_Commands, context_settings={"max_content_width": WIDEST})
@click.version_option(__version__, prog_name="thunder")
def thunder() -> None:
    """Compile robots and control laws, and run them."""


@thunder.command()
@robot_argument
@click.option("-n", "--name", help="Name of the robot: a C identifier (default: of the file).")
@click.option("-o", "--out", default=".", show_default=True, help="Folder that <robot>_generatedFiles is put into.")
@click.option(
    "--target",
    type=click.Choice(["c", *get_args(Target)]),
    default="c",
    show_default=True,
    help="A compiled library, or one file for many states at once: <robot>_jax.py, <robot>_torch.py, <robot>.cu.",
)
@click.option("--law", "laws", multiple=True, shell_complete=complete_law, help=f"Law to compile in: {LAW_FORM}.")
@click.option("--user-functions", type=click.Path(dir_okay=False), help="Python file with add_functions(robot).")
@click.option(
    "--function",
    "functions",
    multiple=True,
    metavar="NAME",
    help="Function on request, 'all', or several together, M+C+G.",
)
@click.option("--portable", is_flag=True, help="For any x86-64 processor since about 2009, not this one alone.")
@click.option("--lanes", is_flag=True, help="For many states at once too: Library.batch is three times as fast.")
@click.option("--single", is_flag=True, help="The same in single precision, for arrays of float32.")
@click.option("--casadi", metavar="FOLDER", help="Save every function there too, as <robot>_<function>.casadi.")
@reading_options()
def gen(
    robot: str,
    name: str | None,
    out: str,
    target: Target | Literal["c"],
    laws: tuple[str, ...],
    user_functions: str | None,
    functions: tuple[str, ...],
    portable: bool,
    lanes: bool,
    single: bool,
    casadi: str | None,
    reading: dict[str, Any],
) -> None:
    """Generate and compile the library of ROBOT, a YAML, URDF or xacro file, or a name of `thunder list robots`."""
    compiled = [name for name, given in {"portable": portable, "lanes": lanes, "single": single}.items() if given]
    if target != "c" and compiled:
        what = f"--{compiled[0]} is of the compiled library"
        raise BuildError(what, where=f"--target {target}", valid="--target c, or without it")
    if compiled and (missing := toolchain.what_is_missing()) is not None:
        raise BuildError(f"{missing}: nothing to compile --{compiled[0]} with", valid=toolchain.TO_INSTALL)
    model = load_model(robot, name=name, **reading)
    requests = [parse_law(text) for text in laws]
    wanted: dict[str, Any] = {"user_functions": user_functions, "functions": functions}
    if target == "c":
        made = build(model, requests, folder=out, portable=portable, lanes=lanes, single=single, **wanted)
    else:
        made = save_target(model, target, out, requests, **wanted)
    if casadi is not None:
        save_functions(model, casadi, **wanted)
    click.echo(str(made))


def parse_law(text: str) -> tuple[str, dict[str, Any]]:
    """Parse NAME[:option=value,…]; `a+b` is a list.

    Raises:
        LawError: showing the form.
    """
    name, _, rest = text.partition(":")
    given = named_values(filter(None, rest.split(",")), error=LawError)
    return name, {key: value.split("+") if "+" in value else value for key, value in given.items()}


def _say_once(said: set[str], text: str) -> None:
    """Write a warning to standard error unless it was said before: a command may read a file several times."""
    if text not in said:
        said.add(text)
        click.echo(text, err=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: exit status 0, or 2 with one message on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("always", category=RobotFileWarning)
            said: set[str] = set()
            warnings.showwarning = lambda warning, *_, **__: _say_once(said, f"thunder: warning: {warning}")
            thunder.main(None if arguments is None else list(arguments), prog_name="thunder", standalone_mode=False)
    except Exception as error:  # noqa: BLE001 – what is behind it matters, not its kind
        if _is_interruption(error):
            click.echo("thunder: interrupted", err=True)
            sys.exit(130)
        _report(error)


def _is_interruption(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: a library whose import it cuts short raises what it likes."""
    while error is not None:
        if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _report(caught: Exception) -> None:
    """End with the one message of an error; what nobody expects is raised again."""
    try:
        raise caught
    except ThunderError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        _fail(str(MissingLibraryError(error.name)))
    except OSError as error:
        if error.errno == errno.EPIPE:  # who reads has read enough: nothing more is written there
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        _fail(f"{error.filename or 'output'}: {error.strerror or error}")
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        seen = "" if error.ctx is None else f"; see {error.ctx.command_path} --help"
        _fail(f"{error.format_message().rstrip('.')}{seen}")
    except click.ClickException as error:
        _fail(error.format_message())


def _fail(message: str) -> None:
    click.echo(f"thunder: error: {' '.join(message.split())}", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
