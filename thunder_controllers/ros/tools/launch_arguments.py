"""The arguments that launch files declare, read without `launch`: so they are declared once, and there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from thunder_controllers.resources import share

SUFFIX = ".launch.py"
SHARED = ("arguments", "discovery")
"""Launch files that others include for the arguments that they share."""


class Argument(NamedTuple):
    """A launch argument; every value is text."""

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


def read_arguments(name: str) -> dict[str, Argument]:
    """Read the arguments of a launch file of this package, in the order of their declaration.

    Args:
        name: Of the file, without suffix.

    Raises:
        ResourceNotFoundError: if there is no such file.
    """
    return {argument.name: argument for argument in _declared(share(f"launch/{name}{SUFFIX}"))}


def read_description(name: str) -> str:
    """Read the first line of what a launch file says about itself."""
    text = ast.get_docstring(ast.parse(share(f"launch/{name}{SUFFIX}").read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def _declared(path: Path) -> Iterator[Argument]:
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: node.lineno):
        function = ast.unparse(call.func)
        if function == "DeclareLaunchArgument":
            given = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
            choices = tuple(given.get("choices", ()))
            yield Argument(ast.literal_eval(call.args[0]), given["default_value"], given["description"], choices)
        elif function == "include" and (file := ast.unparse(call.args[0]).strip("'")) in SHARED:
            yield from _declared(path.with_name(file + SUFFIX))
