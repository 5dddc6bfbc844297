"""Fields of what files and scripts state: numbers in a range, vectors, one value for all joints or one each.

Every section is a frozen pydantic model: unknown keys, wrong types, non-finite numbers and values out of range raise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError, model_validator

from thunder_dynamics.errors import NameNotFoundError, ScenarioError, ThunderError, listed, shortened
from thunder_dynamics.readers import fields as readers

FloatArray = NDArray[np.float64]
Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0.0, allow_inf_nan=False)]
Vector3 = tuple[Finite, Finite, Finite]
Six = tuple[Finite, Finite, Finite, Finite, Finite, Finite]
Joints = Annotated[tuple[Finite, ...], Field(min_length=1)]
JointValues = Joints | dict[str, Finite]
"""A number for each joint: in the robot's order, or by the joints' names."""
SignedPerJoint = Finite | JointValues
PerJoint = NonNegative | Annotated[tuple[NonNegative, ...], Field(min_length=1)] | dict[str, NonNegative]
PositivePerJoint = Positive | Annotated[tuple[Positive, ...], Field(min_length=1)] | dict[str, Positive]
"""One number for all joints, or one each, as in `JointValues`."""


def plain(value: Any) -> Any:
    """Arrays and numbers of NumPy as a YAML file would have them, paths as text."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return fspath(value) if isinstance(value, PathLike) else value


class Strict(readers.Strict):
    """Frozen model that refuses unknown keys, naming the known ones, and takes arrays for lists of numbers."""

    @model_validator(mode="before")
    @classmethod
    def _takes_arrays(cls, data: Any) -> Any:
        return plain(data)


Section = TypeVar("Section", bound=BaseModel)
KeyPath = tuple[str | int, ...]


def checked(
    kind: type[Section],
    values: Mapping[str, Any],
    where: str | Callable[[KeyPath], str],
    types: Callable[[KeyPath], str] | None = None,
) -> Section:
    """Make a section of values.

    Args:
        kind: Its class.
        values: By key.
        where: Begins the names of keys in errors, or gives the place of a key path.
        types: What may be the `type` at a place of pydantic's, for errors.

    Raises:
        ScenarioError: for the value that is wrong, with its place and what would be valid.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        # A union complains once per member; the deepest complaint is about the member that was meant.
        first = max(error.errors(include_url=False), key=lambda one: len(_known_path(one["loc"], values)))
        path, what, valid = _complaint(first, _known_path(first["loc"], values), types or (lambda place: "a type"))
        place = where(path) if callable(where) else ".".join(map(str, (where, *path)))
        raise ScenarioError(what, where=place, valid=valid) from error


def _known_path(location: KeyPath, values: Any) -> KeyPath:
    """The keys there are of pydantic's location, which has names of union members in between."""
    path: KeyPath = ()
    for part in location:
        keys = values if isinstance(values, Mapping) else range(len(values) if isinstance(values, list | tuple) else 0)
        if part in keys:
            path, values = (*path, part), values[part]
    return path


def _complaint(found: Any, path: KeyPath, types: Callable[[KeyPath], str]) -> tuple[KeyPath, str, str | None]:
    """Where, what is wrong, and what would be valid, of an error of pydantic's."""
    kind, context = found["type"], found.get("ctx", {})
    if kind == "union_tag_invalid":
        return (*path, "type"), f"type {shortened(context['tag'])}", types(found["loc"])
    if kind == "union_tag_not_found":
        return path, "missing key 'type'", types(found["loc"])
    return ((*path, context["key"]) if kind == readers.UNKNOWN_KEY else path, *readers.complaint(found))


def order_of(
    given: Sequence[str],
    wanted: Sequence[str],
    where: str,
    error: type[ThunderError] = NameNotFoundError,
    *,
    others: bool = False,
) -> list[int]:
    """Return the place among the given names of each wanted one: lists meet by names, never by places.

    Args:
        given: In any order.
        wanted: Different names.
        where: For errors.
        error: To raise.
        others: Whether further names may be given, as of a gripper beside an arm.

    Raises:
        ThunderError: of the type `error`, for names that are missing, unknown or given twice.
    """
    counts = Counter(given)
    wrong = {
        "missing": [name for name in wanted if name not in counts],
        "unknown": [] if others else [name for name in counts if name not in wanted],
        "twice": [name for name in wanted if counts[name] > 1],
    }
    if what := ", ".join(f"{kind} {listed(names)}" for kind, names in wrong.items() if names):
        raise error(what, where=where, valid=f"{', '.join(wanted)}, each once")
    return [given.index(name) for name in wanted]


def in_order(value: Any, joints: Sequence[str], where: str) -> Any:
    """Return numbers by the names of joints as a list in the joints' order, anything else as it is.

    Raises:
        NameNotFoundError: for names that are missing or unknown.
    """
    if not isinstance(value, Mapping):
        return value
    order_of(list(value), joints, where)
    return [value[name] for name in joints]


def per_joint(value: float | Sequence[float] | Mapping[str, float], joints: Sequence[str], where: str) -> FloatArray:
    """Expand one number, a number for each joint in their order, or numbers by their names, to shape (n,).

    Raises:
        ScenarioError: if there are neither one nor n.
        NameNotFoundError: as `in_order` does.
    """
    array, n = np.atleast_1d(np.asarray(in_order(value, joints, where), dtype=float)), len(joints)
    if array.shape not in ((1,), (n,)):
        raise ScenarioError(f"{len(array)} values", where=where, valid=f"one, or one per joint ({n})")
    return np.broadcast_to(array, (n,)).copy()


def numbers(value: float | Sequence[float] | Mapping[str, float]) -> FloatArray:
    """Return the numbers of what `per_joint` takes, without their joints."""
    return np.atleast_1d(np.asarray(list(value.values()) if isinstance(value, Mapping) else value, dtype=float))
