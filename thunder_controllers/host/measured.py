"""Options of the host in a file of ROS parameters: how late and how noisy an arm is measured and driven."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from thunder_controllers.host._host import Options, option_list
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.readers.yaml_text import parse_yaml
from thunder_dynamics.storage.door import read_text


def read_measurement(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the options of the host that the sections of a parameter file have, by name.

    Raises:
        RobotFileError: if the file cannot be read or is no YAML.
        LawError: if an option is out of bounds.
    """
    document = parse_yaml(read_text(Path(path), RobotFileError), str(path))
    found: dict[str, Any] = {}
    for section in document.data.values():
        parameters = section.get("ros__parameters") if isinstance(section, Mapping) else None
        given = parameters if isinstance(parameters, Mapping) else {}
        found |= {option.name: given[option.name] for option in option_list() if option.name in given}
    Options(**found)
    return found
