"""Sections of files as frozen pydantic models that refuse unknown keys, and what is wrong with one in a line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from thunder_dynamics.errors import RobotFileError, listed, nearest, shortened

Value = TypeVar("Value")

UNKNOWN_KEY = "unknown_key"
"""Type of the error that an unknown key is."""


class Strict(BaseModel):
    """Frozen model that refuses unknown keys, naming the known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_all_keys(cls, data: Any) -> Any:
        unknown = [key for key in data if key not in cls.model_fields] if isinstance(data, dict) else []
        if unknown and cls.model_config.get("extra") == "forbid":
            context = {"key": str(unknown[0]), "valid": nearest(str(unknown[0]), cls.model_fields)}
            raise PydanticCustomError(UNKNOWN_KEY, "unknown key '{key}' (valid: {valid})", context)
        return data


def complaint(found: Mapping[str, Any]) -> tuple[str, str | None]:
    """What is wrong, and what would be valid, of an error of pydantic's."""
    kind, place, message = found["type"], found["loc"], found["msg"]
    if kind == UNKNOWN_KEY:
        return f"unknown key '{found['ctx']['key']}'", found["ctx"]["valid"]
    if kind == "missing" and isinstance(place[-1], int):
        return f"only {place[-1]} values", "more values"
    if kind == "missing":
        return f"missing key '{place[-1]}'", "a value for it"
    if kind == "value_error":
        what, _, valid = str(found["ctx"]["error"]).partition(" (valid: ")
        return what, valid[:-1] or None
    is_mapping = kind in ("model_type", "dict_type")
    return shortened(found["input"]), "keys and values" if is_mapping else message[:1].lower() + message[1:]


def beyond_a_turn(angles: Sequence[float]) -> tuple[str, str] | None:
    """Return what is wrong with angles of which one is more than a turn, and what may be meant; None if none is."""
    if not max(map(abs, angles)) > 2.0 * math.pi:
        return None
    meant = ", ".join(f"{math.radians(angle):.5g}" for angle in angles)
    meant = f"[{meant}]" if len(angles) > 1 else meant
    return f"{max(angles, key=abs):g} rad is more than a turn", f"radians; did you mean {meant}?"


def by_names(given: Mapping[str, Value], names: Sequence[str], kind: str, where: str) -> dict[str, Value]:
    """Return what a file says of links or joints in their order, whatever the file's.

    Keys are their names, or numbered, link1 or joint1 and so on; where they are neither, their order is all there is.

    Raises:
        RobotFileError: for some of their names, in another order.
    """
    for known in (names, [f"{kind}{k + 1}" for k in range(len(given))]):
        if set(known) == set(given):
            return {name: given[name] for name in known}
    if any(key in names and names.index(key) != place for place, key in enumerate(given)):
        raise RobotFileError(f"{kind}s {listed(list(given))}", where=where, valid=f"{', '.join(names)}, each once")
    return dict(given)
