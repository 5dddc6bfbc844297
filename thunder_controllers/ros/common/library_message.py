"""What the generator tells others about a library, and how they find it: one YAML document on `~/library`.

The document names no file. Who reads it looks for that build where only its user, or who started it, can have put one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import StringConstraints, TypeAdapter, ValidationError

from thunder_controllers.package_uri import resolve
from thunder_dynamics.build import MANIFEST, cache_place, generated_folder
from thunder_dynamics.errors import BuildError, ThunderError
from thunder_dynamics.storage.door import read_json

if TYPE_CHECKING:
    from thunder_controllers.host import Library

LARGEST = 16384
"""Longest text that is read."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$")]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class LibraryMessageError(ThunderError):
    """The text is no library message, or there is no such library here."""


@dataclass(frozen=True)
class LibraryMessage:
    """A compiled library."""

    robot: Name
    """Name of the robot."""
    laws: tuple[Name, ...]
    """Names of its control laws."""
    hash: Hash
    """Content hash: the same hash means the same library."""


_ADAPTER = TypeAdapter(LibraryMessage)


def describe_folder(folder: Path) -> LibraryMessage:
    """Say what others must know to find a folder that was generated just now."""
    manifest = read_json(folder / MANIFEST, BuildError)
    return LibraryMessage(manifest["robot"], tuple(manifest["laws"]), manifest["hash"])


def format_library_message(message: LibraryMessage) -> str:
    """Write the message as YAML; `parse_library_message` reads it back."""
    return yaml.safe_dump(_ADAPTER.dump_python(message, mode="json"), sort_keys=False)


def parse_library_message(text: str) -> LibraryMessage:
    """Read a library message; unknown keys are ignored, so that newer generators may say more.

    Raises:
        LibraryMessageError: if it is too long, is no YAML mapping, lacks a key or has one of the wrong form.
    """
    where = "library message"
    if len(text) > LARGEST:
        raise LibraryMessageError(f"{len(text)} characters", where=where, valid=f"at most {LARGEST}")
    try:
        return _ADAPTER.validate_python(yaml.load(text, yaml.BaseLoader))  # noqa: S506 # it makes text, lists, mappings
    except (yaml.YAMLError, RecursionError) as error:
        raise LibraryMessageError(f"no YAML: {' '.join(str(error).split())}", where=where) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "no mapping"
        raise LibraryMessageError(f"{key}: {first['msg']}", where=where, valid="what a generator publishes") from None


def load_announced(text: str, folders: Sequence[str]) -> Library:
    """Find, verify and load the library that a message announces: in the user's cache, then in further folders.

    Args:
        text: The message.
        folders: Paths or package:// URIs, each laid out like the cache, or as the generator's `output` is.

    Raises:
        LibraryMessageError: if it is no library message, or no place has that library as it was generated.
        PackageUriError: for a folder that is no URI.
    """
    from thunder_controllers.host import Library  # not there yet when the generator runs while this package is built

    message = parse_library_message(text)
    places = [cache_place(message.robot, message.hash)]
    for root in map(resolve, folders):
        places += [cache_place(message.robot, message.hash, root), root]
    reasons = []
    for folder in (generated_folder(message.robot, place) for place in places):
        if os.path.isdir(folder):
            try:
                return Library(folder, hash=message.hash)
            except BuildError as error:
                reasons.append(str(error))
    raise LibraryMessageError(
        "; ".join(reasons) or f"is in none of {', '.join(map(str, places))}",
        where=f"library of {message.robot} with hash {message.hash[:16]}",
        valid="one that this user has generated here, or a folder with it in library_folders",
    )
