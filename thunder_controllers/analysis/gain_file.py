"""Gains of a law in a ROS parameter file, as `gains:=FILE` of the launch files takes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from thunder_dynamics.errors import LawError, RobotFileError, listed, shortened
from thunder_dynamics.readers.yaml_text import YamlDocument, parse_yaml
from thunder_dynamics.storage.door import read_text
from thunder_dynamics.storage.whole import write_text

CONTROLLER = "/**/adaptive_controller"
"""Section of the controller in every namespace."""

FORM = "<node>: {ros__parameters: {gains: {<name>: <values>}}}"


def read_parameters(path: Path) -> tuple[YamlDocument, dict[str, Mapping[str, Any]]]:
    """Read a ROS parameter file: the document, and the parameters by node, which may be a pattern.

    Raises:
        RobotFileError: if the file cannot be read or is no YAML.
        LawError: if it is no parameter file.
    """
    document = parse_yaml(read_text(path, RobotFileError), str(path))
    found = {}
    for node, section in document.data.items():
        parameters = section.get("ros__parameters") if isinstance(section, Mapping) else None
        if not isinstance(parameters, Mapping):
            raise LawError("no ROS parameters", where=document.where((node,)), valid=FORM)
        found[node] = parameters
    return document, found


def read_gains(path: Path) -> dict[str, Any]:
    """Read the gains of all nodes of a file, by name; whether they are numbers is for the host to say.

    Raises:
        RobotFileError: if the file cannot be read or is no YAML.
        LawError: if it is no parameter file, has no gains, or some by the names of joints.
    """
    gains: dict[str, Any] = {}
    document, sections = read_parameters(path)
    for node, parameters in sections.items():
        nested = parameters.get("gains", {})
        if not isinstance(nested, Mapping):
            raise LawError(
                f"gains are {shortened(nested)}", where=document.where((node, "ros__parameters", "gains")), valid=FORM
            )
        gains |= nested
        gains |= {name[len("gains.") :]: value for name, value in parameters.items() if name.startswith("gains.")}
    if not gains:
        raise LawError("no gains", where=str(path), valid=FORM)
    if named := [name for name, value in gains.items() if isinstance(value, Mapping)]:
        what = f"{listed(named)} by the names of joints, which a node passes over"
        raise LawError(what, where=str(path), valid="lists in the order of the library's joints")
    return gains


def write_gains(path: Path, gains: Mapping[str, Any], comment: str) -> None:
    """Write gains by name, plain numbers or lists of them, below a comment.

    Raises:
        LawError: if the file cannot be written.
    """
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    sections = {CONTROLLER: {"ros__parameters": {"gains": dict(gains)}}}
    text = yaml.safe_dump(sections, sort_keys=False, default_flow_style=None, width=120)
    try:
        write_text(path, lines + text)
    except OSError as error:
        raise LawError(f"cannot be written: {error.strerror}", where=str(path), valid="a file in a folder") from error
