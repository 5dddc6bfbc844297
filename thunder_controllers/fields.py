"""Fields of what files and scripts state: numbers in a range, vectors, one value for all joints or one each.

Every section is a frozen pydantic model: unknown keys, wrong types, non-finite numbers and values out of range raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from thunder_dynamics.errors import ScenarioError, nearest

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)]
Vector3 = tuple[Finite, Finite, Finite]
Six = tuple[Finite, Finite, Finite, Finite, Finite, Finite]
PerJoint = NonNegative | Annotated[tuple[NonNegative, ...], Field(min_length=1)]
"""One number for all joints, or one each."""

LONGEST_INPUT = 60
"""Characters of a wrong value that a message shows."""

UNKNOWN_KEY = "unknown_key"
"""Type of the error that an unknown key is."""


def plain(value: Any) -> Any:
    """Arrays and numbers of NumPy as a YAML file would have them, paths as text."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return fspath(value) if isinstance(value, PathLike) else value


class Strict(BaseModel):
    """Frozen model that refuses unknown keys, naming the known ones, and takes arrays for lists of numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_all_keys(cls, data: Any) -> Any:
        unknown = [key for key in data if key not in cls.model_fields] if isinstance(data, dict) else []
        if unknown and cls.model_config.get("extra") == "forbid":
            context = {"key": str(unknown[0]), "valid": nearest(str(unknown[0]), cls.model_fields)}
            raise PydanticCustomError(UNKNOWN_KEY, "unknown key '{key}' (valid: {valid})", context)
        return plain(data)


Stated = TypeVar("Stated", bound=BaseModel)


def checked(kind: type[Stated], values: Mapping[str, Any], where: str) -> Stated:
    """Make a section of values that come from no file.

    Raises:
        ScenarioError: for the first value that is wrong, at `where` and the key.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        what, valid = complaint(first)
        raise ScenarioError(what, where=".".join(map(str, (where, *first["loc"]))), valid=valid) from error


def complaint(found: Mapping[str, Any]) -> tuple[str, str | None]:
    """What is wrong, and what would be valid, of an error of pydantic's."""
    if found["type"] == UNKNOWN_KEY:
        return f"unknown key '{found['ctx']['key']}'", found["ctx"]["valid"]
    if found["type"] == "missing" and isinstance(found["loc"][-1], int):
        return f"only {found['loc'][-1]} values", "more values"
    if found["type"] == "missing":
        return f"missing key '{found['loc'][-1]}'", "a value for it"
    if found["type"] == "value_error":
        what, _, valid = str(found["ctx"]["error"]).partition(" (valid: ")
        return what, valid[:-1] or None
    shown, message = repr(found["input"]), found["msg"]
    return shown if len(shown) <= LONGEST_INPUT else f"{shown[: LONGEST_INPUT - 3]}…", message[:1].lower() + message[1:]


def per_joint(value: float | tuple[float, ...], n: int, where: str) -> NDArray[np.float64]:
    """Expand one number or n numbers to shape (n,).

    Raises:
        ScenarioError: if there are neither one nor n.
    """
    array = np.atleast_1d(np.asarray(value, dtype=float))
    if array.shape not in ((1,), (n,)):
        raise ScenarioError(f"{len(array)} values", where=where, valid=f"one, or one per joint ({n})")
    return np.broadcast_to(array, (n,)).copy()
