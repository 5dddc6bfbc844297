"""Run by `xacro.expand_xacro` in an interpreter of its own: expands one file, whose expressions may only compute.

xacro evaluates Python expressions. It forbids names with a double underscore and offers few functions, which does not
stop an expression from reaching the interpreter: `$(eval …)` sees all built-ins, and attributes of generators and types
lead out of `${…}`. A robot description is data, so an audit hook, which nothing can take away, judges what is compiled.
"""

from __future__ import annotations

import ast
import json
import re
import resource
import sys
import traceback
from collections.abc import Mapping
from typing import Any

LARGEST_MEMORY = 1 << 30
"""Of this process [byte]."""

_NO_EVAL = ("$(eval …) is not allowed", "${…}, $(arg …), $(find …), $(env …)")
_UNSAFE_NAMES = frozenset({"vars", "type", "format", "format_map", "mro"})
_UNSAFE_ATTRIBUTE = re.compile(r"_|(gi|cr|ag|f|tb|co|func)_")


class _RefusedError(Exception):
    """What is not allowed, and what would be."""


class _Arguments(dict[str, str]):
    """Values of xacro:arg that notes which names the file asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: set[object] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile" and arguments[1] == "<expression>":  # what xacro calls the text of ${…}
        _check_expression(arguments[0])
    elif event == "exec" and arguments[0].co_filename == "<string>":  # only $(eval …) compiles without a name
        raise _RefusedError(*_NO_EVAL)


def _check_expression(expression: str) -> None:
    for node in ast.walk(ast.parse(expression, mode="eval")):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        attribute = isinstance(node, ast.Attribute) and _UNSAFE_ATTRIBUTE.match(name)
        if name in _UNSAFE_NAMES or name.startswith("__") or attribute:
            raise _RefusedError(f"'{name}' is not allowed in ${{{expression}}}", "arithmetic")


def _complaint(error: BaseException | None) -> tuple[str, str]:
    """What is wrong and what would be valid: xacro wraps what an expression raises, often several times."""
    what = " ".join(str(error).split()) or type(error).__name__
    while error is not None:
        if isinstance(error, _RefusedError):
            return error.args[0], error.args[1]
        if any(frame.f_code.co_name == "_eval" for frame, _ in traceback.walk_tb(error.__traceback__)):
            return _NO_EVAL  # xacro itself did not understand it
        if isinstance(error, MemoryError):
            what = f"it takes more than {LARGEST_MEMORY >> 20} MiB of memory"
        if isinstance(error, OSError):
            what = f"{error.filename} cannot be read ({error.strerror})"
        error = getattr(error, "exc", None)
    return f"xacro cannot expand it ({what})", "a xacro file"


def expand(path: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Expand a file: its text, the names of arguments it asks for and the files it reads, or an error and its place."""
    import xacro
    import xacro.substitution_args

    resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY, LARGEST_MEMORY))
    sys.addaudithook(_guard)
    values = _Arguments(arguments)
    try:
        text = xacro.process_file(path, mappings=values, verbosity=0).toprettyxml(indent="  ")
    except Exception as error:  # noqa: BLE001 - xacro lets whatever an expression raises pass
        what, valid = _complaint(error)
        return {"what": what, "where": str(xacro.filestack[-1]), "valid": valid}
    return {"text": text, "asked": sorted(map(str, values.asked)), "files": xacro.all_includes}


if __name__ == "__main__":
    request = json.load(sys.stdin)
    sys.path[:] = request["sys_path"]
    json.dump(expand(request["path"], request["arguments"]), sys.stdout)
