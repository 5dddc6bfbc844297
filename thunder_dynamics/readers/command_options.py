"""Options of robot files, one table: each door of the project makes its own of it.

A command line has `--lock JOINT=VALUE`, a launch file and a node `lock`, Python and scenarios `locked_joints`. A path
is seen from the working directory of who gives it, in a scenario from the folder of its file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import click

from thunder_dynamics.errors import RobotFileError, ThunderError


def named_values(
    texts: Iterable[str], where: str | None = None, error: type[ThunderError] = RobotFileError
) -> dict[str, str]:
    """Split texts NAME=VALUE, or NAME:=VALUE as ROS has them.

    Raises:
        RobotFileError: or what `error` says, if one has another form.
    """
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name.removesuffix(":") or not sign or not value:
            raise error(f"'{text}' is no option", where=where, valid="NAME=VALUE or NAME:=VALUE")
        found[name.removesuffix(":")] = value
    return found


def parse_number(text: str, where: str, error: type[ThunderError] = RobotFileError) -> float:
    """Parse the number of the option `where`.

    Raises:
        RobotFileError: or what `error` says, if it is none.
    """
    try:
        return float(text)
    except ValueError:
        raise error(f"'{text}' is no number", where=where, valid="a number") from None


def _number_pairs(texts: Iterable[str]) -> dict[str, float]:
    return {joint: parse_number(value, joint) for joint, value in named_values(texts).items()}


def _positions(texts: Iterable[str]) -> dict[str, tuple[float, ...]]:
    given = named_values(texts).items()
    return {joint: tuple(parse_number(one, joint) for one in values.split(",")) for joint, values in given}


class Form(Enum):
    """Form in which a command line, a launch file and a node take an option."""

    FLAG = "flag"  #: Given or not.
    TEXT = "text"  #: One word.
    NAMES = "names"  #: One name, or several.
    VECTOR = "vector"  #: Three numbers.
    LIST = "list"  #: Several words, such as NAME=VALUE.


Place = Callable[[str], str]
"""Makes an absolute path of one that is given."""


def from_here(path: str) -> str:
    """Return a path that is seen from the working directory as an absolute one."""
    return str(Path(path).expanduser().absolute())


@dataclass(frozen=True)
class ReadingOption:
    """An option of `load_model`.

    Attributes:
        name: Its name in Python and in `robot_options` of a scenario.
        text: What it is, one sentence.
        word: Its name on a command line, without dashes; empty: `name` with dashes.
        ros: Its name as launch argument and parameter of a node; empty: `name`.
        form: Form of its value.
        metavar: What a value looks like, for help.
        make: Makes the value of the words that are given.
        choices: The only valid values.
        unit: Unit of its numbers, where its words are numbers.
        places: Its value, or each of its values, is a path.
        of: Readers that take it: all, URDF (and xacro), or xacro.
    """

    name: str
    text: str
    of: str = "all"
    word: str = ""
    ros: str = ""
    form: Form = Form.TEXT
    metavar: str | None = None
    make: Callable[[Sequence[str]], Any] = lambda words: words[0]
    choices: tuple[str, ...] = ()
    places: bool = False
    unit: str = ""

    @property
    def ros_name(self) -> str:
        """Name of the launch argument and of the parameter."""
        return self.ros or self.name

    @property
    def spelled_in_ros(self) -> str:
        """Name and form of the launch argument, as messages show it."""
        return f"{self.ros_name}:={'true' if self.form is Form.FLAG else self.metavar or ''}"

    @property
    def flag(self) -> str:
        """Option of a command line."""
        return f"--{self.word or self.name.replace('_', '-')}"

    def value(self, words: Sequence[str], place: Place = from_here) -> Any:
        """Return the option's value of words that are given, paths absolute."""
        made = self.make(words)
        return self.located(made, place) if self.places else made

    def located(self, value: Any, place: Callable[[Any], Any]) -> Any:
        """Return a value with its paths by `place`; one that is no path, list or mapping is left to the reader."""
        if isinstance(value, Mapping):
            return {name: place(path) for name, path in value.items()}
        return [place(path) for path in value] if isinstance(value, list | tuple) else place(value)

    def click_option(self) -> Callable[[Any], Any]:
        """Return the option of a command line."""
        if self.form is Form.FLAG:
            return click.option(self.flag, self.name, is_flag=True, help=self.text)
        if self.form is Form.VECTOR:
            text = f"{self.text} [{self.unit}]"
            return click.option(self.flag, self.name, nargs=3, type=float, metavar=self.metavar, help=text)
        several = self.form is not Form.TEXT
        return click.option(
            self.flag,
            self.name,
            multiple=several,
            type=click.Choice(self.choices) if self.choices else str,
            metavar=self.metavar if several else None,
            callback=lambda _context, _option, given: given and self.value(given if several else [given]),
            help=self.text,
        )


URDF, XACRO_ONLY = "URDF", "xacro"
READING = (
    ReadingOption("allow_inconsistent", "Warn about impossible inertias instead of refusing them.", form=Form.FLAG),
    ReadingOption("arm", "Take the longest chain of joints as the arm; hold grippers and all else.", form=Form.FLAG),
    ReadingOption("base", "URDF: whether the base moves (default: fixed).", URDF, choices=("fixed", "floating")),
    ReadingOption("base_link", "URDF: link that is the base; gravity is turned as it is mounted.", URDF),
    ReadingOption(
        "ee_link",
        "URDF: link that is the end effector, or one of several.",
        URDF,
        form=Form.NAMES,
        make=lambda links: links[0] if len(links) == 1 else tuple(links),
    ),
    ReadingOption("tree", "URDF: take joints off the chain to a single end effector, too.", URDF, form=Form.FLAG),
    ReadingOption(
        "locked_joints",
        "Hold a joint at a value, or at several.",
        word="lock",
        ros="lock",
        form=Form.LIST,
        metavar="JOINT=VALUE[,…]",
        make=_positions,
    ),
    ReadingOption(
        "gravity",
        "Gravity in the frame of the base link.",
        unit="m/s²",
        form=Form.VECTOR,
        metavar="X Y Z",
        make=lambda words: tuple(parse_number(word, "gravity") for word in words),
    ),
    ReadingOption("zero_limits", "URDF: what a limit of 0 says.", URDF, choices=("unlimited", "refused")),
    ReadingOption(
        "rotor_inertias",
        "Reflected rotor inertia of a joint [kg·m² or kg].",
        word="rotor",
        ros="rotor",
        form=Form.LIST,
        metavar="JOINT=VALUE",
        make=_number_pairs,
    ),
    ReadingOption("without_rotors", "Rotors are known to be zero.", form=Form.FLAG),
    ReadingOption("snap_angles", "Take 1.5708 for a right angle, and all within 1e-4 rad of one.", form=Form.FLAG),
    ReadingOption("drives", "File of rotors, friction and offsets that thunder commission wrote.", places=True),
    ReadingOption(
        "xacro_args",
        "Argument of a xacro file.",
        XACRO_ONLY,
        word="xacro-arg",
        form=Form.LIST,
        metavar="NAME=VALUE",
        make=named_values,
    ),
    ReadingOption(
        "xacro_folders",
        "Folder outside its package that it may read.",
        XACRO_ONLY,
        word="xacro-folder",
        form=Form.LIST,
        metavar="FOLDER",
        make=list,
        places=True,
    ),
    ReadingOption(
        "packages",
        "Where $(find NAME) leads.",
        XACRO_ONLY,
        word="package",
        form=Form.LIST,
        metavar="NAME=FOLDER",
        make=named_values,
        places=True,
    ),
)
"""All of them but `name`, which every door asks for by itself."""


def located(reading: Mapping[str, Any], place: Callable[[Any], Any] = from_here) -> dict[str, Any]:
    """Return options of `load_model` with their paths by `place`."""
    paths = {option.name: option for option in READING if option.places}
    return {key: paths[key].located(value, place) if key in paths else value for key, value in reading.items()}


def reading_options(*names: str, but: Sequence[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of robot files, as its argument `reading`: those of `load_model` that are given.

    Args:
        names: Which, as `load_model` calls them; all by default.
        but: Which not.
    """
    chosen = {o.name: o.click_option() for o in READING if o.name in (names or [o.name]) and o.name not in but}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(**options: Any) -> Any:
            given = {name: options.pop(name) for name in chosen}
            return command(reading={name: value for name, value in given.items() if value}, **options)

        return functools.reduce(lambda function, option: option(function), reversed(chosen.values()), run)

    return decorate
