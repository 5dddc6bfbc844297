"""References sampled to arrays: what a host's reference input should be at each instant.

A Cartesian sample is one row of 24 numbers, of the end effector in the world frame, linear part first:
position p_d (3) [m], rotation R_d (3×3, column-major), twist ξ_d = [v; ω] (6) [m/s, rad/s] and its time derivative
ξ̇_d (6) [m/s², rad/s²]. A joint sample is one row of 3·n numbers: q_d, q̇_d, q̈_d. Both are the order of the
reference entries of the library's laws.

Every trajectory is one class: its fields are the keys that a scenario has, with unit, bounds and text, and its samples
are exact: velocities and accelerations are derivatives of the pose in closed form, never differences.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from scipy.spatial.transform import Rotation

from thunder_controllers.fields import Finite, FloatArray, Joints, NonNegative, Positive, Strict, Vector3
from thunder_controllers.host import MotionLimits
from thunder_controllers.references.circles import Circles, circles_of, unwrap
from thunder_controllers.references.time_law import RestToRest
from thunder_dynamics.spatial import rotation_from_ypr, ypr_from_rotation

if TYPE_CHECKING:
    from thunder_controllers.host import Library


POSITION = slice(0, 3)
ROTATION = slice(3, 12)
TWIST = slice(12, 18)
ACCELERATION = slice(18, 24)
CARTESIAN_SIZE = 24
"""Length of a Cartesian sample."""

RATES = ("jerk", "snap")
"""Derivatives of q̈_d, by the names of what laws add to their reference [rad/s³, rad/s⁴ or m/s³, m/s⁴]."""

Numbers = Finite | Annotated[tuple[Finite, ...], Field(min_length=1)]
PositiveNumbers = Positive | Annotated[tuple[Positive, ...], Field(min_length=1)]
Bounds = tuple[Positive, Positive, Positive]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)]

_HOST = MotionLimits()


class Reference(Protocol):
    """What every reference offers."""

    @property
    def period(self) -> float | None:
        """Period [s], None if the reference never repeats or is constant."""
        ...

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,) [s], as rows, shape (N, 24) or (N, 3·n)."""
        ...


@runtime_checkable
class Smooth(Protocol):
    """What a reference of joints offers that knows more derivatives."""

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """`RATES`, the derivatives of q̈_d, at times `t`, (N, n) each; nothing where they are not known.

        Where one jumps it is that of either side; what a jump would have of the next one is left out.
        """
        ...


@dataclass(frozen=True)
class Follower:
    """Who follows a reference: a compiled robot, whether its law follows a pose, and where relative paths start."""

    library: Library
    cartesian: bool
    folder: Path

    @property
    def circles(self) -> Circles:
        """Which joints are on a circle, (n,)."""
        return circles_of(self.library)


class Stated(Strict):
    """A reference as a scenario states it, by its `type`."""

    suits_both: ClassVar[bool] = True
    """Whether it may be of joints or of a pose; else its type says which."""

    type: str
    further: dict[str, Numbers] = Field(default={}, description="constant values of what a law adds to its reference")

    @model_serializer(mode="wrap")
    def _with_type(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Its type, though it is a default, beside what else is written."""
        return {"type": self.type, **write(self)}

    @abstractmethod
    def build_for(self, follower: Follower) -> Reference:
        """Make the reference for a robot and its law."""


class Trajectory(Stated):
    """A reference in closed form, the same for every robot."""

    suits_both: ClassVar[bool] = False

    @property
    def period(self) -> float | None:
        """Period [s], None if it never repeats or is constant."""
        return None

    @abstractmethod
    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,) [s], as rows of 24 or 3·n."""

    def unwrapped(self, circles: Circles) -> Trajectory:
        """Return the same with joints on a circle going the short way, itself where that is no other."""
        return self

    def build_for(self, follower: Follower) -> Reference:
        """Hand itself out, the short way round circles."""
        return self.unwrapped(follower.circles)


def spread(value: float | Sequence[float], n: int) -> FloatArray:
    """One number for all, or n numbers, as an array (n,)."""
    return np.broadcast_to(np.asarray(value, dtype=float), (n,))


def check_sizes(trajectory: Trajectory, n: int, *names: str) -> None:
    """Raise `ValueError` unless fields hold one number, or n of them."""
    for name in names:
        if np.size(getattr(trajectory, name)) not in (1, n):
            raise ValueError(f"{np.size(getattr(trajectory, name))} values of {name} (valid: one, or {n})")


JointWay = TypeVar("JointWay", "JointPath", "JointPolynomial")


def _moved(trajectory: JointWay, circles: Circles, field: str, places: Sequence[Joints]) -> JointWay:
    """The trajectory whose field has the last places of a row unwrapped, as many as it has."""
    if not np.any(circles) or len(places[0]) != len(circles):  # of other joints: whoever follows it says so
        return trajectory
    rows = [tuple(row) for row in unwrap(places, circles).tolist()]
    return type(trajectory)(**dict(trajectory) | {field: rows if field == "positions" else rows[-1]})


class Pose(Strict):
    """A pose in the world frame, R = Rz(yaw) Ry(pitch) Rx(roll)."""

    position: Vector3 = Field(description="[m]")
    ypr: Vector3 = Field(default=(0.0, 0.0, 0.0), description="[rad]")

    @property
    def rotation(self) -> FloatArray:
        """R, shape (3, 3)."""
        return np.array(rotation_from_ypr(*self.ypr))

    @property
    def at_rest(self) -> FloatArray:
        """As a sample, shape (24,)."""
        return np.concatenate([self.position, self.rotation.T.ravel(), np.zeros(12)])

    @staticmethod
    def keys(position: ArrayLike, rotation: ArrayLike) -> dict[str, Any]:
        """Values of the fields, of a position (3,) and a rotation (3, 3)."""
        return {"position": position, "ypr": ypr_from_rotation(rotation)}


class Hold(Pose, Trajectory):
    """A constant pose."""

    type: Literal["hold"] = "hold"

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24."""
        return np.tile(self.at_rest, (len(t), 1))


class _RestToRest(Trajectory):
    """Through places from rest to rest, each way on one time law, the host's: the fastest within bounds of jerk."""

    dwell: NonNegative = Field(default=0.0, description="of rest at each place after the first [s]")

    @model_validator(mode="after")
    def _moves(self) -> _RestToRest:
        self._law  # noqa: B018 - which refuses a way of no length
        return self

    @cached_property
    @abstractmethod
    def _law(self) -> RestToRest: ...

    @property
    def duration(self) -> float:
        """Time at which the last place is reached [s]."""
        return self._law.duration


class PoseToPose(_RestToRest):
    """Rest to rest through poses, on straight lines and geodesics of SO(3).

    Between two poses p(σ) = p₀ + σ(p₁ − p₀), R(σ) = R₀ Exp(σφ), φ = Log(R₀ᵀR₁), σ: 0 → 1 on a jerk-limited time law,
    so ξ = σ̇ [p₁ − p₀; R₀φ] and ξ̇ = σ̈ [p₁ − p₀; R₀φ] exactly, with ξ̇ continuous.
    """

    type: Literal["poses"] = "poses"
    poses: Annotated[tuple[Pose, ...], Field(min_length=2)] = Field(description="each `{position, ypr}`")
    linear: Bounds = Field(
        default=(_HOST.linear_velocity, _HOST.linear_acceleration, _HOST.linear_jerk),
        description="bounds of velocity, acceleration and jerk [m/s, m/s², m/s³]",
    )
    angular: Bounds = Field(
        default=(_HOST.angular_velocity, _HOST.angular_acceleration, _HOST.angular_jerk),
        description="the same of turning [rad/s, rad/s², rad/s³]",
    )

    @cached_property
    def _law(self) -> RestToRest:
        points, matrices = (np.array([getattr(pose, name) for pose in self.poses]) for name in ("position", "rotation"))
        lines = np.diff(points, axis=0)
        turns = Rotation.from_matrix(np.matmul(matrices[:-1].transpose(0, 2, 1), matrices[1:])).as_rotvec()
        lengths = np.linalg.norm([lines, turns], axis=2).T
        bounds = tuple(zip(self.linear, self.angular, strict=True))
        return RestToRest((points, matrices, lines, turns), lengths, bounds, self.dwell)

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 24; at rest before the start and after the end."""
        (points, matrices, lines, turns), sigma, sigma_dot, sigma_ddot, _ = self._law.sample(t)
        rotation = np.matmul(matrices, Rotation.from_rotvec(sigma * turns).as_matrix())
        columns = rotation.transpose(0, 2, 1).reshape(-1, 9)
        direction = np.hstack([lines, np.einsum("nij,nj->ni", matrices, turns)])
        return np.hstack([points + sigma * lines, columns, sigma_dot * direction, sigma_ddot * direction])


class JointPath(_RestToRest):
    """Rest to rest through joint positions on straight lines of joint space, jerk-limited."""

    type: Literal["joint_path"] = "joint_path"
    positions: Annotated[tuple[Joints, ...], Field(min_length=2)] = Field(description="lists [rad or m]")
    velocity: PositiveNumbers = Field(default=1.0, description="bound [rad/s or m/s]")
    acceleration: PositiveNumbers = Field(default=4.0, description="bound [rad/s² or m/s²]")
    jerk: PositiveNumbers = Field(default=40.0, description="bound [rad/s³ or m/s³]")

    @cached_property
    def _law(self) -> RestToRest:
        sizes = {len(point) for point in self.positions}
        if len(sizes) > 1:
            raise ValueError(f"positions of {sorted(sizes)} joints (valid: of the same joints)")
        (n,), names = sizes, ("velocity", "acceleration", "jerk")
        check_sizes(self, n, *names)
        points = np.array(self.positions)
        lines = np.diff(points, axis=0)
        bounds = [spread(getattr(self, name), n) for name in names]
        return RestToRest((points, lines), np.abs(lines), bounds, self.dwell)

    def unwrapped(self, circles: Circles) -> JointPath:
        """Return the path with joints on a circle going the short way from each position to the next."""
        return _moved(self, circles, "positions", self.positions)

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n; at rest before the start and after the end."""
        (points, lines), sigma, sigma_dot, sigma_ddot, _ = self._law.sample(t)
        return np.hstack([points + sigma * lines, sigma_dot * lines, sigma_ddot * lines])

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """Compute `jerk`, constant from jump to jump, and `snap`, zero between them, at times `t`, (N, n) each."""
        (_, lines), _, _, _, jerk = self._law.sample(t)
        return dict(zip(RATES, (jerk * lines, 0.0 * lines), strict=True))


class PoseStep(Pose):
    """A pose from a time on."""

    time: NonNegative = Field(description="[s]")


class JointStep(Strict):
    """Joint positions from a time on."""

    time: NonNegative = Field(description="[s]")
    q: Joints = Field(description="[rad or m]")

    @property
    def at_rest(self) -> FloatArray:
        """As a sample, shape (3·n,)."""
        return np.concatenate([self.q, np.zeros(2 * len(self.q))])


class _Steps(Trajectory):
    """At rest between times at which it jumps."""

    steps: tuple[PoseStep | JointStep, ...]

    @model_validator(mode="after")
    def _rises(self) -> _Steps:
        times = [step.time for step in self.steps]
        if times[0] != 0.0 or not (np.diff(times) > 0.0).all():
            raise ValueError(f"times {times} (valid: 0, then rising)")
        if len({len(step.at_rest) for step in self.steps}) > 1:
            raise ValueError("steps of different joints (valid: of the same ones)")
        return self

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), from 0 on, as rows of 24 or 3·n."""
        index = np.searchsorted([step.time for step in self.steps], t, side="right") - 1
        return np.array([step.at_rest for step in self.steps])[index]


class PoseSteps(_Steps):
    """Jumps from pose to pose, at rest between; `host.approaches_jumps` says who deals with them."""

    type: Literal["steps"] = "steps"
    steps: Annotated[tuple[PoseStep, ...], Field(min_length=1)] = Field(
        description="each `{time, position, ypr}`, the first at time 0"
    )


class JointSteps(_Steps):
    """Jumps from joint positions to others, at rest between."""

    type: Literal["joint_steps"] = "joint_steps"
    steps: Annotated[tuple[JointStep, ...], Field(min_length=1)] = Field(
        description="each `{time, q}`, the first at time 0"
    )


class JointPolynomial(Trajectory):
    """From one place to another in a given time, q_d = start + σ(t/time)(end − start), every joint alike.

    σ(x) = x^(N+1) Σₖ C(N+k, k) C(2N+1, N−k) (−x)ᵏ, as x, 3x² − 2x³ or 10x³ − 15x⁴ + 6x⁵: the polynomial of degree
    2N + 1 whose derivatives up to the N-th are zero at both ends. The next one jumps there: q̇_d, q̈_d, jerk or snap.
    """

    type: Literal["joint_polynomial"] = "joint_polynomial"
    start: Joints = Field(description="[rad or m]")
    end: Joints = Field(description="[rad or m]")
    time: Positive = Field(description="[s]")
    degree: Literal[1, 3, 5, 7, 9] = Field(
        default=3, description="1, 3, 5, 7 or 9; with 1 the velocity jumps at both ends, with 9 not even the snap"
    )

    @model_validator(mode="after")
    def _ends_with_its_joints(self) -> JointPolynomial:
        check_sizes(self, len(self.start), "end")
        return self

    def unwrapped(self, circles: Circles) -> JointPolynomial:
        """Return the motion with joints on a circle going the short way."""
        return _moved(self, circles, "end", (self.start, self.end))

    @property
    def duration(self) -> float:
        """Time at which the end is reached [s]."""
        return self.time

    def sample(self, t: FloatArray) -> FloatArray:
        """Sample at times `t`, shape (N,), as rows of 3·n; at rest before the start and after the end."""
        return np.hstack([self.start + self._derivative(t, 0), self._derivative(t, 1), self._derivative(t, 2)])

    def further_rates(self, t: FloatArray) -> dict[str, FloatArray]:
        """Compute `jerk` and `snap` at times `t`, (N, n) each."""
        return dict(zip(RATES, (self._derivative(t, 3), self._derivative(t, 4)), strict=True))

    def _derivative(self, t: FloatArray, order: int) -> FloatArray:
        """Of q_d − start at times `t`, (N, n); zero where it rests, of any order but 0."""
        N = self.degree // 2
        terms = [comb(N + k, k) * comb(2 * N + 1, N - k) * (-1) ** k for k in range(N + 1)]
        sigma = np.polynomial.Polynomial([0] * (N + 1) + terms)
        moves = (order == 0) | ((t >= 0.0) & (t < self.time))
        rate = moves * sigma.deriv(order)(np.clip(t / self.time, 0.0, 1.0)) / self.time**order
        return np.multiply.outer(rate, np.array(self.end) - self.start)
