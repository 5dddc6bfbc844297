"""Options of robot files on a command line: the same for every command that reads one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import click

from thunder_dynamics.errors import RobotFileError, ThunderError


def _given(make: Callable[[Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """What is made of an option's text, where it is not taken as it is."""
    return lambda _context, _option, text: make(text)


def named_values(
    texts: Iterable[str], where: str | None = None, error: type[ThunderError] = RobotFileError
) -> dict[str, str]:
    """Split texts NAME=VALUE, or NAME:=VALUE as ROS has them.

    Raises:
        RobotFileError: or what `error` says, if one has another form.
    """
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name.removesuffix(":") or not sign or not value:
            raise error(f"'{text}' is no option", where=where, valid="NAME=VALUE or NAME:=VALUE")
        found[name.removesuffix(":")] = value
    return found


def parse_number(text: str, where: str, error: type[ThunderError] = RobotFileError) -> float:
    """Parse the number of the option `where`.

    Raises:
        RobotFileError: or what `error` says, if it is none.
    """
    try:
        return float(text)
    except ValueError:
        raise error(f"'{text}' is no number", where=where, valid="a number") from None


def _positions(texts: Iterable[str]) -> dict[str, tuple[float, ...]]:
    given = named_values(texts).items()
    return {joint: tuple(parse_number(one, joint) for one in values.split(",")) for joint, values in given}


XACRO = ("xacro_args", "xacro_folders", "packages")
"""Options of xacro files: those of a program that reads URDF by itself."""

OPTIONS = {
    "allow_inconsistent": click.option(
        "--allow-inconsistent", is_flag=True, help="Warn about impossible inertias instead of refusing them."
    ),
    "base": click.option(
        "--base", type=click.Choice(["fixed", "floating"]), help="URDF: whether the base moves (default: fixed)."
    ),
    "base_link": click.option("--base-link", help="URDF: link that is the base."),
    "ee_link": click.option(
        "--ee-link",
        multiple=True,
        callback=_given(lambda links: links[0] if len(links) == 1 else links),
        help="URDF: link that is the end effector, or one of several.",
    ),
    "tree": click.option("--tree", is_flag=True, help="URDF: take joints off the chain to a single end effector, too."),
    "locked_joints": click.option(
        "--lock",
        "locked_joints",
        multiple=True,
        metavar="JOINT=VALUE[,…]",
        callback=_given(_positions),
        help="Hold a joint at a value, or at several.",
    ),
    "zero_limits": click.option(
        "--zero-limits", type=click.Choice(["unlimited", "refused"]), help="URDF: what a limit of 0 says."
    ),
    "rotor_inertias": click.option(
        "--rotor",
        "rotor_inertias",
        multiple=True,
        metavar="JOINT=VALUE",
        callback=_given(
            lambda texts: {joint: parse_number(value, joint) for joint, value in named_values(texts).items()}
        ),
        help="Reflected rotor inertia of a joint [kg·m² or kg].",
    ),
    "without_rotors": click.option("--without-rotors", is_flag=True, help="Rotors are known to be zero."),
    "snap_angles": click.option(
        "--snap-angles", is_flag=True, help="Take 1.5708 for a right angle, and all within 1e-4 rad of one."
    ),
    "drives": click.option("--drives", help="File of rotors, friction and offsets that thunder commission wrote."),
    "xacro_args": click.option(
        "--xacro-arg",
        "xacro_args",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_given(named_values),
        help="Argument of a xacro file.",
    ),
    "xacro_folders": click.option(
        "--xacro-folder", "xacro_folders", multiple=True, help="Folder outside its package that it may read."
    ),
    "packages": click.option(
        "--package",
        "packages",
        multiple=True,
        metavar="NAME=FOLDER",
        callback=_given(named_values),
        help="Where $(find NAME) leads.",
    ),
}


def reading_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of robot files, as its argument `reading`: those of `load_model` that are given.

    Args:
        names: Which, as `load_model` calls them; all by default.
    """
    chosen = {name: OPTIONS[name] for name in names or OPTIONS}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(**options: Any) -> Any:
            given = {name: options.pop(name) for name in chosen}
            return command(reading={name: value for name, value in given.items() if value}, **options)

        return functools.reduce(lambda function, option: option(function), reversed(chosen.values()), run)

    return decorate
