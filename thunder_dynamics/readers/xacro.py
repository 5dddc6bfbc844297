"""Expand xacro files in a process of its own, where neither an endless expression nor the state of xacro does harm."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from thunder_dynamics.errors import NameNotFoundError, RobotFileError, nearest, option
from thunder_dynamics.readers.limits import MEMORY, OPEN_FILES, SECONDS
from thunder_dynamics.readers.urdf_elements import parse_xml
from thunder_dynamics.readers.xacro_child import MANIFEST, is_installed, is_package, out_of_memory, packages_above
from thunder_dynamics.storage.apart import run_apart
from thunder_dynamics.storage.door import TEXT, read_xml_text

YAML = (".yaml", ".yml")
"""Suffixes of files that an argument may name, such as the calibration of one arm."""

MOST_BESIDE = 500
"""Folders beside a package that are looked at."""


def expand_xacro(
    path: Path,
    xacro_args: Mapping[str, str] | None = None,
    xacro_folders: Iterable[str | Path] = (),
    packages: Mapping[str, str | Path] | None = None,
) -> str:
    """Expand a xacro file to URDF text.

    The file and what it includes may have no DOCTYPE, its expressions may only compute, and it reads no files but
    those of its own package (the nearest folder upward with a package.xml; without one, the file's folder), of
    packages that it names with `$(find …)`, of `xacro_folders`, and YAML files that `xacro_args` name. Links are
    followed before that is judged, the file's own among them; what a link of a package.xml leads to counts for packages
    of the ament index alone.

    Args:
        path: The file.
        xacro_args: Values of its xacro:arg by name.
        xacro_folders: Further folders that it may read.
        packages: Folders of packages by name, for `$(find …)`; others are those that the file lies in, by the names in
            their package.xml, then those that lie beside these, and then those of the ament index.

    Raises:
        RobotFileError: if it cannot be expanded, does what a description may not, or a package has no folder.
        NameNotFoundError: for an argument that the file does not declare.
    """
    found = {**_packages_around(path), **{name: Path(folder) for name, folder in (packages or {}).items()}}
    for name, folder in found.items():
        if not folder.is_dir():
            raise RobotFileError(f"no folder {folder}", where=f"package {name}", valid="a folder")
    named = [value for value in (xacro_args or {}).values() if value.endswith(YAML)]
    result = _run_child(path, xacro_args or {}, [*xacro_folders, *named], found)
    if "what" in result:
        raise RobotFileError(result["what"], where=result["where"], valid=result["valid"])
    unknown = [name for name in xacro_args or {} if name not in result["asked"]]
    if unknown:
        valid = nearest(unknown[0], result["asked"])
        raise NameNotFoundError(f"no xacro argument '{unknown[0]}'", where=str(path), valid=valid)
    return str(result["text"])


def _packages_around(file: Path) -> dict[str, Path]:
    """Packages that a file really lies in, those beside them, and installed ones by its path, by their own names.

    An inner one hides an outer one, and one that the file lies in hides one beside it.
    """
    around = list(packages_above(file.resolve()))
    installed = [folder for folder in packages_above(file.absolute()) if is_installed(folder)]
    beside = (other for folder in around for other in islice(sorted(folder.parent.iterdir()), MOST_BESIDE))
    found: dict[str, Path] = {}
    for folder in (*installed, *around, *(other for other in beside if is_package(other, file))):
        try:
            root = parse_xml(read_xml_text(folder / MANIFEST, RobotFileError), str(folder / MANIFEST))
        except RobotFileError:  # one that nobody can name
            continue
        found.setdefault(root.findtext("name", "").strip(), folder)
    return found


def _run_child(
    path: Path, arguments: Mapping[str, str], folders: Iterable[str | Path], packages: Mapping[str, Path]
) -> dict[str, Any]:
    request = {
        "path": str(path),
        "arguments": dict(arguments),
        "folders": [str(folder) for folder in folders],
        "packages": {name: str(folder.absolute()) for name, folder in packages.items()},
        "package_option": option("packages", "={name: folder}"),
        "argument_option": option("xacro_args", "={name: value}"),
        "limits": {
            "bytes": TEXT.largest,
            "seconds": math.ceil(SECONDS),
            "memory": MEMORY,
            "open_files": OPEN_FILES,
        },
    }
    status, said = run_apart([str(Path(__file__).with_name("xacro_child.py"))], request, SECONDS)
    if status is None:
        what = f"its expansion takes longer than {SECONDS:g} s"
        raise RobotFileError(what, where=str(path), valid="a file that ends")
    last = said.decode(errors="replace").rstrip().rpartition("\n")[2]
    if status == -signal.SIGABRT or last == "MemoryError":  # no memory was left to say so otherwise
        what = f"xacro cannot expand it ({out_of_memory(MEMORY)})"
        raise RobotFileError(what, where=str(path), valid="a xacro file")
    if status:
        reason = signal.Signals(-status).name if status < 0 else last[:300]
        raise RobotFileError(f"xacro failed ({reason})", where=str(path), valid="a xacro file")
    answer: dict[str, Any] = json.loads(last)
    return answer
