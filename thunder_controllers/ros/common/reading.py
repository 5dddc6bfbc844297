"""Options of robot files in parameters of nodes and in launch arguments, from their one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thunder_controllers.package_uri import resolve, resolve_file
from thunder_controllers.ros.common.declarations import Values
from thunder_dynamics.readers.command_options import READING, Form

SPELLED = {option.name: option.spelled_in_ros for option in READING}
"""Names of the options in messages."""


def reading_of(parameters: Values) -> dict[str, Any]:
    """Return the options of `load_model` that parameters of a node give; paths may be package:// URIs.

    Raises:
        RobotFileError: for a text that has not the form of its option.
        PackageUriError: as `package_uri.resolve` raises.
    """
    found = {}
    for option in READING:
        value = parameters[option.ros_name]
        if option.form is Form.NAMES:
            value = value.split("+") if value else []
        if option.form is Form.FLAG or not value:
            found[option.name] = value
        else:
            words = [value] if isinstance(value, str) else list(value)
            found[option.name] = option.value(words, _file if option.form is Form.TEXT else _folder)
    return {name: value for name, value in found.items() if value}


def _file(path: str) -> str:
    return str(resolve_file(path))


def _folder(path: str) -> str:
    return str(resolve(path))


def parameters_given(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters that launch arguments give: lists and vectors are a+b, flags true or false."""
    found: dict[str, Any] = {}
    for option in READING:
        text = given.get(option.ros_name, "")
        if option.form is Form.FLAG:
            found |= {option.ros_name: text == "true"} if text else {}
        elif option.form is Form.LIST:
            found[option.ros_name] = [word for word in text.split("+") if word]
        elif option.form is Form.VECTOR:
            found[option.ros_name] = [option.make([word])[0] for word in text.split("+") if word]
        else:
            found[option.ros_name] = text
    return found
