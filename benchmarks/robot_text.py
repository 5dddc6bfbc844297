"""The robot as the compiled program reads it: numbers in a text file."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from thunder_dynamics.model import Frame, JointKind, Pose, RobotModel
from thunder_dynamics.spatial import rotation_from_ypr

KINDS = (JointKind.PRISMATIC, JointKind.REVOLUTE, JointKind.FREE)
"""Kinds of joints, in the order of `Kind` in robot.hpp."""

UNLIMITED = 3.0
"""Bound of the random states where a robot has no limit [rad or m, and per second]."""


def robot_text(model: RobotModel) -> str:
    """Write number of joints, gravity, links, end effector and limits, in the order `read_robot` of robot.cpp reads.

    A link is parent, index in `KINDS`, axis, placement (rotation row by row, translation), mass, CoM, inertia about it.
    The placement of links on the base holds the base frame.
    """
    base = _pose(model.base)
    lines = [_line([model.n]), _line(model.gravity)]
    for link in model.links:
        joint = link.joint
        placement = base @ joint.placement if link.parent < 0 else joint.placement
        lines.append(_line([link.parent, KINDS.index(joint.kind)]) + _line(joint.axis) + _pose_line(placement))
        body = link.inertia
        lines.append(_line([body.mass]) + _line(body.com) + _line(body.inertia_com.ravel()))
    lines.append(_line([model.ee_link]) + _pose_line(_pose(model.ee)))
    joints = [link.joint for link in model.links]
    for values in (
        [value for joint in joints for value in [joint.limits.lower] * joint.kind.nq],
        [value for joint in joints for value in [joint.limits.upper] * joint.kind.nq],
        [value for joint in joints for value in [joint.limits.velocity] * joint.kind.nv],
    ):
        lines.append(_line(np.clip(values, -UNLIMITED, UNLIMITED)))
    return "".join(lines)


def _pose(frame: Frame) -> Pose:
    return Pose(rotation_from_ypr(*frame.ypr), np.array(frame.tr))


def _pose_line(pose: Pose) -> str:
    return _line(pose.rotation.ravel()) + _line(pose.translation)


def _line(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values) + "\n"
