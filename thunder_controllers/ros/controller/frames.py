"""Targets of a tool in any frame that tf knows: what they are of the end effector in the base frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import Transform
from rclpy.node import Node
from rclpy.time import Time
from std_msgs.msg import Header

from thunder_controllers.host import TimedPose
from thunder_dynamics.errors import LawError

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


def _numbers(transform: Transform) -> tuple[tuple[float, ...], tuple[float, ...]]:
    p, q = transform.translation, transform.rotation
    return (p.x, p.y, p.z), (q.x, q.y, q.z, q.w)


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
                frame = _numbers(self.find(self.base, header.frame_id, header.stamp))
            except LookupError as error:
                valid = f"'{self.base}', parameter base_frame, or a frame that tf knows then"
                raise LawError(f"frame_id '{header.frame_id}': {error}", where=topic, valid=valid) from None
            found = [point.placed(*frame) for point in found]
        if not self.tool:
            return found
        try:
            tool = _numbers(self.find(self.ee, self.tool, Stamp()))
        except LookupError as error:
            valid = f"a tool_frame that tf knows in '{self.ee}', parameter ee_frame"
            raise LawError(f"parameter tool_frame: {error}", where=topic, valid=valid) from None
        return [point.end_effector_of(*tool, topic) for point in found]
