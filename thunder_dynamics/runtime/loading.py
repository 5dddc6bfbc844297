"""Classes and libraries of generated folders, made from what was verified."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from thunder_dynamics.errors import BuildError
from thunder_dynamics.runtime._calls import Calls, Library

if TYPE_CHECKING:
    from thunder_dynamics.runtime.robot import Robot

__all__ = ["Calls", "class_of", "open_library"]


def class_of(text: str | bytes, name: str, file: str) -> type[Robot]:
    """The class of that name in the text of a generated module, which `file` has or would have."""
    module = ModuleType(name)
    module.__file__ = file
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    kind: type[Robot] = getattr(module, name)
    return kind


def open_library(content: bytes, path: Path, content_hash: str) -> Library:
    """Load the library that a file of a generated folder was verified to be.

    It is loaded from a file in memory, so that what was verified is what runs. That stays open, even if it cannot be
    loaded: a library is never unloaded, and the linker knows it by the name that its descriptor has.

    Args:
        content: Of the file.
        path: Of the file, for messages.
        content_hash: That it must have.

    Raises:
        BuildError: if it is no library of this ABI and hash.
    """
    memory = os.memfd_create(path.name)
    with open(memory, "wb", closefd=False) as file:
        file.write(content)
    try:
        library = Library(f"/proc/self/fd/{memory}")
    except RuntimeError as error:
        raise BuildError(f"cannot be loaded: {error}", where=str(path), valid="rebuild it") from error
    if library.hash != content_hash:
        raise BuildError("is not the library of this module", where=str(path), valid="import the module anew")
    return library
