"""Expand xacro files, with the parts of xacro that could run code or open DTDs taken out.

xacro evaluates Python expressions. The package forbids names with a double underscore and offers few functions, which
does not stop an expression from reaching the interpreter: `$(eval …)` sees all built-ins, and attributes of
generators and types lead out of `${…}`. A robot description is data, so the three functions through which xacro
reads files and evaluates text are replaced while a file is expanded.
"""

from __future__ import annotations

import ast
import re
import threading
import xml.dom.minidom
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xacro

from thunder_dynamics.errors import NameNotFoundError, RobotFileError, ThunderError
from thunder_dynamics.readers.source import read_text
from thunder_dynamics.readers.urdf_elements import refuse_doctype

_LOCK = threading.Lock()
"""xacro keeps its state in module globals."""

_UNSAFE_NAMES = frozenset({"vars", "type", "format", "format_map", "mro"})
_UNSAFE_ATTRIBUTE = re.compile(r"_|(gi|cr|ag|f|tb|co|func)_")
_REPLACED = ("parse", "safe_eval", "eval_extension")


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


def expand_xacro(path: Path, xacro_args: Mapping[str, str] | None = None) -> str:
    """Expand a xacro file to URDF text.

    Args:
        path: The file; it and what it includes may have no DOCTYPE.
        xacro_args: Values of its xacro:arg by name.

    Raises:
        RobotFileError: if it cannot be expanded, or an expression uses what the module's docstring rules out.
        NameNotFoundError: for an argument that the file does not declare.
    """
    read_text(path)  # raises with the reason if the file itself cannot be read
    arguments = _Arguments(xacro_args or {})
    with _LOCK, _hardened():
        try:
            document = xacro.process_file(str(path), mappings=arguments, verbosity=0)
            text = str(document.toprettyxml(indent="  "))
        except ThunderError:
            raise
        except Exception as error:  # xacro lets whatever an expression raises pass
            raise _as_file_error(error, str(path)) from error
    unknown = [name for name in xacro_args or {} if name not in arguments.asked]
    if unknown:
        valid = ", ".join(sorted(str(name) for name in arguments.asked)) or "none"
        raise NameNotFoundError(f"no xacro argument '{unknown[0]}'", where=str(path), valid=valid)
    return text


def _as_file_error(error: BaseException, path: str) -> RobotFileError:
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, RobotFileError):
            return inner
        inner = getattr(inner, "exc", None)
    files = [str(file) for file in xacro.filestack or [path]]
    what = " ".join(str(error).split()) or type(error).__name__
    return RobotFileError(f"xacro cannot expand it ({what})", where=files[-1], valid="a xacro file")


@contextmanager
def _hardened() -> Iterator[None]:
    """Replace the functions of xacro that read files and evaluate text, and restore them."""
    original = {name: getattr(xacro, name) for name in _REPLACED}
    verbosity = xacro.verbosity
    replacement = {
        "parse": _parse,
        "safe_eval": _guard_expression(original["safe_eval"]),
        "eval_extension": _guard_extension(original["eval_extension"]),
    }
    for name, function in replacement.items():
        setattr(xacro, name, function)
    try:
        yield
    finally:
        for name, function in original.items():
            setattr(xacro, name, function)
        xacro.verbosity = verbosity
        xacro.substitution_args_context.clear()


def _parse(_: None, filename: str) -> xml.dom.minidom.Document:
    try:
        text = read_text(Path(filename))
    except RobotFileError as error:
        xacro.filestack.pop()  # as the original does: messages then name the including file
        # xacro recognises a missing optional include by this cause.
        raise xacro.XacroException(str(error), exc=OSError(error.what)) from error
    refuse_doctype(text, filename)
    return xml.dom.minidom.parseString(text.encode("utf-8"))


def _guard_expression(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(expression: str, *scopes: Any) -> Any:
        for node in ast.walk(ast.parse(expression.strip(), mode="eval")):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            attribute = isinstance(node, ast.Attribute) and _UNSAFE_ATTRIBUTE.match(name)
            if name in _UNSAFE_NAMES or name.startswith("__") or attribute:
                where = str(xacro.filestack[-1])
                raise RobotFileError(f"'{name}' is not allowed in ${{{expression}}}", where=where, valid="arithmetic")
        return evaluate(expression, *scopes)

    return guarded


def _guard_extension(evaluate: Callable[[str], Any]) -> Callable[[str], Any]:
    def guarded(text: str) -> Any:
        if re.match(r"\$\(\s*eval\b", text):
            where = str(xacro.filestack[-1])
            raise RobotFileError(f"{text} is not allowed", where=where, valid="${…}, $(arg …), $(find …), $(env …)")
        return evaluate(text)

    return guarded
