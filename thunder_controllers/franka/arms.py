"""The two arms, as data: limits of their joints, and the description that a client is given."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lxml import etree

from thunder_controllers.fields import FloatArray
from thunder_controllers.resources import share
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.readers.urdf import urdf_text
from thunder_dynamics.readers.urdf_elements import described_rotors, parse_xml

DESCRIPTION = "urdf/panda.urdf.xacro"
"""Both arms have its kinematics. Its inertial parameters are those identified on a Panda; here an FR3 has them too."""

JOINT_NAMES = tuple(f"joint{index}" for index in range(1, 8))
FLANGE = "link8"
"""As libfranka's model wants them called."""

FLIP = -0.467002423653011
"""Position of joint 4 where the elbow flips [rad]: Franka Control Interface documentation, robot specifications."""


class JointLimits(NamedTuple):
    """Of one joint; beyond them a reflex stops the arm."""

    lower: float  #: [rad]
    upper: float  #: [rad]
    velocity: float  #: Far from the ends [rad/s].
    velocity_offset: float  #: [rad/s]
    deceleration: float  #: To a stop at the end [rad/s²].
    effort: float  #: [N·m]


FAST = 1e6
"""A deceleration so large that the limit of the velocity is the same up to the ends [rad/s²]."""

ARMS: dict[str, tuple[JointLimits, ...]] = {
    # libfranka 0.21, rate_limiting.h and joint_velocity_limits.h, with a system version of 5.9 or later.
    "fr3": (
        JointLimits(-2.7501, 2.7501, 2.62, 0.30, 6.0, 87.0),
        JointLimits(-1.7918, 1.7918, 2.62, 0.20, 2.585, 87.0),
        JointLimits(-2.9065, 2.9065, 2.62, 0.20, 3.5, 87.0),
        JointLimits(-3.0481, -0.1458, 2.62, 0.30, 4.0, 87.0),
        JointLimits(-2.8101, 2.8101, 5.26, 0.35, 17.0, 12.0),
        JointLimits(0.54092, 4.5205, 4.18, 0.35, 5.5, 12.0),
        JointLimits(-3.0196, 3.0196, 5.26, 0.35, 17.0, 12.0),
    ),
    # Franka Control Interface documentation, limits of the Panda.
    "panda": (
        JointLimits(-2.8973, 2.8973, 2.175, 0.0, FAST, 87.0),
        JointLimits(-1.7628, 1.7628, 2.175, 0.0, FAST, 87.0),
        JointLimits(-2.8973, 2.8973, 2.175, 0.0, FAST, 87.0),
        JointLimits(-3.0718, -0.0698, 2.175, 0.0, FAST, 87.0),
        JointLimits(-2.8973, 2.8973, 2.61, 0.0, FAST, 12.0),
        JointLimits(-0.0175, 3.7525, 2.61, 0.0, FAST, 12.0),
        JointLimits(-2.8973, 2.8973, 2.61, 0.0, FAST, 12.0),
    ),
}


class Limits:
    """Limits of an arm as arrays, (7,) each, in the units of `JointLimits`."""

    def __init__(self, joints: tuple[JointLimits, ...]) -> None:
        columns = np.array(joints).T
        self.lower, self.upper, self._velocity, self._offset, self._deceleration, self.effort = columns

    def velocity(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limit of the velocity at q, (7,) each [rad/s].

        Towards an end at distance d: min(v, max(0, √(2 a d) − o)) [libfranka, joint_velocity_limits.cpp].
        """
        ways = np.maximum(np.array([q - self.lower, self.upper - q]), 0.0)
        lower, upper = np.clip(np.sqrt(2.0 * self._deceleration * ways) - self._offset, 0.0, self._velocity)
        return -lower, upper


def robot_urdf(arm: str, inertial: Path | None = None) -> str:
    """Describe an arm: joints joint1…joint7, flange link8, with the element that libfranka looks for in each joint.

    Args:
        arm: A key of `ARMS`.
        inertial: Description whose links …link1 to …link7 have its inertial parameters; none: `DESCRIPTION`.

    Raises:
        RobotFileError: if that description cannot be read, or lacks one of them.
    """
    root = parse_xml(urdf_text(share(DESCRIPTION), {"xacro_args": {"prefix": ""}}), DESCRIPTION)
    root.set("name", arm)
    etree.strip_elements(root, "thunder", "visual", etree.Comment, with_tail=False)
    for element in root.iter("link", "child"):
        key = "name" if element.tag == "link" else "link"
        if element.get(key) == "flange":
            element.set(key, FLANGE)
    joints = {joint.get("name"): joint for joint in root.iter("joint")}
    for name, limits in zip(JOINT_NAMES, ARMS[arm], strict=True):
        (limit,) = joints[name].iter("limit")
        for key in ("lower", "upper", "velocity", "effort"):
            limit.set(key, repr(getattr(limits, key)))
        offset, deceleration = repr(limits.velocity_offset), repr(limits.deceleration)
        etree.SubElement(
            joints[name], "position_based_velocity_limits", velocity_offset=offset, deceleration_limit=deceleration
        )
    if inertial is not None:
        _take_inertial(root, inertial)
    return str(etree.tostring(root, encoding="unicode"))


def robot_rotors(inertial: Path | None) -> FloatArray:
    """Reflected rotor inertias that a description states of its joints …joint1 to …joint7, (7,) [kg·m²]; else zeros.

    Raises:
        RobotFileError: if that description cannot be read.
    """
    stated = {} if inertial is None else described_rotors(urdf_text(inertial, {}), str(inertial))
    return np.array([sum(value for key, value in stated.items() if key.endswith(name)) for name in JOINT_NAMES])


def _take_inertial(root: Any, file: Path) -> None:
    """Give the moving links of a description the inertial parameters that links of such names have in another."""
    links = {link.get("name"): link for link in root.iter("link")}
    others = [
        link for link in parse_xml(urdf_text(file, {}), str(file)).iter("link") if link.find("inertial") is not None
    ]
    for name in (f"link{index}" for index in range(1, 8)):
        found = [link for link in others if str(link.get("name")).endswith(name)]
        if len(found) != 1:
            where = f"{file}: link …{name}"
            raise RobotFileError(
                f"{len(found)} of them have <inertial>", where=where, valid="one of each, link1 to link7"
            )
        links[name].replace(links[name].find("inertial"), deepcopy(found[0].find("inertial")))
