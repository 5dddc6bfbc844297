"""Which nodes make up a system, as data: the launch files and `thunder ros` start the same nodes from it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thunder_controllers.resources import PACKAGE
from thunder_dynamics.errors import ThunderError

SIGN = ":="
"""Between the name and the value of an argument, as in ROS."""

TRUE, FALSE = "true", "false"


class LaunchArgumentError(ThunderError):
    """A launch argument is unknown, has a bad value, or asks for what is not there."""


@dataclass(frozen=True)
class Argument:
    """A launch argument; every value is text."""

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Xacro:
    """A parameter whose value is the text of an expanded xacro file; it is expanded when the node starts."""

    file: str
    """Path or package:// URI; a plain URDF is taken as it is."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """Values of its xacro:arg."""


@dataclass(frozen=True)
class NodeDescription:
    """A node to start."""

    executable: str
    """Name in `lib/<package>/`."""
    name: str
    """Name of the node; nodes of other packages have theirs by themselves and are not renamed."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values that the arguments determine; stronger than those in `files`."""
    files: tuple[Path, ...] = ()
    """ROS parameter files, later ones stronger."""
    required: bool = True
    """If it ends, everything ends; others may end by themselves, but only with status 0."""
    package: str = PACKAGE
    """Where the executable is."""
    module: str = ""
    """Python module that is the executable, for nodes of this package."""
    factory: str = ""
    """MODULE:CALLABLE that makes the node in a process that it shares."""
    arguments: tuple[str, ...] = ()
    """Words on its command line that are not for ROS."""
    remappings: tuple[tuple[str, str], ...] = ()
    """Names of topics and services, and what they become."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that it needs beside those of this process."""


@dataclass(frozen=True)
class CommandDescription:
    """A program that is no node of this package, such as rqt."""

    command: tuple[str, ...]
    origin: str
    """What brings it, for the message when it is missing."""

    module: str = ""
    """Python module of this package that runs it, with the other words as its arguments; empty: none."""

    @property
    def name(self) -> str:
        """First word of the command: the program that must be installed."""
        return self.command[0]

    @property
    def words(self) -> tuple[str, ...]:
        """What is executed."""
        return (sys.executable, "-m", self.module, *self.command[1:]) if self.module else self.command


@dataclass(frozen=True)
class Need:
    """Something of another package that a backend cannot do without."""

    package: str
    """Name in the ament index."""
    origin: str
    """Where it comes from: a Debian package, or a place to build it from."""
    resource: str = "packages"
    """Kind of the entry in the ament index; a plugin of this package is one, too."""


@dataclass(frozen=True)
class NodeSet:
    """Everything to start."""

    nodes: tuple[NodeDescription, ...]
    commands: tuple[CommandDescription, ...] = ()
    namespace: str = ""
    """Of all nodes; empty: the root."""
    needs: tuple[Need, ...] = ()
    """What must be installed; checked before anything starts."""
    before: tuple[tuple[str, ...], ...] = ()
    """Commands of `thunder` that run to their end before anything starts, such as one that writes a file."""


@dataclass(frozen=True)
class Bringup:
    """A named way to bring up a system."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    make: Callable[[Mapping[str, str]], NodeSet]
    """From a complete set of arguments to what to start."""

    def node_set(self, given: Mapping[str, str]) -> NodeSet:
        """Describe what to start.

        Args:
            given: Values of arguments; the others have their defaults.

        Raises:
            LaunchArgumentError: for an unknown argument or a value that is none of its choices.
        """
        table = {argument.name: argument for argument in self.arguments}
        for name, value in given.items():
            if name not in table:
                raise LaunchArgumentError(f"no argument '{name}'", where=self.name, valid=", ".join(table))
            choices = table[name].choices
            if choices and value not in choices:
                raise LaunchArgumentError(f"{name}{SIGN}{value}", where=self.name, valid=", ".join(choices))
        return self.make({name: given.get(name, argument.default) for name, argument in table.items()})


def own_node(executable: str, name: str, factory: str, **options: Any) -> NodeDescription:
    """Describe a node of this package; its module is <executable>.node."""
    module = f"{PACKAGE}.ros.{executable}.node"
    return NodeDescription(executable, name, module=module, factory=f"{module}:{factory}", **options)


def parse_arguments(words: Sequence[str]) -> dict[str, str]:
    """Parse NAME:=VALUE words.

    Raises:
        LaunchArgumentError: if a word has another form, or a name stands twice.
    """
    given: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition(SIGN)
        if not name or not sign:
            raise LaunchArgumentError(f"'{word}' is no argument", valid=f"NAME{SIGN}VALUE")
        if name in given:
            raise LaunchArgumentError(f"argument '{name}' is given twice", valid="each argument once")
        given[name] = value
    return given


def read_switch(arguments: Mapping[str, str], name: str) -> bool:
    """Read an argument that is true or false."""
    return arguments[name] == TRUE


def read_number(arguments: Mapping[str, str], name: str, unit: str) -> float:
    """Read an argument that is a number, zero or more.

    Raises:
        LaunchArgumentError: if it is none.
    """
    try:
        value = float(arguments[name])
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise LaunchArgumentError(f"{name}{SIGN}{arguments[name]}", valid=f"a number, zero or more [{unit}]")
    return value


def read_numbers(arguments: Mapping[str, str], name: str, count: int) -> tuple[float, ...]:
    """Read an argument that is nothing, or numbers written as a+b+c.

    Raises:
        LaunchArgumentError: if there are not `count` of them, or the first, a mass, is not positive.
    """
    words = arguments[name].split("+") if arguments[name] else []
    try:
        values = tuple(float(word) for word in words)
    except ValueError:
        values = (0.0,)
    if values and not (len(values) == count and values[0] > 0.0 and all(abs(value) < 1e3 for value in values)):
        raise LaunchArgumentError(f"{name}{SIGN}{arguments[name]}", valid=f"{count} numbers a+b+…, the first positive")
    return values


def read_list(arguments: Mapping[str, str], name: str) -> list[str]:
    """Read a list written as a+b; empty text is an empty list."""
    return [item for item in arguments[name].split("+") if item]


def ros_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what ROS cannot express: empty arrays have no type, so the node's default, which is empty, stays."""
    return {name: value for name, value in values.items() if value != [] and value is not None}


def parameter_file(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Write parameters in the form of a ROS parameter file, valid for the node of that name in any namespace."""
    return {f"/**/{name}": {"ros__parameters": ros_parameters(values)}}
