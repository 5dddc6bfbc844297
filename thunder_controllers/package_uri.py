"""Paths as users write them in ROS parameters: plain, with ~, or package://<package>/<path in its share folder>.

ROS's own resolver, resource_retriever, comes with a distribution only.
"""

from __future__ import annotations

from pathlib import Path

from thunder_controllers import resources
from thunder_dynamics.errors import ThunderError

SCHEME = "package://"


class PackageUriError(ThunderError):
    """A package:// URI that leads nowhere."""


def resolve(text: str) -> Path:
    """Turn a path or package:// URI into an absolute path, whether or not something is there.

    This package's own share folder is found without an ament index; other packages need one.

    Raises:
        PackageUriError: if the URI has no path, or the package is not installed.
    """
    if not text.startswith(SCHEME):
        return Path(text).expanduser().absolute()
    package, _, relative = text[len(SCHEME) :].partition("/")
    if not package or not relative or ".." in Path(relative).parts:
        raise PackageUriError("incomplete or climbing URI", where=text, valid="package://<package>/<path>")
    return _share_folder(package, text) / relative


def resolve_file(text: str) -> Path:
    """Resolve as `resolve` does, and make sure that the file exists.

    Raises:
        PackageUriError: also if there is no such file.
    """
    path = resolve(text)
    if not path.is_file():
        raise PackageUriError("no such file", where=str(path), valid="a path or package:// URI of a file")
    return path


def _share_folder(package: str, uri: str) -> Path:
    if package == resources.PACKAGE:
        return resources.share_folder()
    try:
        from ament_index_python import PackageNotFoundError, get_package_share_directory
    except ImportError:
        raise PackageUriError(
            "ament_index_python is not installed", where=uri, valid=f"a path, or {SCHEME}{resources.PACKAGE}/…"
        ) from None
    try:
        return Path(get_package_share_directory(package))
    except (PackageNotFoundError, OSError, ValueError):  # OSError: no AMENT_PREFIX_PATH
        raise PackageUriError(
            f"no package '{package}'", where=uri, valid="a package in the ament index (AMENT_PREFIX_PATH)"
        ) from None
