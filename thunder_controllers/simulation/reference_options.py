"""The references that a scenario may state, by `type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import ConfigDict, Discriminator, Field, SkipValidation, Tag

from thunder_controllers.identification import reference as identify
from thunder_controllers.references import sinusoids, table_file, trajectories
from thunder_controllers.references.trajectories import Follower, Reference, Stated
from thunder_controllers.references.users import UserReference, reference_entries
from thunder_dynamics.errors import shortened

KINDS: dict[str, type[Stated]] = {
    name: kind
    for module in (trajectories, sinusoids, table_file, identify)
    for kind in vars(module).values()
    if isinstance(kind, type)
    and issubclass(kind, Stated)
    and isinstance(name := kind.model_fields["type"].default, str)
}
"""References that come with the package: every class with a type in these modules."""


class GivenReference(Stated):
    """A reference of a script; no file can name it."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    type: Literal["given"] = "given"
    make: SkipValidation[Callable[[Follower], Reference]] = Field(exclude=True)

    def build_for(self, follower: Follower) -> Reference:
        """Hand it out."""
        return self.make(follower)


def reference_types() -> list[str]:
    """Types of reference there are, ours and those of entry points."""
    return sorted({*KINDS, *reference_entries()})


def _tag(data: Any) -> str | None:
    """Which class a mapping is validated as, or a given reference is of; None without a type."""
    if isinstance(data, GivenReference):
        return "given"
    kind = data.get("type") if isinstance(data, Mapping) else getattr(data, "type", None)
    if not isinstance(kind, str):
        return None if kind is None else shortened(kind)
    return "entry point" if kind not in KINDS and kind in reference_entries() else kind


if TYPE_CHECKING:
    ReferenceOptions = Stated
else:
    _TAGGED = KINDS | {"entry point": UserReference, "given": GivenReference}
    ReferenceOptions = Annotated[
        Union[tuple(Annotated[kind, Tag(tag)] for tag, kind in _TAGGED.items())],  # noqa: UP007 - of a tuple
        Discriminator(_tag),
    ]
