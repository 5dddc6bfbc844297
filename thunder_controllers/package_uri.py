"""Paths as users write them in ROS parameters: plain, with ~, or package://<package>/<path in its share folder>.

ROS's own resolver, resource_retriever, comes with a distribution only.
"""

from __future__ import annotations

import re
from pathlib import Path

from thunder_controllers import resources
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.readers.xacro_child import installed, is_inside, package_folders

SCHEME = "package://"

_URI = re.compile(SCHEME + r"([A-Za-z0-9][\w-]*)/([^/%\0][^%\0]*)")  # no second slash, nothing that others decode


class PackageUriError(ThunderError):
    """A package:// URI that leads nowhere."""


def resolve(text: str) -> Path:
    """Turn a path or package:// URI into an absolute path, whether or not something is there.

    This package's own share folder is found without an ament index; other packages need one.

    Raises:
        PackageUriError: if the URI names no path inside a package, its file lies outside the package (by `..`, a second
            slash, a link), or the package is not installed.
    """
    if not text.startswith(SCHEME):
        return Path(text).expanduser().absolute()
    match = _URI.fullmatch(text)
    if match is None or ".." in Path(match[2]).parts:
        raise PackageUriError("incomplete or climbing URI", where=text, valid="package://<package>/<path>")
    folder = resources.share_folder() if match[1] == resources.PACKAGE else next(installed(match[1]), None)
    if folder is None:
        raise PackageUriError(f"no package '{match[1]}'", where=text, valid="one of the ament index, AMENT_PREFIX_PATH")
    if not is_inside(folder / match[2], package_folders(folder)):
        raise PackageUriError("a link leads out of the package", where=text, valid=f"a file of {folder}")
    return folder / match[2]


def resolve_file(text: str) -> Path:
    """Resolve as `resolve` does, and make sure that the file exists.

    Raises:
        PackageUriError: also if there is no such file.
    """
    path = resolve(text)
    if not path.is_file():
        raise PackageUriError("no such file", where=str(path), valid="a path or package:// URI of a file")
    return path
