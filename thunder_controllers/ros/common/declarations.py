"""Parameters of the nodes as `parameters.yaml` declares them, in the format of generate_parameter_library.

    rate: { type: double, default_value: 50.0, validation: { bounds<>: [0.1, 1000.0] }, description: "Of poses. [Hz]" }

What the ros2_control plugin and the node share, both declare from one file. Beyond the format: a description ends with
the unit in brackets where there is one, and a file may hold the tables of several nodes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import yaml

from thunder_controllers.fields import Strict, checked
from thunder_controllers.ros.common.names import CONTROLLER, GENERATOR, SIMULATION
from thunder_dynamics.errors import ScenarioError
from thunder_dynamics.readers.command_options import READING, Form, ReadingOption
from thunder_dynamics.storage.door import read_text

if TYPE_CHECKING:
    from thunder_controllers.host import OptionInfo

PACKAGE = Path(__file__).resolve().parents[2]

Value = bool | int | float | str | tuple[float, ...] | tuple[str, ...]


class Kind(Enum):
    """Type of a parameter."""

    BOOL = "bool"
    INTEGER = "int"
    DOUBLE = "double"
    STRING = "string"
    DOUBLES = "double_array"
    STRINGS = "string_array"


@dataclass(frozen=True)
class Parameter:
    """A ROS parameter.

    Attributes:
        name: Name, dots separate groups.
        kind: Type.
        default: Value if nothing else is given.
        description: One sentence or two, without the unit.
        unit: SI unit; "1" for pure numbers, "" where a unit means nothing (names, switches).
        lower: Smallest valid value, of each element of an array.
        upper: Largest valid value.
        positive: `lower` itself is not valid.
        choices: The only valid values of a string; empty: any.
        size: Valid number of elements of an array; None: any.
        not_empty: A string must not be empty.
        read_only: Fixed once the node runs; others may be set at any time, and act when their description says.
    """

    name: str
    kind: Kind
    default: Value
    description: str
    unit: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    positive: bool = False
    choices: tuple[str, ...] = ()
    size: int | None = None
    not_empty: bool = False
    read_only: bool = False

    @property
    def text(self) -> str:
        """Description with unit and choices, as `ros2 param describe` shows it."""
        parts = [self.description]
        if self.unit:
            parts.append(f"[{self.unit}]")
        if self.choices:
            parts.append(f"({', '.join(self.choices)})")
        return " ".join(parts)


class Values(Protocol):
    """Values of parameters by name; arrays are tuples."""

    def __getitem__(self, name: str) -> Any:
        """Value of a parameter."""
        ...


def node_parameters(folder: str, node: str) -> tuple[Parameter, ...]:
    """Parameters of a node: `parameters.yaml` in its folder of `ros/`, and options of robot files if it reads them."""
    declared = read_parameters(PACKAGE / "ros" / folder / "parameters.yaml", node)
    return (*declared, *map(_reading_parameter, READING)) if node in (GENERATOR, SIMULATION) else declared


_FORMS: Mapping[Form, tuple[Kind, Value]] = {
    Form.FLAG: (Kind.BOOL, False),
    Form.VECTOR: (Kind.DOUBLES, ()),
    Form.LIST: (Kind.STRINGS, ()),
}
"""Types and defaults of parameters by the form of an option; others are texts, empty where they are not given."""


def _reading_parameter(option: ReadingOption) -> Parameter:
    """An option of robot files as a parameter; nodes select the arm unless they are asked not to."""
    kind, default = _FORMS.get(option.form, (Kind.STRING, ""))
    text = f"{option.text} Each {option.metavar}." if option.form is Form.LIST else option.text
    return Parameter(option.ros_name, kind, option.name == "arm" or default, text, option.unit, read_only=True)


def plugin_parameters() -> tuple[Parameter, ...]:
    """Parameters of the ros2_control plugin, all of which the controller node has too."""
    from thunder_controllers.host import option_list  # only here: the generator builds robots before there is a host

    declared = read_parameters(PACKAGE / "ros2_control" / "plugin" / "parameters.yaml", "thunder_adaptive_controller")
    names = {parameter.name for parameter in declared}
    return (*declared, *(_option_parameter(option) for option in option_list() if option.name not in names))


def _option_parameter(option: OptionInfo) -> Parameter:
    """An option of the host as a parameter; an empty array stands for the library's limits."""
    text = f"{option.text} Takes effect when the controller is configured."
    if isinstance(option.default, bool):
        return Parameter(option.name, Kind.BOOL, option.default, text)
    kind = Kind.DOUBLES if isinstance(option.default, tuple) else Kind.DOUBLE
    upper = option.upper if option.upper < sys.float_info.max else math.inf
    bounds: dict[str, Any] = {"lower": option.lower, "upper": upper, "positive": not option.includes_lower}
    return Parameter(option.name, kind, option.default, text, option.unit, **bounds)


def controller_parameters() -> tuple[Parameter, ...]:
    """Parameters of the controller node without those of the law: the plugin's, then its own."""
    return (*plugin_parameters(), *node_parameters("controller", CONTROLLER))


def read_parameters(file: Path, root: str) -> tuple[Parameter, ...]:
    """Read the table `root` of a file of parameters.

    Raises:
        ScenarioError: if something in it is not understood.
    """
    tables = yaml.safe_load(read_text(file, ScenarioError))
    return tuple(_read_table(tables[root], "", str(file)))


def _read_table(table: Mapping[str, Any], prefix: str, file: str) -> Iterator[Parameter]:
    for key, value in table.items():
        if isinstance(value.get("type"), str):  # a group may hold a parameter that is called type
            yield _read_parameter(f"{prefix}{key}", value, f"{file}: {prefix}{key}")
        else:
            yield from _read_table(value, f"{prefix}{key}.", file)


class _Declared(Strict):
    """A declaration as a file has it."""

    type: Kind
    default_value: Any
    description: str
    read_only: bool = False
    validation: dict[str, list[Any] | None] = {}


_NUMBER, _ARRAY = (Kind.INTEGER, Kind.DOUBLE), (Kind.DOUBLES, Kind.STRINGS)

_RULES: Mapping[str, tuple[tuple[Kind, ...], Callable[..., dict[str, Any]]]] = {
    "bounds<>": (_NUMBER, lambda lower, upper: {"lower": lower, "upper": upper}),
    "element_bounds<>": ((Kind.DOUBLES,), lambda lower, upper: {"lower": lower, "upper": upper}),
    "lower_element_bounds<>": ((Kind.DOUBLES,), lambda lower: {"lower": lower}),
    "upper_element_bounds<>": ((Kind.DOUBLES,), lambda upper: {"upper": upper}),
    "thunder_controllers::number": ((Kind.DOUBLE,), dict),  # a node refuses everything else in any case
    "thunder_controllers::positive": ((Kind.DOUBLE, Kind.DOUBLES), lambda: {"lower": 0.0, "positive": True}),
    "fixed_size<>": (_ARRAY, lambda size: {"size": size}),
    "one_of<>": ((Kind.STRING,), lambda choices: {"choices": tuple(choices)}),
    "not_empty<>": ((Kind.STRING,), lambda: {"not_empty": True}),
}
"""Validators: the types they are for, and what their arguments say."""

_ELEMENTS = {Kind.BOOL: bool, Kind.INTEGER: int, Kind.DOUBLE: float, Kind.DOUBLES: float}


def _read_parameter(name: str, values: Mapping[str, Any], where: str) -> Parameter:
    declared = checked(_Declared, values, where)
    kind, default = declared.type, declared.default_value
    is_array = isinstance(default, list)
    elements = default if is_array else [default]
    if is_array != (kind in _ARRAY) or any(type(element) is not _ELEMENTS.get(kind, str) for element in elements):
        raise ScenarioError(f"default_value {default!r}", where=where, valid=f"a {kind.value}")
    text, unit = re.fullmatch(r"(.*?)(?: \[([^]]*)\])?", declared.description).groups()  # type: ignore[union-attr]
    rules: dict[str, Any] = {}
    for rule, arguments in declared.validation.items():
        kinds, read = _RULES.get(rule, ((), dict))
        if kind not in kinds:
            valid = ", ".join(name for name, (kinds, _) in _RULES.items() if kind in kinds)
            raise ScenarioError(f"{rule} for a {kind.value}", where=where, valid=valid)
        rules |= read(*(arguments or ()))
    value = tuple(default) if is_array else default
    return Parameter(name, kind, value, text, unit or "", **rules, read_only=declared.read_only)
