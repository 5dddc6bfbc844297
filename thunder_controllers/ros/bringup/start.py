"""What happens before the nodes of a system start: what it needs is looked for, commands run, descriptions expand."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from thunder_controllers.package_uri import resolve_file
from thunder_controllers.resources import PACKAGE
from thunder_controllers.ros.bringup.node_set import Need, NodeDescription, NodeSet, Xacro
from thunder_dynamics.errors import ThunderError
from thunder_dynamics.readers.xacro import expand_xacro

APT = "ros-jazzy-"
"""What names of Debian packages of ROS 2 Jazzy begin with."""

_THUNDER = "from thunder_dynamics.cli import main; main()"


class NotInstalledError(ThunderError):
    """Something that a system needs is not installed; names all of it, and what brings it."""


class PreparationError(ThunderError):
    """A command that must run before the nodes start has failed."""


def prepare(nodes: NodeSet) -> None:
    """Check what is needed and run the commands that come before.

    Raises:
        NotInstalledError: if something is not installed.
        PreparationError: if a command fails.
    """
    check_needs(nodes)
    for command in nodes.before:
        _run(command)


def check_needs(nodes: NodeSet) -> None:
    """Make sure that everything is installed that these nodes and commands need.

    Raises:
        NotInstalledError: names everything that is missing.
    """
    missing = [(_name(need), need.origin) for need in _needs(nodes) if not _is_indexed(need)]
    missing += [(command.name, command.origin) for command in nodes.commands if shutil.which(command.name) is None]
    if missing:
        names = ", ".join(dict.fromkeys(name for name, _ in missing))
        raise NotInstalledError(f"not installed: {names}", valid=_remedy([origin for _, origin in missing]))


def node_parameters(node: NodeDescription) -> dict[str, Any]:
    """Values of a node's own parameters, with descriptions expanded.

    Raises:
        ThunderError: if a description cannot be read or expanded.
    """
    return {name: _expanded(value) if isinstance(value, Xacro) else value for name, value in node.parameters.items()}


def debian_package(package: str) -> str:
    """Name of the Debian package of a ROS package."""
    return APT + package.replace("_", "-")


def _needs(nodes: NodeSet) -> Iterator[Need]:
    """List what the nodes of other packages are in, then what was named besides."""
    listed = {need.package for need in nodes.needs}
    packages = dict.fromkeys(node.package for node in nodes.nodes if node.package not in (PACKAGE, *listed))
    yield from (Need(package, debian_package(package)) for package in packages)
    yield from nodes.needs


def _name(need: Need) -> str:
    return need.package if need.resource == "packages" else f"{need.package} with {need.resource.partition('__')[0]}"


def _is_indexed(need: Need) -> bool:
    try:
        from ament_index_python import has_resource

        return bool(has_resource(need.resource, need.package))
    except (ImportError, OSError, ValueError):  # OSError: no AMENT_PREFIX_PATH
        return False


def _remedy(origins: list[str]) -> str:
    """Say what to install: one apt command for what is packaged, then the rest."""
    packages = dict.fromkeys(origin for origin in origins if origin.startswith(APT))
    others = dict.fromkeys(origin for origin in origins if not origin.startswith(APT))
    command = [f"sudo apt install {' '.join(packages)}"] if packages else []
    return "; ".join([*command, *others])


def _run(words: tuple[str, ...]) -> None:
    """Run a command of `thunder` with this interpreter."""
    result = subprocess.run(
        [sys.executable, "-c", _THUNDER, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if result.returncode != 0:
        reason = " ".join(result.stderr.split()) or f"exit status {result.returncode}"
        raise PreparationError(reason, where=f"thunder {' '.join(words)}")


def _expanded(xacro: Xacro) -> str:
    path = resolve_file(xacro.file)
    if path.suffix == ".xacro":
        return expand_xacro(path, given(xacro.arguments))
    return path.read_text(encoding="utf-8")


def given(arguments: Mapping[str, str]) -> dict[str, str]:
    """Leave out arguments without a value: the file's default stays."""
    return {name: value for name, value in arguments.items() if value}
