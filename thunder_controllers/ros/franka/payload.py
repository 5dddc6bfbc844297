"""What the last link has been found to carry, in the form that a Franka's SetLoad takes. Plain values, no ROS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.ros.franka.state import FrankaError
from thunder_dynamics.errors import InertiaError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.spatial import rotation_from_ypr

FloatArray = NDArray[np.float64]


class PayloadError(FrankaError):
    """The estimates are no payload that could be handed to the robot."""


@dataclass(frozen=True, eq=False)
class FlangePose:
    """Pose of the flange in the frame of the last link.

    Attributes:
        position: [m], shape (3,).
        rotation: Columns are the flange's axes in the link's frame, shape (3, 3).
    """

    position: FloatArray
    rotation: FloatArray

    @classmethod
    def from_values(cls, xyz: tuple[float, ...], rpy: tuple[float, ...]) -> FlangePose:
        """Build from a position [m] and roll, pitch, yaw [rad], R = Rz(yaw) Ry(pitch) Rx(roll)."""
        return cls(np.array(xyz, dtype=float), np.array(rotation_from_ypr(*reversed(rpy)), dtype=float))

    def body_in_flange(self, body: Inertia) -> Inertia:
        """Express a body, given in the link's frame, in the flange's."""
        return body.transformed(self.rotation.T, -self.rotation.T @ self.position)


@dataclass(frozen=True)
class PayloadLimits:
    """What a payload can be.

    Attributes:
        smallest_mass: Less is not told apart from nothing, [kg].
        largest_mass: What the arm may carry, [kg].
        largest_distance: Of the centre of mass from the flange, [m].
    """

    smallest_mass: float
    largest_mass: float
    largest_distance: float


def identified_payload(estimate: FloatArray, nominal: FloatArray, flange: FlangePose, limits: PayloadLimits) -> Inertia:
    """Compute the body that the last link carries beyond its model, in the flange frame.

    π_payload = π̂ − π_nominal holds because π is linear and both are about the origin of the link's frame.

    Args:
        estimate: π̂ of the last link, REG order, shape (10,).
        nominal: π of its model, REG order, shape (10,).
        flange: Where the flange is.
        limits: What is believed.

    Raises:
        PayloadError: if the difference is no rigid body, or out of the limits.
    """
    where = "identified payload"
    excess = np.asarray(estimate, dtype=float) - np.asarray(nominal, dtype=float)
    if not limits.smallest_mass <= excess[0] <= limits.largest_mass:
        valid = f"{limits.smallest_mass:g} to {limits.largest_mass:g} kg"
        raise PayloadError(f"a mass of {excess[0]:.4g} kg", where=where, valid=valid)
    try:
        body = flange.body_in_flange(Inertia.from_pi(excess))
        body.check_consistent(where)
    except InertiaError as error:
        valid = "let it adapt on a motion that turns the last link about all axes"
        raise PayloadError(f"no rigid body has these estimates: {error.what}", where=where, valid=valid) from error
    distance = float(np.linalg.norm(body.com))
    if distance > limits.largest_distance:
        what = f"its centre of mass is {distance:.4g} m from the flange"
        raise PayloadError(what, where=where, valid=f"at most {limits.largest_distance:g} m")
    return body
