"""What the last link has been found to carry, in the form that a Franka's SetLoad takes. Plain values, no ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thunder_controllers.ros.franka.state import FrankaError
from thunder_dynamics.errors import InertiaError
from thunder_dynamics.inertia import Inertia
from thunder_dynamics.spatial import rotation_from_ypr

FloatArray = NDArray[np.float64]


class PayloadError(FrankaError):
    """The estimates are no payload that could be handed to the robot."""


def identified_payload(
    estimate: FloatArray,
    nominal: FloatArray,
    *,
    xyz: Sequence[float],
    rpy: Sequence[float],
    smallest_mass: float,
    largest_mass: float,
    largest_distance: float,
) -> Inertia:
    """Compute the body that the last link carries beyond its model, in the flange frame.

    π_payload = π̂ − π_nominal holds because π is linear and both are about the origin of the link's frame.

    Args:
        estimate: π̂ of the last link, REG order, shape (10,).
        nominal: π of its model, REG order, shape (10,).
        xyz: Flange in the frame of the last link, [m].
        rpy: Its roll, pitch, yaw, R = Rz Ry Rx, [rad].
        smallest_mass: Less is not told apart from nothing, [kg].
        largest_mass: What the arm may carry, [kg].
        largest_distance: Of the centre of mass from the flange, [m].

    Raises:
        PayloadError: if the difference is no rigid body, or out of the limits.
    """
    where = "identified payload"
    excess = np.asarray(estimate, dtype=float) - np.asarray(nominal, dtype=float)
    if not smallest_mass <= excess[0] <= largest_mass:
        valid = f"{smallest_mass:g} to {largest_mass:g} kg"
        raise PayloadError(f"a mass of {excess[0]:.4g} kg", where=where, valid=valid)
    rotation = np.array(rotation_from_ypr(*reversed(rpy)), dtype=float)
    try:
        body = Inertia.from_pi(excess).transformed(rotation.T, -rotation.T @ np.array(xyz))
        body.check_consistent(where)
    except InertiaError as error:
        valid = "let it adapt on a motion that turns the last link about all axes"
        raise PayloadError(f"no rigid body has these estimates: {error.what}", where=where, valid=valid) from error
    distance = float(np.linalg.norm(body.com))
    if distance > largest_distance:
        what = f"its centre of mass is {distance:.4g} m from the flange"
        raise PayloadError(what, where=where, valid=f"at most {largest_distance:g} m")
    return body
