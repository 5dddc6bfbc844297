"""Small pieces of text that every generated file needs: literals and templates.

`string.Template`, no template engine: C and CMake are full of the braces of others, and loops are plainer in Python.
"""

from __future__ import annotations

import math
import string
from functools import cache
from importlib.resources import files

from thunder_dynamics.errors import BuildError


def c_string(text: str) -> str:
    """A C string literal of `text`.

    Raises:
        BuildError: if the text holds control characters, which no name, unit or description needs.
    """
    if any(ord(ch) < 32 and ch != "\n" or ord(ch) == 127 for ch in text):
        raise BuildError(f"control character in {text!r}", valid="printable text")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")
    return f'"{escaped}"'


def comment_text(text: str) -> str:
    """`text` made safe inside a C comment or a docstring, on one line."""
    return " ".join(text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace('"""', "'''").split())


def c_double(value: float) -> str:
    """A C literal that reads back as exactly `value`."""
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    if math.isnan(value):
        raise BuildError("not a number among constants", valid="numbers")
    return repr(float(value))


@cache
def template(name: str) -> string.Template:
    """The template of that file name."""
    return string.Template(files("thunder_dynamics.codegen").joinpath("templates", name).read_text(encoding="utf-8"))
