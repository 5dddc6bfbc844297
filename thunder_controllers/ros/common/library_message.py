"""What the generator tells others about a library: one YAML document, latched on `~/library` as std_msgs/String."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from thunder_controllers.package_uri import resolve
from thunder_dynamics.errors import ThunderError

MANIFEST = "manifest.json"
"""File in every generated folder that says what is in it."""


class LibraryMessageError(ThunderError):
    """The text is no library message, or names what is not there."""


@dataclass(frozen=True)
class LibraryMessage:
    """A compiled library and where it came from. Paths are absolute."""

    robot: str
    """Name of the robot."""
    folder: str
    """The generated folder."""
    library: str
    """The shared library lib<robot>.so in it."""
    robot_file: str
    """The description it was made from; `robot_description` if it came from that topic."""
    hash: str
    """Content hash: the same hash means the same library."""
    generator: str
    """Version of the generator."""
    functions: tuple[str, ...]
    """Names of the functions it holds."""
    laws: Mapping[str, Mapping[str, Any]]
    """Its control laws with the options they were built with; laws found on disk have none listed."""


_ADAPTER = TypeAdapter(LibraryMessage)


def format_library_message(message: LibraryMessage) -> str:
    """Write the message as YAML; `parse_library_message` reads it back."""
    return yaml.safe_dump(_ADAPTER.dump_python(message, mode="json"), sort_keys=False, allow_unicode=True)


def parse_library_message(text: str) -> LibraryMessage:
    """Read a library message; unknown keys are ignored, so that newer generators may say more.

    Raises:
        LibraryMessageError: if it is no YAML mapping, lacks a key or has one of the wrong type.
    """
    where = "library message"
    try:
        message = _ADAPTER.validate_python(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise LibraryMessageError(f"no YAML: {' '.join(str(error).split())}", where=where) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "no mapping"
        raise LibraryMessageError(f"{key}: {first['msg']}", where=where, valid="what a generator publishes") from None
    for path in (message.folder, message.library):
        if not Path(path).is_absolute():
            raise LibraryMessageError(f"'{path}' is relative", where=where, valid="absolute")
    return message


def describe_folder(folder: Path, robot_file: str, laws: Mapping[str, Mapping[str, Any]]) -> LibraryMessage:
    """Describe a generated folder from its manifest.

    Args:
        folder: The generated folder.
        robot_file: What it was generated from.
        laws: The laws asked for, with their options.

    Raises:
        LibraryMessageError: if the folder is no generated one.
    """
    manifest = _read_manifest(folder)
    library = folder / manifest["library"]
    if not library.is_file():
        raise LibraryMessageError("the library is missing", where=str(library), valid="a complete generated folder")
    return LibraryMessage(
        folder=str(folder.absolute()),
        library=str(library.absolute()),
        robot_file=robot_file,
        functions=tuple(manifest["functions"]),
        laws={name: dict(laws.get(name, {})) for name in manifest["laws"]},
        **{key: manifest[key] for key in ("robot", "hash", "generator")},
    )


def find_library(text: str) -> Path:
    """Locate a library that a user names: the file itself or the generated folder, as path or package:// URI.

    Raises:
        LibraryMessageError: if there is neither.
    """
    path = resolve(text)
    if path.is_dir():
        path = path / _read_manifest(path)["library"]
    if not path.is_file():
        valid = "lib<robot>.so, or the folder that holds it"
        raise LibraryMessageError("no such library", where=str(path), valid=valid)
    return path


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        missing = {"robot", "library", "hash", "generator", "functions", "laws"} - set(manifest)
    except (OSError, ValueError, TypeError):
        valid = f"a folder with {MANIFEST}"
        raise LibraryMessageError("no generated library", where=str(folder), valid=valid) from None
    if missing:
        what = f"{MANIFEST} lacks {', '.join(sorted(missing))}"
        raise LibraryMessageError(what, where=str(folder), valid="a folder of this version; generate it again")
    return dict(manifest)
