"""References as a scenario states them; each builds its trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from thunder_controllers.identification.fourier import PoseOfJoints
from thunder_controllers.identification.limits import MotionBounds
from thunder_controllers.identification.search import identifying_motion
from thunder_controllers.references import trajectories
from thunder_controllers.references.excitation import Excitation, JointExcitation
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


class _Options(Strict):
    """What all references have: `further` entries of the law's reference beside the standard ones, constant."""

    further: dict[str, Values] = Field(default_factory=dict)


class PoseOptions(Strict):
    """A pose in the world frame: position [m], R = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""

    position: Vector3
    ypr: Vector3 = (0.0, 0.0, 0.0)

    @property
    def rotation(self) -> NDArray[np.float64]:
        """R, shape (3, 3)."""
        return np.array(rotation_from_ypr(*self.ypr))


class LissajousOptions(_Options):
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


class HoldOptions(PoseOptions, _Options):
    """`trajectories.Hold`: a constant pose."""

    type: Literal["hold"]

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.Hold(self.position, self.rotation)


class PosesOptions(_Options):
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


class StepsOptions(_Options):
    """`trajectories.PoseSteps`: poses from a time on, the first from 0."""

    type: Literal["steps"]
    steps: Annotated[tuple[PoseStep, ...], Field(min_length=1)]

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        times, positions, rotations = zip(*((s.time, s.position, s.rotation) for s in self.steps), strict=True)
        return trajectories.PoseSteps(times, positions, rotations)


class ExcitationOptions(PoseOptions, _Options):
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


class JointLissajousOptions(_Options):
    """`trajectories.JointLissajous`: centre and amplitude [rad or m], frequency [Hz], phase [rad]."""

    type: Literal["joint_lissajous"]
    centre: JointPosition
    amplitude: Values
    frequency: Values
    phase: Values = 0.0

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.JointLissajous(self.centre, self.amplitude, self.frequency, self.phase)


class JointPathOptions(_Options):
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


class JointStepsOptions(_Options):
    """`trajectories.JointSteps`: positions from a time on, the first from 0."""

    type: Literal["joint_steps"]
    steps: Annotated[tuple[JointStep, ...], Field(min_length=1)]

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.JointSteps([step.time for step in self.steps], [step.q for step in self.steps])


class JointPolynomialOptions(_Options):
    """`trajectories.JointPolynomial`: from `start` to `end` [rad or m] in `time` [s]."""

    type: Literal["joint_polynomial"]
    start: JointPosition
    end: JointPosition
    time: Positive
    degree: Literal[1, 3, 5] = 3

    def build(self) -> trajectories.Reference:
        """Make the trajectory."""
        return trajectories.JointPolynomial(self.start, self.end, self.time, self.degree)


class JointExcitationOptions(_Options):
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
    """`search.identifying_motion` of a link, the end effector's by default, at rest at `q` once in a `period` [s].

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

    def build_for(self, library: Library, cartesian: bool) -> trajectories.Reference:
        """Find the motion, of joints or of the pose along them."""
        links, n = library.link_names, library.n_joints
        if self.link is not None and self.link not in links:
            raise NameNotFoundError(f"no link '{self.link}'", where="reference.link", valid=", ".join(links))
        index = n - 1 if self.link is None else links.index(self.link)
        reach, velocity, acceleration = (
            tuple(per_joint(getattr(self, name), n, f"reference.{name}").tolist())
            for name in ("reach", "velocity", "acceleration")
        )
        clearance = self.clearance if cartesian else 0.0
        bounds = MotionBounds(reach, velocity, acceleration, self.share, self.workspace, clearance)
        joints = identifying_motion(library, index, self.q, bounds, self.period, self.harmonics, self.seed)
        return PoseOfJoints(library, joints) if cartesian else joints


ReferenceOptions = Annotated[
    LissajousOptions
    | HoldOptions
    | PosesOptions
    | StepsOptions
    | ExcitationOptions
    | JointLissajousOptions
    | JointPathOptions
    | JointStepsOptions
    | JointPolynomialOptions
    | JointExcitationOptions
    | IdentifyOptions,
    Field(discriminator="type"),
]
