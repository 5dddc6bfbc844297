"""How the ROS interface of a node is written down as data: nodes declare it from here, and the docs are made of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

Value = bool | int | float | str | tuple[float, ...] | tuple[str, ...]


class Kind(Enum):
    """Type of a parameter, by the name that ROS gives it."""

    BOOL = "bool"
    INTEGER = "integer"
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
    read_only: bool = True

    @property
    def text(self) -> str:
        """Description with unit and choices, as `ros2 param describe` shows it."""
        parts = [self.description]
        if self.unit:
            parts.append(f"[{self.unit}]")
        if self.choices:
            parts.append(f"({', '.join(self.choices)})")
        return " ".join(parts)


class Direction(Enum):
    """Who writes a topic."""

    PUBLISHES = "publishes"
    SUBSCRIBES = "subscribes"


@dataclass(frozen=True)
class Topic:
    """A topic of a node; `qos` names a profile of qos.py. A parameter in braces stands for its value."""

    name: str
    type: str
    direction: Direction
    qos: str
    description: str


@dataclass(frozen=True)
class Service:
    """A service that a node offers."""

    name: str
    type: str
    description: str


@dataclass(frozen=True)
class NodeInterface:
    """Everything that a node shows to others."""

    name: str
    executable: str
    description: str
    topics: tuple[Topic, ...]
    services: tuple[Service, ...]
    parameters: tuple[Parameter, ...]
