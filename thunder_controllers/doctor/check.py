"""What a check is: a function declared with its name, what is valid and the mend; pages and tables are made of it.

A check asks a `Case` for what it needs, and says whether that is as it should be and what was seen. Where there is
nothing to look at it does not apply, and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from thunder_controllers.fields import FloatArray
from thunder_dynamics.inertia import Inertia

if TYPE_CHECKING:
    from thunder_controllers.doctor.measurement import LoopTimes
    from thunder_controllers.host import Library
    from thunder_controllers.ros.tools.graph import Graph
    from thunder_dynamics.model import RobotModel


class Backend(NamedTuple):
    """What moves the arm."""

    is_real: bool  #: Real time matters: what is amiss with it fails.
    adds_gravity: bool | None  #: Whether it holds up the arm by itself; None: it depends on the hardware.
    joint_states: str = "joint_states"  #: Topic of its states.


BACKENDS = {
    "mujoco": Backend(is_real=False, adds_gravity=False),
    "gazebo": Backend(is_real=False, adds_gravity=False),
    "franka": Backend(is_real=True, adds_gravity=True, joint_states="franka/joint_states"),
    "ros2_control": Backend(is_real=True, adds_gravity=None),
}
"""By the names that launch files use; `ros2_control` stands for hardware of any kind."""


class State(str, Enum):
    """What a check found."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


class NotApplicableError(Exception):
    """There is nothing to look at; says why."""


class Finding(NamedTuple):
    """Whether what was looked at is as it should be, and what was seen."""

    holds: bool
    seen: str


@dataclass(frozen=True, eq=False)
class Case:
    """What the checks look at; what is None is missing.

    Args:
        root: Where /sys and /proc are.
        backend: What moves the arm.
        library: What the controller runs.
        model: What the robot file of the library says.
        description: What the driver of the arm says that it is.
        parameters: Of the controller, by name.
        load: What the robot was told of, in the end effector's frame.
        loop: What a loop of 1 kHz measured.
        round_trips: To the arm [s]; infinite: no answer.
        graph: What a running ROS graph says.
        period: Of the control loop [s].
        missing: Why something is None, by the name of its field.
    """

    root: Path = Path("/")
    backend: Backend = BACKENDS["ros2_control"]
    library: Library | None = None
    model: RobotModel | None = None
    description: RobotModel | None = None
    parameters: Mapping[str, Any] | None = None
    load: Inertia = Inertia()
    loop: LoopTimes | None = None
    round_trips: FloatArray | None = None
    graph: Graph | None = None
    period: float = 1e-3
    missing: Mapping[str, str] = field(default_factory=dict)

    def needed(self, name: str) -> Any:
        """What the field of a name holds.

        Raises:
            NotApplicableError: if it is missing.
        """
        value = getattr(self, name)
        if value is None:
            raise NotApplicableError(self.missing.get(name, f"no {name}"))
        return value

    def read(self, path: str) -> str:
        """The text of a file of the kernel, without what surrounds it.

        Raises:
            NotApplicableError: if the kernel has none that can be read.
        """
        try:
            return (self.root / path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise NotApplicableError(f"/{path}: {error.strerror}") from error


@dataclass(frozen=True)
class Result:
    """What a check found in a case; `seen` is the reason where it is not applicable."""

    check: Check
    state: State
    seen: str


@dataclass(frozen=True, eq=False)
class Check:
    """A check as data.

    Args:
        name: A code: what programs recognise.
        looks_at: In a few words.
        valid: What would be right.
        mend: What to do, in one line.
        is_warning: Whether it warns where it does not hold; else it fails.
        is_real_time: Whether it is about real time, so that it warns where the arm is simulated.
        look: Finds it, or raises NotApplicableError.
    """

    name: str
    looks_at: str
    valid: str
    mend: str
    is_warning: bool
    is_real_time: bool
    look: Callable[[Case], Finding]

    def __call__(self, case: Case) -> Result:
        """Look at a case."""
        try:
            finding = self.look(case)
        except NotApplicableError as reason:
            return Result(self, State.NOT_APPLICABLE, str(reason))
        warns = self.is_warning or (self.is_real_time and not case.backend.is_real)
        state = State.OK if finding.holds else State.WARN if warns else State.FAIL
        return Result(self, state, finding.seen)


def check(
    looks_at: str, *, valid: str, mend: str, is_warning: bool = False, is_real_time: bool = False
) -> Callable[[Callable[[Case], Finding]], Check]:
    """Declare a function as a check of its name; see `Check`."""

    def declare(look: Callable[[Case], Finding]) -> Check:
        return Check(look.__name__, looks_at, valid, mend, is_warning, is_real_time, look)

    return declare
