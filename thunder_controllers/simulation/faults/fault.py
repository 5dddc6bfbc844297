"""What every fault has: a window of time, and the joints or the link that it acts on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from thunder_controllers.fields import NonNegative, Positive, Strict


class Fault(Strict):
    """In force from `start` on and until just before `end` [s]; None: for the rest of the run."""

    type: str
    start: NonNegative = 0.0
    end: Positive | None = None

    @model_validator(mode="after")
    def _lasts(self) -> Fault:
        if self.end is not None and self.end <= self.start:
            raise ValueError(f"a window from {self.start:g} s to {self.end:g} s (valid: an end after the start)")
        return self

    @property
    def place(self) -> str:
        """What it acts on, for people."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Type, place and window, such as 'block panda_joint4, 2 s to 8 s'."""
        until = "the end" if self.end is None else f"{self.end:g} s"
        return f"{self.type} {self.place}, {self.start:g} s to {until}"

    def in_force(self, time: Any, slack: float) -> Any:
        """Whether it acts at `time` [s], a number or an array; `slack` [s] forgives the rounding of sums of steps."""
        end = np.inf if self.end is None else self.end
        return (time >= self.start - slack) & (time < end - slack)


class JointFault(Fault):
    """A fault of `joints`, by name; none: of all."""

    room: ClassVar[str]
    """`actuator` or `sensor`: where it acts."""
    is_exclusive: ClassVar[bool] = False
    """Leaves nothing for other faults of the same room to act on."""

    joints: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _names_differ(self) -> JointFault:
        if len(set(self.joints)) != len(self.joints):
            raise ValueError(f"joints {', '.join(self.joints)} (valid: each once)")
        return self

    @property
    def place(self) -> str:
        """Its joints."""
        return ", ".join(self.joints) or "all joints"

    def indices(self, joints: Sequence[str]) -> NDArray[np.intp]:
        """Where its joints are among all."""
        return np.array([joints.index(name) for name in self.joints or joints])

    def contradicts(self, other: JointFault) -> bool:
        """Whether both say what one joint does at one time: the same type twice, or an exclusive one beside another."""
        shares_joint = not self.joints or not other.joints or bool({*self.joints} & {*other.joints})
        decides = self.type == other.type or self.is_exclusive or other.is_exclusive
        first, second = sorted((self, other), key=lambda fault: fault.start)
        overlap = first.end is None or second.start < first.end
        return shares_joint and self.room == other.room and decides and overlap
