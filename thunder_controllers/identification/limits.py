"""What a motion of the joints keeps to: limits of the robot with a margin, a reach, a box, singularities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from thunder_controllers.fields import PositivePerJoint, Strict, Vector3, per_joint
from thunder_controllers.host import Library
from thunder_controllers.host import Limits as ArmLimits
from thunder_controllers.identification.information import columns_of, regressor, rotor_effort
from thunder_dynamics.errors import DimensionError, ScenarioError
from thunder_dynamics.inertia import Inertia

FloatArray = NDArray[np.float64]

WHERE = "reference"

TINY = 1e-12
"""Keeps inverses finite."""


class MotionBounds(Strict):
    """What is asked for; of joints a number for all, or one each."""

    reach: PositivePerJoint = Field(default=1.0, description="from `q` to both sides [rad or m]")
    velocity: PositivePerJoint = Field(default=1.0, description="bound [rad/s or m/s]")
    acceleration: PositivePerJoint = Field(default=4.0, description="bound [rad/s² or m/s²]")
    share: Annotated[float, Field(strict=True, gt=0.0, le=1.0)] = Field(
        default=0.7,
        description="of the limits of position, about the middle, velocity, acceleration and effort",
    )
    workspace: tuple[Vector3, Vector3] | None = Field(
        default=None, description="corners of a box that the end effector stays in, world frame [m]"
    )
    clearance: Annotated[float, Field(strict=True, ge=0.0, le=1.0)] = Field(
        default=0.3, description="of a pose: share of 1/tr((JJᵀ)⁻¹) at `q` that stays; 0: it may be singular"
    )
    load: Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)] = Field(
        default=0.0, description="at the end effector that limits of effort leave room for, beside none [kg]"
    )


@dataclass(frozen=True)
class Limit:
    """|x − centre| ≤ width, element by element; an infinite width is no limit."""

    centre: FloatArray
    width: FloatArray

    @classmethod
    def between(cls, lower: FloatArray, upper: FloatArray) -> Limit:
        """From the lower to the upper value; both are finite, or neither is."""
        bounded = np.isfinite(upper)
        low, high = (np.where(bounded, end, 0.0) for end in (lower, upper))
        return cls(0.5 * (low + high), np.where(bounded, 0.5 * (high - low), np.inf))

    @classmethod
    def within(cls, width: FloatArray) -> Limit:
        """About zero."""
        return cls(np.zeros_like(width), width)

    def excess(self, x: FloatArray) -> FloatArray:
        """What x is beyond it, over the width; 0 within; shape of x."""
        return np.asarray(np.fmax(np.abs(x - self.centre) / self.width - 1.0, 0.0))

    def cost(self, x: FloatArray) -> float:
        """Mean square of the excess."""
        return float((self.excess(x) ** 2).mean())

    def slope(self, x: FloatArray) -> FloatArray:
        """Derivative of the cost, shape of x."""
        return np.asarray(2.0 * self.excess(x) * np.sign(x - self.centre) / (self.width * x.size))


class Limits:
    """The limits of a motion that starts at rest.

    Args:
        library: Of the robot.
        start: Positions of the joints [rad or m], (n,).
        bounds: What is asked for beside the robot's own.

    Attributes:
        of_motion: Those of q, q̇ and q̈.
        of_effort: That of `efforts`.
        of_place: Those of what `observe` gives.

    Raises:
        DimensionError: if the start has another size than the joints.
        ScenarioError: if the start is beyond a limit.
    """

    def __init__(self, library: Library, start: FloatArray, bounds: MotionBounds) -> None:
        n, share = library.n_joints, bounds.share
        if len(start) != n:
            raise DimensionError(f"{len(start)} values of q", where=WHERE, valid=f"{n}")
        reach, most, change = (
            per_joint(getattr(bounds, name), library.joint_names, f"{WHERE}.{name}")
            for name in ("reach", "velocity", "acceleration")
        )
        self._library = library
        self._bounded_place = bounds.workspace is not None
        self._nearness = bounds.clearance * _clearance(library, start[None])[0] if bounds.clearance > 0.0 else 0.0
        low, high = np.asarray(library.position_lower), np.asarray(library.position_upper)
        keep = np.where(np.isfinite(high - low), 0.5 * (1.0 - share) * (high - low), 0.0)
        lower, upper = np.fmax(start - reach, low + keep), np.fmin(start + reach, high - keep)
        limits = ArmLimits.described(library)
        ends = np.fmin(-limits.velocity_at(lower)[0], limits.velocity_at(upper)[1])  # of the motion, where it is least
        velocity = np.fmin(most, share * ends)
        acceleration = np.fmin(change, share * limits.acceleration)
        self.of_motion = Limit.between(lower, upper), Limit.within(velocity), Limit.within(acceleration)
        corners = np.array(bounds.workspace or ((-np.inf,) * 3, (np.inf,) * 3))
        place = Limit.between(*corners)
        self._pi = [np.asarray(library.pi)]
        if bounds.load > 0.0:
            self._pi.append(_carrying(library, bounds.load))
        self.of_effort = Limit.within(np.tile(share * limits.effort_at(velocity), len(self._pi)))
        self.of_place = Limit(np.array([*place.centre, 0.0]), np.array([*place.width, 1.0]))
        if not ((lower < start) & (start < upper)).all():
            joint = int(np.argmin(np.fmin(start - lower, upper - start)))
            raise ScenarioError(
                f"{library.joint_names[joint]} at {start[joint]:g}",
                where=WHERE,
                valid=f"within {low[joint] + keep[joint]:.4g} to {high[joint] - keep[joint]:.4g}",
            )
        rest = np.zeros((1, n))
        if not self.kept(start[None], rest, rest):
            raise ScenarioError("effort or place of the start", where=WHERE, valid="within limits and workspace")

    def observe(self, q: FloatArray) -> FloatArray:
        """Position of the end effector and nearness to singularities, at positions (N, n), (N, 4)."""
        place = np.zeros((len(q), 4))
        if self._bounded_place:
            place[:, :3] = self._library.batch("T_0_ee", q)[:, :3, 3]
        if self._nearness:
            place[:, 3] = self._nearness / _clearance(self._library, q)
        return place

    def efforts(self, Y: FloatArray, qdd: FloatArray) -> FloatArray:
        """Efforts without friction by a regressor (N, n, 10 n): without the load, then with it, (N, n) or (N, 2 n).

        They are affine in the mass: what holds for both holds for every lighter load.
        """
        rotors = rotor_effort(self._library, qdd)
        return np.concatenate([Y @ pi + rotors for pi in self._pi], axis=1)

    def kept(self, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> bool:
        """Whether samples (N, n) of a motion are within all limits."""
        effort = self.efforts(regressor(self._library, q, qd, qdd), qdd)
        limits, values = (*self.of_motion, self.of_effort, self.of_place), (q, qd, qdd, effort, self.observe(q))
        return not any(limit.excess(x).any() for limit, x in zip(limits, values, strict=True))


def _carrying(library: Library, mass: float) -> FloatArray:
    """π of the links with a point mass [kg] at the end effector, (10 n,)."""
    n = library.n_joints
    q, pi = np.zeros(n), np.array(library.pi)
    place = np.linalg.inv(library.evaluate(f"T_0_{n}", q)) @ library.evaluate("T_0_ee", q)
    pi[columns_of(n - 1)] += Inertia(mass, place[:3, 3]).pi
    return pi


def _clearance(library: Library, q: FloatArray) -> FloatArray:
    """1/tr((JJᵀ)⁻¹) at positions (N, n), (N,): the squared smallest singular value of J, or up to six times less."""
    J = np.asarray(library.batch("J_ee", q))
    inverse = np.linalg.inv(J @ J.transpose(0, 2, 1) + TINY * np.eye(J.shape[1]))
    return np.asarray(1.0 / np.trace(inverse, axis1=1, axis2=2))
