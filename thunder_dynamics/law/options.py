"""Options of laws as data: what `law.options` of a scenario may say, told before any law is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from thunder_dynamics.errors import LawError, NameNotFoundError, loaded, nearest
from thunder_dynamics.expressions import RobotExpressions
from thunder_dynamics.law.contract import Law


@dataclass(frozen=True)
class Option:
    """An option of a law, or of a part that a law is composed of.

    Attributes:
        name: Identifier.
        doc: One sentence.
        values: What it may be, the default first; empty for what only the law can judge, such as names of links.
        group: Of entry points whose names are values too: of parts, whose own `OPTIONS` a law then has as well.
    """

    name: str
    doc: str
    values: tuple[str, ...] = ()
    group: str = ""

    @property
    def parts(self) -> dict[str, EntryPoint]:
        """Installed parts by name."""
        return {entry.name: entry for entry in sorted(entry_points(group=self.group))} if self.group else {}

    @property
    def choices(self) -> tuple[str, ...]:
        """Every value, the default first; none where any will do."""
        return tuple(dict.fromkeys((*self.values[:1], *self.parts, *self.values)))


class Options(dict[str, Any]):
    """Every option of a law with its value, or its default.

    Args:
        law: Its name.
        declared: Options there are.
        given: Values by name.

    Attributes:
        law: For errors.
        parts: What was loaded of the parts that are chosen, by the name of their option.

    Raises:
        NameNotFoundError: for an option that is not declared.
        LawError: for a value that an option does not have.
    """

    def __init__(self, law: str, declared: Iterable[Option], given: Mapping[str, Any]) -> None:
        super().__init__()
        self.law = law
        self.parts: dict[str, Any] = {}
        for option in declared:
            self._take(option, given)
        for name in given:
            if name not in self:
                raise NameNotFoundError(f"no option '{name}'", where=f"law {law}", valid=nearest(name, self))

    def _take(self, option: Option, given: Mapping[str, Any]) -> None:
        choices, installed = option.choices, option.parts
        value = given.get(option.name, choices[0] if choices else None)
        if choices and value not in choices:
            raise self.error(f"{option.name} '{value}'", nearest(str(value), choices))
        self[option.name] = value
        if choices and value in installed:
            part = self.parts[option.name] = loaded(installed[value])
            for own in getattr(part, "OPTIONS", ()):
                self._take(own, given)

    def error(self, what: str, valid: str) -> LawError:
        """An error that names the law."""
        return LawError(what, where=f"law {self.law}", valid=valid)


Builder = Callable[[RobotExpressions, Options], Law]


def takes(
    *declared: Option, elastic: bool = False
) -> Callable[[Builder], Callable[[RobotExpressions, Mapping[str, Any]], Law]]:
    """Declare the options of a law above its builder, which is then called with checked and complete `Options`.

    A law is for rigid joints unless it is declared `elastic`: it is built with `RobotExpressions.rigid`.
    """

    def declare(build: Builder) -> Callable[[RobotExpressions, Mapping[str, Any]], Law]:
        @wraps(build)
        def checked(robot: RobotExpressions, options: Mapping[str, Any]) -> Law:
            return build(robot if elastic else robot.rigid, Options(build.__name__, declared, options))

        vars(checked).update(OPTIONS=declared, ELASTIC=elastic)
        return checked

    return declare


def is_for_elastic_joints(builder: Any) -> bool:
    """Whether a law minds the springs of a robot: one that does not say so with `takes` is for rigid joints."""
    return bool(getattr(builder, "ELASTIC", False))


def options_of(builder: Any) -> Iterator[Option]:
    """Options that a builder of laws or a part declares, and those of the parts that are chosen by default."""
    for option in getattr(builder, "OPTIONS", ()):
        yield option
        if (entry := option.parts.get(option.choices[0] if option.choices else "")) is not None:
            yield from options_of(loaded(entry))
