"""Targets of a tool in any frame that tf knows: what they are of the end effector in the base frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import Transform
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.time import Time
from scipy.spatial.transform import Rotation
from std_msgs.msg import Header

from thunder_controllers.host import TimedPose
from thunder_dynamics.errors import LawError

FloatArray = NDArray[np.float64]

Find = Callable[[str, str, Stamp], Transform]
"""The second frame in the first one at a stamp; zero: the newest there is. Raises LookupError with the reason."""


class Tf:
    """What tf says from now on, until `close`. tf2_ros is no wheel on PyPI: without it no frame is found."""

    def __init__(self, node: Node) -> None:
        self.close: Callable[[], object] = lambda: None
        self._buffer: Any = None
        try:
            import tf2_ros
        except ImportError:
            return
        self._buffer, self._refusal = tf2_ros.Buffer(), tf2_ros.TransformException
        self.close = tf2_ros.TransformListener(self._buffer, node).unregister

    def find(self, base: str, frame: str, stamp: Stamp) -> Transform:
        """Look `frame` up in `base`, see `Find`."""
        if self._buffer is None:
            raise LookupError("tf2_ros is not installed")
        try:
            return self._buffer.lookup_transform(base, frame, Time.from_msg(stamp)).transform
        except (self._refusal, ValueError) as error:  # the latter for negative stamps
            raise LookupError(str(error).rstrip(". ")) from None


@dataclass(frozen=True)
class Rigid:
    """Where a frame is in another one: p = translation + rotation p_of_the_frame."""

    translation: FloatArray
    rotation: Rotation

    @classmethod
    def of(cls, transform: Transform) -> Rigid:
        """Take the numbers of a message."""
        p, q = transform.translation, transform.rotation
        return cls(np.array([p.x, p.y, p.z]), Rotation.from_quat([q.x, q.y, q.z, q.w]))


def placed(frame: Rigid, point: TimedPose) -> TimedPose:
    """Give a point of `frame` in the frame that this is in; `frame` stands still."""
    turn = frame.rotation.as_matrix()  # `apply` takes no arrays that are read-only, as those of the host are

    def rotated(rates: FloatArray | None) -> FloatArray | None:
        return None if rates is None else (rates.reshape(2, 3) @ turn.T).ravel()

    return TimedPose(
        point.time,
        frame.translation + turn @ point.position,
        (frame.rotation * Rotation.from_quat(point.orientation)).as_quat(),
        rotated(point.twist),
        rotated(point.acceleration),
    )


def end_effector_of(tool: Rigid, point: TimedPose) -> TimedPose:
    """Give the end effector of a point of the tool, which is at `tool` in its frame.

    An acceleration needs the twist beside it.
    """
    rotation = Rotation.from_quat(point.orientation) * tool.rotation.inv()
    d = -rotation.apply(tool.translation)
    twist, acceleration = point.twist, point.acceleration
    if twist is not None:
        turning = np.cross(twist[3:], d)
        if acceleration is not None:
            more = np.cross(acceleration[3:], d) + np.cross(twist[3:], turning)
            acceleration = np.concatenate((acceleration[:3] + more, acceleration[3:]))
        twist = np.concatenate((twist[:3] + turning, twist[3:]))
    return TimedPose(point.time, point.position + d, rotation.as_quat(), twist, acceleration)


@dataclass(frozen=True)
class TargetFrames:
    """The frames that targets may be in, and of.

    Attributes:
        base: That of the law.
        ee: The end effector's.
        tool: That whose poses are given, fixed to `ee`; empty: `ee` itself.
        find: Knows further ones.
    """

    base: str
    ee: str
    tool: str
    find: Find

    def in_base(self, header: Header, points: Sequence[TimedPose], topic: str) -> list[TimedPose]:
        """Give the end effector's points in the base frame.

        Raises:
            LawError: for a frame that is not known, and accelerations of a tool without velocities.
        """
        found = list(points)
        if header.frame_id != self.base:
            try:
                frame = Rigid.of(self.find(self.base, header.frame_id, header.stamp))
            except LookupError as error:
                valid = f"'{self.base}', parameter base_frame, or a frame that tf knows then"
                raise LawError(f"frame_id '{header.frame_id}': {error}", where=topic, valid=valid) from None
            found = [placed(frame, point) for point in found]
        if not self.tool:
            return found
        try:
            tool = Rigid.of(self.find(self.ee, self.tool, Stamp()))
        except LookupError as error:
            valid = f"a tool_frame that tf knows in '{self.ee}', parameter ee_frame"
            raise LawError(f"parameter tool_frame: {error}", where=topic, valid=valid) from None
        if any(point.acceleration is not None and point.twist is None for point in found):
            what, valid = "accelerations of a tool without velocities", "both, or velocities alone"
            raise LawError(what, where=topic, valid=valid)
        return [end_effector_of(tool, point) for point in found]
