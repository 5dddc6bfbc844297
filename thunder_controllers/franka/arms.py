"""The two arms, as data: limits of their joints, and the description that a client is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from thunder_controllers.fields import FloatArray
from thunder_controllers.resources import share
from thunder_dynamics.errors import RobotFileError
from thunder_dynamics.joints import Limits
from thunder_dynamics.readers import read_assembly
from thunder_dynamics.readers.urdf import urdf_text
from thunder_dynamics.readers.urdf_elements import inertial_element, parse_xml

DESCRIPTION = "urdf/panda.urdf.xacro"
"""Both arms have its kinematics. Its inertial parameters are those identified on a Panda; here an FR3 has them too."""

JOINT_NAMES = tuple(f"joint{index}" for index in range(1, 8))
FLANGE = "link8"
"""As libfranka's model wants them called."""

FLIP = -0.467002423653011
"""Position of joint 4 where the elbow flips [rad]: Franka Control Interface documentation, robot specifications."""

FAST = 1e6
"""A deceleration so large that the limit of the velocity is the same up to the ends [rad/s²]."""

ARMS: dict[str, tuple[Limits, ...]] = {
    # libfranka 0.21, rate_limiting.h and joint_velocity_limits.h, with a system version of 5.9 or later.
    "fr3": (
        Limits(-2.7501, 2.7501, 2.62, 0.30, 6.0, effort=87.0),
        Limits(-1.7918, 1.7918, 2.62, 0.20, 2.585, effort=87.0),
        Limits(-2.9065, 2.9065, 2.62, 0.20, 3.5, effort=87.0),
        Limits(-3.0481, -0.1458, 2.62, 0.30, 4.0, effort=87.0),
        Limits(-2.8101, 2.8101, 5.26, 0.35, 17.0, effort=12.0),
        Limits(0.54092, 4.5205, 4.18, 0.35, 5.5, effort=12.0),
        Limits(-3.0196, 3.0196, 5.26, 0.35, 17.0, effort=12.0),
    ),
    # Franka Control Interface documentation, limits of the Panda.
    "panda": (
        Limits(-2.8973, 2.8973, 2.175, 0.0, FAST, effort=87.0),
        Limits(-1.7628, 1.7628, 2.175, 0.0, FAST, effort=87.0),
        Limits(-2.8973, 2.8973, 2.175, 0.0, FAST, effort=87.0),
        Limits(-3.0718, -0.0698, 2.175, 0.0, FAST, effort=87.0),
        Limits(-2.8973, 2.8973, 2.61, 0.0, FAST, effort=12.0),
        Limits(-0.0175, 3.7525, 2.61, 0.0, FAST, effort=12.0),
        Limits(-2.8973, 2.8973, 2.61, 0.0, FAST, effort=12.0),
    ),
}
"""Limits of the joints [rad, rad/s, rad/s², N·m]; beyond them a reflex stops the arm."""


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
        offset, deceleration = repr(limits.velocity_offset), repr(limits.velocity_deceleration)
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
    joints = () if inertial is None else (link.joint for link in read_assembly(inertial, {}).model.links)
    stated = {joint.name: joint.rotor_inertia or 0.0 for joint in joints}
    return np.array([sum(value for key, value in stated.items() if key.endswith(name)) for name in JOINT_NAMES])


def _take_inertial(root: Any, file: Path) -> None:
    """Give the moving links of a description the inertial parameters that links of such names have in another."""
    links = {link.get("name"): link for link in root.iter("link")}
    others = [link for link in read_assembly(file, {}).model.links if link.inertia.mass > 0.0]
    for name in (f"link{index}" for index in range(1, 8)):
        found = [link for link in others if link.name.endswith(name)]
        if len(found) != 1:
            where = f"{file}: link …{name}"
            raise RobotFileError(f"{len(found)} of them have a mass", where=where, valid="one of each, link1 to link7")
        links[name].replace(links[name].find("inertial"), inertial_element(found[0].inertia))
