"""References as a scenario states them; each builds its trajectory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Discriminator, Field, SkipValidation, Tag

from thunder_controllers.identification.fourier import PoseOfJoints
from thunder_controllers.identification.limits import MotionBounds
from thunder_controllers.identification.search import identifying_motion
from thunder_controllers.references import trajectories
from thunder_controllers.references.excitation import Excitation, JointExcitation
from thunder_controllers.references.table_file import read_table
from thunder_controllers.references.users import load_reference, reference_entries
from thunder_controllers.simulation.fields import Finite, NonNegative, Positive, Strict, Vector3, per_joint
from thunder_dynamics.errors import NameNotFoundError
from thunder_dynamics.spatial import rotation_from_ypr

if TYPE_CHECKING:
    from thunder_controllers.host import Library

Values = Finite | Annotated[tuple[Finite, ...], Field(min_length=1)]
PositiveValues = Positive | Annotated[tuple[Positive, ...], Field(min_length=1)]
Axes = Finite | Vector3
NonNegativeAxes = NonNegative | tuple[NonNegative, NonNegative, NonNegative]
JointPosition = Annotated[tuple[Finite, ...], Field(min_length=1)]
Bounds = tuple[Positive, Positive, Positive]
Count = Annotated[int, Field(strict=True, ge=1, le=100)]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]


@dataclass(frozen=True)
class Follower:
    """Who follows a reference: a compiled robot, whether its law follows a pose, and where relative paths start."""

    library: Library
    cartesian: bool
    folder: Path


class _Options(Strict):
    """What all references have: `further` entries of the law's reference beside the standard ones, constant."""

    suits_both: ClassVar[bool] = True
    """Whether it may be of joints or of a pose; else its type says which."""

    type: str
    further: dict[str, Values] = Field(default_factory=dict)

    @abstractmethod
    def build_for(self, follower: Follower) -> trajectories.Reference:
        """Make the trajectory for a robot and its law."""


class Trajectory(_Options):
    """A trajectory of `references`, the same for every robot."""

    suits_both: ClassVar[bool] = False

    @abstractmethod
    def build(self) -> trajectories.Reference:
        """Make the trajectory."""

    def build_for(self, follower: Follower) -> trajectories.Reference:
        """Make the trajectory, whoever follows it."""
        return self.build()


class PoseOptions(Strict):
    """A pose in the world frame: position [m], R = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""

    position: Vector3
    ypr: Vector3 = (0.0, 0.0, 0.0)

    @property
    def rotation(self) -> NDArray[np.float64]:
        """R, shape (3, 3)."""
        return np.array(rotation_from_ypr(*self.ypr))


class LissajousOptions(Trajectory):
    """`trajectories.Lissajous`: centre and amplitude [m], frequency [Hz], phase, ypr and swing [rad]."""

    type: Literal["lissajous"]
    centre: Vector3
    amplitude: Axes
    frequency: NonNegativeAxes
    phase: Axes = 0.0
    ypr: Vector3 = (0.0, 0.0, 0.0)
    swing: Axes = 0.0
    swing_frequency: NonNegativeAxes = 0.0
    swing_phase: Axes = 0.0

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        motion = (self.centre, self.amplitude, self.frequency, self.phase)
        swing = (self.swing, self.swing_frequency, self.swing_phase)
        return trajectories.Lissajous(*motion, rotation_from_ypr(*self.ypr), *swing)


class HoldOptions(PoseOptions, Trajectory):
    """`trajectories.Hold`: a constant pose."""

    type: Literal["hold"]

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.Hold(self.position, self.rotation)


class PosesOptions(Trajectory):
    """`trajectories.PoseToPose`: bounds are [velocity, acceleration, jerk], dwell in [s]."""

    type: Literal["poses"]
    poses: Annotated[tuple[PoseOptions, ...], Field(min_length=2)]
    linear: Bounds = trajectories.LINEAR
    angular: Bounds = trajectories.ANGULAR
    dwell: NonNegative = 0.0

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        positions, rotations = zip(*((pose.position, pose.rotation) for pose in self.poses), strict=True)
        return trajectories.PoseToPose(positions, rotations, self.linear, self.angular, self.dwell)


class PoseStep(PoseOptions):
    """A pose from `time` [s] on."""

    time: NonNegative


class StepsOptions(Trajectory):
    """`trajectories.PoseSteps`: poses from a time on, the first from 0."""

    type: Literal["steps"]
    steps: Annotated[tuple[PoseStep, ...], Field(min_length=1)]

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        times, positions, rotations = zip(*((s.time, s.position, s.rotation) for s in self.steps), strict=True)
        return trajectories.PoseSteps(times, positions, rotations)


class ExcitationOptions(PoseOptions, Trajectory):
    """`excitation.Excitation` about a pose: amplitudes `linear` [m] and `angular` [rad], base frequency [Hz]."""

    type: Literal["excitation"]
    linear: NonNegativeAxes
    angular: NonNegativeAxes
    frequency: Positive = 0.1
    harmonics: Count = 3
    seed: Seed = 0

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        place = (self.position, self.rotation, self.linear, self.angular)
        return Excitation(*place, self.frequency, self.harmonics, self.seed)


class JointLissajousOptions(Trajectory):
    """`trajectories.JointLissajous`: centre and amplitude [rad or m], frequency [Hz], phase [rad]."""

    type: Literal["joint_lissajous"]
    centre: JointPosition
    amplitude: Values
    frequency: Values
    phase: Values = 0.0

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.JointLissajous(self.centre, self.amplitude, self.frequency, self.phase)


class JointPathOptions(Trajectory):
    """`trajectories.JointPath`: positions [rad or m] with bounds per joint, dwell in [s]."""

    type: Literal["joint_path"]
    positions: Annotated[tuple[JointPosition, ...], Field(min_length=2)]
    velocity: PositiveValues = 1.0
    acceleration: PositiveValues = 4.0
    jerk: PositiveValues = 40.0
    dwell: NonNegative = 0.0

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.JointPath(self.positions, self.velocity, self.acceleration, self.jerk, self.dwell)


class JointStep(Strict):
    """Joint positions `q` [rad or m] from `time` [s] on."""

    time: NonNegative
    q: JointPosition


class JointStepsOptions(Trajectory):
    """`trajectories.JointSteps`: positions from a time on, the first from 0."""

    type: Literal["joint_steps"]
    steps: Annotated[tuple[JointStep, ...], Field(min_length=1)]

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.JointSteps([step.time for step in self.steps], [step.q for step in self.steps])


class JointPolynomialOptions(Trajectory):
    """`trajectories.JointPolynomial`: from `start` to `end` [rad or m] in `time` [s]."""

    type: Literal["joint_polynomial"]
    start: JointPosition
    end: JointPosition
    time: Positive
    degree: Literal[1, 3, 5] = 3

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.JointPolynomial(self.start, self.end, self.time, self.degree)


class JointExcitationOptions(Trajectory):
    """`excitation.JointExcitation`: centre and amplitude [rad or m], base frequency [Hz]."""

    type: Literal["joint_excitation"]
    centre: JointPosition
    amplitude: Values
    frequency: Positive = 0.1
    harmonics: Count = 3
    seed: Seed = 0

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return JointExcitation(self.centre, self.amplitude, self.frequency, self.harmonics, self.seed)


class IdentifyOptions(_Options):
    """`search.identifying_motion` of a link, the end effector's by default, or of `all`, at rest at `q` each `period`.

    For a law that follows a pose it is the pose of that motion of the joints, away from singularities by `clearance`.
    """

    type: Literal["identify"]
    q: JointPosition
    link: str | None = None
    period: Positive = 10.0
    harmonics: Annotated[int, Field(strict=True, ge=2, le=20)] = 5
    reach: PositiveValues = 1.0
    velocity: PositiveValues = 1.0
    acceleration: PositiveValues = 4.0
    share: Annotated[float, Field(strict=True, gt=0.0, le=1.0)] = 0.7
    workspace: tuple[Vector3, Vector3] | None = None
    clearance: Annotated[float, Field(strict=True, ge=0.0, le=1.0)] = 0.3
    seed: Seed = 0

    def build_for(self, follower: Follower) -> trajectories.Reference:
        """Find the motion, of joints or of the pose along them."""
        library, cartesian = follower.library, follower.cartesian
        links, n = library.link_names, library.n_joints
        places: dict[str | None, int | None] = {"all": None, None: n - 1, **{link: i for i, link in enumerate(links)}}
        if self.link not in places:
            valid = f"{', '.join(links)}, all"
            raise NameNotFoundError(f"no link '{self.link}'", where="reference.link", valid=valid)
        reach, velocity, acceleration = (
            tuple(per_joint(getattr(self, name), n, f"reference.{name}").tolist())
            for name in ("reach", "velocity", "acceleration")
        )
        clearance = self.clearance if cartesian else 0.0
        bounds = MotionBounds(reach, velocity, acceleration, self.share, self.workspace, clearance)
        joints = identifying_motion(library, places[self.link], self.q, bounds, self.period, self.harmonics, self.seed)
        return PoseOfJoints(library, joints) if cartesian else joints


class CsvOptions(_Options):
    """`table_file.read_table`: rows of a CSV file, a path relative to the scenario's file."""

    type: Literal["csv"]
    file: str

    def build_for(self, follower: Follower) -> trajectories.Reference:
        """Read the file."""
        return read_table(follower.folder / self.file, follower.library.joint_names, follower.cartesian)


class UserOptions(_Options):
    """What an entry point of the group `thunder.references` makes of all keys beside `type` and `further`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def build_for(self, follower: Follower) -> trajectories.Reference:
        """Call the entry point."""
        return load_reference(self.type, self.model_extra or {})


class GivenOptions(_Options):
    """A reference of a script; no file can name it."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    type: Literal["given"] = "given"
    make: SkipValidation[Callable[[Follower], trajectories.Reference]] = Field(exclude=True)

    def build_for(self, follower: Follower) -> trajectories.Reference:
        """Hand it out."""
        return self.make(follower)


SHIPPED: tuple[type[_Options], ...] = (
    LissajousOptions,
    HoldOptions,
    PosesOptions,
    StepsOptions,
    ExcitationOptions,
    JointLissajousOptions,
    JointPathOptions,
    JointStepsOptions,
    JointPolynomialOptions,
    JointExcitationOptions,
    IdentifyOptions,
    CsvOptions,
)
KINDS = {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in SHIPPED}
"""Options of the types that come with the package."""


def reference_types() -> list[str]:
    """Types of reference there are, ours and those of entry points."""
    return sorted({*KINDS, *reference_entries()})


def _tag(data: Any) -> str | None:
    """Which options a mapping is validated as, or given options are of; None without a type."""
    if isinstance(data, GivenOptions):
        return "given"
    kind = data.get("type") if isinstance(data, Mapping) else getattr(data, "type", None)
    return "entry point" if kind not in KINDS and kind in reference_entries() else kind


if TYPE_CHECKING:
    ReferenceOptions = _Options
else:
    _TAGGED = KINDS | {"entry point": UserOptions, "given": GivenOptions}
    ReferenceOptions = Annotated[
        Union[tuple(Annotated[kind, Tag(tag)] for tag, kind in _TAGGED.items())],  # noqa: UP007 - of a tuple
        Discriminator(_tag),
    ]
