"""Options that laws share: which there are, one of several values, which links adapt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thunder_dynamics.errors import LawError, NameNotFoundError, nearest
from thunder_dynamics.model import RobotModel


def adapted_links(model: RobotModel, value: Any) -> tuple[int, ...]:
    """Indices of the links to adapt, from the option `adapted_links`: names, "all", or nothing for the last link.

    Raises:
        LawError: if no link or a link twice is named.
        NameNotFoundError: for a link that the robot does not have.
    """
    if value is None:
        return (model.ee_link,)
    if value == "all" or list(value) == ["all"]:
        return tuple(range(model.n))
    names = [value] if isinstance(value, str) else list(value)
    if not names or len(set(names)) != len(names):
        raise LawError(f"adapted_links {names}", valid=f"different links among {', '.join(model.link_names)}, or 'all'")
    return tuple(model.index_of(name) for name in names)


def check_options(law: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise `NameNotFoundError` for an option that a law does not have."""
    for option in options:
        if option not in known:
            raise NameNotFoundError(f"no option '{option}'", where=f"law {law}", valid=nearest(option, known))


def choose(law: str, options: Mapping[str, Any], name: str, *choices: str) -> str:
    """Value of an option, one of `choices`; the first of them where it is not given.

    Raises:
        LawError: for any other value, with the choices.
    """
    value = options.get(name, choices[0])
    if value not in choices:
        raise LawError(f"{name} '{value}'", where=f"law {law}", valid=nearest(str(value), choices))
    return str(value)
