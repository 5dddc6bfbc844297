"""The one door for files that anybody may have written: regular files, no larger than their kind may be.

Nothing else of these packages opens a file by its name (`test/test_architecture.py`). What lies behind a name is looked
at when it is open, before a byte is read: a pipe would be waited for, a device may never end, a file of any size fills
memory.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from thunder_dynamics.errors import ThunderError, files_beside


class Kind(NamedTuple):
    """A kind of file, and the most that one may hold."""

    what: str
    largest: int  #: [byte]

    @property
    def valid(self) -> str:
        """What a message asks for."""
        unit, shift = next(one for one in (("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)) if self.largest >> one[1])
        return f"{self.what} of at most {self.largest >> shift} {unit}"


TEXT = Kind("a readable UTF-8 text file", 4 << 20)
"""Descriptions of robots, what a xacro reads and expands to, scenarios, studies, gains, parameters, source code."""

MESH = Kind("a mesh file", 16 << 20)
"""Those of arms have up to 5 MB."""

TABLE = Kind("a CSV file", 1 << 30)
"""The longest run, 10⁷ rows, of seven joints in some 13 characters a number."""

RECORD = Kind("a file of a bag", 4 << 30)
"""An hour of a bag of ROS 2 with all joints at 1 kHz takes 2 GB."""

TRACE = Kind("an .npz file", 16 << 30)
"""An hour of a run at 1 kHz takes 8 GB."""

UNPACKED, EXPANSION = 64 << 20, 8
"""Most that packed arrays expand to: so many bytes, or so many times what they take; measured ones halve at best."""

RESULT = Kind("a JSON file", 64 << 20)
"""Tables and metrics of experiments."""

GENERATED = Kind("a file that was generated", 1 << 30)
"""A thousand times what a robot of ten joints takes; the host has the same bound."""


def open_file(path: Path, kind: Kind, error: type[ThunderError], *, follow: bool = True) -> BinaryIO:
    """Open a file to read its bytes, at once and whatever lies there.

    Args:
        path: The file.
        kind: What it may be.
        error: To raise.
        follow: Whether the last part of the path may be a link.

    Raises:
        ThunderError: of the type `error`, if there is none, it may not be read, is no regular file or is too large.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError as missing:
        raise error(f"no file {path}", valid=files_beside(path)) from missing
    except (OSError, ValueError) as failure:  # the latter for a name that no file can have
        raise _refused(getattr(failure, "strerror", None) or str(failure), path, kind, error) from failure
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and status.st_size <= kind.largest:
        return open(handle, "rb")
    os.close(handle)
    raise _refused(_too_large(kind) if stat.S_ISREG(status.st_mode) else "it is no regular file", path, kind, error)


def read_bytes(path: Path, kind: Kind, error: type[ThunderError], *, follow: bool = True) -> bytes:
    """Read a whole file.

    Raises:
        ThunderError: of the type `error`, as `open_file` does, or if it grows beyond its kind while it is read.
    """
    with open_file(path, kind, error, follow=follow) as file:
        try:
            data = file.read(kind.largest + 1)
        except OSError as failure:
            raise _refused(failure.strerror or str(failure), path, kind, error) from failure
    if len(data) > kind.largest:
        raise _refused(_too_large(kind), path, kind, error)
    return data


def read_text(path: Path, error: type[ThunderError], kind: Kind = TEXT) -> str:
    """Read a file of UTF-8 text, without a byte order mark.

    Raises:
        ThunderError: of the type `error`, as `read_bytes` does, or with the line that is no UTF-8.
    """
    return _decoded(read_bytes(path, kind, error), "utf-8-sig", path, kind, error)


def read_xml_text(path: Path, error: type[ThunderError]) -> str:
    """Read the text of an XML file in the encoding of its byte order mark, or else of its declaration, or UTF-8.

    Raises:
        ThunderError: of the type `error`, as `read_text` does, or for an encoding that is not known.
    """
    data = read_bytes(path, TEXT, error)
    declared = _DECLARED.match(data)
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is None and declared is not None:
        encoding = declared[1].decode("ascii")
        try:
            known = codecs.lookup(encoding).name
        except LookupError:
            known = ""
        if not _ENCODINGS.fullmatch(known):
            valid = "UTF-8, UTF-16, ISO-8859-1, or another of plain text"
            raise error(f"the encoding '{encoding}'", where=str(path), valid=valid)
        # Its declaration was read byte by byte: it is no UTF-16, whatever it says.
        encoding = "utf-8" if known.startswith("utf-16") else known
    return _decoded(data, encoding or "utf-8", path, TEXT, error)


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    ("<".encode("utf-16-le"), "utf-16-le"),
    ("<".encode("utf-16-be"), "utf-16-be"),
)
"""First bytes of files, and their encodings."""

_DECLARED = re.compile(rb"""\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")

_ENCODINGS = re.compile(r"utf-(8|16)|ascii|iso8859-\d+|cp\d+|koi8-\w|mac-\w+|gb\w+|big5|shift_jis|euc_\w+")
"""What Python calls those of plain text: others of its codecs read escapes and names."""


def _decoded(data: bytes, encoding: str, path: Path, kind: Kind, error: type[ThunderError]) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as failure:
        line = data[: failure.start].count(b"\n") + 1
        name = encoding.removesuffix("-sig").upper()
        raise error(f"the file is no {name} text", where=f"{path}:{line}", valid=kind.valid) from failure


def read_json(path: Path, error: type[ThunderError]) -> Any:
    """Read a file of JSON.

    Raises:
        ThunderError: of the type `error`, as `read_text` does, or if it is no JSON or nested too deeply.
    """
    text = read_text(path, error, RESULT)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise _refused(str(failure), path, RESULT, error) from failure


def _too_large(kind: Kind) -> str:
    return f"it is larger than {kind.largest >> 10} KiB"


def _refused(reason: str, path: Path, kind: Kind, error: type[ThunderError]) -> ThunderError:
    return error(f"the file cannot be read ({reason})", where=str(path), valid=kind.valid)
